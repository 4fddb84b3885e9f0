/* bload verify: a dataset in, exit 0 or every fault by name out. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "run/pipeline.h"
#include "run/progress.h"
#include "run/signals.h"
#include "run/task.h"
#include "store/verify.h"

struct verifying {
    struct bl_verify dataset;
    struct bl_task task;
    struct bl_progress progress;
    int64_t next, end; /* shards to be looked at */
    int64_t faults, failed_steps, bytes;
    bool quiet;
};

/* A shard, and what was found: faults are told in order, whichever worker was first. */
struct job {
    const char *dir;
    int64_t shard, failed_steps, faults;
    struct bl_buffer text; /* lines */
};

/* What is wrong with a file of the dataset: where the reader of it put its path in front, without that. */
static const char *without_path(const char *dir, const char *file, const char *text)
{
    size_t length = strlen(dir), name = strlen(file);
    bool named = strncmp(text, dir, length) == 0 && text[length] == '/' &&
                 strncmp(text + length + 1, file, name) == 0 && strncmp(text + length + 1 + name, ": ", 2) == 0;
    return named ? text + length + 1 + name + 2 : text;
}

static void fault_of_shard(void *context, const char *file, const char *text)
{
    struct job *job = context;
    job->faults++;
    bl_buffer_text(&job->text, "bload: ");
    bl_text_append_masked(&job->text, file);
    bl_buffer_text(&job->text, ": ");
    bl_text_append_masked(&job->text, without_path(job->dir, file, text));
    bl_buffer_byte(&job->text, '\n');
}

static void fault_of_dataset(void *context, const char *file, const char *text)
{
    struct verifying *v = context;
    v->faults++;
    bl_progress_clear(&v->progress);
    bl_cmd_say("%s: %s", file, without_path(v->dataset.dir, file, text));
}

static void remark_on_dataset(void *context, const char *file, const char *text)
{
    struct verifying *v = context;
    bl_progress_end(&v->progress);
    if (!v->quiet)
        bl_cmd_say("%s: %s", file, text);
}

static int produce(void *context, void **out, struct bl_error *e)
{
    struct verifying *v = context;
    if (v->next == v->end)
        return 0;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    job->dir = v->dataset.dir;
    job->shard = v->next++;
    *out = job;
    return 1;
}

static int work(void *context, void *worker, void *job_, struct bl_error *e)
{
    struct verifying *v = context;
    struct job *job = job_;
    (void)worker;
    return bl_verify_shard(&v->dataset, job->shard, fault_of_shard, job, &job->failed_steps, e);
}

static void discard(void *context, void *job_)
{
    struct job *job = job_;
    (void)context;
    bl_buffer_free(&job->text);
    free(job);
}

static int consume(void *context, void *job_, struct bl_error *e)
{
    struct verifying *v = context;
    struct job *job = job_;
    int code = bl_buffer_check(&job->text, e);
    if (code)
        goto out;
    if (job->faults) {
        bl_progress_clear(&v->progress);
        fputs(job->text.data, stderr);
    }
out:
    v->faults += job->faults;
    v->failed_steps += job->failed_steps;
    v->bytes += v->dataset.shards ? v->dataset.shards[job->shard].bytes : 0;
    v->progress.done++;
    v->progress.bytes = v->bytes;
    discard(v, job);
    return code;
}

static void tick(void *context)
{
    bl_progress_tick(&((struct verifying *)context)->progress);
}

static int read_shards(struct bl_cmd *cmd, struct verifying *v)
{
    static const struct bl_stages stages = {
        .produce = produce, .work = work, .consume = consume, .discard = discard, .tick = tick};
    int workers = bl_cmd_workers(&cmd->common);
    bl_progress_start(&v->progress, cmd->common.quiet, "verify", "shards", NULL, v->end - v->next);
    int code = bl_pipeline_run(&stages, v, workers, 2 * workers, &cmd->cancel, &cmd->error);
    bl_progress_end(&v->progress);
    return code;
}

/* The task's shards, and what they are compared with; the first task also looks at what lies beside them. */
static int open_dataset(struct bl_cmd *cmd, struct verifying *v, const char *dir)
{
    struct bl_error why = {0}, *e = &cmd->error;
    int code = bl_verify_open(&v->dataset, dir, &cmd->cancel, fault_of_dataset, v, &why);
    if (code == BL_EUSAGE)
        return bl_error_set(
            e, BL_EFAIL,
            "%s; if packing was interrupted, run the same pack command again, or bload finish where all tasks are done",
            why.text);
    if (code)
        return bl_error_set(e, code, "%s", why.text);
    bl_task_range(&v->task, bl_verify_shards(&v->dataset), &v->next, &v->end);
    return v->task.index ? bl_verify_prepare_part(&v->dataset, v->next, v->end, fault_of_dataset, v)
                         : bl_verify_files(&v->dataset, fault_of_dataset, remark_on_dataset, v);
}

/* "DIR is as it was written: 16 shards, 4.0 GiB", or "task 0 of 3 of DIR: 5 of 16 shards, 1.2 GiB, ..." */
static void summarize(const struct verifying *v, const char *dir)
{
    char shards[32], all[32], size[32];
    bl_text_count(shards, v->progress.done);
    bl_text_size(size, v->bytes);
    if (v->task.set)
        bl_cmd_say("%s, task %" PRId64 " of %" PRId64 ": %s of %s shards, %s, are as they were written%s", dir,
                   v->task.index, v->task.count, shards, bl_text_count(all, bl_verify_shards(&v->dataset)), size,
                   v->task.index ? "" : ", and so are the files beside them");
    else
        bl_cmd_say("%s is as it was written: %s shard%s, %s", dir, shards, v->progress.done == 1 ? "" : "s", size);
}

static int run(struct bl_cmd *cmd, struct verifying *v)
{
    struct bl_error *e = &cmd->error;
    if (cmd->options.operands != 1)
        return bl_error_set(e, BL_EUSAGE, "expects one dataset directory (see bload verify --help)");
    const char *dir = cmd->options.operand[0];
    int code = bl_task_settle(&v->task, e);
    if (!code)
        code = bl_io_check_path(dir, e);
    if (code)
        return code;
    bl_signals_install(&cmd->cancel);
    v->quiet = cmd->common.quiet;
    code = open_dataset(cmd, v, dir);
    if (!code)
        code = read_shards(cmd, v);
    if (code)
        return code;
    if (!v->faults && v->progress.done == bl_verify_shards(&v->dataset))
        bl_verify_finish(&v->dataset, v->failed_steps, fault_of_dataset, v);
    if (v->faults)
        return bl_error_set(e, BL_EFAIL, "%s has %" PRId64 " fault%s", dir, v->faults, v->faults == 1 ? "" : "s");
    if (!cmd->common.quiet)
        summarize(v, dir);
    return BL_OK;
}

int bl_cmd_verify(int argc, char **argv)
{
    struct verifying v = {.dataset.index.fd = -1};
    struct bl_cmd cmd = {
        .name = "verify",
        .usage = "DIR [options]\n\n"
                 "Reads a dataset through: every checksum, every table against the plan. Exit status 0, or\n"
                 "every fault by name and 1. With --task, a share of the shards; task 0 also reads what lies\n"
                 "beside them."};
    const struct bl_option_group groups[] = {
        {"Tasks", bl_task_option_table, &v.task}, {"General", bl_common_threads_table, &cmd.common}, {0}};
    int code = bl_cmd_options(&cmd, groups);
    if (code)
        goto out;
    code = bl_cmd_parse(&cmd, argc, argv);
    if (code)
        goto out;
    code = run(&cmd, &v);
out:
    bl_verify_close(&v.dataset);
    return bl_cmd_end(&cmd, code, false);
}
