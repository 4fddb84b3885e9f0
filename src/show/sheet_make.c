/* Makes a sheet: lays it out, draws the lanes, and reads the texts of tokens.
 *
 * Each lane reads its field piece by piece. Damage is found when a block is compared with its checksum: the lane
 * then erases the piece, notes the damage, and continues with the next piece. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "kind/frames/frames.h"
#include "kind/row.h"
#include "show/html.h"
#include "show/painter.h"
#include "show/sheet.h"
#include "store/field_tokenizer.h"

/* --- layout ------------------------------------------------------------------------------------------------------- */

/* Returns whether some field that the sheet shows has images. */
static bool sheet_has_pictures(const struct bl_sheet *s)
{
    const struct bl_fields *fields = &s->view->manifest.format.fields;
    for (int f = 0; f < fields->count; f++) {
        /* Sound of one sample a step has no pictures, whatever its shape. */
        bool is_wanted = s->subject.field < 0 || s->subject.field == f;
        if (is_wanted && !fields->field[f].own && !bl_manifest_sample_rate(&s->view->manifest, f) &&
            bl_png_can_encode(&fields->field[f]))
            return true;
    }
    return false;
}

/* Returns a / b, rounded up; a and b are at least 1. */
static int64_t divide_up(int64_t a, int64_t b)
{
    return (a - 1) / b + 1;
}

/* Sets the lines and their widths. Cells of pictures decide where there are pictures, each of some steps. Otherwise
 * a line has about as many steps as pixels, but there are at most look->lines lines. */
static void sheet_lay_out(struct bl_sheet *s)
{
    const struct bl_sheet_look *look = &s->look;
    if (!sheet_has_pictures(s)) {
        int64_t lines = divide_up(s->steps, look->width);
        lines = lines < look->lines ? lines : look->lines;
        s->width = look->width;
        s->line_steps = divide_up(s->steps, lines);
        /* A page also needs lines of a third of the width, so the steps of a line must divide by 3. */
        if (look->is_page && s->line_steps > 3) /* bl_sheet_cut_lines */
            s->line_steps = divide_up(s->line_steps, 3) * 3;
        s->lines = (int)divide_up(s->steps, s->line_steps);
        return;
    }
    /* A picture stands for as many steps as needed to fit all of them. */
    s->cell_steps = divide_up(s->steps, look->pictures);
    int64_t cells = divide_up(s->steps, s->cell_steps), most = look->width / look->cell;
    int64_t per_line = cells < most ? cells : most;
    int64_t width = look->width / per_line;
    /* Few cells become larger, up to twice the usual width. */
    s->cell_width = width < 2 * look->cell ? (int)width : 2 * look->cell;
    s->width = s->cell_width * (int)per_line;
    s->line_steps = s->cell_steps * per_line;
    s->lines = (int)divide_up(cells, per_line);
}

/* --- lanes -------------------------------------------------------------------------------------------------------- */

/* Lanes read the steps of a field once; pictures read only the steps that they show. */

enum { GAP_FROM = 40 };                     /* pixels: wider cells have one between them */
#define SHEET_LANES_CHUNK ((size_t)1 << 20) /* bytes of steps at a time; at least one step */

/* --- pictures --------------------------------------------------------------------------------------------------- */

/* Returns the step that a cell shows, the middle one. */
static int64_t cell_middle(const struct bl_sheet *s, int64_t cell)
{
    /* The last cell may have fewer steps. */
    int64_t first = cell * s->cell_steps, end = first + s->cell_steps < s->steps ? first + s->cell_steps : s->steps;
    return first + (end - first - 1) / 2;
}

/* Draws the cells whose middle step is in the piece. step: room for a step. */
static int pictures_draw_piece(struct bl_sheet *s, struct bl_lane *lane, const struct bl_sheet_piece *piece,
                               struct bl_stored_sequence *stored, uint8_t *step, struct bl_error *e)
{
    const struct bl_field *field = bl_sheet_field(s, lane);
    const int64_t cells = (s->steps - 1) / s->cell_steps + 1;
    const int gap = s->cell_width >= GAP_FROM;
    int64_t steps;
    int code = bl_sheet_begin_piece(s, piece, lane->field, stored, e);
    for (int64_t cell = piece->start / s->cell_steps; !code && cell < cells; cell++) {
        /* The first cell may begin before the piece. */
        int64_t middle = cell_middle(s, cell);
        if (middle < piece->start)
            continue;
        if (middle >= piece->end)
            break;
        /* Steps between the middles are skipped without being read. */
        stored->next = piece->source_start + (middle - piece->start);
        code = bl_cancelled(s->subject.cancel) ? BL_ECANCEL : bl_stored_sequence_read(stored, 1, step, &steps, e);
        if (!code)
            bl_canvas_draw(&lane->canvas,
                           (struct bl_area){(int)cell * s->cell_width, 0, s->cell_width - gap, lane->canvas.height},
                           field, step);
    }
    return code;
}

/* Draws a lane of pictures. Failed pieces have no pictures. */
static int lane_draw_pictures(struct bl_sheet *s, struct bl_lane *lane, struct bl_error *e)
{
    const int64_t cells = (s->steps - 1) / s->cell_steps + 1;
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
        /* Takes back the pictures that were drawn before the damage was found. */
        const struct bl_sheet_piece *piece = &s->piece[i];
        for (int64_t cell = piece->start / s->cell_steps; cell < cells && cell_middle(s, cell) < piece->end; cell++) {
            const struct bl_area area = {(int)cell * s->cell_width, 0, s->cell_width, lane->canvas.height};
            /* The cells between others keep their pictures. */
            if (cell_middle(s, cell) >= piece->start)
                bl_canvas_fill(&lane->canvas, area, BL_COLOUR_PAPER);
        }
    }
    free(step);
    return code;
}

/* --- other forms ------------------------------------------------------------------------------------------------ */

/* Passes the steps of a piece to the painter, at most `most` at a time. data: room for them. */
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

/* Passes the steps of all pieces to the painter, in the order of the axis. A damaged piece is erased, and its values
 * that are not finite no longer count. */
static int painter_put_all(struct bl_painter *p, struct bl_sheet *s, struct bl_error *e)
{
    const size_t step = bl_field_step_bytes(p->field);
    /* A step may be larger than the chunk, such as an image. */
    const int64_t most = step < SHEET_LANES_CHUNK ? (int64_t)(SHEET_LANES_CHUNK / step) : 1;
    struct bl_stored_sequence stored = {0};
    uint8_t *data = malloc((size_t)most * step);
    int code = data ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < s->pieces && !code; i++) {
        const struct bl_sheet_piece *piece = &s->piece[i];
        /* The count before the piece, to take it back after damage. */
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
        int first, end, next; /* the columns of the piece */
        bl_painter_cover(p, piece->start, 1, &first, &next);
        bl_painter_cover(p, piece->end - 1, 1, &next, &end);
        p->method->erase(p, first, end);
        p->strange = strange;
    }
    free(data);
    return code;
}

/* Draws a lane by the painter of its form. */
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
    if (p.method->close)
        p.method->close(&p);
    free(p.state);
    return code;
}

/* --- all -------------------------------------------------------------------------------------------------------- */

/* Returns the height of a lane in pixels. Pictures keep their proportions, up to twice as high as wide; a map has
 * whole pixels for each value. */
static int lane_height(const struct bl_sheet *s, const struct bl_field *field, enum bl_lane_form form)
{
    const struct bl_sheet_look *look = &s->look;
    int64_t values = (int64_t)(bl_field_step_bytes(field) / bl_dtype_size(field->dtype));
    if (form == BL_LANE_PICTURES) {
        /* The first axis is the height, the second one the width. */
        int64_t height = s->cell_width * field->shape[0] / field->shape[1];
        height = height < 2 * s->cell_width ? height : 2 * s->cell_width;
        return height > 2 ? (int)height : 2;
    }
    if (form == BL_LANE_MAP)
        return values < look->map ? (int)(values * (look->map / values)) : look->map;
    return form == BL_LANE_STRIP ? look->strip : look->curve;
}

/* Adds and draws a lane of field f. Sound may have one sample a step, or many. */
static int lane_add(struct bl_sheet *s, int f, enum bl_lane_form form, struct bl_error *e)
{
    struct bl_lane *lane = &s->lane[s->lanes++];
    *lane = (struct bl_lane){.field = f, .form = form};
    const struct bl_field *field = bl_sheet_field(s, lane);
    const int64_t rate = bl_manifest_sample_rate(&s->view->manifest, f);
    lane->parts = form == BL_LANE_CURVE ? bl_manifest_step_samples(&s->view->manifest, f) : 1;
    lane->is_sound = rate > 0 || lane->parts > 1;
    lane->damaged = calloc(s->pieces + 1, sizeof *lane->damaged);
    if (!lane->damaged)
        return bl_error_memory(e);
    BL_TRY(bl_canvas_make(&lane->canvas, s->lines * s->width, lane_height(s, field, form), BL_COLOUR_PAPER, e));
    int code = form == BL_LANE_PICTURES ? lane_draw_pictures(s, lane, e) : lane_paint(s, lane, e);
    if (form == BL_LANE_SPECTRUM)
        snprintf(lane->note, sizeof lane->note, "0 to %.4g Hz", (double)rate / 2);
    return code;
}

/* Adds and draws the lanes after the layout. Sound has two lanes, a curve and its spectrum. */
static int sheet_draw_lanes(struct bl_sheet *s, struct bl_error *e)
{
    const struct bl_fields *fields = &s->view->manifest.format.fields;
    int code = BL_OK;
    for (int f = 0; f < fields->count && !code; f++) {
        const struct bl_field *field = &fields->field[f];
        /* Own steps do not lie on the axis: sheet_own.c. */
        if (field->own || (s->subject.field >= 0 && s->subject.field != f))
            continue;
        /* Sound by its rate, sound in parts, images, vectors, and single values, in this order. */
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

/* --- texts of a sheet --------------------------------------------------------------------------------------------- */

/* Reads the texts of the fields of tokens, and the mask that shades them. */

#define TEXT_CHUNK (1 << 14) /* steps at a time */
#define LABEL_IGNORED (-100) /* of labels, as PyTorch's cross entropy has it */

/* One field of tokens that is being read. */
struct reading {
    struct bl_sheet *sheet;
    struct bl_passages *passages;
    struct bl_detokenizer *detokenizer;
    int mask;               /* the field; -1: none */
    bool is_labels;         /* the mask has labels: -100 is off */
    uint8_t *ids, *shading; /* [TEXT_CHUNK] steps of each field */
    struct bl_stored_sequence stored_ids, stored_mask;
};

/* Finds the field that shades: the one of --mask, or one with a usual name. *found: -1 if there is none. BL_EUSAGE:
 * --mask names no field with one integer in each step. */
static int mask_find(const struct bl_sheet *s, int *found, struct bl_error *e)
{
    static const char *const usual[] = {"loss_mask", "mask", "labels"};
    const struct bl_fields *fields = &s->view->manifest.format.fields;
    const char *named = s->subject.mask;
    *found = -1;
    for (size_t u = 0; u < (named ? 1 : sizeof usual / sizeof *usual) && *found < 0; u++) {
        for (int f = 0; f < fields->count; f++) {
            if (bl_element_is_integer(&fields->field[f]) && !fields->field[f].own &&
                strcmp(fields->field[f].name, named ? named : usual[u]) == 0)
                *found = f;
        }
    }
    if (named && *found < 0)
        return bl_error_set(e, BL_EUSAGE, "--mask %s: there is no such field of one integer a step", named);
    return BL_OK;
}

/* Reads the ids of a piece and their mask, TEXT_CHUNK steps at a time. */
static int reading_add_piece(struct reading *r, const struct bl_sheet_piece *piece, struct bl_error *e)
{
    const struct bl_field *field = r->sheet->view->manifest.format.fields.field;
    const struct bl_field *ids = &field[r->passages->field], *mask = r->mask >= 0 ? &field[r->mask] : NULL;
    int64_t steps = 1, shades;
    int code = bl_sheet_begin_piece(r->sheet, piece, r->passages->field, &r->stored_ids, e);
    if (!code && r->mask >= 0)
        code = bl_sheet_begin_piece(r->sheet, piece, r->mask, &r->stored_mask, e);
    /* The state of the previous piece must not change the first characters. */
    if (r->detokenizer)
        bl_detokenizer_restart(r->detokenizer);
    while (!code && steps) {
        code = bl_cancelled(r->sheet->subject.cancel)
                   ? BL_ECANCEL
                   : bl_stored_sequence_read(&r->stored_ids, TEXT_CHUNK, r->ids, &steps, e);
        /* Both fields are stored in the same parts. */
        if (!code && steps && r->mask >= 0)
            code = bl_stored_sequence_read(&r->stored_mask, steps, r->shading, &shades, e);
        for (int64_t i = 0; i < steps && !code; i++) {
            int64_t id = bl_element_integer(ids->dtype, r->ids + (size_t)i * bl_field_step_bytes(ids)), shade = 0;
            if (mask)
                shade = bl_element_integer(mask->dtype, r->shading + (size_t)i * bl_field_step_bytes(mask));
            bool is_shaded = mask && shade != (r->is_labels ? LABEL_IGNORED : 0);
            code = bl_passages_add(r->passages, r->detokenizer, id, is_shaded, e);
        }
    }
    return code;
}

/* Reads the texts of all pieces. A damaged piece has no text. */
static int reading_add_all(struct reading *r, struct bl_error *e)
{
    struct bl_sheet *s = r->sheet;
    int code = BL_OK;
    for (size_t i = 0; i < s->pieces && !code; i++) {
        if (s->piece[i].failed)
            continue;
        code = reading_add_piece(r, &s->piece[i], e);
        r->passages->damaged[i] = bl_sheet_note_damage(s, code, e);
        if (r->passages->damaged[i]) {
            bl_passages_drop(r->passages);
            r->stored_ids = r->stored_mask = (struct bl_stored_sequence){0};
            code = BL_OK;
        } else if (!code) {
            code = bl_passages_end(r->passages, i, e);
        }
    }
    return code;
}

/* Different fields may have different tokenizers: that of the subject must suit one of them. Ids that are bytes need
 * none. */
int bl_sheet_open_tokenizer(struct bl_sheet *s, int f, struct bl_detokenizer **out, struct bl_error *e)
{
    const struct bl_manifest *m = &s->view->manifest;
    const char *path = s->subject.tokenizer;
    const bool is_bytes = bl_field_tokenizer_is_bytes(m, f);
    int code = BL_EUSAGE;
    *out = NULL;
    if (path) {
        code = bl_field_tokenizer_open(m, f, path, out, e);
        s->suits |= !code;
    }
    if (code != BL_EUSAGE)
        return code;
    if (path && (!s->unsuited.code || !is_bytes))
        s->unsuited = *e;
    bl_error_clear(e);
    return is_bytes ? bl_field_tokenizer_open(m, f, NULL, out, e) : BL_OK;
}

/* Reads the text of field f. mask: the field that shades, or -1. s frees the passages, also after errors. */
static int text_read(struct bl_sheet *s, int f, int mask, struct bl_error *e)
{
    const struct bl_field *field = s->view->manifest.format.fields.field;
    struct bl_passages *passages = &s->passages[s->texts++];
    *passages = (struct bl_passages){.field = f};
    struct reading r = {.sheet = s, .passages = passages, .mask = mask};
    int code = bl_sheet_open_tokenizer(s, f, &r.detokenizer, e);
    passages->is_ids = !r.detokenizer;
    if (code)
        return code;
    /* A field such as "labels" has ids and -100; a mask has 0 and 1. */
    r.is_labels = mask >= 0 && !strstr(field[mask].name, "mask");
    r.ids = malloc(TEXT_CHUNK * bl_field_step_bytes(&field[f]));
    r.shading = malloc(TEXT_CHUNK * (mask >= 0 ? bl_field_step_bytes(&field[mask]) : 1));
    passages->damaged = calloc(s->pieces + 1, sizeof *passages->damaged);
    code = r.ids && r.shading && passages->damaged ? reading_add_all(&r, e) : bl_error_memory(e);
    bl_detokenizer_close(r.detokenizer);
    free(r.ids);
    free(r.shading);
    return code;
}

/* Reads the fields of tokens, and own fields. BL_EUSAGE: the tokenizer or the mask does not suit them, or there is no
 * such field. */
static int sheet_read_texts(struct bl_sheet *s, struct bl_error *e)
{
    const struct bl_manifest *m = &s->view->manifest;
    int mask;
    int code = mask_find(s, &mask, e);
    for (int f = 0; f < m->format.fields.count && !code && !s->subject.is_brief; f++) {
        bool is_wanted = (s->subject.field < 0 || s->subject.field == f) && !m->format.fields.field[f].own;
        if (is_wanted && bl_element_is_integer(&m->format.fields.field[f]) && bl_field_tokenizer_has_ids(m, f))
            code = text_read(s, f, mask, e);
    }
    if (!code && s->subject.mask && !s->texts)
        code = bl_error_set(e, BL_EUSAGE, "--mask: %s has no field of tokens", s->view->dir);
    if (!code)
        code = bl_sheet_read_own(s, e);
    if (code || !s->subject.tokenizer || s->suits)
        return code;
    if (s->unsuited.code)
        return bl_error_pass(e, BL_EUSAGE, &s->unsuited);
    return bl_error_set(e, BL_EUSAGE, "--tokenizer: %s has no field of tokens", s->view->dir);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

/* The caller frees the sheet with bl_sheet_free, also after errors. */
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
    /* Lines with nothing except padding tell nothing: the first of them is enough. */
    int64_t end = s->pieces ? s->piece[s->pieces - 1].end : 0;
    int64_t lines = (end ? divide_up(end, s->line_steps) : 0) + 1;
    s->lines = lines < s->lines ? (int)lines : s->lines;
    s->drawn = s->lines * s->line_steps < s->steps ? s->lines * s->line_steps : s->steps;
    code = bl_sheet_find_spans(s, e);
    if (!code)
        code = sheet_read_texts(s, e);
    return code ? code : sheet_draw_lanes(s, e);
}
