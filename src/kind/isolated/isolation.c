/* Isolation as the commands see it: the options, which kinds are isolated, and the start and end of the fork server.
 * The header tells how a request goes through the files of this folder. */
#include "kind/isolated/isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "pool/memory_budget.h"
#include "base/process.h"
#include "kind/isolated/fork_server.h"
#include "kind/media/module.h"

/* The values of --isolate. bl_isolation_check replaces AUTO by OFF if a GPU decodes. */
enum bl_isolate { BL_ISOLATE_AUTO, BL_ISOLATE_ON, BL_ISOLATE_OFF };

/* --- trial -------------------------------------------------------------------------------------------------------- */

/* What the process of the trial has found, in shared memory. */
struct trial_page {
    atomic_bool filtered; /* the filter is installed */
    atomic_bool refused;  /* opening a folder failed with EPERM */
    atomic_bool done;     /* the process ran to its end */
};

/* The main function of the process. */
static void trial_main(const void *context, const struct bl_spawn *spawn, int channel)
{
    struct bl_shared_memory shared;
    struct bl_error e = {0};
    (void)context, (void)channel;
    if (bl_shared_memory_map(&shared, spawn->fd, sizeof(struct trial_page), &e))
        return;
    struct trial_page *page = (struct trial_page *)(void *)shared.data;
    atomic_store(&page->filtered, bl_syscall_filter_install());
    atomic_store(&page->refused, open("/", O_RDONLY | O_CLOEXEC) < 0 && errno == EPERM);
    atomic_store(&page->done, true);
}

/* The trial has its own server, which loads nothing, so that it takes milliseconds. */
int bl_isolation_try(bool *filtered, struct bl_error *e)
{
    struct bl_shared_memory shared;
    struct bl_fork_server server = {0};
    *filtered = false;
    BL_TRY(bl_shared_memory_make(&shared, sizeof(struct trial_page), e));
    const struct bl_spawn spawn = {.fd = shared.fd};
    const struct trial_page *page = (const struct trial_page *)(const void *)shared.data;
    int channel, status;
    pid_t pid;
    int code = bl_fork_server_start(&server, NULL, trial_main, NULL, e);
    if (!code)
        code = bl_fork_server_spawn(&server, &spawn, &channel, &pid, e);
    if (!code) {
        close(channel);
        code = bl_fork_server_reap(&server, pid, &status, e);
    }
    if (!code && !atomic_load(&page->done))
        code = bl_error_set(e, BL_EFAIL, "a decoder process ended at once");
    *filtered = !code && atomic_load(&page->filtered) && atomic_load(&page->refused);
    bl_fork_server_stop(&server);
    bl_shared_memory_free(&shared);
    return code;
}

/* --- isolation ---------------------------------------------------------------------------------------------------- */

#define FILES_MAX 4096 /* open files of the tool; a quarter of them may be open to be sent to processes */

static const char *const choices[] = {"auto", "on", "off", NULL};

const struct bl_option bl_isolation_option_table[] = {
    BL_OPTION_CHOICE(
        "isolate", struct bl_isolation_options, isolate, choices, BL_AFFECTS_NOTHING,
        "decode videos, audio and images in processes of their own: always, never, or unless a GPU decodes "
        "(auto)",
        .initial = "auto"),
    BL_OPTION_INT("stall", struct bl_isolation_options, stall, BL_AFFECTS_NOTHING,
                  "end a decoder process that works for this long without a packet or frame", .initial = "600",
                  .min = 1, .max = 1000000, .placeholder = "SECONDS"),
    {0},
};

/* A GPU in any field switches isolation off for all of them: one process cannot both fork and use the driver. */
int bl_isolation_check(struct bl_isolation *isolation, const struct bl_kind *kind, const void *config,
                       struct bl_error *e)
{
    int code = kind->decodes ? bl_media_check(e) : BL_OK;
    if (code || isolation->options.isolate == BL_ISOLATE_OFF || !kind->decodes || kind->decodes(config))
        return code;
    if (isolation->options.isolate == BL_ISOLATE_ON)
        return bl_error_set(e, BL_EUSAGE, "--isolate on: what a GPU decodes cannot be isolated (--isolate auto)");
    isolation->options.isolate = BL_ISOLATE_OFF;
    return BL_OK;
}

/* The part keeps the kind and its options: the decoder process calls the kind, and this process calls the isolated
 * one. */
void bl_isolation_add(struct bl_isolation *isolation, const struct bl_kind **kind, const void *config, const char *path)
{
    bool some = (*kind)->decodes_file && (*kind)->decodes_file(config, path);
    if (isolation->options.isolate == BL_ISOLATE_OFF || (!(*kind)->decodes && !some))
        return;
    struct bl_isolated_part *part = &isolation->part[isolation->parts];
    isolation->decoder[isolation->parts++] = (struct bl_decoder_part){*kind, config};
    bl_isolated_kind_make(part, *kind);
    *kind = &part->kind;
}

bool bl_isolation_lacks_filter(const struct bl_isolation *isolation)
{
    return isolation && isolation->parts && !bl_syscall_filter_is_available();
}

const char *bl_isolation_warning(const struct bl_isolation *isolation)
{
    if (isolation->options.isolate != BL_ISOLATE_ON || !bl_isolation_lacks_filter(isolation))
        return NULL;
    return "--isolate on: there is no filter of system calls here (seccomp): a decoder that crashes does not end the "
           "run, but a file that takes one over could open other files";
}

/* Loads the libraries in the fork server: the media module, and those of kinds that have their own. All processes then
 * have them, and need not open a file to load them. A kind's own library may be needed by none of its files: whoever
 * calls it reports that it is missing. */
static int isolation_load(const void *values, struct bl_error *e)
{
    const struct bl_decoder_context *context = values;
    const struct bl_media *media;
    struct bl_error ignored = {0};
    int code = BL_OK;
    for (int p = 0; p < context->parts && !code; p++) {
        const struct bl_kind *kind = context->part[p].kind;
        if (kind->decodes)
            code = bl_media_open(&media, e);
        else
            (void)kind->load(&ignored);
    }
    return code;
}

int bl_isolation_start(struct bl_isolation *isolation, struct bl_error *e)
{
    if (!isolation || !isolation->parts || isolation->server.pid)
        return BL_OK;
    /* Each worker has a socket for each field, and two blocks, so the tool needs a higher limit of open files. */
    int64_t limit = bl_descriptors_raise();
    isolation->files.most = (int)(limit < FILES_MAX ? limit / 4 : FILES_MAX / 4);
    isolation->context = (struct bl_decoder_context){
        .part = isolation->decoder, .parts = isolation->parts, .filtered = bl_syscall_filter_is_available()};
    int code = bl_fork_server_start(&isolation->server, isolation_load, bl_decoder_loop, &isolation->context, e);
    if (code)
        bl_error_prefix(e, "--isolate off decodes in one process");
    return code;
}

/* The totals are nanoseconds, in which the workers add up. */
struct bl_processor_time bl_isolation_processor_time(const struct bl_isolation *isolation)
{
    if (!isolation)
        return (struct bl_processor_time){0};
    return (struct bl_processor_time){.run = (double)atomic_load(&isolation->times.run) * 1e-9,
                                      .queued = (double)atomic_load(&isolation->times.queued) * 1e-9,
                                      .is_partly = atomic_load(&isolation->times.is_partly)};
}

void bl_isolation_stop(struct bl_isolation *isolation)
{
    for (int p = 0; p < isolation->parts; p++)
        bl_isolated_kind_release(isolation, &isolation->part[p]);
    bl_fork_server_stop(&isolation->server);
}
