#include "base/checksum.h"
#include "unit.h"

#define ROOM ((size_t)3 << 20)

static uint8_t *bytes_make(void)
{
    uint8_t *bytes = malloc(ROOM);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < ROOM; i++)
        bytes[i] = (uint8_t)(i * 7 + (i >> 8) * 11 + (i >> 16));
    return bytes;
}

/* Loops made for the processor at hand give what the library's own give, for short inputs and long, wherever they lie.
 */
UNIT_TEST(it_is_xxh3_of_the_library)
{
    static const size_t sizes[] = {0, 1, 16, 128, 129, 240, 241, 1023, 1024, 1025, 150528, (1 << 20) + 13, ROOM - 64};
    FREED uint8_t *bytes = bytes_make();
    for (size_t i = 0; i < COUNT(sizes); i++) {
        for (size_t at = 0; at < 64; at += 21)
            ck_assert_uint_eq(bl_checksum(bytes + at, sizes[i]), XXH3_64bits(bytes + at, sizes[i]));
    }
}

UNIT_TEST(pieces_give_what_the_whole_gives)
{
    static const size_t pieces[] = {1, 63, 64, 255, 256, 257, 4096, 150528, ROOM};
    FREED uint8_t *bytes = bytes_make();
    for (size_t i = 0; i < COUNT(pieces); i++) {
        size_t size = pieces[i] < 4096 ? 10000 : ROOM;
        struct bl_checksum_state state;
        bl_checksum_begin(&state);
        for (size_t at = 0; at < size; at += pieces[i])
            bl_checksum_add(&state, bytes + at, size - at < pieces[i] ? size - at : pieces[i]);
        ck_assert_uint_eq(bl_checksum_end(&state), XXH3_64bits(bytes, size));
    }
}

UNIT_TEST(digits_go_there_and_back)
{
    char digest[BL_DIGEST_SIZE];
    uint64_t checksum = 0;
    bl_checksum_format(0x0123456789abcdefu, digest);
    ck_assert_str_eq(digest, "0123456789abcdef");
    ck_assert(bl_checksum_parse(digest, &checksum));
    ck_assert_uint_eq(checksum, 0x0123456789abcdefu);
    ck_assert(!bl_checksum_parse("0123456789abcde", &checksum));
    ck_assert(!bl_checksum_parse("0123456789ABCDEF", &checksum));
}
