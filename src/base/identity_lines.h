/* The identity of a dataset: a "name: value" line for everything that decides its bytes. */
#ifndef BL_IDENTITY_LINES_H
#define BL_IDENTITY_LINES_H

#include "base/option.h"

/* Appends "name: value" and a newline. The value is escaped as in a table, so that it stays on one line. */
void bl_option_identity(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out);

/* Marks the group that is bound to these values as idle. */
void bl_options_exclude(struct bl_options *o, const void *values);

/* Appends a "name: value" line for every option that affects something, except in idle groups: the identity of a
 * dataset. */
void bl_options_identity(const struct bl_options *o, struct bl_buffer *out);

/* The same for the options that affect exactly this. */
void bl_options_identity_of(const struct bl_options *o, enum bl_affects affects, struct bl_buffer *out);

#endif
