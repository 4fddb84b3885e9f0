/* A sample of a plan: some of its blocks, read, encoded and compressed as a run would do it, but timed, and written
 * nowhere but into a temporary folder.
 *
 * Which blocks, follows from the plan alone: they lie as far from each other as their number allows. Of large blocks a
 * part is read. */
#ifndef BL_RUN_SAMPLE_H
#define BL_RUN_SAMPLE_H

#include "run/options.h"

#define BL_SAMPLE_BLOCKS 512

struct bl_sample {
    int blocks;
    struct bl_sample_block {
        double seconds; /* of one thread, while all work */
        bool is_first;  /* of its worker, which opens files and libraries */
        int64_t steps;  /* of sequences, */
        int64_t stored; /* with padding that repeats a step, */
        int64_t bytes;  /* and of its fields, encoded or compressed; else 0 */
    } block[BL_SAMPLE_BLOCKS];
    bool is_whole;                    /* all blocks of the plan were read */
    int64_t sequences, steps, failed; /* read in all; failed: sequences */
    int64_t tables;                   /* bytes of the compressed tables of all these blocks */
    int64_t header;                   /* bytes of the compressed header of a shard */
};

/* Whether the size of shards of this format is known only once they are written. */
bool bl_sample_is_needed_for_bytes(const struct bl_format *format);

/* Reads blocks of the plan with pack->share.workers until `seconds` are over, or three times as many where few were
 * read by then; at least one. pack: of all shards; its dir is the temporary folder, where folders appear which the
 * caller removes. Errors as of reading; content that does not decode is none. */
int bl_sample_take(struct bl_sample *sample, const struct bl_pack *pack, double seconds, struct bl_error *e);

/* An estimate and how sure it is: the true value lies between low and high in about 19 of 20 cases, as far as the
 * sample is like the rest. */
struct bl_range {
    double low, mid, high;
};

/* The ratio of the sums of two quantities of n >= 1 samples, by their spread. */
struct bl_range bl_sample_ratio(const double *part, const double *whole, int n);

/* Seconds of one thread for each step, and *warm for the first one more. */
struct bl_range bl_sample_seconds(const struct bl_sample *sample, double *warm);

/* Bytes for each stored step, compressed tables included; 0 where fields are neither encoded nor compressed. */
struct bl_range bl_sample_bytes(const struct bl_sample *sample);

#endif
