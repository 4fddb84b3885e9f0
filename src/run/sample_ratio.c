/* What a sample says of the whole. */
#include <math.h>

#include "run/sample.h"

#define ONE_SAMPLE 0.5    /* a single sample has no spread: it may be half or one and a half of the truth */
#define TABLES_MARGIN 0.2 /* of their bytes: they are compressed for a whole shard, however many blocks that has */
#define WHOLE_MARGIN 0.01 /* of the rest: seek tables and headers differ a little */
#define WARM_BLOCKS 4     /* with so many others, the first ones, which open files and libraries, are left out */

/* Student's t for 95 % and n - 1 degrees of freedom, by an approximation that is right to 3 % from n = 3 on. */
static double student(int n)
{
    return n == 2 ? 12.7 : 1.96 + 2.4 / (n - 1) + 3.5 / ((double)(n - 1) * (n - 1));
}

struct bl_range bl_sample_ratio(const double *part, const double *whole, int n)
{
    double parts = 0, wholes = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        parts += part[i];
        wholes += whole[i];
    }
    if (!(wholes > 0))
        return (struct bl_range){0};
    double mid = parts / wholes, reach = mid * ONE_SAMPLE;
    for (int i = 0; i < n; i++)
        squares += (part[i] - mid * whole[i]) * (part[i] - mid * whole[i]);
    if (n > 1)
        reach = student(n) * sqrt(squares * n / (n - 1)) / wholes;
    return (struct bl_range){fmax(mid - reach, mid / 4), mid, fmin(mid + reach, mid * 4)};
}

struct bl_range bl_sample_seconds(const struct bl_sample *sample, double *warm)
{
    double part[BL_SAMPLE_BLOCKS] = {0}, whole[BL_SAMPLE_BLOCKS] = {0}, more = 0;
    int n = 0, firsts = 0;
    for (int b = 0; b < sample->blocks; b++)
        firsts += sample->block[b].is_first;
    bool skips = sample->blocks - firsts >= WARM_BLOCKS;
    for (int b = 0; b < sample->blocks; b++) {
        if (skips && sample->block[b].is_first)
            continue;
        part[n] = sample->block[b].seconds;
        whole[n++] = (double)sample->block[b].steps;
    }
    struct bl_range seconds = bl_sample_ratio(part, whole, n);
    for (int b = 0; b < sample->blocks; b++)
        more += sample->block[b].is_first
                    ? fmax(sample->block[b].seconds - seconds.mid * (double)sample->block[b].steps, 0)
                    : 0;
    *warm = skips && firsts ? more / firsts : 0;
    return seconds;
}

/* Tables take as many bytes for each step everywhere. */
struct bl_range bl_sample_bytes(const struct bl_sample *sample)
{
    double part[BL_SAMPLE_BLOCKS] = {0}, whole[BL_SAMPLE_BLOCKS] = {0}, stored = 0;
    for (int b = 0; b < sample->blocks; b++) {
        part[b] = (double)sample->block[b].bytes;
        whole[b] = (double)sample->block[b].stored;
        stored += whole[b];
    }
    struct bl_range bytes = bl_sample_ratio(part, whole, sample->blocks);
    double tables = stored > 0 ? (double)sample->tables / stored : 0;
    if (sample->is_whole)
        bytes.low = bytes.high = bytes.mid;
    double margin = tables * TABLES_MARGIN + bytes.mid * WHOLE_MARGIN;
    return (struct bl_range){bytes.low + tables - margin, bytes.mid + tables, bytes.high + tables + margin};
}
