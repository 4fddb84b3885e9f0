/* Finds sequences by id, and the places of their pieces.
 *
 * The plan of an epoch may not fit in memory. So it is read part by part: of each part, the pieces of the wanted rows
 * are collected, with the steps of the training run that read them. With windows, a part is one window, since the
 * pieces of a window change places among themselves, and nothing leaves the window. */
#include "store/find.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/text.h"
#include "store/epochs.h"
#include "store/plan_info.h"

/* --- sequence ids ------------------------------------------------------------------------------------------------- */

/* Adds a spelling of id number i to the hash. */
static int id_add(struct bl_hash *hash, size_t i, const char *text, struct bl_error *e)
{
    return bl_hash_add(hash, XXH3_64bits(text, strlen(text)), i, e);
}

/* An id may match as it was given, or with its escapes decoded: the hash has both spellings, and plain the second. An
 * id with an invalid escape is no error: it matches as given. Several wanted ids may be spellings of one id. */
int bl_sequence_ids_find(struct bl_view *view, const char *const *id, size_t count, const struct bl_cancel *cancel,
                         int64_t *row, struct bl_error *e)
{
    struct bl_hash hash = {0};
    size_t found = 0, i;
    char **plain = calloc(count + 1, sizeof *plain);
    int code = plain ? BL_OK : bl_error_memory(e);
    for (i = 0; i < count && !code; i++) {
        row[i] = -1;
        plain[i] = strdup(id[i]);
        int64_t size = plain[i] ? bl_text_unescape(plain[i], strlen(plain[i])) : -1;
        if (size >= 0)
            plain[i][size] = 0;
        code = plain[i] ? id_add(&hash, i, id[i], e) : bl_error_memory(e);
        if (!code && size >= 0 && strcmp(plain[i], id[i]) != 0)
            code = id_add(&hash, i, plain[i], e);
    }
    for (int64_t r = 0; r < view->manifest.rows && found < count && !code; r++) {
        const struct bl_row *known;
        code = bl_cancelled(cancel) ? BL_ECANCEL : bl_view_row(view, r, &known, e);
        if (code)
            break;
        struct bl_hash_probe probe = bl_hash_begin(&hash, XXH3_64bits(known->id, strlen(known->id)));
        while (bl_hash_next(&hash, &probe, &i)) {
            if (row[i] >= 0 || (strcmp(known->id, id[i]) != 0 && strcmp(known->id, plain[i]) != 0))
                continue;
            row[i] = r;
            found++;
        }
    }
    for (i = 0; plain && i < count; i++)
        free(plain[i]);
    free(plain);
    bl_hash_free(&hash);
    return code;
}

/* All ids are searched for the most similar one. An id that ends in "/ID" has the name of a source before it: it is the
 * best, and ends the search. */
int bl_sequence_id_refuse(struct bl_view *view, const char *id, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_nearest nearest = {.word = id, .size = strlen(id)};
    struct bl_buffer behind_source = {0};
    char *best = NULL; /* a copy of nearest.best, since a row is valid until the next one is read */
    bool is_best = false;
    bl_buffer_printf(&behind_source, "/%s", id);
    int code = bl_buffer_check(&behind_source, e);
    for (int64_t r = 0; r < view->manifest.rows && !is_best && !code; r++) {
        const struct bl_row *known;
        const char *before = nearest.best;
        code = bl_cancelled(cancel) ? BL_ECANCEL : bl_view_row(view, r, &known, e);
        if (code)
            break;
        is_best = bl_path_has_suffix(known->id, behind_source.data);
        if (!is_best)
            bl_nearest_offer(&nearest, known->id);
        if (!is_best && nearest.best == before)
            continue;
        char *copy = strdup(known->id);
        free(best);
        nearest.best = best = copy;
        code = best ? BL_OK : bl_error_memory(e);
    }
    if (!code && best)
        code = bl_error_set(e, BL_EUSAGE, "%s has no sequence %s: did you mean %s?", view->dir, id, best);
    else if (!code)
        code = bl_error_set(e, BL_EUSAGE, "%s has no sequence %s: the ids are in the first column of its sequences.tsv",
                            view->dir, id);
    free(best);
    bl_buffer_free(&behind_source);
    return code;
}

int bl_sequence_id_find(struct bl_view *view, const char *id, const struct bl_cancel *cancel, int64_t *row,
                        struct bl_error *e)
{
    int code = bl_sequence_ids_find(view, &id, 1, cancel, row, e);
    return code || *row >= 0 ? code : bl_sequence_id_refuse(view, id, cancel, e);
}

/* --- places of sequences ------------------------------------------------------------------------------------------ */

#define PART_PIECES (1 << 20) /* pieces that are read at a time, approximately: 30 MB */

/* Consecutive blocks of the plan that are read together. With windows a part is one window. */
struct part {
    int64_t first;       /* first block */
    int64_t first_piece; /* number of the first piece in the file */
    struct bl_plan plan; /* the part alone: its blocks and pieces are numbered from 0 */
    int32_t *start;      /* [pieces] first step within the block */
    int64_t *drawn;      /* [pieces] with windows: the piece that takes the place of each piece; NULL without */
};

/* Frees the arrays of a part, which may be empty. */
static void find_free_part(struct part *part)
{
    bl_plan_free(&part->plan);
    free(part->start);
    free(part->drawn);
    *part = (struct part){0};
}

/* Reads blocks first to end - 1 of the plan. BL_EDATA: a piece is of a row that does not exist. BL_ECANCEL: cancelled.
 */
static int find_read_part(const struct bl_find *f, int64_t first, int64_t end, struct part *part, struct bl_error *e)
{
    const struct bl_manifest *m = &f->view->manifest;
    const struct bl_index *index = &f->view->index;
    *part = (struct part){.first = first};
    BL_TRY(bl_cancelled(f->cancel) ? BL_ECANCEL
                                   : bl_index_read_part(index, m->format.T, m->align, first, end, &part->plan, e));
    const size_t pieces = part->plan.pieces;
    part->start = malloc((pieces + 1) * sizeof *part->start);
    int code =
        part->start ? bl_index_read(index, BL_INDEX_BLOCK_PTR, first, 1, &part->first_piece, e) : bl_error_memory(e);
    if (!code && pieces)
        code = bl_index_read(index, BL_INDEX_START, part->first_piece, (int64_t)pieces, part->start, e);
    for (size_t p = 0; p < pieces && !code; p++) {
        if (part->plan.sequence[p] >= m->rows)
            code = bl_error_set(e, BL_EDATA,
                                "%s: piece %" PRId64 " is of sequence %" PRIu32 ", but there are only %" PRId64
                                " sequences",
                                index->path, part->first_piece + (int64_t)p, part->plan.sequence[p], m->rows);
    }
    return code;
}

/* Draws which piece of the window takes the place of each piece, into part->drawn. */
static int part_draw(const struct bl_find *f, struct part *part, struct bl_error *e)
{
    const struct bl_plan *plan = &part->plan;
    const struct bl_window window = {part->first_piece, plan->pieces, plan->sequence, plan->length};
    part->drawn = malloc((plan->pieces + 1) * sizeof *part->drawn);
    return part->drawn ? bl_window_draw(&window, f->training, f->group, part->drawn, e) : bl_error_memory(e);
}

/* Appends a piece to the results. */
static int found_add(struct bl_find *f, const struct bl_found *piece, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(f->found, f->capacity, f->count + 1, e));
    f->found[f->count++] = *piece;
    return BL_OK;
}

/* --- beginning ---------------------------------------------------------------------------------------------------- */

/* Returns true if a window exchanges pieces. Epoch 0 is the stored plan, unchanged. */
static bool find_is_windowed(const struct bl_find *f)
{
    return f->training && f->training->window && f->training->epoch;
}

/* Without a window, a dataset with n plans is read by plan k % n in epoch k. */
int bl_find_begin(struct bl_find *f, struct bl_view *view, const struct bl_training *training,
                  const struct bl_cancel *cancel, struct bl_error *e)
{
    *f = (struct bl_find){.view = view, .training = training, .cancel = cancel};
    if (!training)
        return BL_OK;
    BL_TRY(bl_training_order_make(&f->order, training, view->manifest.format.blocks, e));
    if (find_is_windowed(f))
        return bl_window_groups(view, &f->group, &f->bundle, e);
    if (!training->window) {
        int64_t *number;
        size_t count;
        BL_TRY(bl_epochs_list(&view->manifest, &number, &count, e));
        f->plan = number[training->epoch % (int64_t)count];
        free(number);
    }
    return f->plan ? bl_view_set_epoch(view, f->plan, e) : BL_OK;
}

void bl_find_free(struct bl_find *f)
{
    bl_training_order_free(&f->order);
    free(f->group);
    free(f->bundle);
    free(f->found);
    *f = (struct bl_find){0};
}

/* --- pieces of rows and steps ------------------------------------------------------------------------------------- */

/* A row to find, and its index in the argument of bl_find_rows. */
struct subject {
    int64_t row;
    size_t number;
};

struct subjects {
    struct subject *each; /* [count] sorted by row */
    size_t count;
    uint8_t *wanted; /* one bit per row of the dataset: a fast test for the many pieces that are not wanted */
};

/* Orders subjects by row, for qsort and bsearch. */
static int subject_compare(const void *a, const void *b)
{
    const struct subject *p = a, *q = b;
    return (p->row > q->row) - (p->row < q->row);
}

/* Returns true if the row is wanted, by its bit. */
static bool subjects_have(const struct subjects *s, int64_t row)
{
    return s->wanted[row / 8] >> row % 8 & 1;
}

/* Adds a piece if its row is wanted: once for each time that the training reads its block (padding at the end of an
 * epoch reads blocks again), or once if the training does not read the block. */
static int rows_take(struct bl_find *f, const struct subjects *s, const struct bl_found *piece, struct bl_error *e)
{
    if (!subjects_have(s, piece->row))
        return BL_OK;
    const struct subject wanted = {.row = piece->row};
    const struct subject *subject = bsearch(&wanted, s->each, s->count, sizeof *s->each, subject_compare);
    struct bl_found found = *piece;
    found.subject = subject->number;
    found.is_read = f->training && bl_training_order_find(&f->order, found.block, 0, &found.reading);
    if (!found.is_read)
        return found_add(f, &found, e);
    for (int64_t n = 1; found.is_read; n++) {
        BL_TRY(found_add(f, &found, e));
        found.is_read = bl_training_order_find(&f->order, found.block, n, &found.reading);
    }
    return BL_OK;
}

/* Adds the pieces of block b of the part: those of the subjects s or, if s is NULL, all, as `reading` reads them. With
 * windows, they are the pieces that were drawn in the place of the plan's. Drawn pieces change their order and so their
 * starts, too, if the block has no gaps between its pieces, and no alignment. */
static int block_add(struct bl_find *f, const struct part *part, size_t b, const struct subjects *s,
                     const struct bl_reading *reading, struct bl_error *e)
{
    const struct bl_plan *plan = &part->plan;
    const int64_t first = plan->block_ptr[b], end = plan->block_ptr[b + 1], block = part->first + (int64_t)b;
    bool is_mixed = part->drawn && f->view->manifest.align <= 1;
    for (int64_t p = first + 1; p < end && is_mixed; p++)
        is_mixed = part->start[p] == part->start[p - 1] + plan->length[p - 1];
    int64_t *order = malloc(((size_t)(end - first) + 1) * sizeof *order), at = 0;
    uint32_t *bundle = f->bundle ? malloc(((size_t)(end - first) + 1) * sizeof *bundle) : NULL;
    int code = order && (bundle || !f->bundle) ? BL_OK : bl_error_memory(e);
    for (int64_t i = 0; i < end - first && bundle; i++)
        bundle[i] = f->bundle[plan->sequence[first + i]];
    if (!code && is_mixed)
        code = bl_window_order(block, part->first_piece + first, (size_t)(end - first), bundle, f->training, order, e);
    for (int64_t i = 0; i < end - first && !code; i++) {
        const int64_t place = first + (is_mixed ? order[i] : i), p = part->drawn ? part->drawn[place] : place;
        struct bl_found piece = {.row = plan->sequence[p],
                                 .block = block,
                                 .start = is_mixed ? at : part->start[place],
                                 .length = plan->length[p],
                                 .source_start = plan->source_start[p]};
        at += piece.length;
        if (s) {
            code = rows_take(f, s, &piece, e);
        } else if (reading) {
            piece.is_read = true;
            piece.reading = *reading;
            piece.subject = (size_t)(reading->rank * f->training->batch_size + reading->place);
            code = found_add(f, &piece, e);
        }
    }
    free(order);
    free(bundle);
    return code;
}

/* Orders results for qsort: by subject, source_start, block, start and training step. */
static int found_compare(const void *a, const void *b)
{
    const struct bl_found *p = a, *q = b;
    if (p->subject != q->subject)
        return p->subject < q->subject ? -1 : 1;
    if (p->source_start != q->source_start)
        return p->source_start < q->source_start ? -1 : 1;
    if (p->block != q->block)
        return p->block < q->block ? -1 : 1;
    if (p->start != q->start)
        return p->start < q->start ? -1 : 1;
    return (p->reading.step > q->reading.step) - (p->reading.step < q->reading.step);
}

/* Most parts have none of the rows: pieces are drawn only in a part that has one. */
int bl_find_rows(struct bl_find *f, const int64_t *row, size_t count, struct bl_error *e)
{
    const struct bl_index *index = &f->view->index;
    const int64_t blocks = index->blocks, pieces = index->pieces > 0 ? index->pieces : 1;
    const bool is_windowed = find_is_windowed(f);
    /* Blocks have about the same number of pieces, so that so many blocks have about PART_PIECES. */
    int64_t step = blocks / (pieces / PART_PIECES + 1) + 1;
    struct subjects s = {.each = calloc(count + 1, sizeof *s.each),
                         .count = count,
                         .wanted = calloc((size_t)f->view->manifest.rows / 8 + 1, 1)};
    int code = s.each && s.wanted ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < count && !code; i++) {
        const struct bl_row *known;
        s.each[i] = (struct subject){row[i], i};
        if (subjects_have(&s, row[i])) {
            code = bl_view_row(f->view, row[i], &known, e);
            code = code ? code : bl_error_set(e, BL_EUSAGE, "%s is given twice", known->id);
        }
        s.wanted[row[i] / 8] |= (uint8_t)(1 << row[i] % 8);
    }
    if (!code)
        qsort(s.each, count, sizeof *s.each, subject_compare);
    if (is_windowed)
        step = f->training->window < blocks ? f->training->window : blocks;
    for (int64_t first = 0; first < blocks && !code; first += step) {
        struct part part;
        bool has = false;
        code = find_read_part(f, first, first + step < blocks ? first + step : blocks, &part, e);
        for (size_t p = 0; !code && p < part.plan.pieces && !has; p++)
            has = subjects_have(&s, part.plan.sequence[p]);
        if (has && is_windowed)
            code = part_draw(f, &part, e);
        for (size_t b = 0; has && b < part.plan.blocks && !code; b++)
            code = block_add(f, &part, b, &s, NULL, e);
        find_free_part(&part);
    }
    if (!code && f->count)
        qsort(f->found, f->count, sizeof *f->found, found_compare);
    free(s.each);
    free(s.wanted);
    return code;
}

/* Adds all pieces of each block that a rank reads at a place of its batch. */
int bl_find_step(struct bl_find *f, int64_t step, struct bl_error *e)
{
    const struct bl_training *t = f->training;
    const int64_t steps = f->order.steps, blocks = f->view->index.blocks;
    const int64_t window = find_is_windowed(f) ? t->window : 1;
    char a[BL_PLURAL_SIZE];
    int code = BL_OK;
    if (step >= steps && (t->consumed || !steps))
        return bl_error_set(e, BL_EUSAGE, "--step %" PRId64 ": %s left in epoch %" PRId64, step,
                            bl_text_plural(a, steps, "step is|steps are"), t->epoch);
    /* Users may count steps from the start of training, so the message names the epoch and step that this would be. */
    if (step >= steps)
        return bl_error_set(e, BL_EUSAGE,
                            "--step %" PRId64
                            ": an epoch has %s; counted from the beginning of the training, step %" PRId64
                            " is --epoch %" PRId64 " --step %" PRId64,
                            step, bl_text_plural(a, steps, "step"), step, step / steps, step % steps);
    for (int64_t i = 0; i < t->world_size * t->batch_size && !code; i++) {
        struct bl_reading reading = {step, i / t->batch_size, i % t->batch_size};
        const int64_t block = bl_training_order_block(&f->order, &reading), first = block - block % window;
        struct part part;
        code = find_read_part(f, first, window < blocks - first ? first + window : blocks, &part, e);
        if (!code && find_is_windowed(f))
            code = part_draw(f, &part, e);
        if (!code)
            code = block_add(f, &part, (size_t)(block - first), NULL, &reading, e);
        find_free_part(&part);
    }
    return code;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

/* Finds the stored steps of a piece from its step `from` on, and the path of the shard that stores them, which the
 * caller frees. */
static int found_stored(const struct bl_find *f, const struct bl_found *found, int64_t from, struct bl_view_steps *at,
                        char **path, struct bl_error *e)
{
    char name[BL_SHARD_NAME_MAX];
    BL_TRY(bl_view_find(f->view, found->row, found->source_start + from, found->length - from, at, e));
    const struct bl_format *format = &at->source->manifest.format;
    *path = bl_path_join(at->source->dir, bl_format_shard_name(format, at->block / format->blocks_per_shard, name));
    return *path ? BL_OK : bl_error_memory(e);
}

int bl_find_append_shards(const struct bl_find *f, const struct bl_found *found, struct bl_buffer *out,
                          struct bl_error *e)
{
    struct bl_view_steps at;
    char *path, *last = NULL;
    int code = BL_OK;
    for (int64_t from = 0; from < found->length && !code; from += at.end - at.first) {
        code = found_stored(f, found, from, &at, &path, e);
        if (code)
            break;
        if (!last || strcmp(path, last)) {
            if (last)
                bl_buffer_byte(out, ',');
            bl_text_escape(out, path, strlen(path));
        }
        free(last);
        last = path;
    }
    free(last);
    return code ? code : bl_buffer_check(out, e);
}

/* Returns the value, or null if it is not known. */
static json_t *integer_json(bool is_known, int64_t value)
{
    return is_known ? json_integer(value) : json_null();
}

int bl_find_append_json(const struct bl_find *f, const struct bl_found *found, const char *text, struct bl_buffer *out,
                        struct bl_error *e)
{
    const struct bl_row *row;
    const bool is_placed = found->block >= 0;
    struct bl_view_steps at;
    char *path;
    json_t *stored = json_array();
    int code = BL_OK;
    for (int64_t from = 0; is_placed && from < found->length && !code; from += at.end - at.first) {
        code = found_stored(f, found, from, &at, &path, e);
        if (code)
            break;
        bl_jansson_push(&stored, json_pack("{s:o, s:I, s:I, s:I, s:I}", "shard", bl_jansson_escaped(path), "index",
                                           (json_int_t)(at.block % at.source->manifest.format.blocks_per_shard),
                                           "block", (json_int_t)at.block, "start", (json_int_t)at.first, "length",
                                           (json_int_t)(at.end - at.first)));
        free(path);
    }
    if (!code)
        code = bl_view_row(f->view, found->row, &row, e);
    if (code) {
        json_decref(stored);
        return code;
    }
    json_t *object =
        json_pack("{s:o, s:I, s:s, s:o}", "id", bl_jansson_escaped(row->id), "sequence", (json_int_t)found->row,
                  "status", bl_row_status_name(row->status), "reason", bl_jansson_escaped(row->reason));
    bl_jansson_set(&object, "plan", integer_json(!find_is_windowed(f), f->plan));
    bl_jansson_set(&object, "block", integer_json(is_placed, found->block));
    bl_jansson_set(&object, "start", integer_json(is_placed, found->start));
    bl_jansson_set(&object, "length", integer_json(is_placed, found->length));
    bl_jansson_set(&object, "source_start", integer_json(is_placed, found->source_start));
    bl_jansson_set(&object, "stored", stored);
    if (f->training) {
        bl_jansson_set(&object, "epoch", json_integer(f->training->epoch));
        bl_jansson_set(&object, "step", integer_json(found->is_read, found->reading.step));
        bl_jansson_set(&object, "rank", integer_json(found->is_read, found->reading.rank));
        bl_jansson_set(&object, "place", integer_json(found->is_read, found->reading.place));
    }
    if (text)
        bl_jansson_set(&object, "text", json_string(text));
    code = bl_jansson_append_compact(object, out, e);
    bl_buffer_byte(out, '\n');
    return code;
}
