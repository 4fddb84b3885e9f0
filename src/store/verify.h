/* Verification of datasets and views. Every fault is reported by a callback. A function returns an error only if it
 * cannot continue, because memory ran out or the user cancelled. */
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

/* A function that is called for each fault. file: relative to the directory of the dataset or view. text: the fault. */
typedef void bl_fault(void *context, const char *file, const char *text);

/* --- datasets ----------------------------------------------------------------------------------------------------- */

/* Verifying a dataset checks every checksum, compares every table with the plan, and reads every shard. Memory: the
 * plan, 17 bytes and 8 bytes per attribute for each sequence, and for each shard that is being verified a few MiB, and
 * one frame if it is compressed. */

/* The data that shards are compared with, which is constant while shards are verified. */
struct bl_verify {
    const char *dir;
    const struct bl_cancel *cancel;
    struct bl_manifest manifest;
    bool has_manifest, has_index, has_plan, has_sequences, has_values; /* members that were read and are usable */
    unsigned cut; /* a bit for each file beside the shards that was reported as missing or truncated */
    struct bl_index index;
    struct bl_plan plan;               /* the blocks of the index from first_block on */
    int64_t first_block;               /* 0, unless only a part is verified */
    struct bl_sequences sequences;     /* with the planned lengths, also for sequences that failed while packing */
    uint8_t *failed;                   /* [rows] 1: the sequence failed while packing; NULL: none did */
    struct bl_attribute_values values; /* of the attributes, from sequences.tsv */
    struct bl_shard_row *shards;       /* [bl_verify_shards]; NULL: the table could not be read */
    struct bl_error failure;           /* of the store, if dir is a URL: the checks could not be done */
};

/* Reads the manifest. BL_EUSAGE: it is missing, so that dir is no dataset. Call bl_verify_close in any case. dir and
 * cancel must outlive the object. */
int bl_verify_open(struct bl_verify *verify, const char *dir, const struct bl_cancel *cancel, bl_fault *fault,
                   void *context, struct bl_error *e);

/* Returns the number of shards, or 0 if the manifest could not be read. */
int64_t bl_verify_shards(const struct bl_verify *verify);

/* Reads and checks everything except the shards: files, sequences, the plan, the plans of epochs, the table of shards,
 * and files that belong to no shard or epoch. remark is called for observations that are no faults. Returns BL_OK,
 * BL_ECANCEL, or the code of verify->failure. */
int bl_verify_files(struct bl_verify *verify, bl_fault *fault, bl_fault *remark, void *context);

/* Reads only the data that shards first to end - 1 are compared with, and reports what cannot be read. Call this
 * instead of bl_verify_files if another process calls the latter. Returns as bl_verify_files
 * does. */
int bl_verify_prepare_part(struct bl_verify *verify, int64_t first, int64_t end, bl_fault *fault, void *context);

/* Verifies one shard. Several threads may call it concurrently. *failed_steps: the number of steps of its pieces that
 * failed while packing. */
int bl_verify_shard(const struct bl_verify *verify, int64_t shard, bl_fault *fault, void *context,
                    int64_t *failed_steps, struct bl_error *e);

/* Checks what only all shards together show. Call it last, and only if no shard had a fault. failed_steps: the sum over
 * all shards. */
void bl_verify_finish(const struct bl_verify *verify, int64_t failed_steps, bl_fault *fault, void *context);

void bl_verify_close(struct bl_verify *verify);

/* --- report as JSON ----------------------------------------------------------------------------------------------- */

/* The result of a verification as JSON. */

/* The caller sets the members up to bytes, and owns the texts. */
struct json_t;

struct bl_verify_report {
    const char *dir, *kind; /* kind: "dataset", "view" or "export" */
    const char *against;    /* the dataset that an export was compared with, or NULL */
    int64_t task, tasks;    /* number of this task, and of all tasks; tasks 0: the work is not divided */
    int64_t files, bytes;   /* that were read: shards of a dataset, or files of an export */
    struct json_t *faults;  /* a list; NULL: no fault so far */
    bool failed;            /* memory ran out while a fault was added */
};

/* Adds a fault of a file. source: the name of the source of a view that has the file, or NULL. */
void bl_verify_report_add(struct bl_verify_report *report, const char *source, const char *file, const char *text);

/* Appends {"path", "kind", "against", "task", "verified", "shards" or "files", "bytes", "faults": [{"source", "file",
 * "text"}], "run"}. run: the time that each stage took. Frees the faults and run. BL_EFAIL: memory ran out, now or when
 * a fault was added. */
int bl_verify_report_json(struct bl_verify_report *report, struct json_t *run, struct bl_buffer *out,
                          struct bl_error *e);
void bl_verify_report_free(struct bl_verify_report *report);

/* --- views -------------------------------------------------------------------------------------------------------- */

/* Verifying a view compares its files with the manifest, its plans with the sequences that the sources store, and its
 * places with the indexes of the sources. The shards of the sources are not read here: see bl_verify_shard. */

/* Reports every fault of the view in dir. Memory: the plan, and the places of all rows. BL_EFAIL: the verification
 * cannot continue. BL_ECANCEL: cancelled. */
int bl_verify_view(const char *dir, const struct bl_cancel *cancel, bl_fault *fault, bl_fault *remark, void *context,
                   struct bl_error *e);

#endif
