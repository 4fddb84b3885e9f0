/* The machine: how many processors and how much memory this process may use, by its affinity and by its control groups
 * (a container's or a batch job's limits, which the machine's own figures do not show). */
#ifndef BL_MACHINE_H
#define BL_MACHINE_H

#include <stdint.h>

/* At least 1. */
int bl_machine_processors(void);

/* Bytes. */
int64_t bl_machine_memory(void);

/* The least limit that a control group of this process sets, or INT64_MAX. root: what /proc and /sys are found below,
 * "" but in tests. Memory in bytes; processors in thousandths of one. */
int64_t bl_machine_group_memory(const char *root);
int64_t bl_machine_group_processors(const char *root);

#endif
