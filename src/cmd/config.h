/* The YAML file: the names of flags as keys, the list of sources, the list of extra fields. */
#ifndef BL_CONFIG_H
#define BL_CONFIG_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/option.h"
#include "cmd/extra_field.h"
#include "scan/sources.h"

struct bl_config {
    char *directory; /* of the file, for its relative paths; NULL: the working directory */
    struct bl_source *source;
    int sources;
    struct bl_extra_field field[BL_FIELDS_MAX];
    int fields;
    char **text; /* storage for the values of options and sources */
    size_t texts;
};

/* Sets options from the file, at BL_ORIGIN_FILE: flags win. Unknown keys and wrong types or values are BL_EUSAGE with
 * file, line and column. Free the configuration only after the last use of the options. */
int bl_config_read(struct bl_config *config, const char *path, struct bl_options *options, struct bl_error *e);
void bl_config_free(struct bl_config *config);

/* Resolves the table's options over values that are file names and come from the file: relative names become relative
 * to the file's directory. */
int bl_config_resolve(struct bl_config *config, const struct bl_options *options, const struct bl_option *table,
                      void *values, struct bl_error *e);

/* Prints the effective configuration as a YAML file. */
void bl_config_print(const struct bl_config *config, const struct bl_options *options, const struct bl_source *source,
                     int sources, struct bl_buffer *out);

#endif
