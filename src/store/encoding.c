/* The encodings of fields. The delta encoding is a transform in place; JPEG is left to libjpeg-turbo, through its API
 * TurboJPEG. */
#include "store/encoding.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

#include "base/text.h"

/* --- names -------------------------------------------------------------------------------------------------------- */

#define SIDE_MAX 65535 /* of a JPEG: sizes are 16-bit numbers */

char *bl_encoding_name(const struct bl_encoding *encoding, char out[BL_ENCODING_NAME_MAX])
{
    static const char *const names[] = {
        [BL_ENCODING_RAW] = "raw", [BL_ENCODING_JPEG] = "jpeg", [BL_ENCODING_DELTA] = "delta"};
    if (encoding->kind == BL_ENCODING_JPEG)
        snprintf(out, BL_ENCODING_NAME_MAX, "jpeg:%d%s", encoding->quality, encoding->full_chroma ? ":444" : "");
    else
        snprintf(out, BL_ENCODING_NAME_MAX, "%s", names[encoding->kind]);
    return out;
}

bool bl_encoding_parse(const char *name, struct bl_encoding *encoding)
{
    int64_t quality = BL_ENCODING_QUALITY;
    *encoding = (struct bl_encoding){.kind = BL_ENCODING_RAW};
    if (strcmp(name, "raw") == 0)
        return true;
    if (strcmp(name, "delta") == 0) {
        encoding->kind = BL_ENCODING_DELTA;
        return true;
    }
    if (strncmp(name, "jpeg", 4) != 0)
        return false;
    /* "jpeg", "jpeg:90" or "jpeg:90:444". */
    const char *rest = name + 4;
    size_t digits = *rest == ':' ? strcspn(rest + 1, ":") : 0;
    if (*rest && !bl_text_to_int(rest + 1, digits, 1, 100, &quality))
        return false;
    rest += *rest ? digits + 1 : 0;
    if (*rest && strcmp(rest, ":444") != 0)
        return false;
    *encoding = (struct bl_encoding){BL_ENCODING_JPEG, (int)quality, .full_chroma = *rest};
    return true;
}

/* A field that is padded with copies of its last step has no empty steps, which both encodings store as zeros or as no
 * bytes: such a field stays raw. */
bool bl_encoding_takes(enum bl_encoding_kind kind, const struct bl_field *field)
{
    if (kind == BL_ENCODING_RAW)
        return true;
    bool frames = strcmp(field->kind, "video") == 0 || strcmp(field->kind, "frames") == 0;
    if (field->dtype != BL_U8 || field->rank != 3 || field->pad)
        return false;
    if (field->shape[2] != 3 && (field->shape[2] != 1 || !frames))
        return false;
    return kind == BL_ENCODING_DELTA ||
           (!field->lossless && field->shape[0] <= SIDE_MAX && field->shape[1] <= SIDE_MAX);
}

/* --- delta encoding ----------------------------------------------------------------------------------------------- */

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/* Adds the other row, or subtracts it. Always inlined, so that neither has a branch in its loop. */
static inline __attribute__((always_inline)) void row_combine(uint8_t *row, const uint8_t *other, size_t n, bool add)
{
    bytes16 a, b;
    size_t i = 0;
    for (; i + sizeof a <= n; i += sizeof a) {
        memcpy(&a, row + i, sizeof a);
        memcpy(&b, other + i, sizeof b);
        a = add ? a + b : a - b;
        memcpy(row + i, &a, sizeof a);
    }
    for (; i < n; i++)
        row[i] = (uint8_t)(add ? row[i] + other[i] : row[i] - other[i]);
}

/* Takes differences along the row and the colours in one pass, so that the last pixel stays in registers. */
static void row_differences_rgb(uint8_t *pixel, size_t width)
{
    unsigned red = 0, green = 0, blue = 0;
    for (size_t x = 0; x < width; x++, pixel += 3) {
        unsigned r = pixel[0], g = pixel[1], b = pixel[2];
        pixel[0] = (uint8_t)(r - red);
        pixel[1] = (uint8_t)((g - green) - (r - red));
        pixel[2] = (uint8_t)((b - blue) - (g - green));
        red = r;
        green = g;
        blue = b;
    }
}

/* Sums up what row_differences_rgb made: red, then green on top of it, then blue on top of green. */
static void row_sums_rgb(uint8_t *pixel, size_t width)
{
    unsigned red = 0, green = 0, blue = 0;
    for (size_t x = 0; x < width; x++, pixel += 3) {
        red += pixel[0];
        green += pixel[1];
        blue += pixel[2];
        pixel[0] = (uint8_t)red;
        pixel[1] = (uint8_t)(red + green);
        pixel[2] = (uint8_t)(red + green + blue);
    }
}

/* Goes from the last row to the first, since each row needs the unencoded row above it. */
void bl_delta_encode(uint8_t *data, size_t pictures, const int64_t shape[3])
{
    size_t height = (size_t)shape[0], width = (size_t)shape[1], row = width * (size_t)shape[2];
    size_t grey = shape[2] == 1 ? width : 0;
    for (size_t i = 0; i < pictures; i++, data += height * row) {
        for (size_t y = height; y-- > 0;) {
            if (y > 0)
                row_combine(data + y * row, data + (y - 1) * row, row, false);
            uint8_t *line = data + y * row;
            if (shape[2] == 3)
                row_differences_rgb(line, width);
            for (size_t x = grey; x-- > 1;)
                line[x] = (uint8_t)(line[x] - line[x - 1]);
        }
    }
}

void bl_delta_decode(uint8_t *data, size_t pictures, const int64_t shape[3])
{
    size_t height = (size_t)shape[0], width = (size_t)shape[1], row = width * (size_t)shape[2];
    size_t grey = shape[2] == 1 ? width : 0;
    for (size_t i = 0; i < pictures; i++, data += height * row) {
        for (size_t y = 0; y < height; y++) {
            uint8_t *line = data + y * row;
            if (shape[2] == 3)
                row_sums_rgb(line, width);
            for (size_t x = 1; x < grey; x++)
                line[x] = (uint8_t)(line[x] + line[x - 1]);
            if (y > 0)
                row_combine(data + y * row, data + (y - 1) * row, row, true);
        }
    }
}

/* --- JPEG --------------------------------------------------------------------------------------------------------- */

#define QUOTED(text) #text
#define IN_QUOTES(macro) QUOTED(macro)

/* libjpeg-turbo's handles are void pointers. The types bl_jpeg_encoder and bl_jpeg_decoder are never defined: a pointer
 * to one of them is such a handle, and the compiler rejects a decoder in the place of an encoder. */

const char *bl_jpeg_version(void)
{
    return IN_QUOTES(TURBOJPEG_VERSION);
}

void bl_jpeg_forget_environment(void)
{
    static const char *const names[] = {"TJ_OPTIMIZE", "TJ_ARITHMETIC", "TJ_RESTART", "TJ_PROGRESSIVE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
}

/* The last dimension of a shape is 1 for grey pictures, and 3 for colours. */
static enum TJPF shape_format(const int64_t shape[3])
{
    return shape[2] == 1 ? TJPF_GRAY : TJPF_RGB;
}

/* Returns how many samples of colour the JPEG file has: half in both directions (4:2:0), all, or none. */
static enum TJSAMP jpeg_sampling(const int64_t shape[3], const struct bl_encoding *encoding)
{
    if (shape[2] == 1)
        return TJSAMP_GRAY;
    return encoding->full_chroma ? TJSAMP_444 : TJSAMP_420;
}

size_t bl_jpeg_max_size(const int64_t shape[3], const struct bl_encoding *encoding)
{
    unsigned long size = tjBufSize((int)shape[1], (int)shape[0], jpeg_sampling(shape, encoding));
    return size == (unsigned long)-1 ? 0 : size;
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

int bl_jpeg_encoder_open(struct bl_jpeg_encoder **out, struct bl_error *e)
{
    *out = tjInitCompress();
    return *out ? BL_OK : bl_error_memory(e);
}

void bl_jpeg_encoder_close(struct bl_jpeg_encoder *encoder)
{
    if (encoder)
        (void)tjDestroy(encoder);
}

/* The buffer has the maximum size, so that the library, which may not reallocate it, never lacks room. */
int bl_jpeg_encode(struct bl_jpeg_encoder *encoder, const uint8_t *picture, const int64_t shape[3],
                   const struct bl_encoding *encoding, uint8_t *out, size_t *size, struct bl_error *e)
{
    unsigned long taken = bl_jpeg_max_size(shape, encoding);
    if (tjCompress2(encoder, picture, (int)shape[1], 0, (int)shape[0], shape_format(shape), &out, &taken,
                    jpeg_sampling(shape, encoding), encoding->quality, TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT) != 0)
        return bl_error_set(e, BL_EFAIL, "libjpeg-turbo cannot encode a picture: %s", tjGetErrorStr2(encoder));
    *size = taken;
    return BL_OK;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

int bl_jpeg_decoder_open(struct bl_jpeg_decoder **out, struct bl_error *e)
{
    *out = tjInitDecompress();
    return *out ? BL_OK : bl_error_memory(e);
}

void bl_jpeg_decoder_close(struct bl_jpeg_decoder *decoder)
{
    if (decoder)
        (void)tjDestroy(decoder);
}

/* Turns an error of the library into BL_EDATA, the file is damaged, unless memory ran out. */
static int jpeg_report_damage(struct bl_jpeg_decoder *decoder, struct bl_error *e)
{
    if (bl_error_memory_seen())
        return bl_error_memory(e);
    return bl_error_set(e, BL_EDATA, "not a JPEG file, or damaged: %s", tjGetErrorStr2(decoder));
}

int bl_jpeg_check(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, const int64_t shape[3],
                  struct bl_error *e)
{
    int w = 0, h = 0, sampling = 0, colours = 0;
    bl_error_memory_watch();
    if (tjDecompressHeader3(decoder, file, size, &w, &h, &sampling, &colours) != 0)
        return jpeg_report_damage(decoder, e);
    if (w != shape[1] || h != shape[0])
        return bl_error_set(e, BL_EDATA, "a JPEG file of %dx%d instead of %" PRId64 "x%" PRId64, w, h, shape[1],
                            shape[0]);
    if ((colours == TJCS_GRAY) != (shape[2] == 1))
        return bl_error_set(e, BL_EDATA, "a JPEG file %s", colours == TJCS_GRAY ? "without colours" : "with colours");
    return BL_OK;
}

/* A warning of the library counts as damage, since only complete files are written. A file with thousands of scans,
 * which would take hours to decode, counts as damage, too. */
int bl_jpeg_decode(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, const int64_t shape[3],
                   uint8_t *picture, struct bl_error *e)
{
    BL_TRY(bl_jpeg_check(decoder, file, size, shape, e));
    if (tjDecompress2(decoder, file, size, picture, (int)shape[1], 0, (int)shape[0], shape_format(shape),
                      TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0)
        return jpeg_report_damage(decoder, e);
    return BL_OK;
}
