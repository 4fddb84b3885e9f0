/* Reads the steps of each field once, or for pictures only those that are drawn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/element.h"
#include "kind/frames/frames.h"
#include "show/painter.h"
#include "show/sheet_parts.h"
#include "show/style.h"
#include "store/stored_sequence.h"

enum { GAP_FROM = 40 };         /* pixels: wider cells have one between them */
#define CHUNK ((size_t)1 << 20) /* bytes of steps at a time; at least one step */

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
    const int64_t most = step < CHUNK ? (int64_t)(CHUNK / step) : 1;
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

int bl_sheet_draw_lanes(struct bl_sheet *s, struct bl_error *e)
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
