/* The list of options in --help. */
#ifndef BL_OPTION_HELP_H
#define BL_OPTION_HELP_H

#include "base/option.h"

/* Appends each group that has a title, with its options. */
void bl_options_help(const struct bl_options *o, struct bl_buffer *out);

/* Appends only the options of these names, which spaces separate, in this order, with their help up to a semicolon.
 * BL_EFAIL: there is no such option. */
int bl_options_help_some(const struct bl_options *o, const char *names, struct bl_buffer *out, struct bl_error *e);

#endif
