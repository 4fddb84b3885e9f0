#include "plan/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

static size_t blocks_round_up(size_t blocks, size_t multiple, size_t min_blocks)
{
    size_t wanted = blocks > min_blocks ? blocks : min_blocks;
    return (wanted + multiple - 1) / multiple * multiple;
}

size_t bl_wanted_blocks(const struct bl_wanted *w, size_t fewest, size_t pieces)
{
    size_t spared = (size_t)((double)fewest * (1 + w->spare)) / w->multiple * w->multiple;
    size_t least = blocks_round_up(fewest, w->multiple, w->least), blocks = spared > least ? spared : least;
    return blocks <= pieces ? blocks : fewest;
}

static size_t draft_max_size(const struct bl_draft *d, size_t first)
{
    size_t size = 0;
    for (size_t b = first; b < d->blocks; b++)
        if (bl_draft_size(d, b) > size)
            size = bl_draft_size(d, b);
    return size;
}

/* Splits up to `more` blocks of `size` pieces, from the last block to `begin`, so that the table grows in place. */
static void draft_split_blocks(struct bl_draft *d, size_t begin, size_t size, size_t more)
{
    size_t alike = 0;
    for (size_t b = begin; b < d->blocks; b++)
        alike += bl_draft_size(d, b) == size;
    size_t grow = alike < more ? alike : more, to = d->blocks + grow;
    uint32_t end = d->first[d->blocks];
    d->first[to] = end;
    for (size_t b = d->blocks; b-- > begin;) {
        uint32_t first = d->first[b];
        if (end - first == size && to - b > 1) {
            d->first[--to] = first + (end - first + 1) / 2;
        }
        d->first[--to] = end = first;
    }
    d->blocks += grow;
    d->is_shuffled = 0; /* the two halves are neighbours now */
}

int bl_ranks_split(struct bl_draft *d, size_t first, size_t blocks, struct bl_error *e)
{
    if (blocks <= d->blocks)
        return BL_OK;
    int code = bl_draft_reserve(d, blocks - d->blocks, e);
    while (!code && d->blocks < blocks)
        draft_split_blocks(d, first, draft_max_size(d, first), blocks - d->blocks);
    return code;
}

int bl_ranks_spread(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e)
{
    size_t wanted = blocks_round_up(d->blocks, multiple, min_blocks);
    if (wanted > d->pieces)
        return bl_error_set(e, BL_EUSAGE, "%zu sequences cannot be spread over %zu blocks: --remainder pad or drop",
                            d->pieces, wanted);
    return bl_ranks_split(d, 0, wanted, e);
}

int bl_ranks_pad(struct bl_draft *d, size_t multiple, size_t min_blocks, struct bl_error *e)
{
    size_t wanted = blocks_round_up(d->blocks, multiple, min_blocks);
    int code = BL_OK;
    while (!code && d->blocks < wanted)
        code = bl_draft_close(d, 0, e);
    return code;
}

static int64_t draft_sum_steps(const struct bl_draft *d, const int64_t *length, size_t begin, size_t end)
{
    int64_t steps = 0;
    for (size_t p = begin; p < end; p++)
        steps += length[d->sequence[p]];
    return steps;
}

/* Removes the blocks with fewer steps than `limit`, and `ties` of those with exactly that many. */
static void draft_remove_blocks(struct bl_draft *d, const int64_t *length, int64_t limit, size_t ties)
{
    size_t blocks = 0, to = 0, begin = d->first[0];
    for (size_t b = 0; b < d->blocks; b++) {
        size_t end = d->first[b + 1], size = end - begin;
        int64_t steps = draft_sum_steps(d, length, begin, end);
        if (steps < limit || (steps == limit && ties > 0)) {
            ties -= steps == limit;
        } else {
            memmove(d->sequence + to, d->sequence + begin, size * sizeof *d->sequence);
            to += size;
            d->first[++blocks] = (uint32_t)to;
        }
        begin = end;
    }
    d->blocks = blocks;
    d->pieces = to;
}

int bl_ranks_drop(struct bl_draft *d, size_t multiple, const int64_t *length, struct bl_error *e)
{
    size_t excess = d->blocks % multiple;
    if (excess == d->blocks)
        return bl_error_set(e, BL_EUSAGE, "%zu blocks are fewer than the %zu of one step of all ranks: nothing is left",
                            d->blocks, multiple);
    if (excess == 0)
        return BL_OK;
    uint64_t *steps = malloc(d->blocks * sizeof *steps);
    if (!steps)
        return bl_error_memory(e);
    for (size_t b = 0; b < d->blocks; b++)
        steps[b] = (uint64_t)draft_sum_steps(d, length, d->first[b], d->first[b + 1]);
    bl_sort_u64(steps, d->blocks, 0);
    size_t lower = 0;
    while (steps[lower] < steps[excess - 1])
        lower++;
    int64_t limit = (int64_t)steps[excess - 1];
    free(steps);
    draft_remove_blocks(d, length, limit, excess - lower);
    return BL_OK;
}
