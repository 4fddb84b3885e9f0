#include "kind/video/filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The weights of one sample while they are made, of positions that lie together. */
struct row {
    double *weight; /* [room] */
    int first;      /* position of weight[0] */
    int taps, room;
};

/* Half a sample rounds up, below zero too, so that the grid of positions is the same everywhere. */
static double round_half_up(double x)
{
    return floor(x + 0.5);
}

/* How many positions the triangle may reach, and how far from the middle. */
static int reach(double length, int count, double *step)
{
    *step = fmin(count / length, 1);
    return 2 * (int)ceil(1 / *step);
}

static int mirrored(int position, int size)
{
    if (position < 0)
        position = -1 - position;
    if (position >= size)
        position = 2 * size - 1 - position;
    return position < 0 ? 0 : position >= size ? size - 1 : position;
}

/* Adds a weight at a position of the row, which begins at row->first. */
static void row_add(struct row *row, int position, double weight)
{
    row->weight[position - row->first] += weight;
}

/* The triangle of output i, at luma's positions. Mirroring moves a weight by no more than the triangle is wide. */
static void row_triangle(struct row *row, int size, double start, double length, int count, int i)
{
    double step;
    int wide = reach(length, count, &step);
    double middle = start + (i + 0.5) * (length / count), total = 0;
    int begin = (int)round_half_up(middle - wide / 2.0);
    for (int j = 0; j < wide; j++)
        total += fmax(1 - fabs((begin + j + 0.5 - middle) * step), 0);
    row->first = mirrored(begin, size);
    for (int j = 0; j < wide; j++) {
        int at = mirrored(begin + j, size);
        row->first = at < row->first ? at : row->first;
    }
    memset(row->weight, 0, (size_t)row->room * sizeof *row->weight);
    row->taps = 0;
    for (int j = 0; j < wide; j++) {
        int at = mirrored(begin + j, size);
        row_add(row, at, fmax(1 - fabs((begin + j + 0.5 - middle) * step), 0) / total);
        row->taps = at - row->first + 1 > row->taps ? at - row->first + 1 : row->taps;
    }
}

/* Positions of luma become those of chroma between which each lies. */
static void row_halve(struct row *chroma, const struct row *luma, int chroma_size, double phase)
{
    memset(chroma->weight, 0, (size_t)chroma->room * sizeof *chroma->weight);
    chroma->taps = 0;
    for (int t = 0; t < luma->taps; t++) {
        double at = fmin(fmax((luma->first + t) / 2.0 + phase, 0), chroma_size - 1);
        int low = (int)floor(at), high = low + 1 < chroma_size ? low + 1 : low;
        if (t == 0)
            chroma->first = low;
        row_add(chroma, low, luma->weight[t] * (1 - (at - low)));
        row_add(chroma, high, luma->weight[t] * (at - low));
        chroma->taps = high - chroma->first + 1;
    }
}

/* Takes the weights of output i over; what is less than taps wide is moved into the axis and padded with zeros. */
static void store(struct bl_filter *filter, int i, const struct row *row)
{
    int first = row->first + filter->taps > filter->size ? filter->size - filter->taps : row->first;
    filter->first[i] = first;
    for (int t = 0; t < filter->taps; t++) {
        int from = first + t - row->first;
        double weight = from >= 0 && from < row->taps ? row->weight[from] : 0;
        filter->weight[(size_t)t * (size_t)filter->count + (size_t)i] = (float)weight;
    }
}

/* Taps that hold a weight: zeros at both ends are cut off, so that a picture that keeps its size costs one. */
static void row_trim(struct row *row)
{
    int begin = 0;
    while (begin < row->taps - 1 && row->weight[begin] == 0)
        begin++;
    while (row->taps > begin + 1 && row->weight[row->taps - 1] == 0)
        row->taps--;
    memmove(row->weight, row->weight + begin, (size_t)(row->taps - begin) * sizeof *row->weight);
    row->taps -= begin;
    row->first += begin;
}

struct axis {
    int size, count, chroma_size; /* chroma_size 0: luma */
    double start, length, phase;
};

static void row_make(const struct axis *axis, int i, struct row *luma, struct row *chroma, const struct row **made)
{
    row_triangle(luma, axis->size, axis->start, axis->length, axis->count, i);
    row_trim(luma);
    *made = luma;
    if (axis->chroma_size) {
        row_halve(chroma, luma, axis->chroma_size, axis->phase);
        row_trim(chroma);
        *made = chroma;
    }
}

static int fill(struct bl_filter *filter, const struct axis *axis, struct row *luma, struct row *chroma,
                struct bl_error *e)
{
    const struct row *made;
    for (int i = 0; i < axis->count; i++) {
        row_make(axis, i, luma, chroma, &made);
        filter->taps = made->taps > filter->taps ? made->taps : filter->taps;
    }
    filter->first = calloc((size_t)axis->count, sizeof *filter->first);
    filter->weight = calloc((size_t)axis->count * (size_t)filter->taps, sizeof *filter->weight);
    if (!filter->first || !filter->weight)
        return bl_error_memory(e);
    for (int i = 0; i < axis->count; i++) {
        row_make(axis, i, luma, chroma, &made);
        store(filter, i, made);
    }
    return BL_OK;
}

static int make(struct bl_filter *filter, const struct axis *axis, struct bl_error *e)
{
    double step;
    int room = reach(axis->length, axis->count, &step) + 2;
    struct row luma = {.weight = calloc((size_t)room, sizeof(double)), .room = room};
    struct row chroma = {.weight = calloc((size_t)room, sizeof(double)), .room = room};
    *filter = (struct bl_filter){.count = axis->count, .size = axis->chroma_size ? axis->chroma_size : axis->size};
    int code = luma.weight && chroma.weight ? fill(filter, axis, &luma, &chroma, e) : bl_error_memory(e);
    free(luma.weight);
    free(chroma.weight);
    if (code)
        bl_filter_free(filter);
    return code;
}

int bl_filter_make(struct bl_filter *filter, int size, double start, double length, int count, struct bl_error *e)
{
    const struct axis axis = {.size = size, .count = count, .start = start, .length = length};
    return make(filter, &axis, e);
}

int bl_filter_make_chroma(struct bl_filter *filter, int size, double start, double length, int count, double phase,
                          struct bl_error *e)
{
    const struct axis axis = {
        .size = size, .count = count, .start = start, .length = length, .chroma_size = (size + 1) / 2, .phase = phase};
    return make(filter, &axis, e);
}

void bl_filter_free(struct bl_filter *filter)
{
    free(filter->first);
    free(filter->weight);
    *filter = (struct bl_filter){0};
}
