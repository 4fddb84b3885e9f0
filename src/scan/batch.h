/* Batches of chunks: what a worker gets at once. Most have one chunk; many files that are a chunk each are passed on
 * several at a time, since to wake a worker, and its decoder process, takes as long as to count a short file.
 *
 * Chunks and their rows are the same, whichever batch they are in. */
#ifndef BL_BATCH_H
#define BL_BATCH_H

#include "scan/chunk_rows.h"
#include "scan/part.h"
#include "scan/scan.h"
#include "scan/weights.h"

#define BL_BATCH_MAX 16 /* chunks */

/* A chunk and what was found in it. */
struct bl_batch_chunk {
    struct bl_chunk_files files;
    struct bl_part_chunk place; /* its number, where it begins and ends */
    struct bl_chunk_rows rows;
    bool counted; /* by the kind: there is something to be kept in the spool */
};

struct bl_batch {
    int chunks;
    int done;            /* chunks that were counted */
    int code;            /* BL_OK, or why the next one was not */
    int64_t needed;      /* bytes, by the worker's reservation */
    const char *slowest; /* path of the file that took longest, of those that were counted alone; or NULL */
    double slowest_seconds;
    struct bl_error error;         /* of the code */
    struct bl_batch_chunk chunk[]; /* [capacity] */
};

/* Returns NULL where memory runs out. The chunks are the caller's to fill in. */
struct bl_batch *bl_batch_make(int capacity);
void bl_batch_drop_last(struct bl_batch *batch);
void bl_batch_free(struct bl_batch *batch);

/* How many chunks a batch may have, so that each worker gets many. */
int bl_batch_capacity(const struct bl_scan *scan);

/* Counts the chunks. env: the worker's. meter: where their progress is reported; its size and weight are set for them,
 * by the weights of the scan. */
void bl_batch_count(struct bl_batch *batch, const struct bl_scan *scan, const struct bl_kind_env *env,
                    struct bl_counter *counter, const struct bl_meter *meter, struct bl_weights *weights);

#endif
