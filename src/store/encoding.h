/* How a field's steps are kept in shards: as they are, as JPEG files, or as differences that compress better. */
#ifndef BL_ENCODING_H
#define BL_ENCODING_H

#include <stdbool.h>

#include "kind/field.h"

enum bl_encoding_kind {
    BL_ENCODING_RAW,
    BL_ENCODING_JPEG,  /* NAME_jpeg and NAME_offsets instead of NAME */
    BL_ENCODING_DELTA, /* NAME_delta of the same size */
};

struct bl_encoding {
    enum bl_encoding_kind kind;
    int quality; /* of JPEG: 1 to 100; else 0 */
};

#define BL_ENCODING_QUALITY 90 /* of JPEG where none is said */
#define BL_ENCODING_NAME_MAX 16

/* "raw", "jpeg:90", "delta". Returns out. */
char *bl_encoding_name(const struct bl_encoding *encoding, char out[BL_ENCODING_NAME_MAX]);

/* Reads such a name, also "jpeg" alone. False when it is none. */
bool bl_encoding_parse(const char *name, struct bl_encoding *encoding);

/* Whether the field's steps are what the encoding takes: pictures U8 [H, W, 3], and as large as JPEG knows, with
 * padding of zeros. */
bool bl_encoding_takes(enum bl_encoding_kind kind, const struct bl_field *field);

#endif
