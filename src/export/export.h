/* Exporting: the blocks of a dataset or view, written in another format.
 *
 * The blocks are divided into parts, one file each, which workers write in parallel. A part is complete when its file
 * and its record exist. So a run that was stopped goes on, and tasks share the work; the files beside the parts and,
 * last, export.json are written when all parts are there. */
#ifndef BL_EXPORT_H
#define BL_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "export/part.h"
#include "run/heartbeat.h"
#include "run/state_files.h"
#include "store/blocks.h"

/* --- configuration ------------------------------------------------------------------------------------------------ */

/* The configuration of an export: "name: value" lines of everything that decides its bytes. */

struct bl_export_configuration {
    const struct bl_export_format *format;
    struct bl_compress compress;
    int64_t shard_size;
    char field[BL_FIELD_NAME_MAX]; /* "": not given */
    bool ids;
    char source[BL_DIGEST_SIZE]; /* the digest of the dataset's manifest */
};

/* Reads them. BL_EDATA: this version does not know them. */
int bl_export_configuration_parse(struct bl_export_configuration *configuration, const char *lines, struct bl_error *e);

/* --- jobs --------------------------------------------------------------------------------------------------------- */

/* The job of exporting a dataset: how its blocks are divided into parts. */

/* Sets a job that is zero except for format, compress, shard_size (0: the format's), field, ids, output and cancel.
 * BL_EUSAGE: the format cannot hold the blocks. Valid as long as blocks is open; free with bl_export_job_free, also
 * after an error. */
int bl_export_job_set(struct bl_export_job *job, struct bl_blocks *blocks, struct bl_error *e);
void bl_export_job_free(struct bl_export_job *job);

/* The first block of a part, and how many it has. */
int64_t bl_export_first_block(const struct bl_export_job *job, int64_t part);
int64_t bl_export_blocks_of(const struct bl_export_job *job, int64_t part);

/* Sets path to that of a part's file. */
int bl_export_part_path(const struct bl_export_job *job, int64_t part, struct bl_buffer *path, struct bl_error *e);

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* Goes through the parts of an export in parallel: each is made of the blocks of the dataset, and written or compared.
 */

struct bl_export_parts {
    const struct bl_export_job *job;
    const char *dir;     /* of the dataset or view */
    int64_t begin, end;  /* parts */
    const uint8_t *skip; /* [parts] 1: not this one; NULL: all */
    int workers;
    struct bl_cancel *cancel;
    /* Opens a part, on any thread. */
    int (*open)(void *context, int64_t number, struct bl_export_part *part, struct bl_error *e);
    /* Ends it, on the same thread. code: BL_OK, or what failed, with the error in e; what it returns is fatal. */
    int (*close)(void *context, int64_t number, struct bl_export_part *part, int code, struct bl_error *e);
    /* Several times a second, on the caller's thread: how many more blocks are done. */
    void (*tick)(void *context, int64_t blocks);
    void *context;
};

/* The first fatal error ends it; BL_ECANCEL: cancelled. */
int bl_export_parts_run(const struct bl_export_parts *parts, struct bl_error *e);

/* --- exports ------------------------------------------------------------------------------------------------------ */

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
