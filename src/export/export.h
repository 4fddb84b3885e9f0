/* Exporting: the blocks of a dataset or view, written in another format.
 *
 * The blocks are divided into parts, one file each, which workers write in parallel. A part is complete when its file
 * and its record exist. So a run that was stopped goes on, and tasks share the work; the files beside the parts and,
 * last, export.json are written when all parts are there. */
#ifndef BL_EXPORT_H
#define BL_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "export/format.h"
#include "run/progress.h"
#include "run/task.h"

struct bl_export_request {
    const char *dir, *output;
    const char *tool; /* its version */
    const struct bl_export_format *format;
    struct bl_compress compress;
    int64_t shard_size; /* 0: the format's */
    const char *field;  /* of megatron; NULL: the only one */
    bool ids;           /* also the ids of the sequences */
    struct bl_task task;
    int workers;
    struct bl_cancel *cancel;
    void (*tick)(void *sink, const struct bl_progress *progress); /* several times a second; may be NULL */
    void *sink;
};

struct bl_export_made {
    int64_t parts, blocks, bytes; /* of the export, and of its files that are there */
    int64_t missing;              /* parts that other tasks have to write */
    bool existed;                 /* it was complete before */
    struct bl_buffer left_out; /* fields and attributes that the format does not carry: "a, b"; the caller's to free */
};

/* BL_EUSAGE: the format cannot hold the blocks, or the output holds something else. BL_EFAIL and BL_EDATA: the dataset
 * cannot be read, or the output not be written. */
int bl_export_run(const struct bl_export_request *request, struct bl_export_made *made, struct bl_error *e);

#endif
