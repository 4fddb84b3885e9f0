/* Sequences of a dataset or a view: the search for their ids, and the places of their pieces. */
#ifndef BL_FIND_H
#define BL_FIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "store/training_order.h"
#include "store/view.h"

/* --- sequence ids ------------------------------------------------------------------------------------------------- */

/* Finding sequences of a dataset or view by their ids. */

/* The rows of the sequences with these ids, as they are or as sequences.tsv has them, with escapes; -1: there is none.
 * Rows are read until all are found. */
int bl_sequence_ids_find(struct bl_view *view, const char *const *id, size_t count, const struct bl_cancel *cancel,
                         int64_t *row, struct bl_error *e);

/* Refuses an id that was not found: BL_EUSAGE names a similar id, or that which has the name of a source before it. */
int bl_sequence_id_refuse(struct bl_view *view, const char *id, const struct bl_cancel *cancel, struct bl_error *e);

/* The row of the sequence with this id, which is refused if there is none. */
int bl_sequence_id_find(struct bl_view *view, const char *id, const struct bl_cancel *cancel, int64_t *row,
                        struct bl_error *e);

/* --- places of sequences ------------------------------------------------------------------------------------------ */

/* In which block of an epoch a sequence lies, from which step on, in which shard; and when a training run reads it. */

/* A piece of a sequence in a block, and one reading of it. */
struct bl_found {
    size_t subject;        /* which of the rows that were looked for; of a step: which of its blocks */
    int64_t row, block;    /* block of the epoch */
    int64_t start, length; /* steps within the block */
    int64_t source_start;  /* its first step within the sequence */
    bool is_read;          /* in a training run: it is */
    struct bl_reading reading;
};

struct bl_find {
    struct bl_view *view;               /* not owned */
    const struct bl_training *training; /* NULL: none; the first plan */
    const struct bl_cancel *cancel;
    struct bl_training_order order;
    int64_t plan;           /* the epoch whose plan is read; with a window the pieces are those of the stored plan, 0 */
    uint32_t *group;        /* of windows, or NULL */
    struct bl_found *found; /* [count] by subject, then by source_start, block and step; of a step: by start */
    size_t count, capacity;
};

/* Opens the plan of the training's epoch. Errors as of bl_training_order_make. Free with bl_find_free in any case. */
int bl_find_begin(struct bl_find *find, struct bl_view *view, const struct bl_training *training,
                  const struct bl_cancel *cancel, struct bl_error *e);

/* Finds all pieces of rows, [count] of them, none below 0, each once (else BL_EUSAGE). */
int bl_find_rows(struct bl_find *find, const int64_t *row, size_t count, struct bl_error *e);

/* Finds all pieces that the ranks read in a step. BL_EUSAGE: the epoch has no such step. */
int bl_find_step(struct bl_find *find, int64_t step, struct bl_error *e);

void bl_find_free(struct bl_find *find);

/* Appends the paths of the shards that store the piece, one after the other, with commas between. */
int bl_find_append_shards(const struct bl_find *find, const struct bl_found *found, struct bl_buffer *out,
                          struct bl_error *e);

/* Appends a line of JSON. found->block -1: the row is in no block. text: of the piece, UTF-8, or NULL. */
int bl_find_append_json(const struct bl_find *find, const struct bl_found *found, const char *text,
                        struct bl_buffer *out, struct bl_error *e);

#endif
