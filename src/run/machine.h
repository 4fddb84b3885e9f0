/* The machine: how many processors and how much memory this process may use. The affinity and the control groups
 * (limits of a container or a batch job) may allow less than the machine has. */
#ifndef BL_MACHINE_H
#define BL_MACHINE_H

#include <stdint.h>

/* Returns the number of usable processors, at least 1. */
int bl_machine_processors(void);

/* Returns the usable memory in bytes. */
int64_t bl_machine_memory(void);

/* Returns the lowest limit that a control group sets for this process, or INT64_MAX. root: prefix of /proc and /sys, ""
 * outside tests. Memory in bytes, processors in thousandths. */
int64_t bl_machine_group_memory(const char *root);
int64_t bl_machine_group_processors(const char *root);

#endif
