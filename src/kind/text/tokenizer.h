/* Tokenizers: text in, token ids out, the same ids as the released packages give.
 *
 * Readers of many formats (tokenizer_readers.h) set the same parts (tokenizer_parts.h), so that one encoder is enough.
 * Example: bl_tokenizer_open with the path "gpt2/" reads gpt2/tokenizer.json; bl_tokenizer_find of "<|endoftext|>" is
 * 50256. */
#ifndef BL_TOKENIZER_H
#define BL_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/text/vocabulary.h"
#include "kind/text/wordpiece.h"

/* --- tokenizers --------------------------------------------------------------------------------------------------- */

/* A tokenizer is opened once and then only read: many threads share it. Each encodes with its own encoder
 * (encoder.h). */

struct bl_tokenizer;

struct bl_tokenizer_options {
    /* "bytes", or a file: tokenizer.json, vocab.json (with merges.txt beside it), vocab.txt, tekken.json, a .tiktoken,
     * a .model; or a folder with one of tokenizer.json, tokenizer.model, tekken.json, vocab.json and vocab.txt, in this
     * order; or, where there is no such file, a name that is in a cache (tokenizer_tiktoken.h). */
    const char *path;
    const char *
        pattern; /* of a .tiktoken: the name of an encoding (tokenizer_tiktoken.h) or a regular expression; else NULL */
    bool special;                /* look for special added tokens in the text, too, not only for the others */
    bool add_special_tokens;     /* read the post-processor of a tokenizer.json; BL_EUSAGE for other files */
    enum bl_lowercase lowercase; /* of a vocab.txt, which does not say it; auto: where no token has upper case */
};

/* BL_EUSAGE: there is no such file, or the options contradict it; BL_EFAIL: it cannot be read, is not a tokenizer
 * (file, line or offset in the message), or has a component that is not supported (named). */
int bl_tokenizer_open(struct bl_tokenizer **tokenizer, const struct bl_tokenizer_options *options, struct bl_error *e);
void bl_tokenizer_close(struct bl_tokenizer *tokenizer);

/* Returns the name of its file, without folders, or "bytes". The tokenizer owns it. */
const char *bl_tokenizer_name(const struct bl_tokenizer *tokenizer);
/* Returns one more than the largest id. */
int64_t bl_tokenizer_size(const struct bl_tokenizer *tokenizer);
/* Returns the id of a token by its text ("<|endoftext|>"), or -1 if there is none. */
int32_t bl_tokenizer_find(const struct bl_tokenizer *tokenizer, const char *text);
/* Sets *id to that of the token that the files beside the tokenizer name "eos_token", "bos_token" and so on
 * (vocabulary.h), or to -1. BL_EFAIL: one of these files cannot be read. */
int bl_tokenizer_find_named(const struct bl_tokenizer *tokenizer, const char *key, int32_t *id, struct bl_error *e);
/* Returns the size in bytes of the text of the added token with this id, if a text begins (at_end: ends) with it,
 * otherwise 0. */
size_t bl_tokenizer_size_at(const struct bl_tokenizer *tokenizer, int32_t id, const char *text, size_t size,
                            bool at_end);
/* Whether it has special tokens that stay plain text, by the options; and how many times a text has one of them. */
bool bl_tokenizer_leaves_plain(const struct bl_tokenizer *tokenizer);
int64_t bl_tokenizer_count_plain(const struct bl_tokenizer *tokenizer, const char *text, size_t size);
/* Sets the marks that encode of `tokenizers` adds to every text with add_special_tokens=True; none unless the options
 * ask for them. */
void bl_tokenizer_marks(const struct bl_tokenizer *tokenizer, struct bl_document_marks *begin,
                        struct bl_document_marks *end);
/* Returns XXH3 of everything that the ids of a text depend on, without marks: the bytes of the files, and the options.
 */
uint64_t bl_tokenizer_digest(const struct bl_tokenizer *tokenizer);
/* Calls emit for each library from which the ids come, with its version. Most tokenizers use none. */
void bl_tokenizer_versions(const struct bl_tokenizer *tokenizer,
                           void (*emit)(void *sink, const char *name, const char *version), void *sink);
/* Returns its warnings ("FILE: its truncation not applied; ..."), or NULL. The tokenizer owns them. */
const char *bl_tokenizer_warning(const struct bl_tokenizer *tokenizer);

#endif
