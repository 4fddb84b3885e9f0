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
static const char *fault_skip_path(const char *dir, const char *file, const char *text)
{
    size_t length = strlen(dir), name = strlen(file);
    bool named = strncmp(text, dir, length) == 0 && text[length] == '/' &&
                 strncmp(text + length + 1, file, name) == 0 && strncmp(text + length + 1 + name, ": ", 2) == 0;
    return named ? text + length + 1 + name + 2 : text;
}

static void verify_on_shard_fault(void *context, const char *file, const char *text)
{
    struct job *job = context;
    job->faults++;
    bl_buffer_text(&job->text, "bload: ");
    bl_text_append_masked(&job->text, file);
    bl_buffer_text(&job->text, ": ");
    bl_text_append_masked(&job->text, fault_skip_path(job->dir, file, text));
    bl_buffer_byte(&job->text, '\n');
}

static void verify_on_fault(void *context, const char *file, const char *text)
{
    struct verifying *v = context;
    v->faults++;
    bl_progress_clear(&v->progress);
    bl_cmd_print("%s: %s", file, fault_skip_path(v->dataset.dir, file, text));
}

static void verify_on_remark(void *context, const char *file, const char *text)
{
    struct verifying *v = context;
    bl_progress_end(&v->progress);
    if (!v->quiet)
        bl_cmd_print("%s: %s", file, text);
}

static int verify_produce(void *context, void **out, struct bl_error *e)
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

static int verify_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    struct verifying *v = context;
    struct job *job = job_;
    (void)worker;
    return bl_verify_shard(&v->dataset, job->shard, verify_on_shard_fault, job, &job->failed_steps, e);
}

static void verify_discard(void *context, void *job_)
{
    struct job *job = job_;
    (void)context;
    bl_buffer_free(&job->text);
    free(job);
}

static int verify_consume(void *context, void *job_, struct bl_error *e)
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
    verify_discard(v, job);
    return code;
}

static void verify_tick(void *context)
{
    bl_progress_tick(&((struct verifying *)context)->progress);
}

static int verify_read_shards(struct bl_cmd *cmd, struct verifying *v)
{
    static const struct bl_stages stages = {.produce = verify_produce,
                                            .work = verify_work,
                                            .consume = verify_consume,
                                            .discard = verify_discard,
                                            .tick = verify_tick};
    int workers = bl_cmd_workers(&cmd->common);
    bl_progress_start(&v->progress, cmd->common.quiet, "verify", "shards", NULL, v->end - v->next);
    int code = bl_pipeline_run(&stages, v, workers, 2 * workers, &cmd->cancel, &cmd->error);
    bl_progress_end(&v->progress);
    return code;
}

/* The task's shards, and what they are compared with; the first task also looks at what lies beside them. */
static int verify_open(struct bl_cmd *cmd, struct verifying *v, const char *dir)
{
    struct bl_error why = {0}, *e = &cmd->error;
    int code = bl_verify_open(&v->dataset, dir, &cmd->cancel, verify_on_fault, v, &why);
    if (code == BL_EUSAGE)
        return bl_error_set(
            e, BL_EFAIL,
            "%s; if packing was interrupted, run the same pack command again, or bload finish where all tasks are done",
            why.text);
    if (code)
        return bl_error_set(e, code, "%s", why.text);
    bl_task_range(&v->task, bl_verify_shards(&v->dataset), &v->next, &v->end);
    return v->task.index ? bl_verify_prepare_part(&v->dataset, v->next, v->end, verify_on_fault, v)
                         : bl_verify_files(&v->dataset, verify_on_fault, verify_on_remark, v);
}

/* "DIR is as it was written: 16 shards, 4.0 GiB", or "task 0 of 3 of DIR: 5 of 16 shards, 1.2 GiB, ..." */
static void verify_print_summary(const struct verifying *v, const char *dir)
{
    char shards[32], all[32], size[32];
    bl_text_count(shards, v->progress.done);
    bl_text_size(size, v->bytes);
    if (v->task.set)
        bl_cmd_print("%s, task %" PRId64 " of %" PRId64 ": %s of %s shards, %s, are as they were written%s", dir,
                     v->task.index, v->task.count, shards, bl_text_count(all, bl_verify_shards(&v->dataset)), size,
                     v->task.index ? "" : ", and so are the files beside them");
    else
        bl_cmd_print("%s is as it was written: %s shard%s, %s", dir, shards, v->progress.done == 1 ? "" : "s", size);
}

static int verify_run(struct bl_cmd *cmd, struct verifying *v)
{
    struct bl_error *e = &cmd->error;
    if (cmd->options.operands != 1)
        return bl_error_set(e, BL_EUSAGE, "expects one dataset directory (see bload verify --help)");
    const char *dir = cmd->options.operand[0];
    int code = bl_task_resolve(&v->task, e);
    if (!code)
        code = bl_io_check_path(dir, e);
    if (code)
        return code;
    bl_signals_install(&cmd->cancel);
    v->quiet = cmd->common.quiet;
    code = verify_open(cmd, v, dir);
    if (!code)
        code = verify_read_shards(cmd, v);
    if (code)
        return code;
    if (!v->faults && v->progress.done == bl_verify_shards(&v->dataset))
        bl_verify_finish(&v->dataset, v->failed_steps, verify_on_fault, v);
    if (v->faults)
        return bl_error_set(e, BL_EFAIL, "%s has %" PRId64 " fault%s", dir, v->faults, v->faults == 1 ? "" : "s");
    if (!cmd->common.quiet)
        verify_print_summary(v, dir);
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
    code = verify_run(&cmd, &v);
out:
    bl_verify_close(&v.dataset);
    return bl_cmd_end(&cmd, code, false);
}
