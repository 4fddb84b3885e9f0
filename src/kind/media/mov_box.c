#include "kind/media/mov_box.h"

int64_t bl_mov_read(struct bl_window *window, int64_t at)
{
    return (int64_t)bl_window_number(window, at, 4, true);
}

int64_t bl_mov_read_scale(struct bl_window *window, int64_t at)
{
    return bl_mov_read(window, at + (bl_mov_read(window, at) >> 24 == 1 ? 20 : 12));
}

bool bl_mov_box_read(struct bl_window *window, int64_t at, int64_t end, struct bl_mov_box *box)
{
    if (at >= end - 7)
        return false;
    uint64_t size = (uint64_t)bl_mov_read(window, at);
    box->name = (uint32_t)bl_mov_read(window, at + 4);
    box->inside = at + (size == 1 ? 16 : 8);
    if (size == 1)
        size = bl_window_number(window, at + 8, 8, true);
    box->after = size == 0 || size > (uint64_t)(end - at) ? end : at + (int64_t)size;
    return box->after >= box->inside;
}
