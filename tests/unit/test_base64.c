#include "base/text.h"
#include "unit.h"

UNIT_TEST(known_answers)
{
    static const char *const pairs[][2] = {{"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
                                           {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xfb\xff\xfe", "+//+"}};
    for (size_t i = 0; i < COUNT(pairs); i++) {
        OWNED(bl_buffer_free) struct bl_buffer out = {0};
        bl_buffer_text(&out, "");
        bl_base64_append(&out, pairs[i][0], strlen(pairs[i][0]));
        ck_assert_uint_eq(out.size, strlen(pairs[i][1]));
        ck_assert_int_eq(memcmp(out.data, pairs[i][1], out.size), 0);
        ck_assert_int_eq(bl_base64_decode(out.data, out.size), (int64_t)strlen(pairs[i][0]));
        ck_assert_int_eq(memcmp(out.data, pairs[i][0], strlen(pairs[i][0])), 0);
    }
    char folded[] = " Zm9v\n  Yg==\n";
    ck_assert_int_eq(bl_base64_decode(folded, strlen(folded)), 4);
    ck_assert_int_eq(memcmp(folded, "foob", 4), 0);
}

UNIT_TEST(what_is_none)
{
    static const char *const bad[] = {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zg=v", "Zh==", "Zm9!", "Zm\xff="};
    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[16];
        strcpy(text, bad[i]);
        ck_assert_msg(bl_base64_decode(text, strlen(text)) < 0, "took \"%s\"", bad[i]);
    }
}
