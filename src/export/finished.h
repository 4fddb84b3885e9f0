/* A finished export: its summary and its verification, by export.json; and a folder of packed Parquet. */
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

/* Reads export.json, and none of the files. Errors as of bl_export_description_read. Free with bl_export_info_free. */
int bl_export_info_read(struct bl_export_info *info, const char *dir, struct bl_error *e);
void bl_export_info_free(struct bl_export_info *info);

/* Appends it as JSON. */
int bl_export_info_json(const struct bl_export_info *info, struct bl_buffer *out, struct bl_error *e);

/* --- packed Parquet ----------------------------------------------------------------------------------------------- */

/* What `python -m bload.parquet --write` wrote: Parquet of packed rows, with bload.json, of what it was made, and
 * metadata.json, which its reader needs. */

#define BL_PACKED_PARQUET_READER "NVIDIA Megatron-Bridge"

struct bl_packed_parquet {
    char *dataset; /* the checksum of its manifest */
    char *field;
    int64_t T;
    int64_t files, bytes;
};

/* Reads the two files, and the sizes of the others. *found: the folder has both. BL_EDATA: one of them is damaged. Free
 * with bl_packed_parquet_free in any case. */
int bl_packed_parquet_read(struct bl_packed_parquet *packed, const char *dir, bool *found, struct bl_error *e);
void bl_packed_parquet_free(struct bl_packed_parquet *packed);

/* Appends it as JSON, with the members of bl_export_info_json that it has, and T. */
int bl_packed_parquet_json(const struct bl_packed_parquet *packed, struct bl_buffer *out, struct bl_error *e);

/* --- verification ------------------------------------------------------------------------------------------------- */

/* Verifying an export: its files against their checksums, or against the dataset that it was made of. */

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

/* Reports every fault, which is no error. BL_EUSAGE: the dataset is another one. */
int bl_export_verify_run(struct bl_export_verify *verify, struct bl_error *e);

#endif
