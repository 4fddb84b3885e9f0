/* What the file system says of an input: size, time, content, and whether it has changed since. */
#ifndef BL_INPUT_STAT_H
#define BL_INPUT_STAT_H

#include "kind/kind.h"

/* The kind may be NULL: one whose inputs are files.
 *
 * Sets size and time of the file at input->path, or size and content of the folder if the kind takes folders.
 * *unusable: why it cannot be read, or NULL. BL_EFAIL: the system fails. */
int bl_input_stat(const struct bl_kind *kind, struct bl_input *input, const char **unusable, struct bl_error *e);

/* The same with the content of files. One that cannot be opened has none: its kind reports why. */
int bl_input_stat_content(const struct bl_kind *kind, struct bl_input *input, const char **unusable,
                          struct bl_error *e);

/* BL_EFAIL: the input changed while it was scanned. */
int bl_input_report_changed(const struct bl_input *input, struct bl_error *e);

/* Checks an input that was counted: BL_EFAIL if its size or time has changed. Nothing was read of a folder but what its
 * content is made of. */
int bl_input_recheck(const struct bl_kind *kind, const struct bl_input *input, struct bl_error *e);

#endif
