/* The warnings of a tokenizer: what its files hold that its user should know. */
#ifndef BL_TOKENIZER_WARNING_H
#define BL_TOKENIZER_WARNING_H

#include <jansson.h>

#include "kind/text/tokenizer_parts.h"

/* Adds a warning to those of the tokenizer. */
int bl_tokenizer_warn(struct bl_tokenizer *tokenizer, struct bl_error *e, const char *format, ...) BL_PRINTF(3, 4);

/* Warns that a pattern is matched by PCRE2 and not exactly (bl_regex_is_exact), unless there is a warning already. */
int bl_tokenizer_warn_pattern(struct bl_tokenizer *tokenizer, struct bl_error *e);

/* Warns of count ids below the largest that have no token, if there are any; first is the lowest of them. The model has
 * rows for them that no text ever uses, or the file is incomplete. */
int bl_tokenizer_warn_missing_ids(struct bl_tokenizer *tokenizer, int64_t count, int64_t first, struct bl_error *e);

/* The same for a vocabulary as files have it; added is a list of added tokens, or NULL. Both were read, so that their
 * ids are known to be below the tokenizer's size. */
int bl_tokenizer_warn_missing_tokens(struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names,
                                     const json_t *added, struct bl_error *e);

#endif
