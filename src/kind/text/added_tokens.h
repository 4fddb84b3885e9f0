/* Searching a text for the longest of many tokens: a trie, which the models use, too, and the added tokens of a
 * tokenizer. */
#ifndef BL_ADDED_TOKENS_H
#define BL_ADDED_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* --- tries -------------------------------------------------------------------------------------------------------- */

/* The longest token that a text begins with: a trie in one array.
 *
 * The child of a node by a byte is at index base ^ byte, if the parent of the node there is this node. */

#define BL_TRIE_NONE UINT32_MAX

struct bl_trie_node {
    uint32_t base, parent; /* parent: BL_TRIE_NONE if the entry is free */
    uint32_t value;        /* of the text that ends here, or BL_TRIE_NONE */
};

struct bl_trie {
    struct bl_trie_node *node; /* the first is the root */
    size_t count;
};

/* A text and its value. */
struct bl_trie_entry {
    const uint8_t *bytes;
    uint32_t size, value;
    uint32_t shorter; /* set by bl_trie_build: value of the longest other entry it begins with, or BL_TRIE_NONE */
};

/* Builds the trie and sorts the caller's entries. Their texts must be distinct and not empty. */
int bl_trie_build(struct bl_trie *trie, struct bl_trie_entry *entries, size_t count, struct bl_error *e);
void bl_trie_free(struct bl_trie *trie);

/* The value of the longest entry that text begins with; *bytes: its size. BL_TRIE_NONE: there is none. */
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

/* The value of the entry that is just this text, or BL_TRIE_NONE. */
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

/* Added tokens: texts that are tokens wherever they occur. They are looked for before the text is split into words.
 *
 * The search is that of `tokenizers`: from left to right, the longest token at each position. A plain token (a special
 * one that is to be treated as text) is found as well, and skipped as text. */

struct bl_added_token {
    size_t offset, size; /* of its text */
    int32_t id;
    int32_t next;        /* token with the same first byte, longest first; -1: none */
    bool plain;          /* treated as text */
    bool lstrip, rstrip; /* includes the white space before, after it */
    bool single_word;    /* only where no word character is before or after it */
};

struct bl_added {
    struct bl_buffer text;
    struct bl_added_token *token;
    size_t count, capacity, wanted; /* wanted: number of those that are not plain */
    int32_t first[256];             /* by first byte */
    uint64_t begins[65536 / 64];    /* bit set of the first two bytes of all of them */
};

/* A token found in the text, and where: [start, stop). */
struct bl_added_match {
    size_t start, stop;
    int32_t id;
};

void bl_added_init(struct bl_added *added);
/* Adds a token with this text, which is not empty. BL_EFAIL: it was added before, or out of memory. */
int bl_added_add(struct bl_added *added, const char *text, size_t size, const struct bl_added_token *token,
                 struct bl_error *e);
/* The id of the token with this text, or -1. */
int32_t bl_added_find(const struct bl_added *added, const char *text, size_t size);
/* Finds the next token at or after *at, and advances *at; false: there is none. taken: where the last match ended. */
bool bl_added_next(const struct bl_added *added, const uint8_t *text, size_t size, size_t *at, size_t taken,
                   struct bl_added_match *match);
/* The number of plain tokens in the text. */
int64_t bl_added_count_plain(const struct bl_added *added, const uint8_t *text, size_t size);
/* The size of the longest token that text begins with, or 0. */
size_t bl_added_size_at(const struct bl_added *added, const uint8_t *text, size_t size);
void bl_added_free(struct bl_added *added);

#endif
