/* Options that the media kinds share: the SIMD level, and the number of a stream. */
#ifndef BL_MEDIA_OPTIONS_H
#define BL_MEDIA_OPTIONS_H

#include "base/error.h"
#include "base/option.h"

/* --- SIMD level --------------------------------------------------------------------------------------------------- */

/* The SIMD level: one level to which FFmpeg's decoders and the scaler are held.
 *
 * Some decoders and zimg give slightly different bytes with different instruction sets, and both look at the processor
 * by themselves. A dataset's bytes may depend on the level that is recorded with it, and on nothing else about the
 * machine; so the level is chosen once, applied before any decoder is opened, and a machine without it is refused.
 * AVX-512 is never used: see docs/colour.md for what that costs. */

enum bl_simd {
    BL_SIMD_NONE, /* portable C */
    BL_SIMD_SSE2, /* every x86-64 */
    BL_SIMD_AVX2, /* x86-64-v3: AVX2, FMA3, BMI1, BMI2; not one flag more or less */
    BL_SIMD_NEON, /* every AArch64 */
};

/* The level's name in manifests and on the command line: "none", "sse2", "avx2", "neon". */
const char *bl_simd_name(enum bl_simd level);
int bl_simd_parse(const char *name, enum bl_simd *level, struct bl_error *e); /* BL_EUSAGE */

/* Returns the best level of this machine. */
enum bl_simd bl_simd_best(void);

/* Returns BL_EUSAGE if this machine does not have the level. */
int bl_simd_check(enum bl_simd level, struct bl_error *e);

/* --- stream number ------------------------------------------------------------------------------------------------ */

/* An option that says which stream of a file is read, of its video or audio streams. */

/* The type of the option. Its value is an int: 0 for the best stream, or 1 + the number of a stream, from 0. */
extern const struct bl_option_type bl_option_stream_number;

#endif
