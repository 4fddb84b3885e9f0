#include "base/archive.h"
#include "scan/globs.h"
#include "unit.h"

UNIT_TEST(paths_of_members)
{
    struct bl_member m;
    ck_assert(bl_member_parse("d/a.tar@512+48213/k/0001.mp4", &m));
    ck_assert_uint_eq(m.tar, strlen("d/a.tar"));
    ck_assert_int_eq(m.begin, 512);
    ck_assert_int_eq(m.bytes, 48213);
    ck_assert_str_eq(m.name, "k/0001.mp4");
    /* The first place counts: a member's name may look like one. */
    ck_assert(bl_member_parse("x.tar@/b.tar@1+0/c.tar@2+3/d", &m));
    ck_assert_int_eq(m.begin, 1);
    ck_assert_str_eq(m.name, "c.tar@2+3/d");
    static const char *const files[] = {"a.mp4",
                                        "a.tar",
                                        "a.tar@512+3",
                                        "a.tar@512+3/",
                                        "a.tar@512/x",
                                        "a.tar@+3/x",
                                        "a.tar@-1+3/x",
                                        "a.tar@ 1+3/x",
                                        "a.tar/1+3/x",
                                        "a.tgz@512+3/x",
                                        "a.tar@1+3x/x",
                                        "a.tar@0x1+3/x",
                                        "a.tar@1+99999999999999999999/x",
                                        ""};
    for (size_t i = 0; i < COUNT(files); i++)
        ck_assert_msg(!bl_member_parse(files[i], &m), "%s", files[i]);
}

UNIT_TEST(paths_of_arrays)
{
    static const struct {
        const char *path, *file, *array; /* array NULL: the path names none */
    } paths[] = {{"c3d.h5#/v_abc/c3d", "c3d.h5", "v_abc/c3d"},
                 {"d/X.HDF5#/a", "d/X.HDF5", "a"},
                 {"m.mat#/x#/y", "m.mat", "x#/y"},
                 {"a#/b/w.safetensors#/b#/a.h5#/c", "a#/b/w.safetensors", "b#/a.h5#/c"},
                 {"x.tar@512+99/k/1.h5#/v", "x.tar", "v"},
                 {"c3d.h5", "c3d.h5", NULL},
                 {"c3d.h5#/", "c3d.h5#/", NULL},
                 {"c3d.h5#x", "c3d.h5#x", NULL},
                 {"h5#/x", "h5#/x", NULL},
                 {".h5#/x", ".h5#/x", NULL},
                 {"a.npz#/x", "a.npz#/x", NULL},
                 {"#/x", "#/x", NULL}};
    for (size_t i = 0; i < COUNT(paths); i++) {
        char file[PATH_MAX];
        size_t size;
        ck_assert_pstr_eq(bl_container_array(paths[i].path, &size), paths[i].array);
        ck_assert_pstr_eq(bl_member_file(paths[i].path, file), paths[i].file);
    }
    ck_assert(bl_container_has_name("a.mat") && bl_container_has_name("a.SafeTensors") &&
              !bl_container_has_name("mat"));
}

UNIT_TEST(keys_end_at_the_first_dot)
{
    static const struct {
        const char *name;
        size_t key;
    } names[] = {{"0001.mp4", 4}, {"a.b/0001.seg.npy", 8}, {"0001", 0},   {".hidden", 0}, {"a/.mp4", 0},
                 {"0001.", 0},    {"a.b/0001", 0},         {"x..mp4", 1}, {"", 0}};
    for (size_t i = 0; i < COUNT(names); i++)
        ck_assert_uint_eq(bl_member_key(names[i].name), names[i].key);
}

UNIT_TEST(what_is_beside_a_member)
{
    struct bl_member_index index = {0};
    OWNED(bl_buffer_free) struct bl_buffer path = {0};
    for (int t = 0; t < 2; t++) {
        ck_assert_int_eq(bl_member_index_add_tar(&index, t ? "b.tar" : "a.tar", &e), BL_OK);
        ck_assert_int_eq(bl_member_index_add(&index, "k/1.npy", 512 + t, 7, &e), BL_OK);
        ck_assert_int_eq(bl_member_index_add(&index, "k/1.seg.npy", 1024 + t, 8, &e), BL_OK);
        ck_assert_int_eq(bl_member_index_add(&index, "k/11.npy", 2048 + t, 9, &e), BL_OK);
    }
    const struct bl_member_entry *found = bl_member_index_beside(&index, "b.tar@9+9/k/1.mp4", "seg.npy");
    ck_assert_ptr_nonnull(found);
    bl_member_index_append(&index, found, &path);
    ck_assert_str_eq(path.data, "b.tar@1025+8/k/1.seg.npy");
    ck_assert_ptr_null(bl_member_index_beside(&index, "b.tar@9+9/k/1.mp4", "eg.npy"));
    ck_assert_ptr_null(bl_member_index_beside(&index, "b.tar@9+9/1.mp4", "npy"));
    ck_assert_ptr_null(bl_member_index_beside(&index, "c.tar@9+9/k/1.mp4", "npy"));
    ck_assert_ptr_null(bl_member_index_beside(&index, "b.tar", "npy"));
    ck_assert_int_eq(bl_member_index_beside(&index, "a.tar@9+9/k/11.mp4", "npy")->begin, 2048);
    bl_member_index_free(&index);
}

static int append_name(void *context, const char *name, struct bl_error *e)
{
    struct bl_buffer *names = context;
    bl_buffer_printf(names, "%s ", name);
    return bl_buffer_check(names, e);
}

UNIT_TEST(braces_as_shells_expand_them)
{
    static const struct {
        const char *text, *names;
    } cases[] = {
        {"d-{008..011}.tar", "d-008.tar d-009.tar d-010.tar d-011.tar "},
        {"{8..11}", "8 9 10 11 "},
        {"{3..1}", "3 2 1 "},
        {"{a,b}-{1..2}", "a-1 a-2 b-1 b-2 "},
        {"x{,y}", "x xy "},
        {"{x}{1..1}", "{x}1 "},
        {"{01..2}", "01 02 "},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        OWNED(bl_buffer_free) struct bl_buffer names = {0};
        ck_assert(bl_braces_are_in(cases[i].text));
        ck_assert_int_eq(bl_braces_expand(cases[i].text, append_name, &names, &e), BL_OK);
        ck_assert_str_eq(names.data, cases[i].names);
    }
    static const char *const plain[] = {"a", "{a}", "{", "}", "{a..b}", "{1..}", "a{b", "{}"};
    for (size_t i = 0; i < COUNT(plain); i++)
        ck_assert_msg(!bl_braces_are_in(plain[i]), "%s", plain[i]);
}

static int count_name(void *context, const char *name, struct bl_error *e)
{
    (void)name;
    (void)e;
    ++*(int *)context;
    return BL_OK;
}

UNIT_TEST(a_pattern_has_a_limit)
{
    int count = 0;
    ck_assert_int_eq(bl_braces_expand("{1..9999999}", count_name, &count, &e), BL_EUSAGE);
    ck_assert_int_eq(count, BL_BRACES_MAX);
    ck_assert_ptr_nonnull(strstr(e.text, "{1..9999999}: a pattern of more than 1000000 names"));
}
