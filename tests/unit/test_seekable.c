#include "store/shard_reader.h"
#include "unit.h"

#define PARTS 3

/* A seekable file in memory: parts of different compressibility, then the table. */
struct file {
    uint8_t part[PARTS][5000];
    size_t size[PARTS];
    struct bl_buffer bytes;
    size_t table; /* its size */
};

static void make(struct file *file)
{
    struct bl_compressor *compressor;
    OWNED(bl_buffer_free) struct bl_buffer entries = {0}, table = {0};
    struct bl_error e = {0};
    *file = (struct file){.size = {5000, 1, 4096}};
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof file->part[2]; i++)
        file->part[2][i] = (uint8_t)((state = state * 1664525 + 1013904223) >> 24);
    memset(file->part[0], 'x', sizeof file->part[0]);
    ck_assert_int_eq(bl_compressor_open(3, &compressor, &e), 0);
    for (int i = 0; i < PARTS; i++) {
        struct bl_zstd_frame frame;
        ck_assert_int_eq(bl_compressor_frame(compressor, file->part[i], file->size[i], &frame, &e), 0);
        ck_assert_uint_eq(frame.content, file->size[i]);
        bl_seekable_entry(&entries, &frame);
        bl_buffer_append(&file->bytes, frame.data, frame.size);
        bl_zstd_frame_free(&frame);
    }
    ck_assert_int_eq(bl_seekable_table(&entries, &table, &e), 0);
    bl_buffer_append(&file->bytes, table.data, table.size);
    file->table = table.size;
    bl_compressor_close(compressor);
}

static int parse(const struct file *file, struct bl_seekable *out, struct bl_error *e)
{
    const uint8_t *end = (const uint8_t *)file->bytes.data + file->bytes.size;
    int64_t size = 0;
    int code = bl_seekable_footer(end - BL_SEEKABLE_FOOTER, (int64_t)file->bytes.size, &size, e);
    if (!code && size != (int64_t)file->table)
        code = bl_error_set(e, BL_EDATA, "another size");
    return code ? code : bl_seekable_parse(end - size, (size_t)size, (int64_t)file->bytes.size, out, e);
}

UNIT_TEST(frames_come_back_by_the_table)
{
    struct file file;
    OWNED(bl_seekable_free) struct bl_seekable s;
    struct bl_decompressor *decompressor;
    uint8_t out[5000];
    make(&file);
    ck_assert_msg(parse(&file, &s, &e) == 0, "%s", e.text);
    ck_assert_uint_eq(s.frames, PARTS);
    ck_assert_int_eq(s.frame[PARTS].content, 5000 + 1 + 4096);
    ck_assert_int_eq(bl_decompressor_open(&decompressor, &e), 0);
    for (int i = PARTS; i-- > 0;) {
        ck_assert_msg(
            bl_decompressor_frame(decompressor, &s, (size_t)i, file.bytes.data + s.frame[i].offset, out, &e) == BL_OK,
            "%s", e.text);
        ck_assert_int_eq(memcmp(out, file.part[i], file.size[i]), 0);
    }
    bl_decompressor_close(decompressor);
    bl_buffer_free(&file.bytes);
}

UNIT_TEST(the_same_bytes_whatever_came_before)
{
    struct file first, second;
    make(&first);
    make(&second);
    ck_assert_uint_eq(first.bytes.size, second.bytes.size);
    ck_assert_int_eq(memcmp(first.bytes.data, second.bytes.data, first.bytes.size), 0);
    bl_buffer_free(&first.bytes);
    bl_buffer_free(&second.bytes);
}

/* Whether the file, as it is now, is refused somewhere. What is not refused must be what was written: a few bits mean
 * nothing to a decoder (reserved ones, say), and only the checksum over the compressed bytes knows them. */
static bool is_refused(const struct file *file, struct bl_decompressor *decompressor)
{
    OWNED(bl_seekable_free) struct bl_seekable s = {0};
    struct bl_error e = {0};
    uint8_t out[5000];
    bool refused = parse(file, &s, &e) != 0 || s.frames != PARTS;
    for (size_t i = 0; i < PARTS && !refused; i++) {
        refused = s.frame[i + 1].content - s.frame[i].content != (int64_t)file->size[i] ||
                  bl_decompressor_frame(decompressor, &s, i, file->bytes.data + s.frame[i].offset, out, &e) != 0;
        ck_assert(refused || memcmp(out, file->part[i], file->size[i]) == 0);
    }
    return refused;
}

UNIT_TEST(no_flipped_bit_gives_other_content)
{
    struct file file;
    struct bl_decompressor *decompressor;
    make(&file);
    ck_assert_int_eq(bl_decompressor_open(&decompressor, &e), 0);
    ck_assert(!is_refused(&file, decompressor));
    size_t flipped = 0, refused = 0, bits = file.bytes.size * 8;
    for (size_t bit = 0; bit < bits; bit += bit < 400 || bit > bits - 480 ? 1 : 61, flipped++) {
        char *at = file.bytes.data + bit / 8;
        *at = (char)(*at ^ 1 << bit % 8);
        refused += is_refused(&file, decompressor);
        *at = (char)(*at ^ 1 << bit % 8);
    }
    ck_assert_uint_gt(refused, flipped - 20);
    bl_decompressor_close(decompressor);
    bl_buffer_free(&file.bytes);
}

/* Writes a number into the table, and tells what the parser says. */
static int with_number(struct file *file, size_t from_end, uint32_t number, struct bl_error *e)
{
    uint32_t before;
    char *at = file->bytes.data + file->bytes.size - from_end;
    OWNED(bl_seekable_free) struct bl_seekable s = {0};
    memcpy(&before, at, sizeof before);
    memcpy(at, &number, sizeof number);
    bl_error_clear(e);
    int code = parse(file, &s, e);
    memcpy(at, &before, sizeof before);
    return code;
}

UNIT_TEST(sizes_that_cannot_be_are_refused)
{
    struct file file;
    make(&file);
    size_t entry = BL_SEEKABLE_FOOTER + 12; /* the last one, from the end */
    FAILS_WITH(with_number(&file, 9, UINT32_MAX, &e), BL_EDATA, "larger than the file");
    ck_assert_int_eq(with_number(&file, 9, PARTS - 1, &e), BL_EDATA);
    FAILS_WITH(with_number(&file, entry, UINT32_MAX, &e), BL_EDATA, "invalid size");
    FAILS_WITH(with_number(&file, entry, 0, &e), BL_EDATA, "frames of the seek table end");
    FAILS_WITH(with_number(&file, entry - 4, BL_FRAME_MAX + 1, &e), BL_EDATA, "invalid size");
    FAILS_WITH(with_number(&file, 4, 0, &e), BL_EDATA, "no seek table at the end");
    ck_assert_int_eq(with_number(&file, file.table, 0, &e), BL_EDATA);
    bl_buffer_free(&file.bytes);
}

UNIT_TEST(a_short_table_is_refused)
{
    static const uint8_t bytes[16] = {0};
    struct bl_seekable s;
    ck_assert_int_eq(bl_seekable_parse(bytes, sizeof bytes, sizeof bytes, &s, &e), BL_EDATA);
    ck_assert_ptr_null(s.frame);
}

UNIT_TEST(a_frame_over_the_limit_is_refused)
{
    struct bl_compressor *compressor;
    struct bl_zstd_frame frame;
    ck_assert_int_eq(bl_compressor_open(22, &compressor, &e), 0);
    ck_assert_int_eq(bl_compressor_frame(compressor, &e, BL_FRAME_MAX + 1, &frame, &e), BL_EFAIL);
    ck_assert_ptr_null(frame.data);
    bl_compressor_close(compressor);
}
