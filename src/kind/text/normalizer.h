/* The normalizers of tokenizers, which change a text before it is split: the map in SentencePiece's models, the
 * normalizer of these models, and the steps of a tokenizer.json. */
#ifndef BL_NORMALIZER_H
#define BL_NORMALIZER_H

#include <stddef.h>

#include "base/buffer.h"
#include "kind/text/added_tokens.h"
#include "kind/text/normal_form.h"
#include "kind/text/regex.h"
#include "kind/text/wordpiece.h"

/* --- precompiled maps --------------------------------------------------------------------------------------------- */

/* The normalizer that SentencePiece compiles into its models ("precompiled_charsmap"): texts of a few characters and
 * what they become.
 *
 * The map is a trie of bytes in one array, as the Darts library writes it, and after it the texts that it leads to,
 * each ended by a zero byte. */

struct bl_precompiled; /* many threads share it */

/* Opens a map, which is copied. BL_EFAIL: it is damaged. */
int bl_precompiled_open(struct bl_precompiled **map, const void *data, size_t size, struct bl_error *e);
void bl_precompiled_close(struct bl_precompiled *map);

/* --- normalizer of SentencePiece's models ------------------------------------------------------------------------- */

/* The normalizer of SentencePiece's models: the map of the model, user-defined pieces as they are, and white space. */

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

/* --- normalizers -------------------------------------------------------------------------------------------------- */

/* The steps of normalisation of tokenizer.json: each changes the whole text. */

enum bl_normalizer_kind {
    BL_NORMALIZER_FORM, /* a normal form of Unicode */
    BL_NORMALIZER_BERT, /* and Lowercase, which is one of its steps */
    BL_NORMALIZER_STRIP,
    BL_NORMALIZER_STRIP_ACCENTS,
    BL_NORMALIZER_REPLACE,
    BL_NORMALIZER_PREPEND,
    BL_NORMALIZER_NMT,
    BL_NORMALIZER_BYTES, /* into the byte-level alphabet */
    BL_NORMALIZER_PRECOMPILED,
    BL_NORMALIZER_SENTENCEPIECE
};

/* Start from {0}, apart from the kind. */
struct bl_normalizer {
    enum bl_normalizer_kind kind;
    enum bl_normal_form form;
    struct bl_bert_options bert;
    bool left, right;       /* the ends that STRIP strips */
    struct bl_regex *regex; /* what REPLACE replaces, */
    struct bl_buffer from;  /* or NULL: this text */
    struct bl_buffer to;    /* what it becomes, and what PREPEND prepends */
    struct bl_precompiled *precompiled;
    struct bl_sentencepiece *sentencepiece;
};

void bl_normalizer_free(struct bl_normalizer *normalizer);

/* A text (valid UTF-8) on its way through the steps. */
struct bl_normal_text {
    const char *text;
    size_t size;
    size_t head; /* bytes at its beginning that stand for the first character of the document, or 0 */
};

/* Replaces a text with its normal form, which is in out unless the text is a part of what it was. matcher: needed where
 * there is an expression. */
int bl_normalizer_apply(const struct bl_normalizer *normalizer, struct bl_matcher *matcher, struct bl_normal_text *text,
                        struct bl_buffer *out, struct bl_error *e);

#endif
