/* Means of the values of steps, in the order of the field, one above the other: features of sound with the lowest
 * frequency at the bottom, all other fields with the first value at the top. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "show/painter.h"

struct map {
    double *sum;    /* [height, columns] */
    int64_t *count; /* the same: values in it */
};

static int map_begin(struct bl_painter *p, struct bl_error *e)
{
    const size_t pixels = (size_t)p->columns * (size_t)p->lane->canvas.height;
    struct map *m = p->state = calloc(1, sizeof *m);
    if (!m)
        return bl_error_memory(e);
    m->sum = calloc(pixels, sizeof *m->sum);
    m->count = calloc(pixels, sizeof *m->count);
    return m->sum && m->count ? BL_OK : bl_error_memory(e);
}

static void map_erase(struct bl_painter *p, int first, int end)
{
    struct map *m = p->state;
    for (int y = 0; y < p->lane->canvas.height; y++) {
        for (int x = first; x < end; x++)
            m->count[y * p->columns + x] = 0;
    }
}

static void map_put_step(struct bl_painter *p, int64_t at, const uint8_t *data)
{
    struct map *m = p->state;
    const size_t size = bl_dtype_size(p->field->dtype);
    const int64_t rows = (int64_t)(bl_field_step_bytes(p->field) / size), height = p->lane->canvas.height;
    const bool from_bottom = strcmp(p->field->kind, "audio") == 0;
    int first, end;
    bl_painter_cover(p, at, 1, &first, &end);
    for (int64_t r = 0; r < rows; r++, data += size) {
        double value = bl_painter_value(p, data);
        if (isnan(value))
            continue;
        /* With fewer rows than pixels a row covers several. */
        int64_t y0 = r * height / rows, y1 = (r + 1) * height / rows;
        for (int64_t y = y0; y < (y1 > y0 ? y1 : y0 + 1); y++) {
            for (int x = first; x < end; x++) {
                int64_t pixel = (from_bottom ? height - 1 - y : y) * p->columns + x;
                m->sum[pixel] = m->count[pixel] ? m->sum[pixel] + value : value;
                m->count[pixel]++;
            }
        }
    }
}

static int map_put(struct bl_painter *p, int64_t at, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    const size_t size = bl_field_step_bytes(p->field);
    (void)e;
    for (int64_t i = 0; i < steps; i++, data += size)
        map_put_step(p, at + i, data);
    return BL_OK;
}

static int map_finish(struct bl_painter *p, struct bl_error *e)
{
    const struct map *m = p->state;
    struct bl_canvas *canvas = &p->lane->canvas;
    const size_t pixels = (size_t)p->columns * (size_t)canvas->height;
    double low = INFINITY, high = -INFINITY;
    (void)e;
    for (size_t i = 0; i < pixels; i++) {
        double value = m->count[i] ? m->sum[i] / (double)m->count[i] : NAN;
        low = fmin(low, value);
        high = fmax(high, value);
    }
    bl_painter_note(p, low, high);
    for (int y = 0; y < canvas->height; y++) {
        for (int x = 0; x < p->columns; x++) {
            size_t i = (size_t)y * (size_t)p->columns + (size_t)x;
            double value = m->count[i] ? m->sum[i] / (double)m->count[i] : 0;
            if (m->count[i])
                bl_canvas_fill(canvas, (struct bl_area){x, y, 1, 1},
                               bl_painter_scale(high > low ? (value - low) / (high - low) : 0.5));
        }
    }
    return BL_OK;
}

static void map_close(struct bl_painter *p)
{
    struct map *m = p->state;
    if (!m)
        return;
    free(m->sum);
    free(m->count);
    free(m);
}

const struct bl_painter_method bl_painter_map = {
    .begin = map_begin, .put = map_put, .erase = map_erase, .finish = map_finish, .close = map_close};
