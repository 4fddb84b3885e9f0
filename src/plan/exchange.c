/* Exchanges of sequences between two blocks, by three methods of different cost.
 *
 * Swaps move parcels of nearly equal length between many blocks, to change which sequences share a block. Trades
 * reduce the excess of two blocks under several maxima. Exchanges of sets move a given cost from one block to another,
 * for levelling: with a wish of 100, a block may give sequences of cost 170 and get others of cost 70. */
#include "plan/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/sort.h"
#include "plan/random.h"

/* --- exchanges ---------------------------------------------------------------------------------------------------- */

/* Each side has 2^parcels sets, too many to try all pairs. Up to BL_CHOICES_MAX sets of each side are taken: all of
 * them if there are so few, otherwise a random walk that adds or removes one parcel at a time, so that a sum costs one
 * addition. The sets of the own side are sorted by their units into cells, and each set of the other side is compared
 * only with the cells that the room of the two blocks allows. */

enum {
    CELLS = 1024,
    WALK = 16, /* steps of a walk before it restarts from the empty set, so that small sets stay frequent */

    CHECKS_MAX = 20000 /* pairs compared in one search: many fit if blocks have much room */
};

/* The functions below are compiled twice, for one point and for any number: a loop over the points would nearly double
 * the time of levelling with one. */
#define FOR_POINTS inline __attribute__((always_inline))

/* Adds parcel i to the set, or removes it, without a branch: which of the two it is cannot be predicted. */
static FOR_POINTS void choice_toggle(struct bl_choice *c, const struct bl_parcel *parcel, int i, int points)
{
    int32_t leaves = -(int32_t)(c->set >> i & 1); /* -1, or 0: (x ^ -1) + 1 is -x */
    c->set ^= UINT32_C(1) << i;
    c->units += (parcel[i].units ^ leaves) - leaves;
    for (int p = 0; p < points; p++)
        c->cost[p] += (parcel[i].cost[p] ^ leaves) - leaves;
    c->sequences += (parcel[i].sequences ^ leaves) - leaves;
}

/* Writes up to `limit` sets of the parcels of one side. Returns their number; the first set is empty. */
static FOR_POINTS int choices_draw(struct bl_choice *choice, const struct bl_exchange_side *side, int limit, int points,
                                   struct bl_random *random)
{
    int n = side->parcels;
    struct bl_choice now = {0};
    choice[0] = now;
    if (n < 10 && 1 << n <= limit) { /* all sets in the order of a Gray code: neighbours differ in one parcel */
        for (int i = 1; i < 1 << n; i++) {
            choice_toggle(&now, side->parcel, __builtin_ctz((unsigned)i), points);
            choice[i] = now;
        }
        return 1 << n;
    }
    for (int i = 1; i < limit; i++) {
        /* One random number has 16 bits for each of four steps. */
        uint64_t bits = bl_random_next(random);
        if (i % WALK == 1)
            now = (struct bl_choice){0};
        for (int end = i + 3 < limit ? i + 3 : limit - 1; i <= end; i++, bits >>= 16) {
            choice_toggle(&now, side->parcel, (int)((bits & 0xffff) * (uint32_t)n >> 16), points);
            choice[i] = now;
        }
        i--;
    }
    return limit;
}

static int choices_make(struct bl_choice *choice, const struct bl_exchange_side *side, int limit, int points,
                        struct bl_random *random)
{
    return points == 1 ? choices_draw(choice, side, limit, 1, random)
                       : choices_draw(choice, side, limit, points, random);
}

/* The best pair of sets so far. wish: costs; error: the distance of what is moved from them. */
struct best {
    const int64_t *wish;
    int64_t error;
    const struct bl_choice *choice[2];
    int checks;
};

/* Returns the distance of the costs that two sets move from those that are wished. */
static FOR_POINTS int64_t choice_error(const struct bl_choice *c, const struct bl_choice *back, const int64_t *wish,
                                       int points)
{
    int64_t error = 0;
    for (int p = 0; p < points; p++) {
        int64_t off = c->cost[p] - back->cost[p] - wish[p];
        error += off < 0 ? -off : off;
    }
    return error;
}

/* Compares one set of the other side with the own sets that leave both blocks within their room, places and spare
 * sequences. */
static FOR_POINTS void choice_match(const struct bl_exchange *x, const struct bl_choice *c,
                                    const struct bl_exchange_side *other, int points, struct best *best)
{
    const struct bl_exchange_side *own = x->own;
    int64_t least = c->units - own->room + own->keep, most = c->units + other->room - other->keep;
    if (most < 0)
        return;
    int64_t low = least > 0 ? least >> x->shift : 0, high = most >> x->shift;
    if (low >= CELLS)
        return;
    uint16_t end = x->begin[high < CELLS ? high + 1 : CELLS];
    for (uint16_t i = x->begin[low]; i < end; i++) {
        const struct bl_choice *back = &x->choice[0][x->by_units[i]];
        int64_t more = c->sequences - back->sequences, error = choice_error(c, back, best->wish, points);
        best->checks++;
        if (error >= best->error || back->units < least || back->units > most || more > own->places ||
            more > other->spare || -more > other->places || -more > own->spare)
            continue;
        best->error = error;
        best->choice[0] = back;
        best->choice[1] = c;
    }
}

/* Stops at the first pair within the tolerance, or after CHECKS_MAX pairs. count: sets of the other side. */
static FOR_POINTS void choices_match(const struct bl_exchange *x, int count, const struct bl_exchange_side *other,
                                     int64_t tolerance, int points, struct best *best)
{
    for (int i = 0; i < count && best->error > tolerance && best->checks < CHECKS_MAX; i++)
        choice_match(x, &x->choice[1][i], other, points, best);
}

/* The sets of the own side stay for all searches until the next call. */
void bl_exchange_begin(struct bl_exchange *x, const struct bl_exchange_side *own, struct bl_random *random)
{
    int count = choices_make(x->choice[0], own, BL_CHOICES_MAX, x->points, random);
    x->own = own;
    x->work += count;
    /* Sorts the sets into cells of 2^shift units with a counting sort: begin[c] is the first place of cell c. */
    const struct bl_choice *choice = x->choice[0];
    int32_t most = 0;
    for (int i = 0; i < count; i++)
        most = choice[i].units > most ? choice[i].units : most;
    for (x->shift = 0; most >> x->shift >= CELLS;)
        x->shift++;
    memset(x->begin, 0, sizeof x->begin);
    for (int i = 0; i < count; i++)
        x->begin[(choice[i].units >> x->shift) + 1]++;
    for (int c = 0; c < CELLS; c++)
        x->begin[c + 1] = (uint16_t)(x->begin[c + 1] + x->begin[c]);
    uint16_t next[CELLS];
    memcpy(next, x->begin, sizeof next);
    for (int i = 0; i < count; i++)
        x->by_units[next[choice[i].units >> x->shift]++] = (uint16_t)i;
}

/* The result is the best pair that is compared. */
bool bl_exchange_find(struct bl_exchange *x, const struct bl_exchange_side *other, int choices, const int64_t *wish,
                      int64_t tolerance, struct bl_random *random, uint32_t set[2], int64_t *moved)
{
    int count = choices_make(x->choice[1], other, choices, x->points, random);
    x->work += count;
    struct best best = {.wish = wish, .error = INT64_MAX};
    if (x->points == 1)
        choices_match(x, count, other, tolerance, 1, &best);
    else
        choices_match(x, count, other, tolerance, x->points, &best);
    if (!best.choice[0])
        return false;
    for (int k = 0; k < 2; k++)
        set[k] = best.choice[k]->set;
    for (int p = 0; p < x->points; p++)
        moved[p] = best.choice[1]->cost[p] - best.choice[0]->cost[p];
    return true;
}

/* --- swaps -------------------------------------------------------------------------------------------------------- */

enum {
    PART_PIECES = 16384, /* sequences swap within parts of so many */
    ROUNDS = 4,          /* rounds for each set of parcels; every round offers each parcel one swap */
    REACHES = 12,        /* ranges of the distance in the order by length: up to 1, 2, 4, ... 2048 places */
};

struct swapper {
    const struct bl_lengths *lengths;
    int64_t T;
    uint32_t *sequence; /* [pieces] ids of the part, block by block */
    uint64_t *word;     /* [parcels] from the shortest to the longest: its units, and its place in `sequence` */
    size_t parcels;
    uint32_t width;               /* sequences in a parcel */
    uint32_t *block;              /* [pieces] by place */
    int64_t *room;                /* free units by block */
    const struct bl_needs *needs; /* or NULL */
    int64_t *left[BL_NEEDS_MAX];  /* what is left of the columns by block */
    struct bl_random random;
};

/* Returns how much more of a column the parcel at place p needs than the parcel at place q. */
static int64_t swapper_compare_need(const struct swapper *s, const struct bl_need *need, uint32_t p, uint32_t q)
{
    int64_t more = 0;
    for (uint32_t i = 0; i < s->width; i++)
        more += need->of[s->sequence[p + i]] - need->of[s->sequence[q + i]];
    return more;
}

/* Returns whether two parcels can change places within the maxima of the columns. If so, accounts for the swap in
 * `left`. */
static bool swapper_take_needs(struct swapper *s, uint32_t p, uint32_t q)
{
    int64_t more[BL_NEEDS_MAX];
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

/* Shuffles the sequences of a block and makes parcels of `width` neighbours. Sequences that are left over at the end
 * stay in the block. Sets the room of the block and what is left of its columns. */
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

/* Makes the parcels of all blocks of the part and sorts them by units. */
static void swapper_set(struct swapper *s, const uint32_t *first, size_t blocks, uint32_t width)
{
    s->width = width;
    s->parcels = 0;
    for (size_t b = 0; b < blocks; b++)
        swapper_set_block(s, (uint32_t)b, first[b] - first[0], first[b + 1] - first[0]);
    bl_sort_u64(s->word, s->parcels, 32);
}

/* Swaps two parcels, given by their ranks in the order by units, if they are in different blocks and both blocks have
 * room. */
static void swapper_offer(struct swapper *s, size_t shorter, size_t longer)
{
    uint64_t *a = &s->word[shorter], *b = &s->word[longer];
    uint32_t p = (uint32_t)*a, q = (uint32_t)*b;
    int64_t more = (int64_t)(*b >> 32) - (int64_t)(*a >> 32);
    if (s->block[p] == s->block[q] || more > s->room[s->block[p]] || (s->needs && !swapper_take_needs(s, p, q)))
        return;
    s->room[s->block[p]] -= more;
    s->room[s->block[q]] += more;
    /* Exchanges the places of the two words and keeps their units, so that the order by units stays sorted. */
    *a ^= p ^ q;
    *b ^= p ^ q;
    for (uint32_t i = 0; i < s->width; i++) {
        uint32_t id = s->sequence[p + i];
        s->sequence[p + i] = s->sequence[q + i];
        s->sequence[q + i] = id;
    }
}

/* Offers each parcel a swap with a slightly longer one. The distance is random on a scale of powers of two: most swaps
 * need little room, a few reach far. */
static void swapper_go_round(struct swapper *s)
{
    for (size_t i = 0; i < s->parcels; i++) {
        uint64_t x = bl_random_next(&s->random);
        size_t away = 1 + (size_t)(x >> 8 & ((UINT64_C(1) << x % REACHES) - 1));
        if (i + away < s->parcels)
            swapper_offer(s, i, i + away);
    }
}

/* Swaps the sequences of blocks begin .. end - 1 in several turns, with parcels of two sequences and of one in turn.
 * BL_EFAIL: out of memory. */
static int part_swap(const struct bl_draft *d, size_t begin, size_t end, struct swapper *s, int turns,
                     struct bl_error *e)
{
    size_t pieces = d->first[end] - d->first[begin];
    s->sequence = d->sequence + d->first[begin];
    s->word = malloc((pieces + 1) * sizeof *s->word);
    s->block = malloc((pieces + 1) * sizeof *s->block);
    s->room = malloc((end - begin + 1) * sizeof *s->room);
    /* The columns are few, so each has an array; parts are small, so the arrays are made for each part. */
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
    for (int c = 0; c < BL_NEEDS_MAX; c++) {
        free(s->left[c]);
        s->left[c] = NULL;
    }
    return code;
}

/* Parts of about PART_PIECES sequences keep the arrays of a swap in the cache, and bound the memory. */
int bl_swap_sequences(struct bl_draft *d, size_t first, const struct bl_lengths *lengths, int64_t T,
                      const struct bl_needs *needs, bool is_drawn, uint64_t seed, struct bl_error *e)
{
    size_t blocks = d->blocks - first, pieces = d->pieces - d->first[first];
    size_t parts = (pieces + PART_PIECES - 1) / PART_PIECES;
    /* Few parts get more turns: in few blocks, many pairs of sequences share a block again; and the last drawn blocks,
     * which are not random, are a large share of them. */
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

/* --- trades ------------------------------------------------------------------------------------------------------- */

enum {
    SINGLES = 12,   /* sequences of a block that a trade chooses from */
    ANY = 12,       /* parcels of each block among which bl_trade_any looks for a trade */
    PARCELS = 40,   /* parcels of a block at most: the empty one, 12 single sequences, and pairs */
    OPERATIONS = 4, /* operations to compare one kind of load of two parcels */
};

/* Up to two pieces that move together, and the sum of their loads. */
struct parcel {
    uint32_t piece[2];
    int size;
    struct bl_load load;
};

/* The parcels of one of the two blocks of a trade; parcel[0] is empty. */
struct side {
    struct parcel parcel[PARCELS];
    int count;
};

/* Adds the parcel of pieces a and b; BL_LOADS_NONE: no such piece. */
static void side_add(const struct bl_loads *l, struct side *s, uint32_t a, uint32_t b)
{
    struct parcel *p = &s->parcel[s->count++];
    *p = (struct parcel){.piece = {a, b}, .size = (a != BL_LOADS_NONE) + (b != BL_LOADS_NONE)};
    for (int i = 0; i < p->size; i++)
        for (int k = 0; k < l->kinds; k++)
            p->load.of[k] += bl_loads_piece(l, p->piece[i], k);
}

/* Makes parcels of some sequences of a block: the empty one, single ones, and pairs. A block with more than SINGLES
 * sequences gives a uniform sample of them (reservoir sampling). */
static void side_make(struct bl_loads *l, struct side *s, const struct bl_load_block *b)
{
    /* The sample goes over the list once, as the pieces have no index in their block. */
    uint32_t single[SINGLES];
    uint32_t seen = 0, chosen = b->size < SINGLES ? b->size : SINGLES;
    for (uint32_t p = b->head; p != BL_LOADS_NONE; p = l->next[p], seen++) {
        uint64_t place = seen < SINGLES ? seen : bl_random_below(&l->random, seen + 1);
        if (place < SINGLES)
            single[place] = p;
    }
    bl_random_shuffle_u32(&l->random, single, chosen);
    s->count = 0;
    side_add(l, s, BL_LOADS_NONE, BL_LOADS_NONE);
    for (uint32_t i = 0; i < chosen; i++)
        side_add(l, s, single[i], BL_LOADS_NONE);
    for (uint32_t i = 1; i < chosen; i++)
        for (uint32_t j = 0; j < i && s->count < PARCELS; j++)
            side_add(l, s, single[i], single[j]);
    l->work += b->size;
}

/* Returns the excess of both blocks after parcel x of block a changes places with parcel y of block b; or, if the
 * excess is at least `limit`, any number from `limit` on. */
static int64_t trade_excess(const struct bl_loads *l, const struct bl_load_block *a, const struct bl_load_block *b,
                            const struct parcel *x, const struct parcel *y, int64_t limit)
{
    int64_t excess = 0;
    /* What leaves block a comes to block b, so one difference changes both. */
    for (int k = 0; k < l->kinds && excess < limit; k++) {
        int64_t moved = y->load.of[k] - x->load.of[k];
        int64_t own = a->load.of[k] - l->most.of[k] + moved, other = b->load.of[k] - l->most.of[k] - moved;
        excess += ((own > 0 ? own : 0) + (other > 0 ? other : 0)) * l->weight.of[k];
    }
    return excess;
}

/* Removes both parcels before it adds them, so that a list is never searched for pieces that just came. */
static void trade_make(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b, const struct parcel *x,
                       const struct parcel *y)
{
    for (int i = 0; i < x->size; i++)
        bl_loads_remove(l, a, x->piece[i]);
    for (int i = 0; i < y->size; i++)
        bl_loads_remove(l, b, y->piece[i]);
    for (int i = 0; i < x->size; i++)
        bl_loads_add(l, b, x->piece[i]);
    for (int i = 0; i < y->size; i++)
        bl_loads_add(l, a, y->piece[i]);
}

/* Returns whether both blocks keep a sequence after the trade. */
static bool trade_is_whole(const struct bl_load_block *a, const struct bl_load_block *b, const struct parcel *x,
                           const struct parcel *y)
{
    int change = y->size - x->size;
    return (int64_t)a->size + change > 0 && (int64_t)b->size - change > 0;
}

/* Compares all pairs of parcels. `least` cuts off each comparison, and an excess of 0 ends the search. */
void bl_trade_relieve(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b)
{
    struct side own, other;
    const struct parcel *x = NULL, *y = NULL;
    /* One more than now: a trade that keeps the excess is welcome, since it leads to other trades. */
    int64_t least = bl_loads_excess(l, &a->load, INT64_MAX) + bl_loads_excess(l, &b->load, INT64_MAX) + 1;
    side_make(l, &own, a);
    side_make(l, &other, b);
    for (int i = 0; i < own.count && least > 0; i++)
        for (int j = 0; j < other.count && least > 0; j++) {
            const struct parcel *gone = &own.parcel[i], *come = &other.parcel[j];
            int64_t excess = gone->size + come->size == 0 ? least : trade_excess(l, a, b, gone, come, least);
            if (excess >= least || !trade_is_whole(a, b, gone, come))
                continue;
            least = excess;
            x = gone;
            y = come;
        }
    l->work += (int64_t)own.count * other.count * l->kinds * OPERATIONS;
    if (x)
        trade_make(l, a, b, x, y);
}

/* Takes the first pair that fits, from random parcels on. */
bool bl_trade_any(struct bl_loads *l, struct bl_load_block *a, struct bl_load_block *b)
{
    struct side own, other;
    side_make(l, &own, a);
    side_make(l, &other, b);
    if (own.count < 2 || other.count < 2)
        return false;
    /* Begins at random parcels other than the empty one, so that trades do not favour the first sequences. */
    int own_first = (int)bl_random_below(&l->random, (uint64_t)own.count - 1);
    int other_first = (int)bl_random_below(&l->random, (uint64_t)other.count - 1);
    for (int i = 0; i < own.count - 1 && i < ANY; i++)
        for (int j = 0; j < other.count - 1 && j < ANY; j++) {
            const struct parcel *x = &own.parcel[1 + (own_first + i) % (own.count - 1)];
            const struct parcel *y = &other.parcel[1 + (other_first + j) % (other.count - 1)];
            if (!trade_is_whole(a, b, x, y) || trade_excess(l, a, b, x, y, 1) > 0)
                continue;
            trade_make(l, a, b, x, y);
            return true;
        }
    return false;
}
