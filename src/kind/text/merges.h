/* A vocabulary and its list of merges, as files give them: texts in an alphabet. */
#ifndef BL_MERGES_H
#define BL_MERGES_H

#include <jansson.h>

#include "kind/text/alphabet.h"
#include "kind/text/tokenizer_parts.h"

struct bl_merges {
    struct bl_alphabet alphabet;
    struct bl_merge *merge;
    size_t count, capacity;
    struct bl_buffer left, right; /* the two of the merge that is being added, as bytes */
    struct bl_buffer both;
};

/* Fills the vocabulary from an object of tokens and their ids. BL_EFAIL: an id is invalid; the message names its
 * token. */
int bl_merges_vocabulary(struct bl_tokenizer *tokenizer, const json_t *vocab, const struct bl_alphabet *alphabet,
                         struct bl_error *e);
/* Adds a merge by the numbers of its tokens. */
int bl_merges_add_tokens(struct bl_merges *merges, uint32_t left, uint32_t right, uint32_t token, struct bl_error *e);
/* Adds a merge. vocab is the object that the vocabulary was made from. BL_EFAIL: a token is not in it. */
int bl_merges_add(struct bl_merges *merges, const struct bl_vocabulary *v, const json_t *vocab, const char *left,
                  size_t left_size, const char *right, size_t right_size, struct bl_error *e);
/* The same from "left right". */
int bl_merges_add_line(struct bl_merges *merges, const struct bl_vocabulary *v, const json_t *vocab, const char *line,
                       size_t size, struct bl_error *e);
void bl_merges_free(struct bl_merges *merges);

#endif
