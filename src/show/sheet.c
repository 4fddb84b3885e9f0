#include "show/sheet.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "kind/frames/frames.h"
#include "show/sheet_parts.h"

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
