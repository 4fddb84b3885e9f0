/* What a verification found, as JSON for programs. */
#ifndef BL_VERIFY_REPORT_H
#define BL_VERIFY_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* Its members up to bytes are set by the caller, who owns the texts. */
struct json_t;

struct bl_verify_report {
    const char *dir, *kind; /* kind: "dataset", "view" or "export" */
    const char *against;    /* what an export was compared with, or NULL */
    int64_t task, tasks;    /* tasks 0: no task */
    int64_t files, bytes;   /* read: shards of datasets, files of exports */
    struct json_t *faults;  /* a list; NULL: none so far */
    bool failed;            /* memory ran out for one */
};

/* Adds a fault of a file; source: the name of a view's dataset, or NULL. */
void bl_verify_report_add(struct bl_verify_report *report, const char *source, const char *file, const char *text);

/* Appends {"path", "kind", "against", "task", "verified", "shards" or "files", "bytes", "faults": [{"source", "file",
 * "text"}], "run"}, and frees the faults and run, which says where the time went. BL_EFAIL: out of memory, now or
 * before. */
int bl_verify_report_json(struct bl_verify_report *report, struct json_t *run, struct bl_buffer *out,
                          struct bl_error *e);
void bl_verify_report_free(struct bl_verify_report *report);

#endif
