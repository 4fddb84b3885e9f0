/* The least and the greatest value of each column: what a long signal looks like from afar. Steps of sound that goes on
 * from one to the next have many parts each. */
#include <math.h>
#include <stdlib.h>

#include "show/painter.h"
#include "show/style.h"

struct curve {
    double *low, *high; /* [columns]; NaN: no value */
};

static int curve_begin(struct bl_painter *p, struct bl_error *e)
{
    struct curve *c = p->state = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->low = malloc((size_t)p->columns * sizeof *c->low);
    c->high = malloc((size_t)p->columns * sizeof *c->high);
    if (!c->low || !c->high)
        return bl_error_memory(e);
    for (int x = 0; x < p->columns; x++)
        c->low[x] = c->high[x] = NAN;
    return BL_OK;
}

static void curve_erase(struct bl_painter *p, int first, int end)
{
    struct curve *c = p->state;
    for (int x = first; x < end; x++)
        c->low[x] = c->high[x] = NAN;
}

static int curve_put(struct bl_painter *p, int64_t at, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    struct curve *c = p->state;
    const int64_t parts = p->lane->parts;
    const size_t size = bl_field_step_bytes(p->field) / (size_t)parts;
    (void)e;
    for (int64_t i = 0; i < steps * parts; i++, data += size) {
        int first, end;
        double value = bl_painter_mean(p, data, size);
        bl_painter_cover(p, at * parts + i, parts, &first, &end);
        for (int x = first; x < end; x++) {
            c->low[x] = fmin(c->low[x], value); /* the number, if the other is none */
            c->high[x] = fmax(c->high[x], value);
        }
    }
    return BL_OK;
}

static int curve_finish(struct bl_painter *p, struct bl_error *e)
{
    const struct curve *c = p->state;
    const bool is_sound = p->lane->is_sound;
    const int height = p->lane->canvas.height;
    double low = INFINITY, high = -INFINITY;
    (void)e;
    for (int x = 0; x < p->columns; x++) {
        low = fmin(low, c->low[x]);
        high = fmax(high, c->high[x]);
    }
    bl_painter_note(p, low, high);
    if (is_sound) { /* silence is in the middle */
        high = fmax(fabs(low), fabs(high));
        low = -high;
    }
    const double scale = high > low ? (height - 1) / (high - low) : 0;
    const bool is_flat = !isnormal(scale); /* or the range is beyond doubles */
    for (int x = 0; x < p->columns; x++) {
        if (isnan(c->low[x]))
            continue;
        int top = is_flat ? height / 2 : (int)lround((high - c->high[x]) * scale);
        int bottom = is_flat ? height / 2 : (int)lround((high - c->low[x]) * scale);
        bl_canvas_fill(&p->lane->canvas, (struct bl_area){x, top, 1, bottom - top + 1}, BL_COLOUR_BLUE);
    }
    return BL_OK;
}

static void curve_close(struct bl_painter *p)
{
    struct curve *c = p->state;
    if (!c)
        return;
    free(c->low);
    free(c->high);
    free(c);
}

const struct bl_painter_method bl_painter_curve = {
    .begin = curve_begin, .put = curve_put, .erase = curve_erase, .finish = curve_finish, .close = curve_close};
