/* The lines that name the faults of rows: of each file, and in all, only the first; the others are counted. */
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
    int64_t damages, faults;     /* printed in total: of damaged files, and others */
    bool is_told;                /* how many were not printed */
};

/* Prints a fault of a row: "skipped a.mp4: empty file". Prints only the first ten empty rows, and the first ten faults
 * of each file, and no more than a hundred in all. */
void bl_fault_lines_print(struct bl_fault_lines *faults, const struct bl_row *row);

/* Prints the number of faults that neither this module nor the scan (suppressed) printed, if any, and which table has
 * them: "15 more faults: see d/sequences.tsv". Does nothing the second time. table NULL: none was written. */
void bl_fault_lines_print_rest(struct bl_fault_lines *faults, int64_t suppressed, const char *table);

/* The same with the table of a dataset: as far as it is, the finished or the unfinished one. */
void bl_fault_lines_print_rest_of(struct bl_fault_lines *faults, int64_t suppressed, const char *dir);

/* Prints "1,234 empty documents skipped", if there are any. */
void bl_fault_lines_print_empty(int64_t empty);

void bl_fault_lines_free(struct bl_fault_lines *faults);

#endif
