/* The post-processor of a tokenizer.json: which ids `tokenizers` puts before and behind those of a text when it is
 * asked to (encode with add_special_tokens=True). Offsets, which it changes too, are not made here. */
#ifndef BL_POST_PROCESSOR_H
#define BL_POST_PROCESSOR_H

#include <jansson.h>

#include "kind/text/tokenizer_parts.h"

/* Reads the member "post_processor" of the file into tokenizer->post, if its marks are wanted; otherwise it does
 * nothing. processor: NULL or null where there is none, which adds no ids. BL_EFAIL: it is not supported, or wrong. */
int bl_post_processor_read(struct bl_tokenizer *tokenizer, const json_t *processor, struct bl_error *e);

#endif
