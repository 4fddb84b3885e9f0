/* The share of pairs that meet again: known answers, and random plans beside the pairs counted one by one. */
#include "plan/pair_repeat.h"
#include "plan/random.h"
#include "unit.h"

enum { PIECES_MAX = 200 };

/* A plan without lengths, which the measure does not look at. */
struct sketch {
    struct bl_plan plan;
    int64_t block_ptr[PIECES_MAX + 2];
    uint32_t sequence[PIECES_MAX];
    int64_t start[PIECES_MAX];
};

static void add(struct sketch *s, uint32_t sequence, int64_t start)
{
    s->sequence[s->plan.pieces] = sequence;
    s->start[s->plan.pieces++] = start;
}

static void end_block(struct sketch *s)
{
    s->plan.block_ptr[++s->plan.blocks] = (int64_t)s->plan.pieces;
}

static void begin(struct sketch *s, bool cut)
{
    memset(s, 0, sizeof *s);
    s->plan =
        (struct bl_plan){.block_ptr = s->block_ptr, .sequence = s->sequence, .source_start = cut ? s->start : NULL};
}

/* "012 34 5": blocks of sequences of one digit. */
static void read_blocks(struct sketch *s, const char *text)
{
    begin(s, false);
    for (; *text; text++) {
        if (*text == ' ')
            end_block(s);
        else
            add(s, (uint32_t)(*text - '0'), 0);
    }
    end_block(s);
}

static struct bl_pair_repeat measure(const struct sketch *a, const struct sketch *b, size_t count)
{
    struct bl_pair_repeat c = {0};
    struct bl_error e = {0};
    ck_assert_msg(bl_pair_repeat_measure(&c, &a->plan, &b->plan, count, &e) == BL_OK, "%s", e.text);
    ck_assert(c.is_measured);
    return c;
}

UNIT_TEST(shares_are_as_counted_by_hand)
{
    static const struct {
        const char *first, *second;
        uint64_t pairs, again;
        double random;
    } known[] = {
        {"012 345", "543 201", 6, 6, 6 / 15.0},
        {"012 345", "03 14 25", 6, 0, 3 / 15.0},
        {"0123 45", "01 2345", 7, 3, 7 / 15.0},
        {"01 23 ", "10 32 ", 2, 2, 2 / 6.0},
        {"0 1 2", "0 12", 0, 0, 1 / 3.0},
        {"012", "0 1 2", 3, 0, 0},
        {"012", "01", 3, 1, 1},
        {"0", "0", 0, 0, 0},
    };
    struct sketch a, b;
    for (size_t i = 0; i < COUNT(known); i++) {
        read_blocks(&a, known[i].first);
        read_blocks(&b, known[i].second);
        struct bl_pair_repeat c = measure(&a, &b, 6);
        ck_assert_uint_eq(c.pairs, known[i].pairs);
        ck_assert_uint_eq(c.again, known[i].again);
        ck_assert_double_eq_tol(c.random, known[i].random, 1e-12);
        ck_assert_double_eq_tol(bl_pair_repeat_share(&c), c.pairs ? (double)c.again / (double)c.pairs : 0, 1e-12);
    }
}

/* Draws a partition of pieces into blocks; every sequence is cut into 1 to `most` pieces, at multiples of 10. A few are
 * missing. */
static void draw(struct sketch *s, uint32_t sequences, const uint8_t *pieces, struct bl_random *r)
{
    uint32_t order[PIECES_MAX], n = 0;
    begin(s, true);
    for (uint32_t i = 0; i < sequences; i++)
        for (uint32_t k = 0; k < pieces[i]; k++)
            order[n++] = i << 8 | k;
    bl_random_shuffle_u32(r, order, n);
    for (uint32_t i = 0; i < n; i++) {
        if (bl_random_below(r, 20))
            add(s, order[i] >> 8, 10 * (int64_t)(order[i] & 255));
        if (!bl_random_below(r, 1 + i % 7))
            end_block(s);
    }
    end_block(s);
}

static bool together(const struct sketch *s, uint32_t sequence[2], int64_t start[2])
{
    size_t block[2] = {SIZE_MAX, SIZE_MAX};
    for (size_t b = 0; b < s->plan.blocks; b++)
        for (int64_t p = s->block_ptr[b]; p < s->block_ptr[b + 1]; p++)
            for (int i = 0; i < 2; i++)
                if (s->sequence[p] == sequence[i] && s->start[p] == start[i])
                    block[i] = b;
    return block[0] == block[1] && block[0] != SIZE_MAX;
}

static void assert_counted(const struct sketch *a, const struct sketch *b, size_t sequences)
{
    uint64_t pairs = 0, again = 0;
    for (size_t i = 0; i < a->plan.blocks; i++) {
        for (int64_t p = a->block_ptr[i]; p < a->block_ptr[i + 1]; p++) {
            for (int64_t q = a->block_ptr[i]; q < p; q++) {
                pairs++;
                again +=
                    together(b, (uint32_t[]){a->sequence[p], a->sequence[q]}, (int64_t[]){a->start[p], a->start[q]});
            }
        }
    }
    struct bl_pair_repeat c = measure(a, b, sequences);
    ck_assert_uint_eq(c.pairs, pairs);
    ck_assert_uint_eq(c.again, again);
}

UNIT_TEST(random_plans_are_as_counted_pair_by_pair)
{
    struct bl_random r;
    bl_random_seed(&r, 1, BL_STREAM_MIX);
    for (int round = 0; round < unit_times(300); round++) {
        struct sketch a, b;
        uint8_t pieces[40];
        uint32_t sequences = 1 + (uint32_t)bl_random_below(&r, COUNT(pieces));
        for (uint32_t i = 0; i < sequences; i++)
            pieces[i] = round % 2 ? (uint8_t)(1 + bl_random_below(&r, 5)) : 1;
        draw(&a, sequences, pieces, &r);
        draw(&b, sequences, pieces, &r);
        assert_counted(&a, &b, sequences);
        assert_counted(&a, &a, sequences);
    }
}

/* Plans drawn at random repeat what `random` says; also where one block has half of the sequences, whose pairs could
 * not be looked at one by one for many sequences. */
UNIT_TEST(random_partitions_repeat_the_share_that_is_expected)
{
    enum { MANY = 200000 };
    FREED int64_t *block_ptr = malloc((MANY / 8 + 2) * sizeof *block_ptr);
    uint32_t *order[2] = {malloc(MANY * sizeof **order), malloc(MANY * sizeof **order)};
    ck_assert(block_ptr && order[0] && order[1]);
    size_t blocks = MANY / 2 / 4 + 1;
    for (size_t b = 0; b <= blocks; b++)
        block_ptr[b] = b ? MANY / 2 + 4 * ((int64_t)b - 1) : 0;
    struct bl_random r;
    bl_random_seed(&r, 2, BL_STREAM_MIX);
    struct bl_plan plan[2];
    for (int i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < MANY; k++)
            order[i][k] = k;
        bl_random_shuffle_u32(&r, order[i], MANY);
        plan[i] = (struct bl_plan){.blocks = blocks, .pieces = MANY, .block_ptr = block_ptr, .sequence = order[i]};
    }
    struct bl_pair_repeat c = {0};
    ck_assert_int_eq(bl_pair_repeat_measure(&c, &plan[0], &plan[1], MANY, &e), BL_OK);
    ck_assert_double_eq_tol(c.random, 0.25, 1e-3);
    ck_assert_double_eq_tol(bl_pair_repeat_share(&c), c.random, 0.01);
    ck_assert_int_eq(bl_pair_repeat_measure(&c, &plan[0], &plan[0], MANY, &e), BL_OK);
    ck_assert_uint_eq(c.again, c.pairs);
    free(order[0]);
    free(order[1]);
}

UNIT_TEST(plans_of_other_sequences_are_refused)
{
    struct sketch a, b;
    struct bl_pair_repeat c;
    read_blocks(&a, "012 345");
    read_blocks(&b, "012 346");
    FAILS(bl_pair_repeat_measure(&c, &a.plan, &b.plan, 6, &e), BL_EDATA, "the plan has sequence 6, of only 6");
    ck_assert_int_eq(bl_pair_repeat_measure(&c, &b.plan, &a.plan, 6, &e), BL_EDATA);
    ck_assert_int_eq(bl_pair_repeat_measure(&c, &b.plan, &a.plan, 7, &e), BL_OK);
}
