#include "plan/loads.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sort.h"

#define WEIGHT (INT64_C(1) << 33) /* of a whole block: sums over all blocks fit */

/* Sets the next piece. Its amounts lie side by side: those of the sequences are scattered. */
static void loads_add_piece(struct bl_loads *l, uint32_t id)
{
    uint32_t *amount = l->amount + l->pieces * (size_t)l->kinds;
    l->id[l->pieces++] = id;
    *amount++ = (uint32_t)bl_lengths_units_of(l->lengths, id);
    for (int c = 0; c < l->needs->count; c++)
        *amount++ = (uint32_t)l->needs->each[c].of[id];
    if (l->kinds > 1 + l->needs->count)
        *amount = 1;
}

void bl_loads_add(struct bl_loads *l, struct bl_load_block *b, uint32_t piece)
{
    l->next[piece] = b->head;
    b->head = piece;
    b->size++;
    for (int k = 0; k < l->kinds; k++)
        b->load.of[k] += bl_loads_piece(l, piece, k);
}

void bl_loads_remove(struct bl_loads *l, struct bl_load_block *b, uint32_t piece)
{
    uint32_t *link = &b->head;
    while (*link != piece)
        link = &l->next[*link];
    *link = l->next[piece];
    b->size--;
    for (int k = 0; k < l->kinds; k++)
        b->load.of[k] -= bl_loads_piece(l, piece, k);
}

int bl_loads_open(struct bl_loads *l, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(l->block, l->capacity, l->blocks + 1, e);
    if (!code)
        l->block[l->blocks++] = (struct bl_load_block){.head = BL_LOADS_NONE};
    return code;
}

int bl_loads_make(struct bl_loads *l, const struct bl_draft *d, size_t first, const struct bl_lengths *lengths,
                  const struct bl_needs *needs, const struct bl_limits *limits, struct bl_error *e)
{
    size_t pieces = lengths->count + 1;
    *l = (struct bl_loads){.lengths = lengths,
                           .needs = needs,
                           .kinds = 1 + needs->count + (limits->sequences < BL_SEQUENCES_MAX),
                           .most = {{limits->T}},
                           .id = malloc(pieces * sizeof *l->id),
                           .next = malloc(pieces * sizeof *l->next)};
    l->amount = malloc(pieces * (size_t)l->kinds * sizeof *l->amount);
    int code = l->id && l->next && l->amount ? BL_OK : bl_error_memory(e);
    for (int c = 0; c < needs->count; c++)
        l->most.of[1 + c] = needs->each[c].most;
    if (l->kinds > 1 + needs->count)
        l->most.of[1 + needs->count] = limits->sequences;
    for (int k = 0; k < l->kinds; k++)
        l->weight.of[k] = WEIGHT / l->most.of[k];
    for (size_t b = first; !code && b < d->blocks; b++) {
        code = bl_loads_open(l, e);
        for (uint32_t p = d->first[b]; !code && p < d->first[b + 1]; p++) {
            loads_add_piece(l, d->sequence[p]);
            bl_loads_add(l, &l->block[l->blocks - 1], (uint32_t)l->pieces - 1);
        }
    }
    return code;
}

void bl_loads_leave(struct bl_loads *l, uint32_t id)
{
    loads_add_piece(l, id);
    l->unplaced++;
}

void bl_loads_free(struct bl_loads *l)
{
    free(l->id);
    free(l->next);
    free(l->amount);
    free(l->block);
    l->id = l->next = l->amount = NULL;
    l->block = NULL;
}

/* Returns 32 bits of a hash of what a piece has. */
static uint64_t piece_hash(const struct bl_loads *l, uint32_t piece)
{
    uint64_t hash = 0;
    for (int k = 0; k < l->kinds; k++)
        hash = (hash ^ (uint64_t)bl_loads_piece(l, piece, k)) * UINT64_C(0x9e3779b97f4a7c15);
    return hash >> 32;
}

static bool pieces_are_equal(const struct bl_loads *l, uint32_t a, uint32_t b)
{
    const uint32_t *amount = l->amount;
    return memcmp(amount + a * (size_t)l->kinds, amount + b * (size_t)l->kinds, (size_t)l->kinds * sizeof *amount) == 0;
}

int bl_loads_shuffle_equal(struct bl_loads *l, struct bl_error *e)
{
    uint64_t *word = malloc((l->pieces + 1) * sizeof *word);
    if (!word)
        return bl_error_memory(e);
    for (uint32_t p = 0; p < l->pieces; p++)
        word[p] = piece_hash(l, p) << 32 | p;
    bl_sort_u64(word, l->pieces, 32);
    for (size_t i = 0, end = 0; i < l->pieces; i++) {
        while (end < l->pieces && word[end] >> 32 == word[i] >> 32)
            end++;
        uint32_t p = (uint32_t)word[i], q = (uint32_t)word[i + bl_random_below(&l->random, end - i)];
        uint32_t id = l->id[p];
        if (!pieces_are_equal(l, p, q)) /* of the same hash only */
            continue;
        l->id[p] = l->id[q];
        l->id[q] = id;
    }
    free(word);
    return BL_OK;
}

int bl_loads_write(const struct bl_loads *l, struct bl_draft *d, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t b = 0; !code && b < l->blocks; b++) {
        uint32_t *to = d->sequence + d->pieces;
        for (uint32_t p = l->block[b].head; p != BL_LOADS_NONE; p = l->next[p])
            *to++ = l->id[p];
        code = bl_draft_close(d, l->block[b].size, e);
    }
    return code;
}

int64_t bl_loads_excess(const struct bl_loads *l, const struct bl_load *load, int64_t limit)
{
    int64_t excess = 0;
    for (int k = 0; k < l->kinds && excess < limit; k++) {
        int64_t over = load->of[k] - l->most.of[k];
        excess += over > 0 ? over * l->weight.of[k] : 0;
    }
    return excess;
}

int64_t bl_loads_fullness(const struct bl_loads *l, const struct bl_load *load)
{
    int64_t sum = 0;
    for (int k = 0; k < l->kinds; k++)
        sum += load->of[k] * l->weight.of[k] / l->kinds;
    return sum;
}
