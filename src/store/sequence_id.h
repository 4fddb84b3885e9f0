/* Finding sequences of a dataset or view by their ids. */
#ifndef BL_SEQUENCE_ID_H
#define BL_SEQUENCE_ID_H

#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "store/view.h"

/* The rows of the sequences with these ids, as they are or as sequences.tsv has them, with escapes; -1: there is none.
 * Rows are read until all are found. */
int bl_sequence_ids_find(struct bl_view *view, const char *const *id, size_t count, const struct bl_cancel *cancel,
                         int64_t *row, struct bl_error *e);

/* Refuses an id that was not found: BL_EUSAGE names a similar id, or that which has the name of a source before it. */
int bl_sequence_id_refuse(struct bl_view *view, const char *id, const struct bl_cancel *cancel, struct bl_error *e);

/* The row of the sequence with this id, which is refused if there is none. */
int bl_sequence_id_find(struct bl_view *view, const char *id, const struct bl_cancel *cancel, int64_t *row,
                        struct bl_error *e);

#endif
