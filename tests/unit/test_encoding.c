/* What frames at rest can be: names, differences and their way back, JPEG files and what they decode to. */
#include "store/format.h"

#include <dlfcn.h>
#include <turbojpeg.h>

#include "sample.h"
#include "store/block.h"

/* --- names ------------------------------------------------------------------------------------------------------ */

UNIT_TEST(names_are_read_back)
{
    static const char *const names[] = {"raw", "jpeg:1", "jpeg:90", "jpeg:100", "jpeg:100:444", "delta"};
    static const char *const others[] = {"",          "jpeg:",    "jpeg:0",      "jpeg:101",     "jpeg:9x", "jpegs",
                                         "jpeg::444", "jpeg:444", "jpeg:90:422", "jpeg:90:444:", "deltas",  "delta:1"};
    struct bl_encoding encoding;
    char name[BL_ENCODING_NAME_MAX];
    for (size_t i = 0; i < COUNT(names); i++) {
        ck_assert(bl_encoding_parse(names[i], &encoding));
        ck_assert_str_eq(bl_encoding_name(&encoding, name), names[i]);
    }
    ck_assert(bl_encoding_parse("jpeg", &encoding));
    ck_assert_str_eq(bl_encoding_name(&encoding, name), "jpeg:90");
    for (size_t i = 0; i < COUNT(others); i++)
        ck_assert_msg(!bl_encoding_parse(others[i], &encoding), "%s", others[i]);
}

UNIT_TEST(pictures_alone_are_taken)
{
    enum { NO, YES, EITHER };
    static const struct {
        struct bl_field field;
        int jpeg, delta;
    } cases[] = {
        {{.dtype = BL_U8, .rank = 3, .shape = {4, 5, 3}}, YES, YES},
        {{.dtype = BL_I8, .rank = 3, .shape = {4, 5, 3}}, NO, EITHER},
        {{.dtype = BL_U8, .rank = 3, .shape = {4, 5, 4}}, EITHER, NO},
        {{.dtype = BL_U8, .rank = 2, .shape = {4, 5, 3}}, EITHER, NO},
        {{.dtype = BL_U8, .rank = 3, .shape = {4, 5, 3}, .pad = 7}, NO, EITHER},
        {{.dtype = BL_U8, .rank = 3, .shape = {65536, 5, 3}}, NO, YES},
        {{.dtype = BL_U8, .rank = 3, .shape = {65535, 5, 3}}, YES, EITHER},
        {{.dtype = BL_U8, .rank = 3, .shape = {65535, 5, 1}}, NO, EITHER}, /* an array may be labels */
        {{.dtype = BL_U8, .rank = 3, .shape = {65535, 5, 1}, .kind = "frames"}, YES, YES},
        {{.dtype = BL_U16, .rank = 3, .shape = {65535, 5, 1}, .kind = "frames"}, EITHER, NO},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int jpeg = bl_encoding_takes(BL_ENCODING_JPEG, &cases[i].field);
        int delta = bl_encoding_takes(BL_ENCODING_DELTA, &cases[i].field);
        ck_assert_msg(cases[i].jpeg == EITHER || jpeg == cases[i].jpeg, "case %zu: JPEG", i);
        ck_assert_msg(cases[i].delta == EITHER || delta == cases[i].delta, "case %zu: delta", i);
    }
}

/* --- differences ------------------------------------------------------------------------------------------------ */

static void fill_at_random(uint8_t *data, size_t size, uint32_t seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        data[i] = (uint8_t)(seed >> 24);
    }
}

/* The definition, one axis after the other, each from its end. */
static void differences_along(uint8_t *data, size_t outer, size_t count, size_t inner)
{
    for (size_t o = 0; o < outer; o++, data += count * inner) {
        for (size_t i = count * inner; i-- > inner;)
            data[i] = (uint8_t)(data[i] - data[i - inner]);
    }
}

UNIT_LOOP(differences_are_along_three_axes_and_undone, 12)
{
    static const int64_t shapes[][3] = {{1, 1, 3},  {1, 7, 3}, {5, 1, 3}, {2, 2, 3}, {3, 16, 3},  {17, 33, 3},
                                        {9, 64, 3}, {1, 1, 1}, {1, 7, 1}, {5, 1, 1}, {17, 33, 1}, {9, 64, 1}};
    enum { PICTURES = 3 };
    const int64_t *shape = shapes[_i];
    size_t height = (size_t)shape[0], width = (size_t)shape[1], channels = (size_t)shape[2];
    size_t size = PICTURES * height * width * channels;
    FREED uint8_t *data = malloc(size), *was = malloc(size), *expected = malloc(size);
    ck_assert(data && was && expected);
    fill_at_random(was, size, (uint32_t)_i + 1);
    memcpy(data, was, size);
    memcpy(expected, was, size);
    differences_along(expected, PICTURES * height * width, channels, 1);
    differences_along(expected, PICTURES, height, width * channels);
    differences_along(expected, PICTURES * height, width, channels);
    bl_delta_encode(data, PICTURES, shape);
    ck_assert_int_eq(memcmp(data, expected, size), 0);
    bl_delta_decode(data, PICTURES, shape);
    ck_assert_int_eq(memcmp(data, was, size), 0);
}

/* --- JPEG ------------------------------------------------------------------------------------------------------- */

#define HEIGHT 18
#define WIDTH 31

static const int64_t coloured[] = {HEIGHT, WIDTH, 3}, turned[] = {WIDTH, HEIGHT, 3}, grey[] = {HEIGHT, WIDTH, 1};

static void paint(uint8_t picture[HEIGHT * WIDTH * 3])
{
    for (int i = 0; i < HEIGHT * WIDTH * 3; i++)
        picture[i] = (uint8_t)(i / 3 * 5 + i % 3 * 60 + i / 200);
}

/* Encodes to memory of its own; *size is the file's. */
static uint8_t *encode(const uint8_t *picture, const int64_t shape[3], const char *name, size_t *size)
{
    struct bl_encoding encoding;
    ck_assert(bl_encoding_parse(name, &encoding));
    struct bl_jpeg_encoder *encoder;
    struct bl_error e = {0};
    uint8_t *file = malloc(bl_jpeg_max_size(shape, &encoding));
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(bl_jpeg_encoder_open(&encoder, &e), 0);
    ck_assert_msg(bl_jpeg_encode(encoder, picture, shape, &encoding, file, size, &e) == 0, "%s", e.text);
    bl_jpeg_encoder_close(encoder);
    return file;
}

static void assert_sampling(const uint8_t *file, size_t size, int expected)
{
    int width, height, sampling, colours;
    tjhandle handle = tjInitDecompress();
    ck_assert_int_eq(tjDecompressHeader3(handle, file, size, &width, &height, &sampling, &colours), 0);
    ck_assert_int_eq(sampling, expected);
    ck_assert_int_eq(colours, TJCS_YCbCr);
    tjDestroy(handle);
}

UNIT_TEST(files_decode_as_the_library_decodes_them)
{
    uint8_t picture[HEIGHT * WIDTH * 3], ours[HEIGHT * WIDTH * 3], theirs[HEIGHT * WIDTH * 3];
    struct bl_jpeg_decoder *decoder;
    size_t size = 0, smaller = 0;
    paint(picture);
    FREED uint8_t *file = encode(picture, coloured, "jpeg:90", &size),
                  *coarse = encode(picture, coloured, "jpeg:20", &smaller);
    ck_assert_uint_lt(smaller, size);
    ck_assert_int_eq(bl_jpeg_decoder_open(&decoder, &e), 0);
    ck_assert_msg(bl_jpeg_decode(decoder, file, size, coloured, ours, &e) == 0, "%s", e.text);
    tjhandle handle = tjInitDecompress();
    ck_assert_int_eq(tjDecompress2(handle, file, size, theirs, WIDTH, 0, HEIGHT, TJPF_RGB, 0), 0);
    ck_assert_int_eq(memcmp(ours, theirs, sizeof ours), 0);
    tjDestroy(handle);
    bl_jpeg_decoder_close(decoder);
    assert_sampling(file, size, TJSAMP_420);
}

/* A JPEG of one component has no colours to lose: equal to the library's, whatever the name says of chroma. */
UNIT_TEST(grey_is_one_component)
{
    uint8_t picture[HEIGHT * WIDTH * 3], back[HEIGHT * WIDTH], theirs[HEIGHT * WIDTH];
    struct bl_jpeg_decoder *decoder;
    size_t size = 0, other = 0;
    paint(picture);
    FREED uint8_t *file = encode(picture, grey, "jpeg:100", &size),
                  *full = encode(picture, grey, "jpeg:100:444", &other);
    ck_assert_uint_eq(size, other);
    ck_assert_int_eq(memcmp(file, full, size), 0);
    ck_assert_int_eq(bl_jpeg_decoder_open(&decoder, &e), 0);
    ck_assert_msg(bl_jpeg_decode(decoder, file, size, grey, back, &e) == 0, "%s", e.text);
    tjhandle handle = tjInitDecompress();
    ck_assert_int_eq(tjDecompress2(handle, file, size, theirs, WIDTH, 0, HEIGHT, TJPF_GRAY, 0), 0);
    tjDestroy(handle);
    ck_assert_int_eq(memcmp(back, theirs, sizeof back), 0);
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        ck_assert_int_le(abs(back[i] - picture[i]), 2);
    FAILS(bl_jpeg_check(decoder, file, size, coloured, &e), BL_EDATA, "a JPEG file without colours");
    free(full);
    full = encode(picture, coloured, "jpeg:90", &other);
    bl_error_clear(&e);
    FAILS(bl_jpeg_check(decoder, full, other, grey, &e), BL_EDATA, "a JPEG file with colours");
    bl_jpeg_decoder_close(decoder);
}

/* Single red and blue pixels on grey keep their colour only where colours have the picture's size. */
UNIT_TEST(full_chroma_keeps_thin_colours)
{
    uint8_t picture[HEIGHT * WIDTH * 3], back[HEIGHT * WIDTH * 3];
    struct bl_jpeg_decoder *decoder;
    int worst[2] = {0};
    for (int i = 0; i < HEIGHT * WIDTH; i++) {
        const uint8_t pixel[2][3] = {{180, 90, 90}, {90, 90, 180}};
        memcpy(picture + 3 * i, pixel[i % WIDTH % 2], 3);
    }
    ck_assert_int_eq(bl_jpeg_decoder_open(&decoder, &e), 0);
    for (int full = 0; full < 2; full++) {
        size_t size = 0;
        FREED uint8_t *file = encode(picture, coloured, full ? "jpeg:95:444" : "jpeg:95", &size);
        assert_sampling(file, size, full ? TJSAMP_444 : TJSAMP_420);
        ck_assert_int_eq(bl_jpeg_decode(decoder, file, size, coloured, back, &e), 0);
        for (int i = 0; i < HEIGHT * WIDTH * 3; i++)
            worst[full] = abs(back[i] - picture[i]) > worst[full] ? abs(back[i] - picture[i]) : worst[full];
    }
    ck_assert_int_gt(worst[0], 40);
    ck_assert_int_lt(worst[1], 10);
    bl_jpeg_decoder_close(decoder);
}

UNIT_TEST(what_is_no_such_file_is_refused)
{
    uint8_t picture[HEIGHT * WIDTH * 3];
    struct bl_jpeg_decoder *decoder;
    size_t size = 0;
    paint(picture);
    FREED uint8_t *file = encode(picture, coloured, "jpeg:90", &size);
    ck_assert_int_eq(bl_jpeg_decoder_open(&decoder, &e), 0);
    FAILS(bl_jpeg_decode(decoder, file, size, turned, picture, &e), BL_EDATA, "a JPEG file of 31x18 instead of 18x31");
    ck_assert_int_eq(bl_jpeg_check(decoder, file, 0, coloured, &e), BL_EDATA);
    bl_error_clear(&e);
    ck_assert_int_eq(bl_jpeg_check(decoder, file, size, coloured, &e), 0);
    for (size_t cut = 1; cut < size; cut += 7) {
        ck_assert_int_eq(bl_jpeg_decode(decoder, file, size - cut, coloured, picture, &e), BL_EDATA);
        bl_error_clear(&e);
    }
    file[0] = 'x';
    ck_assert_int_eq(bl_jpeg_check(decoder, file, size, coloured, &e), BL_EDATA);
    bl_jpeg_decoder_close(decoder);
}

UNIT_LOOP(the_environment_decides_nothing, 4)
{
    static const char *const names[] = {"TJ_OPTIMIZE", "TJ_ARITHMETIC", "TJ_RESTART", "TJ_PROGRESSIVE"};
    uint8_t picture[HEIGHT * WIDTH * 3];
    size_t size = 0, other = 0;
    paint(picture);
    FREED uint8_t *file = encode(picture, coloured, "jpeg:90", &size);
    ck_assert_int_eq(setenv(names[_i], "1", 1), 0);
    FREED uint8_t *different = encode(picture, coloured, "jpeg:90", &other); /* or this test says nothing */
    if (!dlsym(RTLD_DEFAULT, "tj3Init")) /* libjpeg-turbo 3 does not heed them here */
        ck_assert(other != size || memcmp(file, different, size) != 0);
    bl_jpeg_forget_environment();
    FREED uint8_t *same = encode(picture, coloured, "jpeg:90", &other);
    ck_assert_uint_eq(other, size);
    ck_assert_int_eq(memcmp(file, same, size), 0);
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* A block of three places, of which the second failed, in 12 steps: starts 0, 3, 8 (aligned), lengths 2, 4, 2. */
static void three_places(struct bl_block *block, const struct bl_format *format)
{
    static const int32_t cu_seqlens[] = {0, 3, 8, 10};
    static const int32_t length[] = {2, 4, 2};
    struct bl_error e = {0};
    ck_assert_int_eq(bl_block_make(block, 1, format, true, &e), 0);
    block->num_sequences = 3;
    memcpy(block->cu_seqlens, cu_seqlens, sizeof cu_seqlens);
    memcpy(block->length, length, sizeof length);
    fill_at_random(block->field[0], bl_format_block_bytes(format, 0), 5);
    bl_block_fail(block, format, 1);
}

static const struct bl_format twelve = {
    .T = 12,
    .S = 3,
    .blocks = 1,
    .blocks_per_shard = 1,
    .fields = {.count = 1, .field = {{.name = "frames", .dtype = BL_U8, .rank = 3, .shape = {4, 5, 3}}}},
    .encoding = {{.kind = BL_ENCODING_JPEG, .quality = 80}}};

UNIT_LOOP(steps_have_files_where_sequences_lie, 2)
{
    OWNED(bl_block_free) struct bl_block block;
    struct bl_codec *codec;
    int64_t offsets[13];
    const uint8_t *bytes;
    struct bl_format format = twelve;
    format.pad_repeat = _i == 1;
    three_places(&block, &format);
    ck_assert_int_eq(bl_codec_open(&format, &codec, &e), 0);
    ck_assert_int_eq(bl_codec_encode_jpeg(codec, &block, 0, offsets, &bytes, &e), 0);
    ck_assert_int_eq(offsets[0], 0);
    /* Their own: 0 1, 8 9; zeros: 3 to 7; padding: 2, 10 11. */
    static const char own[] = "xx......xx..", again[] = "..x.......xx";
    for (int t = 0; t < 12; t++) {
        int64_t size = offsets[t + 1] - offsets[t];
        bool has = own[t] == 'x' || (again[t] == 'x' && _i == 1);
        ck_assert_msg((size > 0) == has, "step %d has %d bytes", t, (int)size);
        if (size && again[t] == 'x')
            ck_assert_int_eq(memcmp(bytes + offsets[t], bytes + offsets[t - 1], (size_t)size), 0);
    }
    ck_assert_int_eq(bl_codec_check_offsets(&twelve, offsets, offsets[12]), -1);
    ck_assert_int_eq(bl_codec_check_offsets(&twelve, offsets, offsets[12] - 1), _i == 1 ? 11 : 9);
    offsets[1] = -1;
    ck_assert_int_eq(bl_codec_check_offsets(&twelve, offsets, offsets[12]), 0);
    bl_codec_close(codec);
}

UNIT_TEST(a_block_of_padding_is_empty)
{
    OWNED(bl_block_free) struct bl_block block;
    uint8_t step[12];
    ck_assert_int_eq(bl_block_make(&block, 1, &twelve, false, &e), 0);
    for (int repeat = 0; repeat < 2; repeat++) {
        struct bl_format format = twelve;
        format.pad_repeat = repeat;
        memset(step, 99, sizeof step);
        bl_block_steps(&block, &format, step);
        for (int t = 0; t < 12; t++)
            ck_assert_int_eq(step[t], BL_STEP_EMPTY);
    }
}
