/* A plan says which sequence goes into which block, and at which start.
 *
 * Planning is pure: it takes lengths, options and a seed, and uses no files, threads or clock. Its result is the same
 * on every machine. Example: lengths 6, 3, 5, 2 and T = 8 give two blocks, block_ptr = 0 2 4 and sequence = 0 3 2 1:
 * block 0 has the sequences 0 (start 0) and 3 (start 6), and is full; block 1 has 2 and 1.
 *
 * Peak memory, if nothing is cut: 8 bytes per sequence and 16 per block, besides the caller's 8 per sequence for the
 * lengths; up to 8 more per sequence if nearly all lengths differ. Cutting takes up to 32 bytes more per piece. */
#ifndef BL_PLAN_H
#define BL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/vector.h"

#define BL_T_MAX INT64_C(2147483647) /* start and cu_seqlens are I32 */
#define BL_CP_MAX (BL_T_MAX / 2)     /* T is a multiple of twice the ranks of context parallelism */
#define BL_T_AUTO INT64_MIN          /* for STORE: the bytes of a step decide T before a plan is made */
#define BL_SEQUENCES_MAX UINT32_MAX  /* ids are uint32_t while planning */

/* Strategies and fills, by identifier and by the word of --strategy and --fill. Each has its functions in a struct of
 * that name: see plan/strategy.h and plan/fill.h. --help shows the words in this order. */
#define BL_STRATEGY_LIST(X) X(NAIVE, naive) X(SAMPLE, sample) X(MIX, mix) X(BLOCK, block) X(STORE, store)
#define BL_FILL_LIST(X) X(OPTIMAL, optimal) X(PAPER, paper)

#define BL_STRATEGY_ID(id, name) BL_STRATEGY_##id,
#define BL_FILL_ID(id, name) BL_FILL_##id,
enum bl_strategy { BL_STRATEGY_LIST(BL_STRATEGY_ID) BL_STRATEGY_COUNT };
enum bl_fill { BL_FILL_LIST(BL_FILL_ID) BL_FILL_COUNT };
#undef BL_STRATEGY_ID
#undef BL_FILL_ID

enum bl_oversize { BL_OVERSIZE_ERROR, BL_OVERSIZE_SPLIT, BL_OVERSIZE_TRUNCATE, BL_OVERSIZE_DROP };
enum bl_clips { BL_CLIPS_ONE, BL_CLIPS_ALL };
enum bl_remainder { BL_REMAINDER_SPREAD, BL_REMAINDER_PAD, BL_REMAINDER_DROP };
enum bl_balance { BL_BALANCE_AUTO, BL_BALANCE_NONE, BL_BALANCE_QUADRATIC, BL_BALANCE_COST };
enum bl_sync { BL_SYNC_MICRO, BL_SYNC_STEP };
enum bl_keep { BL_KEEP_NOTHING, BL_KEEP_ORDER };

/* Billions of operations: 8 take about 8 seconds. The other two bound products of options. */
#define BL_EFFORT_DEFAULT 8
#define BL_EFFORT_MAX 1000000
#define BL_ACCUMULATE_MAX 16384

#define BL_ALONE UINT32_MAX /* the number of a sequence that is in no bundle, or in no group of an assignment */

#define BL_PLAN_OWN_NAME_SIZE 48 /* bytes of the name of a field with steps of its own, with its NUL */
#define BL_COST_POINTS 4         /* fields with a cost of their own */

/* The cost of a block: alpha for each of its T steps and beta for each squared step of its sequences; or the sum of a
 * column of the table over its sequences. All zero: not given. Costs of fields instead say what a block costs at
 * several points of a step of training, at each of which the ranks wait for each other: by the steps of the fields with
 * steps of their own, and, for at most one name that is no such field, by the common steps. */
struct bl_plan_cost {
    double alpha, beta;
    const char *column;
    struct bl_plan_cost_field {
        char name[BL_PLAN_OWN_NAME_SIZE];
        double alpha, beta;
    } field[BL_COST_POINTS];
    int fields; /* 0: the cost is one of the other two */
};

static inline bool bl_plan_cost_is_given(const struct bl_plan_cost *cost)
{
    /* A NaN counts as given, so that it is refused. */
    return cost->fields || cost->column || !(cost->alpha == 0 && cost->beta == 0);
}

#define BL_PLAN_COLUMNS_MAX 8
#define BL_PLAN_COLUMN_SIZE 128 /* bytes of a name, with its NUL */

/* Columns of the table whose sums over the sequences of a block have a maximum. */
struct bl_plan_columns {
    struct bl_plan_column {
        char name[BL_PLAN_COLUMN_SIZE];
        double max;          /* of a block's sum; more than 0 */
        const double *value; /* [count] of the sequences, at least 0 */
        bool is_field;       /* the column is FIELD.length, the steps of a field with steps of its own, and max is the
                                capacity of that field; 0: to be found (plan/capacity.h) */
    } each[BL_PLAN_COLUMNS_MAX];
    int count;
};

#define BL_PLAN_OWN_SUFFIX ".length" /* of the column of a field with steps of its own */

/* Returns the bytes of the field's name in the name of its column. */
static inline int bl_plan_column_field_size(const struct bl_plan_column *column)
{
    return (int)(strlen(column->name) - strlen(BL_PLAN_OWN_SUFFIX));
}

/* The fields with steps of their own, in the order of the dataset's fields. The own steps of a block lie one after the
 * other, in the order of its pieces. */
struct bl_plan_own {
    int count;
    struct bl_plan_own_field {
        char name[BL_PLAN_OWN_NAME_SIZE];
        int64_t capacity;     /* the most steps in a block; 0: as many as the fullest block has, which a check sets */
        const double *length; /* [count] steps of each sequence: whole numbers. The caller's; NULL: not known */
        int32_t *piece;       /* [P] steps of each piece, owned; NULL: they follow from length */
        int64_t steps;        /* in all blocks; set by a check of the plan, as is highest */
        int64_t highest;      /* steps in the fullest block */
    } field[BL_PLAN_COLUMNS_MAX];
};

/* The options of a plan; together with the lengths, they determine it. The pointers are the caller's. */
struct bl_plan_options {
    enum bl_strategy strategy;
    enum bl_fill fill;         /* for BL_STRATEGY_BLOCK */
    enum bl_oversize oversize; /* for sequences longer than T; NAIVE and BLOCK */
    enum bl_clips clips;       /* for BL_STRATEGY_SAMPLE: one clip of each sequence, or every whole clip */
    int64_t T;                 /* steps per block; 0: the longest sequence that is not dropped */
    int64_t clip;              /* steps per clip for SAMPLE and MIX; 0: the mean length, rounded down */
    uint64_t seed;
    /* In the members below, 0 means that the option is not given; the number is then the default. */
    int64_t effort;              /* BL_EFFORT_DEFAULT; billions of operations in the search for fewer blocks */
    int64_t align;               /* steps: every start is a multiple of it; BLOCK */
    int64_t cp;                  /* ranks of context parallelism: see bl_plan_options_align; BLOCK */
    int64_t overlap;             /* steps that a piece of a split sequence repeats of the one before, below T */
    int64_t max_sequences;       /* in a block; BLOCK */
    int64_t min_length;          /* steps: shorter sequences are dropped */
    int64_t max_length;          /* steps: longer sequences are dropped */
    enum bl_keep order;          /* also keep the input order of the blocks; BLOCK with BL_FILL_OPTIMAL */
    double spare;                /* OPTIMAL: this part more blocks, which leaves more to the seed; 0 */
    int64_t world_size;          /* ranks; 1 */
    int64_t batch_size;          /* blocks per rank and step; 1 */
    enum bl_remainder remainder; /* how to reach a multiple of world_size * batch_size blocks */
    enum bl_balance balance;     /* equal costs of the ranks wherever they wait; AUTO: if a cost is given */
    struct bl_plan_cost cost;    /* not given: squared lengths */
    const double *column;        /* [count] costs of the sequences, if cost.column is given */
    int64_t accumulate;          /* micro-batches per optimizer step; 1 */
    enum bl_sync sync;           /* whether ranks wait after every micro-batch, or after every optimizer step */
    const uint32_t *group;       /* [count] sequences of different groups never share a block; BLOCK */
    const char *together_column; /* whose values `together` numbers; NULL: not given */
    const uint32_t *together;    /* [count] sequences with one number share a block, next to each other; BL_ALONE */
    struct bl_plan_columns max_column; /* BLOCK with BL_FILL_OPTIMAL; bl_plan_columns_set adds those of capacity */
    struct bl_plan_columns capacity;   /* of the fields with steps of their own; BLOCK with BL_FILL_OPTIMAL, STORE */
    const volatile int *cancel; /* a number that another thread or a signal handler may set, or NULL: if it is not
                                   0, planning ends with BL_ECANCEL. Not an option of the plan */
};

/* How even the ranks and the steps of a plan are, measured by the costs of the blocks. A wait is the work between two
 * synchronization points. */
struct bl_plan_balance {
    bool is_measured; /* there are several ranks */
    double lost; /* imbalance: highest costs of a rank, summed over the waits, by the mean costs, less 1; 0: even */
    double lost_before; /* imbalance of the drafted blocks in random order */
    double bound;       /* proven: no plan of these pieces in as many blocks loses less */
    double highest;     /* cost of the most expensive block, by that of the mean block; at least 1 */
    double apart;       /* mean over the waits of the Kolmogorov-Smirnov distance between a wait's steps and all steps,
                           by the cost of their sequences */
    double apart_drawn; /* `apart` of waits that are drawn at random from the same blocks */
    double neighbours;  /* correlation of the costs of each block and the next */
    /* With costs of several fields, the members above are about the sums over the fields, and these about each: */
    int points; /* 0: there is one cost */
    struct bl_plan_point {
        char name[BL_PLAN_OWN_NAME_SIZE];
        double lost, lost_before, bound;
    } point[BL_COST_POINTS];
};

/* A plan as tables. The caller of bl_plan_make owns it and frees it with bl_plan_free. Steps count as int64_t. */
struct bl_plan {
    int64_t T;             /* steps per block of this plan: for SAMPLE and MIX the clip */
    int64_t align;         /* every start is a multiple of it: see bl_plan_next_start. 0, 1: no alignment */
    int64_t overlap;       /* steps: a piece that does not begin its sequence repeats so many of the one before */
    size_t blocks;         /* B */
    size_t pieces;         /* P */
    int64_t *block_ptr;    /* [B+1] first piece of each block, then P; padding blocks are empty, at the end */
    uint32_t *sequence;    /* [P] index into the lengths, in block order, then by start */
    int64_t *length;       /* [P] steps of the piece, or NULL: every piece is a whole sequence */
    int64_t *source_start; /* [P] first step of the piece within its sequence, or NULL: all 0 */
    bool is_store;         /* of STORE: a sequence that is whole in several pieces is not counted as cut */
    /* Invariant: blocks * T == steps - deleted + repeated + padding. */
    int64_t sequences; /* with a positive length */
    int64_t steps;     /* sum of all lengths, including those over T */
    int64_t longest;
    int64_t padding;       /* steps */
    int64_t align_padding; /* of these, between the pieces of a block: alignment costs them */
    int64_t deleted;       /* steps: left out by sample, mix, truncate, drop */
    int64_t repeated;      /* steps that are placed a second time, by overlap */
    int64_t cut;           /* placed sequences without all steps in one piece: split, truncated, clipped */
    int64_t dropped;       /* sequences without a placed step */
    int64_t lower_bound;   /* proven: no plan of these pieces has fewer blocks */
    int64_t max_sequences; /* S: most pieces in a block */
    int64_t bundles;       /* placed values of `together` that several sequences have */
    int64_t bundles_split; /* of these, those that do not fit into a block and are in several */
    int64_t bundle_pairs;  /* pairs of pieces of one bundle that share a block */
    struct bl_plan_own own;
    struct bl_plan_balance balance;
    struct bl_plan_filled {
        double mean, highest;      /* sums of a block, as parts of the maximum */
    } filled[BL_PLAN_COLUMNS_MAX]; /* by column of max_column */
};

/* Plans count sequences of length[i] steps; a length of 0 leaves out a sequence, such as a row that is not ok.
 * BL_EUSAGE: invalid options (T out of range...). BL_EFAIL: out of memory, a sequence longer than T with
 * BL_OVERSIZE_ERROR (the message has the index of the first), or an empty plan. BL_ECANCEL: *options->cancel is not 0.
 * On error *plan is empty. */
int bl_plan_make(struct bl_plan *plan, const int64_t *length, size_t count, const struct bl_plan_options *options,
                 struct bl_error *e);
/* Frees the tables; {0} is accepted. */
void bl_plan_free(struct bl_plan *plan);

/* Makes room for `pieces` pieces in sequence, length and source_start. *capacity: their present room, 0 at first.
 * BL_EFAIL: out of memory; the plan is still valid. */
int bl_plan_reserve(struct bl_plan *plan, size_t *capacity, size_t pieces, struct bl_error *e);

/* Sets *T to the T of bl_plan_make: the given number, the longest sequence, or for SAMPLE and MIX the clip. Errors as
 * of bl_plan_make. */
int bl_plan_T(int64_t *T, const int64_t *length, size_t count, const struct bl_plan_options *options,
              struct bl_error *e);

/* The sequences longer than T that no limit on lengths drops. */
struct bl_plan_oversize {
    size_t count;
    size_t first;    /* index of the first one */
    int64_t longest; /* steps */
};

/* Finds them, for messages that name the first. */
void bl_plan_find_oversize(struct bl_plan_oversize *over, const int64_t *length, size_t count,
                           const struct bl_plan_options *options, int64_t T);

/* Sets the fields with steps of their own, by the columns in options->max_column. In a store, and where a capacity is
 * to be found, the capacity is 0. */
void bl_plan_own_set(struct bl_plan_own *own, const struct bl_plan_options *options);

/* Finds the sequences longer than T that options would cut, and that have steps of an own field. The count is that of
 * sequences and such fields. */
void bl_plan_find_uncuttable(struct bl_plan_oversize *over, const int64_t *length, size_t count,
                             const struct bl_plan_options *options, int64_t T);

/* Returns whether a piece of a checked plan is not a whole sequence. */
static inline bool bl_plan_has_parts(const struct bl_plan *plan)
{
    return plan->cut > 0 || (int64_t)plan->pieces > plan->sequences - plan->dropped;
}

/* Returns the steps of piece p. length: the array that the plan was made from. */
static inline int64_t bl_plan_piece_length(const struct bl_plan *plan, const int64_t *length, size_t p)
{
    return plan->length ? plan->length[p] : length[plan->sequence[p]];
}

/* Returns how many steps of own field f piece p has: all of its sequence if the piece begins the sequence, otherwise
 * none. */
static inline int64_t bl_plan_own_length(const struct bl_plan *plan, int f, size_t p)
{
    const struct bl_plan_own_field *field = &plan->own.field[f];
    bool begins = !plan->source_start || !plan->source_start[p];
    if (field->piece)
        return field->piece[p];
    return begins ? (int64_t)field->length[plan->sequence[p]] : 0;
}

/* Prefetches the length of a later piece, for a loop that calls it for each piece p in turn: lengths are read in random
 * order, and a cache miss takes longer than the work for a piece. */
BL_PREFETCHES void bl_plan_prefetch_length(const struct bl_plan *plan, const int64_t *length, size_t p)
{
    enum { AHEAD = 32 }; /* pieces: far enough for the latency of memory, near enough to stay in the cache */
    if (!plan->length && p + AHEAD < plan->pieces)
        __builtin_prefetch(&length[plan->sequence[p + AHEAD]]);
}

/* Returns the start of a piece that follows one of `length` steps at `start`. */
static inline int64_t bl_plan_next_start(const struct bl_plan *plan, int64_t start, int64_t length)
{
    int64_t end = start + length;
    return plan->align > 1 ? (end + plan->align - 1) / plan->align * plan->align : end;
}

/* Checks all tables of a plan from any source: each step at most once, none outside its sequence, no block over T, no
 * empty piece. With plan->overlap, a piece begins at step 0, or exactly `overlap` steps before the end of the piece
 * before it, and ends after that. Recomputes the counts of the plan. Raises lower_bound to a quickly proven bound; it
 * must not exceed the blocks. BL_EFAIL names the block and the sequence. */
int bl_plan_check(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e);

/* Checks that a checked plan keeps bundles: the pieces of a bundle lie next to each other in one block, in the order of
 * the sequences; a bundle that does not fit may be in several blocks with BL_OVERSIZE_SPLIT. Sets bundles,
 * bundles_split and bundle_pairs. options: together, whose numbers are below count, oversize, max_sequences and
 * max_column with its values. BL_EFAIL names the sequence. */
int bl_plan_check_bundles(struct bl_plan *plan, const int64_t *length, size_t count,
                          const struct bl_plan_options *options, struct bl_error *e);

/* Checks the own steps of the pieces of a plan alone, and counts them: see struct bl_plan_own. count: sequences. */
int bl_plan_count_own(struct bl_plan *plan, size_t count, struct bl_error *e);

/* Checks and recounts a plan without the bound: lower_bound stays unchanged. For a new plan before it is written.
 * Memory: one bit per sequence. */
int bl_plan_recount(struct bl_plan *plan, const int64_t *length, size_t count, struct bl_error *e);

/* Returns the alignment of the starts in a block of --strategy block: --align, or without it twice --cp. */
int64_t bl_plan_options_align(const struct bl_plan_options *options);

/* Checks that the alignment and T suit --cp, if it is given. BL_EUSAGE: the message names values that do. */
int bl_plan_options_check_cp(const struct bl_plan_options *options, int64_t T, struct bl_error *e);

/* Returns the steps between the pieces of all blocks. length: the array that the plan was made from. */
int64_t bl_plan_align_padding(const struct bl_plan *plan, const int64_t *length);

/* Returns the steps of all pieces, repeated ones included. */
static inline int64_t bl_plan_placed(const struct bl_plan *plan)
{
    return plan->steps - plan->deleted + plan->repeated;
}

/* Returns the share of the blocks' steps that hold data: placed / (blocks * T), 0 to 1. */
double bl_plan_efficiency(const struct bl_plan *plan);

#endif
