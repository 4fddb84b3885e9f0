/* What the machine and its limits leave to this process. Figures of one worker were measured: it takes four descriptors
 * for a field that is decoded, and with less address space threads do not start. */
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "base/text.h"
#include "doctor/doctor.h"
#include "kind/kinds.h"
#include "run/machine.h"
#include "run/memory.h"

#define DESCRIPTORS_BASE 16
#define DESCRIPTORS_WORKER 4
#define DESCRIPTORS_USUAL 1024
#define ADDRESS_SPACE_MIN ((int64_t)256 << 20)
#define SHARD_SIZE ((int64_t)256 << 20) /* the default of --shard-size */

/* Where control groups cannot be read, bload takes the limits of the machine for its own. */
static bool limits_are_visible(void)
{
    return access("/proc/self/cgroup", R_OK) == 0 && access("/sys/fs/cgroup", R_OK) == 0;
}

static void limits_add_processors(struct bl_findings *f)
{
    int64_t usable = bl_machine_processors(), share = bl_machine_group_processors("");
    struct bl_buffer text = {0};
    bl_buffer_printf(&text, "%" PRId64 " of %ld are used", usable, sysconf(_SC_NPROCESSORS_ONLN));
    if (share < INT64_MAX)
        bl_buffer_printf(&text, "; the control group has %.2f", (double)share / 1000);
    f->failed |= text.failed;
    bl_findings_add(f, BL_VERDICT_OK, "processors", "%s", text.failed ? "" : text.data);
    bl_findings_value(f, "processors", usable);
    bl_buffer_free(&text);
}

/* What a worker that decodes video takes decides, as that is the most. */
static void limits_add_memory(struct bl_findings *f)
{
    char usable[32], each[32], readers[BL_PLURAL_SIZE];
    int64_t memory = bl_machine_memory(), reader = bl_kind_find("video")->read->memory;
    int64_t workers = bl_memory_for_inputs(0) / reader;
    bl_text_size(usable, memory);
    bl_text_size(each, reader);
    bl_text_plural(readers, workers, "worker");
    const char *group = bl_machine_group_memory("") == memory ? ", the limit of the control group" : "";
    if (workers < 1)
        bl_findings_add(f, BL_VERDICT_FAULT, "memory",
                        "%s%s: a worker that decodes video takes %s and its blocks: give more", usable, group, each);
    else if (workers < bl_machine_processors())
        bl_findings_add(f, BL_VERDICT_NOTE, "memory",
                        "%s%s: room for %s of %s and their blocks, so fewer than processors", usable, group, readers,
                        each);
    else
        bl_findings_add(f, BL_VERDICT_OK, "memory", "%s%s", usable, group);
    bl_findings_value(f, "bytes", memory);
}

static void limits_add_visibility(struct bl_findings *f)
{
    if (limits_are_visible())
        bl_findings_add(f, BL_VERDICT_OK, "control group", "can be read");
    else
        bl_findings_add(f, BL_VERDICT_WARNING, "control group",
                        "cannot be read (/proc/self/cgroup, /sys/fs/cgroup): limits of a container or job are not "
                        "seen; give -j and --memory");
}

static void limits_add_descriptors(struct bl_findings *f)
{
    char count[32];
    int64_t limit = bl_descriptors_raise(), workers = bl_machine_processors();
    int64_t most = (limit - DESCRIPTORS_BASE) / DESCRIPTORS_WORKER;
    bl_text_count(count, limit);
    if (most < 1)
        bl_findings_add(f, BL_VERDICT_FAULT, "open files", "at most %s, too few for one worker: raise ulimit -n",
                        count);
    else if (most < workers)
        bl_findings_add(f, BL_VERDICT_FAULT, "open files",
                        "at most %s, too few for %" PRId64 " workers: raise ulimit -n, or give -j %" PRId64, count,
                        workers, most);
    else if (limit < DESCRIPTORS_USUAL)
        bl_findings_add(f, BL_VERDICT_WARNING, "open files",
                        "at most %s: with several fields a worker needs more; raise ulimit -n to %d", count,
                        DESCRIPTORS_USUAL);
    else
        bl_findings_add(f, BL_VERDICT_OK, "open files", "at most %s", count);
    bl_findings_value(f, "descriptors", limit);
}

/* Adds a limit in bytes; verdict and advice are for one below wanted. */
static void limits_add_bytes(struct bl_findings *f, int resource, const char *name, int64_t wanted,
                             enum bl_verdict verdict, const char *advice)
{
    char size[32];
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT64_MAX) {
        bl_findings_add(f, BL_VERDICT_OK, name, "not limited");
        return;
    }
    int64_t bytes = (int64_t)limit.rlim_cur;
    bl_text_size(size, bytes);
    if (bytes < wanted)
        bl_findings_add(f, verdict, name, "at most %s: %s", size, advice);
    else
        bl_findings_add(f, BL_VERDICT_OK, name, "at most %s", size);
    bl_findings_value(f, "bytes", bytes);
}

static void limits_add_address_space(struct bl_findings *f)
{
    struct rlimit limit;
    bool tiny = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < (rlim_t)ADDRESS_SPACE_MIN;
    limits_add_bytes(f, RLIMIT_AS, "address space", tiny ? ADDRESS_SPACE_MIN : bl_machine_memory(),
                     tiny ? BL_VERDICT_FAULT : BL_VERDICT_WARNING,
                     tiny ? "threads will not start: raise ulimit -v"
                          : "less than the memory, which runs take as theirs: raise ulimit -v, or give --memory");
}

void bl_doctor_limits(struct bl_findings *f)
{
    f->group = "machine";
    limits_add_processors(f);
    limits_add_memory(f);
    limits_add_visibility(f);
    limits_add_descriptors(f);
    limits_add_address_space(f);
    limits_add_bytes(f, RLIMIT_FSIZE, "file size", SHARD_SIZE, BL_VERDICT_WARNING,
                     "shards are larger: raise ulimit -f, or give a smaller --shard-size");
}
