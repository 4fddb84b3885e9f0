/* Summaries of a plan and of a finished dataset, for people. */
#ifndef BL_SUMMARY_H
#define BL_SUMMARY_H

#include "base/buffer.h"
#include "kind/row.h"
#include "packing/packing.h"
#include "plan/plan.h"
#include "run/finish.h"
#include "store/plan_info.h"

/* Prints a few lines on stderr: blocks, bound and gap, padding and the cost of naive padding, deleted and cut steps. */
void bl_summary_plan(const struct bl_plan *plan, const struct bl_plan_info *plan_info);

/* Prints "dataset: 12 shards, 3.1 GB; 4,567 frames/s". steps: the plural for steps; NULL: no rate is printed. */
void bl_summary_dataset(const char *dir, const struct bl_format *format, const struct bl_finished *finished,
                        int64_t rate, const char *steps);

/* Prints "1 input skipped, 2 damaged: see sequences.tsv", if there are any. */
void bl_summary_faults(const struct bl_fault_counts *counts, const char *path);

/* Prints how many of the plans put the same sequences together as an earlier one, if any, and why.
 * is_kept: their order is. */
void bl_summary_repeated(int64_t repeated, int64_t plans, bool is_kept);

/* Prints how many sequences were left out by request, for each option that did so. */
void bl_summary_left_out(const struct bl_left_out_counts *counts);

/* Prints the lines of a text, if it is not NULL. */
void bl_summary_notes(const struct bl_buffer *notes);

/* Reports that a dataset is complete. faults, or NULL: why the exit status is 3 nevertheless. */
void bl_summary_complete(const char *dir, const struct bl_fault_counts *faults);

/* Reports inputs that were unusable or only partly usable, where they are listed, and their fields and steps, if there
 * are any. */
void bl_summary_finished(const struct bl_finished *finished, const char *dir);

/* Prints how many sequences have a field that was adjusted to their length, if any. */
void bl_summary_adjusted(int64_t adjusted);

/* Prints the sums of columns over the usable sequences. */
void bl_summary_totals(const struct bl_totals *totals);

#endif
