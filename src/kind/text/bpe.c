#include "kind/text/bpe.h"

#include <stdlib.h>
#include <string.h>

#define SHORT 96 /* bytes: up to here the next pair is found by looking at all of them */

/* What two symbols become, or BL_SYMBOL_NONE. */
static inline uint32_t pair_symbol(const struct bl_bpe *bpe, uint64_t left, uint64_t right)
{
    uint64_t key = left << BL_SYMBOL_BITS | right;
    size_t mask = ((size_t)1 << (64 - bpe->shift)) - 1;
    for (size_t at = (size_t)(key * BL_PAIR_FACTOR >> bpe->shift);; at = (at + 1) & mask) {
        uint64_t slot = bpe->pair[at];
        if (slot >> BL_SYMBOL_BITS == key)
            return (uint32_t)slot & ((1u << BL_SYMBOL_BITS) - 1);
        if (slot == UINT64_MAX)
            return BL_SYMBOL_NONE;
    }
}

static int merge_short(const struct bl_bpe *bpe, const uint8_t *word, size_t n, struct bl_ids *ids, struct bl_error *e)
{
    uint32_t part[SHORT + 1], pair[SHORT + 1];
    for (size_t i = 0; i < n; i++) {
        part[i] = word[i];
        pair[i] = i + 1 < n ? bpe->two_bytes[word[i] << 8 | word[i + 1]] : BL_SYMBOL_NONE;
    }
    for (;;) {
        uint32_t best = BL_SYMBOL_NONE;
        size_t first = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            first = pair[i] < best ? i : first;
            best = pair[i] < best ? pair[i] : best;
        }
        if (best == BL_SYMBOL_NONE)
            break;
        n--;
        part[first] = best;
        for (size_t i = first + 1; i < n; i++) {
            part[i] = part[i + 1];
            pair[i] = pair[i + 1];
        }
        pair[first] = first + 1 < n ? pair_symbol(bpe, best, part[first + 1]) : BL_SYMBOL_NONE;
        if (first)
            pair[first - 1] = pair_symbol(bpe, part[first - 1], best);
    }
    int code = bl_ids_reserve(ids, n, e);
    for (size_t i = 0; i < n && !code; i++)
        ids->id[ids->count++] = bpe->id[part[i]];
    return code;
}

/* Long words: parts are a list, and pairs wait in a heap by symbol, then place. A pair that changed meanwhile is known
 * by its symbol when its turn comes. */
struct part {
    uint32_t symbol, pair; /* pair: with the next one */
    uint32_t next, before;
};

struct heap {
    uint64_t *item; /* symbol, then place */
    size_t count;
};

#define WAYS 4

static void sift_down(struct heap *heap, size_t at, uint64_t item)
{
    for (;;) {
        size_t child = at * WAYS + 1, least = child;
        if (child >= heap->count)
            break;
        size_t end = child + WAYS < heap->count ? child + WAYS : heap->count;
        for (size_t i = child + 1; i < end; i++)
            least = heap->item[i] < heap->item[least] ? i : least;
        if (heap->item[least] >= item)
            break;
        heap->item[at] = heap->item[least];
        at = least;
    }
    heap->item[at] = item;
}

static void push(struct heap *heap, uint64_t item)
{
    size_t at = heap->count++;
    while (at && heap->item[(at - 1) / WAYS] > item) {
        heap->item[at] = heap->item[(at - 1) / WAYS];
        at = (at - 1) / WAYS;
    }
    heap->item[at] = item;
}

static uint64_t pop(struct heap *heap)
{
    uint64_t first = heap->item[0];
    if (--heap->count)
        sift_down(heap, 0, heap->item[heap->count]);
    return first;
}

static void set_pair(const struct bl_bpe *bpe, struct part *part, uint32_t at, uint32_t n, struct heap *heap)
{
    uint32_t next = part[at].next;
    part[at].pair = next < n ? pair_symbol(bpe, part[at].symbol, part[next].symbol) : BL_SYMBOL_NONE;
    if (part[at].pair != BL_SYMBOL_NONE)
        push(heap, (uint64_t)part[at].pair << 32 | at);
}

static void merge_list(const struct bl_bpe *bpe, struct part *part, uint32_t n, struct heap *heap)
{
    while (heap->count) {
        uint64_t item = pop(heap);
        uint32_t at = (uint32_t)item;
        if (part[at].pair != (uint32_t)(item >> 32))
            continue;
        uint32_t gone = part[at].next;
        part[gone].pair = BL_SYMBOL_NONE;
        part[at].symbol = part[at].pair;
        part[at].next = part[gone].next;
        if (part[at].next < n)
            part[part[at].next].before = at;
        set_pair(bpe, part, at, n, heap);
        if (at)
            set_pair(bpe, part, part[at].before, n, heap);
    }
}

static int merge_long(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                      struct bl_ids *ids, struct bl_error *e)
{
    /* A merge takes one pair off the heap and puts two onto it at most: n - 1 merges, n - 1 pairs at first. */
    size_t bytes = size * (sizeof(struct part) + 2 * sizeof(uint64_t));
    if (size >= UINT32_MAX)
        return bl_error_set(e, BL_EFAIL, "a word of %zu bytes", size);
    if (bytes > scratch->size) {
        void *memory = realloc(scratch->memory, bytes);
        if (!memory)
            return bl_error_memory(e);
        scratch->memory = memory;
        scratch->size = bytes;
    }
    uint32_t n = (uint32_t)size;
    struct part *part = scratch->memory;
    struct heap heap = {.item = (uint64_t *)(part + n)};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t pair = i + 1 < n ? bpe->two_bytes[word[i] << 8 | word[i + 1]] : BL_SYMBOL_NONE;
        part[i] = (struct part){word[i], pair, i + 1, i - 1};
        if (pair != BL_SYMBOL_NONE)
            heap.item[heap.count++] = (uint64_t)pair << 32 | i;
    }
    for (size_t i = heap.count / WAYS + 1; i-- > 0;) {
        if (i < heap.count)
            sift_down(&heap, i, heap.item[i]);
    }
    merge_list(bpe, part, n, &heap);
    for (uint32_t i = 0; i < n; i = part[i].next) {
        int code = bl_ids_reserve(ids, 1, e);
        if (code)
            return code;
        ids->id[ids->count++] = bpe->id[part[i].symbol];
    }
    return BL_OK;
}

int bl_bpe_merge(const struct bl_bpe *bpe, struct bl_bpe_scratch *scratch, const uint8_t *word, size_t size,
                 struct bl_ids *ids, struct bl_error *e)
{
    return size <= SHORT ? merge_short(bpe, word, size, ids, e) : merge_long(bpe, scratch, word, size, ids, e);
}

void bl_bpe_scratch_free(struct bl_bpe_scratch *scratch)
{
    free(scratch->memory);
    *scratch = (struct bl_bpe_scratch){0};
}
