/* Encoding the fields of blocks. One worker's state, reused for every block. */
#ifndef BL_CODEC_H
#define BL_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/block.h"
#include "store/format.h"

/* --- delta -------------------------------------------------------------------------------------------------------- */

/* Differences of pictures, modulo 256, along rows, columns and colours, which zstd compresses better than the pictures.
 *
 * Each byte is the difference of the sums along one axis, so that the order of axes does not matter: sums along the
 * three axes in 8 bits (numpy.cumsum) restore the picture. See docs/performance.md for the alternatives that were
 * measured. */

/* In place, for consecutive pictures of that shape, [height, width, 3 or 1]. */
void bl_delta_encode(uint8_t *data, size_t pictures, const int64_t shape[3]);
void bl_delta_decode(uint8_t *data, size_t pictures, const int64_t shape[3]);

/* --- jpeg --------------------------------------------------------------------------------------------------------- */

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

/* --- codec -------------------------------------------------------------------------------------------------------- */

struct bl_codec;

/* pad_repeat: padding repeats the last step instead of zeros. format must outlive the codec. */
int bl_codec_open(const struct bl_format *format, bool pad_repeat, struct bl_codec **out, struct bl_error *e);
void bl_codec_close(struct bl_codec *codec); /* NULL is allowed */

/* Bytes that one codec uses at most. */
size_t bl_codec_memory(const struct bl_format *format);

/* The maximum size of the JPEG files of one block of field f, in bytes. */
size_t bl_codec_max_size(const struct bl_format *format, int f);

/* Encodes JPEG field f of a block that is completely filled. *bytes holds the files one after the other until the next
 * call; that of step t goes from offsets[t] to offsets[t + 1]. offsets: [T + 1]. */
int bl_codec_encode_jpeg(struct bl_codec *codec, const struct bl_block *block, int f, int64_t *offsets,
                         const uint8_t **bytes, struct bl_error *e);

/* Checks offsets, [T + 1]: they must rise and stay within bytes. Returns the first step that is wrong, or -1. */
int64_t bl_codec_check_offsets(const struct bl_format *format, const int64_t *offsets, int64_t bytes);

/* Replaces field f of a block by its differences, in place. */
void bl_codec_encode_delta(const struct bl_format *format, struct bl_block *block, int f);

#endif
