/* Finds the longest of many tokens with which a text begins.
 *
 * The first section is a trie, in which the models search for the tokens of their vocabularies. The second section
 * is the list of the added tokens of a tokenizer, such as "<|endoftext|>". Added tokens are few, and their first two
 * bytes are rare in text: a bit set of these bytes passes over most positions faster than a trie. */
#ifndef BL_ADDED_TOKENS_H
#define BL_ADDED_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- tries -------------------------------------------------------------------------------------------------------- */

/* A double-array trie: all nodes lie in one array, and a step from a node to its child is one look-up.
 *
 * The child of node n by byte b has the index node[n].base ^ b. The entry there is this child if its parent is n;
 * otherwise n has no child by b. Example: a node with the base 256 has its child by 'a' (0x61) at the index 353. */

#define BL_TRIE_NONE UINT32_MAX

struct bl_trie_node {
    uint32_t base, parent; /* indices of nodes; parent is BL_TRIE_NONE in a free entry */
    uint32_t value;        /* value of the text that ends here, or BL_TRIE_NONE */
};

struct bl_trie {
    struct bl_trie_node *node; /* owned; node[0] is the root */
    size_t count;              /* entries of the array, a multiple of 256, free ones included */
};

/* A text and its value. The caller owns the bytes, which bl_trie_build only reads. */
struct bl_trie_entry {
    const uint8_t *bytes;
    uint32_t size, value;
    uint32_t shorter; /* set by bl_trie_build: value of the longest other entry that begins this one, or none */
};

/* Builds the trie and sorts the caller's entries by their texts, which must be distinct and not empty. The trie
 * holds no pointer to the entries afterwards. BL_EFAIL: out of memory, or too many tokens. bl_trie_free releases the
 * trie, also after an error. */
int bl_trie_build(struct bl_trie *trie, struct bl_trie_entry *entries, size_t count, struct bl_error *e);
void bl_trie_free(struct bl_trie *trie);

/* Returns the value of the longest entry that begins the text, and sets *bytes to the size of this entry. Returns
 * BL_TRIE_NONE and sets *bytes to 0 if no entry begins the text. */
static inline uint32_t bl_trie_longest(const struct bl_trie *trie, const uint8_t *text, size_t size, size_t *bytes)
{
    uint32_t at = 0, longest = BL_TRIE_NONE;
    *bytes = 0;
    for (size_t i = 0; i < size;) {
        uint32_t next = trie->node[at].base ^ text[i++];
        if (trie->node[next].parent != at)
            break;
        at = next;
        if (trie->node[at].value != BL_TRIE_NONE) {
            longest = trie->node[at].value;
            *bytes = i;
        }
    }
    return longest;
}

/* Returns the value of the entry that equals the text, or BL_TRIE_NONE. */
static inline uint32_t bl_trie_find(const struct bl_trie *trie, const void *text, size_t size)
{
    uint32_t at = 0;
    for (size_t i = 0; i < size; i++) {
        uint32_t next = trie->node[at].base ^ ((const uint8_t *)text)[i];
        if (trie->node[next].parent != at)
            return BL_TRIE_NONE;
        at = next;
    }
    return trie->node[at].value;
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

/* An added token is a text that is one token wherever it occurs. The encoder searches for added tokens before it
 * splits the text into words.
 *
 * The search gives the matches of the package `tokenizers`: from left to right, the longest token at each position.
 * A plain token is a special token that the options treat as text. The search finds plain tokens, too, and skips
 * each one as text, so that no shorter token matches inside. */

struct bl_added_token {
    size_t offset, size; /* bytes; place of its text in bl_added.text */
    int32_t id;
    int32_t next;        /* index of the next token with the same first byte, longest first; -1: none */
    bool plain;          /* treated as text */
    bool lstrip, rstrip; /* a match includes the white space before it, after it */
    bool single_word;    /* matches only where no word character is adjacent */
};

struct bl_added {
    struct bl_buffer text;          /* texts of all tokens, one after the other */
    struct bl_added_token *token;   /* owned; in the order of bl_added_add */
    size_t count, capacity, wanted; /* wanted: tokens that are not plain */
    int32_t first[256];             /* index of the longest token with this first byte; -1: none */
    uint64_t begins[65536 / 64];    /* bit set of the first two bytes of all tokens */
};

/* A token in the text, at the bytes [start, stop), which include the white space of lstrip and rstrip. */
struct bl_added_match {
    size_t start, stop;
    int32_t id;
};

/* Makes an empty list, which bl_added_free releases. */
void bl_added_init(struct bl_added *added);
/* Adds a token with this text, which must not be empty and is copied. The function sets offset, size and next
 * itself. BL_EFAIL: the text was added before, or out of memory. */
int bl_added_add(struct bl_added *added, const char *text, size_t size, const struct bl_added_token *token,
                 struct bl_error *e);
/* Returns the id of the token with this text, or -1. The search is linear. */
int32_t bl_added_find(const struct bl_added *added, const char *text, size_t size);
/* Finds the next token at or after *at that is not plain, and advances *at past the token. Returns false if there is
 * none. taken is the stop of the last match, before which no match may begin. */
bool bl_added_next(const struct bl_added *added, const uint8_t *text, size_t size, size_t *at, size_t taken,
                   struct bl_added_match *match);
/* Returns the number of plain tokens in the text. */
int64_t bl_added_count_plain(const struct bl_added *added, const uint8_t *text, size_t size);
/* Returns the size in bytes of the longest token, plain or not, that begins the text, or 0. The text must not be
 * empty. */
size_t bl_added_size_at(const struct bl_added *added, const uint8_t *text, size_t size);
void bl_added_free(struct bl_added *added);

#endif
