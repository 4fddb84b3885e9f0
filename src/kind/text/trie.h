/* The longest token that a text begins with: a trie in one array.
 *
 * The child of a node by a byte is at index base ^ byte, if the parent of the node there is this node. */
#ifndef BL_TRIE_H
#define BL_TRIE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

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

/* Sorts the entries, whose texts are not empty and differ. */
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

#endif
