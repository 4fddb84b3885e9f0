/* Finds sequences of a dataset or a view by id, and the places of their pieces: block, step, shard and training step.
 */
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

/* Finds the sequences with these ids, which are given as they are or with the escapes of sequences.tsv. row: [count]
 * set to the row of each id; -1: there is no such sequence. Reads rows until all ids are found. BL_ECANCEL: cancelled.
 */
int bl_sequence_ids_find(struct bl_view *view, const char *const *id, size_t count, const struct bl_cancel *cancel,
                         int64_t *row, struct bl_error *e);

/* Sets the error BL_EUSAGE for an id that was not found. The message suggests a similar id, or the same id with the
 * name of a source before it. */
int bl_sequence_id_refuse(struct bl_view *view, const char *id, const struct bl_cancel *cancel, struct bl_error *e);

/* Finds one sequence by its id. BL_EUSAGE: there is no such sequence; the message is that of bl_sequence_id_refuse. */
int bl_sequence_id_find(struct bl_view *view, const char *id, const struct bl_cancel *cancel, int64_t *row,
                        struct bl_error *e);

/* --- places of sequences ------------------------------------------------------------------------------------------ */

/* Finds the block of an epoch that holds a sequence, the steps within the block, the shard that stores it, and the
 * training step and rank that read it. */

/* A piece of a sequence in a block, and one reading of it. */
struct bl_found {
    size_t subject;        /* bl_find_rows: index of the row in its argument; bl_find_step: index of the block, rank *
                              batch_size + place */
    int64_t row, block;    /* block of the epoch */
    int64_t start, length; /* steps within the block */
    int64_t source_start;  /* its first step within the sequence */
    bool is_read;          /* a training run is given, and it reads the block; then reading is set */
    struct bl_reading reading;
};

struct bl_find {
    struct bl_view *view;               /* not owned */
    const struct bl_training *training; /* not owned; NULL: none, and the first plan is used */
    const struct bl_cancel *cancel;
    struct bl_training_order order;
    int64_t plan; /* the epoch whose plan is read; 0 with a window, which exchanges pieces of the stored plan */
    uint32_t *group, *bundle; /* [rows] from bl_window_groups, or NULL */
    struct bl_found *found;   /* [count]; bl_find_rows sorts them by subject, source_start, block, start and training
                                 step, bl_find_step by subject and start */
    size_t count, capacity;
};

/* Prepares a search, and selects the plan of the training's epoch in the view. training may be NULL. The error codes
 * are those of bl_training_order_make and bl_view_set_epoch. Free with bl_find_free in any case. */
int bl_find_begin(struct bl_find *find, struct bl_view *view, const struct bl_training *training,
                  const struct bl_cancel *cancel, struct bl_error *e);

/* Finds all pieces of `count` rows, which must exist. BL_EUSAGE: a row is given twice. */
int bl_find_rows(struct bl_find *find, const int64_t *row, size_t count, struct bl_error *e);

/* Finds all pieces that all ranks read in a training step. BL_EUSAGE: the epoch has no such step. */
int bl_find_step(struct bl_find *find, int64_t step, struct bl_error *e);

void bl_find_free(struct bl_find *find);

/* Appends the paths of the shards that store the piece, separated by commas. */
int bl_find_append_shards(const struct bl_find *find, const struct bl_found *found, struct bl_buffer *out,
                          struct bl_error *e);

/* Appends a piece as a line of JSON. found->block -1: no block holds the row. text: the decoded text of the piece in
 * UTF-8, or NULL. */
int bl_find_append_json(const struct bl_find *find, const struct bl_found *found, const char *text,
                        struct bl_buffer *out, struct bl_error *e);

#endif
