/* NPY arrays of token ids. */
#ifndef BL_NPY_IDS_H
#define BL_NPY_IDS_H

#include "kind/text/item.h"

/* --- id numbers --------------------------------------------------------------------------------------------------- */

/* Token ids as whole numbers of any size in files, and the rows that are made of them. */

/* The number at `at`. One that is above INT64_MAX, which no id is, becomes INT64_MAX. */
int64_t bl_id_number_read(const struct bl_id_number *type, const uint8_t *at);

/* Adds count ids to the row that was begun (bl_item_add_id). */
int bl_id_numbers_add(struct bl_item *item, const struct bl_id_number *type, const uint8_t *data, size_t count,
                      struct bl_error *e);

/* Completes the row: its content, and the marks that end a document, unless it is empty. */
int bl_id_numbers_end(struct bl_item *item, struct bl_error *e);

/* --- npy ids ------------------------------------------------------------------------------------------------------ */

/* One row for a 1-D array, one for each row of a 2-D array; whole numbers of any size, compressed or not. Codes as
 * bl_instream_read: BL_EDATA for a file that is not one. */
int bl_npy_ids_count(struct bl_item *item, const char *path, const struct bl_cancel *cancel, bl_item_emit *take,
                     void *context, struct bl_error *e);

#endif
