/* An input: a file that is to be counted or read. */
#ifndef BL_INPUT_H
#define BL_INPUT_H

#include <stdint.h>

#include "base/error.h"

/* A file to be counted. */
struct bl_input {
    const char *path; /* to open; "-": standard input */
    const char *name; /* the same as it was given, and as the table has it */
    int64_t bytes;
    int64_t modified; /* nanoseconds since 1970 */
    uint64_t content; /* digest (kind/content.h); 0: not asked for */
    const char *id;   /* what the ids of its sequences begin with */
};

struct bl_kind;

/* The kind may be NULL: one whose inputs are files. */

/* Sets the size and time of the file at input->path, or of the folder where that is what the kind takes. *unusable: why
 * it is none that can be read, or NULL; BL_EFAIL for a failing system. */
int bl_input_stat(const struct bl_kind *kind, struct bl_input *input, const char **unusable, struct bl_error *e);

/* The same, with its content. One that cannot be opened has none: its kind tells why. */
int bl_input_stat_content(const struct bl_kind *kind, struct bl_input *input, const char **unusable,
                          struct bl_error *e);

/* BL_EFAIL: it changed while it was scanned. */
int bl_input_report_changed(const struct bl_input *input, struct bl_error *e);

/* Looks again at one that was counted: BL_EFAIL when its size or time is another. Of a folder nothing was read but
 * names and what its content tells. */
int bl_input_recheck(const struct bl_kind *kind, const struct bl_input *input, struct bl_error *e);

/* path as it is to be opened: behind base (or NULL) when it is relative. To be freed; NULL for no memory. */
char *bl_input_path(const char *base, const char *path);

#endif
