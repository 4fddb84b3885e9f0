/* The readers of tokenizer files, one for each format. */
#ifndef BL_TOKENIZER_READERS_H
#define BL_TOKENIZER_READERS_H

#include <jansson.h>

#include "base/json.h"
#include "kind/text/tokenizer_parts.h"

/* The long lists of a tokenizer.json, in its text: "model.merges", and "model.vocab", an array (of Unigram) or an
 * object of names and ids. */
struct bl_json_lists {
    struct bl_json_value merges, vocab;
};

/* They fill in a tokenizer from the contents of its files; paths are for messages. In root the lists are empty. */
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

/* Whether the text of a file is that of a .tiktoken: Llama 3 and 4 have it in tokenizer.model. */
bool bl_tiktoken_detect(const struct bl_buffer *text);
/* Whether the text of a JSON file is that of a tekken.json. */
bool bl_tekken_detect(const struct bl_buffer *text);

#endif
