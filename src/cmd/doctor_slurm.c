#include "cmd/doctor_slurm.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/process.h"
#include "cmd/slurm.h"
#include "run/task.h"

/* A number that few clusters have at the moment: it is the answer that counts. */
#define SOME_JOB "1"

static void doctor_add_sbatch(struct bl_findings *f)
{
    if (bl_process_found("sbatch"))
        bl_findings_add(f, BL_VERDICT_OK, "sbatch", "found");
    else
        bl_findings_add(f, BL_VERDICT_NOTE, "sbatch", "none: bload slurm only writes scripts here");
}

static void doctor_add_squeue(struct bl_findings *f)
{
    struct bl_error e = {0};
    struct bl_buffer said = {0};
    int status;
    if (!bl_process_found("squeue"))
        bl_findings_add(f, BL_VERDICT_NOTE, "squeue", "none: bload slurm cannot see which jobs are running");
    else if (bl_slurm_ask_queue(SOME_JOB, &said, &status, &e))
        bl_findings_add(f, BL_VERDICT_WARNING, "squeue", "%s", e.text);
    else
        bl_findings_add(f, BL_VERDICT_OK, "squeue", "answers");
    bl_buffer_free(&said);
}

/* What --task auto would be. Variables that say nothing are no finding outside of jobs. */
static void doctor_add_task(struct bl_findings *f, const char *job)
{
    struct bl_error e = {0};
    struct bl_task task = {.set = true, .automatic = true};
    if (!bl_task_resolve(&task, &e))
        bl_findings_add(f, BL_VERDICT_OK, "task", "--task auto is %" PRId64 "/%" PRId64, task.index, task.count);
    else if (job)
        bl_findings_add(f, BL_VERDICT_NOTE, "task", "%s", e.text);
}

void bl_doctor_slurm(struct bl_findings *f)
{
    const char *job = getenv("SLURM_JOB_ID");
    f->group = "Slurm";
    doctor_add_sbatch(f);
    doctor_add_squeue(f);
    if (job)
        bl_findings_add(f, BL_VERDICT_OK, "job", "inside of %s", job);
    else
        bl_findings_add(f, BL_VERDICT_OK, "job", "not inside of one");
    doctor_add_task(f, job);
}
