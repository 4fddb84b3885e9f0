#include "kind/text/normal_form.h"
#include "unit.h"

static void expect(enum bl_normal_form form, const char *text, const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_buffer_text(&out, "");
    ck_assert_int_eq(bl_normal_form_apply(form, text, strlen(text), &out), 0);
    ck_assert_str_eq(out.data, expected);
    size_t prefix = bl_normal_form_prefix(form, text, strlen(text));
    ck_assert_uint_le(prefix, strlen(text));
    ck_assert_int_eq(memcmp(text, expected, prefix), 0);
}

UNIT_TEST(letters_and_marks)
{
    expect(BL_NFC, "", "");
    expect(BL_NFC, "plain\n", "plain\n");
    expect(BL_NFC, "e\u0301t\u00e9", "\u00e9t\u00e9");
    expect(BL_NFD, "\u00e9t\u00e9", "e\u0301te\u0301");
    expect(BL_NFC, "\u0301e", "\u0301e");
    expect(BL_NFC, "a\u0302\u0323", "\u1ead"); /* the lower mark goes first, then both compose */
    expect(BL_NFD, "\u1ead", "a\u0323\u0302");
    expect(BL_NFC, "a\u0334\u0301", "\u00e1\u0334");
    expect(BL_NFC, "a\u0345\u0345\u0301", "\u00e1\u0345\u0345");
    expect(BL_NFC, "\u212b \u2126", "\u00c5 \u03a9");
    expect(BL_NFC, "\u0958", "\u0915\u093c"); /* does not compose again */
    expect(BL_NFC, "\ufb01", "\ufb01");
    expect(BL_NFKC, "\ufb01\u2075\uff76\uff9e", "fi5\u30ac");
    expect(BL_NFKD, "\u1e9b\u0323", "s\u0323\u0307");
}

UNIT_TEST(hangul)
{
    expect(BL_NFC, "\u1112\u1161\u11ab\u1100\u1173\u11af", "\ud55c\uae00");
    expect(BL_NFC, "\ud558\u11ab", "\ud55c");
    expect(BL_NFC, "\ud55c\u11ab", "\ud55c\u11ab"); /* is complete */
    expect(BL_NFD, "\ud55c\uae00\ud558", "\u1112\u1161\u11ab\u1100\u1173\u11af\u1112\u1161");
}

/* What came after Unicode 9 is no mark, and does not decompose. */
UNIT_TEST(later_versions)
{
    expect(BL_NFC, "\U000113c2\U000113c2", "\U000113c2\U000113c2");
    expect(BL_NFD, "\U00011938", "\U00011938");
    expect(BL_NFC, "a\u0898\u0301", "a\u0898\u0301");
    expect(BL_NFC, "e\u0897\u0323", "e\u0897\u0323");
    /* Of Unicode 16. */
    expect(BL_NFC_16, "e\u0897\u0323", "\u1eb9\u0897");
    expect(BL_NFC_16, "\U00016d67\U00016d67 e\u0301", "\U00016d68 \u00e9");
    expect(BL_NFC_16, "\u00e9\u0323 \ud558\u11ab", "\u1eb9\u0301 \ud55c");
    expect(BL_NFKC, "\u32ff", "\u32ff");
}

UNIT_TEST(quick_check)
{
    ck_assert_uint_eq(bl_normal_form_prefix(BL_NFC, "\u00e9t\u00e9 \u4e16", 9), 9);
    ck_assert_uint_eq(bl_normal_form_prefix(BL_NFC, "\ud55c\uae00", 6), 6);
    ck_assert_uint_eq(bl_normal_form_prefix(BL_NFC, "abc e\u0301", 7), 4); /* the letter goes with its mark */
    ck_assert_uint_eq(bl_normal_form_prefix(BL_NFD, "abc\u00e9", 5), 2);
    ck_assert_uint_eq(bl_normal_form_prefix(BL_NFD, "\u0301", 2), 0);
}
