#include "kind/text/normal_form.h"
#include "kind/text/pre_tokenizer.h"
#include "kind/text/wordpiece.h"
#include "unit.h"

static void normalize(struct bl_bert_options options, const char *text, size_t size, const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    struct bl_error e = {0};
    bl_buffer_text(&out, "");
    ck_assert_int_eq(bl_bert_normalize(&options, text, size, &out, &e), 0);
    ck_assert_str_eq(out.data, expected);
}

UNIT_TEST(normalizer)
{
    static const struct bl_bert_options none = {0}, clean = {.clean_text = true},
                                        chinese = {.handle_chinese_chars = true}, strip = {.strip_accents = true},
                                        lower = {.lowercase = true}, all = {true, true, true, true};
    static const char text[] = "a\0\x01\u00adB\t\u3000\u00c9\u4e2d\u0130";
    normalize(none, "", 0, "");
    normalize(all, "", 0, "");
    normalize(clean, text, sizeof text - 1, "aB  \u00c9\u4e2d\u0130");
    normalize(chinese, "x\u4e2d\u6587\u3042", 10, "x \u4e2d  \u6587 \u3042");
    normalize(strip, "\u00c9\u1ead\uac00\u0903", 11, "Ea\u1100\u1161\u0903");
    normalize(lower, "\u00c9\u0130\u03a3\u1e9e", 9, "\u00e9i\u0307\u03c3\u00df");
    normalize(all, text, sizeof text - 1, "ab  e \u4e2d i");
}

UNIT_TEST(splits)
{
    static const char text[] = " Hey, you\u3000\"there\"\u2026 50$!";
    static const char *const words[] = {"Hey", ",", "you", "\"", "there", "\"", "\u2026", "50", "$", "!"};
    OWNED(bl_spans_free) struct bl_spans spans = {0};
    ck_assert_int_eq(bl_bert_split(text, strlen(text), &spans, &e), 0);
    ck_assert_uint_eq(spans.count, COUNT(words));
    for (size_t i = 0; i < spans.count; i++) {
        size_t size = spans.span[i].end - spans.span[i].begin;
        ck_assert_uint_eq(size, strlen(words[i]));
        ck_assert_int_eq(memcmp(text + spans.span[i].begin, words[i], size), 0);
    }
}
