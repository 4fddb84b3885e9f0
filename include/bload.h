/* bload: read datasets of fixed-size blocks, and plan packings. The public C interface of libbload.
 *
 * Terms: a sequence is one item with a length in steps (video frames, audio samples, tokens, rows). A block has T
 * steps, and holds sequences, or pieces of sequences, one after the other; the remaining steps at its end are padding.
 * A field is an array over the steps: a block of it has the shape [T, ...]. A plan gives the block and the start of
 * each piece.
 *
 * Errors: functions that can fail return BLOAD_OK (0) or a negative code, and record the code and one line of text in
 * *error, which may be NULL. Their results are then NULL or zero. The library prints nothing and never ends the
 * process.
 *
 * Compatibility: a program that was compiled with this header runs with every later library of the same SONAME. Structs
 * have reserved room at their end, in which later versions put new members; set it to zero (`= {0}`, or an initializer
 * with names, does that).
 *
 * Threads: only one thread at a time may use an object; different objects are independent. Open a dataset once per
 * thread.
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
    BLOAD_EFAIL = -1,  /* the system failed: out of memory, no such file, a disk error */
    BLOAD_EUSAGE = -2, /* wrong use: a block out of range, an unfinished dataset, impossible options */
    BLOAD_EDATA = -3,  /* the data is damaged */
};

struct bload_error {
    int code;        /* enum bload_code */
    char text[1024]; /* one line, NUL-terminated; "" for BLOAD_OK */
};

/* The version of the running library; BLOAD_VERSION is the version of this header. */
BLOAD_API const char *bload_version(void);

/* --- datasets --------------------------------------------------------------------------------------------------- */

struct bload_dataset;

/* Opens the directory of a finished dataset, or of a view (bload-view(1)), whose datasets it opens too. Reads manifests
 * and the heads of indexes; opens shards when they are needed, one at a time for each dataset. Memory does not grow
 * with the dataset, except by 16 bytes per sequence after the first use of bload_dataset_sequence, and by 16 more after
 * bload_dataset_set_epoch of a dataset that is no view. Contents are not verified: see bload-verify(1). */
BLOAD_API int bload_dataset_open(const char *directory, struct bload_dataset **dataset, struct bload_error *error);
/* NULL is accepted. Mappings remain until bload_unmap. */
BLOAD_API void bload_dataset_close(struct bload_dataset *dataset);

/* Returns the number of epochs that have a plan, at least 1. Epoch 0 is the first plan, by which a dataset's blocks are
 * stored. */
BLOAD_API int64_t bload_dataset_epoch_count(const struct bload_dataset *dataset);

/* Selects the epoch of all later reads, 0 to bload_dataset_epoch_count - 1. Each epoch has the same number of blocks,
 * of the same shapes. Of the counts, only pieces changes with the epoch. BLOAD_EUSAGE: there is no such epoch; the
 * dataset is unchanged. */
BLOAD_API int bload_dataset_set_epoch(struct bload_dataset *dataset, int64_t epoch, struct bload_error *error);

struct bload_counts {
    int64_t T; /* steps per block */
    int64_t S; /* max_sequences: sequences per block in the tables */
    int64_t blocks;
    int64_t pieces;      /* placed sequences, or parts of them */
    int64_t sequences;   /* planned sequences */
    int64_t steps;       /* of all sequences */
    int64_t longest;     /* steps */
    int64_t padding;     /* steps in all blocks that belong to no sequence */
    int64_t deleted;     /* steps left out by request */
    int64_t cut;         /* sequences divided into several pieces */
    int64_t lower_bound; /* no plan of these pieces has fewer blocks */
    double efficiency;   /* placed steps, repeated ones included / (blocks * T) */
    int64_t overlap;     /* a piece with a source_start above 0 repeats so many steps of the piece before, as context */
    int64_t repeated;    /* steps that are placed a second time: blocks * T = steps - deleted + repeated + padding */
    int64_t reserved[6];
};

BLOAD_API void bload_dataset_counts(const struct bload_dataset *dataset, struct bload_counts *counts);

#define BLOAD_RANK_MAX 5

struct bload_field {
    const char *name;              /* valid as long as the dataset */
    const char *kind;              /* the kind that made it: "video" */
    const char *dtype;             /* safetensors name: "U8", "I32", "F32", ... */
    size_t item_bytes;             /* of one element */
    int rank;                      /* of one block: 1 for a number per step */
    int64_t shape[BLOAD_RANK_MAX]; /* of one block: {T, ...}; elements in C order */
    size_t block_bytes;
    const char *encoding; /* in the shards: "raw", "jpeg:90", "jpeg:90:444", "delta"; the other members describe the
                             decoded data */
    int64_t reserved[4];
};

BLOAD_API int bload_dataset_field_count(const struct bload_dataset *dataset);
/* field: 0 to bload_dataset_field_count - 1. */
BLOAD_API int bload_dataset_field(const struct bload_dataset *dataset, int field, struct bload_field *out,
                                  struct bload_error *error);
/* Returns the index of the field with that name, or -1. */
BLOAD_API int bload_dataset_find_field(const struct bload_dataset *dataset, const char *name);

/* Copies block `block` of a field into out, which holds `size` bytes. BLOAD_EUSAGE: `size` is less than block_bytes.
 * Padding has the values that were packed; sequences that failed while packing are zeros. Encoded fields are decoded:
 * differences exactly, JPEG with libjpeg-turbo's defaults. */
BLOAD_API int bload_read_block(struct bload_dataset *dataset, int64_t block, int field, void *out, size_t size,
                               struct bload_error *error);

/* A block of a field, mapped from the file. */
struct bload_mapping {
    const void *data; /* block_bytes, read-only, aligned for its type */
    size_t size;
    void *address; /* start of the mapping */
    size_t length;
};

/* Maps a block instead of copying it. Only for fields that are neither compressed nor encoded (BLOAD_EUSAGE). The
 * mapping outlives the dataset object; end it with bload_unmap. As with every mapped file, access raises SIGBUS if the
 * file is truncated meanwhile or the disk fails: use bload_read_block where that may happen. */
BLOAD_API int bload_map_block(struct bload_dataset *dataset, int64_t block, int field, struct bload_mapping *mapping,
                              struct bload_error *error);
/* Does nothing with a zero mapping; afterwards the mapping is zero. */
BLOAD_API void bload_unmap(struct bload_mapping *mapping);

/* The sequences of a block. */
struct bload_tables {
    int32_t num_sequences; /* sequences in the block, including failed ones */
    /* [S + 1] sequence i has steps cu_seqlens[i] .. cu_seqlens[i + 1] - 1. From num_sequences on, all entries are the
     * end of the last sequence, where padding begins. */
    const int32_t *cu_seqlens;
    const int64_t *sequence;     /* [S] row of sequences.tsv, from 0; -1: unused, or failed while packing */
    const int32_t *length;       /* [S] steps; 0: unused, or failed */
    const int64_t *source_start; /* [S] first step within the sequence: not 0 if it was cut */
    int64_t reserved[4];
};

/* Reads a block's tables. They belong to the dataset and are valid until its next call. */
BLOAD_API int bload_read_tables(struct bload_dataset *dataset, int64_t block, struct bload_tables *tables,
                                struct bload_error *error);

/* A row of sequences.tsv. Texts are valid until the dataset's next call. */
struct bload_sequence {
    const char *id, *path, *kind;
    const char *status; /* "ok", "skipped", "dropped", "failed" */
    const char *reason; /* "" for an ok sequence without fault */
    int64_t length;     /* steps */
    int64_t reserved[4];
};

/* The number of rows, which exceeds counts.sequences if inputs were skipped or dropped. */
BLOAD_API int bload_dataset_row_count(struct bload_dataset *dataset, int64_t *count, struct bload_error *error);
/* row: 0 to count - 1. */
BLOAD_API int bload_dataset_sequence(struct bload_dataset *dataset, int64_t row, struct bload_sequence *out,
                                     struct bload_error *error);

/* An attribute: an extra numeric column of the table of sequences, which the blocks contain too. */
struct bload_attribute {
    const char *name;  /* valid as long as the dataset */
    const char *dtype; /* "I64" or "F64" */
    int64_t reserved[4];
};

BLOAD_API int bload_dataset_attribute_count(const struct bload_dataset *dataset);
/* attribute: 0 to bload_dataset_attribute_count - 1. */
BLOAD_API int bload_dataset_attribute(const struct bload_dataset *dataset, int attribute, struct bload_attribute *out,
                                      struct bload_error *error);
/* Returns the index of the attribute with that name, or -1. */
BLOAD_API int bload_dataset_find_attribute(const struct bload_dataset *dataset, const char *name);

/* Copies an attribute of block `block` into out: S elements of int64_t or double, the value of each sequence in the
 * block. `size`: the bytes that out holds; BLOAD_EUSAGE: fewer than 8 * S. NaN: an empty value. Unused elements, and
 * those of failed sequences, are 0: the table sequence has -1 there. */
BLOAD_API int bload_read_attribute(struct bload_dataset *dataset, int64_t block, int attribute, void *out, size_t size,
                                   struct bload_error *error);

/* Gets the text of an extra column in a row of sequences.tsv, such as a column that --attributes joined. Valid until
 * the dataset's next call. BLOAD_EUSAGE: no such row or column. */
BLOAD_API int bload_dataset_value(struct bload_dataset *dataset, int64_t row, const char *column, const char **text,
                                  struct bload_error *error);

/* --- plans ------------------------------------------------------------------------------------------------------ */

enum bload_strategy {
    BLOAD_STRATEGY_BLOCK,  /* sequences, uncut, one after the other, into blocks of T steps */
    BLOAD_STRATEGY_NAIVE,  /* each sequence padded to T */
    BLOAD_STRATEGY_SAMPLE, /* clips of `clip` steps from each sequence that is long enough */
    BLOAD_STRATEGY_MIX,    /* each sequence cut or padded to `clip` steps */
};

enum bload_fill {
    BLOAD_FILL_OPTIMAL, /* near the lower bound; the seed decides which sequences share a block */
    BLOAD_FILL_PAPER,   /* BLoad's rule: a uniformly random choice of those that fit */
};

/* How to make the number of blocks a multiple of world_size * batch_size: spread sequences over more blocks, add empty
 * blocks at the end, or drop the emptiest blocks. */
enum bload_remainder { BLOAD_REMAINDER_SPREAD, BLOAD_REMAINDER_PAD, BLOAD_REMAINDER_DROP };

/* How to treat sequences longer than T. */
enum bload_oversize { BLOAD_OVERSIZE_ERROR, BLOAD_OVERSIZE_SPLIT, BLOAD_OVERSIZE_TRUNCATE, BLOAD_OVERSIZE_DROP };

/* When ranks wait for each other: after every micro-batch, or after every optimizer step of `accumulate` of them. */
enum bload_sync { BLOAD_SYNC_MICRO, BLOAD_SYNC_STEP };

#define BLOAD_COLUMNS_MAX 8

/* A quantity besides steps that is limited in a block: pictures, seconds, tokens of another field. */
struct bload_max_column {
    double max;          /* of the sum over the sequences of a block; more than 0 */
    const double *value; /* [count] of each sequence, 0 to max; of a part of a sequence, the share of its steps */
};

/* Zero is the default of every member. Arrays belong to the caller and are not needed after planning. */
struct bload_plan_options {
    enum bload_strategy strategy;
    enum bload_fill fill;
    enum bload_oversize oversize;
    int all_clips;         /* for BLOAD_STRATEGY_SAMPLE: not 0: all clips that fit into a sequence, instead of one */
    int64_t T;             /* steps per block; 0: the length of the longest sequence */
    int64_t clip;          /* steps per clip; 0: the mean length, rounded down */
    uint64_t seed;         /* of all random choices: the same plan on every machine */
    int64_t effort;        /* search for fewer blocks, in billions of operations; 0: 8 */
    int64_t align;         /* every start in a block is a multiple of it; 0: no alignment */
    int64_t max_sequences; /* in a block; 0: any number */
    int64_t min_length;    /* shorter sequences are dropped */
    int64_t max_length;    /* longer sequences are dropped; 0: no limit */
    int keep_order;        /* not 0: sequences and blocks keep the order of the lengths */
    double spare;          /* this part more blocks (0.005: 0.5 %) leaves more to the seed; 0: as few as possible */
    int64_t world_size;    /* ranks; 0: 1 */
    int64_t batch_size;    /* blocks per rank and step; 0: 1 */
    enum bload_remainder remainder;
    /* not 0: wherever ranks wait, they cost nearly the same: by the costs below or, if none is given, by squared
     * lengths. Rank r has every world_size-th block, from block r on. */
    int balance;
    const uint32_t *group; /* [count] or NULL: sequences of different groups never share a block */
    double cost_alpha;     /* cost of each step of a block */
    double cost_beta;      /* added: cost of each squared step of a sequence */
    const double *cost;    /* [count] or NULL: the cost of each sequence, instead of the two above */
    int64_t accumulate;    /* micro-batches per optimizer step; 0: 1 */
    enum bload_sync sync;
    int column_count; /* that have a maximum: 0 to BLOAD_COLUMNS_MAX; with BLOAD_FILL_OPTIMAL only */
    const struct bload_max_column *column; /* [column_count] */
    int64_t overlap;     /* for BLOAD_OVERSIZE_SPLIT: each piece except the first repeats so many steps; below T */
    int64_t reserved[7]; /* 0; other values are options of a later version (BLOAD_EUSAGE) */
};

struct bload_plan;

/* Plans sequences of length[0 .. count - 1] steps (0: leave out). The array belongs to the caller and is not needed
 * afterwards. options NULL: all defaults. */
BLOAD_API int bload_plan_make(const int64_t *length, size_t count, const struct bload_plan_options *options,
                              struct bload_plan **plan, struct bload_error *error);

/* Gets the plan of a dataset: about 20 bytes of memory per piece. */
BLOAD_API int bload_dataset_plan(struct bload_dataset *dataset, struct bload_plan **plan, struct bload_error *error);

/* NULL is accepted. */
BLOAD_API void bload_plan_free(struct bload_plan *plan);

BLOAD_API void bload_plan_counts(const struct bload_plan *plan, struct bload_counts *counts);

/* How even the ranks of a plan are; all 0 with one rank. */
struct bload_balance {
    /* Lost by waiting: the sum over all waits of the cost of the slowest rank, divided by that of the mean rank,
     * less 1. */
    double lost;
    double lost_before; /* the same of blocks in random order, before they were balanced */
    double bound;       /* proven: no plan of these pieces in as many blocks loses less */
    double highest;     /* the cost of the most expensive block, divided by that of the mean block */
    double ks;          /* mean Kolmogorov-Smirnov distance of the sequences between two waits from all sequences */
    double ks_random;   /* the same if the blocks between two waits were drawn at random */
    double neighbours;  /* correlation of the costs of each block and the next */
    int64_t reserved[4];
};

BLOAD_API void bload_plan_balance(const struct bload_plan *plan, struct bload_balance *balance);

/* A sequence, or a part of one, in a block. */
struct bload_piece {
    int64_t sequence;     /* index into the lengths, or row of sequences.tsv */
    int64_t source_start; /* first step within the sequence */
    int32_t start;        /* first step within the block */
    int32_t length;       /* steps */
};

/* Returns the number of pieces in a block, or -1 if there is no such block. */
BLOAD_API int64_t bload_plan_piece_count(const struct bload_plan *plan, int64_t block);

/* Copies all pieces of a block, in order of start, into pieces, which has room for `count`. BLOAD_EUSAGE:
 * `count` is less than bload_plan_piece_count. No block has more than counts.S. */
BLOAD_API int bload_plan_pieces(const struct bload_plan *plan, int64_t block, struct bload_piece *pieces, int64_t count,
                                struct bload_error *error);

#ifdef __cplusplus
}
#endif

#endif
