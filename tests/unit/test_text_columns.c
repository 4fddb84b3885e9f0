/* Columns of text on a terminal, and texts that are cut to so many. */
#include "base/text.h"
#include "unit.h"

static void end_is(const char *text, const char *mark, int columns, const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_columns_append_end(&out, text, mark, columns);
    ck_assert_str_eq(out.data ? out.data : "", expected);
}

UNIT_TEST(characters_take_one_or_two)
{
    ck_assert_int_eq(bl_columns_of(""), 0);
    ck_assert_int_eq(bl_columns_of("abc"), 3);
    ck_assert_int_eq(bl_columns_of("caf\xc3\xa9"), 4);
    ck_assert_int_eq(bl_columns_of("一a二"), 5);
    ck_assert_int_eq(bl_columns_of("ế… –"), 4);
    ck_assert_int_eq(bl_columns_of("\xff\xc3z"), 3); /* bytes that are no characters */
    ck_assert_int_eq(bl_columns_of("\xe4\xb8"), 2);
}

UNIT_TEST(long_texts_keep_their_end)
{
    end_is("folder/file", "..", 11, "folder/file");
    end_is("folder/file", "..", 10, "..der/file");
    end_is("folder/file", "…", 5, "…file");
    end_is("folder/file", "..", 2, "..");
    end_is("一二三", "..", 6, "一二三");
    end_is("一二三", "..", 5, "..三"); /* no half characters */
    end_is("", "..", 0, "");
}

UNIT_TEST(what_cannot_be_seen_is_masked)
{
    end_is("a\033[31m\nb\xff", "..", 20, "a?[31m?b?");
    end_is("0123456\033[2J", "..", 8, "..56?[2J");
}
