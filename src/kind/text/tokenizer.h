/* Tokenizers: text in, token ids out, the same ones as the released packages give. */
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

/* The name of its file, without folders; or "bytes". */
const char *bl_tokenizer_name(const struct bl_tokenizer *tokenizer);
/* One more than the largest id. */
int64_t bl_tokenizer_size(const struct bl_tokenizer *tokenizer);
/* The id of a token by its text ("<|endoftext|>"); -1 when there is none. */
int32_t bl_tokenizer_find(const struct bl_tokenizer *tokenizer, const char *text);
/* The same for the token that the files beside it name "eos_token", "bos_token" and so on (vocabulary.h). BL_EFAIL:
 * one of these files cannot be read. */
int bl_tokenizer_find_named(const struct bl_tokenizer *tokenizer, const char *key, int32_t *id, struct bl_error *e);
/* The size of the text of the added token with this id, if a text begins (or ends) with it; else 0. */
size_t bl_tokenizer_size_at(const struct bl_tokenizer *tokenizer, int32_t id, const char *text, size_t size,
                            bool at_end);
/* Whether it has special tokens that stay plain text, by the options; and how many of their texts a text has. */
bool bl_tokenizer_leaves_plain(const struct bl_tokenizer *tokenizer);
int64_t bl_tokenizer_count_plain(const struct bl_tokenizer *tokenizer, const char *text, size_t size);
/* What encode of `tokenizers` adds to every text with add_special_tokens=True; none unless the options ask for it. */
void bl_tokenizer_marks(const struct bl_tokenizer *tokenizer, struct bl_document_marks *begin,
                        struct bl_document_marks *end);
/* XXH3 of all that the ids of a text depend on, without marks: the bytes of the files, and the options. */
uint64_t bl_tokenizer_digest(const struct bl_tokenizer *tokenizer);
/* The versions of the libraries that the ids come from: one call of emit for each. Most tokenizers use none. */
void bl_tokenizer_versions(const struct bl_tokenizer *tokenizer,
                           void (*emit)(void *sink, const char *name, const char *version), void *sink);
/* Its warnings ("FILE: its truncation not applied; ..."), or NULL. */
const char *bl_tokenizer_warning(const struct bl_tokenizer *tokenizer);

#endif
