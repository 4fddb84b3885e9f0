/* The ids of a block's sequences as JSON: a list of S texts, "" in a place without a sequence, and blanks behind it, so
 * that it has one size in all blocks as the arrays have. An id that is not UTF-8 is as it stands in sequences.tsv. */
#ifndef BL_EXPORT_IDS_H
#define BL_EXPORT_IDS_H

#include <stddef.h>

#include "base/cancel.h"
#include "base/error.h"
#include "store/blocks.h"

#define BL_EXPORT_IDS_NAME "ids"

/* Sets *bytes to the most that any block needs, and reads all rows of the table for it. BL_EFAIL and BL_EDATA: table or
 * plan cannot be read. */
int bl_export_ids_size(struct bl_blocks *blocks, struct bl_cancel *cancel, size_t *bytes, struct bl_error *e);

/* Writes those of a block with these tables. text: where they are made first. Errors as above. */
int bl_export_ids_read(struct bl_blocks *blocks, const struct bl_block *tables, struct bl_buffer *text, void *out,
                       size_t bytes, struct bl_error *e);

#endif
