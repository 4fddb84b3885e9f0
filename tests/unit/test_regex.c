#include "kind/text/regex.h"
#include "unit.h"

UNIT_TEST(patterns_are_translated)
{
    static const char *const known[][2] = {
        {"", ""},
        {"'s|\\p{L}+| ?[^\\r\\n\\p{N}]", "'s|\\p{L}+| ?[^\\r\\n\\p{N}]"},
        {"\\s+(?!\\S)", "\\p{White_Space}+(?!\\P{White_Space})"},
        {"[a[b-]c]", "[ab\\-c]"},
        {"[^(|[.,])]", "[^(|.,)]"},
        {"[[:^alpha:]]", "[\\P{Alphabetic}]"},
        {"\\p{^Decimal_Number}\\p{Han}", "\\p{^Nd}\\p{sc:Han}"},
        {"a{,3}b{c{2}", "a{0,3}b{c{2}"},
        {"(?m-i:.)(?<n>a)", "(?s-i:.)(?<n>a)"},
        {"\\u00e9\\v", "\\x{00e9}\\x0b"},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        OWNED(bl_buffer_free) struct bl_buffer out = {0};
        bl_buffer_text(&out, "");
        ck_assert_int_eq(bl_regex_translate(known[i][0], strlen(known[i][0]), &out, &e), 0);
        ck_assert_str_eq(out.data, known[i][1]);
    }
}

/* What is not supported, or is no expression, is told with its offset in the pattern as it is written. */
UNIT_TEST(bad_patterns)
{
    static const struct {
        const char *pattern, *offset;
    } bad[] = {
        {"ab(c", "offset 4 "},          {"\\s\\s)", "offset "},         {"\\s[a", "offset 4 "},
        {"x[a&&[^b]]", "offset 3 "},    {"x[a[^b]]", "offset 3 "},      {"\\w[\\H]", "offset 3 "},
        {"a\\Qb", "offset 1 "},         {"a(*ACCEPT)", "offset 1 "},    {"a(?i)b", "offset 1 "},
        {"a{1,3}+", "offset 1 "},       {"[[:graph:]]", "offset 1 "},   {"\\u12", "offset 0 "},
        {"\\p{Nowhere}", "offset 11 "}, {"\\s*(?<=\\s+)", "offset 3 "},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct bl_regex *regex;
        bl_error_clear(&e);
        ck_assert_int_eq(bl_regex_open(&regex, bad[i].pattern, strlen(bad[i].pattern), false, &e), BL_EDATA);
        ck_assert_ptr_null(regex);
        ck_assert_msg(!strncmp(e.text, bad[i].offset, strlen(bad[i].offset)), "%s: %s", bad[i].pattern, e.text);
    }
}

static void split(const char *pattern, enum bl_behavior how, const char *text, const char *expected)
{
    struct bl_regex *regex;
    struct bl_matcher *matcher;
    OWNED(bl_spans_free) struct bl_spans spans = {0};
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    struct bl_error e = {0};
    ck_assert_msg(!bl_regex_open(&regex, pattern, strlen(pattern), false, &e), "%s", e.text);
    ck_assert_int_eq(bl_matcher_open(&matcher, &e), 0);
    ck_assert_msg(!bl_regex_split(regex, matcher, how, false, text, strlen(text), &spans, &e), "%s", e.text);
    for (size_t i = 0; i < spans.count; i++)
        bl_buffer_printf(&out, "(%.*s)", (int)(spans.span[i].end - spans.span[i].begin), text + spans.span[i].begin);
    ck_assert_str_eq(spans.count ? out.data : "", expected);
    bl_matcher_close(matcher);
    bl_regex_close(regex);
}

UNIT_TEST(behaviors)
{
    split("-", BL_BEHAVIOR_ISOLATED, "the-final--countdown", "(the)(-)(final)(-)(-)(countdown)");
    split("-", BL_BEHAVIOR_REMOVED, "the-final--countdown", "(the)(final)(countdown)");
    split("-", BL_BEHAVIOR_MERGED_WITH_PREVIOUS, "the-final--countdown", "(the-)(final-)(-)(countdown)");
    split("-", BL_BEHAVIOR_MERGED_WITH_NEXT, "the-final--countdown", "(the)(-final)(-)(-countdown)");
    split("-", BL_BEHAVIOR_CONTIGUOUS, "the-final--countdown", "(the)(-)(final)(--)(countdown)");
    split("-", BL_BEHAVIOR_ISOLATED, "", "");
    split("-", BL_BEHAVIOR_REMOVED, "--", "");
    split("x*", BL_BEHAVIOR_ISOLATED, "abx\u00e9", "(a)(b)(x)(\u00e9)");
    enum bl_behavior how;
    ck_assert_int_eq(bl_behavior_parse("MergedWithNext", &how, &e), 0);
    ck_assert_int_eq(how, BL_BEHAVIOR_MERGED_WITH_NEXT);
    ck_assert_int_eq(bl_behavior_parse("merged", &how, &e), BL_EFAIL);
}

/* Code points are what Unicode 16 says of them; those that the pattern has itself are told apart from others like them.
 */
UNIT_TEST(later_code_points)
{
    /* An upper case letter, a mark and a digit of Unicode 16, a letter of 15. */
    split("\\p{Lu}+|\\p{Nd}", BL_BEHAVIOR_REMOVED, "a\U00010d50\U00010d51b\U00010d40c", "(a)(b)(c)");
    split("\\p{L}\\p{M}", BL_BEHAVIOR_ISOLATED, "a\u0897\u0897 \u0ece\U00031350", "(a\u0897)(\u0897 \u0ece\U00031350)");
    split("\U00010d50", BL_BEHAVIOR_ISOLATED, "\U00010d50\U00010d51A", "(\U00010d50)(\U00010d51A)");
    split("[\U00010d51-\U00010d52]|\\p{Ll}", BL_BEHAVIOR_REMOVED, "\U00010d50\U00010d51\U00010d52\U00010d53a",
          "(\U00010d50)(\U00010d53)");
    split("[\\x{10d51}-\\x{10ffff}]+", BL_BEHAVIOR_REMOVED, "\U00010d50\U00010d53\U00010d70", "(\U00010d50)");
    split("\\\u00e9\\\\|\u0e5c", BL_BEHAVIOR_ISOLATED, "\u00e9\\a", "(\u00e9\\)(a)");
}

/* Seen by a PCRE2 of a later Unicode: noncharacters of as many bytes, on the same side of what the pattern names. */
UNIT_TEST(code_points_of_later_versions)
{
    static const char later[] = "a\u0897\U00033398\u1c8b\U000561a5\ue000";
    struct bl_pattern_points points = {.newer = true};
    OWNED(bl_buffer_free) struct bl_buffer copy = {0};
    const char *seen;
    ck_assert_int_eq(bl_pattern_points_read(&points, "[\\x{33000}-\\x{3ffff}]", 21, &e), 0);
    ck_assert_int_eq(bl_stand_in_apply(&points, later, sizeof later - 1, &copy, &seen, &e), 0);
    ck_assert_mem_eq(seen, "a\u08d4\U0003fffe\ufdd0\U0004ffff\ue000", sizeof later - 1);
    points.newer = false;
    ck_assert_int_eq(bl_stand_in_apply(&points, later + 4, sizeof later - 5, &copy, &seen, &e), 0);
    ck_assert_ptr_eq(seen, later + 4);
    bl_pattern_points_free(&points);
}

static bool exact(const char *pattern, bool literal)
{
    struct bl_regex *regex;
    struct bl_error e = {0};
    ck_assert_int_eq(bl_regex_open(&regex, pattern, strlen(pattern), literal, &e), 0);
    bool is = bl_regex_is_exact(regex);
    bl_regex_close(regex);
    return is;
}

UNIT_TEST(exactness)
{
    ck_assert(exact("\\p{L}+", false));
    ck_assert(!exact("(\\p{L})\\1", false));
    ck_assert(exact("(\\p{L})\\1", true));
}

/* A pattern that takes steps without end on a text is an error with its place, and no piece is lost in silence. */
UNIT_TEST(limits)
{
    static const char pattern[] = "(?:a+)+[bc]";
    struct bl_regex *regex;
    struct bl_matcher *matcher;
    OWNED(bl_spans_free) struct bl_spans spans = {0};
    char text[60];
    memset(text, 'a', sizeof text);
    memcpy(text, "ab", 2);
    ck_assert_int_eq(bl_regex_open(&regex, pattern, strlen(pattern), false, &e), 0);
    ck_assert_int_eq(bl_matcher_open(&matcher, &e), 0);
    text[sizeof text - 1] = 'd';
    ck_assert_int_eq(bl_regex_split(regex, matcher, BL_BEHAVIOR_ISOLATED, false, text, sizeof text, &spans, &e),
                     BL_EFAIL);
    ck_assert_ptr_nonnull(strstr(e.text, "at offset 2 of the text"));
    ck_assert_ptr_nonnull(strstr(e.text, "match limit"));
    bl_matcher_close(matcher);
    bl_regex_close(regex);
}

UNIT_TEST(versions)
{
    char version[BL_REGEX_VERSION_MAX];
    ck_assert_int_eq(bl_regex_version(version)[0], '1');
    ck_assert_int_eq(bl_regex_unicode_version(version)[0], '1');
}
