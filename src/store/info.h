/* Summaries of a dataset: the forecast before it is made, and its contents. */
#ifndef BL_INFO_H
#define BL_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"
#include "store/epochs.h"
#include "store/manifest.h"

/* --- forecast ----------------------------------------------------------------------------------------------------- */

/* What a dataset will be, and what making it takes, before it is made: for people and programs. */

/* Where something is an estimate, it lies between low and high as far as the sample is like the rest. */
struct bl_forecast {
    const struct bl_manifest *manifest; /* its draft */
    bool begun;                         /* an earlier run has begun the dataset */
    double hours;                       /* as in bl_info */
    int64_t damaged, dropped, fault_count, skipped;
    int64_t shards;
    int64_t bytes, bytes_low, bytes_high; /* of all shards; -1: not known, as no sample could be read */
    int64_t bytes_raw;                    /* of all shards, neither encoded nor compressed */
    int64_t bytes_files;                  /* of the index, the tables and the manifest */
    int64_t bytes_temporary;              /* of the spool and the like, while the run lasts */
    bool spool_is_elsewhere;              /* they do not lie in the dataset's directory */
    int64_t bytes_begun;                  /* of the shards that an earlier run has made; */
    int64_t bytes_kept;                   /* of what else it keeps in the dataset's directory */
    int64_t bytes_free;                   /* where the dataset will be; -1: not known */
    int64_t step_bytes;                   /* of all fields, neither encoded nor compressed */
    int64_t memory, memory_limit;
    int jobs;
    double prepare_seconds;           /* until the first block: to list, scan, tokenize and plan, as it took here */
    double write_rate;                /* bytes per second of the disk; 0: not known */
    double seconds_low, seconds_high; /* of a run from now on; negative: not known */
    int64_t sample_blocks, sample_sequences, sample_steps, sample_failed;
};

/* The most that the dataset's directory will hold, while it is made or later, beside what is there. -1: not known. */
int64_t bl_forecast_space(const struct bl_forecast *forecast);

/* Appends it as JSON: the members of the manifest, those of bload info that are known, and the members above. */
int bl_forecast_json(const struct bl_forecast *forecast, struct bl_buffer *out, struct bl_error *e);

/* --- contents ----------------------------------------------------------------------------------------------------- */

/* A summary of a dataset's contents, for people and programs. */

#define BL_INFO_BARS 16   /* of the histogram, maximum */
#define BL_INFO_FAULTS 10 /* inputs listed, maximum */

struct bl_info_fault {
    char *id, *reason;
    const char *status;
};

struct bl_info {
    struct bl_manifest manifest;
    int64_t shards, bytes; /* of all shards */
    double hours;          /* total length of the sequences, if steps have a rate; else 0 */
    int64_t damaged;       /* inputs that could be read only in part */
    int64_t dropped;       /* sequences that are in no block, as the options want it: of a view, those of its plan; */
    int64_t excluded;      /* of these, those that the table left out before the plan */
    struct bl_left_out_counts left_out; /* of these, by option */
    int64_t naive_padding; /* steps of padding if every sequence were padded to the longest; -1: not representable */
    int bars;
    int64_t bar_width;         /* steps: bar i counts lengths from i * bar_width + 1 to (i + 1) * bar_width */
    int64_t bar[BL_INFO_BARS]; /* sequences that were planned */
    int64_t fault_count;       /* inputs that were skipped or failed, or are damaged */
    int faults;                /* entries of fault */
    struct bl_info_fault fault[BL_INFO_FAULTS];
    struct bl_epochs_company company;
};

/* Reads manifest, tables and plans, but no shard. Errors as of bl_manifest_read. Free with bl_info_free. */
int bl_info_read(struct bl_info *info, const char *dir, struct bl_error *e);
void bl_info_free(struct bl_info *info);

/* Appends it as JSON: the manifest, and the members above by their names. run: a last member of that name, which it
 * frees; or NULL. */
struct json_t;
int bl_info_json(const struct bl_info *info, struct json_t *run, struct bl_buffer *out, struct bl_error *e);

/* Whether sequences were cut into parts that are all in blocks. */
bool bl_info_is_split(const struct bl_info *info);

#endif
