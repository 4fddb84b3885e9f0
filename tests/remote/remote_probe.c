/* The client of src/remote as a program, for tests: remote_probe [OPTION...] COMMAND URL [ARGUMENT...]
 *
 *     stat URL                      SIZE<TAB>TAG
 *     list URL                      URL<TAB>SIZE<TAB>TAG of each object
 *     cat URL                       the object
 *     read URL OFFSET SIZE          bytes of it
 *     pieces URL SIZE THREADS       all of it, in pieces of SIZE bytes that as many threads read
 *     seconds URL SECONDS           reads the first and the last byte, with a pause between: the object may change
 *     put URL FILE CONDITION        writes a file from memory: "written TAG" or "conflict"; CONDITION: any, new, or TAG
 *     upload URL FILE CONDITION     writes a file in parts
 *     once URL FILE                 writes a file from memory, unless it is there: "written" or "was there"
 *     send URL FOLDER THREADS       uploads the files of a folder to URL/NAME, each with its record, NAME.record
 *     claims URL COUNT LEASE SECONDS  works on claimed pieces, for SECONDS each, until all are done. Prints "took
 * NUMBER" and perhaps " from HOLDER", "done NUMBER" or "lost NUMBER"; "busy HOLDER", once for each holder; "end" delete
 * URL uploads URL                   URL<TAB>ID<TAB>SECONDS of each upload that was begun abort URL ID ends one clear
 * URL BEFORE              ends those that began before a time, and prints how many conditional URL whether the store
 * compares conditions
 *
 * Options: --endpoint URL, --anonymous, --insecure, --retries N, --timeout N. The
 * last line of stderr has the counts. Exit status as the tool's. SIGINT cancels. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/output.h"
#include "remote/claims.h"
#include "remote/once.h"
#include "remote/remote.h"
#include "remote/sender.h"
#include "remote/upload.h"

static struct bl_cancel cancel;

static int probe_stat(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    struct bl_remote_object object = {0};
    BL_TRY(bl_remote_stat(remote, argument[0], &object, e));
    printf("%" PRId64 "\t%s\n", object.size, object.tag);
    bl_remote_object_free(&object);
    return BL_OK;
}

static int probe_print(void *context, const struct bl_remote_object *object, struct bl_error *e)
{
    (void)context, (void)e;
    printf("%s\t%" PRId64 "\t%s\n", object->url, object->size, object->tag);
    return BL_OK;
}

static int probe_list(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    return bl_remote_list(remote, argument[0], probe_print, NULL, e);
}

static int probe_cat(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    struct bl_remote_object object = {0};
    struct bl_buffer text = {0};
    char path[32];
    BL_TRY(bl_remote_stat(remote, argument[0], &object, e));
    int fd = bl_temporary_open(NULL, e), code = fd < 0 ? fd : bl_remote_save(remote, &object, fd, e);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!code)
        code = bl_io_read_file(path, SIZE_MAX, &text, e);
    if (!code)
        code = bl_io_write(STDOUT_FILENO, text.data, text.size, "stdout", e);
    if (fd >= 0)
        close(fd);
    bl_buffer_free(&text);
    bl_remote_object_free(&object);
    return code;
}

static int probe_read(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    struct bl_remote_object object = {0};
    size_t size = (size_t)atoll(argument[2]);
    char *data = malloc(size + 1);
    if (!data)
        return bl_error_memory(e);
    int code = bl_remote_stat(remote, argument[0], &object, e);
    if (!code)
        code = bl_remote_read(remote, &object, atoll(argument[1]), size, data, e);
    if (!code)
        code = bl_io_write(STDOUT_FILENO, data, size, "stdout", e);
    free(data);
    bl_remote_object_free(&object);
    return code;
}

/* What the threads of `pieces` share. */
struct pieces {
    struct bl_remote *remote;
    struct bl_remote_object object;
    int64_t size;
    atomic_llong next;
    char *data;
    struct bl_error error; /* of the first that fails */
    atomic_int code;
};

static void *pieces_read(void *context)
{
    struct pieces *p = context;
    struct bl_error e = {0};
    for (int64_t at; !atomic_load(&p->code) && (at = atomic_fetch_add(&p->next, p->size)) < p->object.size;) {
        int64_t left = p->object.size - at, size = left < p->size ? left : p->size;
        int code = bl_remote_read(p->remote, &p->object, at, (size_t)size, p->data + at, &e), none = 0;
        if (code && atomic_compare_exchange_strong(&p->code, &none, code))
            p->error = e;
    }
    return NULL;
}

static int probe_pieces(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    struct pieces p = {.remote = remote, .size = atoll(argument[1])};
    pthread_t thread[64];
    int threads = atoi(argument[2]), started = 0;
    BL_TRY(bl_remote_stat(remote, argument[0], &p.object, e));
    p.data = malloc((size_t)p.object.size + 1);
    while (p.data && started < threads && started < 64 && !pthread_create(&thread[started], NULL, pieces_read, &p))
        started++;
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    int code = bl_error_pass(e, atomic_load(&p.code), &p.error);
    if (!code)
        code = bl_io_write(STDOUT_FILENO, p.data, (size_t)p.object.size, "stdout", e);
    free(p.data);
    bl_remote_object_free(&p.object);
    return code;
}

static int probe_seconds(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    struct bl_remote_object object = {0};
    char byte;
    BL_TRY(bl_remote_stat(remote, argument[0], &object, e));
    int code = bl_remote_read(remote, &object, 0, 1, &byte, e);
    if (!code) {
        usleep((useconds_t)(1e6 * atof(argument[1])));
        code = bl_remote_read(remote, &object, object.size - 1, 1, &byte, e);
    }
    bl_remote_object_free(&object);
    return code;
}

/* Prints what became of a write. */
static int probe_tell(struct bl_remote_written *written, int code)
{
    if (!code && written->outcome == BL_REMOTE_WRITTEN)
        printf("written %s\n", written->tag);
    else if (!code)
        printf("conflict\n");
    bl_remote_written_free(written);
    return code;
}

static struct bl_remote_condition probe_condition(const char *text)
{
    bool is_new = strcmp(text, "new") == 0;
    return (struct bl_remote_condition){is_new, is_new || strcmp(text, "any") == 0 ? NULL : text};
}

static int probe_put(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    const struct bl_remote_condition condition = probe_condition(argument[2]);
    struct bl_remote_written written = {0};
    struct bl_buffer text = {0};
    int code = bl_io_read_file(argument[1], SIZE_MAX, &text, e);
    if (!code)
        code = bl_remote_put(remote, argument[0], text.data, text.size, &condition, &written, e);
    bl_buffer_free(&text);
    return probe_tell(&written, code);
}

static int probe_upload(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    const struct bl_remote_condition condition = probe_condition(argument[2]);
    struct bl_remote_written written = {0};
    int fd = open(argument[1], O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "%s", argument[1]);
    int code = bl_remote_upload(remote, argument[0], fd, lseek(fd, 0, SEEK_END), &condition, &written, e);
    close(fd);
    return probe_tell(&written, code);
}

static int probe_once(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bool was_there;
    int code = bl_io_read_file(argument[1], SIZE_MAX, &text, e);
    if (!code)
        code = bl_remote_put_once(remote, argument[0], text.data, text.size, &was_there, e);
    if (!code)
        printf("%s\n", was_there ? "was there" : "written");
    bl_buffer_free(&text);
    return code;
}

/* Has a file sent with its record, if there is one. */
static int send_one(struct bl_sender *sender, const char *url, const char *folder, const char *name, struct bl_error *e)
{
    char path[4096], target[4096], record[4096], record_url[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(target, sizeof target, "%s/%s", url, name);
    snprintf(record, sizeof record, "%s/%s.record", folder, name);
    snprintf(record_url, sizeof record_url, "%s/%s.record", url, name);
    bool has_record = access(record, F_OK) == 0;
    const struct bl_sending what = {path, target, has_record ? record : NULL, has_record ? record_url : NULL};
    return bl_sender_add(sender, &what, e);
}

static int probe_send(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    struct bl_sender *sender = NULL;
    struct dirent **entry = NULL;
    int count = scandir(argument[1], &entry, NULL, alphasort);
    int code = bl_sender_open(&sender, remote, atoi(argument[2]), e);
    for (int i = 0; i < count; i++) {
        const char *name = entry[i]->d_name;
        if (!code && *name != '.' && !strstr(name, ".record"))
            code = send_one(sender, argument[0], argument[1], name, e);
        free(entry[i]);
    }
    free(entry);
    if (!code)
        code = bl_sender_finish(sender, e);
    if (code)
        bl_remote_end(remote);
    bl_sender_close(sender);
    return code;
}

/* Does the work of a piece: waits, until the piece is lost or the run is cancelled. */
static int claims_work(struct bl_claims *claims, int64_t number, double seconds, struct bl_error *e)
{
    bool lost = false;
    const char *other = bl_claims_other(claims);
    printf("took %" PRId64 "%s%s\n", number, *other ? " from " : "", other);
    fflush(stdout);
    for (double left = seconds; left > 0 && !lost && !bl_cancelled(&cancel); left -= 0.02) {
        usleep(20000);
        lost = bl_claims_is_lost(claims, number);
    }
    if (bl_cancelled(&cancel))
        return bl_error_set(e, BL_ECANCEL, "stopped");
    BL_TRY(bl_claims_finish(claims, number, &lost, e));
    printf("%s %" PRId64 "\n", lost ? "lost" : "done", number);
    fflush(stdout);
    return BL_OK;
}

static int probe_claims(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    struct bl_claims *claims = NULL;
    enum bl_claims_outcome outcome = BL_CLAIMS_BUSY;
    char other[256] = "";
    int64_t number;
    int code = bl_claims_open(&claims, remote, argument[0], atoll(argument[1]), atoll(argument[2]), e);
    while (!code && outcome != BL_CLAIMS_DONE) {
        code = bl_claims_next(claims, &number, &outcome, e);
        if (!code && outcome == BL_CLAIMS_TAKEN)
            code = claims_work(claims, number, atof(argument[3]), e);
        if (!code && outcome == BL_CLAIMS_BUSY && strcmp(other, bl_claims_other(claims)) != 0) {
            snprintf(other, sizeof other, "%s", bl_claims_other(claims));
            printf("busy %s\n", other);
            fflush(stdout);
        }
        if (!code && outcome == BL_CLAIMS_BUSY)
            usleep(200000);
    }
    if (!code)
        printf("end\n");
    else
        bl_remote_end(remote);
    bl_claims_close(claims);
    return code;
}

static int probe_delete(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    return bl_remote_delete(remote, argument[0], e);
}

static int probe_print_left(void *context, const struct bl_remote_upload_left *left, struct bl_error *e)
{
    (void)context, (void)e;
    printf("%s\t%s\t%" PRId64 "\n", left->url, left->id, left->begun);
    return BL_OK;
}

static int probe_uploads(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    return bl_remote_list_uploads(remote, argument[0], probe_print_left, NULL, e);
}

static int probe_abort(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    return bl_remote_abort_upload(remote, argument[0], argument[1], e);
}

static int probe_clear(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    int64_t count;
    BL_TRY(bl_remote_clear_uploads(remote, argument[0], atoll(argument[1]), &count, e));
    printf("%" PRId64 "\n", count);
    return BL_OK;
}

static int probe_conditional(struct bl_remote *remote, char **argument, struct bl_error *e)
{
    return bl_remote_probe_conditional(remote, argument[0], e);
}

static const struct probe_command {
    const char *name;
    int arguments;
    int (*run)(struct bl_remote *remote, char **argument, struct bl_error *e);
} probe_commands[] = {
    {"stat", 1, probe_stat},       {"list", 1, probe_list},
    {"cat", 1, probe_cat},         {"read", 3, probe_read},
    {"pieces", 3, probe_pieces},   {"seconds", 2, probe_seconds},
    {"put", 3, probe_put},         {"upload", 3, probe_upload},
    {"once", 2, probe_once},       {"send", 3, probe_send},
    {"claims", 4, probe_claims},   {"delete", 1, probe_delete},
    {"uploads", 1, probe_uploads}, {"abort", 2, probe_abort},
    {"clear", 2, probe_clear},     {"conditional", 1, probe_conditional},
};

/* Reads the options; returns the index of the first argument that is none. */
static int probe_options(int argc, char **argv, struct bl_remote_options *options)
{
    int at = 1;
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        const char *value = at + 1 < argc ? argv[at + 1] : "";
        bool is_flag = strcmp(argv[at], "--anonymous") == 0 || strcmp(argv[at], "--insecure") == 0;
        options->anonymous |= strcmp(argv[at], "--anonymous") == 0;
        options->insecure |= strcmp(argv[at], "--insecure") == 0;
        if (strcmp(argv[at], "--endpoint") == 0)
            options->endpoint = value;
        else if (strcmp(argv[at], "--retries") == 0)
            options->retries = atoi(value);
        else if (strcmp(argv[at], "--timeout") == 0)
            options->timeout = atoi(value);
        at += !is_flag;
    }
    return at;
}

static void probe_stop(int number)
{
    atomic_store(&cancel.requested, number);
}

int main(int argc, char **argv)
{
    struct bl_remote_options options = {.retries = BL_REMOTE_RETRIES, .timeout = BL_REMOTE_TIMEOUT};
    struct bl_remote_counts counts;
    struct bl_remote *remote = NULL;
    struct bl_error e = {0};
    int at = probe_options(argc, argv, &options), code = BL_EUSAGE;
    const struct probe_command *command = NULL;
    for (size_t i = 0; i < sizeof probe_commands / sizeof *probe_commands && at < argc; i++)
        command = strcmp(probe_commands[i].name, argv[at]) == 0 ? &probe_commands[i] : command;
    if (!command || argc - at - 1 != command->arguments)
        return 64;
    const struct sigaction stop = {.sa_handler = probe_stop}, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGPIPE, &ignore, NULL); /* as the tool does */
    code = bl_remote_open(&remote, &options, &cancel, &e);
    if (!code)
        code = command->run(remote, argv + at + 1, &e);
    if (code)
        fprintf(stderr, "%s\n", e.text);
    if (remote) {
        bl_remote_count(remote, &counts);
        fprintf(stderr,
                "%" PRId64 " requests, %" PRId64 " retries, %" PRId64 " bytes wanted, %" PRId64 " bytes fetched\n",
                counts.requests, counts.retries, counts.wanted, counts.fetched);
    }
    bl_remote_close(remote);
    return code == BL_OK ? 0 : code == BL_EUSAGE ? 2 : code == BL_EDATA ? 3 : 1;
}
