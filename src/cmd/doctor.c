/* bload doctor looks at the machine and a directory before long work, and says of each point that it is ok, or what to
 * do.
 *
 * The checks are in src/doctor; each adds findings to a list: a group, a name, a verdict and a line of text, such as
 *
 *     Slurm
 *       ok       squeue           answers
 *
 * This file has the checks of Slurm, calls all checks in order, and prints the list. */
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/process.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/slurm.h"
#include "doctor/machine.h"
#include "cmd/signals.h"
#include "run/state_files.h"

/* --- Slurm -------------------------------------------------------------------------------------------------------- */

/* A number that few clusters have at the moment: doctor wants to know whether squeue answers, not the answer. */
#define SOME_JOB "1"

/* Adds the findings about Slurm. They are here and not in src/doctor, since only commands run Slurm's programs. A
 * machine without Slurm is no fault, so a missing program is a note. */
static void doctor_slurm(struct bl_findings *f)
{
    struct bl_error e = {0};
    struct bl_buffer output = {0};
    int status;
    const char *job = getenv("SLURM_JOB_ID");
    f->group = "Slurm";
    if (bl_process_found("sbatch"))
        bl_findings_add(f, BL_VERDICT_OK, "sbatch", "found");
    else
        bl_findings_add(f, BL_VERDICT_NOTE, "sbatch", "none: bload slurm only writes scripts here");
    if (!bl_process_found("squeue"))
        bl_findings_add(f, BL_VERDICT_NOTE, "squeue", "none: bload slurm cannot see which jobs are running");
    else if (bl_slurm_ask_queue(SOME_JOB, &output, &status, &e))
        bl_findings_add(f, BL_VERDICT_WARNING, "squeue", "%s", e.text);
    else
        bl_findings_add(f, BL_VERDICT_OK, "squeue", "answers");
    bl_buffer_free(&output);
    if (job)
        bl_findings_add(f, BL_VERDICT_OK, "job", "inside of %s", job);
    else
        bl_findings_add(f, BL_VERDICT_OK, "job", "not inside of one");
    /* Shows the number that --task auto takes here. Outside of jobs no number is normal, so that it is no finding. */
    struct bl_task task = {.set = true, .automatic = true};
    bl_error_clear(&e);
    if (!bl_task_resolve(&task, &e))
        bl_findings_add(f, BL_VERDICT_OK, "task", "--task auto is %" PRId64 "/%" PRId64, task.index, task.count);
    else if (job)
        bl_findings_add(f, BL_VERDICT_NOTE, "task", "%s", e.text);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

struct examining {
    bool json;
    const char *dir;             /* the directory that is to hold datasets */
    struct bl_findings findings; /* of all checks, in their order */
};

static const struct bl_option table[] = {
    BL_OPTION_FLAG("json", struct examining, json, BL_AFFECTS_NOTHING, "print JSON, with figures"),
    {0},
};

/* Appends the findings as text: a line for each, below the name of its group. quiet: only warnings and faults. */
static void findings_format(const struct bl_findings *f, bool quiet, struct bl_buffer *out)
{
    const char *group = "";
    for (size_t i = 0; i < f->count; i++) {
        const struct bl_finding *finding = &f->finding[i];
        if (quiet && finding->verdict <= BL_VERDICT_NOTE)
            continue;
        if (strcmp(group, finding->group) != 0)
            bl_buffer_printf(out, "%s\n", finding->group);
        group = finding->group;
        bl_buffer_printf(out, "  %-8s %-16s ", bl_verdict_name(finding->verdict), finding->name);
        bl_text_append_masked(out, finding->text);
        bl_buffer_byte(out, '\n');
    }
}

/* Checks the directory, runs the checks, prints the findings, and returns BL_EFAIL if one of them is a fault. */
static int doctor_run(struct bl_cmd *cmd, struct examining *x)
{
    char faults[BL_PLURAL_SIZE], warnings[BL_PLURAL_SIZE];
    struct bl_findings *f = &x->findings;
    struct bl_error *e = &cmd->error;
    struct bl_buffer text = {0};
    struct stat status;
    int code = BL_OK;
    if (cmd->options.operands > 1)
        return bl_error_set(e, BL_EUSAGE, "expects one directory at most (see bload doctor --help)");
    x->dir = cmd->options.operands ? cmd->options.operand[0] : ".";
    BL_TRY(bl_io_check_path(x->dir, e));
    if (stat(x->dir, &status) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot stat %s", x->dir);
    if (!S_ISDIR(status.st_mode))
        return bl_error_set(e, BL_EUSAGE, "%s is not a directory: name one that is to hold datasets", x->dir);
    bl_signals_install(&cmd->cancel);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit of a file's size then returns an error */
    bl_doctor_versions(f);
    bl_doctor_decoders(f);
    bl_doctor_limits(f);
    /* The sandbox comes before everything that may start threads: its check forks, and a child of a process with
     * threads can do little. */
    bl_doctor_sandbox(f);
    bl_doctor_disk(f, x->dir, &cmd->cancel);
    if (bl_cancelled(&cmd->cancel))
        return BL_ECANCEL;
    bl_doctor_gpus(f);
    doctor_slurm(f);
    if (bl_cancelled(&cmd->cancel))
        return BL_ECANCEL;
    BL_TRY(bl_findings_check(f, e));
    if (x->json)
        code = bl_findings_json(f, x->dir, &text, e);
    else
        findings_format(f, cmd->common.quiet, &text);
    BL_TRY(bl_cmd_answer(NULL, &text, !x->json, code, e));
    int64_t fault = bl_findings_count(f, BL_VERDICT_FAULT);
    int64_t warning = bl_findings_count(f, BL_VERDICT_WARNING);
    bl_text_plural(faults, fault, "fault");
    bl_text_plural(warnings, warning, "warning");
    if (fault)
        return bl_error_set(e, BL_EFAIL, "%s, %s", faults, warnings);
    if (!cmd->common.quiet)
        bl_cmd_print("doctor: no faults, %s", warnings);
    return BL_OK;
}

int bl_cmd_doctor(int argc, char **argv)
{
    struct examining x = {0};
    struct bl_cmd cmd = {
        .name = "doctor",
        .usage = "[options] [DIR]\n"
                 "\n"
                 "Checks the machine, and a directory for datasets (by default the working directory): versions,\n"
                 "decoders, limits, isolation, the file system and how fast it writes, GPUs, Slurm. Says for each\n"
                 "point that it is ok, or what to do. Status 1: something that bload needs is missing.",
        .usual = "json quiet h help",
        .examples = "-q .\n"
                    "--json datasets",
        .operands = "directories"};
    const struct bl_option_group groups[] = {{"Output", table, &x}, {"General", bl_common_table, &cmd.common}, {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = doctor_run(&cmd, &x);
    bl_findings_free(&x.findings);
    return bl_cmd_end(&cmd, code, false);
}
