#include "kind/frames/image_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "unit.h"

UNIT_SCRATCH

#define IMAGES_MAX 6

struct folder_case {
    const char *what;
    const char *name[IMAGES_MAX]; /* in natural order */
    int32_t number[IMAGES_MAX];
    double position[IMAGES_MAX];
    int64_t missing;
};

static void folder_make(const struct folder_case *c)
{
    ck_assert_int_eq(mkdir(c->what, 0700), 0);
    for (int i = 0; i < IMAGES_MAX && c->name[i]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", c->what, c->name[i]);
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        ck_assert_int_ge(fd, 0);
        close(fd);
    }
}

UNIT_TEST(numbers_count_pictures_or_are_none)
{
    static const struct folder_case cases[] = {
        {"counters", {"1.png", "2.png", "3.png"}, {1, 2, 3}, {0, 1, 2}, 0},
        {"gaps", {"f_01.jpg", "f_02.jpg", "f_05.jpg", "f_06.jpg"}, {1, 2, 5, 6}, {0, 1, 4, 5}, 2},
        {"sampled", {"000089.png", "000093.png", "000094.png", "000120.png"}, {89, 93, 94, 120}, {88, 92, 93, 119}, 0},
        {"every-fifth", {"1.png", "6.png", "11.png"}, {1, 6, 11}, {0, 5, 10}, 0},
        {"versions", {"a1.0001.png", "a1.0011.png"}, {1, 11}, {0, 10}, 0},
        {"seconds", {"1305031102.175304.png", "1305031102.211214.png"}, {-1, -1}, {0, 1}, 0},
        {"one-time", {"1305031102.175304.png"}, {-1}, {0}, 0},
        {"times", {"a_0.900.png", "a_0.967.png", "a_1.033.png"}, {-1, -1, -1}, {0, 1, 2}, 0},
        {"nanoseconds", {"1403636579763555584.png", "1403636579813555456.png"}, {-1, -1}, {0, 1}, 0},
        {"sizes", {"00001_640x480.png", "00002_640x480.png", "00003_640x480.png"}, {-1, -1, -1}, {0, 1, 2}, 0},
        {"kinds", {"flow_1.png", "flow_2.png", "img_1.png", "img_2.png"}, {1, 2, 1, 2}, {0, 1, 0, 1}, 0},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        const struct folder_case *c = &cases[k];
        OWNED(bl_image_folder_free) struct bl_image_folder folder;
        folder_make(c);
        ck_assert_msg(bl_image_folder_list(&folder, c->what, NULL, &e) == 0, "%s: %s", c->what, e.text);
        for (size_t i = 0; i < folder.count; i++) {
            double position;
            ck_assert_str_eq(folder.image[i].name, c->name[i]);
            ck_assert_msg(bl_image_folder_number(&folder, i) == c->number[i], "%s: number %zu", c->what, i);
            ck_assert_int_eq(bl_image_folder_position(&folder, i, &position, &e), 0);
            ck_assert_msg(position >= c->position[i] && position <= c->position[i], "%s: position %zu", c->what, i);
        }
        ck_assert_msg(bl_image_folder_count_missing(&folder, 0, folder.count) == c->missing, "%s: missing", c->what);
    }
}

/* A range of numbers, both ends included, and the places of the images; or the message. */
UNIT_TEST(images_are_found_by_number)
{
    static const struct {
        const char *what, *name[IMAGES_MAX];
        int64_t first, last;
        size_t begin, end;
        const char *fault;
    } cases[] = {
        {"all", {"1.png", "2.png", "3.png"}, 1, 3, 0, 3, NULL},
        {"one", {"1.png", "2.png", "3.png"}, 2, 2, 1, 2, NULL},
        {"open", {"1.png", "2.png", "3.png"}, 2, -1, 1, 3, NULL},
        {"opened", {"1.png", "2.png", "3.png"}, -1, 2, 0, 2, NULL},
        {"wide", {"5.png", "6.png", "7.png"}, 0, 99, 0, 3, NULL},
        {"gap", {"1.png", "2.png", "5.png", "6.png"}, 2, 5, 1, 3, NULL},
        {"sample", {"1.png", "6.png", "11.png"}, 2, 8, 1, 2, NULL},
        {"cover", {"1.png", "2.png", "3.png", "cover.png"}, 2, 3, 1, 3, NULL},
        {"hole",
         {"1.png", "2.png", "5.png", "6.png"},
         3,
         4,
         0,
         0,
         "no image has a number from 3 to 4: those of the folder are 1 to 6"},
        {"behind",
         {"1.png", "2.png", "cover.png"},
         3,
         4,
         0,
         0,
         "no image has a number from 3 to 4: those of the folder are 1 to 2"},
        {"series",
         {"u_1.png", "u_2.png", "v_1.png", "v_2.png"},
         1,
         2,
         0,
         0,
         "do not follow each other, or a number occurs twice"},
        {"apart",
         {"u_1.png", "u_2.png", "v_1.png", "v_2.png"},
         2,
         2,
         0,
         0,
         "do not follow each other, or a number occurs twice"},
        {"clock", {"1305031102.175304.png", "1305031102.211214.png"}, 1, 2, 0, 0, "count no pictures"},
    };
    for (size_t k = 0; k < COUNT(cases); k++) {
        struct folder_case c = {.what = cases[k].what};
        OWNED(bl_image_folder_free) struct bl_image_folder folder;
        size_t begin, end;
        memcpy(c.name, cases[k].name, sizeof c.name);
        folder_make(&c);
        ck_assert_int_eq(bl_image_folder_list(&folder, c.what, NULL, &e), 0);
        int code = bl_image_folder_find_numbers(&folder, cases[k].first, cases[k].last, &begin, &end, &e);
        ck_assert_msg(code == (cases[k].fault ? BL_EDATA : BL_OK), "%s: %s", c.what, e.text);
        if (code)
            ck_assert_msg(strstr(e.text, cases[k].fault) != NULL, "%s: %s", c.what, e.text);
        else
            ck_assert_msg(begin == cases[k].begin && end == cases[k].end, "%s: %zu to %zu", c.what, begin, end);
        bl_error_clear(&e);
    }
}

/* Where others have one, a name without a number has no position. */
UNIT_TEST(a_name_without_a_number_is_named)
{
    static const struct folder_case bare = {.what = "bare", .name = {"1.png", "2.png", "last.png"}};
    OWNED(bl_image_folder_free) struct bl_image_folder folder;
    double position;
    folder_make(&bare);
    ck_assert_int_eq(bl_image_folder_list(&folder, bare.what, NULL, &e), 0);
    ck_assert_int_eq(bl_image_folder_position(&folder, 1, &position, &e), 0);
    FAILS(bl_image_folder_position(&folder, 2, &position, &e), BL_EDATA, "last.png has no number for its time");
}

/* Only a folder without images is one of .flo files. */
UNIT_TEST(flow_is_listed_where_there_are_no_images)
{
    static const struct folder_case cases[] = {{.what = "flow", .name = {"f_2.flo", "f_10.FLO", "note.txt"}},
                                               {.what = "mixed", .name = {"f_1.flo", "f_1.png", "f_2.flo"}}};
    for (size_t k = 0; k < COUNT(cases); k++) {
        folder_make(&cases[k]);
        for (int pattern = 0; pattern < 2; pattern++) {
            OWNED(bl_image_folder_free) struct bl_image_folder folder;
            ck_assert_int_eq(bl_image_folder_list(&folder, cases[k].what, pattern ? "*.flo" : NULL, &e), 0);
            ck_assert_uint_eq(folder.count, k ? !pattern : pattern ? 1 : 2);
            if (folder.count)
                ck_assert_str_eq(folder.image[0].name, k ? "f_1.png" : "f_2.flo");
        }
    }
    OWNED(bl_image_folder_free) struct bl_image_folder folder;
    ck_assert_int_eq(bl_image_folder_list(&folder, "flow", NULL, &e), 0);
    ck_assert_int_eq(bl_image_folder_count_missing(&folder, 0, folder.count), 0);
    ck_assert_int_eq(bl_image_folder_number(&folder, 1), 10);
}
