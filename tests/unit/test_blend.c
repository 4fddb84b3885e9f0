/* Blends: shares in every batch, no repetition before a source is exhausted, and the same plan for the same seed. */

#include "plan/mixture.h"
#include "plan/random.h"
#include "unit.h"

#define SOURCES_MAX 5
#define LENGTHS_MAX 600

struct blending {
    int64_t length[LENGTHS_MAX];
    size_t count, sources;
    struct bl_blend_source source[SOURCES_MAX];
    struct bl_plan_options options;
    struct bl_blend_options blend;
    uint32_t seen[LENGTHS_MAX]; /* how often so far */
};

/* Sources of random sizes, ranks and batches. */
static void blending_draw(struct blending *x, struct bl_random *random, bool weighted)
{
    *x = (struct blending){.options = {.strategy = BL_STRATEGY_BLOCK,
                                       .T = 100,
                                       .seed = bl_random_next(random),
                                       .world_size = 1 + (int64_t)bl_random_below(random, 3),
                                       .batch_size = 1 + (int64_t)bl_random_below(random, 3),
                                       .accumulate = 1 + (int64_t)bl_random_below(random, 2),
                                       .remainder = BL_REMAINDER_PAD},
                           .sources = 2 + bl_random_below(random, SOURCES_MAX - 1),
                           .blend = {.epochs = 3}};
    for (size_t s = 0; s < x->sources; s++) {
        size_t n = 1 + bl_random_below(random, LENGTHS_MAX / SOURCES_MAX);
        x->source[s] = (struct bl_blend_source){x->count, n, weighted ? 0.1 + (double)bl_random_below(random, 50) : 0};
        for (size_t i = 0; i < n; i++)
            x->length[x->count++] = 1 + (int64_t)bl_random_below(random, 100);
    }
    if (weighted && bl_random_below(random, 2))
        x->blend.epoch_steps = 100 * (int64_t)(1 + bl_random_below(random, 200));
}

static size_t source_of(const struct blending *x, uint32_t row)
{
    size_t s = 0;
    while (s + 1 < x->sources && x->source[s + 1].first <= row)
        s++;
    return s;
}

/* A block's source, or the number of sources: it is empty. */
static size_t block_source(const struct blending *x, const struct bl_plan *plan, size_t b)
{
    size_t first = (size_t)plan->block_ptr[b], end = (size_t)plan->block_ptr[b + 1];
    int64_t steps = 0;
    for (size_t p = first; p < end; p++) {
        ck_assert_uint_eq(source_of(x, plan->sequence[p]), source_of(x, plan->sequence[first]));
        steps += plan->length[p];
    }
    ck_assert_int_le(steps, plan->T);
    return first < end ? source_of(x, plan->sequence[first]) : x->sources;
}

static void check_shares(const struct blending *x, const struct bl_plan *plan)
{
    size_t each = (size_t)(x->options.world_size * x->options.batch_size), batches = plan->blocks / each;
    size_t *count = calloc(batches * (x->sources + 1), sizeof *count), empty = 0;
    ck_assert_ptr_nonnull(count);
    ck_assert_uint_eq(plan->blocks % (each * (size_t)x->options.accumulate), 0);
    for (size_t b = 0; b < plan->blocks; b++)
        count[b / each * (x->sources + 1) + block_source(x, plan, b)]++;
    for (size_t g = 0; g < batches; g++)
        empty += count[g * (x->sources + 1) + x->sources];
    for (size_t s = 0; s < x->sources && !empty; s++) {
        size_t least = SIZE_MAX, most = 0;
        for (size_t g = 0; g < batches; g++) {
            size_t n = count[g * (x->sources + 1) + s];
            least = n < least ? n : least;
            most = n > most ? n : most;
        }
        ck_assert_uint_le(most - least, 1);
    }
    free(count);
}

/* Of a source, every sequence is there as often as any other, or once more. */
static void check_pace(struct blending *x, const struct bl_plan *plan)
{
    for (size_t p = 0; p < plan->pieces; p++)
        x->seen[plan->sequence[p]]++;
    for (size_t s = 0; s < x->sources; s++) {
        uint32_t least = UINT32_MAX, most = 0;
        for (size_t i = 0; i < x->source[s].count; i++) {
            uint32_t seen = x->seen[x->source[s].first + i];
            least = seen < least ? seen : least;
            most = seen > most ? seen : most;
        }
        ck_assert_uint_le(most - least, 1);
        ck_assert(x->source[0].weight > 0 || most == least);
    }
}

UNIT_TEST(shares_and_pace)
{
    struct bl_random random;
    bl_random_seed(&random, 11, BL_STREAM_BLEND);
    for (int round = 0; round < unit_times(300); round++) {
        struct blending x;
        OWNED(bl_blend_free) struct bl_blend blend, again;
        size_t at;
        blending_draw(&x, &random, round % 2);
        ck_assert_msg(bl_blend_make(&blend, x.length, x.count, x.source, x.sources, &x.options, &x.blend, &at, &e) ==
                          BL_OK,
                      "%s", e.text);
        ck_assert_msg(bl_blend_make(&again, x.length, x.count, x.source, x.sources, &x.options, &x.blend, &at, &e) ==
                          BL_OK,
                      "%s", e.text);
        size_t blocks = 0;
        for (int64_t epoch = 0; epoch < x.blend.epochs; epoch++) {
            OWNED(bl_plan_free) struct bl_plan plan, same;
            ck_assert_msg(bl_blend_draw(&blend, &plan, &e) == 0, "%s", e.text);
            ck_assert_int_eq(bl_blend_draw(&again, &same, &e), 0);
            ck_assert(plan.pieces == same.pieces &&
                      memcmp(plan.sequence, same.sequence, plan.pieces * sizeof *plan.sequence) == 0);
            ck_assert(!epoch || plan.blocks == blocks);
            blocks = plan.blocks;
            check_shares(&x, &plan);
            check_pace(&x, &plan);
            ck_assert_int_eq((int64_t)plan.blocks * plan.T, plan.steps - plan.deleted + plan.padding);
            ck_assert_int_le(plan.lower_bound, (int64_t)plan.blocks);
        }
    }
}

/* Drawn together: after every epoch, each source's steps are nearest to its share. */
UNIT_TEST(mixtures)
{
    struct bl_random random;
    bl_random_seed(&random, 12, BL_STREAM_MIXTURE);
    for (int round = 0; round < unit_times(200); round++) {
        struct blending x;
        struct bl_mixture mixture, again;
        double taken[SOURCES_MAX] = {0}, sum = 0;
        size_t at, blocks = 0;
        blending_draw(&x, &random, true);
        for (size_t s = 0; s < x.sources; s++)
            sum += x.source[s].weight;
        int code = bl_mixture_make(&mixture, x.length, x.count, x.source, x.sources, &x.options, &x.blend, &at, &e);
        if (code) { /* an epoch of less than half a sequence */
            ck_assert_ptr_nonnull(strstr(e.text, "plan"));
            continue;
        }
        ck_assert_msg(bl_mixture_make(&again, x.length, x.count, x.source, x.sources, &x.options, &x.blend, &at, &e) ==
                          BL_OK,
                      "%s", e.text);
        for (int64_t epoch = 0; epoch < x.blend.epochs; epoch++) {
            OWNED(bl_plan_free) struct bl_plan plan, same;
            ck_assert_msg(bl_mixture_draw(&mixture, &plan, &e) == 0, "%s", e.text);
            ck_assert_int_eq(bl_mixture_draw(&again, &same, &e), 0);
            ck_assert(plan.pieces == same.pieces &&
                      memcmp(plan.sequence, same.sequence, plan.pieces * sizeof *plan.sequence) == 0);
            ck_assert(!epoch || plan.blocks == blocks);
            blocks = plan.blocks;
            for (size_t p = 0; p < plan.pieces; p++)
                taken[source_of(&x, plan.sequence[p])] += (double)x.length[plan.sequence[p]];
            for (size_t s = 0; s < x.sources; s++) {
                double due = x.source[s].weight / sum * mixture.epoch_steps * (double)(epoch + 1);
                ck_assert_msg(taken[s] - due <= 50 && due - taken[s] <= 50, "%g, not %g", taken[s], due);
            }
            ck_assert_int_eq((int64_t)plan.blocks * plan.T, plan.steps + plan.padding);
        }
        bl_mixture_free(&mixture);
        bl_mixture_free(&again);
    }
}

UNIT_TEST(repetition_is_limited_on_request)
{
    const int64_t length[] = {60, 60, 60, 60, 60, 60, 60};
    const struct bl_blend_source source[] = {{0, 6, 1}, {6, 1, 1}};
    const struct bl_plan_options options = {.strategy = BL_STRATEGY_BLOCK, .T = 100};
    struct bl_blend_options given = {.epoch_steps = 1000, .repeat_max = 5, .epochs = 1};
    OWNED(bl_blend_free) struct bl_blend blend;
    size_t at;
    ck_assert_int_eq(bl_blend_make(&blend, length, 7, source, 2, &options, &given, &at, &e), 0);
    bl_blend_free(&blend);
    given.repeat_max = 4;
    ck_assert_int_eq(bl_blend_make(&blend, length, 7, source, 2, &options, &given, &at, &e), BL_EUSAGE);
    ck_assert_uint_eq(at, 1);
    ck_assert_ptr_nonnull(strstr(e.text, "5.00 times"));
    /* Without the number of steps, an epoch ends before the second source begins again. */
    given = (struct bl_blend_options){.repeat_max = 1, .epochs = 1};
    ck_assert_int_eq(bl_blend_make(&blend, length, 7, source, 2, &options, &given, &at, &e), 0);
    ck_assert_uint_eq(blend.blocks, 2);
}

UNIT_TEST(what_a_blend_does_not_have_is_refused)
{
    const int64_t length[] = {60, 60};
    const struct bl_blend_source source[] = {{0, 1, 0}, {1, 1, 0}};
    const struct bl_blend_options given = {.epochs = 1};
    const struct bl_plan_options wrong[] = {
        {.strategy = BL_STRATEGY_NAIVE, .T = 100},
        {.strategy = BL_STRATEGY_BLOCK, .fill = BL_FILL_PAPER, .T = 100},
        {.strategy = BL_STRATEGY_BLOCK, .T = 100, .order = BL_KEEP_ORDER},
        {.strategy = BL_STRATEGY_BLOCK, .T = 100, .balance = BL_BALANCE_QUADRATIC},
        {.strategy = BL_STRATEGY_BLOCK, .T = 100, .cost = {.alpha = 1, .beta = 1}},
        {.strategy = BL_STRATEGY_BLOCK, .T = 100, .remainder = BL_REMAINDER_DROP},
    };
    struct bl_blend blend;
    size_t at;
    for (size_t i = 0; i < COUNT(wrong); i++)
        ck_assert_int_eq(bl_blend_make(&blend, length, 2, source, 2, &wrong[i], &given, &at, &e), BL_EUSAGE);
}
