/* The format of shards: their tables, and the layout of a file. Nothing here depends on the contents of a dataset.
 *
 * The format determines the number of shards, their names and, for each shard, the tensors, their offsets and every
 * byte of the header. So workers write at computed offsets, and a finished shard is recognised by its size and header.
 *
 * A shard holds its tables in the same file as its steps, so that each file is consistent, and stock loaders read both.
 * The checksum of a shard is the XXH3 of the checksums of its regions (header, tables, blocks). So nothing is read
 * twice to compute it, and each region can be checked alone. */
#ifndef BL_FORMAT_H
#define BL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"
#include "kind/row.h"
#include "plan/plan.h"
#include "store/encoding.h"
#include "store/safetensors.h"

/* --- format ------------------------------------------------------------------------------------------------------- */

#define BL_FORMAT_VERSION 1
#define BL_FORMAT_VIEW 2     /* version in the manifest of a view, which tools that know only version 1 refuse */
#define BL_FORMAT_OWN 3      /* of a dataset that has fields with steps of their own */
#define BL_FORMAT_OWN_VIEW 4 /* of a view that has such fields */
#define BL_FORMAT_CP 5       /* of a dataset with the table cu_seqlens_padded, whatever its fields are */
#define BL_FORMAT_CP_VIEW 6  /* of a view with this table */

#define BL_ATTRIBUTES_MAX 64
#define BL_FRAME_MAX ((size_t)64 << 20) /* maximum bytes of a zstd frame of a shard, before compression */

/* A column of sequences.tsv that is stored as a tensor: one number per sequence. */
struct bl_attribute {
    char name[BL_FIELD_NAME_MAX];
    enum bl_dtype dtype; /* BL_I64 or BL_F64 */
};

struct bl_format {
    int64_t T;      /* steps per block */
    int64_t S;      /* maximum number of sequences in a block */
    int64_t blocks; /* in the dataset */
    struct bl_fields fields;
    struct bl_encoding encoding[BL_FIELDS_MAX]; /* of each field */
    struct bl_attribute attribute[BL_ATTRIBUTES_MAX];
    int attributes;
    bool has_source_start; /* some piece is a part of a sequence, or --sequence-slots was given */
    bool has_segment_ids;
    int64_t padded_to; /* steps: the end of the last sequence in cu_seqlens_padded is a multiple (--cp); 0: no table */
    bool pad_repeat;   /* padding repeats the step before it instead of zeros (--pad) */
    bool compressed;   /* .safetensors.zst */
    int level;         /* zstd level */
    size_t frame_size; /* maximum bytes of a frame before compression; 0: BL_FRAME_MAX */
    char plan_digest[BL_DIGEST_SIZE];
    int64_t blocks_per_shard; /* set by bl_layout_divide, or read from a manifest */
    int64_t flat_bytes;       /* bytes of the steps of all flat fields in all blocks, for bl_layout_divide alone */
};

/* The tables of a shard with n blocks. Attribute a of the format is table BL_TABLES + a: [n, S], the values of the
 * sequences; 0: unused or failed. */
enum bl_table {
    BL_TABLE_CU_SEQLENS,    /* I32 [n, S + 1] starts, then the end, repeated to the end of the row */
    BL_TABLE_NUM_SEQUENCES, /* I32 [n] places used, including failed sequences */
    BL_TABLE_SEQUENCE,      /* I64 [n, S] row of sequences.tsv; -1: unused or failed */
    BL_TABLE_LENGTH,        /* I32 [n, S] steps; 0: unused or failed */
    BL_TABLE_SOURCE_START,  /* I64 [n, S] first step within the sequence; only if some piece is a part of a sequence */
    BL_TABLE_SEGMENT_IDS,   /* I32 [n, T] from 1, 0 = padding or failed; on request */
    BL_TABLE_CU_SEQLENS_PADDED, /* I32 [n, S + 1] as CU_SEQLENS, with the end aligned; only with --cp */
    BL_TABLES,
    BL_TABLE_OWN = BL_TABLES + BL_ATTRIBUTES_MAX, /* + f: NAME_cu_seqlens I32 [n, S + 1] of own field f: starts of the
                                                     own steps, then the end, repeated to the end of the row */
    BL_TABLES_ALL = BL_TABLE_OWN + BL_FIELDS_MAX
};

/* Returns the version of a dataset or view of this format. */
int bl_format_version(const struct bl_format *format, bool is_view);

/* Checks all members except blocks_per_shard. BL_EUSAGE: the name of a field or attribute is taken, a size is out of
 * range, or an encoding does not suit the field or the compression. */
int bl_format_check(const struct bl_format *format, struct bl_error *e);

/* Returns true if a table, an attribute or a field has the name, or if the name is reserved. */
bool bl_format_has(const struct bl_format *format, const char *name);

/* Returns the sum of the bytes of one step over all fields on the common steps, before encoding. */
int64_t bl_format_step_bytes(const struct bl_format *format);

/* Sets S for plans with up to `most` sequences in a block: to slots (--sequence-slots) or, if slots is 0, to the
 * minimum. With slots, shards always have the table source_start, so that all datasets with the same slots have the
 * same tables. BL_EUSAGE: slots is less than `most`, or more than T. */
int bl_format_set_S(struct bl_format *format, int64_t most, int64_t slots, struct bl_error *e);

/* The name of an array that readers and exports add, and that shards do not store: the number of steps that each piece
 * repeats, if the plan has an overlap. */
#define BL_REPEATED_NAME "repeated"

/* Checks that no tensor is called BL_REPEATED_NAME if overlap is not 0. BL_EUSAGE: one is. */
int bl_format_check_overlap(const struct bl_format *format, int64_t overlap, struct bl_error *e);

/* Checks that each field with a cost is a field of the format, or T. BL_EUSAGE. */
int bl_format_check_cost(const struct bl_format *format, const struct bl_plan_cost *cost, struct bl_error *e);

/* Returns true if `source` has the fields of `view`: in the same order, with the same names, types, shapes and kinds of
 * encoding. A field with steps of its own may be missing in the source, or have another place. map: [view's fields] the
 * number of each field in the source; -1: missing. */
bool bl_format_map_fields(const struct bl_format *view, const struct bl_format *source, int map[BL_FIELDS_MAX]);

/* Returns true if at least one field has the encoding. */
bool bl_format_encodes(const struct bl_format *format, enum bl_encoding_kind kind);

/* Returns the steps of a block of field f: T, or the capacity of an own field. */
int64_t bl_format_steps(const struct bl_format *format, int f);

/* Returns the bytes of one block of field f before encoding; of a flat field, the most. */
size_t bl_format_block_bytes(const struct bl_format *format, int f);

/* Returns the maximum bytes of a frame before compression. */
size_t bl_format_frame_size(const struct bl_format *format);

/* These return the number of shards, the first block of a shard, and its number of blocks. */
int64_t bl_format_shards(const struct bl_format *format);
int64_t bl_format_first_block(const struct bl_format *format, int64_t shard);
int64_t bl_format_blocks_of(const struct bl_format *format, int64_t shard);

/* Formats the path of a shard relative to the dataset's directory: "shards/00000/shard-00000000.safetensors", with
 * ".zst" added if shards are compressed. Returns out. */
#define BL_SHARDS_PER_FOLDER 1000
#define BL_SHARD_NAME_MAX 96
char *bl_format_shard_name(const struct bl_format *format, int64_t shard, char out[BL_SHARD_NAME_MAX]);

/* These return the name and the type of a table (enum bl_table), of an attribute (BL_TABLES + its number) or of the
 * places of an own field (BL_TABLE_OWN + its number). A composed name is written to out. */
const char *bl_format_table_name(const struct bl_format *format, int table, char out[BL_TENSOR_NAME_MAX]);
enum bl_dtype bl_format_table_dtype(const struct bl_format *format, int table);

/* Returns how many numbers a table or attribute has for each block. BL_TABLE_NUM_SEQUENCES has 1, and one dimension
 * less than the other tables. */
int64_t bl_format_table_width(const struct bl_format *format, int table);

/* Returns true if the shards have the table. */
bool bl_format_has_table(const struct bl_format *format, int table);

/* --- layout ------------------------------------------------------------------------------------------------------- */

/* The layout of a shard: its tensors, their offsets and its header. */

/* A tensor of a shard: a table, a field, or offsets: of the steps of a JPEG field, or of the blocks of a flat field. */
struct bl_shard_tensor {
    struct bl_tensor tensor;
    int table;          /* enum bl_table, BL_TABLES + attribute, BL_TABLE_OWN + field, or -1 */
    int field;          /* index into the format's fields, or -1 */
    bool offsets;       /* I64 [n, T + 1]: the offset of each step in the tensor of the JPEG files; or, of a flat field,
                           I64 [n + 1]: the steps before each block */
    bool varies;        /* the tensor of the JPEG files, U8 [bytes], whose size is known when all steps are encoded */
    bool flat;          /* [steps, ...] of a flat field, whose blocks have different sizes, or its offsets */
    int64_t row_bytes;  /* bytes of one block; 0 if blocks have different sizes */
    int64_t step_bytes; /* of a flat field */
};

#define BL_TENSORS_MAX (BL_TABLES_ALL + 2 * BL_FIELDS_MAX)

/* Every byte of a shard except the data. The data begins at header.size. */
struct bl_layout {
    int64_t first_block, blocks;
    int tensors;
    struct bl_shard_tensor tensor[BL_TENSORS_MAX]; /* in file order */
    int64_t *steps[BL_FIELDS_MAX]; /* of flat fields: [blocks + 1] steps before each block. Owned; NULL: not set */
    struct bl_buffer header;       /* all bytes before the data */
    int64_t file_size;             /* before compression */
};

/* Makes the layout of a shard. Tensors of JPEG files and of flat fields get the size 0 until bl_layout_resolve sets it.
 * The header has room for the digits of their sizes, so that its size stays. Tensors of JPEG files are the last ones in
 * the file, so that all other offsets stay valid when their sizes are set. Free the layout with bl_layout_free. */
int bl_layout_make(struct bl_layout *layout, const struct bl_format *format, int64_t shard, struct bl_error *e);

/* Sets the sizes of tensors whose size varies: by field, the bytes of JPEG files, or the steps of a flat field, unless
 * bl_layout_set_steps was called for the field. BL_EUSAGE: a size is out of range. */
int bl_layout_resolve(struct bl_layout *layout, const struct bl_format *format, const int64_t size[BL_FIELDS_MAX],
                      struct bl_error *e);

/* Takes the steps before each block of flat field f, [blocks + 1], which the layout then owns. BL_EDATA: they do not
 * begin with 0, decrease, or a block has more than its capacity. */
int bl_layout_set_steps(struct bl_layout *layout, const struct bl_format *format, int f, int64_t *steps,
                        struct bl_error *e);
void bl_layout_free(struct bl_layout *layout);

/* These return the tensor of a table, of the steps of a field, or of their offsets; NULL: the shard has none. */
const struct bl_shard_tensor *bl_layout_table(const struct bl_layout *layout, int table);
const struct bl_shard_tensor *bl_layout_field(const struct bl_layout *layout, int field);
const struct bl_shard_tensor *bl_layout_offsets(const struct bl_layout *layout, int field);

/* Returns the offset, in the uncompressed file, of the data of block first_block + row in a tensor. */
int64_t bl_layout_offset(const struct bl_layout *layout, const struct bl_shard_tensor *tensor, int64_t row);

/* Returns the bytes of this block in a tensor. */
int64_t bl_layout_block_bytes(const struct bl_layout *layout, const struct bl_shard_tensor *tensor, int64_t row);

/* Checks the format (bl_format_check) and sets blocks_per_shard to the number of blocks that fit into shard_size bytes
 * before compression and encoding, at least 1. */
int bl_layout_divide(struct bl_format *format, int64_t shard_size, struct bl_error *e);

#endif
