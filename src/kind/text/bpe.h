/* Byte-pair encoding: the ids of a word, by merging its bytes.
 *
 * A word begins as its bytes. The adjacent pair whose merge comes first is merged, and of equal pairs the leftmost,
 * until no pair has a merge. The order is given by a list of merges (tokenizer.json, merges.txt) or by ranks
 * (.tiktoken); with ranks any two neighbours merge whose bytes together are a token.
 *
 * Tokens may be bytes (byte-level) or text, whose words begin as characters. Then merges of bytes to characters come
 * before all others, so that a word begins as its bytes here, too; a character that is no token stays the bytes that it
 * is, which have tokens of their own (byte fallback), or is unknown.
 *
 * Both become one table. A token can only be made in one way: no merge crosses the boundary of what becomes a token, so
 * its bytes merge as they would alone, whatever is around them. When the tokenizer is opened, the bytes of each token
 * are merged alone, once. The last merge is the merge of the token if it makes it, and no other merge can. Symbols are
 * the bytes, then the tokens in the order of their merges, so the symbol of a pair says what it becomes and when. From
 * a list this is done in the order of its merges, by what is in the table already (merges.c).
 *
 * In all real vocabularies every symbol comes after the two that it is made of. Then a word need not be merged step by
 * step: its ids are the one sequence of tokens in which any two neighbours, merged alone, stay as they are (H. van
 * Antwerpen, A. Neubeck: So many tokens, so little time, GitHub 2024). It is found from left to right, the longest
 * token first, with a step back where no token continues. Short words are still merged step by step: their few pairs
 * are looked up in parallel, while each step in the trie depends on the one before.
 *
 * Words of text-level vocabularies are split where no merge joins two bytes: Llama 2 has no pre-tokenizer, so that a
 * document would be one word, which no cache has. */
#ifndef BL_BPE_H
#define BL_BPE_H

#include "kind/text/added_tokens.h"
#include "kind/text/vocabulary.h"

#define BL_SYMBOL_BITS 21
#define BL_SYMBOL_NONE UINT32_MAX
#define BL_PAIR_FACTOR 0x9e3779b97f4a7c15u /* Fibonacci hashing: the upper bits of the product */

struct bl_symbol {
    uint32_t left, right; /* the two that it is made of; of a byte: itself */
    uint32_t size;        /* bytes */
    uint32_t shorter;     /* the longest other symbol that it begins with, or BL_SYMBOL_NONE */
};

/* The table of pairs is its own: that of base/buffer.h would need 2 to 4 % more instructions for encoding. */
struct bl_bpe {
    int32_t *id; /* of a symbol; -1: it has none, as the first bytes of a character */
    struct bl_symbol *symbol;
    uint64_t *pair;              /* open addressing: left, right and their symbol, 21 bits each; all ones is free */
    unsigned shift;              /* 64 - log2 of the slots */
    uint64_t *filter;            /* 8 bits for each slot; the bit of a pair that is not in the table is mostly clear */
    uint32_t *byte_pair;         /* [first * 256 + second] the symbol of two bytes, or BL_SYMBOL_NONE */
    struct bl_trie trie;         /* all symbols by their bytes */
    bool ordered;                /* every symbol comes after those that it is made of */
    uint32_t *rank;              /* of a symbol, where several have the same; NULL: the symbol itself */
    struct bl_vocabulary strays; /* tokens that no merge makes, but that can be whole words */
    uint64_t *joined;            /* bit [first * 256 + second]: two bytes that are adjacent in a symbol */
    bool suffixed;               /* a word ends with BL_WORD_END (vocabulary.h) */
    uint64_t *known;             /* bit set of the code points that are tokens; NULL: all bytes are */
    uint64_t *known_last;        /* the same at the end of a word, where that is suffixed */
    int32_t unknown;             /* the id of characters that are not; -1: they are left out */
    bool fused;                  /* consecutive unknown characters have one id */
};

/* A merge, by the numbers of tokens. Its index in the list is its priority. */
struct bl_merge {
    uint32_t left, right, token;
};

/* Builds the table from a list of merges, of which the first are those of bytes to characters (bpe_characters.h).
 * direct: a word that is a token gets its id, whatever merging would give. BL_EFAIL: a byte is not a token, or a pair
 * is listed twice. */
int bl_bpe_from_merges(struct bl_bpe *bpe, const struct bl_vocabulary *v, const struct bl_merge *merges, size_t count,
                       size_t first, bool direct, struct bl_error *e);
/* Builds it from ranks, which are the ids. */
int bl_bpe_from_ranks(struct bl_bpe *bpe, const struct bl_vocabulary *v, struct bl_error *e);
/* Builds the table from the tokens' priorities: lower ones merge first, and of equal ones the leftmost. A word that is
 * a token gets its id only if merging makes it. */
int bl_bpe_from_priorities(struct bl_bpe *bpe, const struct bl_vocabulary *v, const uint32_t *priority,
                           struct bl_error *e);
void bl_bpe_free(struct bl_bpe *bpe);

/* Memory for merging; start from {0}. */
struct bl_bpe_scratch {
    uint64_t *memory;
    size_t capacity;
    struct bl_buffer word; /* with its end, without unknown characters */
};

/* Appends the ids of a word, in nearly linear time. */
int bl_bpe_encode(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                  struct bl_ids *ids, struct bl_error *e);
/* Appends the ids of bytes that all have symbols, by merging step by step. */
int bl_bpe_merge(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                 struct bl_ids *ids, struct bl_error *e);
void bl_bpe_scratch_free(struct bl_bpe_scratch *scratch);

/* Whether bl_bpe_split can split a text. */
bool bl_bpe_can_split(const struct bl_bpe *bpe);
/* Splits text[*at, size) into at most max parts whose ids, one after the other, are those of the whole: no merge
 * crosses their boundaries. end[i] is where part i ends. Returns how many, and advances *at to the end of the last one.
 */
size_t bl_bpe_split(const struct bl_bpe *bpe, const uint8_t *text, size_t size, size_t *at, size_t *end, size_t max);

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* Inline: encoding spends most of its time here. */

/* The symbol that two symbols merge to, or BL_SYMBOL_NONE. */
static inline uint32_t bl_bpe_pair_find(const struct bl_bpe *bpe, uint64_t left, uint64_t right)
{
    uint64_t key = left << BL_SYMBOL_BITS | right, hash = key * BL_PAIR_FACTOR;
    size_t mask = ((size_t)1 << (64 - bpe->shift)) - 1;
    size_t bit = (size_t)(hash >> (bpe->shift - 3));
    if (!(bpe->filter[bit / 64] >> bit % 64 & 1))
        return BL_SYMBOL_NONE;
    for (size_t at = (size_t)(hash >> bpe->shift);; at = (at + 1) & mask) {
        uint64_t slot = bpe->pair[at];
        if (slot >> BL_SYMBOL_BITS == key)
            return (uint32_t)slot & ((1u << BL_SYMBOL_BITS) - 1);
        if (slot == UINT64_MAX)
            return BL_SYMBOL_NONE;
    }
}

/* Whether two adjacent tokens, which do not merge, stay as they are when their bytes are merged together. Their merges
 * are undone, the last one first: a merge across the boundary that comes before the undone one would have been made
 * instead of it. Of equal merges the left one is made first. */
static inline bool bl_bpe_pair_holds(const struct bl_bpe *bpe, uint32_t left, uint32_t right)
{
    while (left >= 256 || right >= 256) {
        uint32_t limit;
        if (left > right) {
            limit = left;
            left = bpe->symbol[left].right;
        } else {
            limit = right + 1;
            right = bpe->symbol[right].left;
        }
        if (bl_bpe_pair_find(bpe, left, right) < limit)
            return false;
    }
    return true;
}

#endif
