/* Byte-pair encoding turns a word into ids by merging its bytes.
 *
 * A word begins as its bytes. The adjacent pair whose merge has the highest priority is merged, of equal pairs the
 * leftmost, until no pair has a merge. A list of merges (tokenizer.json, merges.txt) gives the priorities in its
 * order; ranks (.tiktoken) give them, too, and then any two neighbours merge whose bytes together are a token.
 * Example with the merges "l o", "lo w":
 *
 *     l o w e r   ->   lo w e r   ->   low e r
 *
 * Tokens are bytes (byte-level) or text (text-level), where words begin as characters. For text, merges of bytes to
 * characters come before all others, so that a word begins as its bytes here, too. A character that is no token
 * stays its bytes, which have tokens (byte fallback), or is unknown.
 *
 * Lists and ranks become one table. Merging makes a token in one way only: no merge crosses the boundary of what
 * becomes a token, so its bytes merge as they do alone, whatever is around them. When the tokenizer is opened, the
 * bytes of each token are merged alone, once. If the last of these merges makes the token, it is the only merge that
 * does. Symbols are the 256 bytes, then the tokens in the order of their merges, so the symbol of a pair gives its
 * result and its priority. merges.c builds the table in this order.
 *
 * In all real vocabularies every symbol comes after the two symbols that it is made of. Then a word need not be
 * merged step by step: its ids are the one sequence of tokens in which any two neighbours, merged alone, do not
 * change (H. van Antwerpen, A. Neubeck: So many tokens, so little time, GitHub 2024). The search goes from left to
 * right, takes the longest token first, and goes back one token where no token continues. Short words are still
 * merged step by step: the processor looks up their few pairs in parallel, while each step in the trie depends on
 * the one before.
 *
 * Words of text-level vocabularies are split where no merge joins two bytes. Llama 2 has no pre-tokenizer, so
 * without these splits a document would be one word, which no cache holds. */
#ifndef BL_BPE_H
#define BL_BPE_H

#include "kind/text/added_tokens.h"
#include "kind/text/vocabulary.h"

#define BL_SYMBOL_BITS 21 /* three symbols fit into a slot of 64 bits */
#define BL_SYMBOL_NONE UINT32_MAX
/* Fibonacci hashing: 2^64 divided by the golden ratio. The upper bits of the product select the slot. */
#define BL_PAIR_FACTOR 0x9e3779b97f4a7c15u

/* A byte, or what a merge makes. */
struct bl_symbol {
    uint32_t left, right; /* symbols that are merged to this one; of a byte: itself */
    uint32_t size;        /* bytes of text */
    uint32_t shorter;     /* the longest other symbol that begins its bytes, or BL_SYMBOL_NONE */
};

/* A model of byte-pair encoding, which owns all its arrays; zeros are an empty one. It has its own table of pairs,
 * since that of base/buffer.h would need 2 to 4 % more instructions for encoding. */
struct bl_bpe {
    int32_t *id; /* id of each symbol; -1: none, as for the first bytes of a character */
    struct bl_symbol *symbol;
    uint64_t *pair;              /* open addressing: left, right, their symbol, 21 bits each; all ones is free */
    unsigned shift;              /* 64 - log2 of the slots */
    uint64_t *filter;            /* 8 bits per slot; a clear bit proves that a pair is not in the table */
    uint32_t *byte_pair;         /* [first * 256 + second] the symbol of two bytes, or BL_SYMBOL_NONE */
    struct bl_trie trie;         /* all symbols by their bytes */
    bool ordered;                /* every symbol comes after those that it is made of */
    uint32_t *rank;              /* priority of each symbol, where several are equal; NULL: the symbol itself */
    struct bl_vocabulary strays; /* tokens that no merge makes and that are ids of whole words */
    uint64_t *joined;            /* bit [first * 256 + second]: two bytes that are adjacent in a symbol */
    bool suffixed;               /* a word ends with BL_WORD_END (vocabulary.h) */
    uint64_t *known;             /* bit set of the code points that are tokens; NULL: all bytes are */
    uint64_t *known_last;        /* the same at the end of a word, where that is suffixed */
    int32_t unknown;             /* id of characters that are not known; -1: they are left out */
    bool fused;                  /* a run of unknown characters has one id */
};

/* A merge of two tokens to a third one, by their numbers in the vocabulary. Its index in the list is its priority, 0
 * first. */
struct bl_merge {
    uint32_t left, right, token;
};

/* Builds the table from a list of merges, the first of which make characters of bytes (bpe_characters.h). direct: a
 * word that is a token gets its id, whatever merging gives. bl_bpe_free releases the model, also after an error.
 * BL_EFAIL: a byte is not a token, a pair is listed twice, or out of memory. */
int bl_bpe_from_merges(struct bl_bpe *bpe, const struct bl_vocabulary *v, const struct bl_merge *merges, size_t count,
                       size_t first, bool direct, struct bl_error *e);
/* Builds the table from ranks, which are the ids. Errors as above. */
int bl_bpe_from_ranks(struct bl_bpe *bpe, const struct bl_vocabulary *v, struct bl_error *e);
/* Builds the table from a priority for each token: the lowest merges first, and of equal ones the leftmost. A word
 * that is a token gets its id only if merging makes it. Errors as above. */
int bl_bpe_from_priorities(struct bl_bpe *bpe, const struct bl_vocabulary *v, const uint32_t *priority,
                           struct bl_error *e);
void bl_bpe_free(struct bl_bpe *bpe);

/* Memory for merging, one for each thread; start from {0}. Encoding only reads the model, which all threads share. */
struct bl_bpe_scratch {
    uint64_t *memory;
    size_t capacity;
    struct bl_buffer word; /* known characters of a word, with BL_WORD_END if words have it */
};

/* Appends the ids of a word, in nearly linear time. BL_EFAIL: out of memory, or more ids than ids->limit. */
int bl_bpe_encode(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                  struct bl_ids *ids, struct bl_error *e);
/* Appends the ids of a word whose bytes all have symbols. Errors as above. */
int bl_bpe_merge(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                 struct bl_ids *ids, struct bl_error *e);
void bl_bpe_scratch_free(struct bl_bpe_scratch *scratch);

/* Returns true if bl_bpe_split may split texts: ids do not depend on the ends of words or on runs of unknown
 * characters. */
bool bl_bpe_can_split(const struct bl_bpe *bpe);
/* Splits text[*at, size), at least one byte, into at most max parts whose ids, one after the other, are those of the
 * whole: no merge crosses their boundaries. Sets end[i] to the offset in text at which part i ends, advances *at to
 * the end of the last part and returns the number of parts. */
size_t bl_bpe_split(const struct bl_bpe *bpe, const uint8_t *text, size_t size, size_t *at, size_t *end, size_t max);

/* --- pairs -------------------------------------------------------------------------------------------------------- */

/* These functions are inline, since encoding spends most of its time here. */

/* Returns the symbol that two symbols merge to, or BL_SYMBOL_NONE. Most pairs do not merge: the filter, which has an
 * eighth of the table's size, rejects most of these without access to the table. Slots are probed linearly. */
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

/* Returns true if two adjacent tokens, which do not merge, do not change when their bytes are merged together.
 *
 * The loop undoes their merges, the last one first. A merge across the boundary that comes before the undone one
 * would have been made instead of it. If merges are equal, the left one is made first, so the limit for the right token
 * is one higher. */
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
