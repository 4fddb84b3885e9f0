#include "kind/text/unicode.h"

#include <inttypes.h>
#include <xxhash.h>

#include "base/text.h"
#include "kind/text/normal_form.h"
#include "kind/text/regex.h"
#include "unit.h"

UNIT_TEST(well_known_code_points)
{
    static const struct {
        uint32_t point;
        unsigned has;
    } known[] = {
        {'A', BL_UPPER},       {'z', BL_LOWER},       {'7', BL_NUMBER},
        {' ', BL_SPACE},       {'\n', BL_SPACE},      {0x1c, 0}, /* Python calls it space; Unicode does not */
        {'_', BL_PUNCTUATION}, {'$', BL_SYMBOL},      {0x85, BL_SPACE},
        {0xaa, BL_MODIFIER},   {0xb2, BL_NUMBER},     {0x1c5, BL_UPPER}, /* a title-case letter */
        {0x301, BL_MARK},      {0x200b, 0},                              /* zero width space, which is none */
        {0x3000, BL_SPACE},    {0x4e00, BL_MODIFIER}, {0xd800, 0},
        {0x1f600, BL_SYMBOL},  {0x10d50, BL_UPPER}, /* Garay, new in Unicode 16 */
        {0x10ffff, 0},         {0x110000, 0},         {UINT32_MAX, 0},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        ck_assert_msg(bl_unicode_class(known[i].point) == known[i].has, "U+%04X has %u", (unsigned)known[i].point,
                      bl_unicode_class(known[i].point));
}

UNIT_TEST(classes_fit_together)
{
    unsigned spaces = 0;
    for (uint32_t c = 0; c < 0x110000; c++) {
        unsigned has = bl_unicode_class(c);
        if (has & (has - 1))
            ck_abort_msg("U+%04X is of two classes", (unsigned)c);
        spaces += (has & BL_SPACE) != 0;
    }
    ck_assert_uint_eq(spaces, 25); /* PropList.txt: White_Space */
}

/* --- digests ------------------------------------------------------------------------------------------------------ */

/* What the tables say of a code point, appended to out; text: the code point in UTF-8, empty for surrogates. */
typedef void property_of(uint32_t point, const char *text, size_t size, struct bl_buffer *out);

/* An assertion costs a call of the system each time, which is too much for each code point. */
static void check(int code)
{
    if (code)
        ck_abort_msg("code %d", code);
}

static void say_classes(uint32_t point, const char *text, size_t size, struct bl_buffer *out)
{
    (void)text, (void)size;
    bl_buffer_printf(out, "%u %u %u %u", bl_unicode_class(point), bl_script(point),
                     bl_bert_class(point) & (BL_WORD - 1), bl_grapheme_class(point));
}

static void say_word(uint32_t point, const char *text, size_t size, struct bl_buffer *out)
{
    (void)text, (void)size;
    bl_buffer_printf(out, "%d", (bl_bert_class(point) & BL_WORD) != 0);
}

static void say_lower(uint32_t point, const char *text, size_t size, struct bl_buffer *out)
{
    if (bl_bert_class(point) & BL_BERT_UPPER)
        check(bl_bert_normalize(&(struct bl_bert_options){.lowercase = true}, text, size, out, NULL));
}

static void say_forms(uint32_t point, const char *text, size_t size, struct bl_buffer *out)
{
    unsigned property = bl_normal_property[(uint32_t)bl_normal_page[point >> 8] << 8 | (point & 255)];
    bl_buffer_printf(out, "%u", property);
    for (enum bl_normal_form form = BL_NFC; form <= BL_NFC_16; form++) {
        bl_buffer_byte(out, '\n');
        if (property & 0x100U << form)
            check(bl_normal_form_apply(form, text, size, out));
    }
}

/* What PCRE2 sees instead, if the pattern tells no points apart, or has one of these limits. */
static void say_stand_ins(uint32_t point, const char *text, size_t size, struct bl_buffer *out)
{
    static uint32_t limit[] = {0x2000, 0xa000, 0xfddc, 0xfdef, 0x10000, 0x12345, 0x50000, 0x10ffff};
    static struct bl_buffer copy;
    const char *seen;
    for (size_t i = 0; point >= 0x800 && i <= sizeof limit / sizeof *limit; i++) {
        struct bl_pattern_points points = {.point = limit + i - (i > 0), .count = i > 0, .newer = true};
        check(bl_stand_in_apply(&points, text, size, &copy, &seen, NULL));
        bl_buffer_append(out, seen, size);
    }
}

static uint64_t digest_of(property_of *say)
{
    struct bl_buffer said = {0};
    uint64_t digest = 0;
    for (uint32_t point = 0; point < 0x110000; point++) {
        char text[BL_UTF8_MAX];
        bool surrogate = point >= 0xd800 && point < 0xe000;
        bl_buffer_clear(&said);
        say(point, text, surrogate ? 0 : bl_utf8_encode(point, text), &said);
        digest = XXH3_64bits_withSeed(said.data ? said.data : "", said.size, digest);
    }
    bl_buffer_free(&said);
    return digest;
}

/* Another form of the tables says the same of every code point. A new version of Unicode has other digests. */
UNIT_TEST(tables_say_what_they_said)
{
    static const struct {
        const char *what;
        property_of *say;
        uint64_t digest;
    } known[] = {
        {"classes", say_classes, 0x3d2b4629ada3a02f},     {"words", say_word, 0x95e93fddadfac939},
        {"lower case", say_lower, 0xa75251c2d2d8300a},    {"normal forms", say_forms, 0x20f86ce8aeb5118f},
        {"stand-ins", say_stand_ins, 0x7476c6f03ca4ce4a},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t digest = digest_of(known[i].say);
        ck_assert_msg(digest == known[i].digest, "%s have the digest %016" PRIx64, known[i].what, digest);
    }
}

/* The order is that of points_compose. */
UNIT_TEST(pairs_are_what_they_were)
{
    uint64_t digest = XXH3_64bits(bl_normal_pair, bl_normal_pair_count * sizeof *bl_normal_pair);
    ck_assert_msg(digest == 0x54a936cd2964244f, "pairs have the digest %016" PRIx64, digest);
}
