#include "kind/text/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/io.h"
#include "base/temporary.h"
#include "base/fs.h"

#define CHUNK ((size_t)1 << 18)

/* At the beginning of KEY.rows. */
struct head {
    char magic[8];
    uint64_t key;
    struct bl_spool_stamp stamp;
    int64_t rows_bytes, steps_bytes;
    uint64_t rows_checksum, steps_checksum;
    int64_t synced; /* whether both files were synced */
};

static const char magic[] = "blspool5";

/* A row in the file, followed by its reason and its extra columns. */
struct packed {
    int64_t offset, length;
    uint64_t content;
    int32_t input, status;
    uint32_t reason, extra; /* bytes */
};

/* One of the two files while it is written. */
struct part {
    char *path; /* of the temporary name */
    int fd;
    struct bl_buffer buffer;
    XXH3_state_t *hash;
    int64_t bytes;
};

struct bl_spool_writer {
    char *dir;
    uint64_t key;
    struct bl_spool_stamp stamp;
    bool shared;
    struct part rows, steps;
};

/* To be freed; NULL: out of memory. */
static char *spool_path(const char *dir, uint64_t key, const char *suffix, struct bl_error *e)
{
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/%016" PRIx64 ".%s", dir, key, suffix);
    if (bl_buffer_check(&path, e))
        bl_buffer_free(&path);
    return path.data;
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* The temporary name is unique: other processes, on other machines too, may write the same chunk. */
static int part_open(struct part *part, const char *dir, uint64_t key, const char *suffix, struct bl_error *e)
{
    struct bl_buffer name = {0};
    char *path = spool_path(dir, key, suffix, e);
    int code = path ? bl_temporary_name(path, &name, e) : BL_EFAIL;
    free(path);
    part->path = name.data;
    if (code)
        return code;
    part->hash = XXH3_createState();
    if (!part->hash)
        return bl_error_memory(e);
    XXH3_64bits_reset(part->hash);
    part->fd = bl_fs_create(part->path, O_WRONLY, e);
    return part->fd < 0 ? part->fd : BL_OK;
}

static int part_write(struct part *part, const void *data, size_t size, struct bl_error *e)
{
    XXH3_64bits_update(part->hash, data, size);
    part->bytes += (int64_t)size;
    return bl_io_write(part->fd, data, size, part->path, e);
}

static int part_flush(struct part *part, struct bl_error *e)
{
    int code = bl_buffer_check(&part->buffer, e);
    if (code)
        goto out;
    if (part->buffer.size)
        code = part_write(part, part->buffer.data, part->buffer.size, e);
out:
    bl_buffer_clear(&part->buffer);
    return code;
}

static int part_put(struct part *part, const void *data, size_t size, struct bl_error *e)
{
    if (part->buffer.size + size > CHUNK) {
        int code = part_flush(part, e);
        if (code)
            return code;
    }
    if (size >= CHUNK)
        return part_write(part, data, size, e);
    bl_buffer_append(&part->buffer, data, size);
    return bl_buffer_check(&part->buffer, e);
}

static int part_publish(struct part *part, const struct bl_spool_writer *w, const char *suffix, struct bl_error *e)
{
    if (w->shared && fsync(part->fd) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot sync %s", part->path);
    if (close(part->fd) != 0) {
        part->fd = -1;
        return bl_error_errno(e, BL_EFAIL, "cannot close %s", part->path);
    }
    part->fd = -1;
    char *path = spool_path(w->dir, w->key, suffix, e);
    if (!path)
        return BL_EFAIL;
    int code = bl_fs_rename(part->path, path, e);
    free(path);
    if (code)
        return code;
    free(part->path);
    part->path = NULL;
    return BL_OK;
}

static void part_free(struct part *part)
{
    if (part->fd >= 0)
        close(part->fd);
    if (part->path)
        (void)bl_fs_unlink(part->path);
    free(part->path);
    XXH3_freeState(part->hash);
    bl_buffer_free(&part->buffer);
}

int bl_spool_create(struct bl_spool_writer **writer, const char *dir, uint64_t key, struct bl_spool_stamp stamp,
                    bool shared, struct bl_error *e)
{
    struct bl_spool_writer *w = calloc(1, sizeof *w);
    if (!w)
        return bl_error_memory(e);
    struct head head = {.key = 0};
    w->key = key;
    w->stamp = stamp;
    w->shared = shared;
    w->rows.fd = w->steps.fd = -1;
    w->dir = strdup(dir);
    int code = w->dir ? part_open(&w->rows, dir, key, "rows", e) : bl_error_memory(e);
    if (code)
        goto fail;
    code = part_open(&w->steps, dir, key, "steps", e);
    if (code)
        goto fail;
    code = bl_io_write(w->rows.fd, &head, sizeof head, w->rows.path, e); /* space for the head; not in the checksum */
    if (code)
        goto fail;
    *writer = w;
    return BL_OK;
fail:
    bl_spool_abort(w);
    return code;
}

int bl_spool_put(struct bl_spool_writer *w, int input, const struct bl_row *row, const void *steps, size_t bytes,
                 struct bl_error *e)
{
    const char *reason = row->reason ? row->reason : "", *extra = row->extra ? row->extra : "";
    struct packed packed = {.offset = row->offset,
                            .length = row->length,
                            .content = row->content,
                            .input = input,
                            .status = (int32_t)row->status,
                            .reason = (uint32_t)strlen(reason),
                            .extra = (uint32_t)strlen(extra)};
    int code = part_put(&w->rows, &packed, sizeof packed, e);
    if (code)
        return code;
    code = part_put(&w->rows, reason, packed.reason, e);
    if (code)
        return code;
    code = part_put(&w->rows, extra, packed.extra, e);
    if (code)
        return code;
    return part_put(&w->steps, steps, bytes, e);
}

int bl_spool_publish(struct bl_spool_writer *w, struct bl_error *e)
{
    int code = part_flush(&w->rows, e);
    if (code)
        goto out;
    code = part_flush(&w->steps, e);
    if (code)
        goto out;
    struct head head = {.key = w->key,
                        .stamp = w->stamp,
                        .rows_bytes = w->rows.bytes,
                        .steps_bytes = w->steps.bytes,
                        .rows_checksum = XXH3_64bits_digest(w->rows.hash),
                        .steps_checksum = XXH3_64bits_digest(w->steps.hash),
                        .synced = w->shared};
    memcpy(head.magic, magic, sizeof head.magic);
    code = bl_io_pwrite(w->rows.fd, &head, sizeof head, 0, w->rows.path, e);
    if (code)
        goto out;
    code = part_publish(&w->steps, w, "steps", e);
    if (code)
        goto out;
    code = part_publish(&w->rows, w, "rows", e);
out:
    bl_spool_abort(w);
    return code;
}

void bl_spool_abort(struct bl_spool_writer *w)
{
    part_free(&w->rows);
    part_free(&w->steps);
    free(w->dir);
    free(w);
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* Opens one of the two files. If it is optional and does not exist, *fd is -1. */
static int spool_open_file(const char *dir, uint64_t key, const char *suffix, bool optional, int *fd,
                           struct bl_error *e)
{
    *fd = -1;
    char *path = spool_path(dir, key, suffix, e);
    if (!path)
        return BL_EFAIL;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    int code = BL_OK;
    if (*fd < 0 && !(optional && errno == ENOENT))
        code = bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    free(path);
    return code;
}

int bl_spool_open(const char *dir, uint64_t key, struct bl_error *e)
{
    int fd;
    int code = spool_open_file(dir, key, "steps", false, &fd, e);
    if (code)
        return code;
    return fd;
}

/* Whether the file has this checksum from byte `from` on. */
static int spool_sum_file(int fd, int64_t from, int64_t bytes, uint64_t checksum, bool *good, struct bl_error *e)
{
    char *chunk = malloc(CHUNK);
    XXH3_state_t *hash = XXH3_createState();
    int code = chunk && hash ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    XXH3_64bits_reset(hash);
    for (int64_t at = 0; at < bytes;) {
        size_t size = bytes - at < (int64_t)CHUNK ? (size_t)(bytes - at) : CHUNK;
        code = bl_io_pread(fd, chunk, size, from + at, "a file of the spool", e);
        if (code)
            goto out;
        XXH3_64bits_update(hash, chunk, size);
        at += (int64_t)size;
    }
    *good = XXH3_64bits_digest(hash) == checksum;
out:
    XXH3_freeState(hash);
    free(chunk);
    return code;
}

/* Whether the file has so many bytes from byte `from` on and, if it was not synced, the right ones. */
static int spool_check_file(int fd, int64_t from, int64_t bytes, uint64_t checksum, bool synced, bool *good,
                            struct bl_error *e)
{
    struct stat status;
    *good = false;
    if (fstat(fd, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat a file of the spool");
    bool complete = status.st_size == from + bytes;
    if (complete && !synced)
        return spool_sum_file(fd, from, bytes, checksum, good, e);
    *good = complete;
    return BL_OK;
}

static int spool_read_head(int fd, uint64_t key, struct head *head, bool *good, struct bl_error *e)
{
    ssize_t n = pread(fd, head, sizeof *head, 0);
    if (n < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot read a file of the spool");
    *good = n == sizeof *head && memcmp(head->magic, magic, sizeof head->magic) == 0 && head->key == key &&
            head->rows_bytes >= 0 && head->steps_bytes >= 0;
    return BL_OK;
}

int bl_spool_find(const char *dir, uint64_t key, struct bl_spool_stamp stamp, bool *found, bool *changed,
                  struct bl_error *e)
{
    struct head head = {.key = 0};
    bool good = false;
    int rows = -1, steps = -1;
    *found = *changed = false;
    int code = spool_open_file(dir, key, "rows", true, &rows, e);
    if (code || rows < 0)
        goto out;
    code = spool_open_file(dir, key, "steps", true, &steps, e);
    if (code || steps < 0)
        goto out;
    code = spool_read_head(rows, key, &head, &good, e);
    if (code || !good)
        goto out;
    if (head.stamp.times != stamp.times && (!stamp.contents || head.stamp.contents != stamp.contents)) {
        *changed = true;
        goto out;
    }
    code = spool_check_file(rows, sizeof head, head.rows_bytes, head.rows_checksum, head.synced, &good, e);
    if (code || !good)
        goto out;
    code = spool_check_file(steps, 0, head.steps_bytes, head.steps_checksum, head.synced, found, e);
out:
    if (rows >= 0)
        close(rows);
    if (steps >= 0)
        close(steps);
    return code;
}

/* Visits the rows that lie whole in the first size bytes of data; *used: the bytes that they have. */
static int spool_visit_rows(const char *data, size_t size, size_t *used, bl_spool_visit *visit, void *context,
                            struct bl_buffer *texts, struct bl_error *e)
{
    struct packed packed;
    *used = 0;
    while (size - *used >= sizeof packed) {
        memcpy(&packed, data + *used, sizeof packed);
        size_t whole = sizeof packed + packed.reason + packed.extra;
        if (size - *used < whole)
            break;
        const char *text = data + *used + sizeof packed;
        bl_buffer_clear(texts);
        bl_buffer_append(texts, text, packed.reason);
        bl_buffer_byte(texts, '\0');
        bl_buffer_append(texts, text + packed.reason, packed.extra);
        int code = bl_buffer_check(texts, e);
        if (code)
            return code;
        struct bl_row row = {.offset = packed.offset,
                             .length = packed.length,
                             .content = packed.content,
                             .status = (enum bl_row_status)packed.status,
                             .reason = texts->data,
                             .extra = texts->data + packed.reason + 1,
                             .stream = -1};
        code = visit(context, packed.input, &row, e);
        if (code)
            return code;
        *used += whole;
    }
    return BL_OK;
}

/* Appends the next bytes of the file to data; *got: how many, 0 at the end. */
static int spool_read_more(int fd, int64_t at, struct bl_buffer *data, size_t *got, struct bl_error *e)
{
    if (!bl_buffer_reserve(data, CHUNK))
        return bl_error_memory(e);
    ssize_t n;
    do
        n = pread(fd, data->data + data->size, CHUNK, at);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot read a file of the spool");
    data->size += (size_t)n;
    *got = (size_t)n;
    return BL_OK;
}

int bl_spool_each(const char *dir, uint64_t key, bl_spool_visit *visit, void *context, struct bl_error *e)
{
    struct bl_buffer data = {0}, texts = {0};
    size_t used, n = 0;
    int fd;
    int code = spool_open_file(dir, key, "rows", false, &fd, e);
    for (int64_t at = sizeof(struct head); !code; at += (int64_t)n) {
        code = spool_read_more(fd, at, &data, &n, e);
        if (code || !n)
            break;
        code = spool_visit_rows(data.data, data.size, &used, visit, context, &texts, e);
        if (code)
            break;
        memmove(data.data, data.data + used, data.size - used);
        data.size -= used;
    }
    if (code)
        goto out;
    if (data.size)
        code = bl_error_set(e, BL_EFAIL, "a file of the spool ends in the middle of a row");
out:
    if (fd >= 0)
        close(fd);
    bl_buffer_free(&data);
    bl_buffer_free(&texts);
    return code;
}

int bl_spool_remove(const char *dir, uint64_t key, struct bl_error *e)
{
    static const char *const suffix[] = {"rows", "steps"};
    int code = BL_OK;
    for (int i = 0; i < 2 && !code; i++) {
        char *path = spool_path(dir, key, suffix[i], e);
        if (!path)
            return BL_EFAIL;
        code = bl_fs_remove(path, e);
        free(path);
    }
    return code;
}

/* Whether the name is that of a temporary file: "KEY.rows.part-HOST-PID-RANDOM". */
static bool spool_is_left_over(const char *name, uint64_t *key)
{
    char *end;
    *key = strtoull(name, &end, 16);
    return end == name + 16 && (strncmp(end, ".rows.part-", 11) == 0 || strncmp(end, ".steps.part-", 12) == 0);
}

int bl_spool_sweep(const char *dir, const uint64_t *key, size_t count, struct bl_error *e)
{
    uint64_t found;
    DIR *directory;
    int code = bl_fs_opendir(dir, &directory, e);
    if (code || !directory)
        return code;
    const struct dirent *entry;
    while (!code && (entry = readdir(directory))) {
        if (!spool_is_left_over(entry->d_name, &found))
            continue;
        size_t i = 0;
        while (i < count && key[i] != found)
            i++;
        if (i < count && unlinkat(dirfd(directory), entry->d_name, 0) != 0 && errno != ENOENT)
            code = bl_error_errno(e, BL_EFAIL, "cannot remove %s/%s", dir, entry->d_name);
    }
    closedir(directory);
    return code;
}
