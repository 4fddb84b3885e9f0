/* Bundles: sequences that share a block. Known answers, the fewest blocks of small lists by brute force, the 300 pairs
 * that training on preferences packs, and laws of random lists with all options crossed. */
#include <bload.h>

#include "plan/bundles.h"
#include "plan/planner.h"
#include "plan/random.h"
#include "unit.h"

enum { SEQUENCES_MAX = 400 };

struct bundled {
    int64_t length[SEQUENCES_MAX];
    uint32_t together[SEQUENCES_MAX], group[SEQUENCES_MAX];
    double value[2][SEQUENCES_MAX];
    size_t count;
};

/* Reads bundles from a text such as "a6 3 a5": lengths, with a letter for those that stay together. */
static void read_list(struct bundled *l, const char *text)
{
    memset(l, 0, sizeof *l);
    for (char *end; *text; text = *end ? end + 1 : end) {
        bool is_alone = *text >= '0' && *text <= '9';
        l->together[l->count] = is_alone ? BL_ALONE : (uint32_t)(*text - 'a');
        l->length[l->count++] = strtol(text + !is_alone, &end, 10);
    }
}

/* Writes the blocks of a plan as "0 2|1", and frees it. */
static const char *plan_text(struct bl_plan *plan)
{
    static char text[4096];
    size_t size = 0;
    for (size_t b = 0; b < plan->blocks; b++)
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++)
            size += (size_t)snprintf(text + size, sizeof text - size, "%s%u",
                                     p > plan->block_ptr[b] ? " "
                                     : b                    ? "|"
                                                            : "",
                                     (unsigned)plan->sequence[p]);
    bl_plan_free(plan);
    return text;
}

UNIT_TEST(bundles_share_a_block_in_the_order_of_the_table)
{
    static const struct {
        const char *list, *blocks;
        int64_t T, align;
        enum bl_oversize oversize;
        int64_t split, dropped;
    } known[] = {
        {"a3 5 a4", "0 2|1", 8, 0, BL_OVERSIZE_ERROR, 0, 0},
        {"a3 b5 a4 b2", "0 2|1 3", 8, 0, BL_OVERSIZE_ERROR, 0, 0},
        {"b3 a5 b4 a3 b1", "0 2 4|1 3", 8, 0, BL_OVERSIZE_ERROR, 0, 0},
        {"a3 5 a4", "0 2|1", 8, 4, BL_OVERSIZE_ERROR, 0, 0},        /* 3 and 4 steps take 8 with their alignment */
        {"a6 a3 a5", "0 1|2", 10, 0, BL_OVERSIZE_SPLIT, 1, 0},      /* runs of the table */
        {"a6 a5 a4 a5", "0 2|1 3", 10, 0, BL_OVERSIZE_SPLIT, 1, 0}, /* runs would take three blocks */
        {"a12 a3", "0|0 1", 10, 0, BL_OVERSIZE_SPLIT, 1, 0},        /* a sequence that is too long is cut */
        {"a6 7 a5", "1", 10, 0, BL_OVERSIZE_DROP, 0, 2},            /* a bundle that is too long is dropped whole, */
        {"a12 7 a5", "1", 10, 0, BL_OVERSIZE_DROP, 0, 2},           /* as is one with such a sequence */
        {"a1 a1 a1", "0 1 2", 8, 0, BL_OVERSIZE_ERROR, 0, 0},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        struct bundled l;
        struct bl_plan plan;
        read_list(&l, known[i].list);
        struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK,
                                    .T = known[i].T,
                                    .align = known[i].align,
                                    .order = BL_KEEP_ORDER,
                                    .oversize = known[i].oversize,
                                    .together = l.together};
        ck_assert_msg(bl_plan_make(&plan, l.length, l.count, &o, &e) == BL_OK, "%s: %s", known[i].list, e.text);
        ck_assert_int_eq(plan.bundles_split, known[i].split);
        ck_assert_int_eq(plan.dropped, known[i].dropped);
        ck_assert_str_eq(plan_text(&plan), known[i].blocks);
    }
}

UNIT_TEST(bundles_that_contradict_are_refused)
{
    struct bundled l;
    struct bl_plan plan;
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = 10, .together = l.together};
    read_list(&l, "2 a6 3 a5 b9 b9");
    FAILS(
        bl_plan_make(&plan, l.length, l.count, &o, &e), BL_EFAIL,
        "the bundle of sequence 1 has 11 steps in 2 sequences, more than 10 (too long: 2 bundles): use a larger T, or "
        "--oversize split or drop");
    o.T = 30;
    o.max_sequences = 1;
    FAILS(bl_plan_make(&plan, l.length, l.count, &o, &e), BL_EFAIL,
          "the bundle of sequence 1 has 2 sequences in 2 sequences, more than 1 (too long: 2 bundles): use a larger T, "
          "or --oversize split or drop");
    o.max_sequences = 0;
    o.group = l.group;
    l.group[3] = 1;
    FAILS(bl_plan_make(&plan, l.length, l.count, &o, &e), BL_EUSAGE,
          "sequences 1 and 3 shall share a block by --together, but their groups differ");
    o.group = NULL;
    o.oversize = BL_OVERSIZE_TRUNCATE;
    ck_assert_int_eq(bl_plan_make(&plan, l.length, l.count, &o, &e), BL_EUSAGE);
    o.oversize = BL_OVERSIZE_ERROR;
    o.strategy = BL_STRATEGY_NAIVE;
    ck_assert_int_eq(bl_plan_make(&plan, l.length, l.count, &o, &e), BL_EUSAGE);
}

UNIT_TEST(sequences_that_are_all_alone_have_the_plan_without_bundles)
{
    struct bundled l = {.count = 200};
    struct bl_plan plan[2];
    struct bl_random random;
    bl_random_seed(&random, 3, BL_STREAM_ORDER);
    for (size_t i = 0; i < l.count; i++) {
        l.length[i] = 1 + (int64_t)bl_random_below(&random, 60);
        l.together[i] = i % 3 ? BL_ALONE : (uint32_t)i;
    }
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = 100, .together = l.together};
    ck_assert_int_eq(bl_plan_make(&plan[0], l.length, l.count, &o, &e), BL_OK);
    o.together = NULL;
    ck_assert_int_eq(bl_plan_make(&plan[1], l.length, l.count, &o, &e), BL_OK);
    ck_assert_mem_eq(plan[0].sequence, plan[1].sequence, l.count * sizeof *plan[0].sequence);
    bl_plan_free(&plan[0]);
    bl_plan_free(&plan[1]);
}

/* Returns the fewest blocks of whole numbers of steps, by trying all places of item i. */
static size_t fewest(const int64_t *item, size_t items, size_t i, int64_t *filled, size_t blocks, int64_t T,
                     size_t best)
{
    if (blocks >= best)
        return best;
    if (i == items)
        return blocks;
    for (size_t b = 0; b <= blocks; b++) {
        if (b == blocks)
            filled[b] = 0;
        if (filled[b] + item[i] > T)
            continue;
        filled[b] += item[i];
        best = fewest(item, items, i + 1, filled, b == blocks ? blocks + 1 : blocks, T, best);
        filled[b] -= item[i];
    }
    return best;
}

UNIT_LOOP(small_lists_have_the_fewest_blocks, 300)
{
    struct bundled l = {.count = 9};
    struct bl_plan plan;
    struct bl_random random;
    int64_t item[9] = {0}, filled[10], T = 20;
    size_t items = 0, slot[4] = {0};
    bl_random_seed(&random, (uint64_t)_i, BL_STREAM_ORDER);
    for (size_t i = 0; i < l.count; i++) {
        l.length[i] = 1 + (int64_t)bl_random_below(&random, 6);
        l.together[i] = (uint32_t)bl_random_below(&random, 5);
        size_t own = items;
        if (l.together[i] == 4)
            l.together[i] = BL_ALONE;
        else if (slot[l.together[i]])
            own = slot[l.together[i]] - 1;
        else
            slot[l.together[i]] = items + 1;
        items += own == items;
        item[own] += l.length[i];
    }
    for (size_t i = 0; i < items; i++)
        T = item[i] > T ? item[i] : T;
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = T, .seed = (uint64_t)_i, .together = l.together};
    ck_assert_msg(bl_plan_make(&plan, l.length, l.count, &o, &e) == BL_OK, "%s", e.text);
    ck_assert_uint_eq(plan.blocks, fewest(item, items, 0, filled, 0, T, items));
    ck_assert_int_eq(plan.lower_bound, (int64_t)plan.blocks);
    bl_plan_free(&plan);
}

UNIT_LOOP(a_bundle_is_split_into_the_fewest_blocks, 300)
{
    enum { MEMBERS = 8, T = 20 };
    struct bundled l = {.count = MEMBERS};
    struct bl_plan plan;
    struct bl_random random;
    int64_t filled[MEMBERS + 1];
    bl_random_seed(&random, (uint64_t)_i, BL_STREAM_BLOCK);
    for (size_t i = 0; i < l.count; i++)
        l.length[i] = 1 + (int64_t)bl_random_below(&random, T);
    struct bl_plan_options o = {
        .strategy = BL_STRATEGY_BLOCK, .T = T, .oversize = BL_OVERSIZE_SPLIT, .together = l.together};
    ck_assert_msg(bl_plan_make(&plan, l.length, l.count, &o, &e) == BL_OK, "%s", e.text);
    ck_assert_uint_eq(plan.blocks, fewest(l.length, l.count, 0, filled, 0, T, l.count));
    ck_assert_msg(bl_plan_check_bundles(&plan, l.length, l.count, &o, &e) == BL_OK, "%s", e.text);
    bl_plan_free(&plan);
}

UNIT_LOOP(pairs_fill_99_percent_or_reach_the_bound, 10)
{
    enum { PAIRS = 300 };
    int64_t length[2 * PAIRS];
    uint32_t together[2 * PAIRS];
    struct bload_plan *plan;
    struct bl_random random;
    bl_random_seed(&random, (uint64_t)_i, BL_STREAM_ORDER);
    for (uint32_t i = 0; i < 2 * PAIRS; i++) {
        length[i] = 20 + (int64_t)bl_random_below(&random, 281);
        together[i] = 4000000000u - i / 2; /* any number but UINT32_MAX */
    }
    struct bload_plan_options o = {.size = sizeof o, .T = 1024, .together = together};
    struct bload_error error;
    ck_assert_msg(bload_plan_make(length, 2 * PAIRS, &o, &plan, &error) == BLOAD_OK, "%s", error.text);
    const struct bload_counts *counts = bload_plan_counts(plan);
    ck_assert(counts->efficiency >= 0.99 || counts->blocks == counts->lower_bound);
    for (int64_t b = 0; b < counts->blocks; b++) {
        struct bload_piece piece[64];
        ck_assert_int_eq(bload_plan_pieces(plan, b, piece, 64, &error), BLOAD_OK);
        for (int64_t i = 0; i < bload_plan_piece_count(plan, b); i += 2)
            ck_assert(piece[i].sequence % 2 == 0 && piece[i + 1].sequence == piece[i].sequence + 1);
    }
    bload_plan_free(plan);
}

/* --- laws --------------------------------------------------------------------------------------------------------- */

/* Makes a random list: most sequences are in bundles of up to 5, some alone. */
static void list_make(struct bundled *l, int64_t T, bool is_long, struct bl_random *random)
{
    uint32_t bundle = 0;
    l->count = 30 + bl_random_below(random, 120);
    for (size_t i = 0; i < l->count; i++) {
        l->length[i] = (int64_t)bl_random_below(random, (uint64_t)T / 4 + 1);
        if (is_long && bl_random_below(random, 12) == 0)
            l->length[i] = T / 2 + (int64_t)bl_random_below(random, 2 * (uint64_t)T);
        l->together[i] = bl_random_below(random, 4) ? (uint32_t)bl_random_below(random, l->count / 3) : BL_ALONE;
        bundle = l->together[i] == BL_ALONE ? 0 : l->together[i];
        l->group[i] = bundle % 3;
        for (int c = 0; c < 2; c++)
            l->value[c][i] = c ? (double)bl_random_below(random, 100) / 7 : (double)bl_random_below(random, 4);
    }
}

/* Returns some option of n, drawn. */
static int64_t pick(struct bl_random *random, const int64_t *of, size_t n)
{
    return of[bl_random_below(random, n)];
}

/* Checks a plan by its own check and by that of bundles, and that no block has more than the options allow. */
static void assert_bundled(struct bl_plan *plan, const struct bundled *l, const struct bl_plan_options *o)
{
    struct bl_error e = {0};
    struct bl_plan before = *plan;
    ck_assert_msg(bl_plan_check(plan, l->length, l->count, &e) == BL_OK, "%s", e.text);
    ck_assert_msg(bl_plan_check_bundles(plan, l->length, l->count, o, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(before.padding, plan->padding);
    ck_assert_int_eq(before.dropped, plan->dropped);
    ck_assert_int_eq(before.deleted, plan->deleted);
    ck_assert_int_eq(before.cut, plan->cut);
    ck_assert_int_eq(before.align_padding, plan->align_padding);
    ck_assert_int_eq(before.max_sequences, plan->max_sequences);
    ck_assert_int_eq(before.bundle_pairs, plan->bundle_pairs);
    ck_assert_int_eq(before.bundles, plan->bundles);
    ck_assert_int_eq(before.bundles_split, plan->bundles_split);
    for (size_t b = 0; b < plan->blocks; b++) {
        int64_t size = plan->block_ptr[b + 1] - plan->block_ptr[b];
        ck_assert(!o->max_sequences || size <= o->max_sequences);
        for (int c = 0; c < o->max_column.count; c++) {
            double sum = 0;
            for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++)
                sum += o->max_column.each[c].value[plan->sequence[p]] *
                       (double)bl_plan_piece_length(plan, l->length, (size_t)p) / (double)l->length[plan->sequence[p]];
            ck_assert(sum <= o->max_column.each[c].max * (1 + 1e-9));
        }
        for (int64_t p = plan->block_ptr[b]; o->group && p < plan->block_ptr[b + 1]; p++)
            ck_assert_uint_eq(l->group[plan->sequence[p]], l->group[plan->sequence[plan->block_ptr[b]]]);
    }
}

UNIT_LOOP(laws_hold_for_all_options, 400)
{
    static const int64_t aligns[] = {0, 0, 4, 7}, ranks[] = {1, 1, 2, 4}, T = 128;
    struct bundled l;
    struct bl_planner planner;
    struct bl_random random;
    if (_i >= unit_times(400))
        return;
    bl_random_seed(&random, (uint64_t)_i, BL_STREAM_OTHER);
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK,
                                .T = T,
                                .effort = 1,
                                .seed = (uint64_t)_i,
                                .oversize = bl_random_below(&random, 2) ? BL_OVERSIZE_SPLIT : BL_OVERSIZE_DROP,
                                .align = pick(&random, aligns, COUNT(aligns)),
                                .world_size = pick(&random, ranks, COUNT(ranks)),
                                .remainder = (enum bl_remainder)bl_random_below(&random, 3),
                                .min_length = bl_random_below(&random, 4) ? 0 : 3,
                                .together = l.together};
    if (bl_random_below(&random, 3) == 0)
        o.group = l.group;
    if (bl_random_below(&random, 3) == 0)
        o.max_sequences = 6;
    else if (bl_random_below(&random, 4) == 0)
        o.fill = BL_FILL_PAPER;
    else if (bl_random_below(&random, 4) == 0)
        o.order = BL_KEEP_ORDER;
    if (bl_random_below(&random, 3) == 0 && o.order != BL_KEEP_ORDER)
        o.cost = (struct bl_plan_cost){.alpha = 1, .beta = 0.01};
    if (bl_random_below(&random, 3) == 0 && o.fill == BL_FILL_OPTIMAL) {
        o.max_column.each[0] = (struct bl_plan_column){.name = "a", .max = 12, .value = l.value[0]};
        o.max_column.each[1] = (struct bl_plan_column){.name = "b", .max = 50, .value = l.value[1]};
        o.max_column.count = 2;
    }
    if (o.oversize == BL_OVERSIZE_SPLIT && o.remainder != BL_REMAINDER_DROP && bl_random_below(&random, 3) == 0)
        o.overlap = 5;
    list_make(&l, T, bl_random_below(&random, 2), &random);
    int code = bl_planner_make(&planner, l.length, l.count, &o, &e);
    ck_assert_msg(code == BL_OK, "%s", e.text);
    struct bl_partitions taken = {0};
    planner.taken = &taken;
    for (uint64_t epoch = 0; epoch < 3; epoch++) {
        struct bl_plan plan;
        code = bl_planner_draw(&planner, o.seed + epoch, 0, false, &plan, &e);
        if (code == BL_EUSAGE && o.remainder != BL_REMAINDER_PAD) /* too few blocks for the ranks */
            break;
        ck_assert_msg(code == BL_OK, "%s", e.text);
        assert_bundled(&plan, &l, &o);
        ck_assert_int_eq(plan.blocks % (size_t)o.world_size, 0);
        bl_plan_free(&plan);
    }
    bl_partitions_free(&taken);
    bl_planner_free(&planner);
}

UNIT_TEST(a_bundle_costs_the_sum_of_its_sequences)
{
    struct bundled l;
    struct bl_planner planner;
    read_list(&l, "a6 3 a5 b2 b2 4");
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK,
                                .T = 12,
                                .world_size = 2,
                                .cost = {.alpha = 0, .beta = 1},
                                .together = l.together};
    ck_assert_int_eq(bl_planner_make(&planner, l.length, l.count, &o, &e), BL_OK);
    double unit = (double)bl_cost_piece(&planner.cost, 0, 1) / 9; /* the sequence of 3 steps */
    ck_assert_double_eq_tol((double)bl_cost_piece(&planner.cost, 0, 0) / unit, 61, 1e-9);
    ck_assert_double_eq_tol((double)bl_cost_piece(&planner.cost, 0, 2) / unit, 8, 1e-9);
    bl_planner_free(&planner);
}

UNIT_TEST(pairs_of_bundles_count_as_repeated_and_pairs_within_do_not)
{
    struct bundled l = {.count = 100};
    struct bl_planner planner;
    struct bl_plan plan;
    struct bl_pair_repeat repeat;
    for (size_t i = 0; i < l.count; i++) {
        l.length[i] = 5 + (int64_t)(i * 7 % 11);
        l.together[i] = (uint32_t)i / 2;
    }
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = 64, .together = l.together};
    ck_assert_int_eq(bl_planner_make(&planner, l.length, l.count, &o, &e), BL_OK);
    ck_assert_int_eq(bl_planner_draw(&planner, 0, 0, false, &plan, &e), BL_OK);
    uint64_t pairs = bl_pair_repeat_count_pairs(&plan);
    ck_assert_int_eq(bl_planner_measure_pair_repeat(&planner, &plan, &repeat, &e), BL_OK);
    ck_assert_uint_eq(repeat.pairs, pairs - 50);
    ck_assert(bl_pair_repeat_share(&repeat) < 0.3);
    bl_plan_free(&plan);
    bl_planner_free(&planner);
}

UNIT_TEST(the_check_finds_broken_bundles)
{
    struct bundled l;
    struct bl_plan plan;
    read_list(&l, "a3 5 a4 b1 b1 b1");
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = 8, .order = BL_KEEP_ORDER};
    ck_assert_int_eq(bl_plan_make(&plan, l.length, l.count, &o, &e), BL_OK);
    o.together = l.together;
    FAILS(bl_plan_check_bundles(&plan, l.length, l.count, &o, &e), BL_EFAIL,
          "the 2 sequences of a bundle, from sequence 0 on, do not share a block");
    bl_plan_free(&plan);
    ck_assert_int_eq(bl_plan_make(&plan, l.length, l.count, &o, &e), BL_OK);
    for (int64_t p = 0; p + 1 < (int64_t)plan.pieces; p++) {
        if (plan.sequence[p] == 3 && plan.sequence[p + 1] == 4) {
            plan.sequence[p] = 4;
            plan.sequence[p + 1] = 3;
        }
    }
    ck_assert_int_eq(bl_plan_check_bundles(&plan, l.length, l.count, &o, &e), BL_EFAIL);
    bl_plan_free(&plan);
}
