#include "kind/media/module.h"

#include <libavutil/cpu.h>

#include "unit.h"

UNIT_TEST(names)
{
    static const enum bl_simd levels[] = {BL_SIMD_NONE, BL_SIMD_SSE2, BL_SIMD_AVX2, BL_SIMD_NEON};
    static const char *const words[] = {"none", "sse2", "avx2", "neon"};
    for (size_t i = 0; i < 4; i++) {
        enum bl_simd level = (enum bl_simd)99;
        ck_assert_str_eq(bl_simd_name(levels[i]), words[i]);
        ck_assert_int_eq(bl_simd_parse(words[i], &level, NULL), 0);
        ck_assert_int_eq(level, levels[i]);
    }
    enum bl_simd level;
    FAILS_WITH(bl_simd_parse("avx512", &level, &e), BL_EUSAGE, "avx512");
}

UNIT_TEST(the_best_level_is_applied_exactly)
{
    enum bl_simd best = bl_simd_best();
    ck_assert_int_eq(bl_simd_apply(best, NULL), 0);
    int flags = av_get_cpu_flags();
    ck_assert_int_eq(flags & (AV_CPU_FLAG_AVX512 | AV_CPU_FLAG_AVXSLOW | AV_CPU_FLAG_AESNI | AV_CPU_FLAG_XOP), 0);
    if (best == BL_SIMD_AVX2)
        ck_assert_int_ne(flags & AV_CPU_FLAG_AVX2, 0);
    ck_assert_int_eq(bl_simd_apply(BL_SIMD_NONE, NULL), 0);
    ck_assert_int_eq(av_get_cpu_flags(), 0);
    ck_assert_int_eq(bl_simd_best(), best); /* the machine's, whatever was applied */
}

UNIT_TEST(a_level_of_another_machine_is_refused)
{
    enum bl_simd strange = bl_simd_best() == BL_SIMD_NEON ? BL_SIMD_AVX2 : BL_SIMD_NEON;
    int before = av_get_cpu_flags();
    ck_assert_int_eq(bl_simd_apply(strange, &e), BL_EUSAGE);
    ck_assert_ptr_nonnull(strstr(e.text, bl_simd_name(strange)));
    ck_assert_ptr_nonnull(strstr(e.text, bl_simd_name(bl_simd_best())));
    ck_assert_int_eq(av_get_cpu_flags(), before);
}
