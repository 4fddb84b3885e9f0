/* Merges the parts of a scan by many tasks into one table, which is byte for byte the table of a single scan. With N
 * tasks, chunk i is in part i mod N. The merge checks what a task cannot know: that all rows have the format of the
 * first row, that no two sequences claim the same attributes, and that all tasks saw the same inputs. */
#ifndef BL_MERGE_H
#define BL_MERGE_H

#include "base/output.h"
#include "kind/kind.h"
#include "scan/part.h"

struct bl_merge {
    const char *folder; /* the folder of the parts */
    int64_t tasks;
    const struct bl_cancel *cancel;
    bl_scan_fault *fault;                     /* called for rows that are skipped here */
    void (*tick)(void *sink, int64_t chunks); /* chunks: merged so far; or NULL */
    void *sink;
};

struct bl_merged {
    struct bl_scan_progress found; /* without the members that only tasks know */
    int64_t unused;                /* rows of the table of attributes that no sequence claimed */
    char *attributes;              /* that table's path, to be freed; NULL: none */
};

/* Returns the first task without a part, or -1 if all parts exist. */
int64_t bl_merge_find_missing(const char *folder, int64_t tasks);

/* Writes the table. Memory: a buffer for each part, at most 128 MiB in all up to 8,192 parts; no files are held open.
 * BL_EDATA names a damaged part; BL_EFAIL: parts that do not match, attributes claimed twice. */
int bl_merge_run(const struct bl_merge *merge, struct bl_output *out, struct bl_merged *merged, struct bl_error *e);

#endif
