/* The pattern of a tokenizer that has nothing but a pattern. */
#ifndef BL_PATTERN_H
#define BL_PATTERN_H

#include "kind/text/tokenizer_parts.h"

/* Makes it split as tiktoken does by a regular expression: what does not match is left out. BL_EDATA: PCRE2 does not
 * support the expression. */
int bl_tokenizer_set_pattern(struct bl_tokenizer *tokenizer, const char *pattern, size_t size, struct bl_error *e);

#endif
