#include "show/painter.h"

#include <math.h>
#include <stdio.h>

#include "kind/element.h"

void bl_painter_cover(const struct bl_painter *p, int64_t part, int64_t parts, int *first, int *end)
{
    const int64_t line = p->sheet->line_steps * parts;
    *first = (int)(part * p->sheet->width / line);
    *end = (int)((part + 1) * p->sheet->width / line);
    *first = *first < p->columns ? *first : p->columns - 1;
    *end = *end > *first ? *end : *first + 1;
    *end = *end < p->columns ? *end : p->columns;
}

double bl_painter_value(struct bl_painter *p, const uint8_t *element)
{
    double value = bl_element_number(p->field->dtype, element);
    if (isfinite(value))
        return value;
    p->strange++;
    return NAN;
}

double bl_painter_mean(struct bl_painter *p, const uint8_t *data, size_t all)
{
    const size_t size = bl_dtype_size(p->field->dtype);
    double sum = 0;
    for (size_t at = 0; at < all; at += size)
        sum += bl_painter_value(p, data + at);
    return sum * (double)size / (double)all;
}

bl_colour bl_painter_scale(double share)
{
    static const bl_colour known[] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
                                      0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
    enum { STEPS = sizeof known / sizeof *known - 1 };
    double at = fmin(fmax(share, 0), 1) * STEPS;
    int i = at < STEPS ? (int)at : STEPS - 1;
    bl_colour colour = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        double from = known[i] >> shift & 255, to = known[i + 1] >> shift & 255;
        colour = colour << 8 | (bl_colour)lround(from + (to - from) * (at - i));
    }
    return colour;
}

/* Four digits, and all of those before the point. */
static void number_format(double value, char out[32])
{
    snprintf(out, 32, fabs(value) >= 1e4 && fabs(value) < 1e9 ? "%.0f" : "%.4g", value);
}

void bl_painter_note(struct bl_painter *p, double low, double high)
{
    char a[32], b[32];
    number_format(low, a);
    number_format(high, b);
    if (low <= high)
        snprintf(p->lane->note, sizeof p->lane->note, "%s to %s", a, b);
    p->lane->strange = p->strange;
}
