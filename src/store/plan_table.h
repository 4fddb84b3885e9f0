/* plan.tsv: a plan as a table with the columns block, sequence, start, length and source_start. The table has one row
 * per piece, ordered by block, then by start. An empty block, which makes the number of blocks a multiple of the ranks,
 * has one row with the sequence -1 and 0 in the columns after it. Each field with steps of its own adds the columns
 * NAME.start and NAME.length. */
#ifndef BL_PLAN_TABLE_H
#define BL_PLAN_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "plan/plan.h"

#define BL_PLAN_TABLE_HEADER "block\tsequence\tstart\tlength\tsource_start\n"

/* Writes a plan. length: the lengths of the sequences that the plan was made from. */
int bl_plan_table_write(struct bl_output *out, const struct bl_plan *plan, const int64_t *length, struct bl_error *e);

/* Reads a plan for blocks of T steps over `count` sequences of these lengths, and checks all of it. align: the
 * alignment of the starts; 0: any. overlap: see struct bl_plan. own: the fields with steps of their own, whose columns
 * the table must have. Messages name file and line, or block and sequence. BL_EUSAGE: the plan is valid, but has
 * another alignment. Free the plan with bl_plan_free. */
int bl_plan_table_read(struct bl_plan *plan, const char *path, int64_t T, int64_t align, int64_t overlap,
                       const struct bl_plan_own *own, const int64_t *length, size_t count, struct bl_error *e);

#endif
