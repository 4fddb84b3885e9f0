/* NPY arrays of token ids. */
#ifndef BL_NPY_IDS_H
#define BL_NPY_IDS_H

#include "kind/text/item.h"

/* One row for a 1-D array, one for each row of a 2-D array; whole numbers of any size, compressed or not. Codes as
 * bl_instream_read: BL_EDATA for a file that is not one. */
int bl_npy_ids_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *take,
                     void *context, struct bl_error *e);

#endif
