/* Computes the numbers of frames; frame_list.h explains the forms.
 *
 * Every operation is one that numpy or torch performs, in the same order and precision. The compiler must not merge a
 * product and a sum into one operation where they do not, so float32 sums are written with fmaf, or through double. */
#include "kind/video/frame_list.h"

#include <math.h>

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Returns numpy.linspace(0, n - 1, N)[i] in float64: the step is rounded first, and the last number is exact. */
static double linspace_numpy(const struct bl_frame_list *list, int64_t i)
{
    if (list->count == 1)
        return 0;
    if (i == list->count - 1)
        return (double)(list->frames - 1);
    return (double)i * ((double)(list->frames - 1) / (double)(list->count - 1));
}

/* Returns torch.linspace(first, last, N)[i] in float32. torch counts from the nearer end, and its kernels for AVX2 and
 * AVX-512 round a product and its sum once. */
static float linspace_torch(const struct bl_frame_list *list, int64_t i)
{
    float first = (float)list->first, last = (float)(list->first + list->frames - 1);
    if (list->count == 1)
        return first;
    float step = (last - first) / (float)(list->count - 1);
    if (i < list->count / 2)
        return fmaf(step, (float)i, first);
    return fmaf(-step, (float)(list->count - 1 - i), last);
}

/* Returns torch.arange(0, n, n / N)[i] in float32. The kernel fills pairs of vectors of 8 numbers: the first number of
 * a vector is rounded to float32, and the others are that number and a multiple of the step. The rest is filled one by
 * one. `total` is the length of torch's array, which decides where the rest begins: torch computes it as
 * ceil(n / (n / N)), which may be N + 1. */
static float arange_torch(const struct bl_frame_list *list, int64_t i)
{
    enum { LANES = 8 };
    double step = (double)list->frames / (double)list->count;
    int64_t total = (int64_t)ceil((double)list->frames / step);
    if (i >= total - total % (int64_t)(2 * LANES))
        return (float)(step * (double)i);
    int64_t lane = i % LANES;
    float base = (float)(step * (double)(i - lane));
    double added = step * (double)lane;
    return (float)((double)base + added);
}

int64_t bl_frame_list_at(const struct bl_frame_list *list, int64_t i)
{
    int64_t number = 0;
    switch (list->form) {
    case BL_FRAMES_LINSPACE:
        number = (int64_t)floor(linspace_numpy(list, i));
        break;
    case BL_FRAMES_LINSPACE_ROUND:
        number = llrint(linspace_numpy(list, i));
        break;
    case BL_FRAMES_MIDDLE:
        number = (2 * i + 1) * list->frames / (2 * list->count);
        break;
    case BL_FRAMES_START:
        number = i * list->frames / list->count;
        break;
    case BL_FRAMES_TORCH_LINSPACE:
        number = llrintf(linspace_torch(list, i)) - list->first;
        break;
    case BL_FRAMES_TORCH_ARANGE:
        number = (int64_t)arange_torch(list, i);
        break;
    }
    /* float32 cannot count beyond 2^24. */
    return number < 0 ? 0 : number >= list->frames ? list->frames - 1 : number;
}

int64_t bl_frame_list_repeated(const struct bl_frame_list *list)
{
    int64_t repeated = 0;
    for (int64_t i = 1; i < list->count; i++)
        repeated += bl_frame_list_at(list, i) == bl_frame_list_at(list, i - 1);
    return repeated;
}

/* --- rules -------------------------------------------------------------------------------------------------------- */

/* Returns the greatest multiple of the factor that is not above x, as math.floor(x / factor) * factor. */
static double multiple_below(double x, int64_t factor)
{
    return floor(x / (double)factor) * (double)factor;
}

/* Each rule takes the bounds in an order of its own, which matters where they contradict each other. */
int64_t bl_frame_rule_count(const struct bl_frame_rule_options *o, int64_t frames, double rate)
{
    double all = (double)frames, min = (double)o->min, max = (double)o->max;
    double wanted = all / rate * o->fps, count = 0;
    switch (o->rule) {
    case BL_FRAME_RULE_NONE:
        break;
    case BL_FRAME_RULE_QWEN_VL_UTILS:
        min = ceil(min / (double)o->factor) * (double)o->factor;
        max = multiple_below(max, o->factor);
        count = multiple_below(fmin(fmin(fmax(wanted, min), max), all), o->factor);
        break;
    case BL_FRAME_RULE_QWEN2_VL:
        max = multiple_below(fmin(max, all), o->factor);
        count = multiple_below(fmin(fmin(fmax(wanted, min), max), all), o->factor);
        break;
    case BL_FRAME_RULE_QWEN3_VL:
        count = fmin(fmin(fmax(trunc(wanted), min), max), all);
        break;
    }
    return count > 0 ? (int64_t)count : 0;
}

enum bl_frame_form bl_frame_rule_form(enum bl_frame_rule rule)
{
    switch (rule) {
    case BL_FRAME_RULE_QWEN_VL_UTILS:
        return BL_FRAMES_TORCH_LINSPACE;
    case BL_FRAME_RULE_QWEN2_VL:
        return BL_FRAMES_TORCH_ARANGE;
    case BL_FRAME_RULE_QWEN3_VL:
    case BL_FRAME_RULE_NONE:
        break;
    }
    return BL_FRAMES_LINSPACE_ROUND;
}
