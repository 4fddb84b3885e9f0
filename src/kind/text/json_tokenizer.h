/* A tokenizer.json that is being read. */
#ifndef BL_JSON_TOKENIZER_H
#define BL_JSON_TOKENIZER_H

#include "kind/text/json_members.h"
#include "kind/text/names.h"
#include "kind/text/tokenizer_readers.h"

struct bl_json_tokenizer {
    struct bl_tokenizer *tokenizer;
    const json_t *root, *model;
    const struct bl_json_lists *lists;
    struct bl_vocabulary names; /* of the model's tokens, but for Unigram's */
    size_t pieces;              /* of Unigram */
    struct bl_json_steps normalizers, splits;
    struct bl_unsupported unsupported;
    bool covered; /* all text becomes bytes, which are all tokens */
    bool marked;  /* spaces were replaced by U+2581 by the steps so far: see alphabet_json.c */
};

/* The model's type, by its members where it is not given: "BPE", "WordPiece", "WordLevel", "Unigram". */
const char *bl_json_model_type(const json_t *model);
/* The number of tokens of the model, and the id of one with this text, or -1. */
size_t bl_json_model_size(const struct bl_json_tokenizer *t);
int64_t bl_json_model_find(const struct bl_json_tokenizer *t, const char *text, size_t size);

/* These read the parts of the file, in this order. BL_EFAIL: one is damaged. */
int bl_json_read_alphabet(struct bl_json_tokenizer *t, struct bl_error *e);
int bl_json_read_normalizers(struct bl_json_tokenizer *t, struct bl_error *e);
int bl_json_read_splits(struct bl_json_tokenizer *t, struct bl_error *e);
int bl_json_read_model(struct bl_json_tokenizer *t, struct bl_error *e);
/* Reads the post-processor into tokenizer->post, if its marks are wanted; otherwise it does nothing. */
int bl_json_read_post_processor(struct bl_json_tokenizer *t, struct bl_error *e);

int bl_json_read_unigram(struct bl_json_tokenizer *t, struct bl_error *e);

/* The JSON number as serde_json reads it, which `tokenizers` has its scores from: digits of 64 bits, then one
 * multiplication or division. That is not always the nearest double. */
double bl_json_serde_number(const char *text, size_t size);

/* The text of {"String": text} or {"Regex": text} in the member "pattern", or NULL. */
const json_t *bl_json_pattern(const json_t *object, bool *literal);

#endif
