/* Options that the media kinds share: the SIMD level of a dataset, and the number of a stream.
 *
 * A level is accepted if this machine has it or a superset of it. Example: a dataset of level sse2 can be continued on
 * a machine with AVX2; one of level avx2 cannot be continued on a machine without. */
#include "kind/media_options.h"

#include <string.h>

#include "base/text.h"

/* --- SIMD level --------------------------------------------------------------------------------------------------- */

static const char *const level_names[] = {
    [BL_SIMD_NONE] = "none", [BL_SIMD_SSE2] = "sse2", [BL_SIMD_AVX2] = "avx2", [BL_SIMD_NEON] = "neon"};

const char *bl_simd_name(enum bl_simd level)
{
    return level_names[level];
}

/* Returns BL_EUSAGE for an unknown name; the message lists the known ones. */
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

/* The compiler's test of the processor is used, not FFmpeg's, which returns the applied level after one was applied. */
enum bl_simd bl_simd_best(void)
{
#if defined(__x86_64__)
    /* Level avx2 is x86-64-v3. FFmpeg uses FMA3 and BMI in functions of that level, so that all of them must be there.
     */
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

int bl_simd_check(enum bl_simd level, struct bl_error *e)
{
    enum bl_simd best = bl_simd_best();
    if (level == BL_SIMD_NONE || level == best || (level == BL_SIMD_SSE2 && best == BL_SIMD_AVX2))
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "this machine lacks the SIMD level '%s'; its best is '%s'", bl_simd_name(level),
                        bl_simd_name(best));
}

/* --- stream number ------------------------------------------------------------------------------------------------ */

#define STREAMS_MAX 1000000 /* FFmpeg refuses files with more streams long before */

/* The value is 1 + the number, so that a zeroed struct means "best". */
static bool stream_number_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    int64_t number = -1;
    bool best = strcmp(text, "best") == 0;
    if (!best && !bl_text_to_int(text, strlen(text), 0, STREAMS_MAX, &number))
        return false;
    *(int *)value = (int)number + 1;
    return true;
}

/* Writes the text that the parser accepts, for --print-config and the dataset's identity. */
static void stream_number_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    int number = *(const int *)value;
    if (number)
        bl_buffer_printf(out, "%d", number - 1);
    else
        bl_buffer_text(out, "best");
}

const struct bl_option_type bl_option_stream_number = {"N|best", stream_number_parse, stream_number_format,
                                                       "best, or the number of a stream, from 0"};
