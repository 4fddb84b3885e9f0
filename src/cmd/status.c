/* bload status prints how far the making of a dataset is, by one process or by many tasks.
 *
 * run/status.h reads DIR: its files say which stages and tasks are done, and the heartbeats of the tasks say what the
 * others do. This file prints it as lines of a label and a text, for example
 *
 *     dataset     being packed
 *     table       there: 1,000 sequences of 123,456 steps
 *     plan        there: 1,929 blocks
 *     pack        12 of 40 shards, 580 of 1,929 blocks (30.1 %)
 *     tasks       4: 1 failed, 3 running
 *                 task 2 of 4: failed 5 min ago on node7 (pid 4711): ...
 *     next        bload pack --task 2/4 ... */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "export/finished.h"
#include "run/mirror.h"
#include "run/packing.h"
#include "run/status.h"

#define INDENT "            " /* the width of the labels */

struct showing {
    bool json;
    const char *dir; /* or a URL */
    struct bl_cmd_output dataset;
    struct bl_cmd_remote remote;
    struct bl_status status;
};

static const struct bl_option table[] = {
    BL_OPTION_FLAG("json", struct showing, json, BL_AFFECTS_NOTHING, "print JSON, with every task"),
    {0},
};

/* --- tasks -------------------------------------------------------------------------------------------------------- */

/* Appends "12 of 40 shards"; with all 0, which means unknown, "12 shards". */
static void status_format_ratio(struct bl_buffer *out, int64_t done, int64_t all, const char *what)
{
    char a[32], b[32];
    bl_buffer_text(out, bl_text_count(a, done));
    if (all)
        bl_buffer_printf(out, " of %s", bl_text_count(b, all));
    bl_buffer_printf(out, " %s", what);
}

/* Appends the present work of a task: "pack 12 of 40 blocks, 1,234 frames/s, 7 min left". */
static void status_format_doing(struct bl_buffer *out, const struct bl_status_task *t)
{
    const struct bl_beat *b = t->beat;
    if (!b->doing[0])
        return;
    bl_buffer_text(out, ", ");
    bl_text_append_masked(out, b->doing);
    if (b->unit[0] && (b->done || b->total)) {
        bl_buffer_byte(out, ' ');
        status_format_ratio(out, b->done, b->total, b->unit);
    }
    if (t->rate > 0) {
        bl_buffer_text(out, ", ");
        bl_text_append_rate(out, t->rate, b->step[0] ? b->step : b->unit);
    }
    if (t->left >= 0) {
        bl_buffer_text(out, ", ");
        bl_text_append_duration(out, t->left);
        bl_buffer_text(out, " left");
    }
}

/* Appends the state of a task and since when it has it: "failed 5 min ago". A heartbeat records a signal as exit status
 * 128 + its number. */
static void status_format_state(struct bl_buffer *out, const struct bl_status *s, const struct bl_status_task *t)
{
    const struct bl_beat *b = t->beat;
    switch (t->state) {
    case BL_TASK_SILENT:
        bl_buffer_text(out, "silent for ");
        bl_text_append_duration(out, (double)t->age);
        break;
    case BL_TASK_RUNNING:
        bl_buffer_text(out, "running for ");
        bl_text_append_duration(out, s->now > b->began ? (double)(s->now - b->began) : 0);
        break;
    case BL_TASK_STOPPED:
        bl_buffer_printf(out, "stopped by %s ", strsignal((int)(b->status - 128)));
        bl_text_append_duration(out, (double)t->age);
        bl_buffer_text(out, " ago");
        break;
    default:
        bl_buffer_text(out, "failed ");
        bl_text_append_duration(out, (double)t->age);
        bl_buffer_text(out, " ago");
    }
}

/* Appends the line of a task that is neither done nor waiting: state, host, work, and why it failed. */
static void status_format_task(struct bl_buffer *out, const struct bl_status *s, const struct bl_status_stage *stage,
                               const struct bl_status_task *t, const char *units)
{
    const struct bl_beat *b = t->beat;
    bl_buffer_text(out, INDENT);
    if (b->tasks > 1)
        bl_buffer_printf(out, "task %" PRId64 " of %" PRId64 ": ", b->task, b->tasks);
    status_format_state(out, s, t);
    bl_buffer_text(out, " on ");
    bl_text_append_masked(out, b->host);
    bl_buffer_printf(out, " (pid %" PRId64, b->pid);
    if (b->job[0]) {
        bl_buffer_text(out, ", job ");
        bl_text_append_masked(out, b->job);
    }
    bl_buffer_byte(out, ')');
    if (t->state == BL_TASK_RUNNING || t->state == BL_TASK_SILENT)
        status_format_doing(out, t);
    if (t->state != BL_TASK_RUNNING && stage->units) {
        bl_buffer_text(out, ", ");
        status_format_ratio(out, t->finished, t->end - t->begin, units);
    }
    /* On the same machine, the process can be looked up; on another one, silence is all that is known. */
    if (t->state == BL_TASK_SILENT)
        bl_buffer_text(out, t->gone ? ": its process has ended" : ": killed, or its machine is gone?");
    if (b->error[0] && t->state != BL_TASK_RUNNING) {
        bl_buffer_text(out, ": ");
        bl_text_append_masked(out, b->error);
    }
    bl_buffer_byte(out, '\n');
}

/* Appends the number of tasks in each state, and a line for each task that is neither done nor waiting, failed tasks
 * first. The numbers are left out if one task does all the work. */
static void status_format_tasks(struct bl_buffer *out, const struct bl_status *s, const struct bl_status_stage *stage,
                                const char *units)
{
    char count[32];
    if (stage->tasks != 1) {
        bl_buffer_printf(out, "tasks       %s:", bl_text_count(count, stage->tasks));
        const char *comma = " ";
        for (int i = 0; i < BL_TASK_STATES; i++) {
            if (!stage->in[i])
                continue;
            bl_buffer_printf(out, "%s%s %s", comma, bl_text_count(count, stage->in[i]), bl_task_state_name(i));
            comma = ", ";
        }
        bl_buffer_byte(out, '\n');
    }
    for (int state = BL_TASK_FAILED; state < BL_TASK_WAITING; state++) {
        for (size_t i = 0; i < stage->count; i++) {
            if ((int)stage->task[i].state == state)
                status_format_task(out, s, stage, &stage->task[i], units);
        }
    }
}

/* --- advice ------------------------------------------------------------------------------------------------------- */

/* Appends the command that continues scan or pack. Waiting tasks may be in a queue, so it is advised to run them only
 * while no task is running. */
static void status_format_continue(struct bl_buffer *out, const struct bl_status *s,
                                   const struct bl_status_stage *stage, const char *command)
{
    const int64_t *in = stage->in;
    bool broken = in[BL_TASK_FAILED] || in[BL_TASK_SILENT] || in[BL_TASK_STOPPED];
    if (!broken && in[BL_TASK_RUNNING])
        return;
    bl_status_stage_append_command(stage, stage->tasks ? command : "pack", out);
    if (s->slurm && stage->tasks > 1)
        bl_buffer_text(out, "; or bload slurm again, which submits what is missing");
}

/* Appends the command that comes next, or nothing if the work continues without the user. */
static void status_format_next(struct bl_buffer *out, const struct showing *v)
{
    const struct bl_status *s = &v->status;
    /* A running task may be the one that plans or finishes, so nothing is advised then. */
    bool at_work = s->pack.in[BL_TASK_RUNNING];
    switch (s->at) {
    case BL_AT_SCAN:
        if (s->parts || !s->pack.tasks)
            status_format_continue(out, s, &s->scan, "scan");
        else
            status_format_continue(out, s, &s->pack, "pack");
        break;
    case BL_AT_PLAN:
        if (!at_work)
            bl_buffer_printf(
                out, "bload plan %s, unless it is running; or bload pack --task i/N, which plans by itself", v->dir);
        break;
    case BL_AT_PACK:
        status_format_continue(out, s, &s->pack, "pack");
        break;
    case BL_AT_FINISH:
        if (!at_work && s->shared)
            bl_buffer_printf(out, "bload finish %s, unless it is running", v->dir);
        else if (!at_work)
            bl_buffer_text(out, "run the same bload pack command to finish it");
        break;
    case BL_AT_END:
        if (s->pack.finished < s->pack.units && v->dataset.mirror)
            bl_buffer_printf(out, "remove %s/" BL_MANIFEST_FILE ", and the same bload pack command makes them again",
                             bl_mirror_url(v->dataset.mirror));
        else if (s->pack.finished < s->pack.units)
            bl_buffer_text(out, "run the same bload pack command to make the missing shards again");
        else if (s->verified < s->verify_tasks)
            bl_buffer_printf(out, "bload verify %s", v->dir);
    }
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

/* Appends the rate of a stage, and the time left, if they are known. */
static void status_format_rate(struct bl_buffer *out, const struct bl_status_stage *stage)
{
    if (!(stage->rate > 0))
        return;
    bl_buffer_text(out, "rate        ");
    bl_text_append_rate(out, stage->rate, stage->rate_of);
    if (stage->left >= 0) {
        bl_buffer_text(out, ", ");
        bl_text_append_duration(out, stage->left);
        bl_buffer_text(out, " left");
    }
    bl_buffer_byte(out, '\n');
}

/* Appends the parts of the scan, and its tasks while they scan. A scan without tasks has no parts. */
static void status_format_scan(struct bl_buffer *out, const struct bl_status *s)
{
    if (!s->parts)
        return;
    bl_buffer_text(out, "scan        ");
    status_format_ratio(out, s->scan.finished, s->scan.units, "parts");
    bl_buffer_byte(out, '\n');
    if (s->at != BL_AT_SCAN)
        return;
    status_format_tasks(out, s, &s->scan, "parts");
    status_format_rate(out, &s->scan);
}

/* Appends the shards that are packed, and the tasks that pack. */
static void status_format_pack(struct bl_buffer *out, const struct bl_status *s)
{
    const struct bl_status_stage *pack = &s->pack;
    if (pack->units || pack->finished) {
        bl_buffer_text(out, "pack        ");
        status_format_ratio(out, pack->finished, pack->units, "shards");
    }
    if (pack->units) {
        int64_t blocks = s->manifest.format.blocks;
        bl_buffer_text(out, ", ");
        status_format_ratio(out, s->finished_blocks, blocks, "blocks");
        bl_buffer_printf(out, " (%.1f %%)", 100 * (double)s->finished_blocks / (double)blocks);
    }
    if (pack->units || pack->finished)
        bl_buffer_byte(out, '\n');
    if (pack->count)
        status_format_tasks(out, s, pack, "shards");
    status_format_rate(out, pack);
}

/* Appends all stages of a dataset in the making. */
static void status_format_unfinished(struct bl_buffer *out, const struct bl_status *s)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE];
    /* By enum bl_status_at; a finished dataset is printed by another function. */
    static const char *const at[] = {"being scanned", "to be planned", "being packed", "all packed, to be finished",
                                     ""};
    bl_buffer_printf(out, "dataset     %s\n", at[s->at]);
    status_format_scan(out, s);
    bl_buffer_text(out, s->table ? "table       there" : "table       not yet");
    if (s->has_plan_info)
        bl_buffer_printf(out, ": %s of %s", bl_text_plural(a, s->plan_info.sequences, "sequence"),
                         bl_text_plural(b, s->plan_info.steps, "step"));
    bl_buffer_text(out, s->plan ? "\nplan        there" : "\nplan        not yet");
    if (s->has_plan_info)
        bl_buffer_printf(out, ": %s", bl_text_plural(a, s->plan_info.blocks, "block"));
    bl_buffer_byte(out, '\n');
    status_format_pack(out, s);
    if (s->unreadable) {
        bl_buffer_printf(out, "unreadable  %s: ", bl_text_plural(a, s->unreadable, "heartbeat"));
        bl_text_append_masked(out, s->unread.text);
        bl_buffer_byte(out, '\n');
    }
}

/* Appends the state of a dataset or view that has a manifest: complete, or what it has lost since. */
static void status_format_finished(struct bl_buffer *out, const struct bl_status *s)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE], c[BL_PLURAL_SIZE];
    const struct bl_manifest *m = &s->manifest;
    int64_t missing = s->pack.units - s->pack.finished;
    bool is_view = bl_manifest_is_view(m); /* its units are the datasets that it names */
    bl_text_plural(c, is_view ? (int64_t)m->sources : s->pack.units, is_view ? "source" : "shard");
    if (missing)
        bl_buffer_printf(out, "dataset     incomplete, %s of %s %s missing: ", bl_text_count(a, missing), c,
                         missing == 1 ? "is" : "are");
    else
        bl_buffer_printf(out, "%s %s: ", is_view ? "view       " : "dataset    ",
                         s->lost.code ? "damaged" : "complete");
    bl_buffer_printf(out, "%s, %s%s%s\n", bl_text_plural(a, m->plan_info.sequences, "sequence"),
                     bl_text_plural(b, m->format.blocks, "block"), missing ? "" : ", ", missing ? "" : c);
    if (s->lost.code)
        bl_cmd_append_line(out, "lost", s->lost.text);
    if (m->skipped || m->failed) {
        bl_buffer_text(out, "faults      ");
        bl_fault_counts_append(out, &(struct bl_fault_counts){
                                        .skipped = m->skipped, .failed = m->failed, .failed_steps = m->failed_steps});
        bl_buffer_byte(out, '\n');
    }
    if (s->verify_tasks) {
        bl_buffer_text(out, "verify      ");
        status_format_ratio(out, s->verified, s->verify_tasks, "tasks without fault\n");
    }
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Appends the status as text or JSON. */
static int status_format(struct showing *v, struct bl_buffer *text, struct bl_error *e)
{
    struct bl_buffer next = {0};
    status_format_next(&next, v);
    int code = bl_buffer_check(&next, e); /* JSON has the same advice as the text */
    if (!code && v->json) {
        code = bl_status_json(&v->status, next.data, text, e);
    } else if (!code) {
        if (v->status.at == BL_AT_END)
            status_format_finished(text, &v->status);
        else
            status_format_unfinished(text, &v->status);
        if (next.size)
            bl_cmd_append_line(text, "next", next.data);
    }
    bl_buffer_free(&next);
    return code;
}

/* Reads the state and prints it. A directory that holds an export is refused. */
static int status_run(struct bl_cmd *cmd, struct showing *v)
{
    struct bl_error *e = &cmd->error, why = {0};
    struct bl_buffer text = {0};
    bool is_export;
    BL_TRY(bl_cmd_output_name(cmd, &v->dir));
    BL_TRY(bl_cmd_output_open(&v->dataset, v->dir, &v->remote, BL_MIRROR_LOOK, NULL, cmd));
    const char *dir = v->dataset.dir;
    /* An export has no stages: the message says what to do with it. */
    BL_TRY(bl_fs_find(dir, BL_EXPORT_FILE, &is_export, e));
    if (is_export)
        return bl_error_set(e, BL_EFAIL,
                            "%s is an export, and finished: bload info describes it, bload verify checks it", v->dir);
    BL_TRY(bl_cmd_refuse_unfinished_export(dir, e));
    if (bl_status_read(&v->status, dir, NULL, &why)) /* a directory without a dataset is not wrong usage */
        return bl_error_pass(e, BL_EFAIL, &why);
    int code = status_format(v, &text, e);
    return bl_cmd_answer(NULL, &text, !v->json, code, e);
}

/* The command only reads, so it can be run at any time, on any machine that sees DIR. */
int bl_cmd_status(int argc, char **argv)
{
    struct showing v = {0};
    struct bl_cmd cmd = {
        .name = "status",
        .usage = "[options] DIR\n"
                 "\n"
                 "Shows the progress of a dataset that one process or many tasks make: what is done in each stage,\n"
                 "which tasks are running, what failed and why, the rate and the time left, and which command\n"
                 "continues. Exit status 1 if a task failed or is silent.",
        .usual = "json h help",
        .examples = "dataset\n"
                    "--json dataset",
        .operands = "directories"};
    const struct bl_option_group groups[] = {{"Output", table, &v},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &v.remote},
                                             {BL_CMD_OUTPUT_TITLE, bl_cmd_output_table, &v.dataset},
                                             {"General", bl_common_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = status_run(&cmd, &v);
    /* A task that failed or is silent gives status 1, so that a script can watch the tasks. */
    bool bad = code == BL_OK && bl_status_is_bad(&v.status);
    bl_status_free(&v.status);
    bl_cmd_output_close(&v.dataset, true, &cmd);
    int status = bl_cmd_end(&cmd, code, false);
    return bad ? BL_EXIT_FAILED : status;
}
