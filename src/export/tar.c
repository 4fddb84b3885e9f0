#include "export/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "kind/npy.h"

/* Fields of the header, by offset. */
enum { NAME = 0, MODE = 100, UID = 108, GID = 116, SIZE = 124, MTIME = 136, SUM = 148, TYPE = 156, MAGIC = 257 };

void bl_tar_header(char out[BL_TAR_UNIT], const char *name, int64_t bytes)
{
    unsigned sum = 0;
    memset(out, 0, BL_TAR_UNIT);
    snprintf(out + NAME, BL_TAR_NAME_MAX, "%s", name);
    memcpy(out + MODE, "0000644", 8);
    memcpy(out + UID, "0000000", 8);
    memcpy(out + GID, "0000000", 8);
    snprintf(out + SIZE, 12, "%011" PRIo64, bytes);
    memcpy(out + MTIME, "00000000000", 12);
    memset(out + SUM, ' ', 8);
    out[TYPE] = '0';
    memcpy(out + MAGIC, "ustar\00000", 8);
    for (int i = 0; i < BL_TAR_UNIT; i++)
        sum += (unsigned char)out[i];
    snprintf(out + SUM, 7, "%06o", sum); /* then a NUL and a space */
}

size_t bl_tar_padding(int64_t bytes)
{
    return (size_t)((BL_TAR_UNIT - bytes % BL_TAR_UNIT) % BL_TAR_UNIT);
}

static const char *dtype_descr(enum bl_dtype dtype)
{
    static const char *const names[] = {
        [BL_U8] = "|u1",  [BL_I8] = "|i1",   [BL_BOOL] = "|b1", [BL_I16] = "<i2", [BL_U16] = "<u2",
        [BL_F16] = "<f2", [BL_BF16] = "<u2", [BL_I32] = "<i4",  [BL_U32] = "<u4", [BL_F32] = "<f4",
        [BL_I64] = "<i8", [BL_U64] = "<u8",  [BL_F64] = "<f8"};
    return names[dtype];
}

size_t bl_npy_header(char out[BL_NPY_HEADER_MAX], const struct bl_export_array *array)
{
    enum { BEGIN = BL_NPY_MAGIC_SIZE + 4 };
    size_t at = BEGIN, left = BL_NPY_HEADER_MAX - BEGIN;
    at += (size_t)snprintf(out + at, left, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                           dtype_descr(array->dtype));
    for (int i = 0; i < array->rank; i++)
        at += (size_t)snprintf(out + at, BL_NPY_HEADER_MAX - at, "%s%" PRId64 "%s", i ? " " : "", array->shape[i],
                               i + 1 < array->rank || array->rank == 1 ? "," : "");
    at += (size_t)snprintf(out + at, BL_NPY_HEADER_MAX - at, "), }");
    size_t end = (at + 1 + 63) / 64 * 64;
    memset(out + at, ' ', end - at);
    out[end - 1] = '\n';
    memcpy(out, BL_NPY_MAGIC "\1\0", BL_NPY_MAGIC_SIZE + 2);
    out[BL_NPY_MAGIC_SIZE + 2] = (char)((end - BEGIN) & 0xff);
    out[BL_NPY_MAGIC_SIZE + 3] = (char)((end - BEGIN) >> 8);
    return end;
}
