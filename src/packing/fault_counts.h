/* How many inputs were unusable or only partly usable, in words: the reason of exit status 3. */
#ifndef BL_FAULT_COUNTS_H
#define BL_FAULT_COUNTS_H

#include "base/buffer.h"
#include "store/sequences.h"

struct bl_fault_counts {
    int64_t skipped, failed, damaged;
    int64_t failed_steps; /* of failed inputs, zeros in the blocks; 0: unknown */
};

/* Counts the faults of a table. */
struct bl_fault_counts bl_fault_counts_of(const struct bl_sequences *table);

/* Appends "2 inputs skipped, 1 failed (20 steps are zeros), 3 damaged", without counts of 0. */
void bl_fault_counts_append(struct bl_buffer *out, const struct bl_fault_counts *counts);

#endif
