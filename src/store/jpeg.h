/* Pictures as JPEG files and back, by libjpeg-turbo: baseline, 4:2:0, 4:4:4 or grey, and the accurate transform, whose
 * results do not depend on the processor's vector instructions. */
#ifndef BL_JPEG_H
#define BL_JPEG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/encoding.h"

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
