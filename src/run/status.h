/* The progress of a dataset that one or many processes are making, from the files in DIR/.bload. Reading it writes
 * nothing, takes no lock, and opens no file per shard: a shard is finished if its record and its file exist by name.
 * Files decide what is done; heartbeats only show which processes are running. */
#ifndef BL_STATUS_H
#define BL_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "run/status_stage.h"
#include "store/manifest.h"
#include "store/plan_info.h"

enum bl_status_at { BL_AT_SCAN, BL_AT_PLAN, BL_AT_PACK, BL_AT_FINISH, BL_AT_END };

struct bl_status {
    enum bl_status_at at; /* the next stage; END: the dataset is complete */
    bool parts;           /* tasks share or shared the scan */
    bool table, plan;     /* whether they exist */
    bool shared;          /* tasks share the plan, so bload finish is needed; otherwise the run finishes by itself */
    bool has_plan_info;   /* plan_info is valid */
    struct bl_plan_info plan_info; /* of the plan */
    bool has_manifest;             /* manifest is valid; while packing it is the draft */
    struct bl_manifest manifest;
    struct bl_status_stage scan, pack;
    int64_t finished_blocks;
    struct bl_error lost;           /* a file of a finished dataset, other than its shards, that is lost; or none */
    int64_t verify_tasks, verified; /* of a chain of Slurm jobs: tasks, and those with a mark; otherwise 0, 0 */
    bool slurm;                     /* DIR.slurm exists */
    int64_t unreadable;             /* number of invalid heartbeats */
    struct bl_error unread;         /* the reason of the first of them */
    int64_t now;                    /* seconds since 1970, by this machine's clock */
};

/* BL_EFAIL: DIR is neither a dataset nor an unfinished one, or cannot be read. On error *status is empty. */
int bl_status_read(struct bl_status *status, const char *dir, struct bl_error *e);
void bl_status_free(struct bl_status *status);

/* Whether the user must act: a task failed or is silent, and no other task did its work. */
bool bl_status_is_bad(const struct bl_status *status);

/* Appends the status as JSON. next: the advice in words, or NULL. */
int bl_status_json(const struct bl_status *status, const char *next, struct bl_buffer *out, struct bl_error *e);

#endif
