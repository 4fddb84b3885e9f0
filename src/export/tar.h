/* Members of tar files (POSIX ustar) whose contents are NPY files. */
#ifndef BL_EXPORT_TAR_H
#define BL_EXPORT_TAR_H

#include <stddef.h>
#include <stdint.h>

#include "export/arrays.h"

#define BL_TAR_UNIT 512
#define BL_TAR_NAME_MAX 100
#define BL_TAR_BYTES_MAX ((INT64_C(1) << 33) - 1) /* of a member: eleven octal digits */
#define BL_NPY_HEADER_MAX 256

/* Formats the header of a regular file that anybody may read. Nothing else in it depends on time or user. name: shorter
 * than BL_TAR_NAME_MAX. */
void bl_tar_header(char out[BL_TAR_UNIT], const char *name, int64_t bytes);

/* Bytes that follow a member, up to the next header. */
size_t bl_tar_padding(int64_t bytes);

/* Formats the header of an NPY file, version 1.0, and returns its size, a multiple of 64. BF16, which numpy lacks, is
 * stored as U16. */
size_t bl_npy_header(char out[BL_NPY_HEADER_MAX], const struct bl_export_array *array);

#endif
