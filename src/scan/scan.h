/* Runs a scan: the kind counts many chunks of files in parallel, and the rows are written in order. */
#ifndef BL_SCAN_H
#define BL_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/output.h"
#include "base/process.h"
#include "kind/kind.h"
#include "scan/attributes.h"
#include "scan/selection.h"
#include "scan/files.h"
#include "scan/part.h"

struct bl_scan {
    const struct bl_files *files;
    const char *base;                 /* directory that relative paths count from, or NULL */
    const struct bl_kind *kind;       /* of all files */
    void *config;                     /* the kind's own */
    struct bl_attributes *attributes; /* joined to the rows, or NULL */
    struct bl_exclusion *exclusion;   /* or NULL */
    int workers;
    const struct bl_kind_env *env;
    const char *temporary; /* directory for rows that do not fit in memory, or NULL: $TMPDIR */
    int64_t task, tasks;   /* the scan takes the chunks task, task + tasks, ...; tasks 0: all chunks */
    int64_t memory;        /* bytes for all inputs that are counted in parallel; 0: no limit */
    bool memory_is_strict; /* an input that needs more memory is refused */
    bl_scan_fault *fault;
    void (*tick)(void *sink, const struct bl_scan_progress *progress); /* or NULL */
    void *sink;                                                        /* of fault and tick */
    struct bl_work *work;                                              /* where the time goes is added here; or NULL */
};

/* Writes the table, header line first, and sets *progress to the counts. out NULL: the table exists already, and the
 * scan only fills the spool; then no faults are reported. */
int bl_scan_run(const struct bl_scan *scan, struct bl_output *out, struct bl_scan_progress *progress,
                struct bl_error *e);

/* Writes and publishes the part of the scan's task. It is no error if an identical part exists. The merge compares the
 * formats of steps. */
int bl_scan_part(const struct bl_scan *scan, struct bl_part_writer *part, struct bl_scan_progress *progress,
                 struct bl_error *e);

#endif
