/* Builds the trie level by level, and searches for added tokens.
 *
 * The trie of a vocabulary of 200,000 tokens is built each time a tokenizer is opened, so the build avoids random
 * access to the texts: it sorts by numbers made of the first bytes, and searches only a bounded number of places for
 * the children of a node. */
#include "kind/text/added_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sort.h"
#include "base/text.h"
#include "kind/text/huge_pages.h"
#include "kind/text/skip.h"
#include "kind/text/unicode.h"

/* --- tries -------------------------------------------------------------------------------------------------------- */

#define BLOCK 256  /* entries; base ^ byte stays within the 256 entries around base, so children lie in one block */
#define TRIES 32   /* free entries that are tried before the children of a node get a new block */
#define STEPS 4096 /* entries, free or not, that are looked at: a bound of the time for one node */

/* The key of an entry has 64 bits: PREFIX bytes of its text above NUMBER_BITS of its index. */
#define PREFIX 5 /* bytes */
#define FEW 16   /* entries up to which insertion sort is faster than qsort */
#define NUMBER_BITS 24
#define NUMBER_MAX (((uint64_t)1 << NUMBER_BITS) - 1)

/* A node whose children are not in the trie yet, and the sorted entries [first, end) below this node, whose first
 * depth bytes are equal. */
struct branch {
    uint32_t node, first, end, longest; /* longest: value of the longest entry that begins all of them */
};

/* The branches of one level of the trie, in the order of their texts. The array has room for all entries. */
struct level {
    struct branch *branch;
    size_t count;
};

/* The state of a build: the branches of the level that is added next, and the room in the trie. */
struct build {
    struct bl_trie *trie;
    struct bl_trie_entry *entry;
    struct level next;
    uint32_t depth;  /* bytes from the root to the nodes whose children are added */
    size_t free;     /* no entry before this index is free */
    size_t capacity; /* entries of the trie's array */
};

/* Orders entries as memcmp orders their texts; a text comes before the longer texts that it begins. */
static int entry_compare(const void *a, const void *b)
{
    const struct bl_trie_entry *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* Sorts entries with the same first bytes. Most of these runs are short, and a call of qsort costs more than they
 * do. */
static void entries_sort_equal(struct bl_trie_entry *entry, size_t count)
{
    if (count > FEW)
        qsort(entry, count, sizeof *entry, entry_compare);
    for (size_t i = 1; i < count && count <= FEW; i++) {
        struct bl_trie_entry one = entry[i];
        size_t at = i;
        for (; at && entry_compare(&entry[at - 1], &one) > 0; at--)
            entry[at] = entry[at - 1];
        entry[at] = one;
    }
}

/* Sorts the entries by their texts. The radix sort of the keys does not read the texts again, which lie anywhere in
 * memory; only runs of equal keys are then compared by their texts. BL_EFAIL: out of memory, or more entries than
 * the key has numbers for. */
static int entries_sort(struct bl_trie_entry *entry, size_t count, struct bl_error *e)
{
    uint64_t *key = malloc((count + 1) * sizeof *key);
    struct bl_trie_entry *sorted = malloc((count + 1) * sizeof *sorted);
    int code = key && sorted ? BL_OK : bl_error_memory(e);
    if (!code && count > NUMBER_MAX)
        code = bl_error_set(e, BL_EFAIL, "too many tokens");
    if (code)
        goto out;
    /* The first PREFIX bytes of a text are a big-endian number, so that numbers have the order of the texts. A shorter
     * text is filled up with zeros: "ab" and "ab\0" have the same number, and entries_sort_equal orders these. */
    for (size_t i = 0; i < count; i++) {
        uint64_t prefix = 0;
        for (uint32_t byte = 0; byte < PREFIX; byte++)
            prefix = prefix << 8 | (byte < entry[i].size ? entry[i].bytes[byte] : 0);
        key[i] = prefix << NUMBER_BITS | i;
    }
    bl_sort_u64(key, count, NUMBER_BITS);
    for (size_t i = 0; i < count; i++)
        sorted[i] = entry[key[i] & NUMBER_MAX];
    for (size_t first = 0, i = 1; i <= count; i++) {
        if (i < count && key[i] >> NUMBER_BITS == key[first] >> NUMBER_BITS)
            continue;
        entries_sort_equal(sorted + first, i - first);
        first = i;
    }
    memcpy(entry, sorted, count * sizeof *entry);
out:
    free(key);
    free(sorted);
    return code;
}

/* Moves the trie to an array of this many entries. The array lies in huge pages, as searches access it at random;
 * entries beyond trie->count are not written, so the system gives no memory for them. */
static int build_reserve(struct build *build, size_t capacity, struct bl_error *e)
{
    struct bl_trie *trie = build->trie;
    struct bl_trie_node *node = bl_huge_pages_alloc(capacity * sizeof *node);
    if (!node)
        return bl_error_memory(e);
    if (trie->count)
        memcpy(node, trie->node, trie->count * sizeof *node);
    free(trie->node);
    trie->node = node;
    build->capacity = capacity;
    return BL_OK;
}

/* Appends a block of free entries. All ones is a free entry, since BL_TRIE_NONE is. BL_EFAIL: out of memory, or the
 * indices do not fit into 32 bits. */
static int build_add_block(struct build *build, struct bl_error *e)
{
    struct bl_trie *trie = build->trie;
    if (trie->count > UINT32_MAX - BLOCK)
        return bl_error_set(e, BL_EFAIL, "too many tokens");
    BL_TRY(trie->count + BLOCK > build->capacity ? build_reserve(build, 2 * build->capacity, e) : BL_OK);
    memset(trie->node + trie->count, 0xff, BLOCK * sizeof *trie->node);
    trie->count += BLOCK;
    return BL_OK;
}

/* Finds a base at which the entries of all these children are free, in a new block if a bounded search finds none.
 * The first child takes a free entry, which determines the base; the other children must fit, too. Without the two
 * bounds, the time would be quadratic where free entries are scattered. */
static int children_find_base(struct build *build, const uint8_t *bytes, size_t count, uint32_t *base,
                              struct bl_error *e)
{
    struct bl_trie *trie = build->trie;
    while (build->free < trie->count && trie->node[build->free].parent != BL_TRIE_NONE)
        build->free++;
    int tries = 0; /* free entries that did not fit */
    for (size_t at = build->free; at < trie->count && at - build->free < STEPS && tries < TRIES; at++) {
        if (trie->node[at].parent != BL_TRIE_NONE)
            continue;
        *base = (uint32_t)at ^ bytes[0];
        bool fits = true;
        for (size_t i = 0; i < count && fits; i++)
            fits = trie->node[*base ^ bytes[i]].parent == BL_TRIE_NONE;
        if (fits)
            return BL_OK;
        tries++;
    }
    *base = (uint32_t)trie->count;
    return build_add_block(build, e);
}

/* Adds the children of a node to the trie, and appends a branch for each of them to the next level. The entries of a
 * branch are sorted, so the entries of one child are adjacent, and the entry that ends at the child is the first of
 * them. */
static int build_add_children(struct build *build, struct branch branch, struct bl_error *e)
{
    uint8_t bytes[256];
    size_t count = 0;
    struct branch *child = &build->next.branch[build->next.count];
    for (uint32_t i = branch.first; i < branch.end; i++) {
        uint8_t byte = build->entry[i].bytes[build->depth];
        if (!count || bytes[count - 1] != byte) {
            child[count] = (struct branch){0, i, i, branch.longest};
            bytes[count++] = byte;
        }
        child[count - 1].end = i + 1;
    }
    uint32_t base;
    BL_TRY(children_find_base(build, bytes, count, &base, e));
    build->trie->node[branch.node].base = base;
    for (size_t i = 0; i < count; i++) {
        struct bl_trie_entry *first = &build->entry[child[i].first];
        child[i].node = base ^ bytes[i];
        build->trie->node[child[i].node] = (struct bl_trie_node){0, branch.node, BL_TRIE_NONE};
        if (first->size > build->depth + 1)
            continue;
        /* The text of this entry ends here, and begins all other entries of the child. */
        first->shorter = child[i].longest;
        build->trie->node[child[i].node].value = child[i].longest = first->value;
        child[i].first++;
    }
    build->next.count += count;
    return BL_OK;
}

/* Adds all nodes, level by level: the nodes near the root, which searches visit most often, are then close together
 * in memory. The two arrays of branches are exchanged after each level. */
int bl_trie_build(struct bl_trie *trie, struct bl_trie_entry *entries, size_t count, struct bl_error *e)
{
    /* There is at most one node for each byte of the texts: a first guess of the size, free entries not included. */
    size_t bytes = BLOCK;
    for (size_t i = 0; i < count; i++)
        bytes += entries[i].size;
    int code = entries_sort(entries, count, e);
    if (code)
        return code;
    /* No level has more nodes than there are entries. */
    struct level level = {.branch = malloc((count + 1) * sizeof *level.branch)};
    struct build build = {
        .trie = trie, .entry = entries, .next.branch = malloc((count + 1) * sizeof *build.next.branch)};
    code =
        level.branch && build.next.branch && bytes < UINT32_MAX ? build_reserve(&build, bytes, e) : bl_error_memory(e);
    if (!code)
        code = build_add_block(&build, e);
    if (code)
        goto out;
    trie->node[0] = (struct bl_trie_node){0, BL_TRIE_NONE - 1, BL_TRIE_NONE}; /* not free, and no child of a node */
    /* The root has all entries below it. A vocabulary may be empty. */
    if (count)
        level.branch[level.count++] = (struct branch){0, 0, (uint32_t)count, BL_TRIE_NONE};
    for (; level.count && !code; build.depth++) {
        build.next.count = 0;
        for (size_t i = 0; i < level.count && !code; i++) {
            /* A branch without entries is a leaf. */
            if (level.branch[i].first < level.branch[i].end)
                code = build_add_children(&build, level.branch[i], e);
        }
        struct level done = level;
        level = build.next;
        build.next = done;
    }
out:
    free(level.branch);
    free(build.next.branch);
    return code;
}

void bl_trie_free(struct bl_trie *trie)
{
    free(trie->node);
    *trie = (struct bl_trie){0};
}

/* --- added tokens ------------------------------------------------------------------------------------------------- */

void bl_added_init(struct bl_added *added)
{
    *added = (struct bl_added){0};
    memset(added->first, 0xff, sizeof added->first);
}

static bool added_has_prefix(const struct bl_added *added, unsigned first, unsigned second)
{
    unsigned two = first << 8 | second;
    return added->begins[two / 64] >> two % 64 & 1;
}

int bl_added_add(struct bl_added *added, const char *text, size_t size, const struct bl_added_token *token,
                 struct bl_error *e)
{
    if (bl_added_find(added, text, size) >= 0)
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is added twice", (int)(size < 100 ? size : 100), text);
    BL_TRY(BL_ARRAY_RESERVE(added->token, added->capacity, added->count + 1, e));
    struct bl_added_token *new = &added->token[added->count];
    *new = *token;
    new->offset = added->text.size;
    new->size = size;
    bl_buffer_append(&added->text, text, size);
    if (added->text.failed)
        return bl_error_memory(e);
    added->count++;
    added->wanted += !token->plain;
    /* The list of a first byte is sorted by size, so that the first token of the list that matches is the longest. */
    int32_t *link = &added->first[(uint8_t)text[0]];
    while (*link >= 0 && added->token[*link].size >= size)
        link = &added->token[*link].next;
    new->next = *link;
    *link = (int32_t)added->count - 1;
    /* The first two bytes go into the bit set of all tokens. Any byte may follow a token of one byte. */
    for (unsigned i = 0; i < 256; i++) {
        unsigned two = (unsigned)(uint8_t)text[0] << 8 | i;
        if (size == 1 || (uint8_t)text[1] == i)
            added->begins[two / 64] |= (uint64_t)1 << two % 64;
    }
    return BL_OK;
}

int32_t bl_added_find(const struct bl_added *added, const char *text, size_t size)
{
    for (size_t i = 0; i < added->count; i++) {
        const struct bl_added_token *token = &added->token[i];
        if (token->size == size && !memcmp(added->text.data + token->offset, text, size))
            return token->id;
    }
    return -1;
}

/* Returns the longest token, plain or not, that begins the text, or NULL. The text must not be empty. */
static const struct bl_added_token *added_longest(const struct bl_added *added, const uint8_t *text, size_t size)
{
    for (int32_t i = added->first[*text]; i >= 0; i = added->token[i].next) {
        const struct bl_added_token *token = &added->token[i];
        if (token->size <= size && !memcmp(added->text.data + token->offset, text, token->size))
            return token;
    }
    return NULL;
}

/* Returns true if the first character of the text (valid UTF-8) is a word character (BL_WORD of unicode.h). */
static bool is_word_character(const uint8_t *text)
{
    uint32_t point;
    bl_utf8_decode((const char *)text, &point);
    return bl_bert_class(point) & BL_WORD;
}

/* Returns true if no word character is adjacent to the bytes [start, stop) of the text. The character before start
 * is found by going back over the continuation bytes of UTF-8, 10xxxxxx. */
static bool is_whole_word(const uint8_t *text, size_t size, size_t start, size_t stop)
{
    size_t before = start;
    while (before && (text[--before] & 0xc0) == 0x80)
        ;
    return !(start && is_word_character(text + before)) && !(stop < size && is_word_character(text + stop));
}

bool bl_added_next(const struct bl_added *added, const uint8_t *text, size_t size, size_t *at, size_t taken,
                   struct bl_added_match *match)
{
    if (!added->wanted)
        return false;
    for (size_t p = *at; p < size; p++) {
        /* The bit set needs two bytes: the last byte of the text is always looked up. */
        if (!added_has_prefix(added, text[p], p + 1 < size ? text[p + 1] : 0) && p + 1 < size)
            continue;
        const struct bl_added_token *token = added_longest(added, text + p, size - p);
        if (!token)
            continue;
        *at = p + token->size;
        /* A token that does not count hides the shorter tokens in its text, as in `tokenizers`. */
        if (token->plain || (token->single_word && !is_whole_word(text, size, p, *at))) {
            p += token->size - 1;
            continue;
        }
        *match = (struct bl_added_match){p, p + token->size, token->id};
        if (token->lstrip) {
            size_t start = bl_character_trim(text, p);
            match->start = start > taken ? start : taken; /* matches do not overlap */
        }
        if (token->rstrip)
            match->stop += bl_character_space(text + match->stop, size - match->stop);
        /* The last match may have included the white space that this token consists of: the token is then no match. */
        if (token->lstrip && match->stop <= taken) {
            p += token->size - 1;
            continue;
        }
        return true;
    }
    return false;
}

int64_t bl_added_count_plain(const struct bl_added *added, const uint8_t *text, size_t size)
{
    int64_t count = 0;
    int byte = -1;
    bool differ = false;
    if (added->wanted == added->count)
        return 0;
    /* Where all plain tokens begin with the same byte, mostly '<', memchr finds the candidates. */
    for (size_t i = 0; i < added->count && !differ; i++) {
        int first = (uint8_t)added->text.data[added->token[i].offset];
        differ = added->token[i].plain && byte >= 0 && first != byte;
        byte = added->token[i].plain ? first : byte;
    }
    for (size_t p = 0; p < size; p++) {
        const uint8_t *found = differ ? text + p : memchr(text + p, byte, size - p);
        if (!found)
            break;
        p = (size_t)(found - text);
        if (!added_has_prefix(added, text[p], p + 1 < size ? text[p + 1] : 0) && p + 1 < size)
            continue;
        const struct bl_added_token *token = added_longest(added, text + p, size - p);
        count += token && token->plain;
        p += token ? token->size - 1 : 0;
    }
    return count;
}

size_t bl_added_size_at(const struct bl_added *added, const uint8_t *text, size_t size)
{
    const struct bl_added_token *token = added_longest(added, text, size);
    return token ? token->size : 0;
}

void bl_added_free(struct bl_added *added)
{
    bl_buffer_free(&added->text);
    free(added->token);
    bl_added_init(added);
}
