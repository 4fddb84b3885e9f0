/* The list of options in --help. */
#ifndef BL_OPTION_HELP_H
#define BL_OPTION_HELP_H

#include "base/option.h"

/* Appends each group that has a title, with its options. */
void bl_options_help(const struct bl_options *o, struct bl_buffer *out);

#endif
