/* Reading a tokenizer.json, as `tokenizers` writes it. All that ids depend on is supported, or refused by name. The
 * sections are helpers for the objects of the file, and the file that is being read. */
#ifndef BL_TOKENIZER_JSON_H
#define BL_TOKENIZER_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/text/tokenizer_readers.h"

/* --- members of objects ------------------------------------------------------------------------------------------- */

/* Members of the objects in a tokenizer.json. */

/* What a file uses and is not supported. All of it is named, so reading goes on behind it: start from {0}. */
struct bl_unsupported {
    struct bl_buffer list;
};

/* Adds to the list. */
void bl_unsupported_add(struct bl_unsupported *unsupported, const char *format, ...) BL_PRINTF(2, 3);
/* BL_EFAIL, with the list, if there is anything in it. */
int bl_unsupported_check(const struct bl_unsupported *unsupported, struct bl_error *e);
void bl_unsupported_free(struct bl_unsupported *unsupported);

/* Lists as unsupported the members of an object other than names, a list ended by NULL: their meaning would be lost.
 * what names the object in messages. BL_EFAIL: it is not an object. */
int bl_json_members_check(const json_t *object, const char *what, const char *const *names,
                          struct bl_unsupported *unsupported, struct bl_error *e);

/* A member that is true or false, and its value: the default, which stays if there is no such member. */
struct bl_json_flag {
    const char *name;
    bool *value;
};

/* Reads flags, a list ended by a name of NULL. BL_EFAIL: one is neither true nor false. */
int bl_json_members_read_flags(const json_t *object, const char *what, const struct bl_json_flag *flags,
                               struct bl_error *e);

/* The steps that an object stands for: itself, or those of a Sequence in its member list, and of Sequences therein. */
struct bl_json_steps {
    const json_t **step;
    size_t count, capacity;
};

/* Appends the steps of an object, which may be NULL or null. what: "normalizer". BL_EFAIL: one is not an object. */
int bl_json_steps_add(struct bl_json_steps *steps, const json_t *object, const char *list, const char *what,
                      struct bl_unsupported *unsupported, struct bl_error *e);
void bl_json_steps_free(struct bl_json_steps *steps);

/* The type of an object, or "". */
const char *bl_json_type(const json_t *object);

/* --- tokenizer.json ----------------------------------------------------------------------------------------------- */

/* A tokenizer.json that is being read.
 *
 * The post-processor only adds tokens that are not in the text (begin, end) and offsets: it is read where these tokens
 * are asked for. The decoder is for the other direction. */

struct bl_json_tokenizer {
    struct bl_tokenizer *tokenizer;
    const json_t *root, *model;
    const struct bl_json_lists *lists;
    struct bl_vocabulary names; /* of the model's tokens, but for Unigram's */
    size_t pieces;              /* of Unigram */
    struct bl_json_steps normalizers, splits;
    struct bl_unsupported unsupported;
    bool covered; /* all text becomes bytes, which are all tokens */
    bool marked;  /* spaces were replaced by U+2581 by the steps so far: see vocabulary.c */
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
