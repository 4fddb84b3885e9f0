/* Normalizers change a text before a tokenizer splits it: the map in SentencePiece's models, the normalizer of these
 * models, and the steps of a tokenizer.json.
 *
 * A tokenizer has a list of steps, each of which changes the whole text. For example, Llama 2 has Prepend(U+2581), then
 * Replace(" ", U+2581). A step copies nothing where the text stays as it is, since most text does. */
#ifndef BL_NORMALIZER_H
#define BL_NORMALIZER_H

#include <stddef.h>

#include "base/buffer.h"
#include "kind/text/added_tokens.h"
#include "kind/text/normal_form.h"
#include "kind/text/regex.h"
#include "kind/text/wordpiece.h"

/* --- precompiled maps --------------------------------------------------------------------------------------------- */

/* The normalizer that SentencePiece compiles into its models ("precompiled_charsmap") maps texts of a few characters to
 * other texts, such as U+FB01 to "fi".
 *
 * The format is: the size of the trie in bytes (u32, little-endian); the trie of bytes, an array of u32 as the Darts
 * library writes it; then the texts to which the trie leads, each with a zero byte at its end. */

struct bl_precompiled; /* read-only after opening, so threads share it */

/* Opens a map; data is copied. BL_EFAIL: the map is damaged, or memory ran out. Close it by bl_precompiled_close, which
 * accepts NULL. */
int bl_precompiled_open(struct bl_precompiled **map, const void *data, size_t size, struct bl_error *e);
void bl_precompiled_close(struct bl_precompiled *map);

/* --- normalizer of SentencePiece's models ------------------------------------------------------------------------- */

/* The normalizer of SentencePiece's models: the map of the model, user-defined pieces, which stay as they are, and
 * rules for white space. */

struct bl_sentencepiece {
    struct bl_precompiled *map; /* owned, or NULL */
    struct bl_added kept;       /* user-defined pieces, which the map does not change */
    bool prefix;                /* the text gets a space at its beginning */
    bool suffix;                /* the text gets a space at its end: the model's words end with spaces */
    bool trimmed;               /* one space between words, none at the beginning and end (remove_extra_whitespaces) */
    bool spaces;                /* U+2581 becomes a space; otherwise space says what a space becomes */
    const char *space;          /* the text of a space in the result; a literal */
    bool stops[256];            /* bytes before which a run of unchanged characters ends */
};

/* Sets stops from the other members, so call it last. */
void bl_sentencepiece_finish(struct bl_sentencepiece *rule);
void bl_sentencepiece_free(struct bl_sentencepiece *rule);

/* --- normalizers -------------------------------------------------------------------------------------------------- */

/* The steps of normalisation of a tokenizer.json: each one changes the whole text. */

enum bl_normalizer_kind {
    BL_NORMALIZER_FORM,          /* a normal form of Unicode */
    BL_NORMALIZER_BERT,          /* BertNormalizer, and Lowercase, which is one of its steps */
    BL_NORMALIZER_STRIP,         /* removes white space at the ends */
    BL_NORMALIZER_STRIP_ACCENTS, /* removes combining marks */
    BL_NORMALIZER_REPLACE,       /* a text, or the matches of an expression */
    BL_NORMALIZER_PREPEND,       /* a text at the beginning */
    BL_NORMALIZER_NMT,           /* removes control characters, and makes spaces of white space */
    BL_NORMALIZER_BYTES,         /* writes the text in the byte-level alphabet */
    BL_NORMALIZER_PRECOMPILED,
    BL_NORMALIZER_SENTENCEPIECE
};

/* A step. Start from {0} and set the kind and what that kind needs; bl_normalizer_free frees the members. */
struct bl_normalizer {
    enum bl_normalizer_kind kind;
    enum bl_normal_form form;
    struct bl_bert_options bert;
    bool left, right;       /* the ends that STRIP strips */
    struct bl_regex *regex; /* the expression that REPLACE replaces */
    struct bl_buffer from;  /* the text that REPLACE replaces, if regex is NULL */
    struct bl_buffer to;    /* the new text of REPLACE, or the text that PREPEND prepends */
    struct bl_precompiled *precompiled;
    struct bl_sentencepiece *sentencepiece;
};

void bl_normalizer_free(struct bl_normalizer *normalizer);

/* A text (valid UTF-8) on its way through the steps. It belongs to the caller, or to the buffer of a step. */
struct bl_normal_text {
    const char *text;
    size_t size;
    size_t head; /* bytes at its beginning that come from the first character of the document, or 0 */
};

/* Replaces a text by its normal form, which is in out unless it is a part of the text. matcher: memory for an
 * expression, may be NULL where the step has none. The two steps before and after need different buffers. BL_EFAIL:
 * memory ran out. */
int bl_normalizer_apply(const struct bl_normalizer *normalizer, struct bl_matcher *matcher, struct bl_normal_text *text,
                        struct bl_buffer *out, struct bl_error *e);

#endif
