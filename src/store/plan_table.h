/* plan.tsv: block sequence start length source_start, one row per piece, ordered by block, then start. An empty block,
 * added to make the number of blocks a multiple of the ranks', has one row: sequence -1, the rest 0. */
#ifndef BL_PLAN_TABLE_H
#define BL_PLAN_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "plan/plan.h"

#define BL_PLAN_TABLE_HEADER "block\tsequence\tstart\tlength\tsource_start\n"

/* Writes a plan. length: what it was made from. */
int bl_plan_table_write(struct bl_output *out, const struct bl_plan *plan, const int64_t *length, struct bl_error *e);

/* Reads a plan over count sequences of these lengths for blocks of T steps with the alignment align (0: any), and
 * checks it completely; overlap: as in struct bl_plan. Errors name file and line, or block and sequence. BL_EUSAGE: it
 * is valid, but of another alignment. Free with bl_plan_free. */
int bl_plan_table_read(struct bl_plan *plan, const char *path, int64_t T, int64_t align, int64_t overlap,
                       const int64_t *length, size_t count, struct bl_error *e);

#endif
