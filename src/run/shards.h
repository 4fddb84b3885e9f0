/* Writes the missing shards of a plan and verifies the existing ones, with many threads.
 *
 * Shards of small blocks are written one after the other, by one thread: writing several at once was no faster in
 * measurements, and a killed run would lose all of them. */
#ifndef BL_SHARDS_H
#define BL_SHARDS_H

#include "base/process.h"
#include "run/options.h"
#include "store/verify.h"

/* --- writing shards ----------------------------------------------------------------------------------------------- */

/* Writes the shards of a plan. A job is a run of consecutive blocks: workers read their pieces and put them into the
 * shard. Shards are finished in order. */

/* Writes each of the shards of this pack that does not exist yet, and reports the outcomes of all of them. BL_EFAIL:
 * reading or writing failed, or a shard of a repair got other bytes. BL_ECANCEL: cancelled. A stopped run keeps its
 * finished shards. */
int bl_shards_write(const struct bl_pack *pack, struct bl_error *e);

/* --- verifying shards --------------------------------------------------------------------------------------------- */

/* Verifies many shards in parallel, for bload verify and bload pack --repair. */

/* The functions run on the caller's thread, in the order of the shards. */
struct bl_verify_shards {
    const struct bl_verify *dataset;
    int64_t begin, end;  /* shards */
    const uint8_t *skip; /* [shards] not 0: do not read; or NULL */
    int workers;
    struct bl_cancel *cancel;
    void (*fault)(void *sink, int64_t shard, const char *file, const char *text);
    /* failed_steps: steps of the shard that failed in packing. */
    void (*done)(void *sink, int64_t shard, int64_t failed_steps);
    void (*tick)(void *sink); /* called several times a second */
    void *sink;
    struct bl_work *work; /* where the time goes is added here; or NULL */
};

/* Verifies the shards begin to end - 1. Faults are no errors. BL_EFAIL: the system failed. BL_ECANCEL: cancelled. */
int bl_verify_shards_run(const struct bl_verify_shards *verify, struct bl_error *e);

#endif
