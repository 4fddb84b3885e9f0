/* A block in memory: the tables of one block as shards have them, and its fields. */
#ifndef BL_BLOCK_H
#define BL_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/plan.h"
#include "store/format.h"
#include "store/attribute_values.h"

struct bl_block {
    int64_t index; /* in the dataset, from 0 */
    int32_t num_sequences;
    int32_t *cu_seqlens;           /* [S + 1] */
    int64_t *sequence;             /* [S] */
    int32_t *length;               /* [S] */
    int64_t *source_start;         /* [S], all zero when no sequence was cut */
    uint8_t *field[BL_FIELDS_MAX]; /* T * bl_field_step_bytes each, aligned for its dtype; NULL: made without fields */
    uint8_t *room[BL_FIELDS_MAX];  /* page-aligned, and a page longer than the field that lies in it */
    void *memory;                  /* that all of these lie in */
    const struct bl_attribute_values *values; /* of the attributes, somebody else's; NULL while the format has none */
};

/* Bytes that bl_block_make allocates. */
size_t bl_block_memory(const struct bl_format *format, bool with_fields);

/* Allocates a block of that format, all zero. Free with bl_block_free. */
int bl_block_make(struct bl_block *block, const struct bl_format *format, bool with_fields, struct bl_error *e);
void bl_block_free(struct bl_block *block);

/* Sets index and tables of block b as planned; fields stay as they are. length is what the plan was made from. */
void bl_block_plan(struct bl_block *block, const struct bl_format *format, const struct bl_plan *plan,
                   const int64_t *length, int64_t b);

/* Moves field f so that it lies in its page of memory as offset lies in its page of a file. What it held is lost. */
void bl_block_place(struct bl_block *block, int f, int64_t offset);

/* Marks the piece in place i as failed: sequence -1, length 0, source_start 0, and zeros in its steps of every field.
 * Its boundaries in cu_seqlens stay. */
void bl_block_fail(struct bl_block *block, const struct bl_format *format, int i);

/* What a step of a block holds. */
enum bl_step {
    BL_STEP_EMPTY,  /* zeros: where a sequence failed, or padding */
    BL_STEP_OWN,    /* a step of a sequence */
    BL_STEP_REPEAT, /* padding that repeats the step before it, whatever that is */
};

/* Says it of each of the T steps. repeat: padding repeats the last step, if there is one. */
void bl_block_steps(const struct bl_block *block, const struct bl_format *format, bool repeat, uint8_t *out);

/* Segment ids of the block: T values, from 1 in order of places, 0 where padding is and where a sequence failed. */
void bl_block_segment_ids(const struct bl_block *block, const struct bl_format *format, int32_t *out);

/* Attribute a of the sequences that lie in the block, [S]: 0 where a place is unused, or its sequence failed. */
void bl_block_attribute(const struct bl_block *block, const struct bl_format *format, int a, int64_t *out);

#endif
