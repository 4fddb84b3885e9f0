/* Boxes, of which QuickTime files consist. */
#ifndef BL_MOV_H
#define BL_MOV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/input_file.h"
#include "kind/media/media_file.h"

/* --- mov box ------------------------------------------------------------------------------------------------------ */

struct bl_mov_box {
    uint32_t name;
    int64_t inside, after; /* where its contents and what follows it begin */
};

/* Reads the box at an offset, within one that ends there. False: there is none. */
bool bl_mov_box_read(struct bl_window *window, int64_t at, int64_t end, struct bl_mov_box *box);

/* --- mov claims --------------------------------------------------------------------------------------------------- */

/* How many samples the tables of a QuickTime file claim without having an entry for each: libavformat makes an index of
 * all of them before it reads any, so that a few bytes could fill any memory. */

#define BL_MOV_CLAIM_BYTES 64 /* that an index and our lists take for a sample */

/* Their number; 0 for a file that is none of QuickTime's. BL_EFAIL: the file cannot be read. */
int bl_mov_claims_count(const struct bl_media_file *file, int64_t *count, struct bl_error *e);

#endif
