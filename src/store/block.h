/* Blocks in memory, and the codec that encodes their fields.
 *
 * JPEG files are not compressed, since they do not get smaller; differences always are, since they are as large as
 * the frames. Their arrays are called NAME_jpeg and NAME_delta, not NAME, so that a stock loader cannot take encoded
 * bytes for pictures. */
#ifndef BL_BLOCK_H
#define BL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "pool/memory_budget.h"
#include "plan/plan.h"
#include "store/attribute_values.h"
#include "store/format.h"

/* --- block -------------------------------------------------------------------------------------------------------- */

/* A block has its fields, and its tables as shards have them. */

struct bl_block {
    int64_t index; /* in the dataset, from 0 */
    int32_t num_sequences;
    int32_t *cu_seqlens;            /* [S + 1] */
    int64_t *sequence;              /* [S] */
    int32_t *length;                /* [S] */
    int64_t *source_start;          /* [S], all zero when no sequence was cut */
    uint8_t *field[BL_FIELDS_MAX];  /* T * bl_field_step_bytes each, aligned for the dtype; NULL: made without fields */
    uint8_t *room[BL_FIELDS_MAX];   /* where the field may begin: up to a page behind it; page-aligned if alone */
    void *memory;                   /* the allocation that holds all of these, */
    struct bl_shared_memory shared; /* or what holds them where other processes write the fields */
    const struct bl_attribute_values *values; /* of the attributes, not owned; NULL if the format has none */
};

/* Bytes that bl_block_make allocates. */
size_t bl_block_memory(const struct bl_format *format, size_t blocks, bool with_fields);

/* Allocates blocks of that format, all zero, whose fields lie side by side as in a shard. The first one has the memory
 * of all: free that with bl_block_free. */
int bl_block_make(struct bl_block *block, size_t blocks, const struct bl_format *format, bool with_fields,
                  struct bl_error *e);

/* The same for one block with fields, in memory that other processes can map. */
int bl_block_make_shared(struct bl_block *block, const struct bl_format *format, struct bl_error *e);
void bl_block_free(struct bl_block *block);

/* Sets index and tables of block b as planned; fields are left alone. length: what the plan was made from. */
void bl_block_plan(struct bl_block *block, const struct bl_format *format, const struct bl_plan *plan,
                   const int64_t *length, int64_t b);

/* Whether the values of tables that were read are in range, so that they can be used as indices. */
bool bl_block_tables_are_sound(const struct bl_block *block, const struct bl_format *format);

/* Moves field f so that its offset within a page of memory equals that of offset within a page of a file, for direct
 * I/O. Its content is lost. */
void bl_block_place(struct bl_block *block, int f, int64_t offset);

/* Marks piece i as failed: sequence -1, length 0, source_start 0, and zeros in its steps of every field. cu_seqlens
 * keeps its boundaries. */
void bl_block_fail(struct bl_block *block, const struct bl_format *format, int i);

/* What a step of a block holds. */
enum bl_step {
    BL_STEP_EMPTY,  /* zeros: where a sequence failed, or padding */
    BL_STEP_OWN,    /* a step of a sequence */
    BL_STEP_REPEAT, /* padding that repeats the step before it */
};

/* Fills out, [T], with the enum bl_step of each step. */
void bl_block_steps(const struct bl_block *block, const struct bl_format *format, uint8_t *out);

/* Segment ids of the block, [T]: from 1 in order of pieces, 0 for padding and failed pieces. */
void bl_block_segment_ids(const struct bl_block *block, const struct bl_format *format, int32_t *out);

/* Copies what the block has of a table or attribute (enum bl_table). Attributes are 0 where a place is unused or its
 * sequence failed. */
void bl_block_copy_table(const struct bl_block *block, const struct bl_format *format, int table, void *out);

/* --- codec -------------------------------------------------------------------------------------------------------- */

/* A codec encodes the fields of blocks, as differences or as JPEG files. It is the state of one worker, reused for
 * every block. */

struct bl_codec;

/* format must outlive the codec. */
int bl_codec_open(const struct bl_format *format, struct bl_codec **out, struct bl_error *e);
void bl_codec_close(struct bl_codec *codec); /* NULL is allowed */

/* Bytes that one codec uses at most. */
size_t bl_codec_memory(const struct bl_format *format);

/* The maximum size of the JPEG files of one block of field f, in bytes. */
size_t bl_codec_max_size(const struct bl_format *format, int f);

/* Encodes JPEG field f of a block that is completely filled. *bytes holds the files one after the other until the next
 * call; that of step t goes from offsets[t] to offsets[t + 1]. offsets: [T + 1]. */
int bl_codec_encode_jpeg(struct bl_codec *codec, const struct bl_block *block, int f, int64_t *offsets,
                         const uint8_t **bytes, struct bl_error *e);

/* Checks offsets, [T + 1]: they must rise and stay within bytes. Returns the first step that is wrong, or -1. */
int64_t bl_codec_check_offsets(const struct bl_format *format, const int64_t *offsets, int64_t bytes);

#endif
