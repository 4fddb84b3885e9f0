/* The resources of a run, from three sources: the affinity and the control groups of the process, the plan and the
 * format of the dataset, and the free space of the file system.
 *
 * The files of control groups are memory.max and cpu.max in version 2, and memory.limit_in_bytes, cpu.cfs_quota_us and
 * cpu.cfs_period_us in version 1. Example: cpu.max with "150000 100000" allows 1.5 processors, which is 1,500
 * thousandths, and the run uses 2. */
#include "run/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "run/mirror.h"
#include "store/block.h"
#include "store/folders.h"
#include "store/shard_reader.h"
#include "store/shard_writer.h"

/* --- processors and memory of the machine ------------------------------------------------------------------------- */

#define GROUPS_MAX (64 << 10) /* bytes of /proc/self/cgroup, which has a line for each hierarchy */

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

/* Returns the limit of bytes in the group, of either version. */
static int64_t cgroup_read_memory(const char *folder)
{
    int64_t limit, unused;
    if (cgroup_read_numbers(folder, "memory.max", &limit, &unused) < 1 &&
        cgroup_read_numbers(folder, "memory.limit_in_bytes", &limit, &unused) < 1)
        return INT64_MAX;
    return limit > 0 ? limit : INT64_MAX;
}

/* Returns the limit in thousandths of a processor. The files have a quota and a period, in microseconds. */
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

/* A process may use more than 1,024 processors only by -j: then sched_getaffinity fails, and the function returns 1. */
int bl_machine_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
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

/* --- workers that fit into memory --------------------------------------------------------------------------------- */

#define BASE_MEMORY ((int64_t)32 << 20) /* of the process without any table or input */

#define RUN_BYTES ((size_t)1 << 20) /* bytes of the fields of a job of small blocks */

/* Returns the limit that the user gave, or nine tenths of the memory: the rest is for other programs and for the page
 * cache. */
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

/* The memory that parts of a run need, in bytes. */
struct needs {
    int64_t base;   /* the process and its tables */
    int64_t input;  /* for decoding the largest input, beyond what a reader has */
    int64_t worker; /* for each worker: its reader, codec and compressor */
    int64_t shard;  /* for each shard in progress */
    const struct bl_format *format;
};

/* Returns the bytes that a run with these shares needs. Blocks in progress may lie in two more shards than they fill.
 */
static int64_t memory_needed(const struct needs *n, const struct bl_memory_shares *s)
{
    int64_t blocks = s->slots * (int64_t)s->run_blocks,
            run = (int64_t)bl_block_memory(n->format, (size_t)s->run_blocks, true);
    return n->base + n->input + s->workers * n->worker + s->slots * run +
           (blocks / n->format->blocks_per_shard + 2) * n->shard;
}

/* Returns the number of blocks of a job: one if blocks are large, several if they are small, since handing over a job
 * costs as much time as filling some KB. */
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

/* Sets *bytes to the size of an uncompressed shard. */
static int space_of_shard(const struct bl_format *format, int64_t shard, int64_t *bytes, struct bl_error *e)
{
    struct bl_layout layout;
    BL_TRY(bl_layout_make(&layout, format, shard, e));
    /* Flat fields are taken to be spread evenly. */
    *bytes = layout.file_size + (int64_t)((double)format->flat_bytes * (double)layout.blocks / (double)format->blocks);
    bl_layout_free(&layout);
    return BL_OK;
}

int bl_memory_resolve(struct bl_pack *pack, int64_t limit, int64_t reader, int64_t input, struct bl_error *e)
{
    const struct bl_plan *plan = pack->plan;
    const struct bl_format *format = pack->format;
    size_t rows = pack->table->count;
    struct bl_memory_shares *shares = &pack->share;
    /* The bytes of a row, a piece and a block in the tables of the plan. 8 bytes of each row and of each piece are for
     * external bucketing of the spool. */
    struct needs n = {.base = BASE_MEMORY + 24 * (int64_t)rows + 28 * (int64_t)plan->pieces +
                              8 * (int64_t)plan->blocks + bl_attribute_values_memory(format, rows) +
                              8 * (int64_t)rows * plan->own.count,
                      .input = input > reader ? input - reader : 0,
                      .worker = reader + (int64_t)bl_codec_memory(format) + memory_of_compressor(format),
                      .format = format};
    BL_TRY(bl_shard_writer_memory(format, &n.shard, e));
    int64_t shard = 0;
    if (pack->mirror)
        BL_TRY(space_of_shard(format, 0, &shard, e));
    n.base += pack->mirror ? bl_mirror_memory(pack->mirror, shard) : 0;
    bool given = limit != 0;
    limit = memory_limit(limit);
    /* As large as the limit allows, or as small as they get: first smaller jobs, then fewer jobs, then fewer workers.
     */
    shares->slots = 2 * shares->workers;
    shares->run_blocks = memory_run_blocks(format, shares->run_blocks);
    while (shares->run_blocks > 1 && memory_needed(&n, shares) > limit)
        shares->run_blocks /= 2;
    while (shares->slots > shares->workers && memory_needed(&n, shares) > limit)
        shares->slots--;
    while (shares->workers > 1 && memory_needed(&n, shares) > limit)
        shares->slots = --shares->workers;
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
                        bl_text_size(a, limit), bl_text_size(b, (int64_t)bl_block_memory(format, 1, true)), d,
                        bl_text_size(c, needed), n.input ? ", --decoder-memory" : "");
}

/* --- space on the disk -------------------------------------------------------------------------------------------- */

enum { FOLDERS = 2 }; /* depth of folders in DIR/shards and DIR/.bload */

/* The shards that are still to be written, and their bytes. */
struct need {
    int64_t shards, bytes;
};

/* Sets the sizes of the first and the last shard. All shards but the last have the same size. */
static int space_of_ends(const struct bl_format *format, int64_t *first, int64_t *last, struct bl_error *e)
{
    BL_TRY(space_of_shard(format, 0, first, e));
    return space_of_shard(format, bl_format_shards(format) - 1, last, e);
}

int bl_space_of_shards(const struct bl_format *format, int64_t *bytes, struct bl_error *e)
{
    int64_t first, last;
    BL_TRY(space_of_ends(format, &first, &last, e));
    *bytes = first * (bl_format_shards(format) - 1) + last;
    return BL_OK;
}

/* Adds the shards that are not finished: their names do not exist yet. */
static int space_add_new(const struct bl_pack *pack, struct need *need, struct bl_error *e)
{
    const struct bl_format *format = pack->format;
    int64_t shards = bl_format_shards(format), first_bytes, last_bytes;
    BL_TRY(space_of_ends(format, &first_bytes, &last_bytes, e));
    int code = BL_OK;
    for (int64_t first = 0; first < shards && !code; first += BL_SHARDS_PER_FOLDER) {
        uint8_t there[BL_SHARDS_PER_FOLDER] = {0};
        code = bl_folders_read_shards(pack->dir, format, first, there, e);
        for (int64_t i = first; i < shards && i < first + BL_SHARDS_PER_FOLDER; i++) {
            need->shards += !there[i - first];
            need->bytes += there[i - first] ? 0 : i == shards - 1 ? last_bytes : first_bytes;
        }
    }
    return code;
}

/* Sums the space that other tasks have already used for shards in progress. */
static int space_taken(const char *dir, int64_t *bytes, struct bl_error *e)
{
    struct stat status;
    char *path = bl_path_join(dir, BL_WORK_FOLDER);
    if (!path)
        return bl_error_memory(e);
    DIR *folder = opendir(path);
    int code = folder ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    free(path);
    if (code)
        return code;
    const struct dirent *entry;
    *bytes = 0;
    while ((entry = readdir(folder))) {
        const char *name = entry->d_name;
        if (strncmp(name, "shard-", 6) == 0 && strstr(name, ".part-") &&
            fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            *bytes += (int64_t)status.st_blocks * 512;
    }
    closedir(folder);
    return BL_OK;
}

/* Adds the bytes of all files below a folder, down to so many levels of folders. fd is closed in any case. */
static int space_add_files(int fd, const char *path, int levels, int64_t *bytes, struct bl_error *e)
{
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    }
    int code = BL_OK;
    const struct dirent *entry;
    struct stat status;
    while (!code && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(status.st_mode))
            *bytes += (int64_t)status.st_blocks * 512;
        if (!S_ISDIR(status.st_mode) || !levels)
            continue;
        int below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        code = below < 0 ? BL_OK : space_add_files(below, path, levels - 1, bytes, e);
    }
    closedir(folder);
    return code;
}

/* Sets *bytes to the space of all files below DIR/name; 0 if the folder does not exist. */
static int space_of_folder(const char *dir, const char *name, int64_t *bytes, struct bl_error *e)
{
    *bytes = 0;
    char *path = bl_path_join(dir, name);
    if (!path)
        return bl_error_memory(e);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = BL_OK;
    if (fd >= 0)
        code = space_add_files(fd, path, FOLDERS, bytes, e);
    else if (errno != ENOENT)
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    free(path);
    return code;
}

int bl_space_of_begun(const char *dir, int64_t *shards, int64_t *work, struct bl_error *e)
{
    int64_t parts = 0;
    int code = space_of_folder(dir, "shards", shards, e);
    if (!code)
        code = space_of_folder(dir, BL_WORK_FOLDER, work, e);
    if (!code && *work)
        code = space_taken(dir, &parts, e);
    *shards += parts;
    *work -= parts;
    return code;
}

char *bl_space_folder(const char *dir)
{
    char *path = strdup(dir);
    while (path && *path && access(path, F_OK) != 0) {
        size_t size = strlen(path);
        while (size && path[size - 1] == '/')
            size--;
        while (size && path[size - 1] != '/')
            size--;
        path[size] = '\0';
    }
    if (path && !*path) {
        free(path);
        path = strdup(".");
    }
    return path;
}

int bl_space_free(const char *dir, int64_t *bytes, struct bl_error *e)
{
    struct statvfs disk;
    char *path = bl_space_folder(dir);
    if (!path)
        return bl_error_memory(e);
    int code = statvfs(path, &disk) ? bl_error_errno(e, BL_EFAIL, "cannot read the free space of %s", dir) : BL_OK;
    /* A file system that does not report its size has no blocks. */
    if (!code)
        *bytes = disk.f_blocks ? (int64_t)((double)disk.f_bavail * (double)disk.f_frsize) : -1;
    free(path);
    return code;
}

/* Reads the free space first: data that other tasks write in between then counts twice, in favour of continuing. */
int bl_space_check(const struct bl_pack *pack, struct bl_error *e)
{
    struct need need = {0};
    int64_t left, others = 0;
    bool again = pack->missing && pack->missing->is_missing;
    if (pack->format->compressed && !again)
        return BL_OK;
    BL_TRY(bl_space_free(pack->dir, &left, e));
    if (left < 0)
        return BL_OK;
    for (int64_t i = pack->shard_begin; i < pack->shard_end && again; i++) {
        bool is_missing = pack->missing->is_missing[i];
        need.shards += is_missing;
        need.bytes += is_missing ? pack->missing->row[i].bytes : 0;
    }
    BL_TRY(again ? BL_OK : space_add_new(pack, &need, e));
    int held = pack->mirror ? bl_mirror_shards_held(pack->mirror) : INT_MAX;
    if (need.shards > held) { /* the others are sent to the store, and removed */
        need.bytes = need.bytes / need.shards * held;
        need.shards = held;
    }
    BL_TRY(space_taken(pack->dir, &others, e));
    if ((double)need.bytes <= (double)left + (double)others)
        return BL_OK;
    char shards[32], bytes[32], room[32];
    errno = ENOSPC;
    return bl_error_errno(e, BL_EFAIL, "%s: %s of shards (%s) are still to be written, but only %s are free", pack->dir,
                          bl_text_size(bytes, need.bytes), bl_text_count(shards, need.shards),
                          bl_text_size(room, left));
}
