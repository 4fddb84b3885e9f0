/* Verification of datasets and views. All faults are reported, one by one; a function returns an error only if it
 * cannot continue (out of memory, cancelled). */
#ifndef BL_VERIFY_H
#define BL_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "kind/kind.h"
#include "plan/plan.h"
#include "store/attribute_values.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/sequences.h"
#include "store/shard_table.h"

/* --- faults ------------------------------------------------------------------------------------------------------- */

/* How the faults of a dataset or a view are reported. */

/* Called for each fault: the file, relative to the directory, and what is wrong. */
typedef void bl_fault(void *context, const char *file, const char *text);

/* --- datasets ----------------------------------------------------------------------------------------------------- */

/* Verifying a dataset: every checksum, every table against the plan, every shard readable. Memory: the plan, and for
 * each sequence 17 bytes and 8 per attribute; for each shard being verified a few MiB, and one frame if compressed. */

/* What the shards are compared with: constant while they are verified. */
struct bl_verify {
    const char *dir;
    const struct bl_cancel *cancel;
    struct bl_manifest manifest;
    bool has_manifest, has_index, has_plan, has_sequences, has_values; /* what could be read and is usable */
    unsigned cut; /* bits of files beside the shards that are missing or cut, which is reported */
    struct bl_index index;
    struct bl_plan plan;               /* from the index: its blocks from first_block on */
    int64_t first_block;               /* of the plan */
    struct bl_sequences sequences;     /* its lengths are the planned ones, also those of failed sequences */
    uint8_t *failed;                   /* [rows] not 0: failed while packing; NULL: none */
    struct bl_attribute_values values; /* of the attributes, from sequences.tsv */
    struct bl_shard_row *shards;       /* [bl_verify_shards]; NULL: the table could not be read */
};

/* Reads the manifest. BL_EUSAGE: there is none, hence no dataset. Close it also after an error. dir and cancel must
 * outlive it. */
int bl_verify_open(struct bl_verify *verify, const char *dir, const struct bl_cancel *cancel, bl_fault *fault,
                   void *context, struct bl_error *e);

/* The number of shards; 0 if the manifest could not be read. */
int64_t bl_verify_shards(const struct bl_verify *verify);

/* Reads and checks everything but the shards: files, sequences, plan, the plans of epochs, the table of shards, and
 * files that belong to no shard or epoch. remark: called for what is not a fault. */
int bl_verify_files(struct bl_verify *verify, bl_fault *fault, bl_fault *remark, void *context);

/* The alternative where another process does that: reads only what shards first to end - 1 are compared with, and
 * reports what cannot be read. Both return BL_OK or BL_ECANCEL. */
int bl_verify_prepare_part(struct bl_verify *verify, int64_t first, int64_t end, bl_fault *fault, void *context);

/* Verifies one shard. Callable by several threads at once. *failed_steps: steps of pieces that failed while packing. */
int bl_verify_shard(const struct bl_verify *verify, int64_t shard, bl_fault *fault, void *context,
                    int64_t *failed_steps, struct bl_error *e);

/* Called last, if no shard had a fault: checks what follows from all of them. failed_steps: their sum. */
void bl_verify_finish(const struct bl_verify *verify, int64_t failed_steps, bl_fault *fault, void *context);

void bl_verify_close(struct bl_verify *verify);

/* --- report as JSON ----------------------------------------------------------------------------------------------- */

/* What a verification found, as JSON for programs. */

/* Its members up to bytes are set by the caller, who owns the texts. */
struct json_t;

struct bl_verify_report {
    const char *dir, *kind; /* kind: "dataset", "view" or "export" */
    const char *against;    /* what an export was compared with, or NULL */
    int64_t task, tasks;    /* tasks 0: no task */
    int64_t files, bytes;   /* read: shards of datasets, files of exports */
    struct json_t *faults;  /* a list; NULL: none so far */
    bool failed;            /* memory ran out for one */
};

/* Adds a fault of a file; source: the name of a view's dataset, or NULL. */
void bl_verify_report_add(struct bl_verify_report *report, const char *source, const char *file, const char *text);

/* Appends {"path", "kind", "against", "task", "verified", "shards" or "files", "bytes", "faults": [{"source", "file",
 * "text"}], "run"}, and frees the faults and run, which says where the time went. BL_EFAIL: out of memory, now or
 * before. */
int bl_verify_report_json(struct bl_verify_report *report, struct json_t *run, struct bl_buffer *out,
                          struct bl_error *e);
void bl_verify_report_free(struct bl_verify_report *report);

/* --- views -------------------------------------------------------------------------------------------------------- */

/* Verifying a view: its files against the manifest, its plans against what the sources store, and its places against
 * their indexes. The contents of the sources are not read here; bl_verify_shard checks those of any dataset. */

/* Reports every fault of the view in dir. Memory: the plan, and the places of all rows. BL_EFAIL: it cannot go on;
 * BL_ECANCEL. */
int bl_verify_view(const char *dir, const struct bl_cancel *cancel, bl_fault *fault, bl_fault *remark, void *context,
                   struct bl_error *e);

#endif
