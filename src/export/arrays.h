/* The arrays of a block that is exported: its fields and tables, in the order of their names. All blocks of a dataset
 * have the same. */
#ifndef BL_ARRAYS_H
#define BL_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "store/blocks.h"

/* --- ids ---------------------------------------------------------------------------------------------------------- */

/* The ids of a block's sequences as JSON: a list of S texts, "" in a place without a sequence, and blanks behind it, so
 * that it has one size in all blocks as the arrays have. An id that is not UTF-8 is as it stands in sequences.tsv. */

/* Sets *bytes to the most that any block needs, and reads all rows of the table for it. BL_EFAIL and BL_EDATA: table or
 * plan cannot be read. */
int bl_export_ids_size(struct bl_blocks *blocks, struct bl_cancel *cancel, size_t *bytes, struct bl_error *e);

/* --- arrays ------------------------------------------------------------------------------------------------------- */

#define BL_EXPORT_ARRAYS_MAX (BL_FIELDS_MAX + BL_TABLES_ALL + 2)

struct bl_export_array {
    const char *name;    /* of the format */
    enum bl_dtype dtype; /* BF16 and BOOL stay what they are: formats without them store their bytes as U16 and U8 */
    int rank;            /* 0: a number */
    int64_t shape[BL_FIELD_RANK_MAX + 1];
    size_t bytes;
    int field, table; /* where it comes from: a field, or a table or attribute of the format; the other one is -1 */
    bool is_ids;      /* both are -1: it is the text of export/ids.h, as U8 */
    bool is_repeated; /* both are -1: the steps that each piece repeats of the one before; with an overlap */
};

struct bl_export_arrays {
    struct bl_format format; /* of the dataset */
    int count;
    struct bl_export_array array[BL_EXPORT_ARRAYS_MAX];
    size_t bytes;    /* of all */
    int64_t overlap; /* of the plan */
};

/* Sets the arrays of a dataset's or view's blocks; valid as long as it is open. ids_bytes: of the text of their ids; 0:
 * without. BL_EUSAGE: another array has their name. */
int bl_export_arrays_set(struct bl_export_arrays *arrays, const struct bl_blocks *blocks, size_t ids_bytes,
                         struct bl_error *e);

/* The arrays of one block in memory. */
struct bl_export_block {
    uint8_t *memory;
    uint8_t *data[BL_EXPORT_ARRAYS_MAX]; /* by array */
    struct bl_buffer text;
};

int bl_export_block_make(struct bl_export_block *block, const struct bl_export_arrays *arrays, struct bl_error *e);
void bl_export_block_free(struct bl_export_block *block);

/* Reads block b. Errors as of bl_dataset_read. */
int bl_export_block_read(struct bl_export_block *block, const struct bl_export_arrays *arrays, struct bl_blocks *blocks,
                         int64_t b, struct bl_error *e);

#endif
