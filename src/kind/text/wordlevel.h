/* WordLevel: each word is a token, or unknown. */
#ifndef BL_WORDLEVEL_H
#define BL_WORDLEVEL_H

#include "kind/text/ids.h"
#include "kind/text/vocabulary.h"

/* Appends the id of a word, or unknown. BL_EDATA: the word has no token, and unknown is negative. */
int bl_wordlevel_encode(const struct bl_vocabulary *v, int32_t unknown, const uint8_t *word, size_t size,
                        struct bl_ids *ids, struct bl_error *e);

#endif
