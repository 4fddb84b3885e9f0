/* Unigram: of all segmentations of a word into pieces, the one whose scores have the largest sum.
 *
 * The sums are those of `tokenizers`: 64-bit, from left to right, and of equal ones the first found stays. Those of
 * SentencePiece are kept in 32 bits. A character that is no piece is unknown, with the lowest score less 10;
 * consecutive unknown characters are one unknown text, which `tokenizers` may find among the pieces after all. */
#ifndef BL_UNIGRAM_H
#define BL_UNIGRAM_H

#include <stdbool.h>

#include "kind/text/added_tokens.h"
#include "kind/text/vocabulary.h"

/* The model. It owns the trie and the arrays. */
struct bl_unigram {
    struct bl_trie trie; /* of the pieces; values are ids */
    double *score;       /* by id */
    size_t count;
    double lowest;   /* score of a piece */
    int32_t unknown; /* id, or -1 */
    int32_t *byte;   /* ids of the 256 bytes that unknown text becomes; NULL: none */
    bool single;     /* sums have 32 bits, as in SentencePiece */
};

/* A piece: its id is its place in the list. */
struct bl_unigram_piece {
    const uint8_t *bytes;
    size_t size;
    double score;
};

/* Builds the model. The id of a piece is its place in the list; an empty piece has an id that no text gets. Of equal
 * pieces the last counts. unknown: id, or -1. fallback: bytes are the pieces "<0x0A>". BL_EFAIL: out of memory, or a
 * piece is too long. The caller frees the model, also after an error. */
int bl_unigram_build(struct bl_unigram *model, const struct bl_unigram_piece *pieces, size_t count, int32_t unknown,
                     bool fallback, struct bl_error *e);
void bl_unigram_free(struct bl_unigram *model);

/* The best segmentation of the word's bytes before one position. */
struct bl_unigram_node {
    double score;
    size_t begin; /* of its last piece; SIZE_MAX: none ends here */
    int32_t id;
};

/* Memory for encoding; start from {0}. */
struct bl_unigram_scratch {
    struct bl_unigram_node *node;
    size_t capacity;
    struct bl_ids reversed;
};

/* Appends the ids of a word (valid UTF-8, not empty). BL_EDATA: it has unknown characters, and the model no id for
 * them. */
int bl_unigram_encode(const struct bl_unigram *model, struct bl_unigram_scratch *scratch, const uint8_t *word,
                      size_t size, struct bl_ids *ids, struct bl_error *e);
void bl_unigram_scratch_free(struct bl_unigram_scratch *scratch);

#endif
