/* Scan: asks the files' kind for its rows, many chunks of input at once, and writes the rows in order. */
#ifndef BL_SCAN_H
#define BL_SCAN_H

#include "base/output.h"
#include "kind/kind.h"
#include "scan/attributes.h"
#include "scan/exclusion.h"
#include "scan/part.h"
#include "scan/sources.h"

/* Told of rows that are not ok ones without reason, in order, on the caller's thread. A code other than BL_OK stops. */
typedef int bl_scan_fault(void *sink, const struct bl_row *row, struct bl_error *e);

/* How far a scan has come. */
struct bl_scan_progress {
    int64_t files, rows, steps;
    int64_t skipped, damaged; /* rows */
    int64_t excluded;         /* rows that were left out by request */
    int64_t empty;            /* of those skipped: without fault */
    int64_t adjusted;         /* rows with a field that was brought to their length */
    struct bl_totals totals;  /* of the usable rows */
    int64_t parts;            /* thousandths of files, also of those that are not done yet */
    uint64_t drained;         /* checksum of standard input, if it is an input */
    int64_t suppressed;       /* rows with faults that were not told one by one: a chunk had very many */
};

struct bl_scan {
    const struct bl_files *files;
    const char *base;                 /* directory that relative paths count from, or NULL */
    const struct bl_kind *kind;       /* of all files */
    void *config;                     /* the kind's own */
    struct bl_attributes *attributes; /* to be joined to the rows, or NULL */
    struct bl_exclusion *exclusion;   /* of the rows, or NULL */
    int workers;
    const struct bl_kind_env *env;
    const char *temporary; /* directory for rows that wait, or NULL: $TMPDIR */
    int64_t task, tasks;   /* of the chunks those of a number that is task modulo tasks; tasks 0: all of them */
    bl_scan_fault *fault;
    void (*tick)(void *sink, const struct bl_scan_progress *progress); /* or NULL */
    void *sink;                                                        /* of fault and tick */
};

/* Writes the table, header line first. out NULL: the table is there already, and counting is done for what it keeps in
 * the spool; then nothing is told. *progress is where it came to in the end. */
int bl_scan_run(const struct bl_scan *scan, struct bl_output *out, struct bl_scan_progress *progress,
                struct bl_error *e);

/* Writes the part of the scan's task, and gives it its name. 1: that is there already, the same one. Rows whose form
 * must be that of the first one wait for the merge to be judged. */
int bl_scan_part(const struct bl_scan *scan, struct bl_part_writer *part, struct bl_scan_progress *progress,
                 struct bl_error *e);

#endif
