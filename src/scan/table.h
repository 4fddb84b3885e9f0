/* A table of sequences that is there already, joined with attributes. */
#ifndef BL_TABLE_H
#define BL_TABLE_H

#include "base/io.h"
#include "scan/attributes.h"
#include "scan/scan.h"

/* Writes the table in the file at path with the attributes behind its other columns. Columns that it has already must
 * say the same: else BL_EUSAGE, naming the first row that differs. Rows that are skipped now, as nothing can be joined
 * to them, are told to fault. */
int bl_table_join(const char *path, struct bl_attributes *attributes, struct bl_output *out, bl_scan_fault *fault,
                  void *sink, struct bl_error *e);

#endif
