/* The tables of index.safetensors and their places, shared by its writer and its reader. */
#ifndef BL_INDEX_LAYOUT_H
#define BL_INDEX_LAYOUT_H

#include <stdint.h>

#include "base/error.h"
#include "store/safetensors.h"

#define BL_INDEX_FILE "index.safetensors"

enum bl_index_table {
    BL_INDEX_BLOCK_CHECKSUM,
    BL_INDEX_BLOCK_PTR,
    BL_INDEX_SEQUENCE,
    BL_INDEX_SOURCE_START,
    BL_INDEX_LENGTH,
    BL_INDEX_START,
    BL_INDEX_TABLES
};

struct bl_index_table_type {
    const char *name;
    enum bl_dtype dtype;
};

extern const struct bl_index_table_type bl_index_table_types[BL_INDEX_TABLES];

/* The first table that an index has: without fields, there are no block checksums. */
int bl_index_first_table(int fields);

/* Sets name, type, shape and place of all tables. BL_EUSAGE: the file would be too large. */
int bl_index_place(struct bl_tensor tensor[BL_INDEX_TABLES], int64_t blocks, int64_t pieces, int fields,
                   struct bl_error *e);

#endif
