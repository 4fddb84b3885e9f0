/* Templates of --columns: their parts, what is no template, and numbers with zeros in front. */

#include "scan/clip_template.h"

#include <string.h>

#include "unit.h"

/* A template, and its parts: texts in quotes, columns with their least digits. */
static const struct {
    const char *text, *parts;
} templates[] = {
    {"{id}", "id/0 "},
    {"v/{id}.mp4", "'v/' id/0 '.mp4' "},
    {"{a}{b:06}_{c:6}", "a/0 b/6 '_' c:6/0 "},
    {"{a:06d}{d}{a:d}", "a/6 d/0 a:d/0 "},
    {"{a:0}{a:00}{:06}{a:06x}{06}", "a:0/0 a:00/0 :06/0 a:06x/0 06/0 "},
    {"{aesthetic score}", "aesthetic score/0 "},
    {"{a:b:03}{a:099}{a:0100}", "a:b/3 a/99 a:0100/0 "},
};

UNIT_LOOP(parts, COUNT(templates))
{
    struct bl_clip_name rest = {templates[_i].text, strlen(templates[_i].text)};
    struct bl_clip_part part;
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    ck_assert(bl_clip_template_is(rest));
    ck_assert_int_eq(bl_clip_template_check(rest, &e), BL_OK);
    ck_assert_int_eq(bl_clip_template_has(rest, "id", 2), strstr(templates[_i].parts, "id/") != NULL);
    while (bl_clip_template_next(&rest, &part)) {
        if (part.is_column)
            bl_buffer_printf(&out, "%.*s/%d ", (int)part.name.size, part.name.text, part.digits);
        else
            bl_buffer_printf(&out, "'%.*s' ", (int)part.name.size, part.name.text);
    }
    ck_assert_str_eq(out.data, templates[_i].parts);
}

UNIT_TEST(no_template)
{
    static const char *const wrong[] = {"{", "}", "{}", "a{b", "a}b", "{a{b}}", "{a}}", "x{}y", "{{a}"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct bl_clip_name name = {wrong[i], strlen(wrong[i])};
        ck_assert(bl_clip_template_is(name));
        FAILS_WITH(bl_clip_template_check(name, &e), BL_EUSAGE, "is no template: columns stand in braces");
    }
    ck_assert(!bl_clip_template_is((struct bl_clip_name){"file_name", 9}));
}

static const struct {
    const char *value;
    int digits;
    const char *made; /* NULL: no whole number */
} numbers[] = {
    {"10", 6, "000010"}, {"1234567", 6, "1234567"}, {"10.0", 6, "000010"}, {"7.000", 1, "7"},
    {"", 0, ""},         {"x y", 0, "x y"},         {"10.5", 6, NULL},     {"10.", 6, NULL},
    {"", 6, NULL},       {"-1", 6, NULL},           {"1x", 6, NULL},       {".0", 6, NULL},
};

UNIT_LOOP(numbers_with_zeros, COUNT(numbers))
{
    const struct bl_clip_part part = {.is_column = true, .digits = numbers[_i].digits};
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bool made = bl_clip_part_append(&part, numbers[_i].value, strlen(numbers[_i].value), &out);
    bl_buffer_text(&out, "");
    ck_assert_int_eq(made, numbers[_i].made != NULL);
    if (made)
        ck_assert_str_eq(out.data, numbers[_i].made);
}
