/* See simd.h. The flag sets are spelt out rather than masked from what the machine has, so that flags which only
 * describe a model (slow shuffles, slow gathers) cannot choose other code on one machine than on another. */
#include "kind/simd.h"

#include <libavutil/cpu.h>
#include <string.h>
#include <zimg.h>

#define FLAGS_SSE2 (AV_CPU_FLAG_MMX | AV_CPU_FLAG_MMXEXT | AV_CPU_FLAG_SSE | AV_CPU_FLAG_SSE2 | AV_CPU_FLAG_CMOV)
#define FLAGS_AVX2                                                                                                     \
    (FLAGS_SSE2 | AV_CPU_FLAG_SSE3 | AV_CPU_FLAG_SSSE3 | AV_CPU_FLAG_SSE4 | AV_CPU_FLAG_SSE42 | AV_CPU_FLAG_AVX |      \
     AV_CPU_FLAG_AVX2 | AV_CPU_FLAG_FMA3 | AV_CPU_FLAG_BMI1 | AV_CPU_FLAG_BMI2)
#define FLAGS_NEON (AV_CPU_FLAG_ARMV8 | AV_CPU_FLAG_VFP | AV_CPU_FLAG_NEON)

static const char *const level_names[] = {
    [BL_SIMD_NONE] = "none", [BL_SIMD_SSE2] = "sse2", [BL_SIMD_AVX2] = "avx2", [BL_SIMD_NEON] = "neon"};

const char *bl_simd_name(enum bl_simd level)
{
    return level_names[level];
}

int bl_simd_parse(const char *name, enum bl_simd *level, struct bl_error *e)
{
    for (int i = BL_SIMD_NONE; i <= BL_SIMD_NEON; i++) {
        if (!strcmp(name, level_names[i])) {
            *level = (enum bl_simd)i;
            return 0;
        }
    }
    return bl_error_set(e, BL_EUSAGE, "'%s' is no SIMD level: none, sse2, avx2 or neon", name);
}

/* The processor is asked, not FFmpeg, which answers with the level once one was applied. */
enum bl_simd bl_simd_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
        __builtin_cpu_supports("bmi2"))
        return BL_SIMD_AVX2;
    return BL_SIMD_SSE2;
#elif defined(__aarch64__)
    return BL_SIMD_NEON;
#else
    return BL_SIMD_NONE;
#endif
}

static bool level_is_supported(enum bl_simd level)
{
    enum bl_simd best = bl_simd_best();
    return level == BL_SIMD_NONE || level == best || (level == BL_SIMD_SSE2 && best == BL_SIMD_AVX2);
}

int bl_simd_apply(enum bl_simd level, struct bl_error *e)
{
    static const int flags[] = {
        [BL_SIMD_NONE] = 0, [BL_SIMD_SSE2] = FLAGS_SSE2, [BL_SIMD_AVX2] = FLAGS_AVX2, [BL_SIMD_NEON] = FLAGS_NEON};
    if (!level_is_supported(level))
        return bl_error_set(e, BL_EUSAGE, "this machine lacks the SIMD level '%s'; its best is '%s'",
                            bl_simd_name(level), bl_simd_name(bl_simd_best()));
    av_force_cpu_flags(flags[level]);
    return 0;
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
