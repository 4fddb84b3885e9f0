/* A part of an export: one file, which is written, or compared with one that exists. */
#ifndef BL_EXPORT_PART_H
#define BL_EXPORT_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/instream.h"
#include "base/output.h"
#include "run/options.h"
#include "base/checksum.h"

/* What is known of a finished part; kept in DIR/.bload/shard-00000000.record until the export is finished. */
struct bl_export_record {
    int64_t bytes; /* of the file, before compression */
    uint64_t checksum;
    int64_t zip_bytes; /* of the compressed file; 0: there is none */
    uint64_t zip_checksum;
};

struct bl_export_part {
    struct bl_checksum_state sum, zip_sum;
    struct bl_export_record record;
    struct bl_output out;
    struct zstd *zstd;      /* NULL: not compressed */
    struct bl_instream *in; /* the file that is compared; NULL: it is written */
    char *path;             /* of that file */
};

/* A part that is not open; aborting it is allowed. */
#define BL_EXPORT_PART_NONE                                                                                            \
    {                                                                                                                  \
        .out = {.fd = -1 }                                                                                             \
    }

/* Begins a file at path, which appears there when it is whole. bytes: how many will be put, before compression. */
int bl_export_part_open(struct bl_export_part *part, const char *path, const struct bl_compress *compress,
                        int64_t bytes, struct bl_error *e);
/* Opens an existing file, whose content has to be what is put. */
int bl_export_part_compare(struct bl_export_part *part, const char *path, struct bl_error *e);
/* Puts data. BL_EDATA: the file that is compared has other data there. */
int bl_export_part_put(struct bl_export_part *part, const void *data, size_t size, struct bl_error *e);
/* Ends the file, and sets the record; of a file that is compared, only bytes and checksum. */
int bl_export_part_commit(struct bl_export_part *part, struct bl_error *e);
/* Removes what was written; does nothing after bl_export_part_commit, or with an empty part. */
void bl_export_part_abort(struct bl_export_part *part);

void bl_export_record_format(const struct bl_export_record *record, struct bl_buffer *out);
/* False: it is no record. */
bool bl_export_record_parse(struct bl_export_record *record, const char *text);

#endif
