/* The normalizer of SentencePiece's models: the map of the model, user-defined pieces as they are, and white space. */
#ifndef BL_SENTENCEPIECE_NORMALIZER_H
#define BL_SENTENCEPIECE_NORMALIZER_H

#include "kind/text/added_tokens.h"
#include "kind/text/precompiled.h"

struct bl_sentencepiece {
    struct bl_precompiled *map; /* or NULL */
    struct bl_added kept;       /* user-defined pieces, which the map does not change */
    bool prefix;                /* the text gets a space at its beginning, */
    bool suffix;                /* or at its end, if the model has its spaces there */
    bool trimmed;               /* only one space between words, none at the beginning and end */
    bool spaces;                /* U+2581 becomes a space; otherwise space says what a space becomes */
    const char *space;
    bool stops[256]; /* bytes that a run of unchanged characters ends before */
};

/* To be called when all else is filled in. */
void bl_sentencepiece_finish(struct bl_sentencepiece *rule);
void bl_sentencepiece_free(struct bl_sentencepiece *rule);

/* Appends the normal form of a text (valid UTF-8). BL_EFAIL: out of memory, which the buffer remembers. */
int bl_sentencepiece_normalize(const struct bl_sentencepiece *rule, const char *text, size_t size,
                               struct bl_buffer *out);

#endif
