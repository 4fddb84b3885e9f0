/* What a run packs: the options of packing, the parameters made from them, the fields, and the draft of the
 * manifest. */
#ifndef BL_RUN_OPTIONS_H
#define BL_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "base/process.h"
#include "kind/kind.h"
#include "plan/plan.h"
#include "run/finish.h"
#include "run/state.h"
#include "store/folders.h"
#include "store/format.h"
#include "store/manifest.h"
#include "store/sequences.h"

/* --- options of packing ------------------------------------------------------------------------------------------- */

/* The options of packing, as flags and YAML keys. */

/* The fill of the rest of a block: zeros, or its last entry again. */
enum bl_pad { BL_PAD_ZERO, BL_PAD_REPEAT };
enum bl_on_error { BL_ON_ERROR_SKIP, BL_ON_ERROR_FAIL };

struct bl_compress {
    bool on;
    int level; /* compression level of zstd */
};

/* The largest number of unusable inputs that a run accepts: a count, or a percentage of all inputs. */
struct bl_tolerance {
    bool set, percent;
    int64_t value;
};

struct bl_pack_options {
    const char *output, *sequences, *plan, *group_by;
    bool parents, store;
    int64_t shard_size;
    struct bl_encoding encode;
    struct bl_compress compress;
    int64_t frame_size; /* the most bytes of content of a zstd frame */
    int pad;            /* enum bl_pad */
    bool segment_ids;
    int64_t sequence_slots; /* S; 0: as many as the plan needs */
    const char *about;      /* a JSON object for readers, or NULL */
    int simd;               /* 0: auto; otherwise bl_kind's levels from none on */
    int64_t memory;         /* bytes; 0: the machine's */
    int on_error;           /* enum bl_on_error */
    struct bl_tolerance max_failed;
};

extern const struct bl_option_type bl_option_compress; /* struct bl_compress: none, zstd, zstd:19 */

extern const struct bl_option bl_pack_option_table[];

#define BL_SEQUENCE_SLOTS_HELP                                                                                         \
    "places for sequences in the tables of a block (S), the same for several datasets [as many as a block has "        \
    "sequences]"

/* Returns whether `failed` unusable inputs, out of `inputs`, exceed the tolerance. */
bool bl_tolerance_exceeded(const struct bl_tolerance *tolerance, int64_t failed, int64_t inputs);

/* --- parameters of packing ---------------------------------------------------------------------------------------- */

/* The parameters of packing: what goes into which shards, and with which options. */

/* The progress of a run. */
struct bl_pack_progress {
    int64_t blocks; /* done, including earlier runs */
    int64_t steps;  /* read in this run */
    int64_t steps_left;
    int64_t steps_found; /* read by an earlier run */
    int64_t bytes;       /* of the shards that this run has finished */
    const char *file;    /* that holds it up, while it does; or NULL */
};

struct bl_bucketing;
struct bl_mirror;
struct bl_view;

/* The workers, jobs and memory of a run (bl_memory_resolve). */
struct bl_memory_shares {
    int workers;           /* given: the most */
    int slots;             /* jobs in progress */
    int run_blocks;        /* blocks of a job; given: the most */
    int64_t rest;          /* bytes left for inputs that need more than a reader takes, and for the page cache */
    int64_t needed, limit; /* bytes that the run takes, and may take */
};

struct bl_pack {
    const char *dir;          /* of the dataset; bl_folders_prepare must have been called */
    struct bl_mirror *mirror; /* dir is the scratch of a dataset in a store; or NULL */
    const char *base;         /* for relative paths in the table; NULL: the working directory */
    const struct bl_sequences *table;
    const struct bl_plan *plan;
    const struct bl_kind *kind;
    const void *config; /* of that kind */
    const struct bl_format *format;
    const struct bl_attribute_values *values; /* of the kind's attributes */
    int64_t shard_begin, shard_end;           /* the shards to complete: all, or those of a task */
    const struct bl_missing *missing;         /* the missing shards; NULL, or is_missing NULL: those without record */
    struct bl_memory_shares share;
    const struct bl_kind_env *env;
    struct bl_bucketing *bucketing; /* holds the pieces in buckets, or NULL */
    const struct bl_view *view;     /* whose sources store the steps, which are copied; NULL: the kind reads them */
    /* Reports each failure and note in the order of the blocks, including those of earlier runs. A code other than
     * BL_OK stops the run. */
    int (*outcome)(void *sink, const struct bl_row *row, const struct bl_outcome *outcome, struct bl_error *e);
    /* Called several times a second. */
    void (*tick)(void *sink, const struct bl_pack_progress *progress);
    void *sink;
    struct bl_work *work; /* where the time goes is added here */
};

/* Sets the blocks of these shards: from *begin to *end - 1. */
void bl_pack_block_range(const struct bl_pack *pack, int64_t *begin, int64_t *end);

/* Finds a shard that exists, and its record (empty if the dataset was finished before). */
int bl_pack_find_shard(const struct bl_pack *pack, int64_t shard, struct bl_shard_record *record, bool *found,
                       struct bl_error *e);

/* --- fields of a dataset ------------------------------------------------------------------------------------------ */

/* The fields of a dataset: the options decide them, or the files, which must then agree. */

/* Gets the fields from the kind. If the options do not decide them, asks the kind about every ok row, many at once.
 * Files that differ are BL_EUSAGE with the names of the first two and the number of the others. Where the first file
 * decides (see struct bl_kind), reading reports differences later. Rows that cannot be read are left to packing.
 * agreed: the files are known to agree, so one readable file is enough. */
int bl_fields_resolve(struct bl_fields *fields, const struct bl_pack *pack, bool agreed, struct bl_error *e);

/* --- draft of the manifest ---------------------------------------------------------------------------------------- */

/* The draft: the parts of a manifest that are known before packing: the source, the options and the versions that
 * decide the bytes, and the shards. It lies in DIR/.bload. With it any process can finish the dataset, and no process
 * continues a dataset with another version of the tool or its libraries. */

/* Makes the manifest, with all counts 0 and without files. identity: the configuration, "name: value" lines. simd: the
 * name of the level. Free with bl_manifest_free. */
int bl_manifest_draft_make(struct bl_manifest *manifest, const struct bl_pack *pack,
                           const struct bl_plan_info *plan_info, const char *identity, const char *simd,
                           struct bl_error *e);

/* Writes the draft, once. BL_EFAIL: a different one exists. alone: no other process is running; then a different draft
 * is replaced if no shard is finished. */
int bl_manifest_draft_publish(const struct bl_state *state, struct bl_manifest *manifest, bool alone,
                              struct bl_error *e);

/* Sets *found if the draft exists. */
int bl_manifest_draft_find(const struct bl_state *state, bool *found, struct bl_error *e);

/* Reads the draft. BL_EUSAGE: it does not exist, since nothing has been packed yet; BL_EDATA: it is damaged. */
int bl_manifest_draft_read(const struct bl_state *state, struct bl_manifest *manifest, struct bl_error *e);

#endif
