/* The lines that name the faults of rows: of each file only the first, the others are counted. */
#ifndef BL_FAULT_LINES_H
#define BL_FAULT_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "kind/row.h"

/* Zero it before the first line. */
struct bl_fault_lines {
    int64_t empty;               /* printed rows that have no fault and no steps */
    struct bl_buffer path;       /* of the file whose faults were printed last */
    int64_t printed, suppressed; /* faults printed of that file; faults not printed, in total */
    bool damage_printed;         /* that this file is damaged */
};

/* Prints a fault of a row: "skipped a.mp4: empty file". Prints only the first ten empty rows, and the first ten faults
 * of each file. */
void bl_fault_lines_print(struct bl_fault_lines *faults, const struct bl_row *row);

/* Prints "1,234 empty documents skipped", and the number of faults that neither this module nor the scan printed, if
 * any. */
void bl_fault_lines_print_rest(const struct bl_fault_lines *faults, int64_t empty, int64_t suppressed);

void bl_fault_lines_free(struct bl_fault_lines *faults);

#endif
