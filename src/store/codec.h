/* Encoding the fields of blocks. One worker's state, reused for every block. */
#ifndef BL_CODEC_H
#define BL_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/block.h"
#include "store/format.h"

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
