/* Which stream of a file is read, of those of one kind, video or audio: as an option. */
#ifndef BL_STREAM_NUMBER_H
#define BL_STREAM_NUMBER_H

#include "base/option.h"

/* An int: 0 for the best stream, or 1 + a number that counts from 0. */
extern const struct bl_option_type bl_option_stream_number;

#endif
