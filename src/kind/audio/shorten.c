#include "kind/audio/shorten.h"

#include <stdint.h>
#include <string.h>

#define SPHERE_HEADER 1024 /* bytes, of nearly all files */

/* Bits of the file's head, the first one highest. */
struct reader {
    const uint8_t *data;
    int at, size; /* bits */
};

static int reader_bit(struct reader *r)
{
    int bit = r->at < r->size ? r->data[r->at / 8] >> (7 - r->at % 8) & 1 : 1;
    r->at++;
    return bit;
}

/* A number of Rice's code: zeros that count 2^k each, a one, and k bits. */
static unsigned reader_rice(struct reader *r, unsigned k)
{
    unsigned value = 0;
    while (!reader_bit(r))
        value++;
    for (unsigned i = 0; i < k; i++)
        value = value << 1 | (unsigned)reader_bit(r);
    return value;
}

/* Behind the magic number and the version, the header begins with the type of samples. */
static bool shorten_is_companded(const uint8_t *head, int size)
{
    enum { TYPE_BITS = 4, WIDTH_BITS = 2, WIDTH_MAX = 8, MU_LAW_LOSSY = 0, MU_LAW = 7 };
    struct reader r = {head + 5, 0, (size - 5) * 8};
    unsigned width = head[4] ? reader_rice(&r, WIDTH_BITS) : TYPE_BITS;
    unsigned type = width <= WIDTH_MAX ? reader_rice(&r, width) : 1;
    return type == MU_LAW_LOSSY || (type >= MU_LAW && type <= 11); /* several forms of both laws */
}

int bl_shorten_check(const struct bl_demux *d, struct bl_error *e)
{
    const char *format = d->format->iformat->name;
    uint8_t head[SPHERE_HEADER + 1];
    if (strcmp(format, "shn") != 0 && strcmp(format, "nistsphere") != 0)
        return BL_OK;
    ssize_t size = bl_media_file_read(&d->file, head, SPHERE_HEADER, 0);
    if (size < 0)
        return bl_error_errno(e, BL_EFAIL, "%s: cannot be read", d->file.path);
    head[size] = '\0';
    if (format[0] == 'n' && memmem(head, (size_t)size, ",embedded-", 10))
        return bl_error_set(e, BL_EDATA, "not supported: SPHERE with compressed samples: convert it by sph2pipe -p");
    if (format[0] == 's' && size > 5 && shorten_is_companded(head, (int)size))
        return bl_error_set(e, BL_EDATA, "not supported: Shorten of mu-law or A-law: convert it by shorten -x, or SoX");
    return BL_OK;
}
