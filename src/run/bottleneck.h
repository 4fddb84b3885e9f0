/* Time in a run: the rate of work and the time left, how fast the disk writes, and which cause took most of the
 * time. */
#ifndef BL_BOTTLENECK_H
#define BL_BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/process.h"
#include "kind/kind.h"

/* --- rate and time left ------------------------------------------------------------------------------------------- */

/* The rate of work and the time left, as people are to see them.
 *
 * A rate is that of the last while: a mean in which older work counts exponentially less. It changes only when work is
 * done, not between two finished units; only where the next one is overdue does it fall. The work is in the unit that
 * foretells time best: steps, bytes, or parts of files (bl_progress_work).
 *
 * The time left is the work left by that rate, smoothed: it runs down as a clock does, follows a lower estimate within
 * seconds, stands still where the new estimate is a little higher, and climbs only where it is a tenth higher. */

/* All zeros: nothing is known. */
struct bl_rate {
    double at, done;   /* seconds and work, when work was last done */
    double span, work; /* sums of seconds and work, the older the less */
    double gap;        /* usual seconds between two samples with work */
};

/* Adds a sample: the work done since the start, at this number of seconds since the start. Neither ever falls. */
void bl_rate_add(struct bl_rate *rate, double seconds, double done);

/* Work per second; 0: unknown. seconds: now, not before the last sample. */
double bl_rate_get(const struct bl_rate *rate, double seconds);

/* All zeros: nothing is known. */
struct bl_estimate {
    struct bl_rate rate;
    double at;   /* seconds, of the last sample */
    double left; /* seconds, at that time */
    bool known;  /* whether left is known */
};

/* Adds a sample, also if no work was done since the last. left: work that is not done; negative: unknown. */
void bl_estimate_add(struct bl_estimate *estimate, double seconds, double done, double left);

/* Seconds left at the last sample; negative: unknown. */
double bl_estimate_left(const struct bl_estimate *estimate);

/* --- speed of the disk -------------------------------------------------------------------------------------------- */

/* How fast a file is written. */

struct bl_write_rate {
    int64_t bytes;
    double seconds; /* of them, syncs included */
};

/* Writes to fd, and to direct as bl_direct_pwrite does, and syncs now and then, for about a second; the file gets room
 * bytes at most, at least a MiB, which are then written again. path: for messages. BL_EFAIL, BL_ECANCEL. */
int bl_write_rate_measure(struct bl_write_rate *rate, int fd, int direct, int64_t room, const char *path,
                          const struct bl_cancel *cancel, struct bl_error *e);

/* --- bottlenecks -------------------------------------------------------------------------------------------------- */

/* Where the time of a run went, and what limited it: the cause that took most of it, by what was measured. */

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
    BL_LIMIT_FILE,      /* workers waited for those that were at one file, which is named */
    BL_LIMIT_BLOCK,     /* workers waited for those that were at one block, or a few files, not for one file */
    BL_LIMIT_DISK,      /* workers waited until blocks were written, and shards published */
    BL_LIMIT_TABLE,     /* rows were put in order, joined, chosen, written */
    BL_LIMIT_SCATTER,   /* sequences were scattered by shards before */
    BL_LIMIT_PLANNING,
    BL_LIMIT_FINISHING,
    BL_LIMITS
};

/* Seconds; begin with {0}, end with bl_run_times_free. */
struct bl_run_times {
    double stage[BL_RUN_STAGES];
    struct bl_work scan, write, verify;          /* of the pipelines of these stages */
    enum bl_limit scan_computes, write_computes; /* what their workers need a processor for */
    bool on_gpu;                                 /* where decoders wait, they wait for a GPU */
};

struct bl_bottleneck {
    enum bl_limit limit;
    double share;     /* of the time of all stages */
    const char *file; /* that held up the run, or NULL; lives as long as the times */
    double seconds;   /* that it took */
};

/* "listing", "scanning", ... */
const char *bl_run_stage_name(enum bl_run_stage stage);

/* The word of JSON: "disk"; NULL for none. */
const char *bl_limit_name(enum bl_limit limit);

/* The same for people: "writing to the disk". */
const char *bl_limit_text(enum bl_limit limit);

/* Sets what workers compute for a kind. */
void bl_run_times_set_kind(struct bl_run_times *times, const struct bl_kind *kind, const void *config);

/* {"seconds": {"listing", ..., "all"}, "limit", "limit_share", "waited_for": {"file", "seconds"} or null}. The caller
 * owns it. BL_EFAIL: memory. */
struct json_t;
int bl_run_times_json(const struct bl_run_times *times, struct json_t **out, struct bl_error *e);

double bl_run_times_all(const struct bl_run_times *times);
struct bl_bottleneck bl_bottleneck_find(const struct bl_run_times *times);
void bl_run_times_free(struct bl_run_times *times);

#endif
