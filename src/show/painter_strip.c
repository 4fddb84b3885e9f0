/* A colour for each integer, so that equal ones are seen: labels, masks, ids. A column has that of its first step. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "kind/element.h"
#include "show/painter.h"
#include "show/style.h"

struct strip {
    double low, high;
    double piece_low, piece_high; /* of the piece that is put, or was put last */
    bool ended;                   /* it did */
    int drawn;                    /* columns up to here have their colour */
};

static int strip_begin(struct bl_painter *p, struct bl_error *e)
{
    struct strip *s = p->state = calloc(1, sizeof *s);
    if (!s)
        return bl_error_memory(e);
    *s = (struct strip){.low = INFINITY, .high = -INFINITY, .piece_low = INFINITY, .piece_high = -INFINITY};
    return BL_OK;
}

static bl_colour strip_colour(int64_t value)
{
    return value == 0 ? BL_COLOUR_PAPER : bl_style_colour(((uint64_t)value * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static void strip_forget_piece(struct strip *s)
{
    s->piece_low = INFINITY;
    s->piece_high = -INFINITY;
    s->ended = false;
}

/* The piece that ended was not damaged: its range counts. */
static void strip_keep_piece(struct strip *s)
{
    s->low = fmin(s->low, s->piece_low);
    s->high = fmax(s->high, s->piece_high);
    strip_forget_piece(s);
}

static int strip_put(struct bl_painter *p, int64_t at, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    struct strip *s = p->state;
    const size_t size = bl_field_step_bytes(p->field);
    (void)e;
    if (s->ended)
        strip_keep_piece(s);
    for (int64_t i = 0; i < steps; i++, data += size) {
        int first, end;
        double value = bl_painter_value(p, data);
        s->piece_low = fmin(s->piece_low, value);
        s->piece_high = fmax(s->piece_high, value);
        bl_painter_cover(p, at + i, 1, &first, &end);
        first = first > s->drawn ? first : s->drawn;
        if (first >= end)
            continue;
        bl_canvas_fill(&p->lane->canvas, (struct bl_area){first, 0, end - first, p->lane->canvas.height},
                       strip_colour(bl_element_integer(p->field->dtype, data)));
        s->drawn = end;
    }
    return BL_OK;
}

static void strip_end_piece(struct bl_painter *p, int64_t end)
{
    struct strip *s = p->state;
    (void)end;
    s->ended = true;
}

static void strip_erase(struct bl_painter *p, int first, int end)
{
    struct strip *s = p->state;
    strip_forget_piece(s);
    s->drawn = s->drawn < first ? s->drawn : first;
    bl_canvas_fill(&p->lane->canvas, (struct bl_area){first, 0, end - first, p->lane->canvas.height}, BL_COLOUR_PAPER);
}

static int strip_finish(struct bl_painter *p, struct bl_error *e)
{
    struct strip *s = p->state;
    (void)e;
    strip_keep_piece(s);
    bl_painter_note(p, s->low, s->high);
    return BL_OK;
}

static void strip_close(struct bl_painter *p)
{
    free(p->state);
}

const struct bl_painter_method bl_painter_strip = {.begin = strip_begin,
                                                   .put = strip_put,
                                                   .end_piece = strip_end_piece,
                                                   .erase = strip_erase,
                                                   .finish = strip_finish,
                                                   .close = strip_close};
