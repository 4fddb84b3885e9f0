/* The part of the frames kind that is in the media module, since it needs FFmpeg: the encoder of PNG files, the lines
 * of lists as rows, and the reader of folders of images. */
#ifndef BL_KIND_FRAMES_READ_H
#define BL_KIND_FRAMES_READ_H

#include <libavutil/frame.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/frames/image_folder.h"
#include "kind/kind.h"
#include "kind/media/module.h"
#include "kind/row.h"
#include "kind/video/geometry.h"
#include "kind/video/options.h"

/* --- PNG encoder -------------------------------------------------------------------------------------------------- */

/* The encoder that bl_png_open (frames.h) opens. */

struct bl_png;

/* Opens an encoder for steps of this field, which are pictures by bl_png_can_encode. BL_EFAIL: no memory, or FFmpeg has
 * no encoder of PNG. */
int bl_png_encoder_open(struct bl_png **png, const struct bl_field *field, struct bl_error *e);
/* Encodes a step, whose numbers of 16 bits have the low byte first. *data: the file, until the next call. */
int bl_png_encoder_encode(struct bl_png *png, const uint8_t *step, const uint8_t **data, size_t *size,
                          struct bl_error *e);
void bl_png_encoder_close(struct bl_png *png); /* NULL is fine */

/* --- clips -------------------------------------------------------------------------------------------------------- */

/* Lines of lists as rows: a folder of images, or a part of one. The counter is a struct bl_list_counter. */

bl_counter_open bl_frames_clips_open;

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Reading folders of images. */

/* The size of the first image as the options make it. BL_EDATA: it does not decode. */
bl_media_size bl_frames_read_size;

/* Decodes the image in the file at path into the frame, as the options want it, and sets where the picture lies in it.
 * Errors as bl_image_decode; they do not name the file. */
int bl_frames_decode_file(const char *path, const struct bl_image *image, const struct bl_video_config *config,
                          const struct bl_kind_env *env, AVFrame *frame, struct bl_geometry *geometry,
                          struct bl_error *e);

/* See struct bl_kind. */
bl_reader_open bl_frames_read_open;

/* --- functions of the media module -------------------------------------------------------------------------------- */

/* The functions of the frames kind that the media module has, for struct bl_decoding. */

bl_kind_count bl_frames_decoding_count;

#endif
