/* Joins a table of sequences with attributes, and excludes rows of it. */
#ifndef BL_JOIN_H
#define BL_JOIN_H

#include "base/output.h"
#include "scan/attributes.h"
#include "scan/exclusion.h"
#include "scan/progress.h"
#include "store/sequences.h"

/* Writes the table in the file at path, with the attributes (or NULL) as its last columns, and excluded rows (or NULL)
 * as dropped. Columns that it has already must hold the same values: else BL_EUSAGE, naming the first row that differs.
 * Rows without attributes become skipped ones and are reported. */
int bl_join_run(const char *path, struct bl_attributes *attributes, struct bl_exclusion *exclusion,
                struct bl_output *out, bl_scan_fault *fault, void *sink, struct bl_error *e);

#endif
