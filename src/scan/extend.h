/* Finds sequences that earlier datasets (--extend) already store under the same id and with the same content, so that
 * they are not packed again.
 *
 * A dataset holds only sequences that it stores, not those that were skipped, failed or dropped in it. Memory: up to 50
 * bytes for each row of the datasets. */
#ifndef BL_EXTEND_H
#define BL_EXTEND_H

#include "base/buffer.h"
#include "base/cancel.h"
#include "kind/row.h"
#include "scan/selection.h"
#include "store/row_reader.h"
#include "store/sequences.h"

/* A count of rows, and the ids of the first of them. */
struct bl_extend_rows {
    int64_t count;
    struct bl_buffer ids;
};

/* How the new table compares with the rows of one dataset. */
struct bl_extend_found {
    int64_t held;
    struct bl_extend_rows changed;  /* rows for whose ids the new table has other content */
    struct bl_extend_rows vanished; /* rows whose ids the new table does not have */
};

/* Initialize with {0} and free with bl_extend_close. */
struct bl_extend {
    const struct bl_subset_options *options; /* or NULL */
    struct bl_sequences table;               /* the rows of all datasets, one dataset after the other */
    struct bl_hash ids;
    uint64_t *content; /* [table.count] a hash of id and content, 0: not stored; the lowest bit: the id was looked up */
    struct bl_extend_found *found; /* [count] */
    int count;                     /* number of datasets */
    int64_t no_content;            /* held rows without a digest */
    struct bl_row_reader text;
};

/* Checks that each is a finished dataset with shards, not a view, and of that kind unless kind is NULL. Otherwise
 * BL_EUSAGE. */
int bl_extend_check(const struct bl_subset_options *options, const char *kind, struct bl_error *e);

/* Appends a line of the identity for each: its name, and the checksum of its table by its manifest. */
int bl_extend_identify(const struct bl_subset_options *options, struct bl_buffer *lines, struct bl_error *e);

/* Reads the tables of the datasets. kind and cancel may be NULL. BL_EUSAGE as bl_extend_check; BL_EFAIL: a table is not
 * that of its manifest. */
int bl_extend_open(struct bl_extend *extend, const struct bl_subset_options *options, const char *kind,
                   const struct bl_cancel *cancel, struct bl_error *e);

/* The same for the tables of count datasets of any kind, without a check. */
int bl_extend_open_tables(struct bl_extend *extend, const char *const *path, int count, const struct bl_cancel *cancel,
                          struct bl_error *e);
void bl_extend_close(struct bl_extend *extend);

/* Looks up a row of the new table, usable or not. *dataset: the number of a dataset that holds the sequence, or -1. */
int bl_extend_find(struct bl_extend *extend, const struct bl_row *row, int *dataset, struct bl_error *e);

/* Appends lines that say how many sequences each dataset holds, which have changed, and which have vanished. Call it
 * after all rows are looked up. */
int bl_extend_note(struct bl_extend *extend, struct bl_buffer *notes, struct bl_error *e);

#endif
