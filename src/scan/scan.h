/* The scan: has the kind count the files, many chunks at once, and writes the rows in order; rows that wait may go to a
 * file. */
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
#include "scan/condition.h"
#include "scan/files.h"
#include "scan/part.h"

/* --- spilling rows to a file -------------------------------------------------------------------------------------- */

/* A spill: text that grows in memory, and beyond 1 MiB in an unnamed file. A file may have many millions of rows, which
 * must not fill the memory while they wait to be written. What is read from the file is compared with its checksum. */

/* What was written at once. */
struct bl_spill_part {
    size_t bytes;
    uint64_t checksum;
};

struct bl_spill {
    const char *dir; /* of the file; NULL: $TMPDIR or /tmp */
    int fd;          /* -1: all of it is in memory */
    int64_t written; /* bytes in the file, before those in memory */
    struct bl_spill_part *part;
    size_t parts, parts_capacity;
    struct bl_buffer tail;
};

void bl_spill_init(struct bl_spill *spill, const char *dir);
/* To be called from time to time after appending to spill->tail. */
int bl_spill_flush(struct bl_spill *spill, struct bl_error *e);
/* In bytes. */
int64_t bl_spill_size(const struct bl_spill *spill);
/* Passes all of it to write. */
int bl_spill_drain(struct bl_spill *spill, int (*write)(void *sink, const void *data, size_t size, struct bl_error *e),
                   void *sink, struct bl_error *e);
void bl_spill_free(struct bl_spill *spill);

/* --- scan --------------------------------------------------------------------------------------------------------- */

/* Has the kind count the files, many chunks at once, and writes the rows in order. */

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
    int64_t task, tasks;   /* chunks number task, task + tasks, ...; tasks 0: all of them */
    int64_t memory;        /* bytes for all that is counted at once; 0: no limit */
    bool memory_is_strict; /* what takes more is refused */
    bl_scan_fault *fault;
    void (*tick)(void *sink, const struct bl_scan_progress *progress); /* or NULL */
    void *sink;                                                        /* of fault and tick */
    struct bl_work *work;                                              /* where the time goes is added here; or NULL */
};

/* Writes the table, header line first. out NULL: the table exists already, and only what counting keeps in the spool is
 * wanted; then no faults are reported. */
int bl_scan_run(const struct bl_scan *scan, struct bl_output *out, struct bl_scan_progress *progress,
                struct bl_error *e);

/* Writes and publishes the part of the scan's task. An identical part that exists is no error. Forms are compared by
 * the merge. */
int bl_scan_part(const struct bl_scan *scan, struct bl_part_writer *part, struct bl_scan_progress *progress,
                 struct bl_error *e);

#endif
