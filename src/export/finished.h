/* The summary and the verification of a finished export, both from export.json, and the summary of a folder of packed
 * Parquet. */
#ifndef BL_FINISHED_H
#define BL_FINISHED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "export/export.h"
#include "export/part.h"
#include "run/heartbeat.h"

/* --- summary ------------------------------------------------------------------------------------------------------ */

/* A summary of a finished export, for people and programs. */

struct bl_export_info {
    struct bl_export_description description;
    struct bl_export_configuration configuration;
};

/* Reads export.json, but none of the exported files. The error codes are those of bl_export_description_read. Free with
 * bl_export_info_free. */
int bl_export_info_read(struct bl_export_info *info, const char *dir, struct bl_error *e);
void bl_export_info_free(struct bl_export_info *info);

/* Appends it as JSON. */
int bl_export_info_json(const struct bl_export_info *info, struct bl_buffer *out, struct bl_error *e);

/* --- packed Parquet ----------------------------------------------------------------------------------------------- */

/* The folder that `python -m bload.parquet --write` writes: Parquet files of packed rows, bload.json, which names the
 * dataset, and metadata.json, which the reader needs. */

#define BL_PACKED_PARQUET_READER "NVIDIA Megatron-Bridge"

struct bl_packed_parquet {
    char *dataset; /* the checksum of its manifest */
    char *field;
    int64_t T;
    int64_t files, bytes;
};

/* Reads bload.json and metadata.json, and the sizes of the other files. *found: the folder has both files. BL_EDATA:
 * one of them is damaged. Free with bl_packed_parquet_free in any case. */
int bl_packed_parquet_read(struct bl_packed_parquet *packed, const char *dir, bool *found, struct bl_error *e);
void bl_packed_parquet_free(struct bl_packed_parquet *packed);

/* Appends the summary as JSON: those members of bl_export_info_json that are known, and T. */
int bl_packed_parquet_json(const struct bl_packed_parquet *packed, struct bl_buffer *out, struct bl_error *e);

/* --- verification ------------------------------------------------------------------------------------------------- */

/* Verifying an export compares its files with their checksums, or with the dataset that they were made from. */

struct bl_export_verify {
    const char *dir;     /* of the export */
    const char *against; /* the dataset or view; NULL: only checksums are compared */
    int workers;
    struct bl_cancel *cancel;
    void (*fault)(void *sink, const char *file, const char *text);
    void (*tick)(void *sink, const struct bl_progress *progress);
    void *sink;
    int64_t files, bytes; /* set: what was verified */
};

/* Verifies the export and reports every fault by `fault`. Faults are no errors: BL_OK is returned. BL_EUSAGE: the
 * export was made from another dataset. */
int bl_export_verify_run(struct bl_export_verify *verify, struct bl_error *e);

#endif
