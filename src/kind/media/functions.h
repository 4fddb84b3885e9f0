/* The table of functions that the media module gives to the tool. */
#ifndef BL_FUNCTIONS_H
#define BL_FUNCTIONS_H

#include "kind/media_options.h"

/* Holds FFmpeg to the level, for the whole process, from now on: before any decoder is opened, on one thread. BL_EUSAGE
 * when the machine lacks it. The tool calls bl_media_set_simd. */
int bl_simd_apply(enum bl_simd level, struct bl_error *e);

/* zimg's cpu_type for the level. */
int bl_simd_zimg(enum bl_simd level);

#endif
