/* Encodes words by byte-pair encoding (bpe.h): from the bytes of a word to its ids.
 *
 * The first section prepares a word: it appends the mark of the end and takes out unknown characters. The second
 * section merges, in one of three ways with the same result:
 *
 *     word_merge_short    words up to 32 bytes: a bit mask and a linear search for the best pair
 *     word_merge_ordered  longer words of ordered models: a search for the longest tokens in a trie
 *     word_merge_long     all other words, and merges of equal priority: a heap of pairs, n log n for n bytes */
#include "kind/text/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

/* --- words -------------------------------------------------------------------------------------------------------- */

/* This section finds the parts of a word that are merged: with the mark of its end, without unknown characters, and
 * cut where no merge joins two bytes. */

/* Appends the ids of the known characters in scratch->word, and empties this buffer. BL_EFAIL: out of memory, or the
 * limit of ids. */
static int known_merge(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, struct bl_ids *ids, struct bl_error *e)
{
    if (bl_buffer_check(&scratch->word, e))
        return BL_EFAIL;
    struct bl_buffer *known = &scratch->word;
    int code = known->size ? bl_bpe_merge(bpe, scratch, (const uint8_t *)known->data, known->size, ids, e) : BL_OK;
    bl_buffer_clear(known);
    return code;
}

/* Encodes a word that may have unknown characters: each has the unknown id, or a run of them has it once (fused).
 * Without an unknown id they are left out, and the known characters around them may merge. */
static int unknown_encode(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const char *word, size_t size,
                          struct bl_ids *ids, struct bl_error *e)
{
    bool before = false; /* the character before this one is unknown */
    int code = BL_OK;
    bl_buffer_clear(&scratch->word);
    for (size_t at = 0, bytes; at < size && !code; at += bytes) {
        uint32_t point;
        bytes = bl_utf8_decode(word + at, &point);
        bool last = bpe->suffixed && at + bytes == size;
        const uint64_t *known = last ? bpe->known_last : bpe->known;
        if (known[point / 64] >> point % 64 & 1) {
            bl_buffer_append(&scratch->word, word + at, bytes);
            if (last)
                bl_buffer_byte(&scratch->word, (char)BL_WORD_END);
            before = false;
        } else if (bpe->unknown >= 0) {
            code = known_merge(bpe, scratch, ids, e);
            if (!code && !(before && bpe->fused))
                code = bl_ids_add(ids, bpe->unknown, e);
            before = true;
        }
    }
    return code ? code : known_merge(bpe, scratch, ids, e);
}

int bl_bpe_encode(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                  struct bl_ids *ids, struct bl_error *e)
{
    /* The model takes a whole word for a token before it merges (bl_bpe_from_merges: direct). */
    int64_t stray = bpe->strays.count ? bl_vocabulary_find(&bpe->strays, word, size) : -1;
    if (stray >= 0)
        return bl_ids_add(ids, bpe->strays.token[stray].id, e);
    if (bpe->known)
        return unknown_encode(bpe, scratch, (const char *)word, size, ids, e);
    if (!bpe->suffixed)
        return bl_bpe_merge(bpe, scratch, word, size, ids, e);
    bl_buffer_clear(&scratch->word);
    bl_buffer_append(&scratch->word, word, size);
    bl_buffer_byte(&scratch->word, (char)BL_WORD_END);
    return known_merge(bpe, scratch, ids, e);
}

/* Splitting would change three results: a stray is a whole word; the mark of the end follows the last byte only; and
 * the characters before and after a left-out or fused unknown character depend on each other. */
bool bl_bpe_can_split(const struct bl_bpe *bpe)
{
    return !bpe->strays.count && !bpe->suffixed && !(bpe->known && (bpe->fused || bpe->unknown < 0));
}

size_t bl_bpe_split(const struct bl_bpe *bpe, const uint8_t *text, size_t size, size_t *at, size_t *end, size_t max)
{
    size_t n = 0, i = *at + 1;
    for (; i < size && n < max; i++) {
        /* first * 256 + second, as a word of 64 bits and a bit in it. */
        if (!(bpe->joined[text[i - 1] * 4U + text[i] / 64U] >> text[i] % 64 & 1))
            end[n++] = i;
    }
    if (i >= size && n < max)
        end[n++] = size;
    *at = end[n - 1];
    return n;
}

/* --- merging ------------------------------------------------------------------------------------------------------ */

#define SHORT 256 /* bytes; the arrays for words up to this size are on the stack: 1 KiB of symbols */
#define FEW 32    /* bytes; words up to this size are merged step by step (bpe.h); the bits of a mask */

/* Appends the ids of a symbol without an id: the first bytes of a character. Such a symbol is a chain of merges with
 * single bytes on the right (bpe_characters.c), so the loop collects the bytes from the last to the first. */
static void part_put(const struct bl_bpe *bpe, uint32_t symbol, struct bl_ids *ids)
{
    uint32_t byte[BL_UTF8_MAX];
    size_t bytes = 0;
    for (; symbol >= 256 && bytes < BL_UTF8_MAX; symbol = bpe->symbol[symbol].left)
        byte[bytes++] = bpe->symbol[symbol].right;
    ids->id[ids->count++] = bpe->id[symbol];
    while (bytes)
        ids->id[ids->count++] = bpe->id[byte[--bytes]];
}

/* Appends the id of a symbol, or the ids of its bytes if it has none. ids has room for an id for each byte of the
 * word. */
static inline void symbol_put(const struct bl_bpe *bpe, uint32_t symbol, struct bl_ids *ids)
{
    if (bpe->id[symbol] >= 0)
        ids->id[ids->count++] = bpe->id[symbol];
    else
        part_put(bpe, symbol, ids);
}

/* Encodes a word of any size by the trie; bpe->ordered must be true. It tries the longest token at each byte, then
 * shorter ones, and goes back one token where none continues. A word has exactly one sequence of tokens in which any
 * two neighbours do not change when their bytes are merged together (bpe.h), so the search succeeds. Each byte is
 * closed at most once, so the time is nearly linear. The scratch memory has the bit set in front and the symbols, two
 * for each uint64_t, behind. BL_EFAIL: out of memory, or the limit of ids. */
static int word_merge_ordered(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word,
                              size_t size, struct bl_ids *ids, struct bl_error *e)
{
    uint32_t few_symbols[SHORT];
    uint64_t few_closed[SHORT / 64 + 1] = {0};
    /* The tokens found so far, from the left of the word. Bit i of closed is set if no token continues from byte i: no
     * other way to this byte has to be tried again. */
    uint32_t *symbol = few_symbols;
    uint64_t *closed = few_closed;
    size_t count = 0, at = 0, bytes;
    if (size > SHORT) {
        size_t places = size / 64 + 1;
        BL_TRY(BL_ARRAY_RESERVE(scratch->memory, scratch->capacity, places + (size + 1) / 2, e));
        closed = scratch->memory;
        symbol = (uint32_t *)(closed + places);
        memset(closed, 0, places * sizeof *closed);
    }
    uint32_t next = bl_trie_longest(&bpe->trie, word, size, &bytes);
    while (at < size) {
        bool is_closed = closed[(at + bytes) / 64] >> (at + bytes) % 64 & 1;
        if (!is_closed && (!at || (bl_bpe_pair_find(bpe, symbol[count - 1], next) == BL_SYMBOL_NONE &&
                                   bl_bpe_pair_holds(bpe, symbol[count - 1], next)))) {
            symbol[count++] = next;
            at += bytes;
            next = bl_trie_longest(&bpe->trie, word + at, size - at, &bytes);
        } else if (bpe->symbol[next].shorter != BL_SYMBOL_NONE) {
            next = bpe->symbol[next].shorter;
            bytes = bpe->symbol[next].size;
        } else {
            closed[at / 64] |= (uint64_t)1 << at % 64;
            next = symbol[--count];
            bytes = bpe->symbol[next].size;
            at -= bytes;
        }
    }
    BL_TRY(bl_ids_reserve(ids, size, e));
    for (size_t i = 0; i < count; i++)
        symbol_put(bpe, symbol[i], ids);
    return BL_OK;
}

/* Returns the index in pair[0, size) of the merge with the highest priority, the lowest symbol; of equal ones the
 * leftmost. The index in the lower half of each item breaks ties, and the loop has no branches, so that the compiler
 * uses vectors. */
static inline unsigned pairs_min(const uint32_t *pair, size_t size)
{
    uint64_t min = UINT64_MAX;
    for (size_t i = 0; i < size; i++) {
        uint64_t item = (uint64_t)pair[i] << 32 | i;
        min = item < min ? item : min;
    }
    return (unsigned)min;
}

/* Encodes a word of up to FEW bytes by merging step by step. Bit i of there is set if a symbol begins at byte i;
 * pair[i] is what this symbol and the next one merge to. A merge keeps the left symbol's place and clears the bit of
 * the right one. */
static int word_merge_short(const struct bl_bpe *bpe, const uint8_t *word, size_t size, struct bl_ids *ids,
                            struct bl_error *e)
{
    uint32_t symbol[FEW], pair[FEW];
    uint32_t there = size < 32 ? (1u << size) - 1 : UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        symbol[i] = word[i];
        pair[i] = i + 1 < size ? bpe->byte_pair[word[i] << 8 | word[i + 1]] : BL_SYMBOL_NONE;
    }
    for (;;) {
        unsigned at = pairs_min(pair, size);
        if (pair[at] == BL_SYMBOL_NONE)
            break;
        uint32_t before = there & ((1u << at) - 1), after = there & ~(((2u << at) - 1));
        unsigned gone = (unsigned)__builtin_ctz(after);
        there &= ~(1u << gone);
        after &= ~(1u << gone);
        symbol[at] = pair[at];
        pair[gone] = BL_SYMBOL_NONE;
        pair[at] = after ? bl_bpe_pair_find(bpe, symbol[at], symbol[__builtin_ctz(after)]) : BL_SYMBOL_NONE;
        if (before) {
            unsigned left = 31 - (unsigned)__builtin_clz(before);
            pair[left] = bl_bpe_pair_find(bpe, symbol[left], symbol[at]);
        }
    }
    BL_TRY(bl_ids_reserve(ids, size, e));
    for (; there; there &= there - 1)
        symbol_put(bpe, symbol[__builtin_ctz(there)], ids);
    return BL_OK;
}

/* A symbol of a word of any size, in a doubly linked list. The pairs are in a heap, by priority and then by
 * position. A merge changes the pairs around it and leaves their old items in the heap: an item whose priority
 * differs from its pair's is outdated. */
struct part {
    uint32_t symbol, pair; /* pair: what symbol and the next one merge to, or BL_SYMBOL_NONE */
    uint32_t next, before; /* positions of neighbours, in bytes of the word; next is its size at the end */
};

struct heap {
    uint64_t *item; /* priority << 32 | position; the least first */
    size_t count;
};

#define WAYS 4 /* children of a node: a heap of half the depth of a binary one, four items in 32 bytes */

static void heap_push(struct heap *heap, uint64_t item)
{
    size_t at = heap->count++;
    while (at && heap->item[(at - 1) / WAYS] > item) {
        heap->item[at] = heap->item[(at - 1) / WAYS];
        at = (at - 1) / WAYS;
    }
    heap->item[at] = item;
}

/* Removes the least item. The last item takes its place, and sinks below the items that are less. */
static uint64_t heap_pop(struct heap *heap)
{
    uint64_t first = heap->item[0], last = heap->item[--heap->count];
    size_t at = 0;
    for (size_t child; (child = at * WAYS + 1) < heap->count;) {
        size_t min = child, end = child + WAYS < heap->count ? child + WAYS : heap->count;
        for (size_t i = child + 1; i < end; i++)
            min = heap->item[i] < heap->item[min] ? i : min;
        if (heap->item[min] >= last)
            break;
        heap->item[at] = heap->item[min];
        at = min;
    }
    heap->item[at] = last;
    return first;
}

/* Returns the priority of a merge by the symbol that it makes; lower is first. */
static inline uint32_t symbol_rank(const struct bl_bpe *bpe, uint32_t symbol)
{
    return bpe->rank ? bpe->rank[symbol] : symbol;
}

/* Sets the pair of the part at a position, and pushes it to the heap if it merges. n is the size of the word. */
static void part_set_pair(const struct bl_bpe *bpe, struct part *part, uint32_t at, uint32_t n, struct heap *heap)
{
    uint32_t next = part[at].next;
    part[at].pair = next < n ? bl_bpe_pair_find(bpe, part[at].symbol, part[next].symbol) : BL_SYMBOL_NONE;
    if (part[at].pair != BL_SYMBOL_NONE)
        heap_push(heap, (uint64_t)symbol_rank(bpe, part[at].pair) << 32 | at);
}

/* Encodes a word of any size. Its memory is 32 bytes for each byte of the word: 2 items of the heap and a part.
 * BL_EFAIL: out of memory, a word of 4 GiB or more, or the limit of ids. */
static int word_merge_long(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                           struct bl_ids *ids, struct bl_error *e)
{
    if (size >= UINT32_MAX)
        return bl_error_set(e, BL_EFAIL, "a word of %zu bytes", size);
    /* A merge pops one pair and pushes at most two; there are at most n - 1 merges, and n - 1 pairs at first. */
    BL_TRY(BL_ARRAY_RESERVE(scratch->memory, scratch->capacity, 4 * size, e));
    uint32_t n = (uint32_t)size;
    struct part *part = (struct part *)(scratch->memory + 2 * size);
    struct heap heap = {.item = scratch->memory};
    for (uint32_t i = 0; i < n; i++)
        part[i] = (struct part){word[i], BL_SYMBOL_NONE, i + 1, i - 1};
    for (uint32_t i = 0; i < n; i++)
        part_set_pair(bpe, part, i, n, &heap);
    while (heap.count) {
        uint64_t item = heap_pop(&heap);
        uint32_t at = (uint32_t)item;
        if (part[at].pair == BL_SYMBOL_NONE || symbol_rank(bpe, part[at].pair) != (uint32_t)(item >> 32))
            continue; /* outdated */
        uint32_t gone = part[at].next;
        part[gone].pair = BL_SYMBOL_NONE;
        part[at].symbol = part[at].pair;
        part[at].next = part[gone].next;
        if (part[at].next < n)
            part[part[at].next].before = at;
        part_set_pair(bpe, part, at, n, &heap);
        if (at)
            part_set_pair(bpe, part, part[at].before, n, &heap);
    }
    int code = bl_ids_reserve(ids, size, e);
    for (uint32_t i = 0; i < n && !code; i = part[i].next)
        symbol_put(bpe, part[i].symbol, ids);
    return code;
}

int bl_bpe_merge(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                 struct bl_ids *ids, struct bl_error *e)
{
    /* Only the heap distinguishes the priority of a merge from its symbol. */
    if (bpe->rank)
        return word_merge_long(bpe, scratch, word, size, ids, e);
    if (size <= FEW)
        return word_merge_short(bpe, word, size, ids, e);
    if (bpe->ordered)
        return word_merge_ordered(bpe, scratch, word, size, ids, e);
    return word_merge_long(bpe, scratch, word, size, ids, e);
}

void bl_bpe_scratch_free(struct bl_bpe_scratch *scratch)
{
    free(scratch->memory);
    bl_buffer_free(&scratch->word);
    *scratch = (struct bl_bpe_scratch){0};
}
