/* Plans: the arithmetic of the paper, the laws of every plan over random lists with all options crossed, chance where
 * chance is promised, and the same answer on every machine. */
#include <math.h>

#include "plan/draft.h"
#include "plan/search.h"
#include "plan/histogram.h"
#include "plan/order.h"
#include "plan/plan.h"
#include "plan/random.h"
#include "unit.h"

struct list {
    int64_t *length;
    size_t count;
};

static void list_free(struct list *l)
{
    free(l->length);
}

static uint64_t digest_of(const void *data, size_t bytes, uint64_t digest)
{
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static uint64_t plan_digest(const struct bl_plan *p)
{
    uint64_t d = UINT64_C(0xcbf29ce484222325);
    d = digest_of(p->block_ptr, (p->blocks + 1) * sizeof *p->block_ptr, d);
    d = digest_of(p->sequence, p->pieces * sizeof *p->sequence, d);
    if (p->length)
        d = digest_of(p->length, p->pieces * sizeof *p->length, d);
    if (p->source_start)
        d = digest_of(p->source_start, p->pieces * sizeof *p->source_start, d);
    return d;
}

static struct list random_list(size_t count, int64_t longest, uint64_t seed)
{
    struct bl_random r;
    bl_random_seed(&r, seed, BL_STREAM_FILL);
    struct list l = {malloc(count * sizeof *l.length), count};
    ck_assert_ptr_nonnull(l.length);
    for (size_t i = 0; i < count; i++)
        l.length[i] = 1 + (int64_t)bl_random_below(&r, (uint64_t)longest);
    return l;
}

/* A real list of the shared data; count 0, with a word, where it is absent. Lines "length" or "length count". */
static struct list shared_list(const char *name)
{
    const char *shared = getenv("BLOAD_SHARED");
    char path[4096], line[64];
    snprintf(path, sizeof path, "%s/data/lengths/%s", shared ? shared : "../shared", name);
    struct list l = {NULL, 0};
    FILE *f = fopen(path, "r");
    if (!f) {
        fprintf(stderr, "skipped: %s: %s\n", path, strerror(errno));
        return l;
    }
    size_t capacity = 0;
    while (fgets(line, sizeof line, f)) {
        long long length, times = 1;
        if (sscanf(line, "%lld %lld", &length, &times) < 1)
            ck_abort_msg("%s: %s", path, line);
        if (l.count + (size_t)times > capacity) {
            capacity = (l.count + (size_t)times) * 2;
            l.length = realloc(l.length, capacity * sizeof *l.length);
            ck_assert_ptr_nonnull(l.length);
        }
        while (times-- > 0)
            l.length[l.count++] = length;
    }
    fclose(f);
    return l;
}

static struct bl_plan make(struct list l, const struct bl_plan_options *o)
{
    struct bl_plan plan;
    struct bl_error e = {0};
    ck_assert_msg(bl_plan_make(&plan, l.length, l.count, o, &e) == 0, "%s", e.text);
    return plan;
}

static int64_t lower(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Recounted here from the tables, by the plainest means, and by bl_plan_check; all must agree. */
static void assert_sound(const struct bl_plan *plan, struct list l)
{
    struct bl_plan again = *plan;
    struct bl_error e = {0};
    ck_assert_msg(bl_plan_check(&again, l.length, l.count, &e) == 0, "%s", e.text);
    ck_assert_mem_eq(&again, plan, sizeof again);

    FREED int64_t *placed = calloc(l.count, sizeof *placed), *pieces = calloc(l.count, sizeof *pieces);
    ck_assert(placed && pieces);
    int64_t padding = 0, deleted = 0, cut = 0, dropped = 0;
    int overfull = 0; /* asserted once: an assertion costs a system call */
    for (size_t b = 0; b < plan->blocks; b++) {
        int64_t room = plan->T;
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++) {
            int64_t steps = bl_plan_piece_length(plan, l.length, (size_t)p);
            placed[plan->sequence[p]] += steps;
            pieces[plan->sequence[p]]++;
            room -= steps;
        }
        overfull |= room < 0;
        padding += room;
    }
    for (size_t i = 0; i < l.count; i++) {
        overfull |= placed[i] > l.length[i];
        deleted += l.length[i] - placed[i];
        dropped += pieces[i] == 0 && l.length[i] > 0;
        cut += (pieces[i] > 1 && !plan->is_store) || (pieces[i] > 0 && placed[i] < l.length[i]);
    }
    ck_assert(!overfull);
    ck_assert_int_eq(plan->padding, padding);
    ck_assert_int_eq(plan->deleted, deleted);
    ck_assert_int_eq(plan->cut, cut);
    ck_assert_int_eq(plan->dropped, dropped);
    ck_assert_int_eq((int64_t)plan->blocks * plan->T, plan->steps - deleted + padding);
    ck_assert_int_le(plan->lower_bound, (int64_t)plan->blocks);
    ck_assert_int_ge(plan->lower_bound, (plan->steps - deleted + plan->T - 1) / plan->T);
}

/* What each strategy owes to every single sequence. */
static void assert_strategy(const struct bl_plan *plan, struct list l, const struct bl_plan_options *o)
{
    int64_t expected = 0;
    int clipped = o->strategy == BL_STRATEGY_SAMPLE || o->strategy == BL_STRATEGY_MIX;
    for (size_t i = 0; i < l.count; i++) {
        int64_t length = l.length[i], T = plan->T;
        if (o->strategy == BL_STRATEGY_SAMPLE)
            expected += o->clips == BL_CLIPS_ALL ? length / T * T : (length >= T) * T;
        else if (o->strategy == BL_STRATEGY_MIX || o->oversize == BL_OVERSIZE_TRUNCATE)
            expected += lower(length, T);
        else if (o->oversize == BL_OVERSIZE_DROP)
            expected += length <= T ? length : 0;
        else
            expected += length;
    }
    ck_assert_int_eq(plan->steps - plan->deleted, expected);
    if (clipped || o->strategy == BL_STRATEGY_NAIVE)
        ck_assert_uint_eq(plan->blocks, plan->pieces);
    if (o->strategy == BL_STRATEGY_SAMPLE)
        ck_assert_int_eq(plan->padding, 0);
    if (o->strategy == BL_STRATEGY_MIX || (!clipped && o->oversize == BL_OVERSIZE_TRUNCATE))
        ck_assert_ptr_null(plan->source_start);
    if (plan->cut == 0)
        ck_assert(!plan->length && !plan->source_start);
    else
        ck_assert_ptr_nonnull(plan->length);
}

static void try_options(struct list l, struct bl_plan_options o)
{
    struct bl_plan plan, again;
    struct bl_error e = {0};
    int rc = bl_plan_make(&plan, l.length, l.count, &o, &e);
    if (rc < 0) { /* the only two reasons here */
        ck_assert_int_eq(rc, BL_EFAIL);
        ck_assert(strstr(e.text, "more than T") || strstr(e.text, "none of the"));
        ck_assert_ptr_null(plan.block_ptr);
        ck_assert_uint_eq(plan.blocks, 0);
        return;
    }
    assert_sound(&plan, l);
    assert_strategy(&plan, l, &o);
    again = make(l, &o);
    ck_assert_uint_eq(plan_digest(&plan), plan_digest(&again));
    bl_plan_free(&again);
    bl_plan_free(&plan);
}

UNIT_LOOP(every_option_on_random_lists, unit_times(70))
{
    static const int64_t longest[] = {1, 2, 7, 100, 5000, 70000, BL_T_MAX};
    int64_t max = longest[_i % (int)COUNT(longest)];
    OWNED(list_free) struct list l = random_list(1 + (size_t)_i * 7 % 61, max, (uint64_t)_i);
    if (_i % 3 == 0)
        l.length[l.count / 2] = 0; /* a row that is not ok */
    if (l.count == 1)
        l.length[0] = max;
    int64_t T[] = {0, max, max / 2 + 1, max / 5 + 1};
    for (int s = BL_STRATEGY_NAIVE; s < BL_STRATEGY_STORE; s++)
        for (int fill = BL_FILL_OPTIMAL; fill < BL_FILL_COUNT; fill++)
            for (int over = BL_OVERSIZE_ERROR; over <= BL_OVERSIZE_DROP; over++)
                for (int clips = BL_CLIPS_ONE; clips <= BL_CLIPS_ALL; clips++)
                    for (size_t t = 0; t < COUNT(T); t++)
                        try_options(l, (struct bl_plan_options){.strategy = (enum bl_strategy)s,
                                                                .fill = (enum bl_fill)fill,
                                                                .oversize = (enum bl_oversize)over,
                                                                .clips = (enum bl_clips)clips,
                                                                .T = T[t],
                                                                .clip = T[t],
                                                                .seed = (uint64_t)_i,
                                                                .effort = 1});
}

/* All steps as they follow each other, in full rows but the last. */
UNIT_LOOP(a_store_has_all_in_rows, unit_times(40))
{
    static const int64_t longest[] = {1, 9, 100, 5000};
    OWNED(list_free) struct list l = random_list(1 + (size_t)_i * 7 % 61, longest[_i % 4], (uint64_t)_i);
    if (_i % 3 == 0)
        l.length[l.count / 2] = l.count > 1 ? 0 : 5;
    const int64_t T[] = {1, 2, 10, 64, 4999, 1 << 20, 0};
    for (size_t t = 0; t < COUNT(T); t++) {
        OWNED(bl_plan_free)
        struct bl_plan plan = make(l, &(struct bl_plan_options){.strategy = BL_STRATEGY_STORE, .T = T[t]});
        assert_sound(&plan, l);
        ck_assert_int_eq(plan.cut, 0);
        ck_assert_int_eq(plan.deleted, 0);
        ck_assert_int_lt(plan.padding, plan.T);
        ck_assert_int_eq(plan.lower_bound, (int64_t)plan.blocks);
        size_t p = 0, parts = 0;
        for (size_t i = 0; i < l.count; i++) {
            for (int64_t done = 0; done < l.length[i]; p++) {
                ck_assert_uint_eq(plan.sequence[p], i);
                ck_assert_int_eq(plan.source_start ? plan.source_start[p] : 0, done);
                done += bl_plan_piece_length(&plan, l.length, p);
                parts += done < l.length[i];
            }
        }
        ck_assert_uint_eq(p, plan.pieces);
        ck_assert_int_eq(bl_plan_has_parts(&plan), parts > 0);
        plan.is_store = false; /* the same tables of another strategy have cut sequences */
        ck_assert_int_eq(bl_plan_check(&plan, l.length, l.count, &e), 0);
        ck_assert_int_eq(plan.cut > 0, parts > 0);
    }
}

UNIT_TEST(a_store_that_lost_steps_has_cut_sequences)
{
    int64_t length[] = {3, 9, 4};
    struct list l = {length, 3};
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &(struct bl_plan_options){.strategy = BL_STRATEGY_STORE, .T = 5});
    ck_assert_uint_eq(plan.pieces, 6); /* 3 2, 5, 2 3, 1 */
    plan.length[2]--;
    ck_assert_int_eq(bl_plan_check(&plan, l.length, l.count, &e), 0);
    ck_assert_int_eq(plan.cut, 1);
    ck_assert_int_eq(plan.deleted, 1);
    bl_plan_free(&plan);
    plan = make(l, &(struct bl_plan_options){.strategy = BL_STRATEGY_STORE, .T = 5, .max_length = 5});
    ck_assert_int_eq(plan.dropped, 1);
    ck_assert_int_eq(plan.deleted, 9);
    ck_assert_uint_eq(plan.blocks, 2);
    ck_assert_int_eq(plan.cut, 0);
}

/* Every packing of a handful of lengths: the fewest blocks there can be. */
static size_t fewest(const int64_t *length, size_t n, int64_t *room, size_t used, int64_t T)
{
    if (n == 0)
        return used;
    size_t best = SIZE_MAX;
    for (size_t b = 0; b <= used; b++) {
        if (b == used)
            room[b] = T;
        if (room[b] < length[0])
            continue;
        room[b] -= length[0];
        size_t blocks = fewest(length + 1, n - 1, room, b == used ? used + 1 : used, T);
        room[b] += length[0];
        best = blocks < best ? blocks : best;
    }
    return best;
}

UNIT_LOOP(bound_and_blocks_around_the_optimum, unit_times(60))
{
    OWNED(list_free) struct list l = random_list(8, 20, 1000 + (uint64_t)_i);
    int64_t room[9];
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = 20 + _i % 20};
    size_t optimum = fewest(l.length, l.count, room, 0, o.T);
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    ck_assert_int_le(plan.lower_bound, (int64_t)optimum);
    ck_assert_uint_ge(plan.blocks, optimum);
    ck_assert_uint_le(plan.blocks * 9, optimum * 11 + 6); /* Dosa's bound for decreasing fits */
}

UNIT_TEST(bound_of_large_lengths)
{
    static const struct {
        int64_t length[6], T;
        size_t count;
        int64_t steps, blocks;
    } cases[] = {
        {{6, 6, 6}, 10, 3, 2, 3},
        {{7, 7, 7, 4, 4, 4}, 10, 6, 4, 5}, /* no 4 fits beside a 7 */
        {{50, 50, 50, 34, 34, 34}, 100, 6, 3, 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        OWNED(bl_histogram_free) struct bl_histogram h;
        int64_t T = cases[i].T;
        struct bl_lengths lengths = {cases[i].length, NULL, cases[i].count, 1, T, 1, T};
        ck_assert_int_eq(bl_histogram_make(&h, &lengths, NULL), 0);
        ck_assert_int_eq(bl_bound_steps(&h, T), cases[i].steps);
        ck_assert_int_eq(bl_bound_blocks(&h, T), cases[i].blocks);
    }
}

UNIT_LOOP(histogram_of_short_and_wide_ranges, 3)
{
    int64_t max = _i == 0 ? 300 : _i == 1 ? 1000000 : BL_T_MAX;
    OWNED(list_free) struct list l = random_list(20000, max, 5);
    l.length[3] = 0;
    l.length[4] = max + 5;
    l.length[5] = max;
    struct bl_lengths lengths = {l.length, NULL, l.count, 2, max, 1, max};
    OWNED(bl_histogram_free) struct bl_histogram h;
    FREED uint32_t *ids;
    ck_assert_int_eq(bl_histogram_make(&h, &lengths, NULL), 0);
    ck_assert_int_eq(bl_histogram_ids(&h, &lengths, 1, &ids, NULL), 0);
    size_t expected = 0;
    for (size_t i = 0; i < l.count; i++)
        expected += l.length[i] >= 2 && l.length[i] <= max;
    ck_assert_uint_eq(h.start[h.distinct], expected);
    FREED char *seen = calloc(l.count, 1);
    ck_assert_ptr_nonnull(seen);
    for (size_t b = 0; b < h.distinct; b++) {
        ck_assert(b == 0 || h.length[b - 1] < h.length[b]);
        ck_assert_uint_gt(bl_histogram_count(&h, b), 0);
        ck_assert_uint_eq(bl_histogram_below(&h, h.length[b]), b + 1);
        ck_assert_uint_eq(bl_histogram_below(&h, (int64_t)h.length[b] - 1), b);
        for (uint32_t i = h.start[b]; i < h.start[b + 1]; i++) {
            ck_assert_int_eq(l.length[ids[i]], h.length[b]);
            ck_assert_int_eq(seen[ids[i]]++, 0);
        }
    }
}

UNIT_LOOP(patterns_use_the_histogram_exactly, unit_times(10))
{
    OWNED(list_free) struct list l = random_list(3000, 200, (uint64_t)_i);
    struct bl_lengths lengths = {l.length, NULL, l.count, 1, 200, 1, 200};
    struct bl_limits limits = {.T = 200 + _i * 37, .sequences = UINT32_MAX};
    OWNED(bl_histogram_free) struct bl_histogram h;
    OWNED(bl_patterns_free) struct bl_patterns p;
    ck_assert_int_eq(bl_histogram_make(&h, &lengths, NULL), 0);
    ck_assert_int_eq(bl_search_bestfit(&p, &h, &limits, NULL), 0);
    uint32_t used[200] = {0};
    size_t blocks = 0;
    for (size_t i = 0; i < p.count; i++) {
        int64_t room = 200 + _i * 37;
        blocks += p.use[i];
        ck_assert_uint_gt(p.use[i], 0);
        for (uint32_t k = p.first[i]; k < p.first[i + 1]; k++) {
            used[p.bucket[k]] += p.use[i];
            room -= h.length[p.bucket[k]];
        }
        ck_assert_int_ge(room, 0);
    }
    ck_assert_uint_eq(blocks, p.blocks);
    for (size_t b = 0; b < h.distinct; b++)
        ck_assert_uint_eq(used[b], bl_histogram_count(&h, b));
}

/* Best fit decreasing as the books have it, one at a time. */
static size_t plain_bestfit(struct list l, int64_t T)
{
    FREED int64_t *room = malloc(l.count * sizeof *room);
    ck_assert_ptr_nonnull(room);
    size_t blocks = 0;
    for (int64_t length = T; length > 0; length--)
        for (size_t i = 0; i < l.count; i++) {
            if (l.length[i] != length)
                continue;
            size_t best = blocks;
            for (size_t b = 0; b < blocks; b++)
                if (room[b] >= length && (best == blocks || room[b] < room[best]))
                    best = b;
            if (best == blocks)
                room[blocks++] = T;
            room[best] -= length;
        }
    return blocks;
}

UNIT_LOOP(counts_give_what_bestfit_gives_one_by_one, unit_times(40))
{
    OWNED(list_free) struct list l = random_list(40 + (size_t)_i * 11, 5 + _i * 3, (uint64_t)_i);
    int64_t T = 5 + _i * 3 + _i % 7;
    struct bl_lengths lengths = {l.length, NULL, l.count, 1, T, 1, T};
    struct bl_limits limits = {.T = T, .sequences = UINT32_MAX};
    OWNED(bl_histogram_free) struct bl_histogram h;
    OWNED(bl_patterns_free) struct bl_patterns p;
    ck_assert_int_eq(bl_histogram_make(&h, &lengths, NULL), 0);
    ck_assert_int_eq(bl_search_bestfit(&p, &h, &limits, NULL), 0);
    ck_assert_uint_eq(p.blocks, plain_bestfit(l, T));
}

/* Of lengths over T/3 best fit decreasing takes the fewest blocks possible. */
UNIT_LOOP(bound_of_pairs_is_exact, unit_times(40))
{
    int64_t T = 90 + _i;
    OWNED(list_free) struct list l = random_list(30 + (size_t)_i * 7, T - T / 3, (uint64_t)_i);
    for (size_t i = 0; i < l.count; i++)
        l.length[i] += T / 3;
    struct bl_lengths lengths = {l.length, NULL, l.count, 1, T, 1, T};
    OWNED(bl_histogram_free) struct bl_histogram h;
    ck_assert_int_eq(bl_histogram_make(&h, &lengths, NULL), 0);
    ck_assert_int_eq(bl_bound_blocks(&h, T), plain_bestfit(l, T));
}

/* Sequence by sequence and on counts: equally many blocks. */
UNIT_LOOP(single_bestfit_is_bestfit, unit_times(16))
{
    int64_t T = 40 + _i * 900;
    OWNED(list_free) struct list l = random_list(200 + (size_t)_i * 20, T, (uint64_t)_i);
    struct bl_lengths lengths = {l.length, NULL, l.count, 1, T, 1, T};
    struct bl_limits limits = {.T = T, .sequences = _i % 2 ? 3 : UINT32_MAX};
    OWNED(bl_plan_free) struct bl_plan plan = {.T = T};
    struct bl_order order = {.kind = BL_ORDER_SHUFFLED, .ranks = {1, 1, 1}};
    OWNED(bl_histogram_free) struct bl_histogram h;
    OWNED(bl_draft_free) struct bl_draft d;
    size_t blocks;
    ck_assert_int_eq(bl_histogram_make(&h, &lengths, NULL), 0);
    ck_assert_int_eq(bl_search_bestfit_count(&blocks, &h, &limits, NULL), 0);
    ck_assert_int_eq(bl_draft_make(&d, l.count, NULL), 0);
    ck_assert_int_eq(bl_draft_bestfit(&d, &lengths, &limits, 7, NULL), 0);
    ck_assert_uint_eq(d.blocks, blocks);
    ck_assert_int_eq(bl_order_apply(&plan, &d, &order, NULL), 0);
    ck_assert_int_eq(bl_plan_check(&plan, l.length, l.count, NULL), 0);
    ck_assert_int_eq(plan.sequences, (int64_t)l.count);
    ck_assert_uint_eq(plan.pieces, l.count);
    ck_assert(limits.sequences > 3 || plan.max_sequences <= 3);
}

/* Lists on which the ways of filling each fail alone: a heavy tail, which ends with its shortest lengths, and normal
 * ones, two or three to a block. */
UNIT_LOOP(repaired_and_fixed_one_by_one, unit_brief() ? 1 : 2)
{
    OWNED(list_free) struct list l = random_list(_i ? 1000 : 400000, INT64_C(1) << 30, 3);
    int64_t T = _i ? 480000 : 2048;
    for (size_t i = 0; i < l.count; i++) {
        double u = (double)l.length[i] / (1 << 30);
        double tail = 100 / pow(u, 0.9), bell = 192000 + 27000 * log(u / (1.0000001 - u));
        double length = _i ? bell : tail;
        l.length[i] = length < 1 ? 1 : length > (double)T ? T : (int64_t)length;
    }
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = T};
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    assert_sound(&plan, l);
    ck_assert_int_le((int64_t)plan.blocks, plan.lower_bound + (_i ? 2 : 0));
}

UNIT_LOOP(the_papers_table, unit_unless_brief(1))
{
    struct list l = shared_list("action-genome-reconstructed.txt");
    if (l.count == 0)
        return;
    static const int64_t padding[] = {534831, 0, 37712}, deleted[] = {0, 92271, 40289};
    for (int s = BL_STRATEGY_NAIVE; s <= BL_STRATEGY_MIX; s++) {
        struct bl_plan_options o = {.strategy = (enum bl_strategy)s, .T = 94, .clip = 22};
        for (int mean = 0; mean < 2; mean++, o.clip = 0) { /* the mean is 22 */
            OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
            ck_assert_int_eq(plan.padding, padding[s]);
            ck_assert_int_eq(plan.deleted, deleted[s]);
            assert_sound(&plan, l);
        }
    }
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .fill = BL_FILL_PAPER};
    for (o.seed = 0; o.seed < 50; o.seed++) {
        OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
        ck_assert_int_eq(plan.deleted, 0);
        ck_assert_int_lt(plan.padding * 90, padding[0]);
        assert_sound(&plan, l);
    }
    list_free(&l);
}

UNIT_LOOP(blocks_of_real_lists, unit_brief() ? 1 : 4)
{
    static const struct {
        const char *name;
        int64_t T;
        size_t blocks;
    } real[] = {
        {"action-genome-reconstructed.txt", 94, 1775},
        {"charades_train_frames3fps.txt", 583, 1229},
        {"gsm8k_train_bytes.txt", 2048, 1910},
        {"squad11_bert384_histogram.txt", 384, 40195},
    };
    struct list l = shared_list(real[_i].name);
    if (l.count == 0)
        return;
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = real[_i].T};
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    ck_assert_uint_le(plan.blocks, real[_i].blocks);
    assert_sound(&plan, l);
    list_free(&l);
}

/* Blocks cut into pieces at random: a list of which the optimum is known, all lengths different. */
static struct list cut_blocks(size_t blocks, int64_t T, size_t most, uint64_t seed)
{
    struct bl_random r;
    bl_random_seed(&r, seed, BL_STREAM_FILL);
    struct list l = {malloc(blocks * most * sizeof *l.length), 0};
    ck_assert_ptr_nonnull(l.length);
    for (size_t b = 0; b < blocks; b++) {
        int64_t left = T;
        for (size_t k = 2 + bl_random_below(&r, most - 1); k > 1; k--) {
            l.length[l.count] = 1 + (int64_t)bl_random_below(&r, (uint64_t)(2 * (left - 1) / (int64_t)k));
            left -= l.length[l.count++];
        }
        l.length[l.count++] = left;
    }
    return l;
}

/* Whatever the prices, what they prove is no more than what is possible. */
UNIT_LOOP(prices_prove_nothing_false, unit_times(9))
{
    enum { BLOCKS = 300, T = 480000, PLACES = 500 };
    OWNED(list_free) struct list l = cut_blocks(BLOCKS, T, 5, (uint64_t)_i);
    struct bl_lengths lengths = {l.length, NULL, l.count, 1, T, 1, T};
    OWNED(bl_histogram_free) struct bl_histogram h;
    uint32_t place[PLACES], start[PLACES + 1] = {0};
    double price[PLACES];
    struct bl_random r;
    bl_random_seed(&r, (uint64_t)_i, BL_STREAM_CLIP);
    for (uint32_t k = 0; k < PLACES; k++) { /* not far from the truth, at which false ones would show */
        place[k] = k + 1;
        price[k] = (k + 1) / (double)PLACES + (_i % 3) * 0.001 * (double)bl_random_below(&r, 10);
    }
    struct bl_histogram classes = {PLACES, place, start};
    int64_t bound = 0, used = 0;
    ck_assert_int_eq(bl_histogram_make(&h, &lengths, NULL), 0);
    ck_assert_int_eq(bl_bound_dual(&bound, &h, T, &classes, PLACES, price, &used, NULL), 0);
    ck_assert_int_le(bound, BLOCKS);
    ck_assert_int_ge(bound, _i % 3 ? 1 : BLOCKS * 99 / 100); /* prices by length prove the steps */
}

/* Nearly all lengths different, as those of recordings are: a block for each 30 seconds at 16 kHz. */
UNIT_LOOP(long_blocks_of_different_lengths, unit_unless_brief(2))
{
    OWNED(list_free) struct list l = cut_blocks(1500, 480000, _i ? 12 : 4, (uint64_t)_i);
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = 480000, .effort = 2};
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    assert_sound(&plan, l);
    ck_assert_uint_le(plan.blocks, 1502);
    ck_assert_int_ge(plan.lower_bound, 1500);
}

/* 510 lengths in blocks of 500,000, about ten of each, two or three in a block: the classes of step 5 cost blocks, and
 * the relaxation over all of the lengths must be within the default effort. */
UNIT_LOOP(many_lengths_in_long_blocks, unit_unless_brief(1))
{
    OWNED(list_free) struct list l = {.length = malloc(12000 * sizeof *l.length)};
    uint64_t state = 7;
    ck_assert_ptr_nonnull(l.length);
    for (int i = 0; i < 510; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int64_t length = 67000 + i * 522 + (int64_t)((state >> 33) % 522);
        for (uint64_t n = 1 + (state >> 50) % 20; n > 0; n--)
            l.length[l.count++] = length;
    }
    struct bl_plan_options o = {.T = 500000, .strategy = BL_STRATEGY_BLOCK};
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    ck_assert_int_le((int64_t)plan.blocks, plan.lower_bound + 2);
}

/* More different lengths than patterns can be kept for: pairs that fill a block to the step are found all the same. */
UNIT_LOOP(more_different_lengths_than_patterns_have, unit_unless_brief(1))
{
    enum { PAIRS = 530000 };
    OWNED(list_free) struct list l = {malloc(2 * PAIRS * sizeof *l.length), 2 * PAIRS};
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = BL_T_MAX, .effort = 1};
    ck_assert_ptr_nonnull(l.length);
    for (int64_t i = 0; i < PAIRS; i++) {
        l.length[2 * i] = BL_T_MAX / 2 - 1500 * i;
        l.length[2 * i + 1] = BL_T_MAX - l.length[2 * i];
    }
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    ck_assert_uint_eq(plan.blocks, PAIRS);
    ck_assert_int_eq(plan.padding, 0);
}

UNIT_TEST(oversize)
{
    int64_t length[] = {25, 3, 10, 0, 11};
    struct list l = {length, COUNT(length)};
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = 10};
    struct bl_plan plan;
    FAILS(bl_plan_make(&plan, length, l.count, &o, &e), BL_EFAIL,
          "sequence 0 has 25 steps, more than T = 10 (too long: 2, up to 25 steps): use a larger T, or "
          "--oversize split, truncate or drop");
    static const int64_t expected[][5] = {/* pieces, deleted, cut, dropped, blocks */
                                          [BL_OVERSIZE_SPLIT] = {7, 0, 2, 0, 5},
                                          [BL_OVERSIZE_TRUNCATE] = {4, 16, 2, 0, 4},
                                          [BL_OVERSIZE_DROP] = {2, 36, 0, 2, 2}};
    for (int over = BL_OVERSIZE_SPLIT; over <= BL_OVERSIZE_DROP; over++) {
        o.oversize = (enum bl_oversize)over;
        plan = make(l, &o);
        assert_sound(&plan, l);
        ck_assert_int_eq((int64_t)plan.pieces, expected[over][0]);
        ck_assert_int_eq(plan.deleted, expected[over][1]);
        ck_assert_int_eq(plan.cut, expected[over][2]);
        ck_assert_int_eq(plan.dropped, expected[over][3]);
        ck_assert_int_eq((int64_t)plan.blocks, expected[over][4]);
        ck_assert_int_eq(plan.sequences, 4);
        ck_assert_int_eq(plan.longest, 25);
        for (size_t p = 0; p < plan.pieces && over == BL_OVERSIZE_SPLIT; p++) {
            ck_assert_int_eq(plan.source_start[p] % 10, 0);
            ck_assert_int_eq(plan.length[p], lower(10, length[plan.sequence[p]] - plan.source_start[p]));
        }
        bl_plan_free(&plan);
    }
}

UNIT_LOOP(clips, unit_unless_brief(1))
{
    int64_t length[] = {25, 3, 10, 30};
    struct list l = {length, COUNT(length)};
    struct bl_plan_options o = {.strategy = BL_STRATEGY_SAMPLE, .clip = 10, .clips = BL_CLIPS_ALL};
    struct bl_plan plan = make(l, &o);
    ck_assert_uint_eq(plan.blocks, 6);
    ck_assert_int_eq(plan.deleted, 8);
    ck_assert_int_eq(plan.cut, 2);
    ck_assert_int_eq(plan.dropped, 1);
    for (size_t p = 0; p < plan.pieces; p++)
        ck_assert_int_eq(plan.source_start[p] % 10, 0);
    bl_plan_free(&plan);
    o.clips = BL_CLIPS_ONE;
    int starts[21] = {0};
    for (o.seed = 0; o.seed < 2100; o.seed++) {
        plan = make(l, &o);
        for (size_t p = 0; p < plan.pieces; p++)
            starts[plan.source_start[p]] += plan.sequence[p] == 3;
        bl_plan_free(&plan);
    }
    for (size_t s = 0; s < COUNT(starts); s++) /* 100 each, within five deviations */
        ck_assert_int_lt(abs(starts[s] - 100), 50);
}

UNIT_TEST(refusals)
{
    static int64_t length[] = {5, 2, 0, 9}, zero[] = {0, 0}, negative[] = {1, -1};
    static int64_t huge[] = {INT64_C(1) << 61, INT64_C(1) << 61, 1};
    static const struct {
        struct list l;
        int code;
        const char *words;
        struct bl_plan_options o;
    } cases[] = {
        {{length, 0}, BL_EFAIL, "nothing to plan", {.strategy = BL_STRATEGY_BLOCK}},
        {{zero, 2}, BL_EFAIL, "nothing to plan", {.strategy = BL_STRATEGY_BLOCK}},
        {{negative, 2}, BL_EFAIL, "sequence 1 has a negative length", {.strategy = BL_STRATEGY_BLOCK}},
        {{huge, 3}, BL_EFAIL, "2^62", {.strategy = BL_STRATEGY_BLOCK}},
        {{huge, 2}, BL_EFAIL, "the maximum is 2147483647", {.strategy = BL_STRATEGY_BLOCK}},
        {{length, 4}, BL_EUSAGE, "T = -1", {.strategy = BL_STRATEGY_BLOCK, .T = -1}},
        {{length, 4}, BL_EUSAGE, "T = 2147483648", {.strategy = BL_STRATEGY_BLOCK, .T = BL_T_MAX + 1}},
        {{length, 4}, BL_EFAIL, "sequence 3 has 9 steps, more than T = 8", {.strategy = BL_STRATEGY_BLOCK, .T = 8}},
        {{length, 4},
         BL_EFAIL,
         "none of the 3 sequences fits T = 1",
         {.strategy = BL_STRATEGY_BLOCK, .T = 1, .oversize = BL_OVERSIZE_DROP}},
        {{huge, 2},
         BL_EFAIL,
         "choose a larger T",
         {.strategy = BL_STRATEGY_BLOCK, .T = 1, .oversize = BL_OVERSIZE_SPLIT}},
        {{length, 4},
         BL_EUSAGE,
         "clip = -5",
         {.strategy = BL_STRATEGY_BLOCK, .T = 1, .oversize = BL_OVERSIZE_SPLIT, .clip = -5}},
        {{length, 4}, BL_EFAIL, "none of the 3", {.strategy = BL_STRATEGY_SAMPLE, .clip = 10}},
        {{length, 4}, BL_EUSAGE, "unknown", {.strategy = (enum bl_strategy)7, .clip = 10}},
        {{length, 4},
         BL_EUSAGE,
         "--world-size has no meaning in a store",
         {.strategy = BL_STRATEGY_STORE, .T = 4, .world_size = 2}},
        {{length, 4},
         BL_EUSAGE,
         "--seed has no meaning in a store",
         {.strategy = BL_STRATEGY_STORE, .T = 4, .world_size = 1, .seed = 7}},
        {{length, 4},
         BL_EUSAGE,
         "-T auto needs the bytes of a step",
         {.strategy = BL_STRATEGY_STORE, .T = BL_T_AUTO, .world_size = 1, .seed = 7}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bl_plan plan;
        memset(&plan, 1, sizeof plan);
        FAILS_WITH(bl_plan_make(&plan, cases[i].l.length, cases[i].l.count, &cases[i].o, &e), cases[i].code,
                   cases[i].words);
        ck_assert(!plan.block_ptr && !plan.sequence && !plan.length && !plan.source_start && plan.blocks == 0);
    }
}

/* Faults put into a sound plan, each found by name. */
UNIT_LOOP(check_finds_faults, 11)
{
    int64_t length[] = {4, 6, 25, 10};
    struct list l = {length, 4};
    struct bl_plan_options o = {.strategy = BL_STRATEGY_NAIVE, .T = 10, .oversize = BL_OVERSIZE_SPLIT};
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    size_t first = 0, second, four = 0;
    while (plan.sequence[first] != 2)
        first++;
    for (second = first + 1; plan.sequence[second] != 2;)
        second++;
    while (plan.sequence[four] != 0)
        four++;
    const struct {
        const char *words;
        int64_t *at, value; /* or no place: see below */
    } faults[] = {
        {"has 4", &plan.length[four], 5},
        {"both hold", &plan.length[first], plan.length[second]},
        {"does not fit", &plan.T, 9},
        {"before it begins", &plan.block_ptr[2], plan.block_ptr[1] - 1},
        {"is empty", &plan.length[0], 0},
        {"last piece", &plan.block_ptr[plan.blocks], plan.block_ptr[plan.blocks] + 1},
        {"not between", &plan.T, 0},
        {"from step -1", &plan.source_start[0], -1},
        {"not begin", &plan.block_ptr[0], 1},
        {"no sequence 9", NULL, 0},
        {"blocks hold", NULL, 0},
    };
    if (_i == 1)
        plan.source_start[first] = plan.source_start[second];
    if (_i == 9)
        plan.sequence[1] = 9;
    if (_i == 10)
        plan.blocks--;
    if (faults[_i].at)
        *faults[_i].at = faults[_i].value;
    FAILS_WITH(bl_plan_check(&plan, length, 4, &e), BL_EFAIL, faults[_i].words);
}

UNIT_TEST(check_finds_a_sequence_twice)
{
    int64_t length[] = {4, 4, 4};
    struct list l = {length, 3};
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .T = 8};
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    plan.sequence[0] = plan.sequence[2];
    FAILS_WITH(bl_plan_check(&plan, length, 3, &e), BL_EFAIL, "second time");
}

/* A plan from elsewhere may leave a sequence out: counted, and the bound is that of what is placed. */
UNIT_TEST(check_counts_what_is_left_out)
{
    int64_t length[] = {8, 8, 8, 0}, block_ptr[] = {0, 1, 2};
    uint32_t sequence[] = {2, 0};
    struct bl_plan plan = {.T = 10, .blocks = 2, .pieces = 2, .block_ptr = block_ptr, .sequence = sequence};
    ck_assert_int_eq(bl_plan_check(&plan, length, 4, NULL), 0);
    ck_assert_int_eq(plan.sequences, 3);
    ck_assert_int_eq(plan.dropped, 1);
    ck_assert_int_eq(plan.cut, 0);
    ck_assert_int_eq(plan.deleted, 8);
    ck_assert_int_eq(plan.padding, 4);
    ck_assert_int_eq(plan.lower_bound, 2);
    ck_assert_int_eq(plan.max_sequences, 1);
    ck_assert_double_eq_tol(bl_plan_efficiency(&plan), 0.8, 1e-12);
}

UNIT_TEST(longest_blocks)
{
    int64_t length[] = {BL_T_MAX, 1, BL_T_MAX - 1, 5, INT64_C(1) << 40};
    for (int fill = BL_FILL_OPTIMAL; fill < BL_FILL_COUNT; fill++) {
        struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .fill = (enum bl_fill)fill, .T = BL_T_MAX};
        struct list l = {length, 4};
        OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
        ck_assert_uint_le(plan.blocks, 4);
        ck_assert(fill == BL_FILL_PAPER || plan.blocks == 3);
        assert_sound(&plan, l);
        bl_plan_free(&plan);
        o.oversize = BL_OVERSIZE_SPLIT;
        l.count = 5;
        plan = make(l, &o);
        assert_sound(&plan, l);
        ck_assert_uint_eq(plan.pieces, 4 + 513);
    }
}

/* The same steps as anywhere else: the published first numbers of xoshiro256** from the state 1, 2, 3, 4. */
UNIT_TEST(random_numbers)
{
    struct bl_random r = {{1, 2, 3, 4}};
    ck_assert_uint_eq(bl_random_next(&r), 11520);
    ck_assert_uint_eq(bl_random_next(&r), 0);
    ck_assert_uint_eq(bl_random_next(&r), 1509978240);
    ck_assert_uint_eq(bl_random_next(&r), UINT64_C(1215971899390074240));
    int hits[6] = {0};
    bl_random_seed(&r, 1, BL_STREAM_FILL);
    for (int i = 0; i < 60000; i++)
        hits[bl_random_below(&r, 6)]++;
    for (size_t i = 0; i < COUNT(hits); i++)
        ck_assert_int_lt(abs(hits[i] - 10000), 500);
    uint64_t third = UINT64_MAX / 3 * 2; /* here a third of all draws must be thrown away to be fair */
    int low = 0;
    for (int i = 0; i < 10000; i++)
        low += bl_random_below(&r, third) < third / 2;
    ck_assert_int_lt(abs(low - 5000), 250);
    struct bl_random other;
    bl_random_seed(&r, 1, BL_STREAM_BLOCK);
    bl_random_seed(&other, 1, BL_STREAM_INSIDE);
    ck_assert_uint_ne(bl_random_next(&r), bl_random_next(&other));
}

UNIT_TEST(seeds_decide)
{
    OWNED(list_free) struct list l = random_list(200, 50, 3);
    for (int s = BL_STRATEGY_NAIVE; s < BL_STRATEGY_STORE; s++)
        for (int fill = BL_FILL_OPTIMAL; fill < BL_FILL_COUNT; fill++) {
            struct bl_plan_options o = {.strategy = (enum bl_strategy)s, .fill = (enum bl_fill)fill, .seed = 1};
            OWNED(bl_plan_free) struct bl_plan one = make(l, &o);
            o.seed = 2;
            OWNED(bl_plan_free) struct bl_plan two = make(l, &o);
            ck_assert_uint_ne(plan_digest(&one), plan_digest(&two));
        }
}

/* In lengths 2, 1, 1, 1 with T = 3 the rule leaves the 2 alone in half of all cases; drawing over the distinct lengths
 * instead of the sequences would do so in a quarter. */
UNIT_LOOP(papers_rule_is_uniform_over_sequences, unit_unless_brief(1))
{
    int64_t length[] = {1, 2, 1, 1};
    struct list l = {length, COUNT(length)};
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .fill = BL_FILL_PAPER, .T = 3};
    int alone = 0, last = 0;
    for (o.seed = 0; o.seed < 2000; o.seed++) {
        OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
        ck_assert_uint_eq(plan.blocks, 2);
        alone += plan.max_sequences == 3;
        last += plan.block_ptr[1] == 1 && plan.max_sequences == 3;
    }
    ck_assert_int_lt(abs(alone - 1000), 110);
    ck_assert_int_lt(abs(last - alone / 2), 80); /* the blocks are shuffled, too */
}

struct ranked {
    double value;
    size_t at;
};

static int by_value(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Spearman's correlation of value[i] with i; equal values share the mean of their ranks, else their order, which is
 * that of the plan, would itself be a trend. */
static double trend(struct ranked *value, size_t n)
{
    double mean = ((double)n - 1) / 2, product = 0, ranks = 0, places = 0;
    qsort(value, n, sizeof *value, by_value);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !(value[end].value > value[i].value);)
            end++;
        double rank = (double)(i + end - 1) / 2 - mean;
        for (size_t k = i; k < end; k++) {
            double place = (double)value[k].at - mean;
            product += rank * place;
            ranks += rank * rank;
            places += place * place;
        }
    }
    return product / sqrt(ranks * places);
}

/* Nothing rises or falls along a plan: neither the lengths from block to block or inside a block, nor the ids. */
UNIT_LOOP(no_trend, BL_FILL_COUNT)
{
    OWNED(list_free) struct list l = random_list(6000, 100, 11);
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK, .fill = (enum bl_fill)_i, .T = 250, .seed = 4};
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    FREED struct ranked *mean = malloc(plan.blocks * sizeof *mean), *id = malloc(plan.pieces * sizeof *id);
    ck_assert(mean && id);
    double inside = 0;
    for (size_t b = 0; b < plan.blocks; b++) {
        int64_t first = plan.block_ptr[b], end = plan.block_ptr[b + 1], steps = 0;
        for (int64_t p = first; p < end; p++) {
            steps += l.length[plan.sequence[p]];
            id[p] = (struct ranked){plan.sequence[p], (size_t)p};
        }
        mean[b] = (struct ranked){(double)steps / (double)(end - first), b};
        inside += (double)(l.length[plan.sequence[end - 1]] - l.length[plan.sequence[first]]);
    }
    double rho = trend(mean, plan.blocks), of_ids = trend(id, plan.pieces);
    ck_assert_msg(rho * rho * (double)plan.blocks < 16, "blocks: %f", rho);
    ck_assert_msg(of_ids * of_ids * (double)plan.pieces < 16, "ids: %f", of_ids);
    ck_assert_msg(inside / (double)plan.blocks < 4 && inside / (double)plan.blocks > -4, "inside: %f", inside);
}

/* These digests hold on every machine of one byte order, for ever: a plan is named by its seed. */
UNIT_LOOP(golden_digests, 7)
{
    static const uint64_t golden[] = {
        UINT64_C(0x8f75964ebee23ef2), UINT64_C(0x0b1960d943e40a1a), UINT64_C(0x9c441ebad7f268aa),
        UINT64_C(0xc39df969e5fe0720), UINT64_C(0x7137a0d14d66fceb), UINT64_C(0x2d6381e50b516b63),
        UINT64_C(0x2357de3f650c90be),
    };
    OWNED(list_free) struct list l = random_list(1000, 100, 42);
    struct bl_plan_options o = {.T = 60, .oversize = BL_OVERSIZE_SPLIT, .seed = 7};
    o.strategy = _i < BL_STRATEGY_BLOCK ? (enum bl_strategy)_i : BL_STRATEGY_BLOCK;
    o.fill = _i == BL_STRATEGY_BLOCK + 1 ? BL_FILL_PAPER : BL_FILL_OPTIMAL;
    if (_i > BL_STRATEGY_BLOCK + 1) /* blocks that are drawn */
        o.T = 250;
    double value[1000];
    for (size_t i = 0; i < l.count; i++)
        value[i] = (double)(i * 7 % 11) / 4;
    if (_i > BL_STRATEGY_BLOCK + 2)
        o.max_column = (struct bl_plan_columns){{{.name = "a", .max = 6.5, .value = value}}, 1};
    OWNED(bl_plan_free) struct bl_plan plan = make(l, &o);
    ck_assert_msg(plan_digest(&plan) == golden[_i], "digest is now 0x%016llx", (unsigned long long)plan_digest(&plan));
}
