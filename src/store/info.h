/* Summaries of a dataset: a forecast before it is made, and its contents afterwards. */
#ifndef BL_INFO_H
#define BL_INFO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/quantile.h"
#include "kind/row.h"
#include "store/epochs.h"
#include "store/manifest.h"

/* --- forecast ----------------------------------------------------------------------------------------------------- */

/* A forecast of the size of a dataset, and of the time, memory and disk space that packing takes. */

/* The value of an estimate lies between its members _low and _high if the sample is representative. */
struct bl_forecast {
    const struct bl_manifest *manifest; /* its draft */
    bool begun;                         /* an earlier run has begun the dataset */
    double hours;                       /* see struct bl_info */
    int64_t damaged, dropped, fault_count, skipped;
    int64_t shards;
    int64_t bytes, bytes_low, bytes_high; /* of all shards; -1: not known, since no sample could be read */
    int64_t bytes_raw;                    /* of all shards without encoding and compression */
    int64_t bytes_files;                  /* of the index, the tables and the manifest */
    int64_t bytes_temporary;              /* of the spool and other temporary files of the run */
    bool spool_is_elsewhere;              /* the temporary files are not in the dataset's directory */
    int64_t bytes_begun;                  /* of the shards that an earlier run has finished */
    int64_t bytes_kept;                   /* of other files of the earlier run in the dataset's directory */
    int64_t bytes_free;                   /* free space on the file system of the dataset; -1: not known */
    int64_t step_bytes;                   /* of one step of all fields, without encoding and compression */
    int64_t memory, memory_limit;         /* bytes */
    int jobs;
    double prepare_seconds;           /* measured time to list, scan, tokenize and plan, before the first block */
    double write_rate;                /* measured bytes per second of the disk; 0: not known */
    double seconds_low, seconds_high; /* remaining time of a run that starts now; negative: not known */
    int64_t sample_blocks, sample_sequences, sample_steps, sample_failed;
};

/* Returns the free space, in bytes, that the dataset's directory needs at most, during the run or afterwards. Files of
 * an earlier run that exist already do not count. -1: not known. */
int64_t bl_forecast_space(const struct bl_forecast *forecast);

/* Appends the forecast as JSON: the members of the manifest, those members of `bload info` that are known, and the
 * members of struct bl_forecast. */
int bl_forecast_json(const struct bl_forecast *forecast, struct bl_buffer *out, struct bl_error *e);

/* --- contents ----------------------------------------------------------------------------------------------------- */

/* A summary of a dataset's contents, for people and programs. */

#define BL_INFO_BARS 16   /* maximum number of bars of the histogram */
#define BL_INFO_FAULTS 10 /* maximum number of faulty inputs that are listed */

struct bl_info_fault {
    char *id, *reason;
    const char *status;
};

struct bl_info {
    struct bl_manifest manifest;
    int64_t shards, bytes; /* of all shards */
    double hours;          /* total length of the sequences, 0 if steps have no rate */
    int64_t damaged;       /* inputs that could be read only in part */
    int64_t dropped;       /* sequences that options kept out of all blocks; of a view, those not in its plan */
    int64_t excluded;      /* dropped sequences that were left out before planning */
    struct bl_left_out_counts left_out; /* excluded sequences by option */
    int64_t naive_padding; /* steps of padding if every sequence were padded to the longest; -1: not representable */
    int bars;
    int64_t bar_width;              /* steps: bar i counts lengths from i * bar_width + 1 to (i + 1) * bar_width */
    int64_t bar[BL_INFO_BARS];      /* number of planned sequences of these lengths */
    int64_t quantile[BL_QUANTILES]; /* of the lengths of the stored sequences, in steps */
    int64_t fault_count;            /* inputs that were skipped or failed, or are damaged */
    int faults;                     /* entries of fault */
    struct bl_info_fault fault[BL_INFO_FAULTS];
    struct bl_epochs_pair_repeat pair_repeat;
};

/* Reads manifest, tables and plans, but no shards. The error codes are those of bl_manifest_read. Free with
 * bl_info_free.
 */
int bl_info_read(struct bl_info *info, const char *dir, struct bl_error *e);
void bl_info_free(struct bl_info *info);

/* Appends the summary as JSON: the manifest, the members of struct bl_info by their names, and then those of the object
 * `more`, which this function frees, also on error; NULL: memory ran out. */
struct json_t;
int bl_info_json(const struct bl_info *info, struct json_t *more, struct bl_buffer *out, struct bl_error *e);

/* Returns true if some sequences were cut into pieces, all of which are in blocks. */
bool bl_info_is_split(const struct bl_info *info);

#endif
