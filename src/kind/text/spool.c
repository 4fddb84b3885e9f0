/* The files of the spool: a chunk is written, checked before a later run uses it again, and read piece by piece.
 *
 * KEY.rows is a struct head, then for each row a struct packed, the bytes of its reason and those of its extra columns.
 * KEY.steps has the steps of each ok row in units of BL_SPOOL_UNIT bytes, each with its checksum. A document of 5000
 * bytes takes 5016 bytes there:
 *
 *     4096 bytes of steps, checksum (8 bytes), 904 bytes of steps, checksum (8 bytes)
 *
 * The checksums lie beside the data so that a reader can verify a piece of a document without reading the whole file.
 */
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
#include "base/checksum.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/io.h"
#include "base/output.h"

/* Bytes that are written or read by one call: large enough that the number of calls does not matter. */
#define CHUNK ((size_t)1 << 18)
#define SUM_SIZE ((int64_t)sizeof(uint64_t))             /* bytes of the checksum of a unit */
#define UNIT_STORED ((size_t)(BL_SPOOL_UNIT + SUM_SIZE)) /* bytes of a full unit in the file */

/* The head of KEY.rows, in the byte order of the machine. A file with other numbers than these is damaged, or was
 * written by another version. */
struct head {
    char magic[8]; /* "blspool6": the last character is the version of the format */
    uint64_t key;  /* the chunk's key, which the name of the file has, too */
    struct bl_spool_stamp stamp;
    int64_t rows_bytes, steps_bytes; /* behind the head; of the whole file KEY.steps */
    uint64_t rows_checksum;          /* those of the steps are beside them */
    int64_t synced;                  /* whether both files were synced */
};

/* The number changes with each change of the layout, so that a chunk of another version counts as damaged. */
static const char magic[] = "blspool6";

/* A row in the file, followed by its reason and its extra columns. */
struct packed {
    int64_t offset, length, bytes; /* bytes: of its steps */
    uint64_t content;
    int32_t input, status;
    uint32_t reason, extra; /* bytes */
};

/* A document of no bytes has no unit, and so no checksum. */
int64_t bl_spool_stored(int64_t bytes)
{
    return bytes + (bytes + BL_SPOOL_UNIT - 1) / BL_SPOOL_UNIT * SUM_SIZE;
}

/* The inverse of bl_spool_stored: a stored unit has one checksum, and so does a last unit that is not full. */
int64_t bl_spool_plain(int64_t stored)
{
    return stored - (stored + BL_SPOOL_UNIT + SUM_SIZE - 1) / (BL_SPOOL_UNIT + SUM_SIZE) * SUM_SIZE;
}

/* The checksum of a unit depends on its place, so that a unit of another place is not taken for it. */
static uint64_t unit_checksum(uint64_t key, int64_t at, const void *data, size_t size)
{
    return bl_checksum(data, size) + (key ^ (uint64_t)at * UINT64_C(0x9e3779b97f4a7c15));
}

/* One of the two files of a chunk while it is written. The part owns the path, the descriptor, the buffer and the hash.
 */
struct spool_part {
    char *path; /* the temporary name; NULL: the file was published, and nothing is left to remove */
    int fd;
    struct bl_buffer buffer; /* bytes that are not yet written, at most CHUNK */
    XXH3_state_t *hash;      /* NULL: its units have checksums */
    int64_t bytes;           /* written so far, without the buffer and the head */
};

/* A chunk that is being written by one thread. */
struct bl_spool_writer {
    char *dir;
    uint64_t key;
    struct bl_spool_stamp stamp;
    bool shared; /* the spool lies where other machines read it, so files are synced */
    struct spool_part rows, steps;
};

/* Returns DIR/KEY.SUFFIX, which the caller frees, or NULL if memory is out. */
static char *spool_path(const char *dir, uint64_t key, const char *suffix, struct bl_error *e)
{
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/%016" PRIx64 ".%s", dir, key, suffix);
    if (bl_buffer_check(&path, e))
        bl_buffer_free(&path);
    return path.data;
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* Creates the file. Its temporary name is unique: other processes, on other machines too, may write the same chunk. */
static int part_open(struct spool_part *part, const char *dir, uint64_t key, const char *suffix, struct bl_error *e)
{
    struct bl_buffer name = {0};
    char *path = spool_path(dir, key, suffix, e);
    int code = path ? bl_temporary_name(path, &name, e) : BL_EFAIL;
    free(path);
    part->path = name.data;
    if (code)
        return code;
    part->fd = bl_fs_create(part->path, O_WRONLY, e);
    return part->fd < 0 ? part->fd : BL_OK;
}

/* Writes bytes to the file at once and adds them to the hash, past the buffer, which must be empty. */
static int part_write(struct spool_part *part, const void *data, size_t size, struct bl_error *e)
{
    if (part->hash)
        XXH3_64bits_update(part->hash, data, size);
    part->bytes += (int64_t)size;
    return bl_io_write(part->fd, data, size, part->path, e);
}

/* Writes the buffer to the file. The buffer is empty afterwards, also after an error. */
static int part_flush(struct spool_part *part, struct bl_error *e)
{
    int code = bl_buffer_check(&part->buffer, e);
    if (!code && part->buffer.size)
        code = part_write(part, part->buffer.data, part->buffer.size, e);
    bl_buffer_clear(&part->buffer);
    return code;
}

/* Adds bytes to the file. Small ones are collected in the buffer, since a row of a short document has some 60 bytes. */
static int spool_part_put(struct spool_part *part, const void *data, size_t size, struct bl_error *e)
{
    BL_TRY(part->buffer.size + size > CHUNK ? part_flush(part, e) : BL_OK);
    /* Steps of a long document need no copy into the buffer. */
    if (size >= CHUNK)
        return part_write(part, data, size, e);
    bl_buffer_append(&part->buffer, data, size);
    return bl_buffer_check(&part->buffer, e);
}

/* Closes the file and gives it its final name. It is synced first where other machines read it: without that, a machine
 * that loses its power could leave a name with an incomplete file. */
static int part_publish(struct spool_part *part, const struct bl_spool_writer *w, const char *suffix,
                        struct bl_error *e)
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
    struct bl_error differs = {0};
    /* Other tasks may have the file of that name open, which has the same bytes unless it is damaged: it is not
     * replaced then. */
    bool there = w->shared && bl_publish_file(part->path, path, &differs) == BL_OK;
    int code = there ? BL_OK : bl_fs_rename(part->path, path, e);
    free(path);
    /* The file of the other task stays; part_free removes this one. */
    if (code || there)
        return code; /* the temporary name is removed with the part */
    free(part->path);
    part->path = NULL;
    return BL_OK;
}

/* Frees what the part owns, and removes the temporary file if there is still one. */
static void part_free(struct spool_part *part)
{
    if (part->fd >= 0)
        close(part->fd);
    if (part->path)
        (void)bl_fs_unlink(part->path);
    free(part->path);
    XXH3_freeState(part->hash);
    bl_buffer_free(&part->buffer);
}

/* The file begins with an empty head, without the magic bytes, until bl_spool_publish writes the right one: a file that
 * was left over is never taken for a complete one. */
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
    if (!code)
        code = part_open(&w->steps, dir, key, "steps", e);
    /* Only the rows have a hash: units of the steps have their own checksums. */
    if (!code && !(w->rows.hash = XXH3_createState()))
        code = bl_error_memory(e);
    if (!code) {
        XXH3_64bits_reset(w->rows.hash);
        /* Space for the head, which is not in the checksum. */
        code = bl_io_write(w->rows.fd, &head, sizeof head, w->rows.path, e);
    }
    if (code)
        bl_spool_abort(w);
    else
        *writer = w;
    return code;
}

/* The lengths of both texts are in the row, so they need no final zeros in the file. */
int bl_spool_put(struct bl_spool_writer *w, int input, const struct bl_row *row, const void *steps, size_t bytes,
                 struct bl_error *e)
{
    const char *reason = row->reason ? row->reason : "", *extra = row->extra ? row->extra : "";
    struct packed packed = {.offset = row->offset,
                            .length = row->length,
                            .bytes = (int64_t)bytes,
                            .content = row->content,
                            .input = input,
                            .status = (int32_t)row->status,
                            .reason = (uint32_t)strlen(reason),
                            .extra = (uint32_t)strlen(extra)};
    BL_TRY(spool_part_put(&w->rows, &packed, sizeof packed, e));
    BL_TRY(spool_part_put(&w->rows, reason, packed.reason, e));
    BL_TRY(spool_part_put(&w->rows, extra, packed.extra, e));
    /* Each unit of the steps is followed by its checksum. The last unit of a document may be shorter, so that each
     * document begins with a new unit, and a piece can be read without the documents beside it. */
    struct spool_part *part = &w->steps;
    for (size_t at = 0; at < bytes; at += BL_SPOOL_UNIT) {
        size_t size = bytes - at < BL_SPOOL_UNIT ? bytes - at : BL_SPOOL_UNIT;
        const uint8_t *unit = (const uint8_t *)steps + at;
        uint64_t sum = unit_checksum(w->key, part->bytes + (int64_t)part->buffer.size, unit, size);
        BL_TRY(spool_part_put(part, unit, size, e));
        BL_TRY(spool_part_put(part, &sum, sizeof sum, e));
    }
    return BL_OK;
}

/* The steps get their name before the rows: a chunk with KEY.rows is complete. */
int bl_spool_publish(struct bl_spool_writer *w, struct bl_error *e)
{
    int code = part_flush(&w->rows, e);
    if (!code)
        code = part_flush(&w->steps, e);
    struct head head = {.key = w->key,
                        .stamp = w->stamp,
                        .rows_bytes = w->rows.bytes,
                        .steps_bytes = w->steps.bytes,
                        .rows_checksum = XXH3_64bits_digest(w->rows.hash),
                        .synced = w->shared};
    memcpy(head.magic, magic, sizeof head.magic);
    if (!code)
        code = bl_io_pwrite(w->rows.fd, &head, sizeof head, 0, w->rows.path, e);
    if (!code)
        code = part_publish(&w->steps, w, "steps", e);
    if (!code)
        code = part_publish(&w->rows, w, "rows", e);
    bl_spool_abort(w);
    return code;
}

/* After bl_spool_publish a part has a temporary name only if another task has published the same file. */
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
    /* O_NOFOLLOW and O_NONBLOCK: others may write to the folder, so no link is followed, and no pipe blocks. */
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    int code = BL_OK;
    if (*fd < 0 && !(optional && errno == ENOENT))
        code = bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    free(path);
    return code;
}

bool bl_spool_has(const char *dir, uint64_t key)
{
    char *path = spool_path(dir, key, "rows", NULL);
    bool has = path && access(path, F_OK) == 0;
    free(path);
    return has;
}

/* Opens a copy of the steps in a store. */
static int spool_open_copy(const char *url, uint64_t key, struct bl_error *e)
{
    struct bl_input_file file;
    char *path = spool_path(url, key, "steps", e);
    if (!path)
        return BL_EFAIL;
    if (bl_input_file_open_whole(&file, path) != 0)
        file.fd = bl_opener_fail("cannot open", path, BL_EFAIL, e);
    free(path);
    return file.fd;
}

int bl_spool_open(const char *dir, const char *url, uint64_t key, bool *is_copy, struct bl_error *e)
{
    int fd;
    BL_TRY(spool_open_file(dir, key, "steps", url != NULL, &fd, e));
    *is_copy = fd < 0;
    return *is_copy ? spool_open_copy(url, key, e) : fd;
}

void bl_spool_announce(const char *url, uint64_t key, bool is_needed)
{
    struct bl_error none = {0};
    char *path = spool_path(url, key, "steps", &none);
    if (path && is_needed)
        bl_far_announce(path, 0, INT64_MAX);
    else if (path)
        bl_far_release(path);
    free(path);
}

/* Sets *good if the file has this many bytes. */
static int spool_has_size(int fd, int64_t bytes, bool *good, struct bl_error *e)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat a file of the spool");
    *good = status.st_size == bytes;
    return BL_OK;
}

/* Reads the head of KEY.rows. *good: it is that of this chunk and this version, and sums with its numbers do not
 * overflow. */
static int spool_read_head(int fd, uint64_t key, struct head *head, bool *good, struct bl_error *e)
{
    struct stat status;
    *good = false;
    if (fstat(fd, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat a file of the spool");
    if (status.st_size < (int64_t)sizeof *head)
        return BL_OK;
    BL_TRY(bl_io_pread(fd, head, sizeof *head, 0, "a file of the spool", e));
    *good = memcmp(head->magic, magic, sizeof head->magic) == 0 && head->key == key && head->rows_bytes >= 0 &&
            head->rows_bytes < INT64_MAX - (int64_t)sizeof *head && head->steps_bytes >= 0 &&
            head->steps_bytes <= INT64_MAX / 2;
    return BL_OK;
}

/* Returns BL_EFAIL with the file's name. The user must remove KEY.rows, because a dataset that is half packed refers to
 * the chunk: counting it again gives the same steps. If the spool is in a store, tasks may have copies of KEY.rows, but
 * they ask for KEY.steps. */
static int spool_report_damage(const char *dir, uint64_t key, const char *suffix, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL,
                        "%s/%016" PRIx64 ".%s is damaged (remove %s/%016" PRIx64
                        ".%s and run the same command again: what it has is counted once more)",
                        dir, key, suffix, dir, key, bl_path_is_url(dir) ? suffix : "rows");
}

/* A visit of the rows of a chunk. */
struct spool_visiting {
    int inputs;            /* of the chunk: a row has the number of one of them */
    int64_t steps_left;    /* bytes of the steps, with checksums */
    int64_t sum_left;      /* what the sizes of the remaining rows may add up to: the index adds them */
    bl_spool_visit *visit; /* NULL: only the checksum of the rows counts */
    void *context;
    struct bl_buffer texts; /* the reason and the extra columns of the row that is visited, with final zeros */
};

/* Visits the rows that lie whole in the first size bytes of data; *used: the bytes that they have. *good: false where
 * bload cannot have written one of them. A row that is cut off at the end of data is left for the next call. */
static int spool_visit_rows(struct spool_visiting *v, const char *data, size_t size, size_t *used, bool *good,
                            struct bl_error *e)
{
    struct bl_buffer *texts = &v->texts;
    struct packed packed;
    *used = 0;
    while (size - *used >= sizeof packed) {
        memcpy(&packed, data + *used, sizeof packed);
        /* The sum of two numbers of 32 bits and a small one does not overflow in 64 bits. */
        size_t whole = sizeof packed + packed.reason + packed.extra;
        /* The checksum is known only at the end of the file, and the visitor uses the numbers before that: they must be
         * those of a row of the chunk, and the sum of the sizes must not overflow. */
        *good = packed.input >= 0 && packed.input < v->inputs && packed.offset >= -1 && packed.length >= 0 &&
                packed.status >= 0 && packed.status <= BL_ROW_FAILED &&
                (packed.bytes >= packed.length || !packed.bytes) && packed.bytes <= v->steps_left;
        /* A row adds to the position of the next one the bytes of its steps with their checksums or, if the chunk has
         * rows alone, its steps. */
        int64_t stored = *good ? bl_spool_stored(packed.bytes) : 0, added = packed.bytes ? stored : packed.length;
        *good = *good && stored <= v->steps_left && added <= v->sum_left;
        if (size - *used < whole || !*good)
            break;
        const char *text = data + *used + sizeof packed;
        bl_buffer_clear(texts);
        bl_buffer_append(texts, text, packed.reason);
        bl_buffer_byte(texts, '\0');
        bl_buffer_append(texts, text + packed.reason, packed.extra);
        BL_TRY(bl_buffer_check(texts, e));
        struct bl_row row = {.offset = packed.offset,
                             .length = packed.length,
                             .content = packed.content,
                             .status = (enum bl_row_status)packed.status,
                             .reason = texts->data,
                             .extra = texts->data + packed.reason + 1,
                             .stream = -1};
        if (v->visit)
            BL_TRY(v->visit(v->context, packed.input, &row, packed.bytes, e));
        v->steps_left -= stored;
        v->sum_left -= added;
        *used += whole;
    }
    return BL_OK;
}

/* Visits the rows behind the head. *good: whether they are those that were written. If they are not, some rows may have
 * been visited; their numbers are possible ones, but they may be wrong. */
static int spool_visit_file(struct spool_visiting *v, int fd, const struct head *head, bool *good, struct bl_error *e)
{
    struct bl_buffer data = {0};
    struct bl_checksum_state sum;
    size_t used;
    ssize_t n = 1;
    int code = BL_OK;
    bl_checksum_begin(&sum);
    for (int64_t at = sizeof *head; !code && *good; at += n) {
        if (!bl_buffer_reserve(&data, CHUNK)) {
            code = bl_error_memory(e);
            break;
        }
        /* A signal may interrupt the call. */
        do
            n = pread(fd, data.data + data.size, CHUNK, at);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot read a file of the spool");
        if (n <= 0)
            break;
        bl_checksum_add(&sum, data.data + data.size, (size_t)n);
        data.size += (size_t)n;
        code = spool_visit_rows(v, data.data, data.size, &used, good, e);
        if (code)
            break;
        memmove(data.data, data.data + used, data.size - used);
        data.size -= used;
    }
    *good = *good && !data.size && !v->steps_left && bl_checksum_end(&sum) == head->rows_checksum;
    bl_buffer_free(&data);
    return code;
}

/* The size of KEY.rows need not be checked: the checksum covers all bytes behind the head. */
int bl_spool_each(const char *dir, uint64_t key, int inputs, bl_spool_visit *visit, void *context, struct bl_error *e)
{
    struct spool_visiting v = {.inputs = inputs, .sum_left = INT64_MAX / 2, .visit = visit, .context = context};
    struct head head = {.key = 0};
    bool good = false;
    int fd;
    int code = spool_open_file(dir, key, "rows", false, &fd, e);
    if (!code)
        code = spool_read_head(fd, key, &head, &good, e);
    v.steps_left = head.steps_bytes;
    if (!code && good)
        code = spool_visit_file(&v, fd, &head, &good, e);
    if (!code && !good)
        code = spool_report_damage(dir, key, "rows", e);
    if (fd >= 0)
        close(fd);
    bl_buffer_free(&v.texts);
    return code;
}

/* Reads the units of the document from this one on, up to its byte `end` and at most BL_SPOOL_WINDOW of them, and
 * compares them with their checksums. The end is that of the request, not of the document: a short piece costs a short
 * read. *good: the checksums match; otherwise the window is empty. */
static int window_fill(struct bl_spool_window *w, const struct bl_spool_steps *steps, int64_t unit, int64_t end,
                       bool *good, struct bl_error *e)
{
    int64_t last = (end + BL_SPOOL_UNIT - 1) / BL_SPOOL_UNIT; /* the unit behind the last one */
    last = last < unit + BL_SPOOL_WINDOW ? last : unit + BL_SPOOL_WINDOW;
    int64_t stored = bl_spool_stored(steps->bytes), to = last * (int64_t)UNIT_STORED,
            from = unit * (int64_t)UNIT_STORED;
    w->size = 0; /* nothing, until it is compared */
    to = to < stored ? to : stored;
    size_t size = (size_t)(to - from);
    BL_TRY(bl_io_pread(steps->fd, w->data, size, steps->begin + from, "the spool", e));
    w->key = steps->key;
    w->at = steps->begin + from;
    *good = true;
    /* The last unit may be shorter than the others. */
    for (size_t at = 0; at < size && *good; at += UNIT_STORED) {
        size_t bytes = (size - at < UNIT_STORED ? size - at : UNIT_STORED) - sizeof(uint64_t);
        uint64_t sum;
        memcpy(&sum, w->data + at + bytes, sizeof sum);
        *good = sum == unit_checksum(w->key, w->at + (int64_t)at, w->data + at, bytes);
    }
    w->size = *good ? size : 0;
    return BL_OK;
}

/* Pieces of one document are often read one after the other, so the window keeps the units that were read last. A loop
 * turn takes bytes of one unit, or fills the window. */
int bl_spool_read(struct bl_spool_window *w, const struct bl_spool_steps *steps, int64_t from, void *out, size_t size,
                  struct bl_error *e)
{
    int64_t end = from + (int64_t)size;
    for (uint8_t *to = out; from < end;) {
        int64_t unit = from / BL_SPOOL_UNIT, at = steps->begin + unit * (int64_t)UNIT_STORED - w->at;
        if (w->key != steps->key || at < 0 || at >= (int64_t)w->size) {
            bool good = true;
            BL_TRY(window_fill(w, steps, unit, end, &good, e));
            if (!good)
                return spool_report_damage(steps->dir, steps->key, "steps", e);
            continue;
        }
        /* The window may end with a unit that is not full, the last one of a document. */
        size_t left = w->size - (size_t)at, there = (left < UNIT_STORED ? left : UNIT_STORED) - sizeof(uint64_t);
        size_t skip = (size_t)(from % BL_SPOOL_UNIT), part = there - skip;
        part = (int64_t)part < end - from ? part : (size_t)(end - from);
        memcpy(to, w->data + at + skip, part);
        to += part;
        from += (int64_t)part;
    }
    return BL_OK;
}

/* --- finding ---------------------------------------------------------------------------------------------------- */

/* The comparison of the units of a chunk with their checksums, in the order of the rows. */
struct spool_comparing {
    struct bl_spool_window window;
    struct bl_spool_steps steps;
    bool good;
};

/* Compares the units of the steps of a row with their checksums. The steps of a row follow those of the row before. */
static int comparing_row(void *context, int input, const struct bl_row *row, int64_t bytes, struct bl_error *e)
{
    struct spool_comparing *c = context;
    int code = BL_OK;
    (void)input, (void)row;
    c->steps.bytes = bytes;
    for (int64_t unit = 0; unit * BL_SPOOL_UNIT < bytes && c->good && !code; unit += BL_SPOOL_WINDOW)
        code = window_fill(&c->window, &c->steps, unit, bytes, &c->good, e);
    c->steps.begin += bl_spool_stored(bytes);
    return code;
}

/* Compares the rows, and the steps unless they were synced, with their checksums. rows and steps: descriptors. */
static int spool_compare(int rows, int steps, uint64_t key, int inputs, const struct head *head, bool *good,
                         struct bl_error *e)
{
    struct spool_comparing *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    struct spool_visiting v = {
        .inputs = inputs, .steps_left = head->steps_bytes, .sum_left = INT64_MAX / 2, .context = c};
    c->good = true;
    c->steps = (struct bl_spool_steps){.key = key, .fd = steps};
    v.visit = head->synced ? NULL : comparing_row;
    int code = spool_visit_file(&v, rows, head, good, e);
    *good = *good && c->good;
    bl_buffer_free(&v.texts);
    free(c);
    return code;
}

/* Sets *good if a chunk's steps in a store have this many bytes. */
static int spool_has_size_there(const char *url, uint64_t key, int64_t bytes, bool *good, struct bl_error *e)
{
    struct stat status;
    char *path = spool_path(url, key, "steps", e);
    if (!path)
        return BL_EFAIL;
    bool is_there = bl_input_file_stat(path, &status) == 0;
    int code = is_there || errno == ENOENT ? BL_OK : bl_opener_fail("cannot stat", path, BL_EFAIL, e);
    if (!code)
        bl_far_forgive();
    *good = is_there && status.st_size == bytes;
    free(path);
    return code;
}

/* The checks go from cheap to expensive: the head, the stamp, the sizes, the checksums. */
int bl_spool_find(const char *dir, const char *url, uint64_t key, int inputs, struct bl_spool_stamp stamp, bool *found,
                  bool *changed, struct bl_error *e)
{
    struct head head = {.key = 0};
    bool good = false;
    int rows = -1, steps = -1;
    int code = spool_open_file(dir, key, "rows", true, &rows, e);
    if (!code && rows >= 0)
        code = spool_open_file(dir, key, "steps", true, &steps, e);
    if (!code && (steps >= 0 || (rows >= 0 && url)))
        code = spool_read_head(rows, key, &head, &good, e);
    good = good && (steps >= 0 || head.synced); /* files are synced before they are sent */
    /* The same contents under other times, such as after a copy of the inputs, are as good. */
    *changed =
        !code && good && head.stamp.times != stamp.times && (!stamp.contents || head.stamp.contents != stamp.contents);
    good = good && !*changed;
    if (!code && good)
        code = spool_has_size(rows, (int64_t)sizeof head + head.rows_bytes, &good, e);
    if (!code && good)
        code = steps >= 0 ? spool_has_size(steps, head.steps_bytes, &good, e)
                          : spool_has_size_there(url, key, head.steps_bytes, &good, e);
    if (!code && good)
        code = spool_compare(rows, steps, key, inputs, &head, &good, e);
    *found = !code && good;
    if (rows >= 0)
        close(rows);
    if (steps >= 0)
        close(steps);
    return code;
}

/* The rows go first: without them a chunk does not exist, even if the removal stops between the two files. */
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

/* Only temporary files of the given chunks are removed: other runs may be writing those of other chunks. */
int bl_spool_sweep(const char *dir, const uint64_t *key, size_t count, struct bl_error *e)
{
    DIR *directory;
    int code = bl_fs_opendir(dir, &directory, e);
    if (code || !directory)
        return code;
    const struct dirent *entry;
    while (!code && (entry = readdir(directory))) {
        /* The name of a temporary file is "KEY.rows.part-HOST-PID-RANDOM". */
        char *end;
        uint64_t found = strtoull(entry->d_name, &end, 16);
        if (end != entry->d_name + 16 ||
            (strncmp(end, ".rows.part-", 11) != 0 && strncmp(end, ".steps.part-", 12) != 0))
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
