/* The configuration of an export: "name: value" lines of everything that decides its bytes. */
#ifndef BL_EXPORT_CONFIGURATION_H
#define BL_EXPORT_CONFIGURATION_H

#include "export/format.h"

struct bl_export_configuration {
    const struct bl_export_format *format;
    struct bl_compress compress;
    int64_t shard_size;
    char field[BL_FIELD_NAME_MAX]; /* "": not given */
    bool ids;
    char source[BL_DIGEST_SIZE]; /* the digest of the dataset's manifest */
};

/* Appends the lines of a job. */
int bl_export_configuration_append(const struct bl_export_job *job, struct bl_buffer *lines, struct bl_error *e);

/* Reads them. BL_EDATA: this version does not know them. */
int bl_export_configuration_parse(struct bl_export_configuration *configuration, const char *lines, struct bl_error *e);

#endif
