/* The job of exporting a dataset: how its blocks are divided into parts. */
#ifndef BL_EXPORT_JOB_H
#define BL_EXPORT_JOB_H

#include <stdint.h>

#include "base/buffer.h"
#include "export/format.h"
#include "store/blocks.h"

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

/* Writes one of the files beside the parts, OUTPUT/name, whose folder exists; or compares it. BL_EDATA: it differs. */
int bl_export_write_file(const struct bl_export_job *job, const char *name, const struct bl_buffer *text,
                         struct bl_error *e);

/* Opens one of them for what a buffer cannot hold. file: ended as a part. BL_EDATA: it is to be compared, and not
 * there.
 */
int bl_export_open_file(const struct bl_export_job *job, const char *name, struct bl_export_part *file,
                        struct bl_error *e);

#endif
