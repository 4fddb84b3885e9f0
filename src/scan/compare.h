/* Whether the inputs are still those that a table was made from, before a run resumes or a dataset is called complete.
 */
#ifndef BL_COMPARE_H
#define BL_COMPARE_H

#include "scan/files.h"
#include "store/sequences.h"

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

#endif
