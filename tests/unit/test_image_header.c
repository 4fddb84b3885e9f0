#include "kind/frames/image_header.h"

#include <sys/mman.h>

#include "unit.h"

static const uint8_t png[] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0,  0, 0, 13, 'I', 'H', 'D',
                              'R',  0,   0,   78,  32, 0,  0,  78, 33, 8, 2, 0,  0,   0,   0};
static const uint8_t bmp[] = {'B', 'M', 0, 0, 0, 0, 0, 0,    0,    0,    54, 0, 0,  0, 40, 0,
                              0,   0,   0, 1, 0, 0, 0, 0xfe, 0xff, 0xff, 1,  0, 24, 0, 0,  0};
static const uint8_t jpeg[] = {0xff, 0xd8, 0xff, 0xe0, 0, 4, 1,    1, 0xff, 0xff, 0xc2, 0, 17,   8,
                               1,    0,    2,    0,    3, 1, 0x22, 0, 2,    0x11, 1,    3, 0x11, 1};
static const uint8_t webp[] = {82, 73, 70, 70, 0,  0, 0, 0, 87, 69,  66, 80, 86, 80, 56, 88,
                               10, 0,  0,  0,  16, 0, 0, 0, 9,  0,   0,  0,  4,  0,  86, 80,
                               56, 32, 10, 0,  0,  0, 0, 0, 0,  157, 1,  42, 32, 0,  2,  0};
static const uint8_t tiff[] = {77, 77, 0, 42, 0, 0, 0, 8, 0, 4, 1, 0, 0, 3, 0, 0, 0, 1,  1, 0,  0, 0, 1,
                               1,  0,  4, 0,  0, 0, 1, 0, 1, 0, 0, 1, 2, 0, 3, 0, 0, 0,  3, 0,  0, 0, 62,
                               1,  21, 0, 3,  0, 0, 0, 1, 0, 3, 0, 0, 0, 0, 0, 0, 0, 16, 0, 16, 0, 16};

static bool header_of(const uint8_t *data, size_t size, struct bl_image_header *header)
{
    struct bl_error e = {0};
    bool found;
    struct bl_input_file file = {.fd = memfd_create("image", 0)};
    ck_assert_int_ge(file.fd, 0);
    ck_assert_int_eq(write(file.fd, data, size), (ssize_t)size);
    ck_assert_msg(bl_image_header_read(&file, (int64_t)size, "image", header, &found, &e) == 0, "%s", e.text);
    bl_input_file_close(&file);
    return found;
}

UNIT_TEST(each_format_tells_its_size)
{
    const struct {
        const uint8_t *data;
        size_t size;
        int64_t width, height;
        int bits, depth;
    } cases[] = {{png, sizeof png, 20000, 20001, 32, 8},
                 {bmp, sizeof bmp, 256, 512, 32, 8},
                 {jpeg, sizeof jpeg, 512, 256, 12, 8},
                 {webp, sizeof webp, 32, 1025, 20, 8},
                 {tiff, sizeof tiff, 256, 65536, 48, 16}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bl_image_header header;
        ck_assert_msg(header_of(cases[i].data, cases[i].size, &header), "case %zu", i);
        ck_assert_int_eq(header.width, cases[i].width);
        ck_assert_int_eq(header.height, cases[i].height);
        ck_assert_int_eq(header.bits, cases[i].bits);
        ck_assert_int_eq(header.depth, cases[i].depth);
        ck_assert(!header.grey && !header.exact);
    }
}

static void patch(uint8_t *data, size_t size, const uint8_t *file, size_t at, uint8_t value)
{
    if (data != file)
        memcpy(data, file, size);
    data[at] = value;
}

UNIT_TEST(depths_are_told_from_pictures)
{
    enum { DEPTH = 24, COLOUR = 25 };
    const struct {
        uint8_t depth, colour;
        bool grey, exact, exact_rgb, indexed;
    } cases[] = {{16, 0, true, true, false, false},  {16, 4, true, true, false, false},
                 {8, 0, true, false, false, true},   {1, 0, true, false, false, true},
                 {16, 2, false, false, true, false}, {16, 6, false, false, true, false},
                 {8, 3, false, false, false, true},  {8, 4, true, false, false, true},
                 {8, 2, false, false, false, false}, {4, 3, false, false, false, true}};
    uint8_t data[128];
    struct bl_image_header header;
    for (size_t i = 0; i < COUNT(cases); i++) {
        patch(data, sizeof png, png, DEPTH, cases[i].depth);
        patch(data, sizeof png, data, COLOUR, cases[i].colour);
        ck_assert(header_of(data, sizeof png, &header));
        ck_assert_int_eq(header.depth, cases[i].depth);
        ck_assert_int_eq(header.grey, cases[i].grey);
        ck_assert_int_eq(header.exact, cases[i].exact);
        ck_assert_int_eq(header.exact_rgb, cases[i].exact_rgb);
        ck_assert_int_eq(header.indexed, cases[i].indexed);
    }
    ck_assert(header_of(jpeg, sizeof jpeg, &header) && !header.indexed);
    ck_assert(header_of(bmp, sizeof bmp, &header) && !header.indexed);
    patch(data, sizeof bmp, bmp, 28, 4);
    ck_assert(header_of(data, sizeof bmp, &header) && header.indexed);
    /* One sample of 16 bits; then the tag of them says that it is an entry of a palette. */
    const uint8_t grey[] = {77, 77, 0, 42, 0, 0, 0, 8, 0, 4, 1, 0, 0, 3, 0,  0, 0, 1, 0, 9, 0, 0, 1, 1, 0, 3, 0, 0, 0,
                            1,  0,  9, 0,  0, 1, 2, 0, 3, 0, 0, 0, 1, 0, 16, 0, 0, 1, 6, 0, 3, 0, 0, 0, 1, 0, 1, 0, 0};
    memcpy(data, grey, sizeof grey);
    ck_assert(header_of(data, sizeof grey, &header));
    ck_assert(header.grey && header.exact);
    ck_assert_int_eq(header.depth, 16);
    data[sizeof grey - 3] = 3;
    ck_assert(header_of(data, sizeof grey, &header));
    ck_assert(!header.grey && !header.exact);
    data[sizeof grey - 3] = 0;
    data[43] = 8;
    ck_assert(header_of(data, sizeof grey, &header));
    ck_assert(header.grey && !header.exact && header.indexed);
}

/* The number beside the colours is opacity only if the file says so, or says nothing. */
UNIT_TEST(opacity_is_told_from_other_numbers)
{
    uint8_t rgba[] = {77, 77, 0, 42, 0, 0, 0, 8, 0, 6, 1, 0, 0, 3, 0, 0,  0, 1, 0, 9, 0, 0, 1, 1, 0, 3, 0, 0,
                      0,  1,  0, 9,  0, 0, 1, 2, 0, 3, 0, 0, 0, 1, 0, 8,  0, 0, 1, 6, 0, 3, 0, 0, 0, 1, 0, 2,
                      0,  0,  1, 21, 0, 3, 0, 0, 0, 1, 0, 4, 0, 0, 1, 82, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0};
    for (uint8_t extra = 0; extra < 3; extra++) {
        struct bl_image_header header;
        rgba[sizeof rgba - 3] = extra;
        ck_assert(header_of(rgba, sizeof rgba, &header));
        ck_assert_int_eq(header.alpha_unread, extra != 2);
        rgba[70] = 9; /* another tag */
        ck_assert(header_of(rgba, sizeof rgba, &header) && !header.alpha_unread);
        rgba[70] = 1;
    }
}

/* All of the size must be there: no half of it is taken for the whole. */
UNIT_TEST(a_file_that_ends_early_has_no_header)
{
    const size_t ends[] = {26, 30, 21, 48, 58};
    const uint8_t *const files[] = {png, bmp, jpeg, webp, tiff};
    for (size_t i = 0; i < COUNT(ends); i++) {
        struct bl_image_header header;
        for (size_t size = 0; size < ends[i]; size++)
            ck_assert_msg(!header_of(files[i], size, &header), "file %zu, %zu bytes", i, size);
    }
}

/* A grey TIFF of little-endian pages, 4 x 4, whose directories follow each other: each with its kind (NewSubfileType),
 * and where the next one is. */
static size_t pages_make(uint8_t *data, const uint8_t (*page)[2], size_t count)
{
    enum { HEADER = 8, PAGE = 2 + 3 * 12 + 4 };
    memset(data, 0, HEADER + count * PAGE);
    memcpy(data, "II*\0\10", 5);
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = data + HEADER + i * PAGE;
        const uint8_t tags[3][12] = {
            {254, 0, 4, 0, 1, 0, 0, 0, page[i][0]}, {0, 1, 3, 0, 1, 0, 0, 0, 4}, {1, 1, 3, 0, 1, 0, 0, 0, 4}};
        at[0] = 3;
        memcpy(at + 2, tags, sizeof tags);
        at[2 + sizeof tags] = page[i][1] == 0 ? 0 : page[i][1] == 255 ? 255 : (uint8_t)(HEADER + page[i][1] * PAGE);
    }
    return HEADER + count * PAGE;
}

UNIT_TEST(pages_are_counted)
{
    enum { END = 0, NOWHERE = 255 };
    const struct {
        uint8_t page[3][2]; /* kind, number of the next */
        const char *pages;  /* or NULL: one */
    } cases[] = {
        {{{0, 1}, {0, 2}, {0, END}}, "3 pages"},  {{{0, 1}, {1, 2}, {0, END}}, "2 pages"},
        {{{0, 1}, {1, 2}, {4, END}}, NULL},       {{{0, NOWHERE}, {0, 2}, {0, END}}, NULL},
        {{{0, 1}, {1, NOWHERE}, {0, END}}, NULL}, {{{0, 1}, {0, 1}, {0, END}}, "1000 pages"}, /* each follows itself */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t data[256];
        struct bl_image_header header;
        ck_assert(header_of(data, pages_make(data, cases[i].page, 3), &header));
        ck_assert_msg(cases[i].pages ? strstr(header.unsupported, cases[i].pages) != NULL : !header.unsupported[0],
                      "case %zu: %s", i, header.unsupported);
    }
}

/* Whatever the bytes are, the answer comes soon, and the memory is a number that can be compared. */
UNIT_TEST(no_bytes_lead_astray)
{
    const uint8_t *const files[] = {png, bmp, jpeg, webp, tiff};
    const size_t sizes[] = {sizeof png, sizeof bmp, sizeof jpeg, sizeof webp, sizeof tiff};
    uint8_t data[128];
    unsigned seed = 1;
    for (int i = 0; i < 5000; i++) {
        size_t which = (size_t)i % 5, size = sizes[which];
        struct bl_image_header header;
        memcpy(data, files[which], size);
        for (int m = 0; m < 1 + i % 4; m++) {
            seed = seed * 1103515245 + 12345;
            data[4 + (seed >> 8) % (size - 4)] = seed >> 30 ? (uint8_t)(seed >> 16) : 0xff;
        }
        if (!header_of(data, size, &header))
            continue;
        ck_assert_int_gt(header.width, 0);
        ck_assert_int_gt(header.height, 0);
        ck_assert_int_gt(bl_image_header_memory(&header, (int64_t)size), (int64_t)size);
    }
}

/* The decoded image and the file, at least; not twice as much. */
UNIT_TEST(the_memory_is_that_of_the_pixels)
{
    const struct bl_image_header plain = {.width = 20000, .height = 20000, .bits = 24};
    const struct bl_image_header huge = {.width = UINT32_MAX, .height = UINT32_MAX, .bits = 64, .beside = 64};
    int64_t bytes = bl_image_header_memory(&plain, 1 << 20);
    ck_assert_int_ge(bytes, (int64_t)20000 * 20000 * 3 + (1 << 20));
    ck_assert_int_lt(bytes, (int64_t)20000 * 20000 * 6);
    ck_assert_int_gt(bl_image_header_memory(&huge, 1), (int64_t)1 << 50);
}
