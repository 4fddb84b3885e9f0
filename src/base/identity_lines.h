/* The identity of a dataset: "name: value" lines of everything that decides its bytes. */
#ifndef BL_IDENTITY_LINES_H
#define BL_IDENTITY_LINES_H

#include "base/option.h"

/* "name: value" and a newline, the value as in a table: it is of one line, whatever was said. */
void bl_option_identity(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out);

/* The group that is bound to these values is idle from now on. */
void bl_options_exclude(struct bl_options *o, const void *values);

/* "name: value" lines: of every option that affects something (what identifies a dataset), in groups that are not idle.
 */
void bl_options_identity(const struct bl_options *o, struct bl_buffer *out);

/* The same of those alone that affect this. */
void bl_options_identity_of(const struct bl_options *o, enum bl_affects affects, struct bl_buffer *out);

#endif
