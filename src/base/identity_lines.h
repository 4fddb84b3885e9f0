/* The identity of a dataset: a "name: value" line for everything that decides its bytes. */
#ifndef BL_IDENTITY_LINES_H
#define BL_IDENTITY_LINES_H

#include "base/option.h"

/* Appends "name: value" and a newline. The value is escaped as in a table, so that it stays on one line. */
void bl_option_identity(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out);

/* Marks the group that is bound to these values as idle. */
void bl_options_mark_idle(struct bl_options *o, const void *values);

/* Appends a "name: value" line for every option that affects something, except in idle groups: the identity of a
 * dataset. */
void bl_options_identity(const struct bl_options *o, struct bl_buffer *out);

/* The same for the options that affect exactly this. */
void bl_options_identity_of(const struct bl_options *o, enum bl_affects affects, struct bl_buffer *out);

/* Returns the value in the line of that name and its size; NULL: there is no such line. */
const char *bl_identity_value(const char *lines, const char *name, size_t name_size, size_t *size);

/* Compares the lines of a dataset with the wanted ones. BL_EUSAGE names the first difference. what: start of the
 * message, "DIR holds a dataset". */
int bl_identity_compare(const char *there, const char *wanted, const char *what, struct bl_error *e);

/* The same with the lines of an earlier stage: each must be among the wanted ones, except "inputs" and "tasks", which
 * only that stage has. */
int bl_identity_within(const char *there, const char *wanted, const char *what, struct bl_error *e);

#endif
