/* Epochs differ in who shares a block, as long as there is another partition into as many blocks: all of them, counted
 * by trying everything. */

#include "plan/planner.h"
#include "plan/random.h"
#include "unit.h"

enum { COUNT = 7, T = 20 };

struct counting {
    const int64_t *length;
    const struct bl_plan_options *o;
    size_t blocks, count;
    int64_t room[COUNT];
    double left[COUNT];
    uint32_t size[COUNT], group[COUNT];
};

/* Counts the partitions in which piece i and those after it join the blocks so far, or begin the next one. */
static int64_t count_partitions(struct counting *c, size_t i, size_t used)
{
    const struct bl_plan_options *o = c->o;
    int64_t sum = 0;
    if (i == c->count)
        return used == c->blocks;
    double need = o->max_column.count ? o->max_column.each[0].value[i] : 0;
    for (size_t b = 0; b <= used && b < c->blocks; b++) {
        if (b == used) {
            c->room[b] = T;
            c->size[b] = 0;
            c->left[b] = o->max_column.count ? o->max_column.each[0].max : 1;
            c->group[b] = o->group ? o->group[i] : 0;
        }
        if (c->length[i] > c->room[b] || (int64_t)c->size[b] == o->max_sequences || need > c->left[b] ||
            (o->group && o->group[i] != c->group[b]))
            continue;
        c->room[b] -= c->length[i];
        c->size[b]++;
        c->left[b] -= need;
        sum += count_partitions(c, i + 1, used + (b == used));
        c->room[b] += c->length[i];
        c->size[b]--;
        c->left[b] += need;
    }
    return sum;
}

/* Who shares a block with whom, as one text. */
static void write_partition(const struct bl_plan *plan, char *out)
{
    uint32_t least[COUNT];
    for (size_t b = 0; b < plan->blocks; b++) {
        uint32_t first = COUNT;
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++)
            first = plan->sequence[p] < first ? plan->sequence[p] : first;
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++)
            least[plan->sequence[p]] = first;
    }
    for (size_t i = 0; i < COUNT; i++)
        out[i] = (char)('0' + least[i]);
    out[COUNT] = '\0';
}

/* Draws as many epochs as there are partitions, and one more. */
static void assert_epochs(const int64_t *length, const struct bl_plan_options *o, uint64_t seed)
{
    char seen[64][COUNT + 1];
    OWNED(bl_planner_free) struct bl_planner planner;
    struct bl_partitions taken = {0};
    struct bl_error e = {0};
    struct counting c = {.length = length, .o = o, .count = COUNT};
    ck_assert_msg(bl_planner_make(&planner, length, COUNT, o, &e) == 0, "%s", e.text);
    planner.taken = &taken;
    int64_t partitions = 0;
    for (int64_t k = 0; k < 64 && k <= partitions; k++) {
        OWNED(bl_plan_free) struct bl_plan plan;
        ck_assert_int_eq(bl_planner_draw(&planner, seed + (uint64_t)k, 0, false, &plan, NULL), 0);
        c.blocks = c.blocks ? c.blocks : plan.blocks;
        partitions = partitions ? partitions : count_partitions(&c, 0, 0);
        ck_assert_uint_eq(plan.blocks, c.blocks);
        ck_assert_msg(planner.is_repeated == (k == partitions && c.blocks < COUNT), "%d of %d in %zu", (int)k,
                      (int)partitions, c.blocks);
        write_partition(&plan, seen[k]);
        for (int64_t j = 0; j < k && k < partitions; j++)
            ck_assert_str_ne(seen[j], seen[k]);
    }
    bl_partitions_free(&taken);
}

UNIT_TEST(every_partition_has_its_epoch)
{
    struct bl_random r;
    bl_random_seed(&r, 4, BL_STREAM_FILL);
    for (int turn = 0; turn < unit_times(200); turn++) {
        int64_t length[COUNT];
        uint32_t group[COUNT];
        double value[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            length[i] = 3 + (int64_t)bl_random_below(&r, 15);
            group[i] = (uint32_t)bl_random_below(&r, 2);
            value[i] = (double)bl_random_below(&r, 4);
        }
        struct bl_plan_options o = {.T = T, .strategy = BL_STRATEGY_BLOCK, .fill = BL_FILL_OPTIMAL};
        o.max_sequences = turn % 3 == 1 ? 2 : COUNT;
        o.group = turn % 4 == 1 ? group : NULL;
        if (turn % 4 == 2) {
            o.max_column.count = 1;
            o.max_column.each[0].max = 5;
            o.max_column.each[0].value = value;
        }
        assert_epochs(length, &o, (uint64_t)turn);
    }
}

/* Of more pieces than are tried in every way: blocks of two that fit together alone, and two blocks that can change. */
UNIT_TEST(a_few_blocks_of_many_change)
{
    enum { PAIRS = 100 };
    int64_t length[2 * PAIRS + 4];
    size_t n = 0;
    for (int64_t i = 0; i < PAIRS; i++) { /* 1000 in all, each with one partner */
        length[n++] = 501 + 4 * i;
        length[n++] = 499 - 4 * i;
    }
    int64_t loose[] = {700, 298, 702, 296};
    memcpy(length + n, loose, sizeof loose);
    n += 4;
    struct bl_plan_options o = {.T = 1000, .strategy = BL_STRATEGY_BLOCK, .fill = BL_FILL_OPTIMAL};
    OWNED(bl_planner_free) struct bl_planner planner;
    struct bl_partitions taken = {0};
    uint64_t hash[2];
    ck_assert_int_eq(bl_planner_make(&planner, length, n, &o, NULL), 0);
    planner.taken = &taken;
    for (int k = 0; k < 2; k++) {
        OWNED(bl_plan_free) struct bl_plan plan;
        ck_assert_int_eq(bl_planner_draw(&planner, 5, 0, false, &plan, NULL), 0);
        ck_assert_uint_eq(plan.blocks, PAIRS + 2);
        hash[k] = planner.partition;
    }
    ck_assert(!planner.is_repeated && hash[0] != hash[1]);
    bl_partitions_free(&taken);
}
