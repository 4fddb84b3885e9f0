/* What a dataset will be, and what making it takes, before it is made: for people and programs. */
#ifndef BL_FORECAST_H
#define BL_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/manifest.h"

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

#endif
