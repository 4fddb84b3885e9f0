/* Pictures as JPEG files and back, by libjpeg-turbo: baseline, 4:2:0, the accurate transform, whose results are the
 * same whatever vectors the processor has. */
#ifndef BL_JPEG_H
#define BL_JPEG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The library's version, as the tool was built with it. */
const char *bl_jpeg_version(void);

/* The library takes some choices from the environment (TJ_OPTIMIZE and the like), which would decide bytes. They are
 * taken out of it: once, before there are threads. */
void bl_jpeg_forget_environment(void);

/* No JPEG file that is written here is longer; 0 when there is no such number. Sides are at most 65535. */
size_t bl_jpeg_max_size(size_t height, size_t width);

/* One worker's state for encoding. */
struct bl_jpeg_encoder;

int bl_jpeg_encoder_open(struct bl_jpeg_encoder **out, struct bl_error *e);
void bl_jpeg_encoder_close(struct bl_jpeg_encoder *encoder); /* NULL is fine */

/* Encodes a picture U8 [height, width, 3] to out, which holds bl_jpeg_max_size bytes; *size is what the file takes. */
int bl_jpeg_encode(struct bl_jpeg_encoder *encoder, const uint8_t *picture, size_t height, size_t width, int quality,
                   uint8_t *out, size_t *size, struct bl_error *e);

/* One reader's state for decoding. */
struct bl_jpeg_decoder;

int bl_jpeg_decoder_open(struct bl_jpeg_decoder **out, struct bl_error *e);
void bl_jpeg_decoder_close(struct bl_jpeg_decoder *decoder); /* NULL is fine */

/* Whether a file's header says that it holds a picture of that size. BL_EDATA says what it does say. */
int bl_jpeg_check(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, size_t height, size_t width,
                  struct bl_error *e);

/* Decodes a file into a picture U8 [height, width, 3]. BL_EDATA: it is none of that size, or damaged. */
int bl_jpeg_decode(struct bl_jpeg_decoder *decoder, const uint8_t *file, size_t size, uint8_t *picture, size_t height,
                   size_t width, struct bl_error *e);

#endif
