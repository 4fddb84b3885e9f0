#include "show/sheet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "kind/frames/frames.h"
#include "kind/row.h"
#include "show/html.h"
#include "show/painter.h"

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* Where the steps of the axis come from: the pieces of a block by the plan, or those that a sequence has in blocks. */

enum { CHUNK = 1 << 16 }; /* pieces at a time */

/* Appends piece i of the plan, which block has. */
static int pieces_append(struct bl_sheet *s, int64_t i, int64_t block, struct bl_error *e)
{
    const struct bl_index *index = &s->view->index;
    const struct bl_row *row;
    int32_t start, length;
    int64_t source_start, sequence;
    int code = bl_index_read(index, BL_INDEX_SEQUENCE, i, 1, &sequence, e);
    if (!code)
        code = bl_index_read(index, BL_INDEX_START, i, 1, &start, e);
    if (!code)
        code = bl_index_read(index, BL_INDEX_LENGTH, i, 1, &length, e);
    if (!code)
        code = bl_index_read(index, BL_INDEX_SOURCE_START, i, 1, &source_start, e);
    if (!code)
        code = bl_view_row(s->view, sequence, &row, e);
    if (!code)
        code = BL_ARRAY_RESERVE(s->piece, s->capacity, s->pieces + 1, e);
    if (code)
        return code;
    struct bl_sheet_piece *p = &s->piece[s->pieces++];
    *p = (struct bl_sheet_piece){.start = start,
                                 .end = (int64_t)start + length,
                                 .row = sequence,
                                 .source_start = source_start,
                                 .length = row->length,
                                 .block = block,
                                 .block_start = start,
                                 .failed = row->status != BL_ROW_OK,
                                 .id = strdup(row->id)};
    return p->id ? BL_OK : bl_error_memory(e);
}

static int pieces_of_block(struct bl_sheet *s, struct bl_error *e)
{
    const struct bl_block *block; /* its tables are checked, but do not name what failed */
    int64_t ptr[2] = {0};
    int code = bl_view_tables(s->view, s->subject.block, &block, e);
    if (!code)
        code = bl_index_read(&s->view->index, BL_INDEX_BLOCK_PTR, s->subject.block, 2, ptr, e);
    for (int64_t i = ptr[0]; !code && i < ptr[1]; i++)
        code = pieces_append(s, i, s->subject.block, e);
    s->steps = s->view->manifest.format.T;
    return code;
}

/* The block that has piece i. */
static int block_of_piece(const struct bl_index *index, int64_t i, int64_t *block, struct bl_error *e)
{
    int64_t low = 0, high = index->blocks;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2, first;
        int code = bl_index_read(index, BL_INDEX_BLOCK_PTR, middle, 1, &first, e);
        if (code)
            return code;
        if (first <= i)
            low = middle;
        else
            high = middle;
    }
    *block = low;
    return BL_OK;
}

static int piece_compare(const void *a, const void *b)
{
    const struct bl_sheet_piece *p = a, *q = b;
    if (p->source_start != q->source_start)
        return p->source_start < q->source_start ? -1 : 1;
    return p->block < q->block ? -1 : p->block > q->block;
}

/* Puts the pieces of a sequence on an axis that begins with the first of their steps. A view may have some twice. Steps
 * that a piece repeats of the one before are not shown. */
static void pieces_join(struct bl_sheet *s)
{
    const int64_t overlap = s->view->manifest.plan_info.overlap;
    size_t kept = 0;
    qsort(s->piece, s->pieces, sizeof *s->piece, piece_compare);
    for (size_t i = 0; i < s->pieces; i++) {
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
        int64_t steps = p->end - p->start;
        p->start = p->source_start - s->piece[0].source_start;
        p->end = p->start + steps;
    }
    s->steps = s->piece[kept - 1].end;
}

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

/* Sets piece, pieces and steps. BL_EUSAGE: there is nothing of that subject. */
static int bl_sheet_find_pieces(struct bl_sheet *sheet, struct bl_error *e)
{
    return sheet->subject.block >= 0 ? pieces_of_block(sheet, e) : pieces_of_sequence(sheet, e);
}

/* Adds the spans of steps from `from` to `to` - 1, one for each line. */
static int spans_append(struct bl_sheet *s, int64_t piece, int64_t from, int64_t to, struct bl_error *e)
{
    int x = bl_sheet_pixel(s, from);
    const int end = bl_sheet_pixel(s, to);
    for (bool begins = true; x < end; begins = false) {
        int line = x / s->width, stop = end < (line + 1) * s->width ? end : (line + 1) * s->width;
        int code = BL_ARRAY_RESERVE(s->span, s->spans_capacity, s->spans + 1, e);
        if (code)
            return code;
        s->span[s->spans++] = (struct bl_sheet_span){
            .line = line, .x = x - line * s->width, .width = stop - x, .piece = piece, .begins = begins};
        x = stop;
    }
    return BL_OK;
}

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

/* --- lanes -------------------------------------------------------------------------------------------------------- */

/* Reads the steps of each field once, or for pictures only those that are drawn. */

enum { GAP_FROM = 40 };                     /* pixels: wider cells have one between them */
#define SHEET_LANES_CHUNK ((size_t)1 << 20) /* bytes of steps at a time; at least one step */

int bl_sheet_begin_piece(const struct bl_sheet *sheet, const struct bl_sheet_piece *piece, int field,
                         struct bl_stored_sequence *sequence, struct bl_error *e)
{
    const struct bl_step_range range = {
        .first = piece->source_start, .end = piece->source_start + (piece->end - piece->start), .is_given = true};
    const struct bl_dataset *checked = sequence->checked;
    const int64_t checked_block = sequence->checked_block;
    int code = bl_stored_sequence_begin(sequence, sheet->view, piece->row, field, &range, e);
    if (code)
        return code == BL_EUSAGE ? (e->code = BL_EDATA) : code; /* the plan has steps that are not there */
    sequence->checked = checked;
    sequence->checked_block = checked_block;
    return BL_OK;
}

bool bl_sheet_note_damage(struct bl_sheet *sheet, int code, struct bl_error *e)
{
    if (code != BL_EDATA)
        return false;
    if (!sheet->damage.code)
        sheet->damage = *e;
    bl_error_clear(e);
    return true;
}

/* --- pictures --------------------------------------------------------------------------------------------------- */

/* The step that stands for a cell. */
static int64_t cell_middle(const struct bl_sheet *s, int64_t cell)
{
    int64_t first = cell * s->cell_steps, end = first + s->cell_steps < s->steps ? first + s->cell_steps : s->steps;
    return first + (end - first - 1) / 2;
}

/* Draws the cells whose middle is in the piece. */
static int pictures_draw_piece(struct bl_sheet *s, struct bl_lane *lane, const struct bl_sheet_piece *piece,
                               struct bl_stored_sequence *stored, uint8_t *step, struct bl_error *e)
{
    const struct bl_field *field = bl_sheet_field(s, lane);
    const int64_t cells = (s->steps - 1) / s->cell_steps + 1;
    const int gap = s->cell_width >= GAP_FROM;
    int64_t steps;
    int code = bl_sheet_begin_piece(s, piece, lane->field, stored, e);
    for (int64_t cell = piece->start / s->cell_steps; !code && cell < cells; cell++) {
        int64_t middle = cell_middle(s, cell);
        if (middle < piece->start)
            continue;
        if (middle >= piece->end)
            break;
        stored->next = piece->source_start + (middle - piece->start);
        code = bl_cancelled(s->subject.cancel) ? BL_ECANCEL : bl_stored_sequence_read(stored, 1, step, &steps, e);
        if (!code)
            bl_canvas_draw(&lane->canvas,
                           (struct bl_area){(int)cell * s->cell_width, 0, s->cell_width - gap, lane->canvas.height},
                           field, step);
    }
    return code;
}

/* Takes back what was drawn before the damage was found. */
static void pictures_erase_piece(struct bl_sheet *s, struct bl_lane *lane, const struct bl_sheet_piece *piece)
{
    const int64_t cells = (s->steps - 1) / s->cell_steps + 1;
    for (int64_t cell = piece->start / s->cell_steps; cell < cells && cell_middle(s, cell) < piece->end; cell++) {
        if (cell_middle(s, cell) >= piece->start)
            bl_canvas_fill(&lane->canvas,
                           (struct bl_area){(int)cell * s->cell_width, 0, s->cell_width, lane->canvas.height},
                           BL_COLOUR_PAPER);
    }
}

static int lane_draw_pictures(struct bl_sheet *s, struct bl_lane *lane, struct bl_error *e)
{
    struct bl_stored_sequence stored = {0};
    uint8_t *step = malloc(bl_field_step_bytes(bl_sheet_field(s, lane)));
    int code = step ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < s->pieces && !code; i++) {
        if (s->piece[i].failed)
            continue;
        code = pictures_draw_piece(s, lane, &s->piece[i], &stored, step, e);
        lane->damaged[i] = bl_sheet_note_damage(s, code, e);
        if (!lane->damaged[i])
            continue;
        code = BL_OK;
        stored = (struct bl_stored_sequence){0};
        pictures_erase_piece(s, lane, &s->piece[i]);
    }
    free(step);
    return code;
}

/* --- other forms ------------------------------------------------------------------------------------------------ */

static int painter_put_piece(struct bl_painter *p, const struct bl_sheet_piece *piece,
                             struct bl_stored_sequence *stored, uint8_t *data, int64_t most, struct bl_error *e)
{
    int64_t at = piece->start, steps = 1;
    int code = bl_sheet_begin_piece(p->sheet, piece, p->lane->field, stored, e);
    while (!code && steps) {
        code = bl_cancelled(p->sheet->subject.cancel) ? BL_ECANCEL
                                                      : bl_stored_sequence_read(stored, most, data, &steps, e);
        if (!code && steps)
            code = p->method->put(p, at, data, steps, e);
        at += steps;
    }
    return code;
}

/* Takes back what was put of a piece before its damage was found. */
static void painter_take_back(struct bl_painter *p, const struct bl_sheet_piece *piece, int64_t strange)
{
    int first, end, next;
    bl_painter_cover(p, piece->start, 1, &first, &next);
    bl_painter_cover(p, piece->end - 1, 1, &next, &end);
    p->method->erase(p, first, end);
    p->strange = strange;
}

static int painter_put_all(struct bl_painter *p, struct bl_sheet *s, struct bl_error *e)
{
    const size_t step = bl_field_step_bytes(p->field);
    const int64_t most = step < SHEET_LANES_CHUNK ? (int64_t)(SHEET_LANES_CHUNK / step) : 1;
    struct bl_stored_sequence stored = {0};
    uint8_t *data = malloc((size_t)most * step);
    int code = data ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < s->pieces && !code; i++) {
        const struct bl_sheet_piece *piece = &s->piece[i];
        const int64_t strange = p->strange;
        if (piece->failed)
            continue;
        code = painter_put_piece(p, piece, &stored, data, most, e);
        if (p->method->end_piece)
            p->method->end_piece(p, piece->end);
        p->lane->damaged[i] = bl_sheet_note_damage(s, code, e);
        if (!p->lane->damaged[i])
            continue;
        code = BL_OK;
        stored = (struct bl_stored_sequence){0};
        painter_take_back(p, piece, strange);
    }
    free(data);
    return code;
}

static int lane_paint(struct bl_sheet *s, struct bl_lane *lane, struct bl_error *e)
{
    static const struct bl_painter_method *const method[] = {[BL_LANE_CURVE] = &bl_painter_curve,
                                                             [BL_LANE_SPECTRUM] = &bl_painter_spectrum,
                                                             [BL_LANE_MAP] = &bl_painter_map,
                                                             [BL_LANE_STRIP] = &bl_painter_strip};
    struct bl_painter p = {.sheet = s,
                           .lane = lane,
                           .field = bl_sheet_field(s, lane),
                           .method = method[lane->form],
                           .columns = lane->canvas.width};
    int code = p.method->begin(&p, e);
    if (!code)
        code = painter_put_all(&p, s, e);
    if (!code)
        code = p.method->finish(&p, e);
    p.method->close(&p);
    return code;
}

/* --- all -------------------------------------------------------------------------------------------------------- */

static int lane_height(const struct bl_sheet *s, const struct bl_field *field, enum bl_lane_form form)
{
    const struct bl_sheet_look *look = &s->look;
    int64_t values = (int64_t)(bl_field_step_bytes(field) / bl_dtype_size(field->dtype)), height;
    switch (form) {
    case BL_LANE_PICTURES:
        height = s->cell_width * field->shape[0] / field->shape[1];
        height = height < 2 * s->cell_width ? height : 2 * s->cell_width;
        return height > 2 ? (int)height : 2;
    case BL_LANE_MAP:
        return values < look->map ? (int)(values * (look->map / values)) : look->map;
    case BL_LANE_STRIP:
        return look->strip;
    default:
        return look->curve;
    }
}

static int lane_add(struct bl_sheet *s, int f, enum bl_lane_form form, struct bl_error *e)
{
    struct bl_lane *lane = &s->lane[s->lanes++];
    *lane = (struct bl_lane){.field = f, .form = form};
    const struct bl_field *field = bl_sheet_field(s, lane);
    const int64_t rate = bl_manifest_sample_rate(&s->view->manifest, f);
    lane->parts = form == BL_LANE_CURVE ? bl_manifest_step_samples(&s->view->manifest, f) : 1;
    lane->is_sound = rate > 0 || lane->parts > 1;
    lane->damaged = calloc(s->pieces + 1, sizeof *lane->damaged);
    int code = lane->damaged ? BL_OK : bl_error_memory(e);
    if (!code)
        code = bl_canvas_make(&lane->canvas, s->lines * s->width, lane_height(s, field, form), BL_COLOUR_PAPER, e);
    if (!code)
        code = form == BL_LANE_PICTURES ? lane_draw_pictures(s, lane, e) : lane_paint(s, lane, e);
    if (form == BL_LANE_SPECTRUM)
        snprintf(lane->note, sizeof lane->note, "0 to %.4g Hz", (double)rate / 2);
    return code;
}

/* Makes and draws the lanes: the layout is there. */
static int bl_sheet_draw_lanes(struct bl_sheet *s, struct bl_error *e)
{
    const struct bl_fields *fields = &s->view->manifest.format.fields;
    int code = BL_OK;
    for (int f = 0; f < fields->count && !code; f++) {
        const struct bl_field *field = &fields->field[f];
        if (s->subject.field >= 0 && s->subject.field != f)
            continue;
        if (bl_manifest_sample_rate(&s->view->manifest, f)) {
            code = lane_add(s, f, BL_LANE_CURVE, e);
            if (!code)
                code = lane_add(s, f, BL_LANE_SPECTRUM, e);
        } else if (bl_manifest_step_samples(&s->view->manifest, f) > 1) {
            code = lane_add(s, f, BL_LANE_CURVE, e);
        } else if (bl_png_can_encode(field)) {
            code = lane_add(s, f, BL_LANE_PICTURES, e);
        } else if (field->rank) {
            code = lane_add(s, f, BL_LANE_MAP, e);
        } else {
            code = lane_add(s, f, bl_element_is_integer(field) ? BL_LANE_STRIP : BL_LANE_CURVE, e);
        }
    }
    return code;
}

/* --- sheet -------------------------------------------------------------------------------------------------------- */

const struct bl_field *bl_sheet_field(const struct bl_sheet *sheet, const struct bl_lane *lane)
{
    return &sheet->view->manifest.format.fields.field[lane->field];
}

int bl_sheet_pixel(const struct bl_sheet *sheet, int64_t step)
{
    return (int)(step * sheet->width / sheet->line_steps);
}

int bl_sheet_line_width(const struct bl_sheet *s, int line)
{
    int left = bl_sheet_pixel(s, s->drawn) - line * s->width;
    return left < 1 ? 1 : left < s->width ? left : s->width;
}

int64_t bl_sheet_tick(const struct bl_sheet *s, int pixels)
{
    int64_t tick = 1;
    for (int i = 0; bl_sheet_pixel(s, tick) < pixels && tick < s->steps; i++)
        tick = i % 3 == 1 ? tick / 2 * 5 : tick * 2;
    return tick;
}

/* --- the layout ------------------------------------------------------------------------------------------------- */

static bool sheet_has_pictures(const struct bl_sheet *s)
{
    const struct bl_fields *fields = &s->view->manifest.format.fields;
    for (int f = 0; f < fields->count; f++) {
        bool is_wanted = s->subject.field < 0 || s->subject.field == f;
        if (is_wanted && !bl_manifest_sample_rate(&s->view->manifest, f) && bl_png_can_encode(&fields->field[f]))
            return true;
    }
    return false;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a - 1) / b + 1;
}

/* Of lines with nothing but padding the first is enough. */
static void sheet_leave_out_padding(struct bl_sheet *s)
{
    int64_t end = s->pieces ? s->piece[s->pieces - 1].end : 0;
    int64_t lines = (end ? divide_up(end, s->line_steps) : 0) + 1;
    s->lines = lines < s->lines ? (int)lines : s->lines;
    s->drawn = s->lines * s->line_steps < s->steps ? s->lines * s->line_steps : s->steps;
}

/* Cells of pictures decide the lines; without pictures a line has about as many steps as pixels. */
static void sheet_lay_out(struct bl_sheet *s)
{
    const struct bl_sheet_look *look = &s->look;
    if (!sheet_has_pictures(s)) {
        int64_t lines = divide_up(s->steps, look->width);
        lines = lines < look->lines ? lines : look->lines;
        s->width = look->width;
        s->line_steps = divide_up(s->steps, lines);
        s->lines = (int)divide_up(s->steps, s->line_steps);
        return;
    }
    s->cell_steps = divide_up(s->steps, look->pictures);
    int64_t cells = divide_up(s->steps, s->cell_steps), most = look->width / look->cell;
    int64_t per_line = cells < most ? cells : most;
    int64_t width = look->width / per_line;
    s->cell_width = width < 2 * look->cell ? (int)width : 2 * look->cell;
    s->width = s->cell_width * (int)per_line;
    s->line_steps = s->cell_steps * per_line;
    s->lines = (int)divide_up(cells, per_line);
}

/* --- words ------------------------------------------------------------------------------------------------------ */

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

static void summary_of_block(const struct bl_sheet *s, int64_t steps, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE];
    bl_text_append_plural(out, (int64_t)s->pieces, "sequence");
    bl_buffer_printf(out, ", %s of ", bl_text_count(a, steps));
    bl_text_append_plural(out, s->steps, "step");
    if (s->steps > steps)
        bl_buffer_printf(out, ", %s of padding", bl_text_count(a, s->steps - steps));
}

static void summary_of_sequence(const struct bl_sheet *s, int64_t steps, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE];
    bl_buffer_printf(out, "%s of ", bl_text_count(a, steps));
    bl_text_append_plural(out, s->piece[0].length, "step");
    bl_buffer_text(out, ", in ");
    bl_text_append_plural(out, (int64_t)s->pieces, "piece");
    if (s->steps > steps)
        bl_buffer_printf(out, ", %s between them not stored", bl_text_count(a, s->steps - steps));
}

void bl_sheet_append_summary(const struct bl_sheet *s, struct bl_buffer *out)
{
    int64_t steps = 0, failed = 0;
    for (size_t i = 0; i < s->pieces; i++) {
        steps += s->piece[i].end - s->piece[i].start;
        failed += s->piece[i].failed;
    }
    if (s->subject.block < 0)
        summary_of_sequence(s, steps, out);
    else
        summary_of_block(s, steps, out);
    if (failed)
        bl_buffer_printf(out, ", %" PRId64 " failed while packing", failed);
}

void bl_sheet_append_label(const struct bl_sheet *s, const struct bl_sheet_piece *piece, struct bl_buffer *out)
{
    if (s->subject.block < 0)
        bl_buffer_printf(out, "block %" PRId64 " at %" PRId64, piece->block, piece->block_start);
    else
        bl_buffer_text(out, piece->id);
}

/* --- all -------------------------------------------------------------------------------------------------------- */

int bl_sheet_make(struct bl_sheet *s, struct bl_view *view, const struct bl_sheet_subject *subject,
                  const struct bl_sheet_look *look, struct bl_error *e)
{
    *s = (struct bl_sheet){.view = view, .subject = *subject, .look = *look};
    int code = bl_view_set_epoch(view, subject->epoch, e);
    if (!code)
        code = bl_sheet_find_pieces(s, e);
    if (code)
        return code;
    sheet_lay_out(s);
    sheet_leave_out_padding(s);
    code = bl_sheet_find_spans(s, e);
    if (!code && !subject->without_texts)
        code = bl_sheet_read_texts(s, e);
    return code ? code : bl_sheet_draw_lanes(s, e);
}

void bl_sheet_free(struct bl_sheet *s)
{
    for (size_t i = 0; i < s->pieces; i++)
        free(s->piece[i].id);
    free(s->piece);
    free(s->span);
    for (int i = 0; i < s->lanes; i++) {
        bl_canvas_free(&s->lane[i].canvas);
        free(s->lane[i].damaged);
    }
    for (int i = 0; i < s->texts; i++)
        bl_passages_free(&s->passages[i]);
    *s = (struct bl_sheet){0};
}
