/* The parts of a tokenizer: filled in by the readers of its files, used by the encoder. */
#ifndef BL_TOKENIZER_PARTS_H
#define BL_TOKENIZER_PARTS_H

#include "base/json.h"
#include "kind/text/added_tokens.h"
#include "kind/text/bpe.h"
#include "kind/text/normalizer.h"
#include "kind/text/pre_tokenizer.h"
#include "kind/text/unigram.h"
#include "kind/text/vocabulary.h"
#include "kind/text/wordpiece.h"

enum bl_tokenizer_model { BL_MODEL_BYTES, BL_MODEL_BPE, BL_MODEL_WORDPIECE, BL_MODEL_WORDLEVEL, BL_MODEL_UNIGRAM };

#define BL_NORMALIZERS_MAX 16
#define BL_SPLITS_MAX 16

#define BL_POST_PROCESSORS_DEPTH 8 /* Sequences in each other */

/* What the post-processor of a tokenizer.json adds. */
struct bl_post_processor {
    bool wanted; /* of the options: it is read */
    bool found;  /* it was read: other files have none */
    int adders;  /* processors that may add tokens */
    struct bl_document_marks begin, end;
};

struct bl_tokenizer {
    enum bl_tokenizer_model model;
    char *path;   /* of its file; NULL: bytes */
    char *name;   /* of the file, or of an encoding whose file is in a cache; NULL: bytes */
    bool special; /* of the options */
    enum bl_lowercase lowercase;
    struct bl_added raw;    /* added tokens that are looked for in the original text */
    struct bl_added normal; /* added tokens that are looked for in normalised text */
    struct bl_normalizer normalizer[BL_NORMALIZERS_MAX];
    int normalizers;
    struct bl_split split[BL_SPLITS_MAX]; /* at least one, but for bytes */
    int splits;
    struct bl_vocabulary vocabulary;
    struct bl_bpe bpe;
    struct bl_wordpiece wordpiece;
    struct bl_unigram unigram;
    int32_t unknown;             /* id of unknown words of the model WordLevel, or -1 */
    bool joins_unknown;          /* consecutive ids of unknown become one */
    struct bl_alphabet alphabet; /* of the vocabulary */
    struct bl_post_processor post;
    int64_t size;
    uint64_t digest;
    char *warning;
};

/* Makes the size of the tokenizer include this id. */
static inline void bl_tokenizer_count(struct bl_tokenizer *tokenizer, int32_t id)
{
    if (id >= tokenizer->size)
        tokenizer->size = (int64_t)id + 1;
}

/* Whether its normalizers or splits need a matcher. */
static inline bool bl_tokenizer_has_regex(const struct bl_tokenizer *tokenizer)
{
    bool has = false;
    for (int i = 0; i < tokenizer->normalizers; i++)
        has = has || tokenizer->normalizer[i].regex;
    for (int i = 0; i < tokenizer->splits; i++)
        has = has || tokenizer->split[i].regex;
    return has;
}

#endif
