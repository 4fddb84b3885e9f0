/* Pictures in memory: what is drawn where, scaled, and never outside. */
#include "show/canvas.h"
#include "unit.h"

#define GROUND 0x102030U

static struct bl_canvas canvas_new(int width, int height)
{
    struct bl_canvas canvas;
    struct bl_error e = {0};
    ck_assert_int_eq(bl_canvas_make(&canvas, width, height, GROUND, &e), BL_OK);
    return canvas;
}

static bl_colour at(const struct bl_canvas *c, int x, int y)
{
    const uint8_t *p = c->pixel + (y * c->width + x) * 3;
    return (bl_colour)p[0] << 16 | (bl_colour)p[1] << 8 | p[2];
}

static bool area_has(struct bl_area a, int x, int y)
{
    return x >= a.x && x < a.x + a.width && y >= a.y && y < a.y + a.height;
}

/* Areas within, across every edge, outside, and empty ones. */
static const struct bl_area areas[] = {{2, 1, 3, 4},     {-3, -2, 6, 5}, {8, 5, 9, 9},  {0, 0, 11, 7},
                                       {-5, -5, 40, 40}, {20, 2, 3, 3},  {2, -9, 3, 4}, {4, 4, 0, 2},
                                       {4, 4, 2, 0},     {-9, 3, 9, 1},  {10, 6, 1, 1}, {11, 0, 1, 7}};
enum { AREAS = COUNT(areas) };

UNIT_TEST(fills_are_clipped)
{
    for (int i = 0; i < AREAS; i++) {
        OWNED(bl_canvas_free) struct bl_canvas c = canvas_new(11, 7);
        bl_canvas_fill(&c, areas[i], 0xabcdef);
        for (int y = 0; y < 7; y++) {
            for (int x = 0; x < 11; x++)
                ck_assert_uint_eq(at(&c, x, y), area_has(areas[i], x, y) ? 0xabcdef : GROUND);
        }
    }
}

/* The lines of two areas beside each other are those of one. */
UNIT_TEST(hatches_go_on)
{
    OWNED(bl_canvas_free) struct bl_canvas one = canvas_new(20, 9), two = canvas_new(20, 9);
    bl_canvas_hatch(&one, (struct bl_area){3, 2, 14, 6}, 0xff0000, 0x00ff00);
    bl_canvas_hatch(&two, (struct bl_area){3, 2, 5, 6}, 0xff0000, 0x00ff00);
    bl_canvas_hatch(&two, (struct bl_area){8, 2, 9, 6}, 0xff0000, 0x00ff00);
    ck_assert_mem_eq(one.pixel, two.pixel, 20 * 9 * 3);
    for (int y = 2; y < 8; y++) {
        for (int x = 3; x < 17; x++) {
            ck_assert_uint_eq(at(&one, x, y), (x + y) % 6 ? 0x00ff00 : 0xff0000);
            if (x < 16 && y > 2) /* from the lower left to the upper right */
                ck_assert_uint_eq(at(&one, x, y), at(&one, x + 1, y - 1));
        }
    }
    ck_assert_uint_eq(at(&one, 2, 2), GROUND);
}

/* --- drawing steps ---------------------------------------------------------------------------------------------- */

enum { WIDE = 9, HIGH = 5 };

/* A step of WIDE x HIGH with values that all differ somewhat; the channels too. */
static void step_make(const struct bl_field *field, uint8_t *step)
{
    size_t size = bl_field_step_bytes(field);
    for (size_t i = 0; i < size; i++)
        step[i] = (uint8_t)(i * 37 + i / 7);
}

/* The mean that the header promises, of channel k. */
static int expected_mean(const struct bl_field *field, const uint8_t *step, struct bl_area a, int x, int y, int k)
{
    const int channels = field->rank == 3 ? (int)field->shape[2] : 1, bytes = field->dtype == BL_U16 ? 2 : 1;
    int x0 = x * WIDE / a.width, x1 = (x + 1) * WIDE / a.width, y0 = y * HIGH / a.height,
        y1 = (y + 1) * HIGH / a.height;
    double sum = 0;
    int count = 0;
    for (int v = y0; v < (y1 > y0 ? y1 : y0 + 1); v++) {
        for (int u = x0; u < (x1 > x0 ? x1 : x0 + 1); u++) {
            sum += step[((v * WIDE + u) * channels + (channels > 1 ? k : 0)) * bytes + bytes - 1];
            count++;
        }
    }
    return (int)(sum / count + 0.5);
}

static const struct bl_field fields[] = {
    {.dtype = BL_U8, .rank = 2, .shape = {HIGH, WIDE}},    {.dtype = BL_U8, .rank = 3, .shape = {HIGH, WIDE, 1}},
    {.dtype = BL_U8, .rank = 3, .shape = {HIGH, WIDE, 3}}, {.dtype = BL_U8, .rank = 3, .shape = {HIGH, WIDE, 4}},
    {.dtype = BL_U16, .rank = 2, .shape = {HIGH, WIDE}},   {.dtype = BL_U16, .rank = 3, .shape = {HIGH, WIDE, 1}}};
enum { FIELDS = COUNT(fields) };

static void draw_is_right(const struct bl_field *field, struct bl_area area)
{
    uint8_t step[WIDE * HIGH * 4];
    step_make(field, step);
    OWNED(bl_canvas_free) struct bl_canvas c = canvas_new(24, 16);
    bl_canvas_draw(&c, area, field, step);
    for (int y = 0; y < 16; y++) {
        for (int x = 0; x < 24; x++) {
            bl_colour expected = 0;
            for (int k = 0; k < 3 && area_has(area, x, y); k++)
                expected = expected << 8 | (bl_colour)expected_mean(field, step, area, x - area.x, y - area.y, k);
            ck_assert_uint_eq(at(&c, x, y), area_has(area, x, y) ? expected : GROUND);
        }
    }
}

UNIT_TEST(steps_are_scaled)
{
    static const struct bl_area into[] = {{3, 2, WIDE, HIGH}, {1, 1, 18, 10}, {2, 3, 4, 2},
                                          {0, 0, 1, 1},       {5, 0, 13, 3},  {0, 0, 23, 15}};
    for (int f = 0; f < FIELDS; f++) {
        for (size_t i = 0; i < COUNT(into); i++)
            draw_is_right(&fields[f], into[i]);
    }
}

UNIT_TEST(steps_are_clipped)
{
    static const struct bl_area into[] = {
        {-4, -3, 18, 10}, {20, 12, 18, 10}, {-90, 0, 9, 9}, {3, 40, 5, 5}, {-5, -5, 60, 60}};
    for (size_t i = 0; i < COUNT(into); i++)
        draw_is_right(&fields[2], into[i]);
}

UNIT_TEST(equal_sizes_are_exact)
{
    uint8_t step[WIDE * HIGH * 3];
    step_make(&fields[2], step);
    OWNED(bl_canvas_free) struct bl_canvas c = canvas_new(WIDE, HIGH);
    bl_canvas_draw(&c, (struct bl_area){0, 0, WIDE, HIGH}, &fields[2], step);
    ck_assert_mem_eq(c.pixel, step, sizeof step);
}

/* Classes have the colours of Pascal VOC's palette, and are never mixed: 1 is dark red, 2 dark green, 255 light. */
UNIT_TEST(classes_have_colours)
{
    static const struct bl_field mask = {.dtype = BL_U8, .rank = 3, .shape = {3, 4, 1}, .lossless = true};
    static const uint8_t step[12] = {0, 1, 2, 255, 3, 4, 8, 9, 0, 0, 1, 1};
    static const bl_colour colours[] = {0, 0x800000, 0x8000, 0xe0e0c0, 0x808000, 0x80, 0x400000, 0xc00000};
    OWNED(bl_canvas_free) struct bl_canvas c = canvas_new(4, 3), small = canvas_new(2, 1);
    bl_canvas_draw(&c, (struct bl_area){0, 0, 4, 3}, &mask, step);
    for (int i = 0; i < 8; i++)
        ck_assert_uint_eq(at(&c, i % 4, i / 4), colours[i]);
    bl_canvas_draw(&small, (struct bl_area){0, 0, 2, 1}, &mask, step);
    ck_assert_uint_eq(at(&small, 0, 0), colours[5]);
    ck_assert_uint_eq(at(&small, 1, 0), colours[7]);
}

/* --- copying ---------------------------------------------------------------------------------------------------- */

/* Wherever the area and the place are: what is on both canvases is copied, and nothing else. */
UNIT_TEST(copies_are_clipped)
{
    static const int places[][2] = {{0, 0}, {3, 2}, {9, 6}, {12, 0}, {0, 30}};
    OWNED(bl_canvas_free) struct bl_canvas from = canvas_new(11, 7);
    for (int i = 0; i < 11 * 7 * 3; i++)
        from.pixel[i] = (uint8_t)(i * 29);
    for (int i = 0; i < AREAS; i++) {
        for (size_t k = 0; k < COUNT(places); k++) {
            const int left = areas[i].x > 0 ? areas[i].x : 0, top = areas[i].y > 0 ? areas[i].y : 0;
            OWNED(bl_canvas_free) struct bl_canvas to = canvas_new(12, 8);
            bl_canvas_copy(&from, areas[i], &to, places[k][0], places[k][1]);
            for (int y = 0; y < 8; y++) {
                for (int x = 0; x < 12; x++) {
                    int u = left + x - places[k][0], v = top + y - places[k][1];
                    bool is_there =
                        x >= places[k][0] && y >= places[k][1] && u < 11 && v < 7 && area_has(areas[i], u, v);
                    ck_assert_uint_eq(at(&to, x, y), is_there ? at(&from, u, v) : GROUND);
                }
            }
        }
    }
}

UNIT_TEST(png_has_the_area)
{
    struct bl_buffer out = {0};
    struct bl_canvas c = canvas_new(30, 20);
    bl_buffer_text(&out, "before");
    ck_assert_int_eq(bl_canvas_append_png(&c, (struct bl_area){4, 5, 13, 7}, false, &out, &e), BL_OK);
    ck_assert_mem_eq(out.data, "before\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x0d\0\0\0\x07\x08\x02", 6 + 26);
    bl_buffer_free(&out);
    bl_canvas_free(&c);
    ck_assert_ptr_null(c.pixel);
}
