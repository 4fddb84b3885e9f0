#include "base/window.h"

#include "base/io.h"

uint64_t bl_window_number(struct bl_window *w, int64_t at, int size, bool big_endian)
{
    uint64_t value = 0;
    bool inside = at >= 0 && at <= w->size - size;
    w->ended = w->ended || !inside;
    if (!inside || w->code)
        return 0;
    if (at < w->from || at + size > w->to) {
        w->from = at;
        w->to = w->size - at < BL_WINDOW_SIZE ? w->size : at + BL_WINDOW_SIZE;
        w->code = bl_io_pread(w->fd, w->data, (size_t)(w->to - at), w->begin + at, w->path, w->e);
    }
    for (int i = 0; i < size && !w->code; i++)
        value = value << 8 | w->data[at - w->from + (big_endian ? i : size - 1 - i)];
    return value;
}
