/* The parts of a tokenizer: readers of tokenizer files set them, and the encoder uses them.
 *
 * A text passes through the parts in this order: added tokens (raw), normalizers, added tokens (normal), splits, and
 * the model, which makes ids of each word. A reader sets the parts that its format has; the others stay zero, and do
 * nothing. */
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

/* What makes ids of a word. BYTES: each byte is an id. */
enum bl_tokenizer_model { BL_MODEL_BYTES, BL_MODEL_BPE, BL_MODEL_WORDPIECE, BL_MODEL_WORDLEVEL, BL_MODEL_UNIGRAM };

/* More than any published tokenizer has, and few enough for arrays of a fixed size in each encoder. */
#define BL_NORMALIZERS_MAX 16
#define BL_SPLITS_MAX 16

#define BL_POST_PROCESSORS_DEPTH 8 /* Sequences in each other */

/* The ids that the post-processor of a tokenizer.json adds to a text. */
struct bl_post_processor {
    bool wanted; /* by the options: it is read */
    bool found;  /* it was read: other files have none */
    int adders;  /* processors that may add tokens */
    struct bl_document_marks begin, end;
};

/* A tokenizer owns all that it has pointers to. Nothing in it changes once it is open. */
struct bl_tokenizer {
    enum bl_tokenizer_model model;
    char *path;                  /* of its file, for messages; NULL: bytes */
    char *name;                  /* of the file, or of an encoding whose file is in a cache; NULL: bytes */
    bool special;                /* by the options: special tokens in a text are tokens */
    enum bl_lowercase lowercase; /* by the options; of a vocab.txt only */
    struct bl_added raw;         /* added tokens that the encoder finds in the original text */
    struct bl_added normal;      /* added tokens that the encoder finds in normalized text */
    struct bl_normalizer normalizer[BL_NORMALIZERS_MAX];
    int normalizers;
    struct bl_split split[BL_SPLITS_MAX]; /* at least one, except for bytes */
    int splits;
    struct bl_vocabulary vocabulary;
    struct bl_bpe bpe;
    struct bl_wordpiece wordpiece;
    struct bl_unigram unigram;
    int32_t unknown;             /* id of unknown words of the model WordLevel, or -1 */
    bool joins_unknown;          /* consecutive ids of unknown become one */
    struct bl_alphabet alphabet; /* of the vocabulary */
    struct bl_post_processor post;
    int64_t size;    /* one more than the largest id */
    uint64_t digest; /* of the files and options (tokenizer.h) */
    char *warning;   /* all warnings in one text, or NULL */
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
