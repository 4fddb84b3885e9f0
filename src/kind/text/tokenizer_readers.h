/* The readers of tokenizer files, and what several of them need: warnings, the names of a vocabulary, a pattern. */
#ifndef BL_TOKENIZER_READERS_H
#define BL_TOKENIZER_READERS_H

#include <jansson.h>

#include "base/json.h"
#include "kind/text/tokenizer_parts.h"
#include "kind/text/vocabulary.h"

/* --- readers ------------------------------------------------------------------------------------------------------ */

/* The readers of tokenizer files, one for each format. */

/* The long lists of a tokenizer.json, in its text: "model.merges", and "model.vocab", an array (of Unigram) or an
 * object of names and ids. */
struct bl_json_lists {
    struct bl_json_value merges, vocab;
};

/* The readers set the parts of a tokenizer from the contents of its files; paths are for messages. BL_EFAIL: a file is
 * damaged, or has a part that is not supported; the caller closes the tokenizer. In root the long lists are empty. */
int bl_tokenizer_read_json(struct bl_tokenizer *tokenizer, const json_t *root, const struct bl_json_lists *lists,
                           const char *path, struct bl_error *e);
int bl_tokenizer_read_gpt2(struct bl_tokenizer *tokenizer, const struct bl_buffer *vocab, const char *vocab_path,
                           const struct bl_buffer *merges, const char *merges_path, struct bl_error *e);
/* pattern: of --pattern, or NULL. */
int bl_tokenizer_read_tiktoken(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                               const char *pattern, struct bl_error *e);
int bl_tokenizer_read_tekken(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                             struct bl_error *e);
int bl_tokenizer_read_sentencepiece(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                                    struct bl_error *e);
int bl_tokenizer_read_wordpiece(struct bl_tokenizer *tokenizer, const struct bl_buffer *text, const char *path,
                                struct bl_error *e);

/* Whether the text of a file is that of a .tiktoken: Llama 3 and 4 have one in tokenizer.model. */
bool bl_tiktoken_detect(const struct bl_buffer *text);
/* Whether the text of a JSON file is that of a tekken.json. */
bool bl_tekken_detect(const struct bl_buffer *text);

/* --- warnings ----------------------------------------------------------------------------------------------------- */

/* The warnings of a tokenizer: what its files hold that its user should know. */

/* Adds a warning to those of the tokenizer. */
int bl_tokenizer_warn(struct bl_tokenizer *tokenizer, struct bl_error *e, const char *format, ...) BL_PRINTF(3, 4);

/* Warns that a pattern is matched by PCRE2 and not exactly (bl_regex_is_exact), unless there is a warning already. */
int bl_tokenizer_warn_pattern(struct bl_tokenizer *tokenizer, struct bl_error *e);

/* Warns of ids below the largest that have no token, if there are any. The model has rows for them that no text ever
 * uses, or the file is incomplete. names is the vocabulary as files have it; added is a list of added tokens, or NULL.
 * Both were read, so that their ids are known to be below the tokenizer's size. */
int bl_tokenizer_warn_missing_tokens(struct bl_tokenizer *tokenizer, const struct bl_vocabulary *names,
                                     const json_t *added, struct bl_error *e);

/* --- names -------------------------------------------------------------------------------------------------------- */

/* The names of a vocabulary: its tokens as a JSON file writes them, with their ids. */

/* Reads an object of names and ids. BL_EFAIL: a name is there twice or is not UTF-8, an id is none, or is there twice.
 */
int bl_names_read(struct bl_vocabulary *names, const struct bl_json_value *object, struct bl_error *e);

/* Returns the id of a name, or -1. */
static inline int64_t bl_names_find(const struct bl_vocabulary *names, const char *text, size_t size)
{
    int64_t name = bl_vocabulary_find(names, text, size);
    return name < 0 ? -1 : names->token[name].id;
}

/* --- patterns ----------------------------------------------------------------------------------------------------- */

/* Adds a split; known grammars that follow each other may become one. BL_EFAIL: there are too many. */
int bl_tokenizer_add_split(struct bl_tokenizer *tokenizer, const struct bl_split *split, struct bl_error *e);

/* Adds a split by an expression of size bytes; split has everything else. BL_EDATA: PCRE2 does not support the
 * expression. */
int bl_tokenizer_add_regex(struct bl_tokenizer *tokenizer, const char *pattern, size_t size, bool literal,
                           struct bl_split *split, struct bl_error *e);

/* Makes a tokenizer that has nothing but a pattern split as tiktoken does by a regular expression: what does not match
 * is left out. BL_EDATA: PCRE2 does not support the expression. */
int bl_tokenizer_set_pattern(struct bl_tokenizer *tokenizer, const char *pattern, size_t size, struct bl_error *e);

#endif
