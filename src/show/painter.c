/* Draws the lanes other than pictures: curves, maps, spectra, strips.
 *
 * A form receives the steps in the order of the axis, some thousands at a time, keeps the values that each column of
 * pixels needs, such as the minimum and the maximum, and draws when all steps have come. So the memory depends on
 * the width of the sheet and not on the length of the sequence. A piece that turns out to be damaged is erased. */
#include "show/painter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/audio/features.h"
#include "kind/row.h"
#include "show/html.h"

/* --- painter ------------------------------------------------------------------------------------------------------ */

/* Sets the columns first to end - 1 that a part of a step covers, at least one. The canvas has all lines side by
 * side, so that rounding at its end could lie outside. */
void bl_painter_cover(const struct bl_painter *p, int64_t part, int64_t parts, int *first, int *end)
{
    /* The width of a line has line_steps * parts parts. */
    const int64_t line = p->sheet->line_steps * parts;
    *first = (int)(part * p->sheet->width / line);
    *end = (int)((part + 1) * p->sheet->width / line);
    *first = *first < p->columns ? *first : p->columns - 1;
    *end = *end > *first ? *end : *first + 1;
    *end = *end < p->columns ? *end : p->columns;
}

/* Returns an element of the field as a number. A value that is not finite counts as strange, and gives NAN. */
static double painter_value(struct bl_painter *p, const uint8_t *element)
{
    /* All types of elements, also F16 and BF16, are converted to double. */
    double value = bl_element_number(p->field->dtype, element);
    if (isfinite(value))
        return value;
    p->strange++;
    return NAN;
}

/* Returns the mean of the values in `all` bytes, such as the channels of a step; NAN if one of them is not finite. */
static double painter_mean(struct bl_painter *p, const uint8_t *data, size_t all)
{
    const size_t size = bl_dtype_size(p->field->dtype);
    double sum = 0;
    for (size_t at = 0; at < all; at += size)
        sum += painter_value(p, data + at);
    return sum * (double)size / (double)all;
}

/* Returns a colour of viridis, from 0, dark, to 1, bright: its brightness is even, for all kinds of sight. Source:
 * matplotlib's viridis, at nine places, with straight lines between them. */
static bl_colour painter_scale(double share)
{
    static const bl_colour known[] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
                                      0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
    enum { STEPS = sizeof known / sizeof *known - 1 };
    /* Values outside 0 to 1 get the colour of the end. */
    double at = fmin(fmax(share, 0), 1) * STEPS;
    int i = at < STEPS ? (int)at : STEPS - 1;
    bl_colour colour = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        double from = known[i] >> shift & 255, to = known[i + 1] >> shift & 255;
        colour = colour << 8 | (bl_colour)lround(from + (to - from) * (at - i));
    }
    return colour;
}

/* Formats four significant digits, and all digits before the point of numbers up to 10^9. */
static void number_format(double value, char out[32])
{
    snprintf(out, 32, fabs(value) >= 1e4 && fabs(value) < 1e9 ? "%.0f" : "%.4g", value);
}

/* Sets the note to the range of the values, if there are any, and the lane's count of strange values. */
static void painter_note(struct bl_painter *p, double low, double high)
{
    char a[32], b[32];
    number_format(low, a);
    number_format(high, b);
    /* Without values, low is infinite and high is minus infinite. */
    if (low <= high)
        snprintf(p->lane->note, sizeof p->lane->note, "%s to %s", a, b);
    p->lane->strange = p->strange;
}

/* --- curves ------------------------------------------------------------------------------------------------------- */

/* A curve keeps the minimum and the maximum of each column, which show a long signal as a whole. A step of sound may
 * have many samples, its parts. */

struct curve {
    double *low, *high; /* [columns]; NaN: no value */
    double value[];     /* of both */
};

/* Sets each column to an empty range. */
static int curve_begin(struct bl_painter *p, struct bl_error *e)
{
    struct curve *c = p->state = malloc(sizeof *c + 2 * (size_t)p->columns * sizeof *c->value);
    /* Both arrays are one allocation. */
    if (!c)
        return bl_error_memory(e);
    c->low = c->value;
    c->high = c->value + p->columns;
    for (int i = 0; i < 2 * p->columns; i++)
        c->value[i] = NAN;
    return BL_OK;
}

/* Sets the columns of a damaged piece to empty ranges. */
static void curve_erase(struct bl_painter *p, int first, int end)
{
    struct curve *c = p->state;
    for (int x = first; x < end; x++)
        c->low[x] = c->high[x] = NAN;
}

/* Extends the range of each column by the values of its steps. */
static int curve_put(struct bl_painter *p, int64_t at, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    struct curve *c = p->state;
    const int64_t parts = p->lane->parts;
    const size_t size = bl_field_step_bytes(p->field) / (size_t)parts;
    (void)e;
    for (int64_t i = 0; i < steps * parts; i++, data += size) {
        int first, end;
        double value = painter_mean(p, data, size);
        bl_painter_cover(p, at * parts + i, parts, &first, &end);
        for (int x = first; x < end; x++) {
            c->low[x] = fmin(c->low[x], value); /* the number, if the other is none */
            c->high[x] = fmax(c->high[x], value);
        }
    }
    return BL_OK;
}

/* Draws a line from the minimum to the maximum of each column, on a scale of all values. */
static int curve_finish(struct bl_painter *p, struct bl_error *e)
{
    const struct curve *c = p->state;
    const bool is_sound = p->lane->is_sound;
    const int height = p->lane->canvas.height;
    double low = INFINITY, high = -INFINITY;
    (void)e;
    for (int x = 0; x < p->columns; x++) {
        /* fmin and fmax return the other argument where one is NAN. */
        low = fmin(low, c->low[x]);
        high = fmax(high, c->high[x]);
    }
    painter_note(p, low, high);
    if (is_sound) { /* silence is in the middle */
        high = fmax(fabs(low), fabs(high));
        low = -high;
    }
    const double scale = high > low ? (height - 1) / (high - low) : 0;
    const bool is_flat = !isnormal(scale); /* or the range is beyond doubles */
    for (int x = 0; x < p->columns; x++) {
        /* A column without values stays paper. */
        if (isnan(c->low[x]))
            continue;
        int top = is_flat ? height / 2 : (int)lround((high - c->high[x]) * scale);
        int bottom = is_flat ? height / 2 : (int)lround((high - c->low[x]) * scale);
        bl_canvas_fill(&p->lane->canvas, (struct bl_area){x, top, 1, bottom - top + 1}, BL_COLOUR_BLUE);
    }
    return BL_OK;
}

const struct bl_painter_method bl_painter_curve = {
    .begin = curve_begin, .put = curve_put, .erase = curve_erase, .finish = curve_finish};

/* --- maps --------------------------------------------------------------------------------------------------------- */

/* A map shows the means of the values of steps, in the order of the field, one above the other. Features of sound
 * have the lowest frequency at the bottom; other fields have the first value at the top. */

struct cell {
    double sum;
    int64_t count; /* values in it */
};

/* The cells are the state, [height, columns]. */
static int map_begin(struct bl_painter *p, struct bl_error *e)
{
    p->state = calloc((size_t)p->columns * (size_t)p->lane->canvas.height, sizeof(struct cell));
    return p->state ? BL_OK : bl_error_memory(e);
}

/* Returns the mean of a cell, NAN for an empty one. */
static double cell_mean(const struct cell *cell)
{
    return cell->count ? cell->sum / (double)cell->count : NAN;
}

/* A cell with the count 0 is empty: its next value replaces the sum. */
static void map_erase(struct bl_painter *p, int first, int end)
{
    struct cell *cell = p->state;
    for (int y = 0; y < p->lane->canvas.height; y++) {
        for (int x = first; x < end; x++)
            cell[y * p->columns + x].count = 0;
    }
}

/* Adds the values of a step to the means of the cells that the step covers. */
static void map_put_step(struct bl_painter *p, int64_t at, const uint8_t *data)
{
    struct cell *cells = p->state;
    const size_t size = bl_dtype_size(p->field->dtype);
    const int64_t rows = (int64_t)(bl_field_step_bytes(p->field) / size), height = p->lane->canvas.height;
    /* Only features of sound have a frequency axis. */
    const bool from_bottom = strcmp(p->field->kind, "audio") == 0;
    int first, end;
    bl_painter_cover(p, at, 1, &first, &end);
    for (int64_t r = 0; r < rows; r++, data += size) {
        double value = painter_value(p, data);
        if (isnan(value))
            continue;
        /* With fewer rows than pixels a row covers several. */
        int64_t y0 = r * height / rows, y1 = (r + 1) * height / rows;
        for (int64_t y = y0; y < (y1 > y0 ? y1 : y0 + 1); y++) {
            for (int x = first; x < end; x++) {
                struct cell *cell = &cells[(from_bottom ? height - 1 - y : y) * p->columns + x];
                cell->sum = cell->count++ ? cell->sum + value : value;
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

/* Draws the means on the scale from the minimum to the maximum. */
static int map_finish(struct bl_painter *p, struct bl_error *e)
{
    const struct cell *cell = p->state;
    struct bl_canvas *canvas = &p->lane->canvas;
    const size_t pixels = (size_t)p->columns * (size_t)canvas->height;
    double low = INFINITY, high = -INFINITY;
    (void)e;
    for (size_t i = 0; i < pixels; i++) {
        low = fmin(low, cell_mean(&cell[i]));
        high = fmax(high, cell_mean(&cell[i]));
    }
    painter_note(p, low, high);
    for (size_t i = 0; i < pixels; i++) {
        const struct bl_area area = {(int)(i % (size_t)p->columns), (int)(i / (size_t)p->columns), 1, 1};
        if (cell[i].count)
            bl_canvas_fill(canvas, area, painter_scale(high > low ? (cell_mean(&cell[i]) - low) / (high - low) : 0.5));
    }
    return BL_OK;
}

const struct bl_painter_method bl_painter_map = {
    .begin = map_begin, .put = map_put, .erase = map_erase, .finish = map_finish};

/* --- spectra ------------------------------------------------------------------------------------------------------ */

/* A spectrum shows the frequencies around the middle of each column, down to 80 dB below the loudest point: a Hann
 * window of 512 samples of one sequence, with zeros beyond its ends. */

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

/* Opens the transform, with a Hann window, and sets all levels to none. */
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
    /* acos(-1) is pi, which standard C does not define. */
    for (int i = 0; !code && i < WINDOW; i++)
        s->transform.shape[i] = (float)(0.5 - 0.5 * cos(2 * acos(-1) * (i + 0.5) / WINDOW));
    return code;
}

/* Returns the step in the middle of a column. */
static int64_t column_middle(const struct bl_painter *p, int x)
{
    return (2 * (int64_t)x + 1) * p->sheet->line_steps / (2 * (int64_t)p->sheet->width);
}

/* Draws the columns whose windows are complete, up to the step end, and removes the samples that no later window
 * needs. */
static void spectrum_draw_all(struct bl_painter *p, int64_t end)
{
    struct spectrum *s = p->state;
    for (; s->next < p->columns; s->next++) {
        int64_t middle = column_middle(p, s->next), at = middle - HALF - s->base;
        if (middle >= end || at + WINDOW > (int64_t)s->samples)
            break;
        if (at < 0)
            continue;
        const int height = p->lane->canvas.height;
        bl_spectrum_compute(&s->transform, s->sample + at);
        for (int y = 0; y < height; y++) { /* the greatest power of the frequencies that a pixel covers, in dB */
            int first = y * HALF / height, last = (y + 1) * HALF / height;
            float most = 0;
            for (int bin = first; bin < (last > first ? last : first + 1); bin++)
                most = fmaxf(most, s->transform.power[bin]);
            /* 1e-20 is -200 dB, far below the scale: silence has a logarithm, too. */
            s->level[(size_t)(height - 1 - y) * (size_t)p->columns + (size_t)s->next] = 10 * log10f(most + 1e-20F);
        }
    }
    int64_t past = s->next < p->columns ? column_middle(p, s->next) - HALF - s->base : (int64_t)s->samples;
    past = past < (int64_t)s->samples ? past : (int64_t)s->samples;
    if (past <= 0)
        return;
    s->samples -= (size_t)past;
    s->base += past;
    memmove(s->sample, s->sample + past, s->samples * sizeof *s->sample);
}

/* Adds the samples of steps, from -1 to 1, and draws the columns whose windows are complete. */
static int spectrum_put(struct bl_painter *p, int64_t at, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    struct spectrum *s = p->state;
    const size_t size = bl_field_step_bytes(p->field);
    /* Samples of 16 bits are whole numbers from -32768 to 32767. */
    const double scale = p->field->dtype == BL_I16 ? 1.0 / 32768 : 1;
    /* Room for the steps, for the zeros after the piece, and for the lanes that a window may read beyond its end. */
    size_t needed = s->samples + (size_t)steps + 2 * WINDOW;
    if (needed > s->capacity) {
        float *larger = realloc(s->sample, needed * 2 * sizeof *larger);
        if (!larger)
            return bl_error_memory(e);
        memset(larger + s->samples, 0, (needed * 2 - s->samples) * sizeof *larger);
        s->sample = larger;
        s->capacity = needed * 2;
    }
    if (!s->in_piece) {
        s->in_piece = true;
        s->base = at - HALF;
        s->samples = HALF;
        memset(s->sample, 0, HALF * sizeof *s->sample);
        /* Columns before the piece have no samples. */
        while (s->next < p->columns && column_middle(p, s->next) < at)
            s->next++;
    }
    for (int64_t i = 0; i < steps; i++, data += size) {
        double value = painter_mean(p, data, size) * scale;
        s->sample[s->samples++] = isnan(value) ? 0 : (float)value;
    }
    spectrum_draw_all(p, INT64_MAX);
    return BL_OK;
}

/* Draws the last columns of a piece, whose windows extend beyond its end with zeros. */
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

/* Draws the levels: the maximum has the brightest colour, and DECIBELS below it is the darkest one. */
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
                               painter_scale(1 + ((double)level - (double)most) / DECIBELS));
        }
    }
    return BL_OK;
}

static void spectrum_close(struct bl_painter *p)
{
    struct spectrum *s = p->state;
    if (!s)
        return;
    /* The caller frees the state itself. */
    bl_spectrum_close(&s->transform);
    free(s->level);
    free(s->sample);
}

const struct bl_painter_method bl_painter_spectrum = {.begin = spectrum_begin,
                                                      .put = spectrum_put,
                                                      .end_piece = spectrum_end_piece,
                                                      .erase = spectrum_erase,
                                                      .finish = spectrum_finish,
                                                      .close = spectrum_close};

/* --- strips ------------------------------------------------------------------------------------------------------- */

/* A strip has a colour for each integer, so that equal values are seen: labels, masks, ids. A column has the colour
 * of its first step. */

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

/* The colour of 0 until all values are known. No other colour has this value. */
#define ZERO 0xfefefeU

/* Empties the range of the piece. */
static void strip_forget_piece(struct strip *s)
{
    s->piece_low = INFINITY;
    s->piece_high = -INFINITY;
    s->ended = false;
}

/* Adds the range of a piece to that of all. A piece that has ended is known to be sound only when the next one
 * begins. */
static void strip_keep_piece(struct strip *s)
{
    s->low = fmin(s->low, s->piece_low);
    s->high = fmax(s->high, s->piece_high);
    strip_forget_piece(s);
}

/* Colours each column by its first step, and extends the range of the piece. */
static int strip_put(struct bl_painter *p, int64_t at, const uint8_t *data, int64_t steps, struct bl_error *e)
{
    struct strip *s = p->state;
    const size_t size = bl_field_step_bytes(p->field);
    (void)e;
    if (s->ended)
        strip_keep_piece(s);
    for (int64_t i = 0; i < steps; i++, data += size) {
        int first, end;
        double value = painter_value(p, data);
        s->piece_low = fmin(s->piece_low, value);
        s->piece_high = fmax(s->piece_high, value);
        bl_painter_cover(p, at + i, 1, &first, &end);
        first = first > s->drawn ? first : s->drawn;
        if (first >= end)
            continue;
        int64_t integer = bl_element_integer(p->field->dtype, data);
        /* The factor is 2^64 divided by the golden ratio: neighbours get colours that lie far apart. */
        bl_colour colour = integer ? bl_style_colour(((uint64_t)integer * UINT64_C(0x9E3779B97F4A7C15)) >> 32) : ZERO;
        bl_canvas_fill(&p->lane->canvas, (struct bl_area){first, 0, end - first, p->lane->canvas.height}, colour);
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

/* Sets the note, and gives 0 its colour, which depends on all values. */
static int strip_finish(struct bl_painter *p, struct bl_error *e)
{
    struct strip *s = p->state;
    (void)e;
    strip_keep_piece(s);
    painter_note(p, s->low, s->high);
    /* In a mask 0 is paper. In labels and ids 0 is a value like others. */
    bl_canvas_replace(&p->lane->canvas, ZERO, s->high > 1 || s->low < 0 ? BL_COLOUR_GREY : BL_COLOUR_PAPER);
    return BL_OK;
}

const struct bl_painter_method bl_painter_strip = {
    .begin = strip_begin, .put = strip_put, .end_piece = strip_end_piece, .erase = strip_erase, .finish = strip_finish};
