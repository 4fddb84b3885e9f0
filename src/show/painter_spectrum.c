/* The spectrum of sound around the middle of each column, 80 dB below its loudest point: a window of 512 samples of
 * one sequence, by Hann, with zeros beyond its ends. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kind/audio/features.h"
#include "show/painter.h"

enum { WINDOW = 512, HALF = WINDOW / 2 };
#define DECIBELS 80

struct spectrum {
    struct bl_spectrum transform;
    float *level;  /* dB, [height, columns]; NaN: none */
    float *sample; /* of the piece: the last ones before the middle of the next column, and after it */
    size_t samples, capacity;
    int64_t base; /* the step of sample[0]; it may be before the piece */
    bool in_piece;
    int next; /* column */
};

static int spectrum_begin(struct bl_painter *p, struct bl_error *e)
{
    const size_t pixels = (size_t)p->columns * (size_t)p->lane->canvas.height;
    struct spectrum *s = p->state = calloc(1, sizeof *s);
    if (!s)
        return bl_error_memory(e);
    s->level = malloc(pixels * sizeof *s->level);
    if (!s->level)
        return bl_error_memory(e);
    for (size_t i = 0; i < pixels; i++)
        s->level[i] = NAN;
    int code = bl_spectrum_open(&s->transform, WINDOW, WINDOW, false, e);
    for (int i = 0; !code && i < WINDOW; i++)
        s->transform.shape[i] = (float)(0.5 - 0.5 * cos(2 * acos(-1) * (i + 0.5) / WINDOW));
    return code;
}

/* The step in the middle of a column. */
static int64_t column_middle(const struct bl_painter *p, int x)
{
    return (2 * (int64_t)x + 1) * p->sheet->line_steps / (2 * (int64_t)p->sheet->width);
}

/* Computes the levels of a column from the window that begins here. */
static void spectrum_draw(struct bl_painter *p, int x, const float *window)
{
    struct spectrum *s = p->state;
    const int height = p->lane->canvas.height;
    bl_spectrum_compute(&s->transform, window);
    for (int y = 0; y < height; y++) {
        int first = y * HALF / height, end = (y + 1) * HALF / height;
        float most = 0;
        for (int bin = first; bin < (end > first ? end : first + 1); bin++)
            most = fmaxf(most, s->transform.power[bin]);
        s->level[(size_t)(height - 1 - y) * (size_t)p->columns + (size_t)x] = 10 * log10f(most + 1e-20F);
    }
}

/* Draws the columns whose windows are there, and forgets the samples that none needs any more. */
static void spectrum_draw_all(struct bl_painter *p, int64_t end)
{
    struct spectrum *s = p->state;
    for (; s->next < p->columns; s->next++) {
        int64_t middle = column_middle(p, s->next), at = middle - HALF - s->base;
        if (middle >= end || at + WINDOW > (int64_t)s->samples)
            break;
        if (at >= 0)
            spectrum_draw(p, s->next, s->sample + at);
    }
    int64_t past = s->next < p->columns ? column_middle(p, s->next) - HALF - s->base : (int64_t)s->samples;
    past = past < (int64_t)s->samples ? past : (int64_t)s->samples;
    if (past <= 0)
        return;
    s->samples -= (size_t)past;
    s->base += past;
    memmove(s->sample, s->sample + past, s->samples * sizeof *s->sample);
}

/* Room for so many samples more, and for the lanes that a window may read beyond its end. */
static int spectrum_reserve(struct spectrum *s, size_t more, struct bl_error *e)
{
    size_t needed = s->samples + more + WINDOW;
    if (needed <= s->capacity)
        return BL_OK;
    float *larger = realloc(s->sample, needed * 2 * sizeof *larger);
    if (!larger)
        return bl_error_memory(e);
    memset(larger + s->samples, 0, (needed * 2 - s->samples) * sizeof *larger);
    s->sample = larger;
    s->capacity = needed * 2;
    return BL_OK;
}

static int spectrum_put(struct bl_painter *p, int64_t at, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    struct spectrum *s = p->state;
    const size_t size = bl_field_step_bytes(p->field);
    const double scale = p->field->dtype == BL_I16 ? 1.0 / 32768 : 1;
    int code = spectrum_reserve(s, (size_t)steps + WINDOW, e);
    if (code)
        return code;
    if (!s->in_piece) {
        s->in_piece = true;
        s->base = at - HALF;
        s->samples = HALF;
        memset(s->sample, 0, HALF * sizeof *s->sample);
        while (s->next < p->columns && column_middle(p, s->next) < at)
            s->next++;
    }
    for (int64_t i = 0; i < steps; i++, data += size) {
        double value = bl_painter_mean(p, data, size) * scale;
        s->sample[s->samples++] = isnan(value) ? 0 : (float)value;
    }
    spectrum_draw_all(p, INT64_MAX);
    return BL_OK;
}

static void spectrum_end_piece(struct bl_painter *p, int64_t end)
{
    struct spectrum *s = p->state;
    if (!s->in_piece)
        return;
    memset(s->sample + s->samples, 0, WINDOW * sizeof *s->sample); /* put reserved room for them */
    s->samples += WINDOW;
    spectrum_draw_all(p, end);
    s->in_piece = false;
    s->samples = 0;
}

static void spectrum_erase(struct bl_painter *p, int first, int end)
{
    struct spectrum *s = p->state;
    for (int y = 0; y < p->lane->canvas.height; y++) {
        for (int x = first; x < end; x++)
            s->level[y * p->columns + x] = NAN;
    }
}

static int spectrum_finish(struct bl_painter *p, struct bl_error *e)
{
    const struct spectrum *s = p->state;
    struct bl_canvas *canvas = &p->lane->canvas;
    float most = -INFINITY;
    (void)e;
    for (int i = 0; i < p->columns * canvas->height; i++)
        most = fmaxf(most, s->level[i]);
    for (int y = 0; y < canvas->height; y++) {
        for (int x = 0; x < p->columns; x++) {
            float level = s->level[y * p->columns + x];
            if (!isnan(level))
                bl_canvas_fill(canvas, (struct bl_area){x, y, 1, 1},
                               bl_painter_scale(1 + ((double)level - (double)most) / DECIBELS));
        }
    }
    return BL_OK;
}

static void spectrum_close(struct bl_painter *p)
{
    struct spectrum *s = p->state;
    if (!s)
        return;
    bl_spectrum_close(&s->transform);
    free(s->level);
    free(s->sample);
    free(s);
}

const struct bl_painter_method bl_painter_spectrum = {.begin = spectrum_begin,
                                                      .put = spectrum_put,
                                                      .end_piece = spectrum_end_piece,
                                                      .erase = spectrum_erase,
                                                      .finish = spectrum_finish,
                                                      .close = spectrum_close};
