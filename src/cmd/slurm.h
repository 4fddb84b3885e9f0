/* What the parts of `bload slurm` share: the command itself (slurm.c), what is done and under way of a chain
 * (slurm_state.c), what it is of (slurm_identity.c), and the scripts (slurm_scripts.c). */
#ifndef BL_SLURM_H
#define BL_SLURM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "packing/packing.h"

enum bl_slurm_stages {
    BL_SLURM_SCAN,
    BL_SLURM_PLAN,
    BL_SLURM_PACK,
    BL_SLURM_FINISH,
    BL_SLURM_VERIFY,
    BL_SLURM_STAGES,
};

extern const char *const bl_slurm_stage_names[];

/* Of a stage, one for each task. */
struct bl_slurm_task {
    bool done;
    bool running, queued, held; /* a job of it is under way, and is not to be cancelled */
    bool submit;                /* what is missing */
};

struct bl_slurm_stage {
    int64_t tasks; /* of scan, pack and verify those of the chain, of plan and finish 1 */
    struct bl_slurm_task *task;
};

/* A job that was submitted: its element e is task offset + e of the stage. */
struct bl_slurm_job {
    int stage;
    int64_t id, offset;
    bool goes_on; /* something of it is under way, and is not to be cancelled */
};

/* What the queue holds of such a job. */
struct bl_slurm_entry {
    int64_t job;     /* its place among the jobs */
    int64_t element; /* -1: the job is no array */
    bool queued;     /* not started yet, or again */
    bool held, cancel;
};

struct bl_slurm {
    /* Options. */
    const char *config, *output;
    int64_t tasks, array_size, at_once;
    bool submit, parents;
    const char **sbatch; /* words for sbatch */
    int words;

    bool owns_memory; /* the YAML file says --memory */
    char *program;    /* this one, absolute */
    char *directory;  /* where the command was given, which relative names count from */
    char *dir;        /* of the dataset, absolute */
    char *folder;     /* DIR.slurm */
    int lock;
    struct bl_slurm_stage stage[BL_SLURM_STAGES];
    struct bl_slurm_job *job;
    int64_t jobs;
    struct bl_slurm_entry *entry;
    int64_t entries;
};

bool bl_slurm_is_array(int stage);

/* "NAME" below the chain's folder, or below DIR/.bload, as a path, appended. */
int bl_slurm_path(const struct bl_slurm *s, const char *name, struct bl_buffer *path, struct bl_error *e);
int bl_slurm_state_path(const struct bl_slurm *s, const char *name, struct bl_buffer *path, struct bl_error *e);

/* Whether DIR holds a complete dataset. */
bool bl_slurm_is_finished(const struct bl_slurm *s);

/* Finds out what is done, by what lies in DIR and DIR.slurm, and what is under way, by DIR.slurm/jobs and squeue; and
 * settles from it what is to be submitted and what to be cancelled. *blind: jobs were submitted, and there is no squeue
 * to ask for them. */
int bl_slurm_inspect(struct bl_slurm *s, bool *blind, struct bl_error *e);

/* Appends all that decides the dataset, as bload pack finds it out, but for the SIMD level, to lines; the first of them
 * is the number of tasks. None where that cannot be told of a dataset that is complete, since its inputs are gone. */
int bl_slurm_identify(struct bl_cmd *cmd, const struct bl_slurm *s, struct bl_inputs *inputs,
                      const struct bl_packing_job *job, struct bl_buffer *lines);

/* Compares these lines with those of a chain that was begun here, and with what DIR was begun with, then keeps them.
 * BL_EUSAGE: something differs. After bl_slurm_inspect. */
int bl_slurm_agree(const struct bl_slurm *s, const char *lines, struct bl_error *e);

/* Writes the scripts. */
int bl_slurm_write(const struct bl_slurm *s, struct bl_error *e);

#endif
