/* Measures time in a run: the rate of work and the time left, the write speed of the disk, and the bottleneck. */
#ifndef BL_BOTTLENECK_H
#define BL_BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/process.h"
#include "kind/kind.h"

/* --- rate and time left ------------------------------------------------------------------------------------------- */

/* The rate of work and the time left, for display. Both are smoothed: a raw rate jumps with every file, and nobody can
 * read a number that jumps.
 *
 * The rate is a mean in which the weight of older work decays exponentially. It changes only when a unit is finished,
 * not between two units, and falls only if the next unit is overdue. Work is counted in the unit that predicts the time
 * best: steps, bytes, or parts of files (bl_progress_work).
 *
 * The time left is the remaining work divided by the rate, smoothed: it counts down as a clock does, follows a lower
 * estimate within seconds, stands still if the new estimate is a little higher, and climbs only if that is a tenth
 * higher. Example: at 60 s left, an estimate of 65 s leaves the display at 60 s; an estimate of 90 s makes it climb. */

/* Initialize with {0}: then the rate is unknown. */
struct bl_rate {
    double at, done;   /* seconds and work at the last sample with new work */
    double span, work; /* sums of seconds and of work, with decaying weights */
    double gap;        /* usual seconds between two samples with work */
};

/* Adds a sample: done is all work since the start, seconds the time since the start. Neither may fall. A sample without
 * new work is ignored. */
void bl_rate_add(struct bl_rate *rate, double seconds, double done);

/* Returns the work per second, or 0 if it is unknown. seconds: the present time, not before the last sample. */
double bl_rate_get(const struct bl_rate *rate, double seconds);

/* Initialize with {0}: then the time left is unknown. */
struct bl_estimate {
    struct bl_rate rate;
    double at;   /* time of the last sample in seconds since the start */
    double left; /* seconds left at that time */
    bool known;  /* whether left is known */
};

/* Adds a sample. Call it several times a second, also if no work was done since the last call. left: the remaining
 * work; negative: unknown. */
void bl_estimate_add(struct bl_estimate *estimate, double seconds, double done, double left);

/* Returns the seconds left at the last sample; negative: unknown. */
double bl_estimate_left(const struct bl_estimate *estimate);

/* --- speed of the disk -------------------------------------------------------------------------------------------- */

/* The measured speed of writing a file. */

struct bl_write_rate {
    int64_t bytes;
    double seconds; /* time of writing these bytes, syncs included */
};

/* Measures the write speed by writing to a file for about a second, with a sync every 64 MiB or less. fd and direct:
 * two descriptors of that file, as for bl_direct_pwrite. room: the largest size of the file in bytes, at least a MiB;
 * when the file has that size, it is overwritten from its beginning. path: for messages. BL_EFAIL: writing failed.
 * BL_ECANCEL: cancel was requested. */
int bl_write_rate_measure(struct bl_write_rate *rate, int fd, int direct, int64_t room, const char *path,
                          const struct bl_cancel *cancel, struct bl_error *e);

/* --- bottlenecks -------------------------------------------------------------------------------------------------- */

/* Time accounting of a run, and its bottleneck: the cause to which most of the measured time is attributed. */

enum bl_run_stage {
    BL_RUN_LISTING,
    BL_RUN_SCANNING,
    BL_RUN_PLANNING,
    BL_RUN_WRITING,
    BL_RUN_FINISHING,
    BL_RUN_VERIFYING,
    BL_RUN_STAGES
};

enum bl_limit {
    BL_LIMIT_NONE,
    BL_LIMIT_LISTING,
    BL_LIMIT_READING,   /* workers waited for inputs */
    BL_LIMIT_DECODER,   /* workers, or their processes, demuxed and decoded */
    BL_LIMIT_TOKENIZER, /* workers parsed and tokenized */
    BL_LIMIT_PROCESSOR, /* workers computed something else */
    BL_LIMIT_INPUTS,    /* all of these together: this machine does not tell them apart */
    BL_LIMIT_ENCODER,   /* workers made JPEG files, differences, frames of zstd */
    BL_LIMIT_MEMORY,    /* inputs waited until there was memory to decode them */
    BL_LIMIT_FILE,      /* workers waited for the worker of one file, which is named */
    BL_LIMIT_BLOCK,     /* workers waited for the worker of one block, or for several files of which none stands out */
    BL_LIMIT_DISK,      /* workers waited until blocks were written, and shards published */
    BL_LIMIT_TABLE,     /* rows were put in order, joined, chosen, written */
    BL_LIMIT_BUCKETING, /* external bucketing sorted the sequences by shards (run/bucketing.h) */
    BL_LIMIT_PLANNING,
    BL_LIMIT_FINISHING,
    BL_LIMITS
};

/* The times of a run in seconds. Initialize with {0} and free with bl_run_times_free. */
struct bl_run_times {
    double stage[BL_RUN_STAGES];
    struct bl_work scan, write, verify;          /* times of the pipelines of these stages */
    enum bl_limit scan_computes, write_computes; /* the cause for which workers of these stages use a processor */
    struct bl_gpu_times gpu;                     /* of what was opened on GPUs */
    bool on_gpu;                                 /* a GPU decodes: a worker that waits for input waits for the GPU */
};

struct bl_bottleneck {
    enum bl_limit limit;
    double share;     /* 0 to 1, of the time of all stages */
    const char *file; /* the file that held up the run, or NULL; owned by the times */
    double seconds;   /* time that this file took */
};

/* Returns the name of the stage: "listing", "scanning", ... */
const char *bl_run_stage_name(enum bl_run_stage stage);

/* Returns the name of the limit in JSON, such as "disk"; NULL for BL_LIMIT_NONE. */
const char *bl_limit_name(enum bl_limit limit);

/* Returns the limit in words, such as "writing to the disk". */
const char *bl_limit_text(enum bl_limit limit);

/* Sets for what the workers use a processor, by the kind of the inputs: decoding, tokenizing, or other computing. */
void bl_run_times_set_kind(struct bl_run_times *times, const struct bl_kind *kind, const void *config);

/* Sets `gpu` to what the kind has opened on GPUs so far. */
void bl_run_times_set_gpu(struct bl_run_times *times, const struct bl_kind *kind, const void *config);

struct json_t;

/* Makes the JSON object {"seconds": {"listing", ..., "all"}, "limit", "limit_share", "waited_for": {"file", "seconds"}
 * or null}, with "gpu" if a GPU was opened. The caller owns *out. BL_EFAIL: out of memory. */
int bl_run_times_json(const struct bl_run_times *times, struct json_t **out, struct bl_error *e);

/* Returns the sum of all stages. */
double bl_run_times_all(const struct bl_run_times *times);
/* Finds the cause with the largest share of the time. The limit is BL_LIMIT_NONE if nothing was measured. */
struct bl_bottleneck bl_bottleneck_find(const struct bl_run_times *times);
void bl_run_times_free(struct bl_run_times *times);

#endif
