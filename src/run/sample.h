/* Takes a sample of a plan: reads, encodes and compresses some of its blocks as a run would do it, measures the time,
 * and writes the results only into a temporary folder. From the sample, a forecast extrapolates the time and the size
 * of a run.
 *
 * The plan alone determines which blocks are chosen: they are spread evenly over it. Of a large block only a part is
 * read, so that the sample has many blocks even in a few seconds. */
#ifndef BL_RUN_SAMPLE_H
#define BL_RUN_SAMPLE_H

#include "run/options.h"

#define BL_SAMPLE_BLOCKS 512 /* the most blocks of a sample */

struct bl_sample {
    int blocks;
    struct bl_sample_block {
        double seconds; /* time of the one thread that made it, while all threads work */
        bool is_first;  /* the first block of its worker, which also opens files and libraries */
        int64_t steps;  /* steps of sequences */
        int64_t stored; /* the same, including padding if it repeats a step */
        int64_t bytes;  /* of its encoded or compressed fields; 0 if fields are stored as they are */
    } block[BL_SAMPLE_BLOCKS];
    bool is_whole;                    /* all blocks of the plan were read */
    int64_t sequences, steps, failed; /* totals; failed: number of sequences that could not be read */
    int64_t tables;                   /* bytes of the compressed tables of all these blocks */
    int64_t header;                   /* bytes of the compressed header of a shard */
};

/* Returns whether the size of shards of this format is unknown until they are written: JPEG or compressed shards. */
bool bl_sample_is_needed_for_bytes(const struct bl_format *format);

/* Reads blocks of the plan with pack->share.workers until `seconds` are over, or three times as many seconds if only
 * few blocks were read by then; at least one block. pack covers all shards; its dir is a temporary folder, in which the
 * function makes folders that the caller removes. Returns the errors of reading; content that does not decode is
 * counted in failed and is no error. */
int bl_sample_take(struct bl_sample *sample, const struct bl_pack *pack, double seconds, struct bl_error *e);

/* An estimate with its 95 % confidence interval, low to high, for a sample that is representative. */
struct bl_range {
    double low, mid, high;
};

/* Returns the ratio of the sums of part and whole over n >= 1 samples; the interval follows from the spread of the
 * samples. */
struct bl_range bl_sample_ratio(const double *part, const double *whole, int n);

/* Returns the seconds of one thread for each step. *warm: additional seconds of the first block of a worker. */
struct bl_range bl_sample_seconds(const struct bl_sample *sample, double *warm);

/* Returns the bytes for each stored step, including compressed tables; 0 if fields are neither encoded nor compressed.
 */
struct bl_range bl_sample_bytes(const struct bl_sample *sample);

#endif
