/* The encoder behind frames.h: FFmpeg's, in the media module. */
#ifndef BL_PNG_ENCODER_H
#define BL_PNG_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/field.h"

struct bl_png;

/* For steps of this field, which are pictures by bl_png_can_encode. BL_EFAIL. */
int bl_png_encoder_open(struct bl_png **png, const struct bl_field *field, struct bl_error *e);
int bl_png_encoder_encode(struct bl_png *png, const uint8_t *step, const uint8_t **data, size_t *size,
                          struct bl_error *e);
void bl_png_encoder_close(struct bl_png *png); /* NULL is fine */

#endif
