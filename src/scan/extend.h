/* Datasets that a new one extends (--extend): what one of them stores already, under the same id and with the same
 * content, is not packed again.
 *
 * Only what is stored counts: sequences that were skipped, failed or dropped there are not held. Memory: up to 50 bytes
 * for each row of theirs. */
#ifndef BL_EXTEND_H
#define BL_EXTEND_H

#include "base/buffer.h"
#include "base/cancel.h"
#include "kind/row.h"
#include "scan/selection.h"
#include "store/row_reader.h"
#include "store/sequences.h"

/* Rows of a kind, and the ids of the first. */
struct bl_extend_rows {
    int64_t count;
    struct bl_buffer ids;
};

/* What became of the rows of a dataset. */
struct bl_extend_found {
    int64_t held;
    struct bl_extend_rows changed;  /* the new table has other content under their ids */
    struct bl_extend_rows vanished; /* the new table does not have their ids */
};

/* Begin with {0}, end with bl_extend_close. */
struct bl_extend {
    const struct bl_subset_options *options; /* or NULL */
    struct bl_sequences table;               /* of all datasets, one after the other */
    struct bl_hash ids;
    uint64_t *content; /* [table.count] a hash of id and content, 0: not stored; the lowest bit: the id was looked up */
    struct bl_extend_found *found; /* [count] */
    int count;                     /* of datasets */
    int64_t no_content;            /* held rows without a digest */
    struct bl_row_reader text;
};

/* Checks that each is a finished dataset with shards of its own, of that kind unless kind is NULL. BL_EUSAGE. */
int bl_extend_check(const struct bl_subset_options *options, const char *kind, struct bl_error *e);

/* Appends a line of the identity for each: its name, and the checksum of its table by its manifest. */
int bl_extend_identify(const struct bl_subset_options *options, struct bl_buffer *lines, struct bl_error *e);

/* Reads the tables of the datasets. kind and cancel may be NULL. BL_EUSAGE as bl_extend_check; BL_EFAIL: a table is not
 * that of its manifest. */
int bl_extend_open(struct bl_extend *extend, const struct bl_subset_options *options, const char *kind,
                   const struct bl_cancel *cancel, struct bl_error *e);

/* The same of the tables of count datasets, whatever their kinds, without a check. */
int bl_extend_open_tables(struct bl_extend *extend, const char *const *path, int count, const struct bl_cancel *cancel,
                          struct bl_error *e);
void bl_extend_close(struct bl_extend *extend);

/* Looks a row of the new table up, usable or not. *dataset: the number of one that holds it, or -1. */
int bl_extend_find(struct bl_extend *extend, const struct bl_row *row, int *dataset, struct bl_error *e);

/* Call after all rows are looked up. Appends lines: what each dataset holds, what has changed since, what has
 * vanished. */
int bl_extend_note(struct bl_extend *extend, struct bl_buffer *notes, struct bl_error *e);

#endif
