/* Plans of sequences that have own steps: capacities, checks, and the files that hold such plans. */
#include <limits.h>

#include "base/output.h"
#include "plan/capacity.h"
#include "plan/limits.h"
#include "plan/planner.h"
#include "store/index.h"
#include "store/plan_info.h"
#include "store/plan_table.h"
#include "store/sequences.h"
#include "unit.h"

UNIT_SCRATCH

#define ROWS 40

/* Lengths, and the own steps of two fields: some sequences have none. */
struct lists {
    int64_t length[ROWS];
    double text[ROWS], patches[ROWS];
};

static struct lists lists_make(void)
{
    struct lists l;
    for (int i = 0; i < ROWS; i++) {
        l.length[i] = 1 + i * 7 % 19;
        l.text[i] = i % 3 * (i % 5);
        l.patches[i] = i % 4 ? i * 11 % 23 : 0;
    }
    l.length[8] = 0; /* not to be planned */
    return l;
}

/* Options for blocks of 20 steps with capacities for both fields; 0: to be found. */
static struct bl_plan_options options_make(const struct lists *l, double text, double patches)
{
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = 20};
    o.max_column.count = 2;
    o.max_column.each[0] =
        (struct bl_plan_column){.name = "text.length", .max = text, .value = l->text, .is_field = true};
    o.max_column.each[1] =
        (struct bl_plan_column){.name = "patches.length", .max = patches, .value = l->patches, .is_field = true};
    return o;
}

static size_t blocks_of(const struct lists *l, const struct bl_plan_options *o)
{
    OWNED(bl_plan_free) struct bl_plan plan;
    struct bl_error e = {0};
    ck_assert_msg(bl_plan_make(&plan, l->length, ROWS, o, &e) == BL_OK, "%s", e.text);
    return plan.blocks;
}

/* --- capacities --------------------------------------------------------------------------------------------------- */

/* No block is added. One step less would add one, or not suffice for the largest sequence. */
UNIT_TEST(capacities_are_the_least_that_cost_no_blocks)
{
    const struct lists l = lists_make();
    struct bl_plan_options o = options_make(&l, 0, 0), alone = o;
    alone.max_column.count = 0;
    const size_t blocks = blocks_of(&l, &alone);
    ck_assert_msg(bl_capacities_find(&o, l.length, ROWS, &e) == BL_OK, "%s", e.text);
    for (int c = 0; c < 2; c++) {
        struct bl_plan_options less = o;
        less.max_column.count = c + 1; /* the later one has been found with the earlier one */
        double max = --less.max_column.each[c].max, largest = 0;
        for (int i = 0; i < ROWS; i++)
            largest =
                l.length[i] && less.max_column.each[c].value[i] > largest ? less.max_column.each[c].value[i] : largest;
        ck_assert(max < largest || blocks_of(&l, &less) > blocks);
    }
    ck_assert_uint_eq(blocks_of(&l, &o), blocks);
    /* A capacity that is given stays, and the other one is found with it. */
    struct bl_plan_options given = options_make(&l, 31, 0);
    ck_assert_int_eq(bl_capacities_find(&given, l.length, ROWS, &e), BL_OK);
    ck_assert_double_eq(given.max_column.each[0].max, 31);
    ck_assert_double_gt(given.max_column.each[1].max, 0);
}

/* One sequence has more than the blocks need otherwise. */
UNIT_TEST(a_large_sequence_decides_the_capacity)
{
    struct lists l = lists_make();
    l.patches[5] = 5000;
    struct bl_plan_options o = options_make(&l, 0, 0);
    ck_assert_int_eq(bl_capacities_find(&o, l.length, ROWS, &e), BL_OK);
    ck_assert_double_eq(o.max_column.each[1].max, 5000);
    /* But not if it is dropped, because it is too long, too short, or not usable. */
    for (int way = 0; way < 4; way++) {
        struct lists without = l;
        struct bl_plan_options p = options_make(&without, 0, 0);
        without.length[5] = way == 0 ? 21 : way == 1 ? 1 : way == 2 ? 20 : 0;
        p.oversize = way == 0 ? BL_OVERSIZE_DROP : BL_OVERSIZE_ERROR;
        p.min_length = way == 1 ? 2 : 0;
        p.max_length = way == 2 ? 19 : 0;
        ck_assert_msg(bl_capacities_find(&p, without.length, ROWS, &e) == BL_OK, "%s", e.text);
        ck_assert_msg(p.max_column.each[1].max < 100, "way %d: %g", way, p.max_column.each[1].max);
    }
}

/* The largest sequence may lie in a block that is dropped. */
UNIT_TEST(capacities_do_for_blocks_that_are_dropped)
{
    struct lists l = lists_make();
    l.patches[5] = 5000;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct bl_plan_options o = options_make(&l, 0, 0);
        o.seed = seed;
        o.remainder = BL_REMAINDER_DROP;
        o.world_size = 3;
        ck_assert_msg(bl_capacities_find(&o, l.length, ROWS, &e) == BL_OK, "%s", e.text);
        ck_assert_double_eq(o.max_column.each[1].max, 5000);
    }
}

UNIT_TEST(capacities_of_fields_without_steps_are_1)
{
    struct lists l = lists_make();
    memset(l.text, 0, sizeof l.text);
    struct bl_plan_options o = options_make(&l, 0, 0);
    ck_assert_int_eq(bl_capacities_find(&o, l.length, ROWS, &e), BL_OK);
    ck_assert_double_eq(o.max_column.each[0].max, 1);
}

UNIT_TEST(capacities_are_found_for_numbers_of_steps_alone)
{
    static const double bad[] = {2.5, -1, 1e300, (double)BL_T_MAX + 1};
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct lists l = lists_make();
        l.text[3] = bad[i];
        struct bl_plan_options o = options_make(&l, 0, 0);
        FAILS_WITH(bl_capacities_find(&o, l.length, ROWS, &e), BL_EFAIL, "steps of text: not a number of steps");
    }
}

/* Two billion steps in each of many sequences that would fit into a block by their common steps. */
UNIT_TEST(capacities_end_where_steps_can_be_counted)
{
    struct lists l = lists_make();
    for (int i = 0; i < ROWS; i++)
        l.text[i] = 2e9;
    struct bl_plan_options o = options_make(&l, 0, 0);
    ck_assert_msg(bl_capacities_find(&o, l.length, ROWS, &e) == BL_OK, "%s", e.text);
    ck_assert_double_ge(o.max_column.each[0].max, 2e9);
    ck_assert_double_le(o.max_column.each[0].max, (double)BL_T_MAX);
}

UNIT_TEST(lists_of_capacities_are_completed)
{
    const struct bl_plan_own own = {2, {{.name = "text", .capacity = 7}, {.name = "patches", .capacity = -1}}};
    struct bl_plan_columns given = {.each = {{.name = "patches.length", .max = 9, .is_field = true}}, .count = 1};
    ck_assert_int_eq(bl_plan_capacity_complete(&given, &own, &e), BL_OK);
    ck_assert_int_eq(given.count, 2);
    ck_assert_str_eq(given.each[0].name, "text.length");
    ck_assert_double_eq(given.each[0].max, 7);
    ck_assert_double_eq(given.each[1].max, 9);
    struct bl_plan_columns none = {.count = 0};
    FAILS_WITH(bl_plan_capacity_complete(&none, &own, &e), BL_EUSAGE,
               "the field \"patches\" has steps of its own: give");
    struct bl_plan_columns other = {.each = {{.name = "patch.length", .max = 9, .is_field = true}}, .count = 1};
    FAILS(bl_plan_capacity_complete(&other, &own, &e), BL_EUSAGE,
          "--capacity: no field \"patch\" has steps of its own");
}

/* Sequences that do not fit into the capacity of any block are dropped as --oversize says. */
UNIT_TEST(what_is_over_a_capacity_is_dropped)
{
    struct lists l = lists_make();
    struct bl_plan_options o = options_make(&l, 30, 15);
    OWNED(bl_plan_free) struct bl_plan plan = {0}, refused = {0};
    o.oversize = BL_OVERSIZE_DROP;
    int over = 0;
    for (int i = 0; i < ROWS; i++)
        over += l.length[i] && l.patches[i] > 15;
    ck_assert_int_gt(over, 3);
    ck_assert_msg(bl_plan_make(&plan, l.length, ROWS, &o, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(plan.dropped, over);
    for (size_t p = 0; p < plan.pieces; p++)
        ck_assert_double_le(l.patches[plan.sequence[p]], 15);
    o.oversize = BL_OVERSIZE_ERROR;
    ck_assert_int_lt(bl_plan_make(&refused, l.length, ROWS, &o, &e), 0);
}

UNIT_TEST(sequences_with_own_steps_are_not_cut)
{
    struct lists l = lists_make();
    struct bl_plan_options o = options_make(&l, 30, 30);
    OWNED(bl_plan_free) struct bl_plan plan = {0}, refused = {0};
    l.length[4] = 50;
    l.text[4] = l.patches[4] = 0;
    o.oversize = BL_OVERSIZE_SPLIT;
    ck_assert_msg(bl_plan_make(&plan, l.length, ROWS, &o, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(plan.cut, 1);
    l.text[4] = 1;
    FAILS_WITH(bl_plan_make(&refused, l.length, ROWS, &o, &e), BL_EFAIL,
               "sequence 4 has 50 steps, more than T = 20, and a field with steps of its own: it cannot be cut");
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

/* Three pieces in two blocks, of which the second continues sequence 0; the own steps follow from the lengths. */
static int64_t block_ptr[] = {0, 2, 3}, piece_length[] = {6, 3, 4}, starts[] = {0, 0, 6};
static uint32_t sequence[] = {0, 1, 0};
static const int64_t length_of[] = {10, 3};
static double own_of[] = {5, 2};

static struct bl_plan plan_of(int32_t *piece)
{
    struct bl_plan plan = {.T = 10,
                           .blocks = 2,
                           .pieces = 3,
                           .block_ptr = block_ptr,
                           .sequence = sequence,
                           .length = piece_length,
                           .source_start = starts,
                           .own = {1, {{.name = "text", .capacity = 7, .length = own_of, .piece = piece}}}};
    return plan;
}

UNIT_TEST(own_steps_lie_where_the_sequence_begins)
{
    struct bl_plan plan = plan_of(NULL);
    ck_assert_int_eq(bl_plan_own_length(&plan, 0, 0), 5);
    ck_assert_int_eq(bl_plan_own_length(&plan, 0, 1), 2);
    ck_assert_int_eq(bl_plan_own_length(&plan, 0, 2), 0);
    ck_assert_msg(bl_plan_check(&plan, length_of, 2, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(plan.own.field[0].steps, 7);
    ck_assert_int_eq(plan.own.field[0].highest, 7);
    /* Without a capacity, the fullest block gives it. */
    plan.own.field[0].capacity = 0;
    ck_assert_int_eq(bl_plan_count_own(&plan, 2, &e), BL_OK);
    ck_assert_int_eq(plan.own.field[0].capacity, 7);
    FAILS(bl_plan_count_own(&plan, 1, &e), BL_EFAIL, "there is no sequence 1");
}

UNIT_TEST(plans_that_break_a_rule_of_own_steps_are_refused)
{
    int32_t piece[] = {5, 2, 0};
    struct bl_plan plan = plan_of(piece);
    ck_assert_int_eq(bl_plan_check(&plan, length_of, 2, &e), BL_OK);
    piece[1] = 1;
    FAILS(bl_plan_check(&plan, length_of, 2, &e), BL_EFAIL,
          "block 0: a piece of sequence 1 has 1 steps of text, but the sequence has 2 for it");
    piece[1] = 2;
    piece[2] = 5;
    FAILS(bl_plan_check(&plan, length_of, 2, &e), BL_EFAIL,
          "block 1: a piece of sequence 0 has 5 steps of text, but the sequence has 0 for it");
    plan = plan_of(NULL);
    plan.own.field[0].capacity = 6;
    FAILS(bl_plan_check(&plan, length_of, 2, &e), BL_EFAIL,
          "block 0 has more than 6 steps of text, the capacity of that field");
    plan.own.field[0].capacity = 7;
    static const struct {
        double steps;
        const char *message;
    } bad[] = {{0.5, "sequence 1 has 0.5 steps of text: not a number of steps"},
               {-1, "sequence 1 has -1 steps of text: not a number of steps"},
               {1e300, "sequence 1 has 1e+300 steps of text: not a number of steps"},
               {(double)NAN, "steps of text: not a number of steps"}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        own_of[1] = bad[i].steps;
        FAILS_WITH(bl_plan_check(&plan, length_of, 2, &e), BL_EFAIL, bad[i].message);
    }
    own_of[1] = 2;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Makes a plan with own fields, with empty blocks at its end where there are ranks, or with cut sequences of a store.
 */
static void plan_make(struct bl_plan *plan, const struct lists *l, bool is_store)
{
    struct bl_error e = {0};
    struct bl_plan_options o = options_make(l, 60, 90);
    if (is_store) {
        o = (struct bl_plan_options){.strategy = BL_STRATEGY_STORE, .T = 9, .capacity = o.max_column};
        const double *value[] = {l->text, l->patches};
        bl_plan_columns_set(&o, NULL, (double *const *)(uintptr_t)value);
    } else {
        o.world_size = 16;
        o.remainder = BL_REMAINDER_PAD;
    }
    ck_assert_msg(bl_plan_make(plan, l->length, ROWS, &o, &e) == BL_OK, "%s", e.text);
    /* A store's capacities are those of its fullest blocks. */
    ck_assert_int_eq(bl_plan_count_own(plan, ROWS, &e), BL_OK);
    ck_assert_int_eq(plan->own.count, 2);
    ck_assert(is_store || plan->block_ptr[plan->blocks - 1] == plan->block_ptr[plan->blocks]);
    ck_assert(!is_store || plan->source_start);
}

static void assert_same(const struct bl_plan *a, const struct bl_plan *b)
{
    ck_assert_uint_eq(a->blocks, b->blocks);
    ck_assert_uint_eq(a->pieces, b->pieces);
    ck_assert_mem_eq(a->sequence, b->sequence, a->pieces * sizeof *a->sequence);
    for (int f = 0; f < 2; f++) {
        ck_assert_str_eq(a->own.field[f].name, b->own.field[f].name);
        ck_assert_int_eq(a->own.field[f].capacity, b->own.field[f].capacity);
        ck_assert_int_eq(a->own.field[f].steps, b->own.field[f].steps);
        ck_assert_int_eq(a->own.field[f].highest, b->own.field[f].highest);
        for (size_t p = 0; p < a->pieces; p++)
            ck_assert_int_eq(bl_plan_own_length(a, f, p), bl_plan_own_length(b, f, p));
    }
}

static void commit(struct bl_output *out)
{
    struct bl_error e = {0};
    ck_assert_int_eq(bl_output_commit(out, &e), BL_OK);
}

UNIT_LOOP(plans_survive_their_files, 2)
{
    const struct lists l = lists_make();
    OWNED(bl_plan_free) struct bl_plan plan = {0}, text = {0}, binary = {0};
    struct bl_output out;
    struct bl_plan_info info = {0};
    plan_make(&plan, &l, _i);
    ck_assert_int_eq(bl_output_open(&out, "plan.tsv", &e), BL_OK);
    ck_assert_int_eq(bl_plan_table_write(&out, &plan, l.length, &e), BL_OK);
    commit(&out);
    ck_assert_msg(bl_plan_table_read(&text, "plan.tsv", plan.T, 1, 0, &plan.own, l.length, ROWS, &e) == BL_OK, "%s",
                  e.text);
    assert_same(&plan, &text);
    bl_plan_info_make(&info, &plan, &(struct bl_plan_options){.strategy = BL_STRATEGY_BLOCK});
    ck_assert_int_eq(bl_output_open(&out, "plan.safetensors", &e), BL_OK);
    ck_assert_msg(bl_index_write(&out, &plan, l.length, ROWS, &info, &e) == BL_OK, "%s", e.text);
    commit(&out);
    ck_assert_msg(bl_index_load(&binary, "plan.safetensors", plan.T, 1, l.length, ROWS, &plan.own, &info, &e) == BL_OK,
                  "%s", e.text);
    assert_same(&plan, &binary);
    ck_assert_int_eq(info.columns, 2);
    /* Another capacity, or another field, is another plan. */
    struct bl_plan other;
    struct bl_plan_own own = plan.own;
    own.field[1].capacity++;
    FAILS_WITH(bl_index_load(&other, "plan.safetensors", plan.T, 1, l.length, ROWS, &own, NULL, &e), BL_EUSAGE,
               "steps of the field \"patches\" in a block, not for ");
    strcpy(own.field[1].name, "pitches");
    FAILS_WITH(bl_index_load(&other, "plan.safetensors", plan.T, 1, l.length, ROWS, &own, NULL, &e), BL_EUSAGE,
               "the plan has the field \"patches\" with steps of its own, not \"pitches\"");
    FAILS_WITH(bl_plan_table_read(&other, "plan.tsv", plan.T, 1, 0, &own, l.length, ROWS, &e), BL_EFAIL,
               "plan.tsv:1: not a plan: the header line is not");
    own.count = 1;
    FAILS_WITH(bl_index_load(&other, "plan.safetensors", plan.T, 1, l.length, ROWS, &own, NULL, &e), BL_EUSAGE,
               "fields with steps of their own: the plan has 2, the data 1");
}

UNIT_TEST(tables_with_wrong_own_steps_are_refused_by_line)
{
    static const struct {
        const char *rows, *message;
    } bad[] = {
        {"0\t0\t0\t10\t0\t0\t4\n", "plan:2: 4 steps of text from 0 on: the sequence has 5, which begin at 0"},
        {"0\t0\t0\t10\t0\t1\t5\n", "plan:2: 5 steps of text from 1 on"},
        {"0\t1\t0\t3\t0\t0\t2\n0\t0\t3\t6\t0\t0\t5\n",
         "plan:3: 5 steps of text from 0 on: the sequence has 5, which begin at 2"},
        {"0\t0\t0\t10\t0\t0\n", "plan:2: not 7 integers"},
        {"0\t0\t0\t10\t0\t0\t5\t0\n", "plan:2: not 7 integers"},
        {"0\t-1\t0\t0\t0\t0\t5\n", "plan:2: 5 steps of text from 0 on: the sequence has 0"},
        {"0\t0\t0\t10\t0\t0\t9223372036854775807\n", "plan:2: 9223372036854775807 steps of text"},
    };
    const struct bl_plan_own own = {1, {{.name = "text", .capacity = 9, .length = own_of}}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        char text[256];
        struct bl_plan plan;
        snprintf(text, sizeof text, "%.*s\ttext.start\ttext.length\n%s", (int)strlen(BL_PLAN_TABLE_HEADER) - 1,
                 BL_PLAN_TABLE_HEADER, bad[i].rows);
        unit_write_text("plan", text);
        FAILS_WITH(bl_plan_table_read(&plan, "plan", 13, 1, 0, &own, length_of, 2, &e), BL_EFAIL, bad[i].message);
        /* A table of sequences may have numbers that are no steps. */
        static const double absurd[] = {1e300, 2.5};
        const struct bl_plan_own none = {1, {{.name = "text", .capacity = 9, .length = absurd}}};
        ck_assert_int_lt(bl_plan_table_read(&plan, "plan", 13, 1, 0, &none, length_of, 2, &e), 0);
        bl_error_clear(&e);
    }
}
