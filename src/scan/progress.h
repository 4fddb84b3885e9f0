/* How far a scan has come, and what it reports on the way. */
#ifndef BL_SCAN_PROGRESS_H
#define BL_SCAN_PROGRESS_H

#include "kind/kind.h"

/* Called for each row that is skipped or damaged, in order, on the caller's thread. A code other than BL_OK stops the
 * scan. */
typedef int bl_scan_fault(void *sink, const struct bl_row *row, struct bl_error *e);

struct bl_scan_progress {
    int64_t files, rows, steps;
    int64_t skipped, damaged; /* rows */
    int64_t excluded;         /* rows: --exclude */
    int64_t empty;            /* skipped rows without a fault */
    int64_t adjusted;         /* rows with a field that was brought to their length */
    struct bl_totals totals;  /* of the usable rows */
    int64_t parts;            /* thousandths of files, by their weights, including files under way */
    const char *file;         /* that holds the scan up, while it does; or NULL */
    uint64_t drained;         /* checksum of standard input, if it is an input */
    int64_t suppressed;       /* faults that were not reported: a chunk had too many */
    int64_t needed;           /* bytes: what decoding one input takes at most, if that is more than a reader's */
};

/* Counts a row; totals too, if kind is not NULL. */
void bl_scan_progress_count(struct bl_scan_progress *found, const struct bl_kind *kind, const struct bl_row *row);

/* Adds the counts of rows. */
void bl_scan_progress_add(struct bl_scan_progress *all, const struct bl_scan_progress *some);

#endif
