/* Boxes, of which QuickTime files consist. */
#ifndef BL_MOV_BOX_H
#define BL_MOV_BOX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/window.h"

struct bl_mov_box {
    uint32_t name;
    int64_t inside, after; /* where its contents and what follows it begin */
};

/* Reads the box at an offset, within one that ends there. False: there is none. */
bool bl_mov_box_read(struct bl_window *window, int64_t at, int64_t end, struct bl_mov_box *box);

/* A number of 4 bytes; beyond the end: 0. */
int64_t bl_mov_read(struct bl_window *window, int64_t at);

/* The ticks of a second in a head (mvhd, mdhd): behind two times, which a later version has made wider. */
int64_t bl_mov_read_scale(struct bl_window *window, int64_t at);

#endif
