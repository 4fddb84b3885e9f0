#include "plan/swap.h"

#include <stdlib.h>

#include "base/sort.h"
#include "plan/random.h"

enum {
    PART_PIECES = 16384, /* sequences swap within parts of so many */
    ROUNDS = 4,          /* in which every parcel is offered a swap, before others are made */
    REACHES = 12,        /* of a swap in the order by length: up to 1, 2, 4, ... places */
};

struct swapper {
    const struct bl_lengths *lengths;
    int64_t T;
    uint32_t *sequence; /* [pieces] ids of the part, block by block */
    uint64_t *word;     /* [parcels] from the shortest to the longest: its units, and its place in `sequence` */
    size_t parcels;
    uint32_t width;                     /* sequences in a parcel */
    uint32_t *block;                    /* [pieces] by place */
    int64_t *room;                      /* free units by block */
    const struct bl_needs *needs;       /* or NULL */
    int64_t *left[BL_PLAN_COLUMNS_MAX]; /* what is left of the columns by block */
    struct bl_random random;
};

/* Returns how much more a parcel needs of a column than another, both given by their places. */
static int64_t swapper_compare_need(const struct swapper *s, const struct bl_need *need, uint32_t p, uint32_t q)
{
    int64_t more = 0;
    for (uint32_t i = 0; i < s->width; i++)
        more += need->of[s->sequence[p + i]] - need->of[s->sequence[q + i]];
    return more;
}

/* Whether two parcels can change places as far as the columns go; notes what that leaves, if so. */
static bool swapper_take_needs(struct swapper *s, uint32_t p, uint32_t q)
{
    int64_t more[BL_PLAN_COLUMNS_MAX];
    uint32_t own = s->block[p], other = s->block[q];
    for (int c = 0; c < s->needs->count; c++) {
        more[c] = swapper_compare_need(s, &s->needs->each[c], q, p);
        if (more[c] > s->left[c][own] || -more[c] > s->left[c][other])
            return false;
    }
    for (int c = 0; c < s->needs->count; c++) {
        s->left[c][own] -= more[c];
        s->left[c][other] += more[c];
    }
    return true;
}

/* Makes parcels of the sequences of a block, in random order: the last may be left alone. */
static void swapper_set_block(struct swapper *s, uint32_t block, uint32_t begin, uint32_t end)
{
    for (uint32_t p = begin; p < end; p++)
        __builtin_prefetch(&s->lengths->length[s->sequence[p]]);
    bl_random_shuffle_u32(&s->random, s->sequence + begin, end - begin);
    s->room[block] = s->T;
    for (int c = 0; s->needs && c < s->needs->count; c++) {
        const struct bl_need *need = &s->needs->each[c];
        s->left[c][block] = need->most;
        for (uint32_t p = begin; p < end; p++)
            s->left[c][block] -= need->of[s->sequence[p]];
    }
    for (uint32_t p = begin; p < end; p++) {
        int64_t units = bl_lengths_units_of(s->lengths, s->sequence[p]);
        uint32_t member = (p - begin) % s->width;
        s->room[block] -= units;
        s->block[p] = block;
        if (member == 0)
            s->word[s->parcels++] = (uint64_t)units << 32 | p;
        else
            s->word[s->parcels - 1] += (uint64_t)units << 32;
    }
    if ((end - begin) % s->width > 0)
        s->parcels--;
}

static void swapper_set(struct swapper *s, const uint32_t *first, size_t blocks, uint32_t width)
{
    s->width = width;
    s->parcels = 0;
    for (size_t b = 0; b < blocks; b++)
        swapper_set_block(s, (uint32_t)b, first[b] - first[0], first[b + 1] - first[0]);
    bl_sort_u64(s->word, s->parcels, 32);
}

/* Swaps two parcels, given by their rank in length, if both blocks have room. */
static void swapper_offer(struct swapper *s, size_t shorter, size_t longer)
{
    uint64_t *a = &s->word[shorter], *b = &s->word[longer];
    uint32_t p = (uint32_t)*a, q = (uint32_t)*b;
    int64_t more = (int64_t)(*b >> 32) - (int64_t)(*a >> 32);
    if (s->block[p] == s->block[q] || more > s->room[s->block[p]] || (s->needs && !swapper_take_needs(s, p, q)))
        return;
    s->room[s->block[p]] -= more;
    s->room[s->block[q]] += more;
    *a ^= p ^ q;
    *b ^= p ^ q;
    for (uint32_t i = 0; i < s->width; i++) {
        uint32_t id = s->sequence[p + i];
        s->sequence[p + i] = s->sequence[q + i];
        s->sequence[q + i] = id;
    }
}

static void swapper_go_round(struct swapper *s)
{
    for (size_t i = 0; i < s->parcels; i++) {
        uint64_t x = bl_random_next(&s->random);
        size_t away = 1 + (size_t)(x >> 8 & ((UINT64_C(1) << x % REACHES) - 1));
        if (i + away < s->parcels)
            swapper_offer(s, i, i + away);
    }
}

static int part_swap(const struct bl_draft *d, size_t begin, size_t end, struct swapper *s, int turns,
                     struct bl_error *e)
{
    size_t pieces = d->first[end] - d->first[begin];
    s->sequence = d->sequence + d->first[begin];
    s->word = malloc((pieces + 1) * sizeof *s->word);
    s->block = malloc((pieces + 1) * sizeof *s->block);
    s->room = malloc((end - begin + 1) * sizeof *s->room);
    int code = s->word && s->block && s->room ? BL_OK : bl_error_memory(e);
    for (int c = 0; !code && s->needs && c < s->needs->count; c++)
        if (!(s->left[c] = malloc((end - begin + 1) * sizeof **s->left)))
            code = bl_error_memory(e);
    for (int t = 0; !code && t < turns; t++) {
        swapper_set(s, d->first + begin, end - begin, 2 - t % 2);
        for (int r = 0; r < ROUNDS; r++)
            swapper_go_round(s);
    }
    free(s->word);
    free(s->block);
    free(s->room);
    for (int c = 0; c < BL_PLAN_COLUMNS_MAX; c++) {
        free(s->left[c]);
        s->left[c] = NULL;
    }
    return code;
}

int bl_swap_sequences(struct bl_draft *d, size_t first, const struct bl_lengths *lengths, int64_t T,
                      const struct bl_needs *needs, bool is_drawn, uint64_t seed, struct bl_error *e)
{
    size_t blocks = d->blocks - first, pieces = d->pieces - d->first[first];
    size_t parts = (pieces + PART_PIECES - 1) / PART_PIECES;
    /* In few blocks many meet again; and of few drawn blocks the last ones, which are not random, are a large share. */
    int turns = is_drawn ? 2 + 4 / (int)parts : 4 + 16 / (int)parts, code = BL_OK;
    struct swapper s = {.lengths = lengths, .T = T, .needs = needs};
    struct bl_random inside;
    bl_random_seed(&s.random, seed, BL_STREAM_SWAP);
    for (size_t p = 0; !code && p < parts; p++)
        code = part_swap(d, first + blocks * p / parts, first + blocks * (p + 1) / parts, &s, turns, e);
    bl_random_seed(&inside, seed, BL_STREAM_INSIDE);
    for (size_t b = first; b < d->blocks; b++)
        bl_random_shuffle_u32(&inside, d->sequence + d->first[b], bl_draft_size(d, b));
    return code;
}
