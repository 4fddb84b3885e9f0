/* Reading a tokenizer.json, as `tokenizers` writes it. All that ids depend on is supported, or refused by name. Each
 * part has a file: model_json.c, normalizer_json.c and pre_tokenizer_json.c; tokenizer_json.c has the others. */
#ifndef BL_TOKENIZER_JSON_H
#define BL_TOKENIZER_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/text/json_members.h"
#include "kind/text/tokenizer_readers.h"

/* --- tokenizer.json ----------------------------------------------------------------------------------------------- */

/* A tokenizer.json that is being read.
 *
 * The post-processor only adds tokens that are not in the text (begin, end) and offsets: it is read where the options
 * request these tokens. The decoder makes text of ids, and is not read. */

struct bl_json_tokenizer {
    struct bl_tokenizer *tokenizer;
    const json_t *root, *model;
    const struct bl_json_lists *lists;
    struct bl_vocabulary names; /* of the model's tokens, except for Unigram's */
    size_t pieces;              /* of Unigram */
    struct bl_json_steps normalizers, splits;
    struct bl_unsupported unsupported;
    bool covered; /* all text becomes bytes, each of which is a token */
    bool marked;  /* the steps so far replaced spaces by U+2581: see model_json.c */
};

/* Returns the number of tokens of the model, and the id of the token with this text, or -1. */
size_t bl_json_model_size(const struct bl_json_tokenizer *t);
int64_t bl_json_model_find(const struct bl_json_tokenizer *t, const char *text, size_t size);

/* These read the parts of the file, in this order. BL_EFAIL: one is damaged. */
int bl_json_read_alphabet(struct bl_json_tokenizer *t, struct bl_error *e);
int bl_json_read_normalizers(struct bl_json_tokenizer *t, struct bl_error *e);
int bl_json_read_splits(struct bl_json_tokenizer *t, struct bl_error *e);
int bl_json_read_model(struct bl_json_tokenizer *t, struct bl_error *e);
/* Reads the post-processor into tokenizer->post, if its marks are wanted; otherwise it does nothing. */
int bl_json_read_post_processor(struct bl_json_tokenizer *t, struct bl_error *e);

#endif
