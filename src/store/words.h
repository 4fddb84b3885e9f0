/* The one set of words in which every JSON of the tool tells of a plan. */
#ifndef BL_WORDS_H
#define BL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "plan/plan.h"

struct bl_words {
    char strategy[16];
    char fill[16];     /* "" where the strategy has none: null in JSON */
    int64_t T;         /* steps of a block of this plan: the clip for sample and mix */
    uint64_t seed;     /* in JSON a number up to 2^63 - 1, a string of digits above */
    bool seed_unknown; /* of a plan that was given: null in JSON */
    int64_t sequences, steps, longest;
    int64_t blocks;
    int64_t padding, deleted; /* steps */
    int64_t cut;              /* sequences */
    double efficiency;        /* placed / (blocks * T), 0 to 1 */
    int64_t lower_bound;      /* blocks; gap and optimal follow from it */
    int64_t world_size, batch_size;
    int64_t batches_per_rank;
    double seconds;                     /* that the plan took; in JSON where it was measured */
    double imbalance, imbalance_before; /* of the ranks, as in struct bl_plan; in JSON with more than one rank */
};

/* The words of a plan. */
void bl_words_of_plan(struct bl_words *words, const struct bl_plan *plan, const struct bl_plan_options *options);

/* Appends them as a JSON object, a newline at the end: what `plan --report` writes. */
int bl_words_report(const struct bl_words *words, struct bl_buffer *out, struct bl_error *e);

/* Reads what bl_words_report gave. BL_EDATA: it is none. */
int bl_words_parse(struct bl_words *words, const char *text, size_t size, struct bl_error *e);

/* The same from a file. */
int bl_words_read(struct bl_words *words, const char *path, struct bl_error *e);

/* Appends {"rows": [...]}: what `compare --json` writes. */
int bl_words_rows(const struct bl_words *words, int count, struct bl_buffer *out, struct bl_error *e);

const char *bl_strategy_name(enum bl_strategy strategy);
const char *bl_fill_name(enum bl_fill fill);

#endif
