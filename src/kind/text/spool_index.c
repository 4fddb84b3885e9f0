#include "kind/text/spool_index.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "kind/text/spool.h"

/* --- spool files -------------------------------------------------------------------------------------------------- */

/* The spool's files of steps, opened once for all workers: a plan takes documents from everywhere, and opening a file
 * takes longer than reading a document of it. */

/* Makes room for one more file. Only before workers begin. */
static int bl_spool_files_add(struct bl_spool_files *f, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(f->descriptor, f->capacity, f->count + 1, e);
    if (code)
        return code;
    if (!f->count)
        atomic_init(&f->left, sysconf(_SC_OPEN_MAX) / 2);
    atomic_init(&f->descriptor[f->count++], -1);
    return BL_OK;
}

int bl_spool_files_get(struct bl_spool_files *f, size_t i, const char *dir, uint64_t key, bool *held,
                       struct bl_error *e)
{
    int none = -1, fd = atomic_load(&f->descriptor[i]);
    *held = true;
    if (fd >= 0)
        return fd;
    fd = bl_spool_open(dir, key, e);
    if (fd < 0)
        return fd;
    if (atomic_fetch_sub(&f->left, 1) <= 0) {
        atomic_fetch_add(&f->left, 1);
        *held = false;
        return fd;
    }
    if (atomic_compare_exchange_strong(&f->descriptor[i], &none, fd))
        return fd;
    close(fd); /* another thread was first */
    atomic_fetch_add(&f->left, 1);
    return none;
}

void bl_spool_files_close(struct bl_spool_files *f)
{
    for (size_t i = 0; i < f->count; i++) {
        int fd = atomic_exchange(&f->descriptor[i], -1);
        if (fd < 0)
            continue;
        close(fd);
        atomic_fetch_add(&f->left, 1);
    }
}

void bl_spool_files_free(struct bl_spool_files *f)
{
    bl_spool_files_close(f);
    free(f->descriptor);
    *f = (struct bl_spool_files){.descriptor = NULL};
}

/* --- spool index -------------------------------------------------------------------------------------------------- */

/* Adding the rows of a chunk. */
struct adding {
    struct bl_spool_index *index;
    const struct bl_chunk *chunk;
    int input;     /* of the last row, or -1 */
    int64_t bytes; /* of the chunk's steps so far, with their checksums; or the steps, if it has rows alone */
};

static uint64_t path_hash(const char *path)
{
    return XXH3_64bits(path, strlen(path));
}

/* The file of that path, or NULL. */
static struct bl_spool_file *file_find(const struct bl_spool_index *p, uint64_t hash)
{
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&p->by_path, hash); bl_hash_next(&p->by_path, &probe, &number);) {
        if (p->file[number].hash == hash)
            return &p->file[number];
    }
    return NULL;
}

static int file_add(struct bl_spool_index *p, uint64_t hash, struct bl_spool_file **file, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(p->file, p->files_capacity, p->files + 1, e);
    if (code)
        return code;
    code = bl_hash_add(&p->by_path, hash, p->files, e);
    if (code)
        return code;
    *file = &p->file[p->files++];
    **file = (struct bl_spool_file){hash, p->segments, 0};
    return BL_OK;
}

/* Begins the segment of another file, or of the next part of the last file. */
static int segment_begin(struct adding *a, int input, struct bl_error *e)
{
    struct bl_spool_index *p = a->index;
    uint64_t hash = path_hash(a->chunk->input[input].path);
    int code = BL_ARRAY_RESERVE(p->segment, p->segments_capacity, p->segments + 1, e);
    if (code)
        return code;
    struct bl_spool_file *file = file_find(p, hash);
    if (!file)
        code = file_add(p, hash, &file, e);
    if (code)
        return code;
    file->segments++;
    p->segment[p->segments++] = (struct bl_spool_segment){p->keys - 1, p->documents, 0, a->bytes};
    a->input = input;
    return BL_OK;
}

static int adding_row(void *context, int input, const struct bl_row *row, int64_t bytes, struct bl_error *e)
{
    struct adding *a = context;
    struct bl_spool_index *p = a->index;
    if (row->status != BL_ROW_OK)
        return BL_OK;
    int code = input == a->input ? BL_OK : segment_begin(a, input, e);
    if (code)
        return code;
    code = BL_ARRAY_RESERVE(p->document, p->documents_capacity, p->documents + 1, e);
    if (code)
        return code;
    p->document[p->documents++] = (struct bl_spool_document){row->offset, a->bytes, row->content};
    struct bl_spool_segment *segment = &p->segment[p->segments - 1];
    a->bytes += bytes ? bl_spool_stored(bytes) : row->length;
    segment->count++;
    segment->end = a->bytes;
    return BL_OK;
}

int bl_spool_index_add(struct bl_spool_index *p, const char *dir, const struct bl_chunk *chunk, struct bl_error *e)
{
    struct adding a = {.index = p, .chunk = chunk, .input = -1};
    int code = BL_ARRAY_RESERVE(p->key, p->keys_capacity, p->keys + 1, e);
    if (code)
        return code;
    if (!p->files_open && !(p->files_open = calloc(1, sizeof *p->files_open)))
        return bl_error_memory(e);
    code = bl_spool_files_add(p->files_open, e);
    if (code)
        return code;
    p->key[p->keys++] = chunk->receipt;
    return bl_spool_each(dir, chunk->receipt, chunk->inputs, adding_row, &a, e);
}

void bl_spool_index_free(struct bl_spool_index *p)
{
    if (p->files_open)
        bl_spool_files_free(p->files_open);
    free(p->files_open);
    free(p->key);
    free(p->segment);
    free(p->document);
    free(p->file);
    bl_hash_free(&p->by_path);
    *p = (struct bl_spool_index){0};
}

/* The last of the file's segments that begins at or before offset. */
static const struct bl_spool_segment *file_find_segment(const struct bl_spool_index *p,
                                                        const struct bl_spool_file *file, int64_t offset)
{
    size_t low = 0, high = file->segments;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (p->document[p->segment[file->segment + middle].first].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return &p->segment[file->segment + low];
}

/* The index of the document at offset among those of a segment, if it is there. A binary search would touch memory all
 * over the segment. The documents are about equally long, so the index is interpolated first: each guess is off by
 * about the square root of the error of the guess before. A binary search between close bounds ends it. */
static size_t segment_find_document(const struct bl_spool_document *document, size_t count, int64_t offset)
{
    int64_t span = document[count - 1].offset - document[0].offset;
    double per_byte = span > 0 ? (double)(count - 1) / (double)span : 0;
    size_t low = 0, high = count, step;
    for (int guess = 0; guess < 3; guess++) {
        double at = (double)low + (double)(offset - document[low].offset) * per_byte;
        low = at <= 0 ? 0 : at >= (double)(count - 1) ? count - 1 : (size_t)at;
    }
    for (step = 4; low && document[low].offset > offset; step *= 2) {
        high = low;
        low = low > step ? low - step : 0;
    }
    for (step = 4; high - low > step && document[low + step].offset <= offset; step *= 2)
        low += step;
    high = high - low > step ? low + step : high;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (document[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

bool bl_spool_index_find(const struct bl_spool_index *p, const char *path, int64_t offset,
                         struct bl_spool_location *location)
{
    const struct bl_spool_file *file = file_find(p, path_hash(path));
    if (!file)
        return false;
    const struct bl_spool_segment *segment = file_find_segment(p, file, offset);
    const struct bl_spool_document *document = p->document + segment->first;
    size_t at = segment_find_document(document, segment->count, offset);
    if (document[at].offset != offset)
        return false;
    location->chunk = segment->chunk;
    location->start = document[at].start;
    location->content = document[at].content;
    location->steps = (at + 1 < segment->count ? document[at + 1].start : segment->end) - location->start;
    location->bytes = bl_spool_plain(location->steps);
    return true;
}
