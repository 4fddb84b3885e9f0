/* The YAML file: the flags' names as keys, the list of sources, the list of further fields. */
#ifndef BL_CONFIG_H
#define BL_CONFIG_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/option.h"
#include "cmd/extra_field.h"
#include "scan/sources.h"

struct bl_config {
    char *directory; /* of the file, that its relative paths count from; NULL for the working directory */
    struct bl_source *source;
    int sources;
    struct bl_extra_field field[BL_FIELDS_MAX];
    int fields;
    char **text; /* what option values and sources point to */
    size_t texts;
};

/* Sets options from the file, at BL_ORIGIN_FILE: flags win. Unknown keys, wrong types and values are BL_EUSAGE with
 * file, line and column. Free after the options are no longer read. */
int bl_config_read(struct bl_config *config, const char *path, struct bl_options *options, struct bl_error *e);
void bl_config_free(struct bl_config *config);

/* Options of the table over values that name files, and whose values the file gave, count from the file's directory
 * from now on. */
int bl_config_resolve(struct bl_config *config, const struct bl_options *options, const struct bl_option *table,
                      void *values, struct bl_error *e);

/* The effective configuration as such a file. */
void bl_config_print(const struct bl_config *config, const struct bl_options *options, const struct bl_source *source,
                     int sources, struct bl_buffer *out);

#endif
