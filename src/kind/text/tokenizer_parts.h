/* The parts of a tokenizer: filled in by the readers of its files, used by the encoder. */
#ifndef BL_TOKENIZER_PARTS_H
#define BL_TOKENIZER_PARTS_H

#include "kind/text/added_tokens.h"
#include "kind/text/bpe.h"
#include "kind/text/grammar.h"
#include "kind/text/document_marks.h"
#include "base/json.h"
#include "kind/text/normalizer.h"
#include "kind/text/regex.h"
#include "kind/text/sentencepiece.h"
#include "kind/text/tokenizer.h"
#include "kind/text/vocabulary.h"
#include "kind/text/wordpiece.h"

enum bl_tokenizer_model { BL_MODEL_BYTES, BL_MODEL_BPE, BL_MODEL_WORDPIECE, BL_MODEL_SENTENCEPIECE };

#define BL_NORMALIZERS_MAX 4
#define BL_SPLITS_MAX 4

/* A step of splitting: splits each piece of the step before by the grammar, or by the expression. */
struct bl_split {
    enum bl_grammar grammar;
    bool prefix_space;      /* prepend a space to a piece that does not begin with one */
    struct bl_regex *regex; /* if the grammar is BL_GRAMMAR_NONE */
    enum bl_behavior behavior;
    bool inverted;
};

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
    bool special; /* of the options */
    enum bl_lowercase lowercase;
    struct bl_added raw;    /* added tokens that are looked for in the original text */
    struct bl_added normal; /* added tokens that are looked for in normalised text */
    struct bl_normalizer normalizer[BL_NORMALIZERS_MAX];
    int normalizers;
    struct bl_split split[BL_SPLITS_MAX]; /* of the model BPE; WordPiece splits as BERT does */
    int splits;
    struct bl_vocabulary vocabulary;
    struct bl_bpe bpe;
    struct bl_wordpiece wordpiece;
    struct bl_sentencepiece *sentencepiece;
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

#endif
