/* bload: read datasets of fixed-size blocks, and plan packings. The public C interface of libbload.
 *
 * Words: a sequence is one item with a length in steps (video frames, audio samples, tokens, rows). A block is T steps,
 * into which whole sequences (or pieces of them) have been laid one after the other; what is left at the end is
 * padding. A field is an array that lives on the steps: a block of it has the shape [T, ...]. A plan says which piece
 * lies in which block, at which start.
 *
 * Errors: functions that can fail return BLOAD_OK (0) or a negative code, and record the code and one line of text in
 * *error, which may be NULL. What they would have given out is then NULL or zero. Nothing is printed, and the process
 * is never ended.
 *
 * Threads: an object serves one thread at a time; different objects are independent. Open a dataset once per thread.
 *
 * Numbers in files and in memory are little-endian. */
#ifndef BLOAD_H
#define BLOAD_H

#include <stddef.h>
#include <stdint.h>

#define BLOAD_VERSION "0.1.0"
#define BLOAD_VERSION_MAJOR 0
#define BLOAD_VERSION_MINOR 1
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
    BLOAD_EFAIL = -1, /* the system failed: no memory, no such file, a disk error */
    BLOAD_EUSAGE =
        -2, /* asked for what there is not: a block out of range, an unfinished dataset, options that cannot be */
    BLOAD_EDATA = -3, /* what was read is damaged */
};

struct bload_error {
    int code;        /* enum bload_code */
    char text[1024]; /* one line, NUL-terminated; "" for BLOAD_OK */
};

/* The version of the library that is running, as BLOAD_VERSION is that of this header. */
BLOAD_API const char *bload_version(void);

/* --- datasets --------------------------------------------------------------------------------------------------- */

struct bload_dataset;

/* Opens a finished dataset's directory. Reads its manifest and the head of its index; shards are opened when they are
 * needed, one at a time. Memory does not grow with the dataset, except by 16 bytes per sequence once
 * bload_dataset_sequence is used. Contents are not verified: see bload-verify(1). */
BLOAD_API int bload_dataset_open(const char *directory, struct bload_dataset **dataset, struct bload_error *error);
/* NULL is fine. Mappings stay until they are unmapped. */
BLOAD_API void bload_dataset_close(struct bload_dataset *dataset);

struct bload_counts {
    int64_t T; /* steps per block */
    int64_t S; /* max_sequences: places for sequences in each block's tables */
    int64_t blocks;
    int64_t pieces;      /* placed sequences, or parts of them */
    int64_t sequences;   /* that were planned */
    int64_t steps;       /* of them all */
    int64_t longest;     /* steps */
    int64_t padding;     /* steps of all blocks that hold none of a sequence */
    int64_t deleted;     /* steps left out by request */
    int64_t cut;         /* sequences that do not lie in one piece */
    int64_t lower_bound; /* no plan of these pieces has fewer blocks */
    double efficiency;   /* placed steps / (blocks * T) */
};

BLOAD_API void bload_dataset_counts(const struct bload_dataset *dataset, struct bload_counts *counts);

#define BLOAD_RANK_MAX 5

struct bload_field {
    const char *name;              /* as long-lived as the dataset */
    const char *kind;              /* what made it: "video" */
    const char *dtype;             /* as safetensors names it: "U8", "I32", "F32", ... */
    size_t item_bytes;             /* of one element */
    int rank;                      /* of one block: 1 for a number per step */
    int64_t shape[BLOAD_RANK_MAX]; /* of one block: {T, ...}; elements in C order */
    size_t block_bytes;
    const char *encoding; /* how the shards keep it: "raw", "jpeg:90", "delta"; the rest says what is read */
};

BLOAD_API int bload_dataset_fields(const struct bload_dataset *dataset);
/* field: 0 to bload_dataset_fields - 1. */
BLOAD_API int bload_dataset_field(const struct bload_dataset *dataset, int field, struct bload_field *out,
                                  struct bload_error *error);
/* The field of that name, or -1. */
BLOAD_API int bload_dataset_find_field(const struct bload_dataset *dataset, const char *name);

/* Copies block `block` of a field into out, which holds block_bytes. Padding, and the place of a sequence that failed
 * while packing, are as the dataset was packed (failed sequences: zeros). An encoded field is decoded: differences to
 * just what was packed, JPEG as libjpeg-turbo does by default. */
BLOAD_API int bload_read_block(struct bload_dataset *dataset, int64_t block, int field, void *out,
                               struct bload_error *error);

/* A block of a field, mapped from the file. */
struct bload_mapping {
    const void *data; /* block_bytes of it, read-only, aligned for its type */
    size_t size;
    void *address; /* the mapping itself */
    size_t length;
};

/* Maps a block instead of copying it. Only for fields that are neither compressed nor encoded (BLOAD_EUSAGE). The
 * mapping outlives the dataset object; end it with bload_unmap. As with every mapped file, if the file is cut short
 * meanwhile, or the disk fails, touching the memory raises SIGBUS: read blocks where that cannot be ruled out. */
BLOAD_API int bload_map_block(struct bload_dataset *dataset, int64_t block, int field, struct bload_mapping *mapping,
                              struct bload_error *error);
/* Does nothing to a mapping that is zero, as one is after this. */
BLOAD_API void bload_unmap(struct bload_mapping *mapping);

/* What lies where in a block. */
struct bload_tables {
    int32_t num_sequences;       /* places used, those of failed sequences included */
    const int32_t *cu_seqlens;   /* [S + 1] place i lies at steps cu_seqlens[i] .. cu_seqlens[i + 1] - 1; from
                                    num_sequences on all   are the end of the last: padding begins there */
    const int64_t *sequence;     /* [S] row of sequences.tsv, from 0; -1: unused, or failed while packing */
    const int32_t *length;       /* [S] steps; 0: unused, or failed */
    const int64_t *source_start; /* [S] first step within the sequence: not 0 where it was cut */
};

/* Reads a block's tables. They belong to the dataset and hold until its next call. */
BLOAD_API int bload_read_tables(struct bload_dataset *dataset, int64_t block, struct bload_tables *tables,
                                struct bload_error *error);

/* A row of sequences.tsv. Texts hold until the dataset's next call. */
struct bload_sequence {
    const char *id, *path, *kind;
    const char *status; /* "ok", "skipped", "dropped", "failed" */
    const char *reason; /* "" for an ok sequence without fault */
    int64_t length;     /* steps */
};

/* How many rows there are, which is more than counts.sequences where inputs were skipped or dropped. */
BLOAD_API int bload_dataset_rows(struct bload_dataset *dataset, int64_t *rows, struct bload_error *error);
BLOAD_API int bload_dataset_sequence(struct bload_dataset *dataset, int64_t row, struct bload_sequence *out,
                                     struct bload_error *error);

/* An attribute: a column that the table of sequences has further, of numbers, which the blocks have as well. */
struct bload_attribute {
    const char *name;  /* as long-lived as the dataset */
    const char *dtype; /* "I64" or "F64" */
};

BLOAD_API int bload_dataset_attributes(const struct bload_dataset *dataset);
/* attribute: 0 to bload_dataset_attributes - 1. */
BLOAD_API int bload_dataset_attribute(const struct bload_dataset *dataset, int attribute, struct bload_attribute *out,
                                      struct bload_error *error);
/* The attribute of that name, or -1. */
BLOAD_API int bload_dataset_find_attribute(const struct bload_dataset *dataset, const char *name);

/* Copies an attribute of block `block` into out: S elements of int64_t or double, the value of the sequence in each
 * place. NaN is an empty value; places that are unused, or whose sequence failed, have 0: bload_tables.sequence tells.
 */
BLOAD_API int bload_read_attribute(struct bload_dataset *dataset, int64_t block, int attribute, void *out,
                                   struct bload_error *error);

/* The text that a row of sequences.tsv has in a further column, such as one that --attributes joined to it. Holds until
 * the dataset's next call. BLOAD_EUSAGE: there is no such row or column. */
BLOAD_API int bload_dataset_value(struct bload_dataset *dataset, int64_t row, const char *column, const char **text,
                                  struct bload_error *error);

/* --- plans ------------------------------------------------------------------------------------------------------ */

enum bload_strategy {
    BLOAD_BLOCK,  /* whole sequences, one after the other, into blocks of T steps */
    BLOAD_NAIVE,  /* each sequence padded to T */
    BLOAD_SAMPLE, /* clips of `clip` steps from each sequence that is long enough */
    BLOAD_MIX,    /* each sequence cut or padded to `clip` steps */
};

enum bload_fill {
    BLOAD_OPTIMAL, /* near the lower bound, identities at random */
    BLOAD_PAPER,   /* BLoad's rule: uniformly one of those that fit */
    BLOAD_RANDOM,  /* which lengths share a block varies with the seed, at a few blocks more */
};

/* How the blocks become a multiple of world_size * batch_size: sequences spread over more blocks, empty blocks at the
 * end, or the emptiest blocks dropped. */
enum bload_remainder { BLOAD_REMAINDER_SPREAD, BLOAD_REMAINDER_PAD, BLOAD_REMAINDER_DROP };

/* What becomes of sequences longer than T. */
enum bload_oversize { BLOAD_ERROR, BLOAD_SPLIT, BLOAD_TRUNCATE, BLOAD_DROP };

/* Zero is the default of every member. */
struct bload_plan_options {
    enum bload_strategy strategy;
    enum bload_fill fill;
    enum bload_oversize oversize;
    int all_clips;         /* for BLOAD_SAMPLE: not 0: every whole clip of a sequence, not one */
    int64_t T;             /* steps per block; 0: as long as the longest sequence */
    int64_t clip;          /* steps per clip; 0: the mean length, rounded down */
    uint64_t seed;         /* decides everything random: the same plan on every machine */
    int64_t effort;        /* search for fewer blocks for so many billion operations; 0: 8 */
    int64_t align;         /* every start in a block is a multiple of it; 0: of anything */
    int64_t max_sequences; /* in a block; 0: any number */
    int64_t min_length;    /* shorter sequences are dropped */
    int64_t max_length;    /* longer sequences are dropped; 0: none */
    int keep_order;        /* not 0: sequences and blocks in the order of the lengths */
    int64_t world_size;    /* ranks; 0: 1 */
    int64_t batch_size;    /* blocks per rank and step; 0: 1 */
    enum bload_remainder remainder;
    int balance;           /* not 0: the sums of squared lengths of the ranks are level in every step, where rank r has
                              the blocks r, r + world_size, ... */
    const uint32_t *group; /* [count] or NULL: sequences of different groups never share a block */
};

struct bload_plan;

/* Plans sequences of length[0 .. count - 1] steps (0: not to be planned). The array is the caller's and not needed
 * afterwards. options NULL: all defaults. */
BLOAD_API int bload_plan_make(const int64_t *length, size_t count, const struct bload_plan_options *options,
                              struct bload_plan **plan, struct bload_error *error);

/* The plan that a dataset was packed by: about 20 bytes of memory per piece. */
BLOAD_API int bload_dataset_plan(struct bload_dataset *dataset, struct bload_plan **plan, struct bload_error *error);

/* NULL is fine. */
BLOAD_API void bload_plan_free(struct bload_plan *plan);

BLOAD_API void bload_plan_counts(const struct bload_plan *plan, struct bload_counts *counts);

/* A sequence, or a part of one, in its block. */
struct bload_piece {
    int64_t sequence;     /* index into the lengths, or row of sequences.tsv */
    int64_t source_start; /* first step within the sequence */
    int32_t start;        /* first step within the block */
    int32_t length;       /* steps */
};

/* How many pieces a block has, or -1 for a block that there is not. */
BLOAD_API int64_t bload_plan_pieces(const struct bload_plan *plan, int64_t block);

/* Piece `piece` of a block, in order of start. */
BLOAD_API int bload_plan_piece(const struct bload_plan *plan, int64_t block, int64_t piece, struct bload_piece *out,
                               struct bload_error *error);

#ifdef __cplusplus
}
#endif

#endif
