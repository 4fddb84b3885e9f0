#include "show/html.h"
#include "unit.h"

static void check(void (*append)(struct bl_buffer *out, const char *text), const char *text, const char *expected)
{
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    append(&out, text);
    ck_assert(!out.failed);
    ck_assert_str_eq(out.data ? out.data : "", expected);
}

UNIT_TEST(what_xml_would_read_is_escaped)
{
    check(bl_xml_append_text, "", "");
    check(bl_xml_append_text, "a & b", "a &amp; b");
    check(bl_xml_append_text, "<script>\"'</script>", "&lt;script&gt;&quot;'&lt;/script&gt;");
    check(bl_xml_append_text, "&lt;", "&amp;lt;");
    check(bl_xml_append_text, "\xe4\xb8\xad", "\xe4\xb8\xad");
}

UNIT_TEST(what_would_not_be_seen_is_shown)
{
    check(bl_xml_append_text, "a\tb\n", "a\\tb\\n");
    check(bl_xml_append_text, "x\xe2\x80\xaey", "x?y"); /* another direction of writing */
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_xml_append_text(&out, "\xff\x01");
    ck_assert_ptr_nonnull(out.data);
    for (size_t i = 0; i < out.size; i++)
        ck_assert(out.data[i] >= ' ' && out.data[i] <= '~');
}

UNIT_TEST(of_a_long_name_the_end_is_shown)
{
    char name[201], expected[80];
    memset(name, 'n', sizeof name);
    strcpy(name + 190, "<end>.mp4");
    check(bl_xml_append_name, "short", "short");
    OWNED(bl_buffer_free) struct bl_buffer out = {0};
    bl_xml_append_name(&out, name);
    snprintf(expected, sizeof expected, "&lt;end&gt;.mp4");
    ck_assert_ptr_nonnull(out.data);
    ck_assert_int_eq(strncmp(out.data, "…nnn", strlen("…nnn")), 0);
    ck_assert_str_eq(out.data + out.size - strlen(expected), expected);
    bl_buffer_free(&out);
    /* No character is cut. */
    memset(name, 'n', 64);
    memcpy(name, "\xe4\xb8\xad", 3);
    memset(name + 3, 'n', 63);
    name[66] = '\0';
    bl_xml_append_name(&out, name);
    ck_assert_ptr_nonnull(out.data);
    ck_assert_int_eq(strncmp(out.data, "…n", strlen("…n")), 0);
}
