#include "store/jpeg.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <turbojpeg.h>

#define QUOTED(text) #text
#define IN_QUOTES(macro) QUOTED(macro)

/* An encoder or decoder is the library's handle, a void pointer, under a type of its own that is never defined: the two
 * cannot be confused. */

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

static bool shape_is_grey(const int64_t shape[3])
{
    return shape[2] == 1;
}

static enum TJPF shape_format(const int64_t shape[3])
{
    return shape_is_grey(shape) ? TJPF_GRAY : TJPF_RGB;
}

static enum TJSAMP jpeg_sampling(const int64_t shape[3], const struct bl_encoding *encoding)
{
    if (shape_is_grey(shape))
        return TJSAMP_GRAY;
    return encoding->full_chroma ? TJSAMP_444 : TJSAMP_420;
}

size_t bl_jpeg_max_size(const int64_t shape[3], const struct bl_encoding *encoding)
{
    unsigned long size = tjBufSize((int)shape[1], (int)shape[0], jpeg_sampling(shape, encoding));
    return size == (unsigned long)-1 ? 0 : size;
}

/* --- encoding --------------------------------------------------------------------------------------------------- */

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

/* --- decoding --------------------------------------------------------------------------------------------------- */

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

/* What the library reports is damage, unless it ran out of memory. */
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
    if ((colours == TJCS_GRAY) != shape_is_grey(shape))
        return bl_error_set(e, BL_EDATA, "a JPEG file %s", colours == TJCS_GRAY ? "without colours" : "with colours");
    return BL_OK;
}

/* Warnings are damage too, since complete files were written. So is a file with thousands of scans, which would take
 * hours to decode. */
int bl_jpeg_decode(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, const int64_t shape[3],
                   uint8_t *picture, struct bl_error *e)
{
    int code = bl_jpeg_check(decoder, file, size, shape, e);
    if (code)
        return code;
    if (tjDecompress2(decoder, file, size, picture, (int)shape[1], 0, (int)shape[0], shape_format(shape),
                      TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0)
        return jpeg_report_damage(decoder, e);
    return BL_OK;
}
