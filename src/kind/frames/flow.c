/* Reads .flo files; flow.h has the format. Example: the header of 4 x 3 vectors, behind which 96 bytes follow:
 *
 *     50 49 45 48  04 00 00 00  03 00 00 00      "PIEH", 4, 3 */
#include "kind/frames/flow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/input_file.h"
#include "base/io.h"
#include "kind/frames/image.h"
#include "kind/video/geometry.h"

#define HEADER 12 /* bytes */
#define VECTOR 8  /* bytes */

/* Returns a little-endian integer. */
static int64_t flow_number(const uint8_t *bytes)
{
    return (int32_t)((uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
                     (uint32_t)bytes[3] << 24);
}

/* Checks the header of a file of so many bytes, and sets the size. */
static int flow_parse_header(const uint8_t header[HEADER], int64_t bytes, struct bl_dimensions *size,
                             struct bl_error *e)
{
    int64_t width = flow_number(header + 4), height = flow_number(header + 8);
    if (memcmp(header, "HEIP", 4) == 0)
        return bl_error_set(e, BL_EDATA, "a big-endian .flo file: write it little-endian, as the format has it");
    if (memcmp(header, "PIEH", 4) != 0)
        return bl_error_set(e, BL_EDATA,
                            "not a .flo file, which begins with PIEH: --pixels flow takes folders of .flo files alone");
    if (width < 1 || height < 1 || width > BL_SIDE_MAX || height > BL_SIDE_MAX || width * height > BL_AREA_MAX)
        return bl_error_set(e, BL_EDATA, "a .flo file of %" PRId64 "x%" PRId64 " vectors: damaged, or too large", width,
                            height);
    if (bytes != HEADER + VECTOR * width * height)
        return bl_error_set(e, BL_EDATA,
                            "a .flo file of %" PRId64 " bytes, and its %" PRId64 "x%" PRId64 " vectors take %" PRId64
                            ": damaged",
                            bytes, width, height, HEADER + VECTOR * width * height);
    *size = (struct bl_dimensions){(int)width, (int)height};
    return BL_OK;
}

/* Opens a file that is the listed one, and reads its header. The caller closes *input. */
static int flow_open(const struct bl_image *file, const char *path, struct bl_input_file *input,
                     struct bl_dimensions *size, struct bl_error *e)
{
    uint8_t header[HEADER];
    if (bl_input_file_open(input, path) != 0) {
        /* The listing has no bytes for these, so that no content can have changed. */
        bool unusable = file->bytes == 0 && (errno == ENOENT || errno == ENXIO);
        return bl_opener_fail("cannot open", path, unusable ? BL_EDATA : BL_EFAIL, e);
    }
    BL_TRY(bl_image_verify(file, input, path, e));
    if (file->bytes < HEADER)
        return bl_error_set(e, BL_EDATA, "a .flo file of %" PRId64 " bytes: damaged", file->bytes);
    BL_TRY(bl_input_file_get(input, header, sizeof header, 0, path, e));
    return flow_parse_header(header, file->bytes, size, e);
}

int bl_flow_read_size(const struct bl_image *file, const char *path, struct bl_dimensions *size, struct bl_error *e)
{
    struct bl_input_file input;
    int code = flow_open(file, path, &input, size, e);
    bl_input_file_close(&input);
    return code;
}

int bl_flow_read(const struct bl_image *file, const char *path, const struct bl_dimensions *size, uint8_t *out,
                 struct bl_error *e)
{
    struct bl_dimensions here = {0};
    struct bl_input_file input;
    int code = flow_open(file, path, &input, &here, e);
    if (!code && (here.width != size->width || here.height != size->height))
        code = bl_error_set(e, BL_EDATA, "a flow of %dx%d among those of %dx%d", here.width, here.height, size->width,
                            size->height);
    if (!code)
        code = bl_input_file_get(&input, out, (size_t)(file->bytes - HEADER), HEADER, path, e);
    if (!code)
        code = bl_image_verify(file, &input, path, e);
    bl_input_file_close(&input);
    return code;
}
