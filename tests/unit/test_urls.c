#include "scan/urls.h"
#include "unit.h"

/* --- patterns --- */

static const struct {
    const char *pattern, *url;
    const char *matched; /* of the URL; NULL: nothing */
} matches[] = {
    {"s3://b/*.txt", "s3://b/a.txt", "s3://b/a.txt"},
    {"s3://b/*.txt", "s3://b/a.txt/c", "s3://b/a.txt"},
    {"s3://b/*.txt", "s3://b/d/a.txt", NULL},
    {"s3://b/*.txt", "s3://c/a.txt", NULL},
    {"s3://b/*", "s3://b/.a", NULL},
    {"s3://b/*", "s3://b/d/.e/f", "s3://b/d"},
    {"s3://b/*/", "s3://b/a", NULL},
    {"s3://b/*/", "s3://b/a/c/d", "s3://b/a"},
    {"s3://b/?[x-z]*", "s3://b/ay", "s3://b/ay"},
    {"s3://b/?[!x-z]*", "s3://b/ay", NULL},
    {"s3://b/\\*?", "s3://b/*x", "s3://b/*x"},
    {"s3://b/\\*?", "s3://b/xx", NULL},
    {"s3://b/**", "s3://b/a/c/d", "s3://b/a/c/d"},
    {"s3://b/**", "s3://b/a/.c/d", NULL},
    {"s3://b/**", "s3://b/.d", NULL},
    {"s3://b/a/**", "s3://b/a", NULL},
    {"s3://b/**/d", "s3://b/d", "s3://b/d"},
    {"s3://b/**/d", "s3://b/a/c/d/e", "s3://b/a/c/d"},
    {"s3://b/**/d", "s3://b/.a/d", NULL},
    {"s3://b/**/a/**/d", "s3://b/a/x/a/y/d", "s3://b/a/x/a/y/d"},
    {"s3://b/**/a/**/d", "s3://b/x/d", NULL},
    {"s3://b/**/**/d", "s3://b/x/y/z/d", "s3://b/x/y/z/d"},
    {"s3://b/a**d", "s3://b/axd", "s3://b/axd"},
    {"s3://b/a**d", "s3://b/a/d", NULL},
    {"s3://b//*", "s3://b//x", "s3://b//x"},
    {"s3://b/*/x", "s3://b//x", "s3://b//x"},
};

UNIT_LOOP(patterns_match_objects_and_folders, COUNT(matches))
{
    OWNED(bl_url_glob_free) struct bl_url_glob glob = {0};
    size_t size;
    ck_assert_int_eq(bl_url_glob_open(&glob, matches[_i].pattern, &e), BL_OK);
    ck_assert_int_eq(bl_url_glob_match(&glob, matches[_i].url, &size, &e), BL_OK);
    const char *matched = matches[_i].matched;
    ck_assert_int_eq((int)size, matched ? (int)strlen(matched) : 0);
    ck_assert(!matched || strncmp(matched, matches[_i].url, size) == 0);
}

/* Without what is known to fail, each ** would multiply the time by the depth. */
UNIT_TEST(many_stars_take_no_time)
{
    OWNED(bl_url_glob_free) struct bl_url_glob glob = {0};
    OWNED(bl_buffer_free) struct bl_buffer pattern = {0};
    OWNED(bl_buffer_free) struct bl_buffer name = {0};
    size_t size;
    bl_buffer_text(&pattern, "s3://b");
    bl_buffer_text(&name, "s3://b");
    for (int i = 0; i < 20; i++)
        bl_buffer_text(&pattern, "/**/a");
    for (int i = 0; i < 500; i++)
        bl_buffer_text(&name, "/a");
    bl_buffer_text(&pattern, "/none");
    ck_assert_int_eq(bl_url_glob_open(&glob, pattern.data, &e), BL_OK);
    ck_assert_int_eq(bl_url_glob_match(&glob, name.data, &size, &e), BL_OK);
    ck_assert_int_eq((int)size, 0);
}

UNIT_TEST(the_fixed_part_ends_before_the_first_wildcard)
{
    ck_assert_int_eq((int)bl_url_glob_fixed("s3://b/a/c*d"), 10);
    ck_assert_int_eq((int)bl_url_glob_fixed("s3://b/a\\*/c*"), 8);
    ck_assert_int_eq((int)bl_url_glob_fixed("s3://b/a"), 8);
}

/* --- lists --- */

static const struct {
    const char *list, *name;
    const char *url, *fault; /* one of them */
} names[] = {
    {"s3://b/d/list.txt", "a b/c%20+é.txt", "s3://b/d/a b/c%20+é.txt", NULL},
    {"s3://b/list.txt", "./a/./b", "s3://b/a/b", NULL},
    {"s3://b/d/list.txt", "a//b/", "s3://b/d/a//b/", NULL},
    {"s3://b/d/list.txt", "gs://c/x", "gs://c/x", NULL},
    {"s3://b/d/list.txt", "...", "s3://b/d/...", NULL},
    {"s3://b/d/list.txt", "-", "s3://b/d/-", NULL},
    {"https://h/d/list.txt", "a b/é#\"%20&x?y=1", "https://h/d/a%20b/%C3%A9%23%22%20&x?y=1", NULL},
    {"https://h/d/list.txt?s=a/b", "x", "https://h/d/x", NULL},
    {"https://h/list.txt", "HTTPS://i/x", "HTTPS://i/x", NULL},
    {"http://127.0.0.1:8/l", "http://localhost:9/x", "http://localhost:9/x", NULL},
    {"https://h/d/l", "http://localhost:9/x", NULL, "a server of this machine"},
    {"hf://datasets/o/n/l", "http://[::1]/x", NULL, "a server of this machine"},
    {"s3://b/l", "/etc/passwd", NULL, "/etc/passwd: an absolute path"},
    {"s3://b/l", "..", NULL, "a path with .."},
    {"https://h/d/l", "a/../b", NULL, "a path with .."},
    {"s3://b/l", "file:///etc/passwd", NULL, "URLs of this kind are not read"},
    {"s3://b/l", "data://x", NULL, "URLs of this kind are not read"},
};

UNIT_LOOP(names_of_lists_become_urls, COUNT(names))
{
    OWNED(bl_buffer_free) struct bl_buffer url = {0};
    int code = bl_url_resolve(&url, names[_i].list, names[_i].name, &e);
    if (names[_i].fault) {
        ck_assert_int_eq(code, BL_EUSAGE);
        ck_assert_msg(strstr(e.text, names[_i].fault) != NULL, "%s", e.text);
        return;
    }
    ck_assert_msg(code == BL_OK, "%s", e.text);
    ck_assert_str_eq(url.data, names[_i].url);
}
