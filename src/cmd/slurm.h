/* Shared by the parts of `bload slurm`: the command (slurm.c), the identity and the state of a chain of jobs
 * (slurm_state.c), and its scripts (slurm_scripts.c).
 *
 * A chain is all jobs that make one dataset. Its stages follow each other: scan, plan, pack, finish, verify. Scan, pack
 * and verify are divided into tasks, which are elements of job arrays; plan and finish are single jobs. */
#ifndef BL_SLURM_H
#define BL_SLURM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/inputs.h"
#include "run/packing.h"

/* The stages, in their order. */
enum bl_slurm_stages {
    BL_SLURM_SCAN,
    BL_SLURM_PLAN,
    BL_SLURM_PACK,
    BL_SLURM_FINISH,
    BL_SLURM_VERIFY,
    BL_SLURM_STAGES,
};

extern const char *const bl_slurm_stage_names[]; /* by enum bl_slurm_stages; the scripts have these names, too */

/* The state of one task of a stage. */
struct bl_slurm_task {
    bool done;                  /* its result exists */
    bool running, queued, held; /* a job of the task is queued or running and remains */
    bool submit;                /* the task still has to be submitted */
};

/* A stage of the chain. */
struct bl_slurm_stage {
    int64_t tasks;              /* for scan, pack and verify the tasks of the chain; for plan and finish 1 */
    struct bl_slurm_task *task; /* [tasks] owned */
};

/* A submitted job: its array element e is task offset + e of the stage. */
struct bl_slurm_job {
    int stage;
    int64_t id, offset; /* id: Slurm's number of the job */
    bool goes_on;       /* a part of it is queued or running and remains */
};

/* An entry of Slurm's queue for such a job. */
struct bl_slurm_entry {
    int64_t job;     /* index in struct bl_slurm.job */
    int64_t element; /* -1: the job is no array */
    bool queued;     /* not started yet, or requeued */
    bool held;       /* a user must release it: scontrol release */
    bool cancel;     /* submit.sh cancels it */
};

/* A chain: options, paths, and state. */
struct bl_slurm {
    /* Options. */
    const char *config, *output;
    int64_t tasks, array_size, at_once; /* array_size 0: as the cluster allows; at_once 0: all */
    bool submit, parents;
    const char **sbatch; /* [words] options for sbatch */
    int words;

    bool owns_memory; /* the YAML file sets memory */
    char *program;    /* absolute path of this program */
    char *directory;  /* the working directory, for relative names */
    char *dir;        /* of the dataset, absolute */
    char *state;      /* DIR/.bload */
    char *folder;     /* DIR.slurm */
    int lock;         /* descriptor of DIR.slurm/lock; -1: not open */
    struct bl_slurm_stage stage[BL_SLURM_STAGES];
    struct bl_slurm_job *job; /* [jobs] the lines of DIR.slurm/jobs */
    int64_t jobs;
    struct bl_slurm_entry *entry; /* [entries] what squeue reports of them */
    int64_t entries;
};

/* Returns whether the stage is divided into tasks. */
bool bl_slurm_is_array(int stage);

/* Returns whether DIR holds a complete dataset. */
bool bl_slurm_is_finished(const struct bl_slurm *s);

/* Asks squeue for jobs, by their numbers: "12,13". Appends to output a line for each element that squeue knows, such as
 * "12_5 PENDING Priority"; there may be none. *status: its exit status. BL_EFAIL: it does not answer. */
int bl_slurm_ask_queue(const char *ids, struct bl_buffer *output, int *status, struct bl_error *e);

/* Finds which tasks are done, from the files in DIR and DIR.slurm, and which are queued or running, from DIR.slurm/jobs
 * and squeue. Then decides what to submit and what to cancel. *blind: jobs were submitted, but squeue is not
 * available. */
int bl_slurm_inspect(struct bl_slurm *s, bool *blind, struct bl_error *e);

/* Appends everything that decides the dataset, as bload pack determines it, except the SIMD level. The first line is
 * the number of tasks. Appends nothing for a complete dataset whose inputs are gone. */
int bl_slurm_identify(struct bl_cmd *cmd, const struct bl_slurm *s, struct bl_inputs *inputs,
                      const struct bl_packing_request *request, struct bl_buffer *lines);

/* Compares the lines with those of an existing chain and with those that DIR was begun with, then stores them.
 * BL_EUSAGE: something differs. Call after bl_slurm_inspect. */
int bl_slurm_agree(const struct bl_slurm *s, const char *lines, struct bl_error *e);

/* Writes the scripts into the chain's folder. They submit the tasks with `submit` set, and cancel the entries with
 * `cancel` set. BL_EFAIL. */
int bl_slurm_write(const struct bl_slurm *s, struct bl_error *e);

#endif
