/* Blocks in memory, and the codec that encodes their fields.
 *
 * JPEG fields are not allowed in compressed shards, because JPEG files do not get smaller. Delta fields are allowed
 * only there, because differences are as large as the pictures until zstd compresses them. The tensors of encoded
 * fields are called NAME_jpeg and NAME_delta instead of NAME, so that a stock loader cannot mistake encoded bytes for
 * pictures. */
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

/* A block in memory: the steps of its fields, and its row of each table of the shard. T and S are those of the format:
 * steps per block, and the maximum number of sequences in a block. */

struct bl_block {
    int64_t index; /* in the dataset, from 0 */
    int32_t num_sequences;
    int32_t *cu_seqlens;         /* [S + 1] first step of each piece, then the end of the last one */
    int64_t *sequence;           /* [S] row of sequences.tsv; -1: unused or failed */
    int32_t *length;             /* [S] steps; 0: unused or failed */
    int32_t *own[BL_FIELDS_MAX]; /* [S + 1] of own fields: first own step of each piece, then the end of the last one */
    int64_t *source_start;       /* [S] first step within the sequence; all zero when no sequence was cut */
    uint8_t *field[BL_FIELDS_MAX];  /* T, or the capacity of an own field, * bl_field_step_bytes each, aligned for the
                                       dtype; NULL: made without fields */
    uint8_t *room[BL_FIELDS_MAX];   /* start of the field's memory: the field begins here or less than a page later */
    void *memory;                   /* the allocation that holds all arrays above; NULL: shared holds them */
    struct bl_shared_memory shared; /* holds the arrays if other processes write the fields */
    const struct bl_attribute_values *values; /* of all rows, not owned; NULL if the format has no attributes */
};

/* Returns the number of bytes that bl_block_make allocates. */
size_t bl_block_memory(const struct bl_format *format, size_t blocks, bool with_fields);

/* Allocates consecutive blocks, all zero. For each field, the blocks lie side by side as in a shard, so that one write
 * can store several. block: [blocks]. The first block owns the memory of all of them: call bl_block_free for the first
 * one only. */
int bl_block_make(struct bl_block *block, size_t blocks, const struct bl_format *format, bool with_fields,
                  struct bl_error *e);

/* Allocates one block with fields, all zero, in memory that other processes can map. */
int bl_block_make_shared(struct bl_block *block, const struct bl_format *format, struct bl_error *e);
void bl_block_free(struct bl_block *block);

/* Sets the index and the tables of the block to those of block b of the plan. The fields keep their content. length:
 * the lengths of all sequences that the plan was made from. */
void bl_block_plan(struct bl_block *block, const struct bl_format *format, const struct bl_plan *plan,
                   const int64_t *length, int64_t b);

/* Checks tables that were read from a file: returns true if all values are in range, so that they can be used as
 * indices. */
bool bl_block_tables_are_sound(const struct bl_block *block, const struct bl_format *format);

/* Returns the place of piece i in field f. */
static inline uint8_t *bl_block_place_of(const struct bl_block *block, const struct bl_fields *fields, int f, int i)
{
    const int32_t *start = fields->field[f].own ? block->own[f] : block->cu_seqlens;
    return block->field[f] + (size_t)start[i] * bl_field_step_bytes(&fields->field[f]);
}

/* Moves the start of field f so that its position within a page of memory equals the position of `offset` within a page
 * of the file. Direct I/O requires that. The content of the field is lost. */
void bl_block_place(struct bl_block *block, int f, int64_t offset);

/* Marks piece i as failed: sequence -1, length 0, source_start 0, and zeros in its steps of every field. cu_seqlens
 * keeps its boundaries. */
void bl_block_fail(struct bl_block *block, const struct bl_format *format, int i);

/* The content of a step of a block. */
enum bl_step {
    BL_STEP_EMPTY,  /* zeros: a failed sequence, or padding */
    BL_STEP_OWN,    /* a step of a sequence */
    BL_STEP_REPEAT, /* padding that repeats the step before it */
};

/* Sets out, [T], to the enum bl_step of each step. */
void bl_block_steps(const struct bl_block *block, const struct bl_format *format, uint8_t *out);

/* Sets out, [T], to the segment ids of the block: piece i has the id i + 1; padding and failed pieces have 0. */
void bl_block_segment_ids(const struct bl_block *block, const struct bl_format *format, int32_t *out);

/* Copies the block's row of a table or an attribute to out. table: enum bl_table, or BL_TABLES + the number of an
 * attribute. The attributes of unused places and of failed sequences are 0. */
void bl_block_copy_table(const struct bl_block *block, const struct bl_format *format, int table, void *out);

/* --- codec -------------------------------------------------------------------------------------------------------- */

/* A codec encodes JPEG fields of blocks. Each worker has its own codec and reuses it for every block. */

struct bl_codec;

/* format must outlive the codec. */
int bl_codec_open(const struct bl_format *format, struct bl_codec **out, struct bl_error *e);
void bl_codec_close(struct bl_codec *codec); /* NULL is allowed */

/* Returns the maximum memory of one codec in bytes. */
size_t bl_codec_memory(const struct bl_format *format);

/* Returns the maximum size, in bytes, of all JPEG files of one block of field f. */
size_t bl_codec_max_size(const struct bl_format *format, int f);

/* Encodes JPEG field f of a block whose steps are all filled. *bytes points to the files, one after the other; the
 * codec owns them, and they are valid until the next call. The file of step t is bytes offsets[t] to offsets[t + 1] -
 * 1. offsets: [T + 1]. */
int bl_codec_encode_jpeg(struct bl_codec *codec, const struct bl_block *block, int f, int64_t *offsets,
                         const uint8_t **bytes, struct bl_error *e);

/* Checks offsets, [T + 1]: they must not decrease, and must lie between 0 and bytes. Returns the first step whose
 * offsets are wrong, or -1 if there is none. */
int64_t bl_codec_check_offsets(const struct bl_format *format, const int64_t *offsets, int64_t bytes);

#endif
