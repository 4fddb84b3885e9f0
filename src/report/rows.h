/* The rows of a table as a report needs them: sources by folder, and what is wrong with which of them. */
#ifndef BL_REPORT_ROWS_H
#define BL_REPORT_ROWS_H

#include "report/report.h"

/* Reads all rows: sets files, file_bytes and the tallies, in order. */
int bl_report_read_rows(struct bl_report *report, const struct bl_sequences *table, struct bl_error *e);

#endif
