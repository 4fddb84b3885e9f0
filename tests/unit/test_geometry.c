#include "kind/video/geometry.h"

#include <math.h>

#include "unit.h"

#define ONE 65536

static struct bl_geometry make(const struct bl_geometry_input *in)
{
    struct bl_geometry g;
    struct bl_error e = {0};
    ck_assert_msg(bl_geometry_make(&g, in, &e) == 0, "%s", e.text);
    return g;
}

static void refused(const struct bl_geometry_input *in, int code, const char *word)
{
    struct bl_geometry g;
    struct bl_error e = {0};
    ck_assert_int_eq(bl_geometry_make(&g, in, &e), code);
    ck_assert_int_eq(e.code, code);
    ck_assert_msg(strstr(e.text, word) != NULL, "'%s' lacks '%s'", e.text, word);
}

UNIT_TEST(a_picture_stays_as_it_is)
{
    struct bl_geometry g = make(&(struct bl_geometry_input){.coded_width = 321, .coded_height = 181});
    ck_assert_int_eq(g.width, 321);
    ck_assert_int_eq(g.height, 181);
    ck_assert_int_eq(g.scaled_width, 321);
    ck_assert_int_eq(g.scaled_height, 181);
    ck_assert_uint_eq(g.orientation, 0);
    ck_assert_double_eq(g.source_x, 0);
    ck_assert_double_eq(g.source_width, 321);
    ck_assert_double_eq(g.source_height, 181);
    ck_assert_int_eq(g.place_x, 0);
    ck_assert_int_eq(g.place_y, 0);
}

UNIT_TEST(the_aspect_ratio_changes_the_width)
{
    static const struct {
        int width, height, num, den, shown;
    } cases[] = {
        {720, 576, 64, 45, 1024}, {720, 480, 8, 9, 640}, {1440, 1080, 4, 3, 1920}, {100, 100, 1, 1, 100},
        {100, 100, 0, 1, 100},    {100, 100, 1, 0, 100}, {100, 100, -4, 3, 100},   {3, 3, 1, 2, 2},
        {3, 3, 1, 100, 1},        {161, 121, 3, 2, 242},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bl_geometry g = make(&(struct bl_geometry_input){.coded_width = cases[i].width,
                                                                .coded_height = cases[i].height,
                                                                .sar_num = cases[i].num,
                                                                .sar_den = cases[i].den});
        ck_assert_int_eq(g.display_width, cases[i].shown);
        ck_assert_int_eq(g.display_height, cases[i].height);
        ck_assert_int_eq(g.width, cases[i].shown);
        ck_assert_double_eq(g.source_width, cases[i].width);
    }
}

/* The matrix as it is stored: a b u c d v x y w. */
UNIT_TEST(right_angles_and_mirrors)
{
    static const struct {
        int32_t a, b, c, d;
        unsigned orientation;
    } cases[] = {
        {ONE, 0, 0, ONE, 0},
        {0, ONE, -ONE, 0, BL_ORIENT_TRANSPOSE | BL_ORIENT_MIRROR_X}, /* a quarter clockwise */
        {-ONE, 0, 0, -ONE, BL_ORIENT_MIRROR_X | BL_ORIENT_MIRROR_Y},
        {0, -ONE, ONE, 0, BL_ORIENT_TRANSPOSE | BL_ORIENT_MIRROR_Y},
        {-ONE, 0, 0, ONE, BL_ORIENT_MIRROR_X},
        {ONE, 0, 0, -ONE, BL_ORIENT_MIRROR_Y},
        {0, ONE, ONE, 0, BL_ORIENT_TRANSPOSE},
        {0, -ONE, -ONE, 0, BL_ORIENT_TRANSPOSE | BL_ORIENT_MIRROR_X | BL_ORIENT_MIRROR_Y},
        {ONE, 1000, -1000, ONE, 0},  /* 0.87 degrees */
        {2 * ONE, 0, 0, ONE / 2, 0}, /* a scale is the aspect ratio's business */
        {0, 0, 0, 0, 0},             /* nothing sensible */
        {ONE, ONE, ONE, ONE, 0},     /* singular */
        {INT32_MIN, 0, 0, INT32_MIN, BL_ORIENT_MIRROR_X | BL_ORIENT_MIRROR_Y},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const int32_t matrix[9] = {cases[i].a, cases[i].b, 0, cases[i].c, cases[i].d, 0, 123, 456, 1 << 30};
        struct bl_geometry g =
            make(&(struct bl_geometry_input){.coded_width = 40, .coded_height = 30, .matrix = matrix});
        ck_assert_uint_eq(g.orientation, cases[i].orientation);
        int turned = g.orientation & BL_ORIENT_TRANSPOSE;
        ck_assert_int_eq(g.width, turned ? 30 : 40);
        ck_assert_int_eq(g.height, turned ? 40 : 30);
        ck_assert_int_eq(g.scaled_width, 40);
        ck_assert_int_eq(g.scaled_height, 30);
    }
}

UNIT_TEST(other_angles_are_refused)
{
    static const struct {
        double degrees;
        const char *word;
    } cases[] = {{45, "45.0 degrees"}, {2, "2.0 degrees"}, {93, "93.0 degrees"}, {300, "300.0 degrees"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double angle = cases[i].degrees * acos(-1) / 180;
        int32_t c = (int32_t)lrint(ONE * cos(angle)), s = (int32_t)lrint(ONE * sin(angle));
        const int32_t matrix[9] = {c, s, 0, -s, c, 0, 0, 0, 1 << 30};
        refused(&(struct bl_geometry_input){.coded_width = 40, .coded_height = 30, .matrix = matrix}, BL_EDATA,
                cases[i].word);
    }
}

static struct bl_geometry fitted(int width, int height, const char *target, enum bl_fit fit, const int32_t *matrix)
{
    struct bl_geometry_input in = {.coded_width = width, .coded_height = height, .fit = fit, .matrix = matrix};
    ck_assert_int_eq(sscanf(target, "%dx%d", &in.target_width, &in.target_height), 2);
    return make(&in);
}

UNIT_TEST(stretch_fills_the_target)
{
    struct bl_geometry g = fitted(640, 360, "224x200", BL_FIT_STRETCH, NULL);
    ck_assert_int_eq(g.scaled_width, 224);
    ck_assert_int_eq(g.scaled_height, 200);
    ck_assert_double_eq(g.source_width, 640);
    ck_assert_double_eq(g.source_height, 360);
}

UNIT_TEST(crop_cuts_evenly)
{
    struct bl_geometry g = fitted(640, 360, "224x224", BL_FIT_CROP, NULL);
    ck_assert_int_eq(g.scaled_width, 224);
    ck_assert_int_eq(g.scaled_height, 224);
    ck_assert_double_eq(g.source_x, 140);
    ck_assert_double_eq(g.source_y, 0);
    ck_assert_double_eq(g.source_width, 360);
    ck_assert_double_eq(g.source_height, 360);
    g = fitted(640, 360, "1000x100", BL_FIT_CROP, NULL);
    ck_assert_double_eq(g.source_width, 640);
    ck_assert_double_eq(g.source_height, 64);
    ck_assert_double_eq(g.source_y, 148);
    g = fitted(640, 360, "64x36", BL_FIT_CROP, NULL);
    ck_assert_double_eq(g.source_width, 640);
    ck_assert_double_eq(g.source_height, 360);
}

UNIT_TEST(pad_centres)
{
    struct bl_geometry g = fitted(640, 360, "224x224", BL_FIT_PAD, NULL);
    ck_assert_int_eq(g.scaled_width, 224);
    ck_assert_int_eq(g.scaled_height, 126);
    ck_assert_int_eq(g.place_x, 0);
    ck_assert_int_eq(g.place_y, 49);
    ck_assert_int_eq(g.width, 224);
    ck_assert_int_eq(g.height, 224);
    g = fitted(100, 300, "101x99", BL_FIT_PAD, NULL);
    ck_assert_int_eq(g.scaled_width, 33);
    ck_assert_int_eq(g.scaled_height, 99);
    ck_assert_int_eq(g.place_x, 34);
    g = fitted(10000, 1, "100x100", BL_FIT_PAD, NULL);
    ck_assert_int_eq(g.scaled_width, 100);
    ck_assert_int_eq(g.scaled_height, 1);
    ck_assert_int_eq(g.place_y, 49);
}

UNIT_TEST(a_turned_picture_is_fitted_upright)
{
    const int32_t quarter[9] = {0, ONE, 0, -ONE, 0, 0, 0, 0, 1 << 30};
    struct bl_geometry g = fitted(640, 360, "100x200", BL_FIT_PAD, quarter);
    ck_assert_int_eq(g.display_width, 360);
    ck_assert_int_eq(g.scaled_width, 178);
    ck_assert_int_eq(g.scaled_height, 100);
    ck_assert_int_eq(g.place_x, 0);
    ck_assert_int_eq(g.place_y, 11);
    g = fitted(640, 360, "100x100", BL_FIT_CROP, quarter);
    ck_assert_double_eq(g.source_x, 140);
    ck_assert_double_eq(g.source_y, 0);
    ck_assert_double_eq(g.source_width, 360);
    ck_assert_double_eq(g.source_height, 360);
}

UNIT_TEST(sizes_are_bounded)
{
    refused(&(struct bl_geometry_input){.coded_width = 0, .coded_height = 10}, BL_EDATA, "0x10");
    refused(&(struct bl_geometry_input){.coded_width = 40000, .coded_height = 10}, BL_EDATA, "40000x10");
    refused(&(struct bl_geometry_input){.coded_width = 32768, .coded_height = 32768}, BL_EDATA, "out of bounds");
    refused(&(struct bl_geometry_input){.coded_width = 1000, .coded_height = 10, .sar_num = INT32_MAX, .sar_den = 1},
            BL_EDATA, "out of bounds");
    refused(&(struct bl_geometry_input){.coded_width = 10, .coded_height = 10, .target_width = 5}, BL_EUSAGE, "5x0");
    refused(
        &(struct bl_geometry_input){.coded_width = 10, .coded_height = 10, .target_width = 32769, .target_height = 1},
        BL_EUSAGE, "32769x1");
}
