#include "base/text.h"
#include "unit.h"

/* An assertion of Check costs more than what is asserted here a million times. */
UNIT_TEST(every_code_point)
{
    for (uint32_t c = 0; c < 0x110000; c++) {
        if (c == 0xd800)
            c = 0xe000;
        char text[BL_UTF8_MAX];
        uint32_t back;
        size_t size = bl_utf8_encode(c, text);
        if (bl_utf8_valid(text, size) != size || bl_utf8_decode(text, &back) != size || back != c)
            ck_abort_msg("U+%04X", (unsigned)c);
        if (bl_utf8_valid(text, size - 1) != 0)
            ck_abort_msg("U+%04X without its last byte", (unsigned)c);
    }
}

/* The first bad byte is found wherever it lies: the words of the fast way have ends. */
UNIT_TEST(first_bad_byte)
{
    char text[100];
    for (size_t size = 0; size < sizeof text; size++) {
        memset(text, 'a', sizeof text);
        ck_assert_uint_eq(bl_utf8_valid(text, size), size);
        for (size_t at = 0; at < size; at++) {
            text[at] = (char)0x80;
            ck_assert_uint_eq(bl_utf8_valid(text, size), at);
            text[at] = 'a';
        }
    }
}

/* The examples of The Unicode Standard, tables 3-8 to 3-11, and the ends of every range. */
UNIT_TEST(maximal_subparts)
{
#define BAD "\xef\xbf\xbd"
    static const struct {
        const char *text, *expected;
        int64_t replaced;
    } known[] = {
        {"", "", 0},
        {"plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "plain \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 0},
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", BAD BAD BAD BAD BAD BAD BAD BAD "A", 8},
        {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", BAD BAD BAD BAD BAD BAD BAD BAD "A", 8},
        {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", BAD BAD BAD BAD BAD "A" BAD BAD "B", 7},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", BAD BAD BAD BAD "A", 4},
        {"\xf4\x8f\xbf\xbf\xf4\x90", "\xf4\x8f\xbf\xbf" BAD BAD, 2},
        {"\xf0\x90\x80", BAD, 1},
        {"\xc2", BAD, 1},
        {"\xef\xbb\xbf", "\xef\xbb\xbf", 0},
    };
#undef BAD
    for (size_t i = 0; i < COUNT(known); i++) {
        OWNED(bl_buffer_free) struct bl_buffer out = {0};
        int64_t replaced = 100;
        bl_buffer_text(&out, "");
        ck_assert_int_eq(bl_text_replace_invalid(known[i].text, strlen(known[i].text), &out, &replaced), 0);
        ck_assert_str_eq(out.data, known[i].expected);
        ck_assert_int_eq(replaced, 100 + known[i].replaced);
    }
}
