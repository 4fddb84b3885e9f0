/* The flag sets are spelt out rather than masked from what the machine has, so that flags which only describe a model
 * (slow shuffles, slow gathers) cannot choose other code on one machine than on another. */
#include "kind/simd_libraries.h"

#include <libavutil/cpu.h>
#include <zimg.h>

#define FLAGS_SSE2 (AV_CPU_FLAG_MMX | AV_CPU_FLAG_MMXEXT | AV_CPU_FLAG_SSE | AV_CPU_FLAG_SSE2 | AV_CPU_FLAG_CMOV)
#define FLAGS_AVX2                                                                                                     \
    (FLAGS_SSE2 | AV_CPU_FLAG_SSE3 | AV_CPU_FLAG_SSSE3 | AV_CPU_FLAG_SSE4 | AV_CPU_FLAG_SSE42 | AV_CPU_FLAG_AVX |      \
     AV_CPU_FLAG_AVX2 | AV_CPU_FLAG_FMA3 | AV_CPU_FLAG_BMI1 | AV_CPU_FLAG_BMI2)
#define FLAGS_NEON (AV_CPU_FLAG_ARMV8 | AV_CPU_FLAG_VFP | AV_CPU_FLAG_NEON)

int bl_simd_apply(enum bl_simd level, struct bl_error *e)
{
    static const int flags[] = {
        [BL_SIMD_NONE] = 0, [BL_SIMD_SSE2] = FLAGS_SSE2, [BL_SIMD_AVX2] = FLAGS_AVX2, [BL_SIMD_NEON] = FLAGS_NEON};
    int code = bl_simd_check(level, e);
    if (!code)
        av_force_cpu_flags(flags[level]);
    return code;
}

int bl_simd_zimg(enum bl_simd level)
{
#if defined(__x86_64__)
    if (level == BL_SIMD_AVX2)
        return ZIMG_CPU_X86_AVX2;
    if (level == BL_SIMD_SSE2)
        return ZIMG_CPU_X86_SSE2;
#elif defined(__aarch64__)
    if (level == BL_SIMD_NEON)
        return ZIMG_CPU_ARM_NEON_VFPv4;
#endif
    (void)level;
    return ZIMG_CPU_NONE;
}
