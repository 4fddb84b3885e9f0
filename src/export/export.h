/* Exporting the blocks of a dataset or view in another format.
 *
 * The blocks are divided into parts of one file each, which workers write in parallel. A part is complete when its file
 * and its record exist. So a stopped run can continue, and several tasks can share the work. When all parts are
 * complete, the files beside the parts are written, and export.json last. */
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

/* The configuration of an export: everything that determines its bytes. It is stored as lines of "name: value". */

struct bl_export_configuration {
    const struct bl_export_format *format;
    struct bl_compress compress;
    int64_t shard_size;
    char field[BL_FIELD_NAME_MAX]; /* "": not given */
    bool ids;
    char source[BL_DIGEST_SIZE]; /* the digest of the dataset's manifest */
};

/* Parses the lines of a configuration. BL_EDATA: this version does not know the format or an option. */
int bl_export_configuration_parse(struct bl_export_configuration *configuration, const char *lines, struct bl_error *e);

/* --- jobs --------------------------------------------------------------------------------------------------------- */

/* The job of exporting a dataset: how its blocks are divided into parts. */

/* Completes a job. The caller has set format, compress, shard_size (0: that of the format), field, ids, output and
 * cancel, and all other members to zero. The job is valid as long as blocks is open. Free it with bl_export_job_free,
 * also after an error. BL_EUSAGE: the format cannot hold the blocks. */
int bl_export_job_set(struct bl_export_job *job, struct bl_blocks *blocks, struct bl_error *e);
void bl_export_job_free(struct bl_export_job *job);

/* These return the first block of a part, and its number of blocks. */
int64_t bl_export_first_block(const struct bl_export_job *job, int64_t part);
int64_t bl_export_blocks_of(const struct bl_export_job *job, int64_t part);

/* Sets path to the path of the file of a part. */
int bl_export_part_path(const struct bl_export_job *job, int64_t part, struct bl_buffer *path, struct bl_error *e);

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* Processes the parts of an export in parallel: makes each part from the blocks of the dataset, and writes it or
 * compares it with its file. */

struct bl_export_parts {
    const struct bl_export_job *job;
    const char *dir;     /* of the dataset or view */
    int64_t begin, end;  /* process the parts begin to end - 1 */
    const uint8_t *skip; /* [parts] 1: skip this part; NULL: skip none */
    int workers;
    struct bl_cancel *cancel;
    /* Opens a part, on the worker's thread that processes the part. */
    int (*open)(void *context, int64_t number, struct bl_export_part *part, struct bl_error *e);
    /* Ends a part, on the same thread, also if open failed. code: BL_OK, or the code of the error in e. Returns the
     * code of a fatal error, or BL_OK, also after an error that shall not end the run. */
    int (*close)(void *context, int64_t number, struct bl_export_part *part, int code, struct bl_error *e);
    /* Is called several times a second on the caller's thread. blocks: number of blocks done since the last call. */
    void (*tick)(void *context, int64_t blocks);
    void *context;
};

/* Processes all parts. The first fatal error ends the run. BL_ECANCEL: cancelled. */
int bl_export_parts_run(const struct bl_export_parts *parts, struct bl_error *e);

/* --- exports ------------------------------------------------------------------------------------------------------ */

/* The request for an export. All of it must outlive the run. */
struct bl_export_request {
    const char *dir, *output;
    const char *tool; /* version of bload */
    const struct bl_export_format *format;
    struct bl_compress compress;
    int64_t shard_size; /* maximum bytes of a part; 0: the default of the format */
    const char *field;  /* the field that Megatron files hold; NULL: the only one that fits */
    bool ids;           /* export the ids of the sequences, too */
    struct bl_task task;
    int workers;
    struct bl_cancel *cancel;
    void (*tick)(void *sink, const struct bl_progress *progress); /* several times a second; may be NULL */
    void *sink;
};

/* The result. It is set also after an error, as far as it is known. */
struct bl_export_made {
    int64_t parts, blocks, bytes; /* parts and blocks of the export, and bytes of the files that exist */
    int64_t missing;              /* parts that other tasks still have to write */
    bool existed;                 /* the export was complete before this run */
    struct bl_buffer left_out;    /* fields and attributes that the format cannot hold: "a, b"; the caller frees it */
};

/* Exports a dataset or view, or continues an export. BL_EUSAGE: the format cannot hold the blocks, or the output
 * directory holds something else. BL_EFAIL or BL_EDATA: the dataset cannot be read, or the output cannot be written. */
int bl_export_run(const struct bl_export_request *request, struct bl_export_made *made, struct bl_error *e);

#endif
