/* Whether the inputs are still those that a table was made from: a run goes on, or a dataset is called complete, only
 * then. */
#ifndef BL_COMPARE_H
#define BL_COMPARE_H

#include "scan/sources.h"
#include "store/sequences.h"

/* Names, order, sizes and contents of the files against the table's rows (a file has one row or many). BL_EFAIL names
 * the first file that is new, gone, of another size or of other bytes. */
int bl_scan_compare(const struct bl_files *files, const char *base, const struct bl_kind *kind, const void *config,
                    const struct bl_sequences *table, struct bl_error *e);

#endif
