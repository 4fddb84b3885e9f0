/* The format of shards: their tables, and the layout of a file. Nothing here depends on the contents of a dataset.
 *
 * The number of shards, their names and, for each one, its tensors, their offsets and its header to the byte follow
 * from the format. So workers write at computed offsets, and a finished shard is recognised by its size and header.
 *
 * The tables of a shard lie in the same file as its steps: a file is consistent in itself, and stock loaders read
 * both. Its checksum is XXH3 over the checksums of regions, so that nothing is read twice, and each region can be
 * checked alone. */
#ifndef BL_FORMAT_H
#define BL_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/error.h"
#include "kind/row.h"
#include "store/encoding.h"
#include "store/safetensors.h"

/* --- format ------------------------------------------------------------------------------------------------------- */

#define BL_FORMAT_VERSION 1
#define BL_FORMAT_VIEW 2 /* of the manifest of a view, which older versions cannot read */

#define BL_ATTRIBUTES_MAX 64
#define BL_FRAME_MAX ((size_t)64 << 20) /* most bytes of the content of a compressed shard's frame */

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
    bool has_source_start; /* some piece is not a whole sequence, or --sequence-slots was given */
    bool has_segment_ids;
    bool pad_repeat;   /* padding repeats the step before it instead of zeros (--pad) */
    bool compressed;   /* .safetensors.zst */
    int level;         /* zstd level */
    size_t frame_size; /* most bytes of a frame's content; 0: BL_FRAME_MAX */
    char plan_digest[BL_DIGEST_SIZE];
    int64_t blocks_per_shard; /* set by bl_layout_divide, or read from a manifest */
};

/* The tables that every shard has for its n blocks, beside the fields. Attribute a of the format is table BL_TABLES +
 * a: [n, S], the sequence's value; 0: unused or failed. */
enum bl_table {
    BL_TABLE_CU_SEQLENS,    /* I32 [n, S + 1] starts, then the end, repeated to the end of the row */
    BL_TABLE_NUM_SEQUENCES, /* I32 [n] places used, including failed sequences */
    BL_TABLE_SEQUENCE,      /* I64 [n, S] row of sequences.tsv; -1: unused or failed */
    BL_TABLE_LENGTH,        /* I32 [n, S] steps; 0: unused or failed */
    BL_TABLE_SOURCE_START,  /* I64 [n, S] first step within the sequence; only when some piece is not a whole one */
    BL_TABLE_SEGMENT_IDS,   /* I32 [n, T] from 1, 0 = padding or failed; on request */
    BL_TABLES,
    BL_TABLES_ALL = BL_TABLES + BL_ATTRIBUTES_MAX
};

/* Checks all members but blocks_per_shard. BL_EUSAGE: the name of a field or attribute is taken, a size is out of
 * range, or an encoding does not suit the field or the compression. */
int bl_format_check(const struct bl_format *format, struct bl_error *e);

/* Whether a table, attribute or field has the name, or no tensor may have it. */
bool bl_format_has(const struct bl_format *format, const char *name);

/* Bytes of a step of all fields. */
int64_t bl_format_step_bytes(const struct bl_format *format);

/* Sets S for plans with up to `most` sequences in a block: slots or, if 0, no more than they need. With slots, blocks
 * have source_start, so that all datasets with as many have the same tables. BL_EUSAGE: slots are too few, or more than
 * T. */
int bl_format_set_S(struct bl_format *format, int64_t most, int64_t slots, struct bl_error *e);

/* Of an array of readers and exports, which is no table: the steps that pieces repeat, if there is an overlap. */
#define BL_REPEATED_NAME "repeated"

/* Checks that the name is free if there is an overlap. BL_EUSAGE. */
int bl_format_check_overlap(const struct bl_format *format, int64_t overlap, struct bl_error *e);

/* Whether both have the same fields in the same order: names, types, shapes of a step, and kinds of encoding. */
bool bl_format_has_same_fields(const struct bl_format *a, const struct bl_format *b);

/* Whether some field has the encoding. */
bool bl_format_encodes(const struct bl_format *format, enum bl_encoding_kind kind);

/* Bytes of one block of field f, before encoding. */
size_t bl_format_block_bytes(const struct bl_format *format, int f);

/* The most bytes of a frame's content. */
size_t bl_format_frame_size(const struct bl_format *format);

int64_t bl_format_shards(const struct bl_format *format);
int64_t bl_format_first_block(const struct bl_format *format, int64_t shard);
int64_t bl_format_blocks_of(const struct bl_format *format, int64_t shard); /* of that shard */

/* "shards/00000/shard-00000000.safetensors", with ".zst" when compressed: relative to the dataset's directory. Returns
 * out. */
#define BL_SHARDS_PER_FOLDER 1000
#define BL_SHARD_NAME_MAX 96
char *bl_format_shard_name(const struct bl_format *format, int64_t shard, char out[BL_SHARD_NAME_MAX]);

/* The name and type of a table or attribute, by enum bl_table. */
const char *bl_format_table_name(const struct bl_format *format, int table);
enum bl_dtype bl_format_table_dtype(const struct bl_format *format, int table);

/* The numbers that a table or attribute has for each block; 1 of BL_TABLE_NUM_SEQUENCES, which has one dimension less.
 */
int64_t bl_format_table_width(const struct bl_format *format, int table);

/* Whether the format's shards have the table. */
bool bl_format_has_table(const struct bl_format *format, int table);

/* --- layout ------------------------------------------------------------------------------------------------------- */

/* The layout of a shard: its tensors, their offsets and its header. */

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
