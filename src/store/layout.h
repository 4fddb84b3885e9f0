/* The layout of a shard: its tensors, their offsets and its header. */
#ifndef BL_LAYOUT_H
#define BL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/format.h"
#include "store/safetensors.h"

/* A tensor of a shard: a table or a field, or the offsets of an encoded field's steps. */
struct bl_shard_tensor {
    struct bl_tensor tensor;
    int table;         /* enum bl_table, BL_TABLES + attribute, or -1 */
    int field;         /* index into the format's fields, or -1 */
    bool offsets;      /* I64 [n, T + 1]: where the field's steps lie in the tensor of their bytes */
    bool varies;       /* bytes of encoded steps, U8 [bytes]: the size is known once they have been written */
    int64_t row_bytes; /* of one block; 0 if it varies */
};

#define BL_TENSORS_MAX (BL_TABLES_ALL + 2 * BL_FIELDS_MAX)

/* One shard, to the byte. Data begins at header.size. */
struct bl_layout {
    int64_t first_block, blocks;
    int tensors;
    struct bl_shard_tensor tensor[BL_TENSORS_MAX]; /* in file order */
    struct bl_buffer header;                       /* all bytes before the data */
    int64_t file_size;                             /* before compression */
};

/* Makes the layout of a shard. Tensors whose size varies have size 0: they are the last ones in the file, and the
 * header has room for their sizes, so that everything else keeps its place. Free with bl_layout_free. */
int bl_layout_make(struct bl_layout *layout, const struct bl_format *format, int64_t shard, struct bl_error *e);

/* Sets the sizes of those tensors: bytes of each field that varies. BL_EUSAGE: out of range. */
int bl_layout_resolve(struct bl_layout *layout, const struct bl_format *format, const int64_t bytes[BL_FIELDS_MAX],
                      struct bl_error *e);
void bl_layout_free(struct bl_layout *layout);

/* The tensor of a table, of a field's steps or of their offsets; or NULL. */
const struct bl_shard_tensor *bl_layout_table(const struct bl_layout *layout, int table);
const struct bl_shard_tensor *bl_layout_field(const struct bl_layout *layout, int field);
const struct bl_shard_tensor *bl_layout_offsets(const struct bl_layout *layout, int field);

/* The offset in the file, before compression, of a tensor's row: of block first_block + row. */
int64_t bl_layout_offset(const struct bl_layout *layout, const struct bl_shard_tensor *tensor, int64_t row);

/* Divides the format's blocks among shards: checks the format (bl_format_check) and sets blocks_per_shard to as many
 * blocks as fit into shard_size bytes before compression and encoding, at least one. */
int bl_layout_divide(struct bl_format *format, int64_t shard_size, struct bl_error *e);

#endif
