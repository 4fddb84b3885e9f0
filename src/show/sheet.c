/* Finds the pieces of a sheet in the plan, divides the axis into spans, and makes the texts of titles and labels.
 *
 * The axis is a block or a sequence, cut into lines of equal length. A span is the part of a piece, or of the
 * padding between pieces, that lies on one line: a piece from step 90 to 130 on lines of 100 steps has two spans. */
#include "show/sheet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/row.h"

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* The pieces are those of a block in the plan, or those of a sequence in any blocks. */

enum { CHUNK = 1 << 16 }; /* pieces at a time */

/* Appends piece i of the index, which lies in this block. */
static int pieces_append(struct bl_sheet *s, int64_t i, int64_t block, struct bl_error *e)
{
    const struct bl_index *index = &s->view->index;
    const struct bl_row *row;
    int32_t start, length;
    int64_t source_start, sequence;
    /* The index has a table for each member of a piece; a read of one value is a read of a few bytes. */
    BL_TRY(bl_index_read(index, BL_INDEX_SEQUENCE, i, 1, &sequence, e));
    BL_TRY(bl_index_read(index, BL_INDEX_START, i, 1, &start, e));
    BL_TRY(bl_index_read(index, BL_INDEX_LENGTH, i, 1, &length, e));
    BL_TRY(bl_index_read(index, BL_INDEX_SOURCE_START, i, 1, &source_start, e));
    BL_TRY(bl_view_row(s->view, sequence, &row, e));
    BL_TRY(BL_ARRAY_RESERVE(s->piece, s->capacity, s->pieces + 1, e));
    struct bl_sheet_piece *p = &s->piece[s->pieces++];
    *p = (struct bl_sheet_piece){.start = start,
                                 .end = (int64_t)start + length,
                                 .row = sequence,
                                 .number = i,
                                 .source_start = source_start,
                                 .length = row->length,
                                 .block = block,
                                 .block_start = start,
                                 .failed = row->status != BL_ROW_OK,
                                 .id = strdup(row->id)};
    return p->id ? BL_OK : bl_error_memory(e);
}

/* Adds the pieces of a block; the axis is the block. */
static int pieces_of_block(struct bl_sheet *s, struct bl_error *e)
{
    /* The call checks the tables of the block, which do not have the ids of failed sequences: the pieces come from
     * the index. */
    const struct bl_block *block; /* its tables are checked, but do not name what failed */
    int64_t ptr[2] = {0};
    int code = bl_view_tables(s->view, s->subject.block, &block, e);
    if (!code)
        code = bl_index_read(&s->view->index, BL_INDEX_BLOCK_PTR, s->subject.block, 2, ptr, e);
    for (int64_t i = ptr[0]; !code && i < ptr[1]; i++)
        code = pieces_append(s, i, s->subject.block, e);
    /* The axis has all T steps, with the padding. */
    s->steps = s->view->manifest.format.T;
    return code;
}

/* Finds the block of piece i by bisection: entry b of the table is the first piece of block b. */
static int block_of_piece(const struct bl_index *index, int64_t i, int64_t *block, struct bl_error *e)
{
    /* The first piece of block `low` is at most i, that of block `high` is greater. */
    int64_t low = 0, high = index->blocks;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2, first;
        BL_TRY(bl_index_read(index, BL_INDEX_BLOCK_PTR, middle, 1, &first, e));
        if (first <= i)
            low = middle;
        else
            high = middle;
    }
    *block = low;
    return BL_OK;
}

/* Orders the pieces of a sequence by their first step in it, and equal ones by block. */
static int piece_compare(const void *a, const void *b)
{
    const struct bl_sheet_piece *p = a, *q = b;
    /* Equal first steps occur if a view plans a sequence several times. */
    if (p->source_start != q->source_start)
        return p->source_start < q->source_start ? -1 : 1;
    return p->block < q->block ? -1 : p->block > q->block;
}

/* Puts the pieces of a sequence on an axis that begins with the first of their steps. A view may have a piece twice:
 * the first one is kept. Steps that a piece repeats from the one before it (--overlap) are left out, so that no step
 * is drawn twice. */
static void pieces_join(struct bl_sheet *s)
{
    const int64_t overlap = s->view->manifest.plan_info.overlap;
    /* Equal pieces are neighbours after sorting. */
    size_t kept = 0;
    qsort(s->piece, s->pieces, sizeof *s->piece, piece_compare);
    for (size_t i = 0; i < s->pieces; i++) {
        /* The array owns the ids, so that a dropped piece frees its own. */
        if (kept && s->piece[i].source_start == s->piece[kept - 1].source_start)
            free(s->piece[i].id);
        else
            s->piece[kept++] = s->piece[i];
    }
    for (size_t i = 1; overlap && i < kept; i++) {
        s->piece[i].source_start += overlap;
        s->piece[i].block_start += overlap;
        s->piece[i].start += overlap;
    }
    s->pieces = kept;
    for (size_t i = 0; i < kept; i++) {
        struct bl_sheet_piece *p = &s->piece[i];
        /* The end is still that of the block, so that the difference is the number of steps to draw. */
        int64_t steps = p->end - p->start;
        p->start = p->source_start - s->piece[0].source_start;
        p->end = p->start + steps;
    }
    s->steps = s->piece[kept - 1].end;
}

/* Adds the pieces of a sequence. They may lie in any blocks, so all of the index is read, CHUNK pieces at a time.
 * BL_EUSAGE: the plan of this epoch leaves the sequence out. */
static int pieces_of_sequence(struct bl_sheet *s, struct bl_error *e)
{
    const struct bl_index *index = &s->view->index;
    const struct bl_step_range all = {.end = -1};
    struct bl_stored_sequence stored;
    const struct bl_row *row;
    int64_t block;
    int code = bl_view_row(s->view, s->subject.row, &row, e);
    if (!code && row->status != BL_ROW_OK) /* refused, with the reason */
        code = bl_stored_sequence_begin(&stored, s->view, s->subject.row, 0, &all, e);
    int64_t *sequence = malloc(CHUNK * sizeof *sequence);
    if (!code && !sequence)
        code = bl_error_memory(e);
    for (int64_t first = 0; !code && first < index->pieces; first += CHUNK) {
        int64_t count = index->pieces - first < CHUNK ? index->pieces - first : CHUNK;
        code = bl_cancelled(s->subject.cancel) ? BL_ECANCEL
                                               : bl_index_read(index, BL_INDEX_SEQUENCE, first, count, sequence, e);
        for (int64_t i = 0; !code && i < count; i++) {
            /* Most pieces belong to other sequences: only the numbers of the sequences are read for them. */
            if (sequence[i] != s->subject.row)
                continue;
            code = block_of_piece(index, first + i, &block, e);
            if (!code)
                code = pieces_append(s, first + i, block, e);
        }
    }
    free(sequence);
    if (!code && !s->pieces)
        code = bl_error_set(e, BL_EUSAGE, "%s: the plan of epoch %" PRId64 " does not have this sequence", s->view->dir,
                            s->subject.epoch);
    if (!code)
        pieces_join(s);
    return code;
}

/* Sets *block to the first block of at least two sequences, which shows where one ends and the next begins, or to 0
 * if there is none. */
static int block_choose(const struct bl_index *index, int64_t *block, struct bl_error *e)
{
    enum { BLOCKS = 512 };
    int64_t first[BLOCKS + 1];
    *block = 0;
    for (int64_t b = 0; b < index->blocks; b += BLOCKS) {
        int64_t count = index->blocks - b < BLOCKS ? index->blocks - b : BLOCKS;
        BL_TRY(bl_index_read(index, BL_INDEX_BLOCK_PTR, b, count + 1, first, e));
        for (int64_t i = 0; i < count; i++) {
            if (first[i + 1] - first[i] >= 2) {
                *block = b + i;
                return BL_OK;
            }
        }
    }
    return BL_OK;
}

int bl_sheet_find_pieces(struct bl_sheet *sheet, struct bl_error *e)
{
    if (sheet->subject.block == BL_SHEET_ANY_BLOCK)
        BL_TRY(block_choose(&sheet->view->index, &sheet->subject.block, e));
    return sheet->subject.block >= 0 ? pieces_of_block(sheet, e) : pieces_of_sequence(sheet, e);
}

/* Adds the spans of the steps `from` to `to` - 1, one for each line that they touch. piece: -1 for steps between
 * pieces. */
static int spans_append(struct bl_sheet *s, int64_t piece, int64_t from, int64_t to, struct bl_error *e)
{
    int x = bl_sheet_pixel(s, from);
    const int end = bl_sheet_pixel(s, to);
    for (bool begins = true; x < end; begins = false) {
        int line = x / s->width, stop = end < (line + 1) * s->width ? end : (line + 1) * s->width;
        BL_TRY(BL_ARRAY_RESERVE(s->span, s->spans_capacity, s->spans + 1, e));
        /* begins is set for the first span of a piece, which has the mark of its boundary. */
        s->span[s->spans++] = (struct bl_sheet_span){
            .line = line, .x = x - line * s->width, .width = stop - x, .piece = piece, .begins = begins};
        x = stop;
    }
    return BL_OK;
}

/* Pieces are in order and do not overlap: the steps between two of them are padding, or steps of a sequence that are
 * not stored. */
int bl_sheet_find_spans(struct bl_sheet *s, struct bl_error *e)
{
    int64_t at = 0;
    int code = BL_OK;
    for (size_t i = 0; i < s->pieces && !code; i++) {
        code = spans_append(s, -1, at, s->piece[i].start, e);
        if (!code)
            code = spans_append(s, (int64_t)i, s->piece[i].start, s->piece[i].end, e);
        at = s->piece[i].end;
    }
    return code ? code : spans_append(s, -1, at, s->drawn, e);
}

int bl_sheet_cut_lines(const struct bl_sheet *s, struct bl_sheet *cut, struct bl_error *e)
{
    /* The first divisor that cuts a line into equal parts is taken: thirds suit a phone beside a screen of usual
     * width, and halves are the last resort. */
    static const int parts[] = {3, 4, 5, 7, 2};
    *cut = *s;
    cut->span = NULL;
    cut->spans = cut->spans_capacity = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (s->width % parts[i] || s->line_steps % parts[i])
            continue;
        cut->width /= parts[i];
        /* Both numbers are divided, so that a pixel still stands for as many steps. */
        cut->line_steps /= parts[i];
        cut->lines = (int)((s->drawn + cut->line_steps - 1) / cut->line_steps);
        cut->look.width = cut->width;
        break;
    }
    return bl_sheet_find_spans(cut, e);
}

/* --- steps of a piece --------------------------------------------------------------------------------------------- */

int bl_sheet_begin_steps(const struct bl_sheet *sheet, const struct bl_sheet_piece *piece, int field,
                         const struct bl_step_range *range, struct bl_stored_sequence *sequence, struct bl_error *e)
{
    /* The call clears the sequence. The block that has been checked is kept: pieces of a block follow each other. */
    const struct bl_dataset *checked = sequence->checked;
    const int64_t checked_block = sequence->checked_block;
    int code = bl_stored_sequence_begin(sequence, sheet->view, piece->row, field, range, e);
    if (code)
        return code == BL_EUSAGE ? (e->code = BL_EDATA) : code; /* the plan has steps that are not there */
    sequence->checked = checked;
    sequence->checked_block = checked_block;
    return BL_OK;
}

int bl_sheet_begin_piece(const struct bl_sheet *sheet, const struct bl_sheet_piece *piece, int field,
                         struct bl_stored_sequence *sequence, struct bl_error *e)
{
    const struct bl_step_range range = {
        .first = piece->source_start, .end = piece->source_start + (piece->end - piece->start), .is_given = true};
    return bl_sheet_begin_steps(sheet, piece, field, &range, sequence, e);
}

/* Keeps the first damage for the message and lets drawing go on. Other errors are the caller's. */
bool bl_sheet_note_damage(struct bl_sheet *sheet, int code, struct bl_error *e)
{
    if (code != BL_EDATA)
        return false;
    if (!sheet->damage.code)
        sheet->damage = *e;
    bl_error_clear(e);
    return true;
}

/* --- sheet -------------------------------------------------------------------------------------------------------- */

const struct bl_field *bl_sheet_field(const struct bl_sheet *sheet, const struct bl_lane *lane)
{
    return &sheet->view->manifest.format.fields.field[lane->field];
}

/* All lines are one long row of pixels here: line = pixel / width. */
int bl_sheet_pixel(const struct bl_sheet *sheet, int64_t step)
{
    return (int)(step * sheet->width / sheet->line_steps);
}

/* The last line may be shorter; an area of width 0 could not be written as PNG. */
int bl_sheet_line_width(const struct bl_sheet *s, int line)
{
    int left = bl_sheet_pixel(s, s->drawn) - line * s->width;
    return left < 1 ? 1 : left < s->width ? left : s->width;
}

/* Ticks are 1, 2, 5, 10, 20, 50, ... steps: the first of them that has room. */
int64_t bl_sheet_tick(const struct bl_sheet *s, int pixels)
{
    int64_t tick = 1;
    for (int i = 0; bl_sheet_pixel(s, tick) < pixels && tick < s->steps; i++)
        tick = i % 3 == 1 ? tick / 2 * 5 : tick * 2;
    return tick;
}

void bl_sheet_free(struct bl_sheet *s)
{
    for (size_t i = 0; i < s->pieces; i++)
        free(s->piece[i].id);
    free(s->piece);
    free(s->span);
    for (int i = 0; i < s->lanes; i++) {
        bl_canvas_free(&s->lane[i].canvas);
        /* Each lane owns its canvas and its list of damaged pieces. */
        free(s->lane[i].damaged);
    }
    for (int i = 0; i < s->texts; i++)
        bl_passages_free(&s->passages[i]);
    *s = (struct bl_sheet){0};
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* The title is such as "block 17 of 1,204, epoch 2" or "sequence a.mp4". */
void bl_sheet_append_title(const struct bl_sheet *s, struct bl_buffer *out)
{
    char blocks[32];
    if (s->subject.block < 0) {
        bl_buffer_text(out, "sequence ");
        bl_buffer_text(out, s->piece[0].id);
    } else {
        bl_buffer_printf(out, "block %" PRId64 " of %s", s->subject.block,
                         bl_text_count(blocks, s->view->manifest.format.blocks));
    }
    if (s->subject.epoch)
        bl_buffer_printf(out, ", epoch %" PRId64, s->subject.epoch);
}

void bl_sheet_append_fill(const struct bl_sheet *s, const struct bl_passages *p, struct bl_buffer *out)
{
    const struct bl_field *field = &s->view->manifest.format.fields.field[p->field];
    char a[BL_PLURAL_SIZE];
    if (s->subject.block >= 0)
        bl_buffer_printf(out, "%s of ", bl_text_count(a, p->own_steps));
    if (s->subject.block < 0 && !p->own_steps)
        bl_buffer_text(out, "no steps");
    else
        bl_text_append_plural(out, s->subject.block < 0 ? p->own_steps : field->capacity, "step");
    for (int i = 0; i < field->rank; i++)
        bl_buffer_printf(out, "%s%" PRId64 "%s", i ? ", " : " of [", field->shape[i], i + 1 < field->rank ? "" : "]");
}

/* The summary is such as "3 sequences, 960 of 1,000 steps, 40 of padding" or "300 of 400 steps, in 2 pieces", and then
 * "; text: 61 of 80 steps" for each own field. */
void bl_sheet_append_summary(const struct bl_sheet *s, struct bl_buffer *out)
{
    int64_t steps = 0, failed = 0;
    for (size_t i = 0; i < s->pieces; i++) {
        steps += s->piece[i].end - s->piece[i].start;
        failed += s->piece[i].failed;
    }
    char a[BL_PLURAL_SIZE];
    if (s->subject.block < 0) {
        bl_buffer_printf(out, "%s of ", bl_text_count(a, steps));
        bl_text_append_plural(out, s->piece[0].length, "step");
        bl_buffer_text(out, ", in ");
        bl_text_append_plural(out, (int64_t)s->pieces, "piece");
    } else {
        bl_text_append_plural(out, (int64_t)s->pieces, "sequence");
        bl_buffer_printf(out, ", %s of ", bl_text_count(a, steps));
        bl_text_append_plural(out, s->steps, "step");
    }
    if (s->steps > steps)
        bl_buffer_printf(out, s->subject.block < 0 ? ", %s between them not stored" : ", %s of padding",
                         bl_text_count(a, s->steps - steps));
    if (failed)
        bl_buffer_printf(out, ", %" PRId64 " failed while packing", failed);
    for (int i = 0; i < s->texts; i++) {
        if (!s->passages[i].own)
            continue;
        bl_buffer_printf(out, "; %s: ", s->view->manifest.format.fields.field[s->passages[i].field].name);
        bl_sheet_append_fill(s, &s->passages[i], out);
    }
}

void bl_sheet_append_label(const struct bl_sheet *s, const struct bl_sheet_piece *piece, struct bl_buffer *out)
{
    if (s->subject.block < 0)
        bl_buffer_printf(out, "block %" PRId64 " at %" PRId64, piece->block, piece->block_start);
    else
        bl_buffer_text(out, piece->id);
}

void bl_sheet_append_state(const struct bl_sheet *s, const struct bl_passages *p, size_t piece, struct bl_buffer *out)
{
    bl_buffer_text(out, ", ");
    if (!p->own)
        bl_buffer_printf(out, "from step %" PRId64, s->piece[piece].start);
    else if (p->own[piece])
        bl_text_append_plural(out, p->own[piece], "step");
    else
        bl_buffer_text(out, "no steps");
    bl_buffer_text(out, s->piece[piece].failed ? ": failed while packing" : p->damaged[piece] ? ": damaged" : "");
}

/* Own steps lie beside the first step of their sequence. */
size_t bl_sheet_passages_pieces(const struct bl_sheet *s, const struct bl_passages *p)
{
    const size_t most = s->subject.block < 0 ? 1 : s->subject.is_brief ? BL_SHEET_BRIEF : s->pieces;
    return p->own && most < s->pieces ? most : s->pieces;
}

bool bl_sheet_piece_is_damaged(const struct bl_sheet *s, size_t piece)
{
    bool is_damaged = false;
    for (int l = 0; l < s->lanes; l++)
        is_damaged |= s->lane[l].damaged[piece];
    for (int i = 0; i < s->texts; i++)
        is_damaged |= s->passages[i].own && s->passages[i].damaged[piece];
    return is_damaged;
}
