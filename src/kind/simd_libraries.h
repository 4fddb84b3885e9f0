/* The SIMD level (simd.h) as the libraries of the media module take it. */
#ifndef BL_SIMD_LIBRARIES_H
#define BL_SIMD_LIBRARIES_H

#include "kind/simd.h"

/* Holds FFmpeg to the level, for the whole process, from now on: before any decoder is opened, on one thread. BL_EUSAGE
 * when the machine lacks it. The tool calls bl_media_set_simd. */
int bl_simd_apply(enum bl_simd level, struct bl_error *e);

/* zimg's cpu_type for the level. */
int bl_simd_zimg(enum bl_simd level);

#endif
