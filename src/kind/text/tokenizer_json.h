/* tokenizer.json: what its parts share. */
#ifndef BL_TOKENIZER_JSON_H
#define BL_TOKENIZER_JSON_H

#include <jansson.h>

#include "kind/text/tokenizer_parts.h"

/* Refuses members that are not known: what they mean would be lost. what names the object in messages. */
int bl_tokenizer_json_members(const json_t *object, const char *what, const char *const *names, struct bl_error *e);
/* Reads a member that is true or false; missing is its value where it is not there. */
int bl_tokenizer_json_flag(const json_t *object, const char *what, const char *name, bool missing, bool *value,
                           struct bl_error *e);
/* Warns of ids that neither an object of tokens and their ids nor a list of added tokens (or NULL) has; both were read.
 */
int bl_tokenizer_json_missing_ids(struct bl_tokenizer *tokenizer, const json_t *vocab, const json_t *added,
                                  struct bl_error *e);
/* "pre_tokenizer": the steps of splitting. */
int bl_tokenizer_json_splits(struct bl_tokenizer *tokenizer, const json_t *pre_tokenizer, struct bl_error *e);

#endif
