/* Compares contents: checks that the inputs are still those of a table, and whether two sequences have the same
 * content. */
#ifndef BL_COMPARE_H
#define BL_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "kind/row.h"
#include "scan/files.h"
#include "store/sequences.h"

/* --- inputs and their table --------------------------------------------------------------------------------------- */

/* Whether the inputs are still those that a table was made from, before a run resumes or a dataset is called
 * complete. */

struct bl_compare {
    const struct bl_files *files; /* the inputs; NULL: the files of the table's ok rows */
    const char *base;             /* directory that relative paths count from, or NULL */
    const struct bl_kind *kind;
    const void *config; /* of that kind */
    const struct bl_sequences *table;
    int workers; /* many files are checked at once: a file system may take long for each */
    struct bl_cancel *cancel;
};

/* Names, order, sizes and contents of the files against the table's rows (a file has one row or many). BL_EDATA names
 * the first file that is new, gone, of another size or of other bytes; BL_EFAIL, BL_ECANCEL. */
int bl_compare_run(const struct bl_compare *compare, struct bl_error *e);

/* --- sequences with the same content ------------------------------------------------------------------------------ */

/* Sequences with the same content: candidates have equal digests in the table, and are then compared in full. */

/* Returns a hash that is equal for all rows that may have the same content. */
uint64_t bl_same_content_hash(const struct bl_row *row);

/* Returns whether the content of the row is the digest of one document of many in a file. */
bool bl_same_content_is_document(const struct bl_row *row);

/* Compares the content of two rows: the same part of files with the same bytes, or of folders whose files have the same
 * names and bytes; hidden files do not count. Documents within files are equal if their digests, which are of all their
 * bytes, and their lengths are. Relative paths count from base, if it is not NULL. BL_EFAIL: a file cannot be read.
 * cancel may be NULL. */
int bl_same_content(const struct bl_row *a, const struct bl_row *b, const char *base, const struct bl_cancel *cancel,
                    bool *same, struct bl_error *e);

#endif
