/* bload: read datasets of fixed-size blocks, and plan packings. The public C interface of libbload.
 *
 * Terms: a sequence is one item with a length in steps (video frames, audio samples, tokens, rows of an array). A block
 * has T steps and holds sequences, or pieces of sequences, one after the other; the steps behind them are padding. A
 * field is an array over the steps: one block of it has the shape [T, ...]. A plan says which pieces lie in which
 * block, at which start.
 *
 * Errors: functions that can fail return BLOAD_OK (0) or a negative code, and write the code and one line of text to
 * *error, which may be NULL. After an error their results are NULL or zero. The library prints nothing and never ends
 * the process.
 *
 * Ownership: bload_dataset_open, bload_dataset_plan and bload_plan_make give the caller an object, which the caller
 * ends with bload_dataset_close or bload_plan_free. bload_partition_make and bload_partition_free are such a pair, too.
 * All structs and texts to which the library returns a pointer belong to the object. They are valid as long as the
 * object, or shorter where a function says so. The caller owns everything else, and the library keeps no pointer to it
 * after the call.
 *
 * Threads: only one thread at a time may use an object, also for functions that take it as const. Different objects are
 * independent: each thread opens the dataset for itself.
 *
 * Compatibility: a program that was compiled with this header runs with every later library of the same SONAME. Later
 * versions add members only at the end of structs that the library returns by pointer, and of struct
 * bload_plan_options, which says its size. A program therefore makes no arrays of these structs. The structs
 * bload_error, bload_piece and bload_max_column do not change.
 *
 * Numbers in files and in memory are little-endian. */
#ifndef BLOAD_H
#define BLOAD_H

#include <stddef.h>
#include <stdint.h>

#define BLOAD_VERSION "0.2.0"
#define BLOAD_VERSION_MAJOR 0
#define BLOAD_VERSION_MINOR 2
#define BLOAD_VERSION_PATCH 0

#if defined(__GNUC__)
#define BLOAD_API __attribute__((visibility("default")))
#else
#define BLOAD_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum bload_code {
    BLOAD_OK = 0,
    BLOAD_EFAIL = -1,   /* the system failed: out of memory, no such file, a disk error */
    BLOAD_EUSAGE = -2,  /* wrong use: a block out of range, an unfinished dataset, options that contradict each other */
    BLOAD_EDATA = -3,   /* the data is damaged */
    BLOAD_ECANCEL = -4, /* the caller ended the work early: see bload_plan_options.cancel */
};

struct bload_error {
    int code;        /* enum bload_code */
    char text[1024]; /* one line, NUL-terminated; "" for BLOAD_OK */
};

/* Returns the version of the running library, such as "0.2.0"; BLOAD_VERSION is the version of this header. */
BLOAD_API const char *bload_version(void);

/* --- datasets --------------------------------------------------------------------------------------------------- */

struct bload_dataset;

/* Opens the directory of a finished dataset, or of a view (bload-view(1)) and the datasets that it reads. The call
 * reads manifests and the heads of indexes; shards are opened when they are needed, one at a time for each dataset.
 * Memory does not grow with the dataset, except by 16 bytes per sequence after the first use of bload_dataset_read_row,
 * and by 16 more after bload_dataset_set_epoch of a dataset that is no view. Contents are not verified: see
 * bload-verify(1). */
BLOAD_API int bload_dataset_open(const char *directory, struct bload_dataset **dataset, struct bload_error *error);
/* NULL is accepted. */
BLOAD_API void bload_dataset_close(struct bload_dataset *dataset);

/* Returns the number of epochs that have a plan, at least 1. Epoch 0 is the plan by which the blocks are stored. */
BLOAD_API int64_t bload_dataset_epoch_count(const struct bload_dataset *dataset);

/* Selects the epoch of all later reads, 0 to bload_dataset_epoch_count - 1. All epochs have the same number of blocks,
 * of the same shapes; of the counts, only `pieces` changes. BLOAD_EUSAGE: there is no such epoch; the dataset is
 * unchanged. */
BLOAD_API int bload_dataset_set_epoch(struct bload_dataset *dataset, int64_t epoch, struct bload_error *error);

/* The numbers of blocks, sequences and steps of a dataset or a plan. */
struct bload_counts {
    int64_t T; /* steps per block */
    int64_t S; /* slots: the most sequences that a block has, and the size of its tables */
    int64_t blocks;
    int64_t pieces;        /* sequences in blocks, or pieces of sequences that were cut */
    int64_t sequences;     /* planned sequences */
    int64_t steps;         /* of all planned sequences */
    int64_t longest;       /* steps of the longest planned sequence */
    int64_t padding;       /* steps in all blocks that belong to no sequence */
    int64_t deleted;       /* steps of planned sequences that are in no block, because an option left them out */
    int64_t cut;           /* sequences that lie in more than one piece */
    int64_t lower_bound;   /* proven: no plan of these pieces has fewer blocks */
    double efficiency;     /* share of the steps of all blocks that are not padding */
    int64_t overlap;       /* steps that a piece with a source_start above 0 repeats from the piece before it */
    int64_t repeated;      /* steps that stand in two pieces: blocks * T = steps - deleted + repeated + padding */
    int64_t cp;            /* ranks of context parallelism, for which the plan was made; 0: none */
    int64_t bundles;       /* of sequences that stay together, with several sequences */
    int64_t bundles_split; /* of these, those that do not fit into a block, and are in several */
};

/* Returns the counts. The pointer is valid as long as the dataset; bload_dataset_set_epoch changes `pieces`. */
BLOAD_API const struct bload_counts *bload_dataset_counts(const struct bload_dataset *dataset);

/* --- fields ------------------------------------------------------------------------------------------------------- */

#define BLOAD_RANK_MAX 5

struct bload_field {
    const char *name;              /* such as "frames" */
    const char *kind;              /* what made it, such as "video" */
    const char *dtype;             /* the element type by its name in safetensors: "U8", "I32", "F32", ... */
    size_t item_bytes;             /* bytes of one element */
    int rank;                      /* dimensions of one block; 1 for a number per step */
    int64_t shape[BLOAD_RANK_MAX]; /* [rank] of one block: {T, ...}; elements are in C order */
    size_t block_bytes;            /* bytes of one block, decoded: the product of shape and item_bytes */
    const char *encoding;          /* of the shards: "raw", "jpeg:90", "jpeg:90:444", "delta" */
    int own; /* not 0: the field has steps of its own, beside those of the sequences: shape is {capacity, ...}, where
                capacity is the most steps in a block, and bload_dataset_read_places says where the steps of each
                sequence lie. They lie one after the other, and padding follows them */
};

/* Returns the number of fields, at least 1. */
BLOAD_API int bload_dataset_field_count(const struct bload_dataset *dataset);
/* Returns field 0 to bload_dataset_field_count - 1, or NULL if there is no such field. The pointer is valid as long as
 * the dataset. */
BLOAD_API const struct bload_field *bload_dataset_field(const struct bload_dataset *dataset, int field);
/* Returns the number of the field with that name, or -1. */
BLOAD_API int bload_dataset_find_field(const struct bload_dataset *dataset, const char *name);

/* Copies one block of a field to out, decompressed and decoded: differences exactly, JPEG with libjpeg-turbo's
 * defaults. size: the bytes that out holds. Padding has the values that were packed; the steps of sequences that failed
 * while packing are 0. BLOAD_EUSAGE: size is less than block_bytes, or there is no such block or field. */
BLOAD_API int bload_dataset_read_block(struct bload_dataset *dataset, int64_t block, int field, void *out, size_t size,
                                       struct bload_error *error);

/* Gets one block of a field in memory, without a copy: *data has block_bytes bytes, is aligned for the element type, is
 * read-only, and is valid as long as the dataset. The shard stays mapped until then, so that a second pass over a
 * dataset runs at the speed of memory. Only blocks of epoch 0, of a dataset that is no view, in fields that are neither
 * compressed, nor encoded, nor stored flat (bload_field.own), can be mapped (BLOAD_EUSAGE: use
 * bload_dataset_read_block). As with every mapped file, an access raises SIGBUS if the file was truncated or the disk
 * fails. */
BLOAD_API int bload_dataset_map_block(struct bload_dataset *dataset, int64_t block, int field, const void **data,
                                      struct bload_error *error);

/* --- sequences ---------------------------------------------------------------------------------------------------- */

/* Which sequences lie in a block, and where. Entry i of each table is slot i. */
struct bload_tables {
    int32_t num_sequences; /* used slots, including those of failed sequences */
    /* [S + 1] the sequence in slot i has the steps cu_seqlens[i] to cu_seqlens[i + 1] - 1 of the block. From
     * num_sequences on, every entry is the step at which padding begins. */
    const int32_t *cu_seqlens;
    const int64_t *sequence; /* [S] row of sequences.tsv, from 0; -1: unused, or the sequence failed while packing */
    const int32_t *length;   /* [S] steps; 0: unused, or failed */
    const int64_t
        *source_start; /* [S] the step of the sequence at which the piece begins: above 0 only if it was cut */
    /* [S + 1] as cu_seqlens, with the step at which padding begins rounded up, so that every sequence has a multiple of
     * 2 * cp steps; NULL: counts->cp is 0. */
    const int32_t *cu_seqlens_padded;
};

/* Gets the tables of a block. *tables is valid until the next read from this dataset. BLOAD_EUSAGE: there is no such
 * block. */
BLOAD_API int bload_dataset_read_tables(struct bload_dataset *dataset, int64_t block,
                                        const struct bload_tables **tables, struct bload_error *error);

/* Gets where the steps of each sequence lie in one block of a field: those of the sequence in slot i are steps
 * cu_seqlens[i] to cu_seqlens[i + 1] - 1, [S + 1]. For a field without steps of its own, it is the table of that name.
 * *cu_seqlens is valid until the next read from this dataset. BLOAD_EUSAGE: there is no such block or field. */
BLOAD_API int bload_dataset_read_places(struct bload_dataset *dataset, int64_t block, int field,
                                        const int32_t **cu_seqlens, struct bload_error *error);

/* A row of sequences.tsv: a sequence, or an input that is in no block. */
struct bload_row {
    const char *id, *path, *kind;
    const char *status; /* "ok", "skipped", "dropped" or "failed" */
    const char *reason; /* "" for an ok sequence without fault */
    int64_t length;     /* steps */
};

/* Gets the number of rows. It exceeds counts->sequences if inputs were skipped or dropped. */
BLOAD_API int bload_dataset_row_count(struct bload_dataset *dataset, int64_t *count, struct bload_error *error);
/* Gets row 0 to count - 1. *out is valid until the next read from this dataset. BLOAD_EUSAGE: there is no such row. */
BLOAD_API int bload_dataset_read_row(struct bload_dataset *dataset, int64_t row, const struct bload_row **out,
                                     struct bload_error *error);
/* Gets the text that a row has in a further column, such as one that --attributes joined. *text is valid until the next
 * read from this dataset. BLOAD_EUSAGE: no such row or column. */
BLOAD_API int bload_dataset_read_column(struct bload_dataset *dataset, int64_t row, const char *column,
                                        const char **text, struct bload_error *error);

/* An attribute: a further column of numbers, which the blocks have too. */
struct bload_attribute {
    const char *name;
    const char *dtype; /* "I64" or "F64" */
};

BLOAD_API int bload_dataset_attribute_count(const struct bload_dataset *dataset);
/* Returns attribute 0 to bload_dataset_attribute_count - 1, or NULL if there is no such attribute. The pointer is valid
 * as long as the dataset. */
BLOAD_API const struct bload_attribute *bload_dataset_attribute(const struct bload_dataset *dataset, int attribute);
/* Returns the number of the attribute with that name, or -1. */
BLOAD_API int bload_dataset_find_attribute(const struct bload_dataset *dataset, const char *name);

/* Copies an attribute of a block to out: S elements of int64_t or double, one for each slot. size: the bytes that out
 * holds, at least 8 * S (BLOAD_EUSAGE). An empty value is NaN. The elements of unused slots and of failed sequences are
 * 0; the table `sequence` has -1 there. */
BLOAD_API int bload_dataset_read_attribute(struct bload_dataset *dataset, int64_t block, int attribute, void *out,
                                           size_t size, struct bload_error *error);

/* --- plans -------------------------------------------------------------------------------------------------------- */

/* The value 0 of each enum is the default. */
enum bload_strategy {
    BLOAD_STRATEGY_BLOCK = 0, /* whole sequences, one after the other, in blocks of T steps */
    BLOAD_STRATEGY_NAIVE,     /* each sequence in a block of its own, padded to T */
    BLOAD_STRATEGY_SAMPLE,    /* clips of `clip` steps from each sequence that is long enough */
    BLOAD_STRATEGY_MIX,       /* each sequence cut or padded to `clip` steps */
    BLOAD_STRATEGY_STORE,     /* all sequences in the order of the lengths, in rows of T steps, split where rows end */
};

enum bload_fill {
    BLOAD_FILL_OPTIMAL = 0, /* near the lower bound; the seed decides which sequences share a block */
    BLOAD_FILL_PAPER,       /* BLoad's rule: a uniformly random choice of those that fit */
};

/* Selects how the planner makes the number of blocks a multiple of world_size * batch_size. */
enum bload_remainder {
    BLOAD_REMAINDER_SPREAD = 0, /* sequences are spread over more blocks */
    BLOAD_REMAINDER_PAD,        /* empty blocks follow at the end */
    BLOAD_REMAINDER_DROP,       /* the emptiest blocks are dropped */
};

/* Selects what the planner does with a sequence that is longer than T. */
enum bload_oversize {
    BLOAD_OVERSIZE_ERROR = 0, /* bload_plan_make fails */
    BLOAD_OVERSIZE_SPLIT,     /* it is cut into pieces of T steps; no step is lost */
    BLOAD_OVERSIZE_TRUNCATE,  /* its first T steps are used */
    BLOAD_OVERSIZE_DROP,      /* it is in no block */
};

/* Selects the synchronization points, at which ranks wait for each other. */
enum bload_sync {
    BLOAD_SYNC_MICRO = 0, /* after every micro-batch */
    BLOAD_SYNC_STEP,      /* after every optimizer step, which has `accumulate` micro-batches */
};

#define BLOAD_MAX_COLUMNS_MAX 8
#define BLOAD_ALONE UINT32_MAX /* a sequence that is together with no other one, or in no group of a partition */

/* A quantity besides steps that is limited in each block, such as pictures or seconds. */
struct bload_max_column {
    double max;          /* of the sum over the sequences of a block; above 0 */
    const double *value; /* [count] of each sequence, 0 to max; a piece has the share of its steps */
};

/* The options of a plan. Set size, and every other member that shall not have its default, which is 0:
 *
 *     struct bload_plan_options options = {.size = sizeof options, .T = 128, .seed = 1};
 *
 * Members have the names of the options of bload-plan(1), where these are explained at length. */
struct bload_plan_options {
    size_t size; /* sizeof(struct bload_plan_options): tells the library which members the program knows */
    enum bload_strategy strategy;
    enum bload_fill fill;
    enum bload_oversize oversize;
    enum bload_remainder remainder;
    enum bload_sync sync;
    int all_clips;   /* BLOAD_STRATEGY_SAMPLE: not 0: all clips that fit into a sequence; 0: one of them */
    int keep_order;  /* not 0: sequences and blocks keep the order of the lengths */
    int balance;     /* not 0: the ranks' costs are made nearly equal at each synchronization point. Costs are those
                        below, or squared lengths if none are given. Rank r has the blocks r, r + world_size, ... */
    int64_t T;       /* steps per block; 0: the length of the longest sequence */
    int64_t clip;    /* steps per clip; 0: the mean length, rounded down */
    uint64_t seed;   /* of all random choices: the same seed gives the same plan on every machine */
    int64_t effort;  /* limit of the search for fewer blocks, in billions of operations; 0: 8 */
    int64_t align;   /* every sequence begins at a multiple of so many steps; 0: at any step */
    int64_t overlap; /* BLOAD_OVERSIZE_SPLIT: steps that each piece but the first repeats; below T */
    int64_t max_sequences; /* in a block; 0: any number */
    int64_t min_length;    /* in steps; shorter sequences are dropped */
    int64_t max_length;    /* in steps; longer sequences are dropped; 0: no limit */
    double spare;          /* share of further blocks, such as 0.005, by which the seed can change more of the plan */
    int64_t world_size;    /* ranks; 0: 1 */
    int64_t batch_size;    /* blocks that a rank takes in one micro-batch; 0: 1 */
    int64_t accumulate;    /* micro-batches per optimizer step; 0: 1 */
    double cost_alpha;     /* cost of each step of a sequence */
    double cost_beta;      /* added: cost of the square of a sequence's length */
    const double *cost;    /* [count] the cost of each sequence, instead of the two above; NULL: none */
    const uint32_t *group; /* [count] sequences of different groups never share a block; NULL: all are one group */
    int max_columns;       /* 0 to BLOAD_MAX_COLUMNS_MAX; above 0 only with BLOAD_FILL_OPTIMAL */
    const struct bload_max_column *max_column; /* [max_columns] */
    /* NULL, or a number of the caller. If a signal handler or another thread makes it other than 0, planning ends soon,
     * with BLOAD_ECANCEL. */
    const volatile int *cancel;
    int64_t cp;               /* ranks of context parallelism: as align = 2 * cp, and T must be a multiple; 0: none */
    const uint32_t *together; /* [count] sequences with one number share a block, next to each other, and count as one
                                 sequence that is too long if they do not fit; BLOAD_ALONE: alone; NULL: all are */
};

struct bload_plan;

/* Plans sequences of length[0] to length[count - 1] steps; a length of 0 is left out. options NULL: all defaults. The
 * arrays of the options are not needed after the call. BLOAD_EUSAGE: an option is wrong, contradicts another one, or is
 * not known to this library. BLOAD_EFAIL: out of memory, or a sequence is longer than T with BLOAD_OVERSIZE_ERROR.
 * BLOAD_ECANCEL: see bload_plan_options.cancel. */
BLOAD_API int bload_plan_make(const int64_t *length, size_t count, const struct bload_plan_options *options,
                              struct bload_plan **plan, struct bload_error *error);

/* Gets the plan of epoch 0 of a dataset, which takes about 20 bytes of memory per piece and outlives the dataset. */
BLOAD_API int bload_dataset_plan(struct bload_dataset *dataset, struct bload_plan **plan, struct bload_error *error);

/* NULL is accepted. */
BLOAD_API void bload_plan_free(struct bload_plan *plan);

/* Returns the counts, which are valid as long as the plan. */
BLOAD_API const struct bload_counts *bload_plan_counts(const struct bload_plan *plan);

/* Measures of how evenly a plan loads the ranks. All members are 0 for one rank. */
struct bload_imbalance {
    double imbalance;        /* sum over synchronization points of the highest cost of a rank, divided by the sum of the
                                mean costs, minus 1: the share of time that ranks wait */
    double imbalance_before; /* the same for blocks in random order, before they were balanced */
    double imbalance_bound;  /* proven: no plan of these pieces in as many blocks has less */
    double highest_block_cost; /* cost of the most expensive block, divided by the mean cost of a block */
    double
        ks_distance; /* mean Kolmogorov-Smirnov distance between the costs at a synchronization point and all costs */
    double ks_distance_random; /* the same for blocks in random order */
    double cost_correlation;   /* of the costs of each block and the next one, -1 to 1 */
};

/* Returns the imbalance, which is valid as long as the plan. */
BLOAD_API const struct bload_imbalance *bload_plan_imbalance(const struct bload_plan *plan);

/* A sequence, or a piece of one, in a block. */
struct bload_piece {
    int64_t sequence;     /* index into the lengths; of the plan of a dataset, row of sequences.tsv */
    int64_t source_start; /* the step of the sequence at which the piece begins */
    int32_t start;        /* the step of the block at which the piece begins */
    int32_t length;       /* steps */
};

/* Returns the number of pieces in a block, at most counts->S, or -1 if there is no such block. */
BLOAD_API int64_t bload_plan_piece_count(const struct bload_plan *plan, int64_t block);

/* Copies all pieces of a block to pieces, in order of start. count: the pieces for which there is room. BLOAD_EUSAGE:
 * count is less than bload_plan_piece_count, or there is no such block. */
BLOAD_API int bload_plan_pieces(const struct bload_plan *plan, int64_t block, struct bload_piece *pieces, int64_t count,
                                struct bload_error *error);

/* Copies all pieces of all blocks. Block b has the pieces block_ptr[b] to block_ptr[b + 1] - 1, in order of start;
 * piece p is steps source_start[p] to source_start[p] + length[p] - 1 of the sequence sequence[p], and begins at step
 * start[p] of its block. block_ptr has room for counts->blocks + 1 numbers, and each of the other arrays for
 * counts->pieces; NULL: this array is not wanted. */
BLOAD_API void bload_plan_copy(const struct bload_plan *plan, int64_t *block_ptr, int64_t *sequence, int32_t *start,
                               int32_t *length, int64_t *source_start);

/* --- ranks ------------------------------------------------------------------------------------------------------ */

/* The options of a partition. Set size, and every other member that shall not have its default, which is 0. */
struct bload_partition_options {
    size_t size;                /* sizeof(struct bload_partition_options) */
    int64_t ranks;              /* at least 1 */
    int64_t micro_batches;      /* of each rank; 0: as few as max_tokens allows */
    int64_t max_tokens;         /* in a micro-batch; 0: no maximum. At least one of the two is given */
    int64_t multiple;           /* the number of micro-batches is a multiple of it; 0: 1 */
    enum bload_sync sync;       /* whether ranks wait for each other after every micro-batch, or after all of them */
    double cost_alpha;          /* cost of each token; if no cost is given, it is 1 */
    double cost_beta;           /* added: cost of the square of a sequence's length */
    const double *cost;         /* [count] the cost of each sequence, instead of the two above; NULL: none */
    const uint32_t *group;      /* [count] sequences of one group are on one rank; NULL: none, as BLOAD_ALONE */
    const uint32_t *together;   /* [count] sequences of one number are in one micro-batch; NULL: none */
    const volatile int *cancel; /* as in struct bload_plan_options */
};

/* Which sequence goes to which rank and micro-batch. The arrays belong to the partition. */
struct bload_partition {
    int64_t ranks;
    int64_t micro_batches;       /* of each rank */
    int64_t micro_batches_bound; /* proven: no partition within max_tokens has fewer */
    const int64_t *place;        /* [count] of each sequence: rank * micro_batches + micro-batch */
    const double *cost;          /* [ranks * micro_batches] of each micro-batch */
    const int64_t *tokens;       /* [ranks * micro_batches] of each micro-batch */
    double lost;                 /* sum over synchronization points of the highest cost of a rank, divided by the sum of
                                    the mean costs, minus 1: the share of time that ranks wait */
    double bound;                /* proven: no partition to so many ranks loses less */
};

/* Divides the sequences of one training step, of length[0] to length[count - 1] tokens, among ranks and micro-batches.
 * All ranks have the same number of micro-batches. A micro-batch is empty only if a sequence in it would make ranks
 * wait, or if the sequences are too few or must stay with others. With BLOAD_SYNC_STEP, the micro-batches of a rank are
 * ordered by cost, the most expensive first. The result depends on the arguments alone. BLOAD_EUSAGE: an option, a
 * length or a cost is wrong, a sequence exceeds max_tokens, or the sequences do not fit into micro_batches.
 * BLOAD_EFAIL: out of memory. BLOAD_ECANCEL: see bload_plan_options.cancel. */
BLOAD_API int bload_partition_make(const int64_t *length, size_t count, const struct bload_partition_options *options,
                                   struct bload_partition **partition, struct bload_error *error);

/* NULL is accepted. */
BLOAD_API void bload_partition_free(struct bload_partition *partition);

#ifdef __cplusplus
}
#endif

#endif
