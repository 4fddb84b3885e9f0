/* A table of sequences that is there already, joined with attributes, and without what is to be left out. */
#ifndef BL_JOIN_H
#define BL_JOIN_H

#include "base/output.h"
#include "scan/attributes.h"
#include "scan/scan.h"
#include "store/sequences.h"

/* Writes the table in the file at path with the attributes, if any, behind its other columns, and rows that are
 * excluded, if any are, as dropped ones. Columns that it has already must say the same: else BL_EUSAGE, naming the
 * first row that differs. Rows that are skipped now, as nothing can be joined to them, are told to fault. */
int bl_join_run(const char *path, struct bl_attributes *attributes, struct bl_exclusion *exclusion,
                struct bl_output *out, bl_scan_fault *fault, void *sink, struct bl_error *e);

/* Which of the ids that are excluded the table has, where others made it. */
int bl_exclusion_match(const struct bl_sequences *table, struct bl_exclusion *exclusion, struct bl_error *e);

#endif
