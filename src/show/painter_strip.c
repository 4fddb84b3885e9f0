/* A colour for each integer, so that equal ones are seen: labels, masks, ids. A column has that of its first step. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "show/painter.h"
#include "show/style.h"

struct strip {
    double low, high;
    int drawn; /* columns up to here have their colour */
};

static int strip_begin(struct bl_painter *p, struct bl_error *e)
{
    struct strip *s = p->state = calloc(1, sizeof *s);
    if (!s)
        return bl_error_memory(e);
    *s = (struct strip){.low = INFINITY, .high = -INFINITY};
    return BL_OK;
}

static bl_colour strip_colour(double value)
{
    uint64_t bits = (uint64_t)(int64_t)value;
    return value == 0 ? BL_COLOUR_PAPER : bl_style_colour((bits * UINT64_C(0x9E3779B97F4A7C15)) >> 32);
}

static int strip_put(struct bl_painter *p, int64_t at, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    struct strip *s = p->state;
    const size_t size = bl_field_step_bytes(p->field);
    (void)e;
    for (int64_t i = 0; i < steps; i++, data += size) {
        int first, end;
        double value = bl_painter_value(p, data);
        s->low = fmin(s->low, value);
        s->high = fmax(s->high, value);
        bl_painter_cover(p, at + i, 1, &first, &end);
        first = first > s->drawn ? first : s->drawn;
        if (first >= end)
            continue;
        bl_canvas_fill(&p->lane->canvas, (struct bl_area){first, 0, end - first, p->lane->canvas.height},
                       strip_colour(value));
        s->drawn = end;
    }
    return BL_OK;
}

static void strip_erase(struct bl_painter *p, int first, int end)
{
    bl_canvas_fill(&p->lane->canvas, (struct bl_area){first, 0, end - first, p->lane->canvas.height}, BL_COLOUR_PAPER);
}

static int strip_finish(struct bl_painter *p, struct bl_error *e)
{
    const struct strip *s = p->state;
    (void)e;
    bl_painter_note(p, s->low, s->high);
    return BL_OK;
}

static void strip_close(struct bl_painter *p)
{
    free(p->state);
}

const struct bl_painter_method bl_painter_strip = {
    .begin = strip_begin, .put = strip_put, .erase = strip_erase, .finish = strip_finish, .close = strip_close};
