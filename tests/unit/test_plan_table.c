#include "base/output.h"
#include "store/plan_table.h"
#include "unit.h"

UNIT_SCRATCH

static const int64_t lengths[] = {5, 9, 0, 3, 7, 12, 4, 4, 2, 6};
#define ROWS COUNT(lengths)

static void write_plan(const char *path, const struct bl_plan *plan)
{
    struct bl_output out;
    struct bl_error e = {0};
    ck_assert_int_eq(bl_output_open(&out, path, &e), BL_OK);
    ck_assert_int_eq(bl_plan_table_write(&out, plan, lengths, &e), BL_OK);
    ck_assert_int_eq(bl_output_commit(&out, &e), BL_OK);
}

/* Every strategy's plan comes back as it was, its counts too. */
UNIT_TEST(plans_survive_the_table)
{
    static const struct bl_plan_options options[] = {
        {.strategy = BL_STRATEGY_BLOCK, .T = 12, .seed = 1},
        {.strategy = BL_STRATEGY_BLOCK, .T = 5, .oversize = BL_OVERSIZE_SPLIT},
        {.strategy = BL_STRATEGY_NAIVE},
        {.strategy = BL_STRATEGY_SAMPLE, .clip = 4, .clips = BL_CLIPS_ALL},
        {.strategy = BL_STRATEGY_MIX, .clip = 4},
    };
    for (size_t i = 0; i < COUNT(options); i++) {
        OWNED(bl_plan_free) struct bl_plan plan, back;
        ck_assert_msg(bl_plan_make(&plan, lengths, ROWS, &options[i], &e) == BL_OK, "%s", e.text);
        write_plan("plan", &plan);
        ck_assert_msg(bl_plan_table_read(&back, "plan", plan.T, 1, 0, &(struct bl_plan_own){0}, lengths, ROWS, &e) ==
                          BL_OK,
                      "%s", e.text);
        ck_assert_uint_eq(back.blocks, plan.blocks);
        ck_assert_uint_eq(back.pieces, plan.pieces);
        ck_assert_mem_eq(back.block_ptr, plan.block_ptr, (plan.blocks + 1) * sizeof *plan.block_ptr);
        ck_assert_mem_eq(back.sequence, plan.sequence, plan.pieces * sizeof *plan.sequence);
        for (size_t p = 0; p < plan.pieces; p++)
            ck_assert_int_eq(bl_plan_piece_length(&back, lengths, p), bl_plan_piece_length(&plan, lengths, p));
        ck_assert_int_eq(back.padding, plan.padding);
        ck_assert_int_eq(back.deleted, plan.deleted);
    }
}

UNIT_TEST(bad_plans_are_refused_by_line)
{
    static const struct {
        const char *rows, *message;
    } bad[] = {
        {"", "the plan is empty"},
        {"0\t0\t0\t5\n", "plan:2: not 5 integers"},
        {"0\t0\t0\tfive\t0\n", "plan:2: not 5 integers"},
        {"1\t0\t0\t5\t0\n", "plan:2: block 1 after 0 blocks"},
        {"0\t0\t0\t5\t0\n2\t1\t0\t9\t0\n", "plan:3: block 2 after 1 blocks"},
        {"0\t0\t0\t5\t0\n0\t3\t4\t3\t0\n", "plan:3: a piece starts at 4, but the previous piece ends at 5"},
        {"0\t0\t0\t5\t0\n0\t1\t5\t9\t0\n", "plan:3: block 0 is longer than T = 12"},
        {"0\t10\t0\t5\t0\n", "plan:2: no sequence 10: the table has 10 rows"},
        {"0\t0\t0\t5\t0\n0\t3\t5\t3", "plan:3: truncated: the file ends in the middle of a line"},
        {"0\t0\t0\t5\t0\n0\t0\t5\t5\t0\n", "plan"}, /* a sequence twice */
        {"0\t0\t0\t6\t0\n", "plan"},                /* longer than its sequence */
        {"0\t0\t0\t3\t3\n", "plan"},                /* beyond its sequence's end */
        {"0\t2\t0\t1\t0\n", "plan"},                /* a row that is not to be planned */
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[256];
        struct bl_plan plan;
        snprintf(text, sizeof text, "%s%s", BL_PLAN_TABLE_HEADER, bad[i].rows);
        unit_write_text("plan", text);
        FAILS_WITH(bl_plan_table_read(&plan, "plan", 12, 1, 0, &(struct bl_plan_own){0}, lengths, ROWS, &e), BL_EFAIL,
                   bad[i].message);
    }
    struct bl_plan plan;
    unit_write_text("plan", "block\tsequence\n0\t0\n");
    FAILS_WITH(bl_plan_table_read(&plan, "plan", 12, 1, 0, &(struct bl_plan_own){0}, lengths, ROWS, &e), BL_EFAIL,
               "plan:1: not a plan");
}
