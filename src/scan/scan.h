/* Scan: asks each file's kind for its rows, many files at once, and writes the rows in order. */
#ifndef BL_SCAN_H
#define BL_SCAN_H

#include "base/io.h"
#include "kind/kind.h"
#include "scan/sources.h"

/* Told of every row that is not an ok one without reason, in order, on the caller's thread. A code other than BL_OK
 * stops. */
typedef int bl_scan_fault(void *sink, const struct bl_row *row, struct bl_error *e);

struct bl_scan {
    const struct bl_files *files;
    const char *base;               /* directory that relative paths count from, or NULL */
    const void *const *kind_config; /* config struct of each kind, in the order of bl_kinds */
    int workers;
    const struct bl_kind_env *env;
    bl_scan_fault *fault;
    void (*tick)(void *sink, size_t files_done, int64_t steps); /* or NULL */
    void *sink;                                                 /* of fault and tick */
};

/* Writes the table, header line first. */
int bl_scan_run(const struct bl_scan *scan, struct bl_output *out, struct bl_error *e);

#endif
