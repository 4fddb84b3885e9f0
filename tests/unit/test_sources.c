#include "scan/sources.h"

#include <sys/stat.h>

#include "unit.h"

UNIT_SCRATCH

static void make_tree(void)
{
    ck_assert_int_eq(mkdir("v", 0777), 0);
    ck_assert_int_eq(mkdir("v/sub", 0777), 0);
    ck_assert_int_eq(mkdir("v/.hidden", 0777), 0);
    static const char *const files[] = {"v/clip10.mp4", "v/clip9.mp4",     "v/sub/a.MKV", "v/notes.txt",
                                        "v/.dot.mp4",   "v/.hidden/x.mp4", "v/README",    "garbage.bin"};
    for (size_t i = 0; i < COUNT(files); i++)
        unit_write_text(files[i], "");
    ck_assert_int_eq(symlink("nowhere.mp4", "v/dangling.mp4"), 0);
    ck_assert_int_eq(symlink("../garbage.bin", "v/link.webm"), 0);
}

static int list(struct bl_files *files, const char *source, struct bl_error *e)
{
    const struct bl_source one = {.path = source};
    return bl_sources_list(files, &(struct bl_sources){.source = &one, .count = 1}, e);
}

UNIT_TEST(a_folder_in_natural_order)
{
    make_tree();
    static const char *const spelled[] = {"v", "v/"};
    for (int s = 0; s < 2; s++) {
        OWNED(bl_files_free) struct bl_files files;
        ck_assert_msg(list(&files, spelled[s], &e) == BL_OK, "%s", e.text);
        static const char *const ids[] = {"clip9.mp4", "clip10.mp4", "dangling.mp4", "link.webm", "sub/a.MKV"};
        ck_assert_uint_eq(files.count, 5);
        for (size_t i = 0; i < 5; i++)
            ck_assert_str_eq(files.file[i].id, ids[i]);
        int64_t ignored = 0;
        for (int i = 0; i < files.ignored_count; i++)
            ignored += files.ignored[i].count;
        ck_assert_int_eq(ignored, 4); /* .txt, README, .dot.mp4, .hidden */
    }
}

UNIT_TEST(named_outright)
{
    make_tree();
    struct bl_files files;
    ck_assert_int_eq(list(&files, "v/clip*.mp4", &e), BL_OK);
    ck_assert_uint_eq(files.count, 2);
    ck_assert_str_eq(files.file[0].id, "v/clip9.mp4");
    bl_files_free(&files);
    ck_assert_int_eq(list(&files, "garbage.bin", &e), BL_OK);
    ck_assert_uint_eq(files.count, 1);
    ck_assert_ptr_nonnull(files.kind);
    bl_files_free(&files);
    unit_write_text("list", "v/clip10.mp4\r\n\ngarbage.bin\nmissing.mp4");
    ck_assert_int_eq(list(&files, "@list", &e), BL_OK);
    ck_assert_uint_eq(files.count, 3);
    bl_files_free(&files);
    ck_assert_int_eq(list(&files, "missing.mp4", &e), BL_EUSAGE);
    bl_error_clear(&e);
    ck_assert_int_eq(list(&files, "none*.mp4", &e), BL_EUSAGE);
}

UNIT_TEST(relative_to_a_base)
{
    make_tree();
    ck_assert_int_eq(mkdir("elsewhere", 0777), 0);
    ck_assert_int_eq(chdir("elsewhere"), 0);
    OWNED(bl_files_free) struct bl_files files;
    struct bl_source source[] = {{.path = "v/sub"}, {.path = "v/clip*.mp4"}};
    const struct bl_sources sources = {.source = source, .count = 2, .base = ".."};
    ck_assert_msg(bl_sources_list(&files, &sources, &e) == BL_OK, "%s", e.text);
    ck_assert_uint_eq(files.count, 3);
    ck_assert_str_eq(files.file[0].path, "v/clip9.mp4");
    ck_assert_str_eq(files.file[2].path, "v/sub/a.MKV");
    ck_assert_str_eq(files.file[2].id, "a.MKV");
}

UNIT_TEST(what_cannot_be)
{
    make_tree();
    ck_assert_int_eq(mkdir("w", 0777), 0);
    unit_write_text("w/clip9.mp4", "");
    struct bl_files files;
    struct bl_source both[] = {{.path = "v"}, {.path = "w"}};
    const struct bl_sources sources = {.source = both, .count = 2};
    FAILS_WITH(bl_sources_list(&files, &sources, &e), BL_EUSAGE, "v/clip9.mp4 and w/clip9.mp4");
    ck_assert_int_eq(symlink("..", "v/sub/up"), 0);
    FAILS_WITH(list(&files, "v", &e), BL_EUSAGE, "leads back");
}
