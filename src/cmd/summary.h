/* What a person is told of a plan, and of a dataset that is finished. */
#ifndef BL_SUMMARY_H
#define BL_SUMMARY_H

#include "packing/fault_counts.h"
#include "plan/plan.h"
#include "run/finish.h"
#include "store/plan_info.h"

/* A few lines on stderr: blocks, bound and gap, padding and what naive padding would cost, what was deleted and cut. */
void bl_summary_plan(const struct bl_plan *plan, const struct bl_plan_info *plan_info);

/* "dataset: 12 shards, 3.1 GB; 4,567 frames/s". steps: what these are called; NULL: nothing is said of a rate. */
void bl_summary_dataset(const char *dir, const struct bl_format *format, const struct bl_finished *finished,
                        int64_t rate, const char *steps);

/* "1 input skipped, 2 damaged: see sequences.tsv"; nothing where there are none. */
void bl_summary_faults(const struct bl_fault_counts *counts, const char *path);

/* A dataset needs nothing more. faults: why the exit status is 3 all the same; or NULL. */
void bl_summary_complete(const char *dir, const struct bl_fault_counts *faults);

/* What became of inputs that could not be used, or not wholly, and of fields and steps; nothing where all is well. */
void bl_summary_finished(const struct bl_finished *finished);

#endif
