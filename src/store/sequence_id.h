/* Finding a sequence of a dataset or view by its id. */
#ifndef BL_SEQUENCE_ID_H
#define BL_SEQUENCE_ID_H

#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "store/view.h"

/* The row of the sequence with this id, as it is or as sequences.tsv has it, with escapes. All rows are read until it
 * is found. BL_EUSAGE: there is none; a similar id, or that which has the name of a source before it, is named. */
int bl_sequence_id_find(struct bl_view *view, const char *id, const struct bl_cancel *cancel, int64_t *row,
                        struct bl_error *e);

#endif
