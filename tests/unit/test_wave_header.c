/* Headers of WAV files, to the byte; sizes beyond 32 bits cannot be tried on files. */
#include "kind/audio/audio.h"
#include "unit.h"

static void header_is(const struct bl_wave_header *header, const char *expected, size_t expected_size)
{
    char out[BL_WAVE_HEADER_MAX];
    size_t size;
    struct bl_error e = {0};
    ck_assert_msg(!bl_wave_header_format(header, out, &size, &e), "%s", e.text);
    ck_assert_uint_eq(size, expected_size);
    ck_assert_int_eq(memcmp(out, expected, size), 0);
}

UNIT_TEST(known_answers)
{
    static const char pcm[] = "RIFF\x38\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0\x44\xac\0\0\x10\xb1\2\0\4\0\x10\0"
                              "data\x14\0\0\0";
    static const char real[] = "RIFF\x4a\0\0\0WAVEfmt \x12\0\0\0\3\0\1\0\x80\x3e\0\0\0\xfa\0\0\4\0\x20\0\0\0"
                               "fact\4\0\0\0\6\0\0\0data\x18\0\0\0";
    header_is(&(struct bl_wave_header){BL_I16, 44100, 2, 5}, pcm, sizeof pcm - 1);
    header_is(&(struct bl_wave_header){BL_F32, 16000, 1, 6}, real, sizeof real - 1);
}

/* The largest that RIFF holds, and one sample more. */
UNIT_TEST(large)
{
    static const char most[] = "RIFF\xfe\xff\xff\xffWAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0"
                               "data\xda\xff\xff\xff";
    static const char more[] = "RF64\xff\xff\xff\xffWAVEds64\x1c\0\0\0\x24\0\0\0\1\0\0\0\xdc\xff\xff\xff\0\0\0\0"
                               "\xee\xff\xff\x7f\0\0\0\0\0\0\0\0fmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0"
                               "\x10\0data\xff\xff\xff\xff";
    header_is(&(struct bl_wave_header){BL_I16, 8000, 1, 0x7fffffed}, most, sizeof most - 1);
    header_is(&(struct bl_wave_header){BL_I16, 8000, 1, 0x7fffffee}, more, sizeof more - 1);
}

UNIT_TEST(refused)
{
    static const struct bl_wave_header none[] = {{BL_F64, 8000, 1, 1},    {BL_I16, 0, 1, 1},
                                                 {BL_I16, 8000, 0, 1},    {BL_I16, 8000, 16384, 1},
                                                 {BL_I16, 1 << 30, 1, 1}, {BL_I16, 8000, 1, INT64_MAX}};
    char out[BL_WAVE_HEADER_MAX];
    for (size_t i = 0; i < COUNT(none); i++) {
        size_t size;
        bl_error_clear(&e);
        ck_assert_int_eq(bl_wave_header_format(&none[i], out, &size, &e), BL_EUSAGE);
        ck_assert_uint_eq(size, 0);
    }
}
