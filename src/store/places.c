/* Collecting the places from indexes, and finding them. */
#include "store/places.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/prefetch.h"

#define CHUNK 4096 /* pieces read at a time */
#define AHEAD 32   /* rows are in random order: they are prefetched so many pieces before they are used */

/* --- finding ---------------------------------------------------------------------------------------------------- */

/* Tables that were read from a file may hold anything. */
static bool places_range(const struct bl_places *p, int64_t row, int64_t *first, int64_t *end)
{
    if (row < 0 || row >= p->rows)
        return false;
    *first = bl_places_first(p, row);
    *end = bl_places_end(p, row);
    return *first >= 0 && *first < *end && *end <= p->parts;
}

/* Whether a part has steps, at places whose sums cannot overflow. */
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

/* --- collecting ------------------------------------------------------------------------------------------------- */

/* The tables while they are filled: not constant yet. */
struct collected {
    int64_t rows, parts;
    int64_t *block, *row_ptr, *source_start;
    int32_t *start, *length;
    uint32_t *count;          /* [rows] parts found so far */
    bool is_single, is_whole; /* every row has one part at most; every part begins its sequence */
};

/* Called for pieces of one source in the order of the index. row: of the view. */
typedef int piece_function(struct collected *c, int64_t row, const struct bl_place *piece, struct bl_error *e);

static int collected_count(struct collected *c, int64_t row, const struct bl_place *piece, struct bl_error *e)
{
    if (c->count[row] == UINT32_MAX)
        return bl_error_set(e, BL_EDATA, "a sequence has too many pieces");
    c->is_single &= !c->count[row]++;
    c->is_whole &= !piece->source_start;
    c->parts++;
    return BL_OK;
}

static int collected_put(struct collected *c, int64_t row, const struct bl_place *piece, struct bl_error *e)
{
    (void)e;
    int64_t part = c->row_ptr ? c->row_ptr[row] + --c->count[row] : row;
    c->block[part] = piece->block;
    c->start[part] = piece->start;
    c->length[part] = piece->length;
    if (c->source_start)
        c->source_start[part] = piece->source_start;
    return BL_OK;
}

/* The tables of an index, read a chunk at a time. */
struct pieces_chunk {
    int64_t sequence[CHUNK], source_start[CHUNK], block_end[CHUNK];
    int32_t start[CHUNK], length[CHUNK];
};

/* The end of a block's pieces; called for the blocks in order. */
static int chunk_block_end(struct pieces_chunk *chunk, const struct bl_index *index, int64_t block, int64_t *end,
                           struct bl_error *e)
{
    int64_t left = index->blocks - block;
    int code = block % CHUNK ? BL_OK
                             : bl_index_read(index, BL_INDEX_BLOCK_PTR, block + 1, left < CHUNK ? left : CHUNK,
                                             chunk->block_end, e);
    *end = chunk->block_end[block % CHUNK];
    return code;
}

static int chunk_read(struct pieces_chunk *chunk, const struct bl_index *index, int64_t first, int64_t n,
                      struct bl_error *e)
{
    const struct {
        enum bl_index_table table;
        void *out;
    } tables[] = {{BL_INDEX_SEQUENCE, chunk->sequence},
                  {BL_INDEX_SOURCE_START, chunk->source_start},
                  {BL_INDEX_START, chunk->start},
                  {BL_INDEX_LENGTH, chunk->length}};
    int code = BL_OK;
    for (size_t t = 0; t < sizeof tables / sizeof *tables && !code; t++)
        code = bl_index_read(index, tables[t].table, first, n, tables[t].out, e);
    return code;
}

/* sequence: of the source whose rows are first_row to end_row - 1, as the index has it. */
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

/* Leaves out the first steps, which the piece before has, too. One that has no others is left without steps. */
static void place_skip(struct bl_place *piece, int64_t steps)
{
    if (piece->length <= steps || piece->start > INT32_MAX - steps || piece->source_start > INT64_MAX - steps) {
        piece->length = 0;
        return;
    }
    piece->source_start += steps;
    piece->start += (int32_t)steps;
    piece->length -= (int32_t)steps;
}

/* Goes through the pieces of an index, whose rows are first_row to end_row - 1 of the view. */
static int index_each_piece(const struct bl_index *index, int64_t first_row, int64_t end_row, struct collected *c,
                            piece_function *take, struct bl_error *e)
{
    struct pieces_chunk *chunk = malloc(sizeof *chunk);
    int64_t end = 0, block = -1;
    int code = chunk ? BL_OK : bl_error_memory(e);
    for (int64_t p = 0; p < index->pieces && !code; p++) {
        int64_t i = p % CHUNK, left = index->pieces - p;
        if (i == 0)
            code = chunk_read(chunk, index, p, left < CHUNK ? left : CHUNK, e);
        while (!code && p >= end) {
            if (++block >= index->blocks)
                code = bl_error_set(e, BL_EDATA, "%s: block_ptr does not rise to the number of pieces", index->path);
            else
                code = chunk_block_end(chunk, index, block, &end, e);
        }
        if (code)
            break;
        if (i + AHEAD < CHUNK && AHEAD < left)
            collected_prefetch(c, first_row, end_row, chunk->sequence[i + AHEAD]);
        struct bl_place piece = {block, chunk->source_start[i], chunk->start[i], chunk->length[i]};
        if (piece.source_start > 0)
            place_skip(&piece, index->overlap);
        if (chunk->sequence[i] < 0 || chunk->sequence[i] >= end_row - first_row || piece.length < 1 ||
            piece.source_start < 0 || piece.start < 0)
            code = bl_error_set(e, BL_EDATA, "%s: piece %" PRId64 " is invalid", index->path, p);
        else
            code = take(c, first_row + chunk->sequence[i], &piece, e);
    }
    free(chunk);
    return code;
}

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

static int place_compare(const void *a, const void *b)
{
    int64_t one = ((const struct bl_place *)a)->source_start, two = ((const struct bl_place *)b)->source_start;
    return (one > two) - (one < two);
}

/* Brings the parts of a row into the order of their steps. BL_EDATA: they overlap, or steps are missing between. */
static int collected_sort_row(struct collected *c, int64_t row, struct bl_place *place, struct bl_error *e)
{
    int64_t first = c->row_ptr[row], n = c->row_ptr[row + 1] - first;
    for (int64_t i = 0; i < n; i++)
        place[i] = (struct bl_place){c->block[first + i], c->source_start[first + i], c->start[first + i],
                                     c->length[first + i]};
    qsort(place, (size_t)n, sizeof *place, place_compare);
    for (int64_t i = 0; i < n; i++) {
        c->block[first + i] = place[i].block;
        c->source_start[first + i] = place[i].source_start;
        c->start[first + i] = place[i].start;
        c->length[first + i] = place[i].length;
        if (i > 0 && place[i].source_start != place[i - 1].source_start + place[i - 1].length)
            return bl_error_set(e, BL_EDATA,
                                "sequence %" PRId64 " is stored up to step %" PRId64 ", and again from step %" PRId64
                                ": its parts cannot be joined",
                                row, place[i - 1].source_start + place[i - 1].length, place[i].source_start);
    }
    return BL_OK;
}

static int collected_sort(struct collected *c, struct bl_error *e)
{
    int64_t most = 0;
    for (int64_t row = 0; row < c->rows; row++) {
        int64_t n = c->row_ptr[row + 1] - c->row_ptr[row];
        most = n > most ? n : most;
    }
    struct bl_place *place = malloc((size_t)most * sizeof *place);
    int code = place || !most ? BL_OK : bl_error_memory(e);
    for (int64_t row = 0; row < c->rows && !code; row++) {
        if (c->row_ptr[row + 1] - c->row_ptr[row] > 1)
            code = collected_sort_row(c, row, place, e);
    }
    free(place);
    return code;
}

static int collected_fill(struct collected *c, const struct bl_index *index, const int64_t *first_row, size_t count,
                          struct bl_error *e)
{
    int code = BL_OK;
    for (size_t s = 0; s < count && !code; s++)
        code = index_each_piece(&index[s], first_row[s], first_row[s + 1], c, collected_count, e);
    if (!code)
        code = collected_allocate(c, e);
    for (size_t s = 0; s < count && !code; s++)
        code = index_each_piece(&index[s], first_row[s], first_row[s + 1], c, collected_put, e);
    return code || c->is_single ? code : collected_sort(c, e);
}

int bl_places_collect(struct bl_places *places, const struct bl_index *index, const int64_t *first_row, size_t count,
                      struct bl_error *e)
{
    struct collected c = {.rows = first_row[count], .is_single = true, .is_whole = true};
    *places = (struct bl_places){0};
    c.count = calloc((size_t)c.rows + 1, sizeof *c.count);
    int code = c.count ? collected_fill(&c, index, first_row, count, e) : bl_error_memory(e);
    free(c.count);
    *places = (struct bl_places){.rows = c.rows,
                                 .parts = c.parts,
                                 .block = c.block,
                                 .start = c.start,
                                 .length = c.length,
                                 .row_ptr = c.row_ptr,
                                 .source_start = c.source_start};
    if (code)
        bl_places_free(places);
    return code;
}

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
    }
    *places = (struct bl_places){0};
}
