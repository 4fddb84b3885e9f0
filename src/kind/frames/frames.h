/* Folders of images: a folder is a sequence, and its images in natural order are the steps. Size, fit and stride are
 * video's options. The steps of a field of pictures can be encoded as PNG files.
 *
 * Calls: bl_png_open once, then bl_png_encode for every step, and bl_png_close. One thread may use an encoder at a
 * time. */
#ifndef BL_FRAMES_H
#define BL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/kind.h"
#include "kind/row.h"

struct bl_png;

/* Whether steps of the field are pictures: U8 [H, W], [H, W, 1], 3 or 4, or U16 grey or RGB, of up to INT16_MAX pixels
 * a side.
 */
bool bl_png_can_encode(const struct bl_field *field);

/* Opens an encoder for steps of this field, and the media module. BL_EUSAGE: its steps are no such pictures. */
int bl_png_open(struct bl_png **png, const struct bl_field *field, struct bl_error *e);
/* Closes the encoder; NULL is accepted. */
void bl_png_close(struct bl_png *png);

/* Encodes a step. *data: the bytes of the PNG file, which are valid until the next call. */
int bl_png_encode(struct bl_png *png, const uint8_t *step, const uint8_t **data, size_t *size, struct bl_error *e);

#endif
