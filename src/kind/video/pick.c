#include "kind/video/pick.h"

bool bl_pick_init(struct bl_pick *pick, int64_t fps_num, int64_t fps_den, int64_t stride, int64_t time_num,
                  int64_t time_den)
{
    *pick = (struct bl_pick){.stride = stride};
    if (fps_den == 0)
        return stride > 0;
    if (fps_num <= 0 || fps_den < 0 || time_num <= 0 || time_den <= 0 || fps_num > INT32_MAX || fps_den > INT32_MAX ||
        time_num > INT32_MAX || time_den > INT32_MAX)
        return false;
    pick->stride = 0;
    pick->num = time_num * fps_num;
    pick->den = time_den * fps_den;
    return true;
}

void bl_pick_set_origin(struct bl_pick *pick, int64_t origin)
{
    pick->origin = origin;
    pick->origin_known = true;
}

/* The output nearest to a time, halves away from 0; clamped to 0...INT64_MAX. */
static int64_t pick_output_at(const struct bl_pick *pick, int64_t time)
{
    __int128 product = ((__int128)time - pick->origin) * pick->num;
    __int128 half = pick->den / 2;
    __int128 output = product < 0 ? -((-product + half) / pick->den) : (product + half) / pick->den;
    return output > INT64_MAX ? INT64_MAX : output < 0 ? 0 : (int64_t)output;
}

static int64_t pick_fill(struct bl_pick *pick, int64_t output)
{
    int64_t times = output > pick->next ? output - pick->next : 0;
    pick->next += times;
    if (times > 0) {
        times += pick->lead;
        pick->lead = 0;
    }
    pick->taken += times;
    return times;
}

static void pick_begin(struct bl_pick *pick, int64_t time)
{
    if (!pick->origin_known)
        pick->origin = time;
    pick->lead = pick->next = pick_output_at(pick, time);
}

static int64_t pick_by_stride(struct bl_pick *pick)
{
    int64_t times = pick->pushed > 0 && (pick->pushed - 1) % pick->stride == 0;
    pick->taken += times;
    return times;
}

int64_t bl_pick_push(struct bl_pick *pick, int64_t time)
{
    int64_t times = 0;
    if (pick->stride > 0)
        times = pick_by_stride(pick);
    else if (pick->pushed == 0)
        pick_begin(pick, time);
    else if (time != BL_PICK_UNKNOWN)
        times = pick_fill(pick, pick_output_at(pick, time));
    pick->pushed++;
    return times;
}

int64_t bl_pick_end(struct bl_pick *pick, int64_t time)
{
    if (pick->pushed == 0)
        return 0;
    return pick->stride > 0 ? pick_by_stride(pick) : pick_fill(pick, pick_output_at(pick, time));
}
