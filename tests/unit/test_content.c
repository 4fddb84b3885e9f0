#include "kind/input_stat.h"
#include "base/fs.h"
#include "kind/frames/image_folder.h"
#include "unit.h"

UNIT_SCRATCH

#define MOST 300000

static uint8_t data[MOST];

static uint64_t content_of(const char *path)
{
    uint64_t content = 0;
    struct bl_error e = {0};
    ck_assert_msg(bl_content_hash_file(path, &content, &e) == BL_OK, "%s", e.text);
    return content;
}

/* The right ones are those of python's xxhash, of the size and both ends. */
UNIT_TEST(size_and_ends_of_a_file)
{
    static const struct {
        size_t size;
        const char *content;
    } right[] = {{0, "c77b3abb6f87acd9"},      {1, "313c2dd2ec996e80"},      {65536, "f419a58c0ebc6bb5"},
                 {131071, "d81fe28f12018ce3"}, {131072, "2196d4a59911d176"}, {131073, "548d81b92c6eb8e6"},
                 {MOST, "433f530f91d2d266"}};
    for (size_t i = 0; i < MOST; i++)
        data[i] = (uint8_t)(i * 131 + (i >> 8) * 7);
    for (size_t i = 0; i < COUNT(right); i++) {
        OWNED(bl_buffer_free) struct bl_buffer text = {0};
        uint64_t back;
        unit_write("file", data, right[i].size);
        bl_content_format(content_of("file"), &text);
        ck_assert_str_eq(text.data, right[i].content);
        ck_assert(bl_content_parse(text.data, &back) && back == content_of("file"));
    }
    /* Any byte of the ends counts, none in the middle does, and what is not there has no content. */
    const uint64_t whole = content_of("file");
    static const size_t ends[] = {0, 65535, MOST - 65536, MOST - 1};
    for (size_t i = 0; i < 4; i++) {
        data[ends[i]] ^= 1;
        unit_write("file", data, MOST);
        ck_assert_uint_ne(content_of("file"), whole);
        data[ends[i]] ^= 1;
    }
    data[65536] ^= 1;
    unit_write("file", data, MOST);
    ck_assert_uint_eq(content_of("file"), whole);
    ck_assert_uint_eq(content_of("none"), 0);
}

UNIT_TEST(texts_that_are_none)
{
    uint64_t content = 7;
    struct bl_buffer text = {0};
    ck_assert(bl_content_parse("", &content) && content == 0);
    bl_content_format(0, &text);
    ck_assert_uint_eq(text.size, 0);
    static const char *const bad[] = {"0", "313c2dd2ec996e8", "313c2dd2ec996e80a", "313C2DD2EC996E80",
                                      "313c2dd2ec996e8 "};
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!bl_content_parse(bad[i], &content), "took \"%s\"", bad[i]);
    ck_assert_uint_eq(bl_content_hash("a document", 10), UINT64_C(0xbf5ab385fdc4e757));
    ck_assert_uint_eq(bl_content_hash(NULL, 0), UINT64_C(0x2d06800538d394c2));
}

/* Names and images, but not the order in which the directory has them. */
UNIT_TEST(folders_of_images)
{
    uint64_t content[4];
    int64_t bytes;
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(bl_fs_mkdirs("f", &e), BL_OK);
        data[0] = 7;
        unit_write(i == 1 ? "f/2.jpg" : "f/1.jpg", data, 10);
        data[0] = i == 2 ? 9 : 8;
        unit_write(i == 1 ? "f/1.jpg" : "f/2.jpg", data, 10);
        unit_write("f/other.txt", data, (size_t)i);
        ck_assert_int_eq(bl_image_folder_stat("f", &bytes, &content[i], &e), BL_OK);
        ck_assert_int_eq(bytes, 20);
        if (i == 2)
            ck_assert(unlink("f/1.jpg") == 0 && unlink("f/2.jpg") == 0);
    }
    ck_assert_uint_ne(content[0], content[1]);
    ck_assert_uint_ne(content[0], content[2]);
    ck_assert_uint_eq(content[0], content[3]);
}
