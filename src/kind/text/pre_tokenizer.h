/* How a tokenizer splits text into words, by what its file says. */
#ifndef BL_PRE_TOKENIZER_H
#define BL_PRE_TOKENIZER_H

#include <jansson.h>

#include "kind/text/tokenizer_parts.h"

/* Adds the steps of splitting that "pre_tokenizer" describes. BL_EFAIL: one is not supported. */
int bl_pre_tokenizer_read(struct bl_tokenizer *tokenizer, const json_t *pre_tokenizer, struct bl_error *e);

/* Makes it split as tiktoken does by a regular expression: what does not match is left out. BL_EFAIL: PCRE2 does not
 * support the expression. */
int bl_tokenizer_set_pattern(struct bl_tokenizer *tokenizer, const char *pattern, size_t size, struct bl_error *e);

#endif
