/* The encodings of fields: their names, differences of pictures, and JPEG files. */
#ifndef BL_ENCODING_H
#define BL_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/row.h"

/* --- encoding ----------------------------------------------------------------------------------------------------- */

/* How a field's steps are stored in shards: raw, as JPEG files, or as differences that compress better. */

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

/* --- delta encoding ----------------------------------------------------------------------------------------------- */

/* Differences of pictures, modulo 256, along rows, columns and colours, which zstd compresses better than the pictures.
 *
 * Each byte is the difference of the sums along one axis, so that the order of axes does not matter: sums along the
 * three axes in 8 bits (numpy.cumsum) restore the picture. See docs/performance.md for the alternatives that were
 * measured. */

/* In place, for consecutive pictures of that shape, [height, width, 3 or 1]. */
void bl_delta_encode(uint8_t *data, size_t pictures, const int64_t shape[3]);
void bl_delta_decode(uint8_t *data, size_t pictures, const int64_t shape[3]);

/* --- JPEG --------------------------------------------------------------------------------------------------------- */

/* Pictures as JPEG files and back, by libjpeg-turbo: baseline, 4:2:0, 4:4:4 or grey, and the accurate transform, whose
 * results do not depend on the processor's vector instructions. */

/* The version of the library that the tool was built with. */
const char *bl_jpeg_version(void);

/* The library reads options from the environment (TJ_OPTIMIZE and the like) that would change bytes. Removes them; call
 * it once, before there are threads. */
void bl_jpeg_forget_environment(void);

/* The maximum size of a JPEG file of a picture of that shape, [height, width, 3 or 1], in bytes; 0: not representable.
 * Sides are at most 65535. */
size_t bl_jpeg_max_size(const int64_t shape[3], const struct bl_encoding *encoding);

/* State for encoding, one per worker. */
struct bl_jpeg_encoder;

int bl_jpeg_encoder_open(struct bl_jpeg_encoder **out, struct bl_error *e);
void bl_jpeg_encoder_close(struct bl_jpeg_encoder *encoder); /* NULL is allowed */

/* Encodes a picture U8 of that shape to out, which has room for bl_jpeg_max_size bytes; *size is the size of the file.
 */
int bl_jpeg_encode(struct bl_jpeg_encoder *encoder, const uint8_t *picture, const int64_t shape[3],
                   const struct bl_encoding *encoding, uint8_t *out, size_t *size, struct bl_error *e);

/* State for decoding, one per reader. */
struct bl_jpeg_decoder;

int bl_jpeg_decoder_open(struct bl_jpeg_decoder **out, struct bl_error *e);
void bl_jpeg_decoder_close(struct bl_jpeg_decoder *decoder); /* NULL is allowed */

/* Checks that a file's header is that of a picture of this shape. BL_EDATA: it is not. */
int bl_jpeg_check(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, const int64_t shape[3],
                  struct bl_error *e);

/* Decodes a file to a picture U8 of this shape. BL_EDATA: damaged, or of another. */
int bl_jpeg_decode(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, const int64_t shape[3],
                   uint8_t *picture, struct bl_error *e);

#endif
