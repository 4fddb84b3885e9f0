/* A summary of a finished export, for people and programs. */
#ifndef BL_EXPORT_INFO_H
#define BL_EXPORT_INFO_H

#include "export/configuration.h"
#include "export/description.h"

struct bl_export_info {
    struct bl_export_description description;
    struct bl_export_configuration configuration;
};

/* Reads export.json, and none of the files. Errors as of bl_export_description_read. Free with bl_export_info_free. */
int bl_export_info_read(struct bl_export_info *info, const char *dir, struct bl_error *e);
void bl_export_info_free(struct bl_export_info *info);

/* Appends it as JSON. */
int bl_export_info_json(const struct bl_export_info *info, struct bl_buffer *out, struct bl_error *e);

#endif
