/* The YAML file of bload pack, which bload plan, scan and slurm read, too.
 *
 * Its keys are the names of flags, the list of sources, and the list of extra fields:
 *
 *     sources:
 *       - videos/
 *       - {path: more/, kind: video}
 *     fields:
 *       - {name: labels, path: "labels/{id}.npy", kind: array}
 *     T: 64
 *     output: dataset
 *
 * A flag on the command line overrides the file. Relative paths in the file are relative to its directory. */
#ifndef BL_CONFIG_H
#define BL_CONFIG_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/option.h"
#include "cmd/extra_field.h"
#include "scan/sources.h"

/* The contents of a file, except the options, which are set in the structs of their tables. bl_config_free frees all.
 */
struct bl_config {
    char *directory;                            /* the file's directory; NULL: the working directory */
    struct bl_source *source;                   /* [sources] in the order of the file */
    int sources;                                /* 0: the file has no list of sources */
    struct bl_extra_field field[BL_FIELDS_MAX]; /* [fields] at most BL_FIELDS_MAX - 1, beside the first field */
    int fields;
    char **text; /* [texts] storage for the values of options and sources */
    size_t texts;
};

/* Sets options from the file, at BL_ORIGIN_FILE, so that flags win. Unknown keys and wrong types or values are
 * BL_EUSAGE with file, line and column. Free the configuration only after the last use of the options. */
int bl_config_read(struct bl_config *config, const char *path, struct bl_options *options, struct bl_error *e);
void bl_config_free(struct bl_config *config);

/* Resolves the options of the table, over `values`, that are file names and come from the file: names relative to the
 * file's directory become relative to the working directory. A word that the option takes instead of a file name stays
 * as it is. BL_EFAIL: out of memory. */
int bl_config_resolve(struct bl_config *config, const struct bl_options *options, const struct bl_option *table,
                      void *values, struct bl_error *e);

/* Appends the effective configuration as a YAML file, which makes the same run. Options without a value are left
 * out. */
void bl_config_print(const struct bl_config *config, const struct bl_options *options, const struct bl_source *source,
                     int sources, struct bl_buffer *out);

#endif
