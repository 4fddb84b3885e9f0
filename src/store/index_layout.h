/* The tables of index.safetensors and where they lie: what its writer and its reader share. */
#ifndef BL_INDEX_LAYOUT_H
#define BL_INDEX_LAYOUT_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/index.h"
#include "store/safetensors.h"

struct bl_index_table_type {
    const char *name;
    enum bl_dtype dtype;
};

extern const struct bl_index_table_type bl_index_table_types[BL_INDEX_TABLES];

/* The first table that an index has: without fields there are no block checksums. */
int bl_index_first_table(int fields);

/* Sets name, type, shape and place of all tables. BL_EUSAGE: the file would be too large. */
int bl_index_place(struct bl_tensor tensor[BL_INDEX_TABLES], int64_t blocks, int64_t pieces, int fields,
                   struct bl_error *e);

/* DIR/index.safetensors */
int bl_index_path(const char *dir, struct bl_buffer *path, struct bl_error *e);

#endif
