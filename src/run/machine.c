#include "run/machine.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "store/block.h"
#include "store/codec.h"
#include "store/seekable.h"
#include "store/shard_writer.h"

/* --- machine ------------------------------------------------------------------------------------------------------ */

#define GROUPS_MAX (64 << 10)

/* Reads a limit of one group; INT64_MAX if the file does not exist or sets none. folder: of the group. */
typedef int64_t limit_read(const char *folder);

/* Reads up to two numbers from a file and returns how many there are ("max" is not a number). */
static int cgroup_read_numbers(const char *folder, const char *name, int64_t *a, int64_t *b)
{
    char path[4096];
    struct bl_error e = {0};
    struct bl_buffer text = {0};
    long long first = 0, second = 0;
    int found = 0;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && access(path, R_OK) == 0 &&
        !bl_io_read_file(path, 4096, &text, &e))
        found = sscanf(text.data ? text.data : "", "%lld %lld", &first, &second);
    bl_buffer_free(&text);
    *a = first;
    *b = second;
    return found;
}

static int64_t cgroup_read_memory(const char *folder)
{
    int64_t limit, unused;
    if (cgroup_read_numbers(folder, "memory.max", &limit, &unused) < 1 &&
        cgroup_read_numbers(folder, "memory.limit_in_bytes", &limit, &unused) < 1)
        return INT64_MAX;
    return limit > 0 ? limit : INT64_MAX;
}

/* The file has a quota and a period, in microseconds. */
static int64_t cgroup_read_processors(const char *folder)
{
    int64_t quota, period, unused;
    if (cgroup_read_numbers(folder, "cpu.max", &quota, &period) < 2 &&
        (cgroup_read_numbers(folder, "cpu.cfs_quota_us", &quota, &unused) < 1 ||
         cgroup_read_numbers(folder, "cpu.cfs_period_us", &period, &unused) < 1))
        return INT64_MAX;
    return quota > 0 && period > 0 && quota < INT64_MAX / 1000 ? quota * 1000 / period : INT64_MAX;
}

/* Returns the lowest limit of a group and its parents. path: of the group below the hierarchy's mount; it is modified.
 * Inside a container, path may be the outer one, which does not exist; then the root of the mount is the container's
 * group. */
static int64_t cgroup_min_upwards(const char *root, const char *mount, char *path, limit_read *read)
{
    int64_t lowest = INT64_MAX;
    for (;;) {
        char folder[2048];
        int64_t limit = INT64_MAX;
        if (snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, mount, path) < (int)sizeof folder)
            limit = read(folder);
        lowest = limit < lowest ? limit : lowest;
        char *slash = strrchr(path, '/');
        if (!slash)
            return lowest;
        *slash = 0;
    }
}

/* Whether a list separated by commas contains the word. */
static bool cgroup_list_has(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL) {
        if (strncmp(list, word, size) == 0 && (list[size] == 0 || list[size] == ','))
            return true;
    }
    return false;
}

/* Parses /proc/self/cgroup: lines "number:controllers:path"; in version 2 the controllers are empty. */
static int64_t cgroup_min(const char *root, const char *controller, limit_read *read)
{
    char name[2048], mount[64];
    struct bl_error e = {0};
    struct bl_buffer text = {0};
    int64_t lowest = INT64_MAX;
    snprintf(mount, sizeof mount, "/%s", controller);
    char *next = NULL;
    if (snprintf(name, sizeof name, "%s/proc/self/cgroup", root) < (int)sizeof name && access(name, R_OK) == 0 &&
        !bl_io_read_file(name, GROUPS_MAX, &text, &e))
        next = text.data;
    while (next && *next) {
        char *line = strsep(&next, "\n");
        strsep(&line, ":");
        char *controllers = strsep(&line, ":");
        if (!line || !(*controllers == 0 || cgroup_list_has(controllers, controller)))
            continue;
        int64_t limit = cgroup_min_upwards(root, *controllers ? mount : "", line, read);
        lowest = limit < lowest ? limit : lowest;
    }
    bl_buffer_free(&text);
    return lowest;
}

int64_t bl_machine_group_memory(const char *root)
{
    return cgroup_min(root, "memory", cgroup_read_memory);
}

int64_t bl_machine_group_processors(const char *root)
{
    return cgroup_min(root, "cpu", cgroup_read_processors);
}

int bl_machine_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1; /* more than 1,024 processors: the user must give -j */
    int count = CPU_COUNT(&set);
    int64_t allowed = bl_machine_group_processors("");
    if (allowed / 1000 < count)
        count = (int)((allowed + 999) / 1000);
    return count > 0 ? count : 1;
}

int64_t bl_machine_memory(void)
{
    int64_t physical = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    int64_t allowed = bl_machine_group_memory("");
    return allowed < physical ? allowed : physical;
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

/* Memory: how many workers and blocks in progress fit into it. */

#define BASE_MEMORY ((int64_t)32 << 20)

#define RUN_BYTES ((size_t)1 << 20) /* of the fields of a job of small blocks */

static int64_t memory_limit(int64_t given)
{
    return given ? given : bl_machine_memory() / 10 * 9;
}

int64_t bl_memory_for_inputs(int64_t limit)
{
    return memory_limit(limit) - BASE_MEMORY;
}

/* Bytes of one compressor: its state, and its output for a whole frame. */
static int64_t memory_of_compressor(const struct bl_format *format)
{
    size_t content = 0, most = bl_format_frame_size(format);
    if (!format->compressed)
        return 0;
    for (int f = 0; f < format->fields.count; f++) {
        size_t bytes = bl_format_block_bytes(format, f);
        content = bytes > content ? bytes : content;
    }
    return (int64_t)bl_compressor_memory(format->level, content < most ? content : most);
}

/* What a run needs, in bytes. */
struct needs {
    int64_t base;   /* the process and its tables */
    int64_t input;  /* the largest one, beyond a reader */
    int64_t worker; /* each: its reader, codec and compressor */
    int64_t shard;  /* each shard in progress */
    const struct bl_format *format;
};

static int64_t memory_needed(const struct needs *n, const struct bl_memory_shares *s)
{
    int64_t blocks = s->slots * (int64_t)s->run_blocks, run = (int64_t)bl_block_run_memory(n->format, s->run_blocks);
    return n->base + n->input + s->workers * n->worker + s->slots * run +
           (blocks / n->format->blocks_per_shard + 2) * n->shard;
}

/* The blocks of a job: large ones go alone; small ones together, since handing over a job costs as much as filling some
 * KB. */
static int memory_run_blocks(const struct bl_format *format, int most)
{
    size_t bytes = 1;
    for (int f = 0; f < format->fields.count; f++)
        bytes += bl_format_block_bytes(format, f);
    int64_t blocks = (int64_t)(RUN_BYTES / bytes);
    blocks = blocks < format->blocks_per_shard ? blocks : format->blocks_per_shard;
    blocks = blocks < most ? blocks : most;
    return blocks > 1 ? (int)blocks : 1;
}

/* Makes the shares as large as the limit allows, or as small as they get. */
static void memory_share(const struct needs *n, int64_t limit, struct bl_memory_shares *s)
{
    s->slots = 2 * s->workers;
    s->run_blocks = memory_run_blocks(n->format, s->run_blocks);
    while (s->run_blocks > 1 && memory_needed(n, s) > limit)
        s->run_blocks /= 2;
    while (s->slots > s->workers && memory_needed(n, s) > limit)
        s->slots--;
    while (s->workers > 1 && memory_needed(n, s) > limit)
        s->slots = --s->workers;
}

int bl_memory_resolve(int64_t limit, const struct bl_sequences *table, const struct bl_plan *plan,
                      const struct bl_format *format, int64_t reader, int64_t input, struct bl_memory_shares *shares,
                      struct bl_error *e)
{
    /* Of a table's row and a piece, 8 bytes each are for scattering a spool. */
    struct needs n = {.base = BASE_MEMORY + 24 * (int64_t)table->count + 28 * (int64_t)plan->pieces +
                              8 * (int64_t)plan->blocks + bl_attribute_values_memory(format, table->count),
                      .input = input > reader ? input - reader : 0,
                      .worker = reader + (int64_t)bl_codec_memory(format) + memory_of_compressor(format),
                      .format = format};
    int code = bl_shard_writer_memory(format, &n.shard, e);
    if (code)
        return code;
    bool given = limit != 0;
    limit = memory_limit(limit);
    memory_share(&n, limit, shares);
    int64_t needed = memory_needed(&n, shares);
    shares->rest = limit - needed + n.input;
    shares->needed = needed;
    shares->limit = limit;
    if (given ? needed <= limit : shares->rest >= 0)
        return BL_OK;
    char a[32], b[32], c[32], d[64] = "";
    if (n.input)
        snprintf(d, sizeof d, ", decoding the largest input %s", bl_text_size(c, input));
    return bl_error_set(e, BL_EUSAGE,
                        "%s of memory is not enough: one block takes %s%s, and a run with one worker %s: use a smaller "
                        "T, size%s or --shard-size",
                        bl_text_size(a, limit), bl_text_size(b, (int64_t)bl_block_memory(format, true)), d,
                        bl_text_size(c, needed), n.input ? ", --decoder-memory" : "");
}
