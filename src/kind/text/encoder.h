/* An encoder: from documents to token ids, for one thread.
 *
 * It holds the cache and the buffers of encoding. The ids depend on the tokenizer and the text alone. */
#ifndef BL_ENCODER_H
#define BL_ENCODER_H

#include "base/cancel.h"
#include "kind/text/ids.h"
#include "kind/text/tokenizer.h"

struct bl_encoder;

/* The tokenizer outlives its encoders. */
int bl_encoder_open(struct bl_encoder **encoder, const struct bl_tokenizer *tokenizer, struct bl_error *e);
void bl_encoder_close(struct bl_encoder *encoder);

/* From now on encoding returns BL_ECANCEL, between words, once cancel is raised. */
void bl_encoder_set_stop(struct bl_encoder *encoder, const struct bl_cancel *cancel);

/* The cache of words may take so many bytes (see word_cache.h); 48 MiB unless it is limited. */
void bl_encoder_limit_cache(struct bl_encoder *encoder, int64_t bytes);

/* The bytes that a document of this size takes at most, with its ids, while it is encoded. */
int64_t bl_encoder_memory(const struct bl_encoder *encoder, size_t size);

/* From now on no step of the tokenizer may make more bytes of a document than these, nor may it have more ids; 0: there
 * is no limit. */
void bl_encoder_limit(struct bl_encoder *encoder, size_t bytes);
/* After encoding failed: the limit that the document needs, or more than the limit where that is not known; 0: it
 * failed for another reason. */
size_t bl_encoder_wanted(const struct bl_encoder *encoder);
/* Frees buffers with room for more bytes. */
void bl_encoder_shrink(struct bl_encoder *encoder, size_t bytes);

/* Appends the ids of a document, which must be valid UTF-8, without tokens of begin and end. BL_EFAIL: out of memory,
 * or the limit; BL_EDATA: the document is too large for the tokenizer's library. */
int bl_encoder_encode(struct bl_encoder *encoder, const char *text, size_t size, struct bl_ids *ids,
                      struct bl_error *e);

#endif
