/* Encoding the fields of blocks: one worker's state, kept from block to block. */
#ifndef BL_CODEC_H
#define BL_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/block.h"
#include "store/format.h"

struct bl_codec;

/* pad_repeat: padding repeats the last step instead of zeros. The format outlives it. */
int bl_codec_open(const struct bl_format *format, bool pad_repeat, struct bl_codec **out, struct bl_error *e);
void bl_codec_close(struct bl_codec *codec); /* NULL is fine */

/* Bytes that one holds at most. */
size_t bl_codec_memory(const struct bl_format *format);

/* The most that the JPEG files of one block of field f take. */
size_t bl_codec_max_size(const struct bl_format *format, int f);

/* Encodes field f, of JPEG, of a block that is filled wholly: its files lie one after the other at *bytes, until the
 * next call; that of step t from offsets[t] to offsets[t + 1], [T + 1]. */
int bl_codec_encode_jpeg(struct bl_codec *codec, const struct bl_block *block, int f, int64_t *offsets,
                         const uint8_t **bytes, struct bl_error *e);

/* The first step whose file does not lie within so many bytes, behind the one before, by offsets [T + 1]; -1: all do.
 */
int64_t bl_codec_check_offsets(const struct bl_format *format, const int64_t *offsets, int64_t bytes);

/* Turns field f, of differences, of a block into them, in place. */
void bl_codec_encode_delta(const struct bl_format *format, struct bl_block *block, int f);

/* The way back, of all T steps of a block. */
void bl_codec_decode_delta(const struct bl_format *format, uint8_t *data, int f);

#endif
