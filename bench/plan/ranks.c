/* What ranks lose by waiting, by bload and by others' ways to share sequences out: ranks T FILE WORLD ALPHA WAIT.
 *
 * A rank pays ALPHA for each step and 1 for each squared step of a sequence. WAIT: blocks of a rank between two waits.
 * Every way is measured here by the same means. The others do not pad, and pay only for the steps that they hold:
 *
 *   Karmarkar-Karp       as verl (utils/seqlen_balancing.py) and slime: sequences in random order, as many as fill the
 *                        ranks' blocks, are partitioned over the ranks by largest differencing of their costs
 *   sorted round robin   the same sequences, the dearest first, to one rank after the other
 *   WLB-LLM              variable-length packing (arXiv 2503.17924, algorithm 1): long sequences are kept back until
 *                        there is one for each rank; the others, the longest first, go where the cost is least and
 *                        there is room, or are left to the next step
 *   sorted blocks        bload's blocks without balance, sorted by cost and cut into rows of one for each rank */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bload.h"

enum { CLASSES = 128, QUEUES = 3 };

/* Bins of sequences: wait by wait, bin i of a wait is of rank i % ranks. */
struct shares {
    int64_t *sequence, *end; /* [sequences], [bins]: the end of each bin */
    size_t sequences, bins, turn;
    bool is_padded;
};

struct bench {
    int64_t T, *length;
    size_t count, ranks, turn;
    double alpha;
    int64_t *order; /* a random order of the sequences */
    int64_t limit[CLASSES];
    double whole[CLASSES];
};

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void *need(void *memory)
{
    if (!memory)
        exit(1);
    return memory;
}

static double cost_of(const struct bench *b, int64_t sequence)
{
    double length = (double)b->length[sequence];
    return b->alpha * length + length * length;
}

static void read_lengths(struct bench *b, const char *path)
{
    FILE *f = fopen(path, "r");
    size_t capacity = 0;
    char line[64];
    while (f && fgets(line, sizeof line, f)) {
        char *end;
        long long value = strtoll(line, &end, 10), times = strtoll(end, NULL, 10);
        for (long long i = 0; i < (times ? times : 1); i++) {
            if (b->count == capacity)
                b->length = need(realloc(b->length, (capacity = capacity * 2 + 4096) * sizeof *b->length));
            b->length[b->count++] = value < b->T ? value : b->T;
        }
    }
    if (f)
        fclose(f);
}

static uint64_t state = 88172645463325252u;

static void draw_order(struct bench *b)
{
    b->order = need(malloc((b->count + 1) * sizeof *b->order));
    for (size_t i = 0; i < b->count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        size_t other = state % (i + 1);
        b->order[i] = b->order[other];
        b->order[other] = (int64_t)i;
    }
}

static const struct bench *sorting;

static int longest_first(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    if (sorting->length[a] != sorting->length[b])
        return sorting->length[a] > sorting->length[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* --- measures --------------------------------------------------------------------------------------------------- */

/* Classes of equally many steps, by length. */
static void make_classes(struct bench *b)
{
    int64_t *sorted = need(malloc((b->count + 1) * sizeof *sorted));
    double all = 0, sum = 0;
    for (size_t i = 0; i < b->count; i++) {
        sorted[i] = (int64_t)i;
        all += (double)b->length[i];
    }
    qsort(sorted, b->count, sizeof *sorted, longest_first);
    for (size_t i = b->count; i-- > 0;) {
        sum += (double)b->length[sorted[i]];
        size_t class = (size_t)(sum / all * (CLASSES - 1));
        for (size_t c = class; c < CLASSES; c++)
            b->limit[c] = b->length[sorted[i]];
    }
    for (size_t i = 0; i < b->count; i++)
        for (size_t c = 0; c < CLASSES; c++)
            b->whole[c] += b->length[i] <= b->limit[c] ? (double)b->length[i] / all : 0;
    free(sorted);
}

static double distance_of(const struct bench *b, const struct shares *s, int64_t first, int64_t end)
{
    double steps[CLASSES] = {0}, all = 0, sum = 0, most = 0;
    for (int64_t i = first; i < end; i++) {
        int64_t length = b->length[s->sequence[i]];
        size_t low = 0, high = CLASSES - 1;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (b->limit[middle] < length)
                low = middle + 1;
            else
                high = middle;
        }
        steps[low] += (double)length;
        all += (double)length;
    }
    for (size_t c = 0; c < CLASSES && all > 0; c++) {
        sum += steps[c];
        most = fmax(most, fabs(sum / all - b->whole[c]));
    }
    return most;
}

static void print_row(const struct bench *b, const struct shares *s, const char *name, const char *bound,
                      double seconds)
{
    double highest = 0, all = 0, max_cost = 0, apart = 0, fullest = 0;
    size_t wait = b->ranks * s->turn, waits = s->bins / wait;
    double *rank = need(malloc(b->ranks * sizeof *rank));
    int64_t at = 0;
    for (size_t w = 0; w < waits; w++) {
        int64_t first = at;
        memset(rank, 0, b->ranks * sizeof *rank);
        for (size_t i = 0; i < wait; i++) {
            double cost = s->is_padded ? b->alpha * (double)b->T : 0, steps = 0;
            for (; at < s->end[w * wait + i]; at++) {
                double length = (double)b->length[s->sequence[at]];
                cost += length * length + (s->is_padded ? 0 : b->alpha * length);
                steps += length;
            }
            rank[i % b->ranks] += cost;
            max_cost = fmax(max_cost, cost);
            fullest = fmax(fullest, steps);
        }
        double most = 0;
        for (size_t r = 0; r < b->ranks; r++) {
            all += rank[r];
            most = fmax(most, rank[r]);
        }
        highest += most;
        apart += distance_of(b, s, first, at) / (double)waits;
    }
    size_t blocks = waits * b->ranks * b->turn;
    printf("| %s | %.2f %% | %s | %.2f | %.3f | %zu | %.2f T | %.1f |\n", name,
           100 * (highest * (double)b->ranks / all - 1), bound, max_cost * (double)s->bins / all, apart, blocks,
           fullest / (double)b->T * (double)s->turn / (double)b->turn, seconds);
    free(rank);
}

/* --- ways to share out ------------------------------------------------------------------------------------------ */

static struct shares make_shares(const struct bench *b, size_t turn)
{
    size_t bins = (b->count + 1) * 2 + b->ranks;
    return (struct shares){.sequence = need(malloc((b->count + 1) * sizeof(int64_t))),
                           .end = need(malloc(bins * sizeof(int64_t))),
                           .turn = turn};
}

static void free_shares(struct shares *s)
{
    free(s->sequence);
    free(s->end);
}

/* Returns the sequences, in random order from `at` on, that fill all blocks of a wait. */
static size_t batch_size(const struct bench *b, size_t at)
{
    int64_t room = b->T * (int64_t)(b->ranks * b->turn);
    size_t n = 0;
    for (; at + n < b->count && b->length[b->order[at + n]] <= room; n++)
        room -= b->length[b->order[at + n]];
    return n;
}

/* A partial partition: for each rank a sum and a list of sequences, the dearest rank first. */
struct partial {
    double sum;
    int64_t head, tail;
};

static int partial_compare(const void *x, const void *y)
{
    const struct partial *a = x, *b = y;
    return (a->sum < b->sum) - (a->sum > b->sum);
}

struct node {
    double spread;
    struct partial *part;
};

static void heap_push(struct node *heap, size_t *size, struct node node)
{
    size_t i = (*size)++;
    for (; i > 0 && heap[(i - 1) / 2].spread < node.spread; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = node;
}

static struct node heap_pop(struct node *heap, size_t *size)
{
    struct node top = heap[0], last = heap[--*size];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < *size; i = child) {
        child += child + 1 < *size && heap[child + 1].spread > heap[child].spread;
        if (heap[child].spread <= last.spread)
            break;
        heap[i] = heap[child];
    }
    heap[i] = last;
    return top;
}

/* Merges the two partitions that differ most, the dearest part of one with the cheapest of the other, until there is
 * one. */
static void share_karmarkar_karp(const struct bench *b, size_t at, size_t n, struct shares *s)
{
    size_t k = b->ranks, size = 0;
    struct partial *parts = need(calloc(n * k + 1, sizeof *parts));
    struct node *heap = need(malloc((n + 1) * sizeof *heap));
    int64_t *next = need(malloc(b->count * sizeof *next));
    for (size_t i = 0; i < n; i++) {
        struct partial *part = parts + i * k;
        for (size_t r = 0; r < k; r++)
            part[r] = (struct partial){0, -1, -1};
        int64_t sequence = b->order[at + i];
        part[0] = (struct partial){cost_of(b, sequence), sequence, sequence};
        next[sequence] = -1;
        heap_push(heap, &size, (struct node){part[0].sum, part});
    }
    while (size > 1) {
        struct partial *x = heap_pop(heap, &size).part, *y = heap_pop(heap, &size).part;
        for (size_t r = 0; r < k; r++) {
            const struct partial *other = &y[k - 1 - r];
            x[r].sum += other->sum;
            if (other->head < 0)
                continue;
            if (x[r].head < 0)
                x[r].head = other->head;
            else
                next[x[r].tail] = other->head;
            x[r].tail = other->tail;
        }
        qsort(x, k, sizeof *x, partial_compare);
        heap_push(heap, &size, (struct node){x[0].sum - x[k - 1].sum, x});
    }
    for (size_t r = 0; r < k; r++) {
        for (int64_t i = heap[0].part[r].head; i >= 0; i = next[i])
            s->sequence[s->sequences++] = i;
        s->end[s->bins++] = (int64_t)s->sequences;
    }
    free(parts);
    free(heap);
    free(next);
}

static void share_round_robin(const struct bench *b, size_t at, size_t n, struct shares *s)
{
    qsort(b->order + at, n, sizeof *b->order, longest_first);
    for (size_t r = 0; r < b->ranks; r++) {
        for (size_t i = r; i < n; i += b->ranks)
            s->sequence[s->sequences++] = b->order[at + i];
        s->end[s->bins++] = (int64_t)s->sequences;
    }
}

static void run_batches(const struct bench *b, const char *name,
                        void (*share)(const struct bench *b, size_t at, size_t n, struct shares *s))
{
    struct bench copy = *b; /* a way may sort its part of the order */
    struct shares s = make_shares(b, 1);
    copy.order = need(malloc((b->count + 1) * sizeof *copy.order));
    memcpy(copy.order, b->order, b->count * sizeof *copy.order);
    double begun = cpu_seconds();
    for (size_t at = 0, n; at < b->count; at += n) {
        n = batch_size(b, at);
        share(&copy, at, n, &s);
    }
    print_row(b, &s, name, "", cpu_seconds() - begun);
    free(copy.order);
    free_shares(&s);
}

struct wlb {
    int64_t *waiting, *queue[QUEUES]; /* sequences for the next step; those of T/8, T/4, T/2 and longer */
    size_t left, queued[QUEUES];
    double *cost;
    int64_t *room, *bin; /* [bins] of a step; [sequences waiting] the bin, or -1 */
};

/* One step: fills all bins as well as it can. */
static void wlb_step(const struct bench *b, struct wlb *l, bool is_last, struct shares *s)
{
    size_t bins = b->ranks * b->turn, kept = 0;
    for (size_t q = 0; q < QUEUES; q++) {
        size_t kept_back = is_last ? 0 : l->queued[q] % bins;
        while (l->queued[q] > kept_back)
            l->waiting[l->left++] = l->queue[q][--l->queued[q]];
    }
    qsort(l->waiting, l->left, sizeof *l->waiting, longest_first);
    for (size_t i = 0; i < bins; i++) {
        l->cost[i] = 0;
        l->room[i] = b->T;
    }
    for (size_t i = 0; i < l->left; i++) {
        size_t cheap = 0, empty = 0;
        for (size_t k = 1; k < bins; k++) {
            cheap = l->cost[k] < l->cost[cheap] ? k : cheap;
            empty = l->room[k] > l->room[empty] ? k : empty;
        }
        int64_t length = b->length[l->waiting[i]];
        size_t to = length <= l->room[cheap] ? cheap : empty;
        l->bin[i] = length <= l->room[to] ? (int64_t)to : -1;
        if (l->bin[i] >= 0) {
            l->room[to] -= length;
            l->cost[to] += cost_of(b, l->waiting[i]);
        }
    }
    for (size_t k = 0; k < bins; k++) {
        for (size_t i = 0; i < l->left; i++)
            if (l->bin[i] == (int64_t)k)
                s->sequence[s->sequences++] = l->waiting[i];
        s->end[s->bins++] = (int64_t)s->sequences;
    }
    for (size_t i = 0; i < l->left; i++)
        if (l->bin[i] < 0)
            l->waiting[kept++] = l->waiting[i];
    l->left = kept;
}

static void run_wlb(const struct bench *b)
{
    struct wlb l = {0};
    struct shares s = make_shares(b, b->turn);
    size_t bins = b->ranks * b->turn, bytes = (b->count + 1) * sizeof(int64_t);
    l.waiting = need(malloc(bytes));
    l.bin = need(malloc(bytes));
    l.cost = need(malloc(bins * sizeof *l.cost));
    l.room = need(malloc(bins * sizeof *l.room));
    for (size_t q = 0; q < QUEUES; q++)
        l.queue[q] = need(malloc(bytes));
    double begun = cpu_seconds();
    for (size_t at = 0, n; s.sequences < b->count; at += n) {
        n = batch_size(b, at);
        for (size_t i = at; i < at + n; i++) {
            int64_t length = b->length[b->order[i]];
            size_t q = length > b->T / 2 ? 2 : length > b->T / 4 ? 1 : 0;
            if (length > b->T / 8)
                l.queue[q][l.queued[q]++] = b->order[i];
            else
                l.waiting[l.left++] = b->order[i];
        }
        wlb_step(b, &l, at + n >= b->count, &s);
    }
    print_row(b, &s, "WLB-LLM", "", cpu_seconds() - begun);
    for (size_t q = 0; q < QUEUES; q++)
        free(l.queue[q]);
    free(l.waiting);
    free(l.bin);
    free(l.cost);
    free(l.room);
    free_shares(&s);
}

/* --- bload ------------------------------------------------------------------------------------------------------ */

struct dear_block {
    double cost;
    int64_t block;
};

static int dear_first(const void *x, const void *y)
{
    const struct dear_block *a = x, *b = y;
    return (a->cost < b->cost) - (a->cost > b->cost);
}

/* Copies a plan's blocks, in its order or sorted by cost. */
static void copy_plan(const struct bload_plan *plan, bool is_sorted, struct shares *s)
{
    const struct bload_counts *counts = bload_plan_counts(plan);
    struct dear_block *block = need(calloc((size_t)counts->blocks, sizeof *block));
    struct bload_piece *piece = need(calloc((size_t)counts->S + 1, sizeof *piece));
    for (int64_t i = 0; i < counts->blocks; i++) {
        block[i].block = i;
        int64_t pieces =
            is_sorted && !bload_plan_pieces(plan, i, piece, counts->S, NULL) ? bload_plan_piece_count(plan, i) : 0;
        for (int64_t p = 0; p < pieces; p++)
            block[i].cost += (double)piece[p].length * (double)piece[p].length;
    }
    if (is_sorted)
        qsort(block, (size_t)counts->blocks, sizeof *block, dear_first);
    for (int64_t i = 0; i < counts->blocks; i++) {
        if (bload_plan_pieces(plan, block[i].block, piece, counts->S, NULL) != BLOAD_OK)
            continue;
        for (int64_t p = 0; p < bload_plan_piece_count(plan, block[i].block); p++)
            s->sequence[s->sequences++] = piece[p].sequence;
        s->end[s->bins++] = (int64_t)s->sequences;
    }
    s->is_padded = true;
    free(piece);
    free(block);
}

static void run_bload(const struct bench *b, const char *name, bool is_balanced, bool is_sorted)
{
    struct bload_plan_options options = {.size = sizeof options,
                                         .T = b->T,
                                         .world_size = (int64_t)b->ranks,
                                         .accumulate = (int64_t)b->turn,
                                         .sync = BLOAD_SYNC_STEP,
                                         .balance = is_balanced,
                                         .cost_alpha = b->alpha,
                                         .cost_beta = 1};
    struct bload_plan *plan;
    struct bload_error error;
    char bound[32] = "";
    double begun = cpu_seconds();
    if (bload_plan_make(b->length, b->count, &options, &plan, &error) != BLOAD_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    double seconds = cpu_seconds() - begun;
    struct shares s = make_shares(b, b->turn);
    copy_plan(plan, is_sorted, &s);
    snprintf(bound, sizeof bound, "%.2f %%", 100 * bload_plan_imbalance(plan)->imbalance_bound);
    print_row(b, &s, name, bound, seconds);
    bload_plan_free(plan);
    free_shares(&s);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: ranks T FILE WORLD ALPHA WAIT\n");
        return 2;
    }
    struct bench b = {.T = atoll(argv[1]),
                      .ranks = (size_t)atoll(argv[3]),
                      .alpha = strtod(argv[4], NULL),
                      .turn = (size_t)atoll(argv[5])};
    sorting = &b;
    read_lengths(&b, argv[2]);
    draw_order(&b);
    make_classes(&b);
    printf("| way | lost | bound | dearest by mean | KS | blocks | fullest | CPU s "
           "|\n|---|---|---|---|---|---|---|---|\n");
    run_batches(&b, "Karmarkar-Karp (verl, slime)", share_karmarkar_karp);
    run_batches(&b, "sorted round robin", share_round_robin);
    run_wlb(&b);
    run_bload(&b, "blocks in random order", false, false);
    run_bload(&b, "sorted blocks", false, true);
    run_bload(&b, "--cost", true, false);
    free(b.length);
    free(b.order);
    return 0;
}
