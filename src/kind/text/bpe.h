/* Byte-pair encoding: the ids of a word, by merging its bytes.
 *
 * A word begins as its bytes. The pair of neighbours whose merge comes first is merged, the leftmost of them where
 * there are several, until no pair has a merge. Two ways to say what comes first: a list of merges (tokenizer.json,
 * merges.txt), or ranks (.tiktoken), where any two neighbours merge whose bytes together are a token.
 *
 * Both become one table here. Merging gives a token in one way only: no merge reaches over the edge of what ends as a
 * token, so whatever stands around it, its bytes merge as they would alone. So each token's bytes are merged alone
 * once, when the tokenizer is opened; the last merge, if it makes the token, is its merge, and no other can ever be the
 * last. Symbols are the bytes, then the tokens in the order of their merges: a pair's symbol tells what it becomes and
 * when.
 *
 * Where every symbol comes after those that it is made of, as in all real vocabularies, a word is not merged step by
 * step: its ids are the one sequence of tokens of which any two neighbours, merged alone, stay what they are (H. van
 * Antwerpen, A. Neubeck: So many tokens, so little time, GitHub 2024). It is found from left to right, the longest
 * token first, with a step back where no token goes on from a place. Short words are merged step by step nevertheless:
 * their few pairs are looked up side by side, while each step in the trie waits for the one before. */
#ifndef BL_BPE_H
#define BL_BPE_H

#include "kind/text/ids.h"
#include "kind/text/trie.h"
#include "kind/text/vocabulary.h"

#define BL_SYMBOL_BITS 21
#define BL_SYMBOL_NONE UINT32_MAX
#define BL_PAIR_FACTOR 0x9e3779b97f4a7c15u /* Fibonacci hashing: the upper bits of the product */

struct bl_symbol {
    uint32_t left, right; /* of which it is made; a byte: itself */
    uint32_t size;        /* bytes */
    uint32_t shorter;     /* the longest other symbol that it begins with, or BL_SYMBOL_NONE */
};

struct bl_bpe {
    int32_t *id; /* of a symbol */
    struct bl_symbol *symbol;
    uint64_t *pair;              /* open addressing: left, right and their symbol, 21 bits each; all ones is free */
    unsigned shift;              /* 64 - log2 of the slots */
    uint64_t *filter;            /* 8 bits for each slot, of which most pairs that are not there find theirs clear */
    uint32_t *byte_pair;         /* of two bytes, first * 256 + second: their symbol or BL_SYMBOL_NONE */
    struct bl_trie trie;         /* all symbols by their bytes */
    bool ordered;                /* every symbol comes after those that it is made of */
    struct bl_vocabulary strays; /* tokens that merging does not give and that words can be directly */
};

/* A merge by the numbers of tokens; its place in the list is what comes first. */
struct bl_merge {
    uint32_t left, right, token;
};

/* From a list of merges; direct: a word that is a token is its id, whatever merging would give. BL_EFAIL: a byte that
 * is no token, a pair that is listed twice. */
int bl_bpe_from_merges(struct bl_bpe *bpe, const struct bl_vocabulary *v, const struct bl_merge *merges, size_t count,
                       bool direct, struct bl_error *e);
/* From ranks, which are the ids. */
int bl_bpe_from_ranks(struct bl_bpe *bpe, const struct bl_vocabulary *v, struct bl_error *e);
void bl_bpe_free(struct bl_bpe *bpe);

/* What merging needs; start from {0}. */
struct bl_bpe_scratch {
    void *memory;
    size_t size;
};

/* Appends the ids of a word. Time is near linear in its size. */
int bl_bpe_merge(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                 struct bl_ids *ids, struct bl_error *e);
void bl_bpe_scratch_free(struct bl_bpe_scratch *scratch);

#endif
