/* SentencePiece models, with libsentencepiece. If the library is not installed when the tool is built
 * (sentencepiece_none.c), no model can be opened.
 *
 * The ids are those of the released Python package up to 0.2.1. Later releases choose differently between segmentations
 * whose scores differ only by rounding ("......." as "." and "......", or the reverse). */
#ifndef BL_SENTENCEPIECE_H
#define BL_SENTENCEPIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/text/ids.h"

struct bl_sentencepiece; /* many threads share it */

/* Whether models can be opened. */
extern const bool bl_sentencepiece_available;
/* The version of the library at build time: the library does not provide it at run time. */
extern const char *const bl_sentencepiece_version;

/* Opens a model from the bytes of a .model file, which are copied. BL_EFAIL: they are not a model, or the tool was
 * built without the library. */
int bl_sentencepiece_open(struct bl_sentencepiece **model, const void *data, size_t size, struct bl_error *e);
void bl_sentencepiece_close(struct bl_sentencepiece *model);

/* One more than the largest id. */
int64_t bl_sentencepiece_size(const struct bl_sentencepiece *model);
/* The id of a piece ("</s>"), or -1. */
int32_t bl_sentencepiece_find(const struct bl_sentencepiece *model, const char *piece);

/* Appends the ids of a text (valid UTF-8), without those of begin and end. Time grows with the square of a run of
 * characters that the model does not know: 2 s for 100,000 of them. BL_EDATA: more than 170 MB; BL_EFAIL: out of
 * memory. */
int bl_sentencepiece_encode(const struct bl_sentencepiece *model, const char *text, size_t size, struct bl_ids *ids,
                            struct bl_error *e);

#endif
