/* .flo files: their vectors, and files that are none. */
#include "kind/media/module.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "kind/frames/flow.h"
#include "unit.h"

UNIT_SCRATCH

/* Writes a file of these bytes, and returns it as a folder lists it. */
static struct bl_image flow_make(const void *bytes, size_t size)
{
    struct stat status;
    int fd = open("a.flo", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    ck_assert_int_eq(fstat(fd, &status), 0);
    close(fd);
    static char name[] = "a.flo";
    return (struct bl_image){.name = name,
                             .bytes = status.st_size,
                             .modified = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec};
}

static const uint8_t flow_file[12 + 2 * 1 * 8] = {'P', 'I', 'E', 'H', 2, 0, 0, 0, 1, 0, 0,
                                                  0,   1,   2,   3,   4, 5, 6, 7, 8, 9};

UNIT_TEST(vectors_are_the_bytes_of_the_file)
{
    struct bl_dimensions size = {0}, other = {1, 2};
    uint8_t out[16];
    struct bl_image file = flow_make(flow_file, sizeof flow_file);
    ck_assert_msg(bl_flow_read_size(&file, "a.flo", &size, &e) == 0, "%s", e.text);
    ck_assert_int_eq(size.width, 2);
    ck_assert_int_eq(size.height, 1);
    ck_assert_msg(bl_flow_read(&file, "a.flo", &size, out, &e) == 0, "%s", e.text);
    ck_assert_int_eq(memcmp(out, flow_file + 12, sizeof out), 0);
    FAILS(bl_flow_read(&file, "a.flo", &other, out, &e), BL_EDATA, "a flow of 2x1 among those of 1x2");
    file.modified++;
    FAILS(bl_flow_read(&file, "a.flo", &size, out, &e), BL_EFAIL, "a.flo: changed since it was listed");
    FAILS(bl_flow_read_size(&file, "none.flo", &size, &e), BL_EFAIL, "cannot open none.flo: No such file or directory");
}

UNIT_TEST(other_files_are_refused)
{
    static const struct {
        size_t at;
        uint8_t value;
        size_t size;
        const char *why;
    } cases[] = {
        {0, 'p', 28, "not a .flo file"},        {4, 3, 28, "3x1 vectors take 36"},
        {7, 0x80, 28, "-2147483646x1 vectors"}, {8, 0, 28, "2x0 vectors"},
        {5, 0x81, 28, "33026x1 vectors"},       {0, 'P', 27, "a .flo file of 27 bytes, and its 2x1 vectors take 28"},
        {0, 'P', 11, "of 11 bytes: damaged"},   {0, 'P', 0, "of 0 bytes: damaged"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t bytes[sizeof flow_file];
        struct bl_dimensions size;
        memcpy(bytes, flow_file, sizeof bytes);
        bytes[cases[i].at] = cases[i].value;
        struct bl_image file = flow_make(bytes, cases[i].size);
        bl_error_clear(&e);
        ck_assert_int_eq(bl_flow_read_size(&file, "a.flo", &size, &e), BL_EDATA);
        ck_assert_msg(strstr(e.text, cases[i].why), "%s", e.text);
    }
    uint8_t swapped[sizeof flow_file] = "HEIP";
    struct bl_dimensions size;
    struct bl_image file = flow_make(swapped, sizeof swapped);
    bl_error_clear(&e);
    FAILS(bl_flow_read_size(&file, "a.flo", &size, &e), BL_EDATA,
          "a big-endian .flo file: write it little-endian, as the format has it");
}
