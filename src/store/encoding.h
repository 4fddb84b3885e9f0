/* How a field's steps are stored in shards: raw, as JPEG files, or as differences that compress better. */
#ifndef BL_ENCODING_H
#define BL_ENCODING_H

#include <stdbool.h>

#include "kind/field.h"

enum bl_encoding_kind {
    BL_ENCODING_RAW,
    BL_ENCODING_JPEG,  /* NAME_jpeg and NAME_offsets instead of NAME */
    BL_ENCODING_DELTA, /* NAME_delta instead of NAME, of the same size */
};

struct bl_encoding {
    enum bl_encoding_kind kind;
    int quality;      /* of JPEG, 1 to 100; else 0 */
    bool full_chroma; /* of JPEG: 4:4:4, not 4:2:0 */
};

#define BL_ENCODING_QUALITY 90 /* of JPEG, by default */
#define BL_ENCODING_NAME_MAX 16

/* "raw", "jpeg:90", "jpeg:90:444", "delta". Returns out. */
char *bl_encoding_name(const struct bl_encoding *encoding, char out[BL_ENCODING_NAME_MAX]);

/* Parses such a name, also "jpeg" alone. False: invalid. */
bool bl_encoding_parse(const char *name, struct bl_encoding *encoding);

/* Whether the encoding can store the field: RGB pictures, U8 [H, W, 3], or frames of grey, U8 [H, W, 1] (of arrays
 * these may as well be labels), no larger than JPEG allows, padded with zeros. */
bool bl_encoding_takes(enum bl_encoding_kind kind, const struct bl_field *field);

#endif
