/* bload doctor: looks at the machine before long work, and says of each point that it is ok, or what to do. */
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

/* What bload doctor finds about Slurm. It is here and not in src/doctor, since only commands run Slurm's programs. */

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

static void doctor_slurm(struct bl_findings *f)
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

/* --- the command -------------------------------------------------------------------------------------------------- */

struct examining {
    bool json;
    const char *dir;
    struct bl_findings findings;
};

static const struct bl_option table[] = {
    BL_OPTION_FLAG("json", struct examining, json, BL_AFFECTS_NOTHING, "print JSON, with figures"),
    {0},
};

static int doctor_resolve_directory(struct bl_cmd *cmd, struct examining *x)
{
    struct stat status;
    if (cmd->options.operands > 1)
        return bl_error_set(&cmd->error, BL_EUSAGE, "expects one directory at most (see bload doctor --help)");
    x->dir = cmd->options.operands ? cmd->options.operand[0] : ".";
    BL_TRY(bl_io_check_path(x->dir, &cmd->error));
    if (stat(x->dir, &status) != 0)
        return bl_error_errno(&cmd->error, BL_EFAIL, "cannot stat %s", x->dir);
    if (S_ISDIR(status.st_mode))
        return BL_OK;
    return bl_error_set(&cmd->error, BL_EUSAGE, "%s is not a directory: name one that is to hold datasets", x->dir);
}

/* The sandbox comes before all that may start threads. */
static int doctor_examine(struct bl_cmd *cmd, struct examining *x)
{
    struct bl_findings *f = &x->findings;
    bl_doctor_versions(f);
    bl_doctor_decoders(f);
    bl_doctor_limits(f);
    bl_doctor_sandbox(f);
    bl_doctor_disk(f, x->dir, &cmd->cancel);
    if (bl_cancelled(&cmd->cancel))
        return BL_ECANCEL;
    bl_doctor_gpus(f);
    doctor_slurm(f);
    if (bl_cancelled(&cmd->cancel))
        return BL_ECANCEL;
    return bl_findings_check(f, &cmd->error);
}

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

static int doctor_print(struct bl_cmd *cmd, const struct examining *x)
{
    struct bl_buffer text = {0};
    int code = BL_OK;
    if (x->json)
        code = bl_findings_json(&x->findings, x->dir, &text, &cmd->error);
    else
        findings_format(&x->findings, cmd->common.quiet, &text);
    return bl_cmd_answer(NULL, &text, !x->json, code, &cmd->error);
}

static int doctor_run(struct bl_cmd *cmd, struct examining *x)
{
    char faults[BL_PLURAL_SIZE], warnings[BL_PLURAL_SIZE];
    BL_TRY(doctor_resolve_directory(cmd, x));
    bl_signals_install(&cmd->cancel);
    signal(SIGXFSZ, SIG_IGN); /* writing beyond the limit of a file's size is then an error */
    BL_TRY(doctor_examine(cmd, x));
    BL_TRY(doctor_print(cmd, x));
    int64_t fault = bl_findings_count(&x->findings, BL_VERDICT_FAULT);
    int64_t warning = bl_findings_count(&x->findings, BL_VERDICT_WARNING);
    bl_text_plural(faults, fault, "fault");
    bl_text_plural(warnings, warning, "warning");
    if (fault)
        return bl_error_set(&cmd->error, BL_EFAIL, "%s, %s", faults, warnings);
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
                 "Looks at the machine, and at a directory that is to hold datasets (the working directory, if none\n"
                 "is named): versions, decoders, limits, isolation, the file system and how fast it writes, GPUs,\n"
                 "Slurm. Says of each point that it is ok, or what to do. Status 1: something that bload needs is\n"
                 "missing.",
        .usual = "json quiet h help",
        .examples = "-q .\n"
                    "--json datasets",
        .operands = "directories"};
    const struct bl_option_group groups[] = {{"Output", table, &x}, {"General", bl_common_table, &cmd.common}, {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (code || cmd.common.help)
        goto out;
    code = doctor_run(&cmd, &x);
out:
    bl_findings_free(&x.findings);
    return bl_cmd_end(&cmd, code, false);
}
