/* The places of stored sequences: collecting them from the indexes of sources, writing them to rows.safetensors, and
 * finding them there.
 *
 * A mapped file may be damaged, and is too large to check when it is opened. So every search checks the values that it
 * uses, and a place that is out of range counts as not stored. */
#include "store/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/output.h"
#include "base/vector.h"
#include "store/dataset_file.h"

#define CHUNK 4096 /* pieces, or values of an attribute, that are converted at a time */
#define AHEAD 32   /* rows are in random order: prefetch the row of a piece this many pieces before it is used */

/* --- finding ------------------------------------------------------------------------------------------------------ */

/* Finds the parts of a row: *first to *end - 1. Returns false if the row is not stored, or if the tables, which may
 * come from a damaged file, give an impossible range. */
static bool places_range(const struct bl_places *p, int64_t row, int64_t *first, int64_t *end)
{
    if (row < 0 || row >= p->rows)
        return false;
    *first = p->row_ptr ? p->row_ptr[row] : row;
    *end = bl_places_end(p, row);
    return *first >= 0 && *first < *end && *end <= p->parts;
}

/* Returns true if a part has steps, and sums of its members cannot overflow. */
static bool place_is_sound(const struct bl_place *place)
{
    return place->source_start >= 0 && place->source_start <= INT64_MAX / 2 && place->start >= 0 && place->length > 0;
}

int64_t bl_places_begin(const struct bl_places *p, int64_t row)
{
    int64_t first, end;
    return places_range(p, row, &first, &end) ? bl_places_get(p, first).source_start : 0;
}

int64_t bl_places_steps(const struct bl_places *p, int64_t row)
{
    int64_t first, end;
    if (!places_range(p, row, &first, &end))
        return 0;
    const struct bl_place begin = bl_places_get(p, first), last = bl_places_get(p, end - 1);
    return place_is_sound(&begin) && place_is_sound(&last) ? last.source_start + last.length - begin.source_start : 0;
}

int64_t bl_places_find(const struct bl_places *p, int64_t row, int64_t step)
{
    int64_t low, high;
    if (!places_range(p, row, &low, &high))
        return -1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (bl_places_get(p, middle).source_start <= step)
            low = middle;
        else
            high = middle;
    }
    const struct bl_place found = bl_places_get(p, low);
    bool has = place_is_sound(&found) && step >= found.source_start && step - found.source_start < found.length;
    return has ? low : -1;
}

struct bl_own_place bl_places_own(const struct bl_places *p, int64_t row, int k)
{
    int64_t first, end;
    /* They lie where the row begins. */
    if (!places_range(p, row, &first, &end) || p->own_length[k][first] <= 0 || p->own_start[k][first] < 0)
        return (struct bl_own_place){-1, 0, 0};
    return (struct bl_own_place){p->block[first], p->own_start[k][first], p->own_length[k][first]};
}

/* --- collecting --------------------------------------------------------------------------------------------------- */

/* The tables of struct bl_places while they are filled, which needs pointers to mutable data. The indexes are read
 * twice: the first pass counts the parts of each row, the second pass stores them. */
struct collected {
    int64_t rows, parts;
    int64_t *block, *row_ptr, *source_start;
    int32_t *start, *length;
    int32_t *own_length[BL_FIELDS_MAX], *own_start[BL_FIELDS_MAX]; /* [own->count] arrays */
    const struct bl_plan_own *own;
    uint32_t *count;          /* [rows] parts found so far */
    bool is_single, is_whole; /* every row has one part at most; every part begins its sequence */
};

/* Stores a piece, and returns its part. c->count goes down to 0, so that the parts of a row are stored from its last
 * place on. */
static int64_t collected_put(struct collected *c, int64_t row, const struct bl_place *piece)
{
    int64_t part = c->row_ptr ? c->row_ptr[row] + --c->count[row] : row;
    c->block[part] = piece->block;
    c->start[part] = piece->start;
    c->length[part] = piece->length;
    if (c->source_start)
        c->source_start[part] = piece->source_start;
    return part;
}

/* The tables of an index, read a chunk at a time. */
struct pieces_chunk {
    int64_t sequence[CHUNK], source_start[CHUNK], block_end[CHUNK];
    int32_t start[CHUNK], length[CHUNK];
    int32_t own_length[BL_FIELDS_MAX][CHUNK], own_start[BL_FIELDS_MAX][CHUNK];
    int its[BL_FIELDS_MAX]; /* by own field: its number in the index; -1: the index lacks it */
};

/* Finds the own fields in the index. */
static void chunk_find_own(struct pieces_chunk *chunk, const struct bl_index *index, const struct bl_plan_own *own)
{
    for (int k = 0; k < own->count; k++) {
        chunk->its[k] = -1;
        for (int i = 0; i < index->own.count; i++)
            chunk->its[k] = strcmp(index->own.field[i].name, own->field[k].name) == 0 ? i : chunk->its[k];
    }
}

/* Reads the own steps of pieces p to p + count - 1. */
static int chunk_read_own(struct pieces_chunk *chunk, const struct bl_index *index, const struct bl_plan_own *own,
                          int64_t p, int64_t count, struct bl_error *e)
{
    for (int k = 0; k < own->count; k++) {
        if (chunk->its[k] < 0)
            continue;
        BL_TRY(bl_index_read(index, bl_index_own_length(chunk->its[k]), p, count, chunk->own_length[k], e));
        BL_TRY(bl_index_read(index, bl_index_own_start(chunk->its[k]), p, count, chunk->own_start[k], e));
    }
    return BL_OK;
}

/* Stores the own steps of piece i of the chunk. BL_EDATA: they are invalid, or the piece does not begin its row. */
static int collected_put_own(struct collected *c, const struct pieces_chunk *chunk, int64_t i, int64_t part,
                             struct bl_error *e)
{
    for (int k = 0; k < c->own->count; k++) {
        int32_t length = chunk->its[k] < 0 ? 0 : chunk->own_length[k][i], start = length ? chunk->own_start[k][i] : 0;
        if (length < 0 || start < 0 || (length && chunk->source_start[i]))
            return bl_error_set(e, BL_EDATA,
                                "a piece from step %" PRId64 " on has %" PRId32 " steps of %s from %" PRId32,
                                chunk->source_start[i], length, c->own->field[k].name, start);
        c->own_length[k][part] = length;
        c->own_start[k][part] = start;
    }
    return BL_OK;
}

/* Prefetches the entries of a row that is used soon. sequence: a value of the index, not checked yet, of the source
 * with the rows first_row to end_row - 1. */
BL_PREFETCHES void collected_prefetch(const struct collected *c, int64_t first_row, int64_t end_row, int64_t sequence)
{
    if (sequence < 0 || sequence >= end_row - first_row)
        return;
    __builtin_prefetch(&c->count[first_row + sequence], 1);
    if (c->block && !c->row_ptr) {
        __builtin_prefetch(&c->block[first_row + sequence], 1);
        __builtin_prefetch(&c->start[first_row + sequence], 1);
        __builtin_prefetch(&c->length[first_row + sequence], 1);
    }
}

/* Counts each piece of an index in the first pass, while c->block is NULL, and stores it in the second. The rows of the
 * index are rows first_row to end_row - 1 of the view. The first index->overlap steps of a piece that continues a
 * sequence repeat the piece before, and are left out. */
static int index_each_piece(const struct bl_index *index, int64_t first_row, int64_t end_row, struct collected *c,
                            struct bl_error *e)
{
    struct pieces_chunk *chunk = malloc(sizeof *chunk);
    int64_t end = 0, block = -1; /* end: number after the last piece of the block */
    int code = chunk ? BL_OK : bl_error_memory(e);
    if (chunk)
        chunk_find_own(chunk, index, c->own);
    for (int64_t p = 0; p < index->pieces && !code; p++) {
        int64_t i = p % CHUNK, left = index->pieces - p;
        if (i == 0) {
            const struct bl_index_column columns[] = {{BL_INDEX_SEQUENCE, chunk->sequence},
                                                      {BL_INDEX_SOURCE_START, chunk->source_start},
                                                      {BL_INDEX_START, chunk->start},
                                                      {BL_INDEX_LENGTH, chunk->length}};
            code = bl_index_read_columns(index, columns, 4, p, left < CHUNK ? left : CHUNK, e);
            if (!code && c->block)
                code = chunk_read_own(chunk, index, c->own, p, left < CHUNK ? left : CHUNK, e);
        }
        while (!code && p >= end) {
            int64_t blocks = index->blocks - ++block;
            if (blocks <= 0)
                code = bl_error_set(e, BL_EDATA, "%s: block_ptr does not rise to the number of pieces", index->path);
            else if (block % CHUNK == 0)
                code = bl_index_read(index, BL_INDEX_BLOCK_PTR, block + 1, blocks < CHUNK ? blocks : CHUNK,
                                     chunk->block_end, e);
            if (!code)
                end = chunk->block_end[block % CHUNK];
        }
        if (code)
            break;
        if (i + AHEAD < CHUNK && AHEAD < left)
            collected_prefetch(c, first_row, end_row, chunk->sequence[i + AHEAD]);
        struct bl_place piece = {block, chunk->source_start[i], chunk->start[i], chunk->length[i]};
        const int64_t skip = piece.source_start > 0 ? index->overlap : 0;
        bool fits = piece.length > skip && piece.start <= INT32_MAX - skip && piece.source_start <= INT64_MAX - skip;
        if (fits) {
            piece.source_start += skip;
            piece.start += (int32_t)skip;
            piece.length -= (int32_t)skip;
        }
        if (!fits || chunk->sequence[i] < 0 || chunk->sequence[i] >= end_row - first_row || piece.source_start < 0 ||
            piece.start < 0) {
            code = bl_error_set(e, BL_EDATA, "%s: piece %" PRId64 " is invalid", index->path, p);
            break;
        }
        const int64_t row = first_row + chunk->sequence[i];
        if (!c->block && c->count[row] == UINT32_MAX) {
            code = bl_error_set(e, BL_EDATA, "a sequence has too many pieces");
        } else if (!c->block) {
            c->is_single &= !c->count[row]++;
            c->is_whole &= !piece.source_start;
            c->parts++;
        } else {
            code = collected_put_own(c, chunk, i, collected_put(c, row, &piece), e);
            if (code)
                bl_error_prefix(e, "%s", index->path);
        }
    }
    free(chunk);
    return code;
}

/* Allocates the tables after the first pass, and sets row_ptr from the counts. If every row has one part at most, parts
 * are numbered as rows, and row_ptr is not needed. */
static int collected_allocate(struct collected *c, struct bl_error *e)
{
    if (c->is_single)
        c->parts = c->rows;
    size_t parts = (size_t)c->parts + 1;
    c->block = malloc(parts * sizeof *c->block);
    c->start = calloc(parts, sizeof *c->start);
    c->length = calloc(parts, sizeof *c->length);
    if (!c->is_single)
        c->row_ptr = malloc(((size_t)c->rows + 1) * sizeof *c->row_ptr);
    if (!c->is_single || !c->is_whole)
        c->source_start = calloc(parts, sizeof *c->source_start);
    if (!c->block || !c->start || !c->length || (!c->is_single && !c->row_ptr) ||
        ((!c->is_single || !c->is_whole) && !c->source_start))
        return bl_error_memory(e);
    for (int k = 0; k < c->own->count; k++) {
        c->own_length[k] = calloc(parts, sizeof **c->own_length);
        c->own_start[k] = calloc(parts, sizeof **c->own_start);
        if (!c->own_length[k] || !c->own_start[k])
            return bl_error_memory(e);
    }
    /* A row that no index has keeps the block -1. */
    memset(c->block, 0xff, parts * sizeof *c->block); /* -1 */
    int64_t at = 0;
    for (int64_t row = 0; !c->is_single && row < c->rows; row++) {
        c->row_ptr[row] = at;
        at += c->count[row];
    }
    if (!c->is_single)
        c->row_ptr[c->rows] = at;
    return BL_OK;
}

/* Moves the own steps of a row with several parts, first to first + n - 1, to the first part: only one has them. Called
 * before the parts are sorted, since the one that begins the row will then be the first. */
static void collected_move_own(struct collected *c, int64_t first, int64_t n)
{
    for (int k = 0; k < c->own->count; k++) {
        int32_t length = 0, start = 0;
        for (int64_t i = first; i < first + n; i++) {
            start = c->own_length[k][i] ? c->own_start[k][i] : start;
            length = c->own_length[k][i] ? c->own_length[k][i] : length;
            c->own_length[k][i] = c->own_start[k][i] = 0;
        }
        c->own_length[k][first] = length;
        c->own_start[k][first] = start;
    }
}

/* Orders the parts of a row for qsort, by their first steps. */
static int place_compare(const void *a, const void *b)
{
    int64_t one = ((const struct bl_place *)a)->source_start, two = ((const struct bl_place *)b)->source_start;
    return (one > two) - (one < two);
}

/* The parts of a row are sorted after the second pass, since blocks are in random order. BL_EDATA: parts of a row
 * overlap, or steps between them are missing. */
int bl_places_collect(struct bl_places *places, const struct bl_index *index, const int64_t *first_row, size_t count,
                      const struct bl_plan_own *own, struct bl_error *e)
{
    struct collected c = {.rows = first_row[count], .own = own, .is_single = true, .is_whole = true};
    *places = (struct bl_places){0};
    c.count = calloc((size_t)c.rows + 1, sizeof *c.count);
    int code = c.count ? BL_OK : bl_error_memory(e);
    for (size_t s = 0; s < count && !code; s++)
        code = index_each_piece(&index[s], first_row[s], first_row[s + 1], &c, e);
    if (!code)
        code = collected_allocate(&c, e);
    for (size_t s = 0; s < count && !code; s++)
        code = index_each_piece(&index[s], first_row[s], first_row[s + 1], &c, e);
    /* A row with one part needs no sorting. */
    const int64_t sorted = code || c.is_single ? 0 : c.rows;
    int64_t most = 0; /* parts of a row */
    for (int64_t row = 0; row < sorted; row++)
        most = c.row_ptr[row + 1] - c.row_ptr[row] > most ? c.row_ptr[row + 1] - c.row_ptr[row] : most;
    struct bl_place *place = malloc((size_t)most * sizeof *place);
    if (!place && most)
        code = bl_error_memory(e);
    for (int64_t row = 0; row < sorted && !code; row++) {
        const int64_t first = c.row_ptr[row], n = c.row_ptr[row + 1] - first;
        if (n < 2)
            continue;
        collected_move_own(&c, first, n);
        for (int64_t i = 0; i < n; i++)
            place[i] = (struct bl_place){c.block[first + i], c.source_start[first + i], c.start[first + i],
                                         c.length[first + i]};
        qsort(place, (size_t)n, sizeof *place, place_compare);
        for (int64_t i = 0; i < n && !code; i++) {
            c.block[first + i] = place[i].block;
            c.source_start[first + i] = place[i].source_start;
            c.start[first + i] = place[i].start;
            c.length[first + i] = place[i].length;
            int64_t end = i ? place[i - 1].source_start + place[i - 1].length : place[i].source_start;
            if (place[i].source_start != end)
                code = bl_error_set(e, BL_EDATA,
                                    "sequence %" PRId64 " is stored up to step %" PRId64
                                    ", and again from step %" PRId64 ": its parts cannot be joined",
                                    row, end, place[i].source_start);
        }
    }
    free(place);
    free(c.count);
    *places = (struct bl_places){.rows = c.rows,
                                 .parts = c.parts,
                                 .block = c.block,
                                 .start = c.start,
                                 .length = c.length,
                                 .row_ptr = c.row_ptr,
                                 .source_start = c.source_start,
                                 .owns = own->count};
    for (int k = 0; k < own->count; k++) {
        places->own_length[k] = c.own_length[k];
        places->own_start[k] = c.own_start[k];
    }
    if (code)
        bl_places_free(places);
    return code;
}

/* The members point to constant data, since most objects map a file; only allocated tables are freed. */
void bl_places_free(struct bl_places *places)
{
    if (places->map) {
        munmap(places->map, places->map_size);
    } else {
        free((void *)(uintptr_t)places->block);
        free((void *)(uintptr_t)places->start);
        free((void *)(uintptr_t)places->length);
        free((void *)(uintptr_t)places->row_ptr);
        free((void *)(uintptr_t)places->source_start);
        for (int k = 0; k < places->owns; k++) {
            free((void *)(uintptr_t)places->own_length[k]);
            free((void *)(uintptr_t)places->own_start[k]);
        }
    }
    *places = (struct bl_places){0};
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

#define TABLES_MAX (BL_ATTRIBUTES_MAX + 6 + 2 * BL_FIELDS_MAX)

/* A table to be written: an array, or the column of an attribute. */
struct table {
    struct bl_tensor tensor;
    const void *data;
    int attribute; /* -1: data */
};

struct tables {
    struct table table[TABLES_MAX];
    int count;
};

/* Adds a table with one dimension. The tables are written in the order of these calls. */
static void tables_add(struct tables *t, const char *name, enum bl_dtype dtype, int64_t size, const void *data,
                       int attribute)
{
    struct table *table = &t->table[t->count++];
    *table =
        (struct table){.tensor = {.dtype = dtype, .rank = 1, .shape = {size}}, .data = data, .attribute = attribute};
    snprintf(table->tensor.name, sizeof table->tensor.name, "%s%s", attribute < 0 ? "" : BL_PLACES_ATTRIBUTE, name);
}

/* Formats the name of a table of an own field: "own.text.length". */
static void own_table_name(const struct bl_field *field, const char *what, char out[BL_TENSOR_NAME_MAX])
{
    snprintf(out, BL_TENSOR_NAME_MAX, "own.%s.%s", field->name, what);
}

/* A column of an attribute is gathered from the values of all rows. */
int bl_places_write(const struct bl_places *p, const char *dir, const struct bl_format *format,
                    const struct bl_attribute_values *values, const int64_t *renamed, size_t renamed_count,
                    struct bl_error *e)
{
    const struct bl_metadata metadata[] = {{"bload_format", "1"}};
    struct tables t = {.count = 0};
    struct bl_tensor *order[TABLES_MAX];
    const struct bl_tensor *placed[TABLES_MAX];
    struct bl_buffer header = {0};
    struct bl_output out = {0};
    int64_t chunk[CHUNK];
    tables_add(&t, "block", BL_I64, p->parts, p->block, -1);
    if (p->row_ptr)
        tables_add(&t, "row_ptr", BL_I64, p->rows + 1, p->row_ptr, -1);
    if (p->source_start)
        tables_add(&t, "source_start", BL_I64, p->parts, p->source_start, -1);
    for (int a = 0; a < format->attributes; a++)
        tables_add(&t, format->attribute[a].name, format->attribute[a].dtype, p->rows, NULL, a);
    if (renamed_count)
        tables_add(&t, "renamed", BL_I64, (int64_t)renamed_count, renamed, -1);
    tables_add(&t, "length", BL_I32, p->parts, p->length, -1);
    tables_add(&t, "start", BL_I32, p->parts, p->start, -1);
    for (int f = 0, k = 0; f < format->fields.count; f++) {
        char name[BL_TENSOR_NAME_MAX];
        if (!format->fields.field[f].own)
            continue;
        own_table_name(&format->fields.field[f], "length", name);
        tables_add(&t, name, BL_I32, p->parts, p->own_length[k], -1);
        own_table_name(&format->fields.field[f], "start", name);
        tables_add(&t, name, BL_I32, p->parts, p->own_start[k++], -1);
    }
    for (int i = 0; i < t.count; i++)
        placed[i] = order[i] = &t.table[i].tensor;
    char *path = bl_path_join(dir, BL_PLACES_FILE);
    int code = path ? bl_output_own(&out, path, e) : bl_error_memory(e);
    if (!code)
        code = bl_safetensors_place(order, t.count, e);
    if (!code)
        code = bl_safetensors_header(placed, t.count, metadata, 1, &header, e);
    if (!code)
        code = bl_output_write(&out, header.data, header.size, e);
    for (int i = 0; i < t.count && !code; i++) {
        const struct table *table = &t.table[i];
        if (table->attribute < 0)
            code = bl_output_write(&out, table->data, (size_t)(table->tensor.end - table->tensor.begin), e);
        for (int64_t row = table->attribute < 0 ? p->rows : 0; row < p->rows && !code;) {
            size_t n = 0;
            for (; n < CHUNK && row < p->rows; n++, row++)
                chunk[n] = values->value[row * values->count + table->attribute];
            code = bl_output_write(&out, chunk, n * sizeof *chunk, e);
        }
    }
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    bl_buffer_free(&header);
    free(path);
    return code;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Returns the values of a table of `size` elements in the mapped file; NULL: the table is missing, or has another type
 * or size. size -1: any size, which is stored in *found. */
static const void *places_table(const struct bl_places *p, const struct bl_safetensors *file, const char *name,
                                enum bl_dtype dtype, int64_t size, int64_t *found)
{
    const struct bl_tensor *t = bl_safetensors_find(file, name);
    if (!t || t->dtype != dtype || t->rank != 1 || (size >= 0 && t->shape[0] != size) ||
        (file->data + t->begin) % (int64_t)bl_dtype_size(dtype))
        return NULL;
    if (found)
        *found = t->shape[0];
    return (const char *)p->map + file->data + t->begin;
}

/* Finds the tables of the format's attributes and own fields; returns 0 or BL_EDATA. */
static int find_format_tables(struct bl_places *p, const struct bl_safetensors *file, const struct bl_format *format,
                              struct bl_error *e)
{
    char name[BL_TENSOR_NAME_MAX];
    for (int a = 0; a < format->attributes; a++) {
        snprintf(name, sizeof name, BL_PLACES_ATTRIBUTE "%s", format->attribute[a].name);
        p->attribute[a] = places_table(p, file, name, format->attribute[a].dtype, p->rows, NULL);
        if (!p->attribute[a])
            return bl_error_set(e, BL_EDATA, "the table \"%s\" is missing, or has a wrong type or size", name);
    }
    for (int f = 0; f < format->fields.count; f++) {
        const struct bl_field *field = &format->fields.field[f];
        char start[BL_TENSOR_NAME_MAX];
        if (!field->own)
            continue;
        own_table_name(field, "length", name);
        own_table_name(field, "start", start);
        p->own_length[p->owns] = places_table(p, file, name, BL_I32, p->parts, NULL);
        p->own_start[p->owns] = places_table(p, file, start, BL_I32, p->parts, NULL);
        if (!p->own_length[p->owns] || !p->own_start[p->owns])
            return bl_error_set(e, BL_EDATA, "the table \"%s\" or \"%s\" is missing, or has a wrong type or size", name,
                                start);
        p->owns++;
    }
    return BL_OK;
}

/* The tables row_ptr, source_start and renamed may be missing. Without row_ptr, each row has one part at most. */
int bl_places_open(struct bl_places *p, const char *dir, const struct bl_manifest *manifest, struct bl_error *e)
{
    struct bl_safetensors file = {0};
    struct bl_input_file opened = {.fd = -1};
    int64_t data = 0;
    *p = (struct bl_places){0};
    char *path = bl_path_join(dir, BL_PLACES_FILE);
    int code = path ? bl_dataset_file_open(&opened, path, e) : bl_error_memory(e);
    if (!code && opened.status.st_size < BL_SAFETENSORS_PREFIX)
        code = bl_error_set(e, BL_EDATA, "%s is too short for a safetensors file", path);
    if (code)
        goto out;
    p->map_size = (size_t)opened.status.st_size;
    p->map = mmap(NULL, p->map_size, PROT_READ, MAP_SHARED, opened.fd, 0);
    if (p->map == MAP_FAILED) {
        p->map = NULL;
        code = bl_error_errno(e, BL_EFAIL, "cannot map %s", path);
        goto out;
    }
    code = bl_safetensors_prefix(p->map, (int64_t)p->map_size, &data, e);
    if (!code)
        code = bl_safetensors_parse(p->map, (size_t)data, (int64_t)p->map_size, &file, e);
    if (!code) {
        p->rows = manifest->rows;
        p->block = places_table(p, &file, "block", BL_I64, -1, &p->parts);
        p->start = places_table(p, &file, "start", BL_I32, p->parts, NULL);
        p->length = places_table(p, &file, "length", BL_I32, p->parts, NULL);
        p->row_ptr = places_table(p, &file, "row_ptr", BL_I64, p->rows + 1, NULL);
        p->source_start = places_table(p, &file, "source_start", BL_I64, p->parts, NULL);
        p->renamed = places_table(p, &file, "renamed", BL_I64, -1, &p->renamed_count);
        if (!p->block || !p->start || !p->length || (!p->row_ptr && p->parts != p->rows))
            code = bl_error_set(e, BL_EDATA, "a table is missing, or has a wrong type or size");
    }
    if (!code)
        code = find_format_tables(p, &file, &manifest->format, e);
    if (code)
        bl_error_prefix(e, "%s", path);
out:
    bl_input_file_close(&opened); /* the mapping stays */
    bl_safetensors_free(&file);
    free(path);
    if (code)
        bl_places_free(p);
    return code;
}
