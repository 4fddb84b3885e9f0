/* The models WordLevel and WordPiece of the tokenizers of BERT's family. */
#ifndef BL_WORDPIECE_H
#define BL_WORDPIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/text/regex.h"
#include "kind/text/vocabulary.h"

/* --- WordLevel ---------------------------------------------------------------------------------------------------- */

/* WordLevel: each word is a token, or unknown. */

/* Appends the id of a word, or unknown. BL_EDATA: the word has no token, and unknown is negative. */
int bl_wordlevel_encode(const struct bl_vocabulary *v, int32_t unknown, const uint8_t *word, size_t size,
                        struct bl_ids *ids, struct bl_error *e);

/* --- WordPiece ---------------------------------------------------------------------------------------------------- */

/* WordPiece: a word is split into the longest token that it begins with, then the longest token that continues it, and
 * so on. If there is none at some point, the whole word is unknown. */

#define BL_WORDPIECE_PREFIX "##"    /* of a token that continues a word; the default */
#define BL_WORDPIECE_CHARACTERS 100 /* the default of a tokenizer.json, and of vocab.txt */
#define BL_WORDPIECE_PREFIX_MAX 16  /* bytes */

/* The model WordPiece. */
struct bl_wordpiece {
    const struct bl_vocabulary *vocabulary; /* of the tokenizer, not owned */
    char prefix[BL_WORDPIECE_PREFIX_MAX];
    size_t prefix_size;
    int32_t unknown;
    size_t characters; /* of a word; longer words are unknown */
    size_t longest;    /* bytes of the longest token */
};

/* The vocabulary outlives it. BL_EFAIL: there is no unknown token, or the prefix is too long. */
int bl_wordpiece_init(struct bl_wordpiece *model, const struct bl_vocabulary *vocabulary, const char *unknown,
                      const char *prefix, int64_t characters, struct bl_error *e);

/* Appends the ids of a word (valid UTF-8, not empty). scratch is the caller's, for any number of words. */
int bl_wordpiece_encode(const struct bl_wordpiece *model, struct bl_buffer *scratch, const uint8_t *word, size_t size,
                        struct bl_ids *ids, struct bl_error *e);

/* Reads a vocab.txt: a token a line; its id is the line number from 0, or, where the first line has a tab and a number,
 * the number behind the line's last tab, as in ERNIE's. White space at the end of a line is not part of the
 * token, and an empty line is an id without a token. If a token occurs twice, its last id counts. BL_EFAIL, with
 * path and line: ids do not ascend, or a token is not UTF-8. */
int bl_wordpiece_vocabulary(struct bl_vocabulary *vocabulary, const struct bl_buffer *text, const char *path,
                            struct bl_error *e);

/* Whether text is converted to lower case. vocab.txt does not record it; AUTO decides by bl_wordpiece_uncased. */
enum bl_lowercase { BL_LOWERCASE_AUTO, BL_LOWERCASE_YES, BL_LOWERCASE_NO };

/* Whether the model needs text in lower case: no token has an upper-case letter, except tokens in brackets such as
 * [UNK] or <S>. */
bool bl_wordpiece_uncased(const struct bl_vocabulary *vocabulary);

#endif
