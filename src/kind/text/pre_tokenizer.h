/* The pre-tokenizer of a tokenizer.json. */
#ifndef BL_PRE_TOKENIZER_H
#define BL_PRE_TOKENIZER_H

#include <jansson.h>

#include "kind/text/tokenizer_parts.h"

/* Adds the steps of splitting that "pre_tokenizer" describes. BL_EFAIL: one is not supported. */
int bl_pre_tokenizer_read(struct bl_tokenizer *tokenizer, const json_t *pre_tokenizer, struct bl_error *e);

#endif
