#include "report/report.h"
#include "unit.h"

static void check(const struct bl_rank_range *range, int64_t least, double sum, int64_t most)
{
    ck_assert_int_eq(range->least, least);
    ck_assert_int_eq(range->most, most);
    ck_assert_double_eq(range->sum, sum);
}

/* Two ranks, two blocks each in a step: rank 0 has blocks 0, 2, 4, 6, rank 1 the others. */
UNIT_TEST(blocks_go_to_the_ranks_in_turn)
{
    static const int64_t sequences[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct bl_rank_table t;
    ck_assert_int_eq(bl_rank_table_open(&t, 2, 2, &e), BL_OK);
    for (int b = 0; b < 8; b++)
        bl_rank_table_add(&t, sequences[b], 10 * sequences[b], 100 * sequences[b]);
    ck_assert_int_eq(t.steps, 2);
    check(&t.rank[0].sequences, 4, 16, 12);
    check(&t.rank[1].sequences, 6, 20, 14);
    check(&t.rank[0].steps, 40, 160, 120);
    check(&t.rank[1].cost, 600, 2000, 1400);
    /* The dearest rank costs 600 and 1400, the mean 500 and 1300. */
    ck_assert_double_eq_tol(bl_rank_table_imbalance(&t), 2000.0 / 1800 - 1, 1e-12);
    bl_rank_table_free(&t);
    ck_assert_ptr_null(t.rank);
}

UNIT_TEST(an_unfinished_step_does_not_count)
{
    struct bl_rank_table t;
    ck_assert_int_eq(bl_rank_table_open(&t, 3, 0, &e), BL_OK);
    ck_assert_double_eq(bl_rank_table_imbalance(&t), 0);
    for (int b = 0; b < 5; b++)
        bl_rank_table_add(&t, 0, 0, 0);
    ck_assert_int_eq(t.steps, 1);
    check(&t.rank[2].cost, 0, 0, 0);
    ck_assert_double_eq(bl_rank_table_imbalance(&t), 0);
    bl_rank_table_free(&t);
}
