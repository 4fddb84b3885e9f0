#include "kind/text/grammar.h"
#include "base/buffer.h"
#include "unit.h"

#define NUMBERS "\\p{N}{1,3}"
#define IDEOGRAPHS "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
#define WORDS                                                                                                          \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "                \
    "?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"

static enum bl_grammar find(const char *pattern)
{
    return bl_grammar_find(pattern, strlen(pattern), true);
}

/* The words, in a copy of exactly their size so that sanitizers see what is read, by few and by many at once. */
static void words(enum bl_grammar grammar, const char *text, const char *expected)
{
    size_t size = strlen(text), end[100];
    FREED uint8_t *copy = malloc(size);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, size);
    for (size_t max = 1; max <= COUNT(end); max += 99) {
        OWNED(bl_buffer_free) struct bl_buffer out = {0};
        for (size_t at = 0, from = 0; at < size;) {
            size_t n = bl_grammar_split(grammar, copy, size, &at, end, max);
            for (size_t i = 0; i < n; from = end[i++])
                bl_buffer_printf(&out, "(%.*s)", (int)(end[i] - from), text + from);
        }
        ck_assert_str_eq(out.data, expected);
    }
}

UNIT_TEST(deepseek)
{
    enum bl_grammar head = bl_grammar_join(find(NUMBERS), find(IDEOGRAPHS)), all = bl_grammar_join(head, find(WORDS));
    ck_assert_int_ne(all, BL_GRAMMAR_NONE);
    words(find(NUMBERS), "ab12345c6", "(ab)(123)(45)(c)(6)");
    words(find(IDEOGRAPHS), "a\u4e00\u3042\u30fb\u9fa6 ", "(a)(\u4e00\u3042\u30fb)(\u9fa6 )");
    words(find(WORDS),
          "it's !!a 12 b\x01\x02\x03"
          "c",
          "(it)('s)( !!)(a)( )(12)( b)(\x01\x02)(\x03"
          "c)");
    words(head, "a1\u4e00b", "(a)(1)(\u4e00)(b)");
    words(all, "x  1 +2\n\n \u4e00\u30fb\u30a2 $a\u00e9",
          "(x)(  )(1)( +)(2)(\n\n)( )(\u4e00)(\u30fb)(\u30a2)( $)(a\u00e9)");
    words(all, "don't  stop 2024!\n\x7f\x7f", "(don)('t)( )( stop)( )(202)(4)(!\n)(\x7f\x7f)");
    words(all, "$a\u00e9 \u3097\u3042", "($a)(\u00e9)( )(\u3097\u3042)");
}

/* Marks are letters of Qwen 3.5's words, and of no others'. */
UNIT_TEST(marks)
{
    words(BL_GRAMMAR_QWEN, "a!\u0301\u0301b 12", "(a)(!\u0301\u0301)(b)( )(1)(2)");
    words(BL_GRAMMAR_QWEN35, "a!\u0301\u0301b 12", "(a)(!\u0301\u0301b)( )(1)(2)");
}

/* Digits has numbers of Unicode 17, patterns those of 16. */
UNIT_TEST(numbers_of_two_versions)
{
    words(BL_GRAMMAR_DIGITS, "a\U00011de012\U00016ff6\U00016ff7", "(a)(\U00011de0)(1)(2)(\U00016ff6)(\U00016ff7)");
    words(BL_GRAMMAR_DIGIT_RUNS, "a\U00011de91b", "(a)(\U00011de91)(b)");
    words(find(NUMBERS), "a\U00011de01", "(a\U00011de0)(1)");
}

UNIT_TEST(grammars_are_found)
{
    ck_assert_int_eq(find("x"), BL_GRAMMAR_NONE);
    ck_assert_int_eq(bl_grammar_find(NUMBERS, strlen(NUMBERS), false), BL_GRAMMAR_NONE);
    ck_assert_int_eq(bl_grammar_join(find(IDEOGRAPHS), find(NUMBERS)), BL_GRAMMAR_NONE);
    ck_assert_int_eq(bl_grammar_join(BL_GRAMMAR_GPT2, BL_GRAMMAR_GPT2), BL_GRAMMAR_NONE);
}
