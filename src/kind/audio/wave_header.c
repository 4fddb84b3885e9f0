#include "kind/audio/wave_header.h"

#include <inttypes.h>
#include <string.h>

enum { FORMAT_PCM = 1, FORMAT_FLOAT = 3, DS64_SIZE = 28 };

/* Appends the lowest bytes of a number. */
static void header_put(char *out, size_t *size, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        out[(*size)++] = (char)(number >> 8 * i & 0xff);
}

static void header_put_name(char *out, size_t *size, const char *name)
{
    memcpy(out + *size, name, 4);
    *size += 4;
}

static int header_check(const struct bl_wave_header *h, struct bl_error *e)
{
    if (h->dtype != BL_I16 && h->dtype != BL_F32)
        return bl_error_set(e, BL_EUSAGE, "samples of the type %s have no WAV file: I16 and F32 have",
                            bl_dtype_name(h->dtype));
    if (h->channels < 1 || h->channels > UINT16_MAX / 4 || h->rate < 1 || h->rate > UINT32_MAX / 4 / h->channels ||
        h->samples > INT64_MAX / UINT16_MAX)
        return bl_error_set(e, BL_EUSAGE, "%" PRId64 " channels at %" PRId64 " Hz do not fit into a WAV file",
                            h->channels, h->rate);
    return BL_OK;
}

int bl_wave_header_format(const struct bl_wave_header *h, char out[BL_WAVE_HEADER_MAX], size_t *size,
                          struct bl_error *e)
{
    int code = header_check(h, e);
    *size = 0;
    if (code)
        return code;
    const int sample = (int)bl_dtype_size(h->dtype), is_float = h->dtype == BL_F32;
    const int format = is_float ? 18 : 16; /* bytes: other formats than PCM may have more members, and say how many */
    const uint64_t bytes = (uint64_t)(h->samples * h->channels * sample);
    /* What follows the first eight bytes, with the chunk "fact" that samples other than PCM must have. */
    uint64_t all = 4 + 8 + (uint64_t)format + (is_float ? 12 : 0) + 8 + bytes;
    const int is_large = all > UINT32_MAX;
    header_put_name(out, size, is_large ? "RF64" : "RIFF");
    header_put(out, size, is_large ? UINT32_MAX : all, 4);
    header_put_name(out, size, "WAVE");
    if (is_large) {
        header_put_name(out, size, "ds64");
        header_put(out, size, DS64_SIZE, 4);
        header_put(out, size, all + 8 + DS64_SIZE, 8);
        header_put(out, size, bytes, 8);
        header_put(out, size, (uint64_t)h->samples, 8);
        header_put(out, size, 0, 4);
    }
    header_put_name(out, size, "fmt ");
    header_put(out, size, (uint64_t)format, 4);
    header_put(out, size, is_float ? FORMAT_FLOAT : FORMAT_PCM, 2);
    header_put(out, size, (uint64_t)h->channels, 2);
    header_put(out, size, (uint64_t)h->rate, 4);
    header_put(out, size, (uint64_t)(h->rate * h->channels * sample), 4);
    header_put(out, size, (uint64_t)(h->channels * sample), 2);
    header_put(out, size, (uint64_t)sample * 8, 2);
    if (is_float) {
        header_put(out, size, 0, 2);
        header_put_name(out, size, "fact");
        header_put(out, size, 4, 4);
        header_put(out, size, is_large ? UINT32_MAX : (uint64_t)h->samples, 4);
    }
    header_put_name(out, size, "data");
    header_put(out, size, is_large ? UINT32_MAX : bytes, 4);
    return BL_OK;
}
