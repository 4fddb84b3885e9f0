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
    int quality;      /* of JPEG, 1 to 100; of other encodings 0 */
    bool full_chroma; /* of JPEG: 4:4:4, not 4:2:0 */
};

#define BL_ENCODING_QUALITY 90 /* of JPEG, by default */
#define BL_ENCODING_NAME_MAX 16

/* Formats the name of an encoding: "raw", "jpeg:90", "jpeg:90:444" or "delta". Returns out. */
char *bl_encoding_name(const struct bl_encoding *encoding, char out[BL_ENCODING_NAME_MAX]);

/* Parses such a name; "jpeg" alone has the default quality. Returns false if the name is invalid. */
bool bl_encoding_parse(const char *name, struct bl_encoding *encoding);

/* Returns true if the encoding can store the field. BL_ENCODING_RAW stores every field. For the other encodings the
 * field must be padded with zeros, and for JPEG its sides must not exceed 65535. Its steps must be RGB pictures, U8 [H,
 * W, 3], or grey frames of a video, U8 [H, W, 1]. An array of the latter shape is refused, because it may hold labels,
 * which JPEG would change. */
bool bl_encoding_takes(enum bl_encoding_kind kind, const struct bl_field *field);

/* --- delta encoding ----------------------------------------------------------------------------------------------- */

/* Delta encoding replaces each byte of a picture by differences, modulo 256, along rows, columns and colours. zstd
 * compresses the differences better than the picture.
 *
 * The differences along the three axes commute. So cumulative sums along the three axes in 8 bits (numpy.cumsum), in
 * any order, restore the picture. See docs/performance.md for the alternatives that were measured. */

/* Encode or decode consecutive pictures in place. shape: [height, width, 3 or 1] of each picture. */
void bl_delta_encode(uint8_t *data, size_t pictures, const int64_t shape[3]);
void bl_delta_decode(uint8_t *data, size_t pictures, const int64_t shape[3]);

/* --- JPEG --------------------------------------------------------------------------------------------------------- */

/* Encodes pictures as JPEG files and decodes them, by libjpeg-turbo. Files are baseline JPEG in 4:2:0, 4:4:4 or grey.
 * The accurate transform is used, because its results do not depend on the vector instructions of the processor. */

/* Returns the version of libjpeg-turbo that the tool was built with. */
const char *bl_jpeg_version(void);

/* Removes the environment variables that libjpeg-turbo reads as options (TJ_OPTIMIZE and others), since they would
 * change the bytes of datasets. Call it once, before any thread is started. */
void bl_jpeg_forget_environment(void);

/* Returns the maximum size, in bytes, of the JPEG file of a picture of that shape, [height, width, 3 or 1]; 0: the size
 * is not representable. The sides must not exceed 65535. */
size_t bl_jpeg_max_size(const int64_t shape[3], const struct bl_encoding *encoding);

/* State for encoding, one per worker. */
struct bl_jpeg_encoder;

int bl_jpeg_encoder_open(struct bl_jpeg_encoder **out, struct bl_error *e);
void bl_jpeg_encoder_close(struct bl_jpeg_encoder *encoder); /* NULL is allowed */

/* Encodes a picture, U8 of that shape, to out, which has room for bl_jpeg_max_size bytes. *size: the bytes of the file.
 */
int bl_jpeg_encode(struct bl_jpeg_encoder *encoder, const uint8_t *picture, const int64_t shape[3],
                   const struct bl_encoding *encoding, uint8_t *out, size_t *size, struct bl_error *e);

/* State for decoding, one per reader. */
struct bl_jpeg_decoder;

int bl_jpeg_decoder_open(struct bl_jpeg_decoder **out, struct bl_error *e);
void bl_jpeg_decoder_close(struct bl_jpeg_decoder *decoder); /* NULL is allowed */

/* Checks the header of a file. BL_EDATA: the header is damaged, or is that of a picture of another shape. */
int bl_jpeg_check(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, const int64_t shape[3],
                  struct bl_error *e);

/* Decodes a file to a picture, U8 of this shape. BL_EDATA: the file is damaged, or has another shape. */
int bl_jpeg_decode(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, const int64_t shape[3],
                   uint8_t *picture, struct bl_error *e);

#endif
