/* bload verify checks a dataset, a view or an export, and lists every fault. The exit status is 0 if there is none.
 *
 * A fault does not end the command: the checks (store/verify.h) report it by a callback, which prints a line and
 * counts. A code other than 0 means that the checks themselves cannot go on. With --task i/N, task i reads its range of
 * the shards, and task 0 checks the other files, too. A view is verified by its plan, and by verifying its datasets. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/progress_bar.h"
#include "cmd/remote.h"
#include "cmd/summary.h"
#include "export/finished.h"
#include "run/shards.h"
#include "cmd/signals.h"
#include "run/state_files.h"
#include "store/dataset_file.h"
#include "store/verify.h"
#include "store/view.h"

/* The state of the command. For a view, the dataset, the progress and the range are those of one of its datasets. */
struct verifying {
    struct bl_verify dataset; /* the dataset that is open */
    bool json;
    struct bl_verify_report report; /* for --json */
    const char *against;            /* option: the dataset from which an export was made; NULL: not given */
    const char *source; /* of a view, the name of the dataset that is verified; NULL: the directory itself */
    struct bl_task task;
    struct bl_progress progress;
    struct bl_progress_bar bar;
    int64_t begin, end;           /* shards of the task */
    int64_t faults, failed_steps; /* faults in all; steps that the shards of the dataset record as failed */
    int64_t shards, bytes;        /* verified in all datasets of a view */
    struct bl_run_times times;
    struct bl_cmd_remote remote; /* options of URLs */
};

/* Two tables, since --help shows the options of exports under a title of their own. */
static const struct bl_option output_table[] = {
    BL_OPTION_FLAG("json", struct verifying, json, BL_AFFECTS_NOTHING, "print JSON, with every fault"),
    {0},
};

static const struct bl_option against_table[] = {
    BL_OPTION_STRING("against", struct verifying, against, BL_AFFECTS_NOTHING,
                     "compare an export with the dataset or view that it was made of, byte for byte",
                     .placeholder = "DATASET"),
    {0},
};

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

/* Counts and prints a fault of a file: "shards/shard-00000003.safetensors: block 12: ...". */
static void verify_on_fault(void *context, const char *file, const char *text)
{
    struct verifying *v = context;
    v->faults++;
    bl_progress_bar_clear(&v->bar);
    if (v->dataset.dir) {
        /* The reader of the file has put "DIR/FILE: " in front of its message, which the line has anyway. */
        size_t length = strlen(v->dataset.dir), name = strlen(file);
        if (strncmp(text, v->dataset.dir, length) == 0 && text[length] == '/' &&
            strncmp(text + length + 1, file, name) == 0 && strncmp(text + length + 1 + name, ": ", 2) == 0)
            text += length + 1 + name + 2;
    }
    if (v->json)
        bl_verify_report_add(&v->report, v->source, file, text);
    if (v->source)
        bl_cmd_print("%s: %s: %s", v->source, file, text);
    else
        bl_cmd_print("%s: %s", file, text);
}

/* Prints a remark about a file, which is no fault. */
static void verify_on_remark(void *context, const char *file, const char *text)
{
    struct verifying *v = context;
    bl_progress_bar_clear(&v->bar);
    if (!v->bar.quiet)
        bl_cmd_print("%s: %s", file, text);
}

/* The callback for a fault in a shard. */
static void verify_on_shard_fault(void *context, int64_t shard, const char *file, const char *text)
{
    (void)shard;
    verify_on_fault(context, file, text);
}

/* Counts a shard that is verified. */
static void verify_on_shard(void *context, int64_t shard, int64_t failed_steps)
{
    struct verifying *v = context;
    v->failed_steps += failed_steps;
    v->progress.bytes += v->dataset.shards ? v->dataset.shards[shard].bytes : 0;
    v->progress.done++;
}

/* The callback for progress, on the thread that called bl_verify_shards_run. */
static void verify_tick(void *context)
{
    struct verifying *v = context;
    bl_progress_bar_tick(&v->bar, &v->progress);
}

/* --- datasets ----------------------------------------------------------------------------------------------------- */

/* Prints "DIR: verified, no errors: 16 shards, 4.0 GiB", or for a task
 * "DIR, task 0 of 3: verified, no errors: 5 of 16 shards, 1.3 GiB, and the files beside them". */
static void verify_print_summary(const struct verifying *v, const char *dir)
{
    char shards[BL_PLURAL_SIZE], count[32], size[32];
    bl_text_size(size, v->progress.bytes);
    if (v->task.set)
        bl_cmd_print("%s, task %" PRId64 " of %" PRId64 ": verified, no errors: %s of %s, %s%s", dir, v->task.index,
                     v->task.count, bl_text_count(count, v->progress.done),
                     bl_text_plural(shards, bl_verify_shards(&v->dataset), "shard"), size,
                     v->task.index ? "" : ", and the files beside them");
    else
        bl_cmd_print("%s: verified, no errors: %s, %s", dir, bl_text_plural(shards, v->progress.done, "shard"), size);
}

/* Verifies one dataset: its files, then its shards in parallel, and at last what only all shards together show: the
 * number of failed steps. A task verifies its range of the shards, and the first task all other files. BL_EFAIL: there
 * is no finished dataset. */
static int verify_dataset(struct bl_cmd *cmd, struct verifying *v, const char *dir)
{
    struct bl_error why = {0}, *e = &cmd->error;
    int64_t faults = v->faults;
    v->failed_steps = 0; /* of this dataset: a view has several */
    int code = bl_verify_open(&v->dataset, dir, &cmd->cancel, verify_on_fault, v, &why);
    if (code == BL_EUSAGE)
        return bl_error_set(e, BL_EFAIL,
                            "%s; if packing was interrupted, run the same bload pack command again, or bload finish if "
                            "all tasks are done",
                            why.text);
    if (code)
        return bl_error_pass(e, code, &why);
    bl_task_range(&v->task, bl_verify_shards(&v->dataset), &v->begin, &v->end);
    code = v->task.index ? bl_verify_prepare_part(&v->dataset, v->begin, v->end, verify_on_fault, v)
                         : bl_verify_files(&v->dataset, verify_on_fault, verify_on_remark, v);
    if (code)
        return v->dataset.failure.code ? bl_error_pass(e, code, &v->dataset.failure) : code;
    struct bl_verify_shards job = {.dataset = &v->dataset,
                                   .begin = v->begin,
                                   .end = v->end,
                                   .workers = bl_cmd_workers(&cmd->common),
                                   .cancel = &cmd->cancel,
                                   .fault = verify_on_shard_fault,
                                   .done = verify_on_shard,
                                   .tick = verify_tick,
                                   .sink = v,
                                   .work = &v->times.verify};
    bl_progress_start(&v->progress, "verify", "shards", NULL, v->end - v->begin);
    for (int64_t shard = v->begin; v->dataset.shards && shard < v->end; shard++)
        v->progress.bytes_total += v->dataset.shards[shard].bytes;
    code = bl_verify_shards_run(&job, e);
    v->times.stage[BL_RUN_VERIFYING] += bl_progress_seconds(&v->progress);
    bl_progress_bar_end(&v->bar);
    if (code)
        return code;
    if (v->faults == faults && v->progress.done == bl_verify_shards(&v->dataset))
        bl_verify_finish(&v->dataset, v->failed_steps, verify_on_fault, v);
    return BL_OK;
}

/* --- views -------------------------------------------------------------------------------------------------------- */

/* Verifies a view: its own files, and each of its datasets. A dataset that cannot be opened is a fault, which the check
 * of the view reports. */
static int verify_view(struct bl_cmd *cmd, struct verifying *v, const struct bl_manifest *m, const char *dir)
{
    char sources[BL_PLURAL_SIZE], shards[BL_PLURAL_SIZE], size[32];
    struct bl_error why = {0};
    if (!v->task.index)
        BL_TRY(bl_verify_view(dir, &cmd->cancel, verify_on_fault, verify_on_remark, v, &cmd->error));
    else if (bl_view_check_sources(m, dir, &why)) { /* the task would verify another dataset, or none */
        if (bl_far_failed())
            return bl_error_pass(&cmd->error, why.code, &why);
        verify_on_fault(v, BL_MANIFEST_FILE, why.text);
    }
    int code = BL_OK;
    for (size_t s = 0; s < m->sources && !code; s++) {
        char *path = bl_path_join(dir, m->source[s].path);
        if (!path)
            return bl_error_memory(&cmd->error);
        v->source = m->source[s].name;
        bool exists = false;
        code = bl_dataset_file_find(path, bl_far_is(path) ? BL_MANIFEST_FILE : ".", &exists, &cmd->error);
        if (exists) /* a missing dataset is a fault that is reported already */
            code = verify_dataset(cmd, v, path);
        v->shards += v->progress.done;
        v->bytes += v->progress.bytes;
        bl_verify_close(&v->dataset);
        free(path);
    }
    v->report.kind = "view";
    v->report.files = v->shards;
    v->report.bytes = v->bytes;
    if (code || v->faults || cmd->common.quiet)
        return code;
    bl_text_size(size, v->bytes);
    bl_cmd_print("%s: verified, no errors: a view of %s, %s, %s", dir,
                 bl_text_plural(sources, (int64_t)m->sources, "dataset"), bl_text_plural(shards, v->shards, "shard"),
                 size);
    return BL_OK;
}

/* --- exports ------------------------------------------------------------------------------------------------------ */

/* The callback for progress. An export counts its files itself. */
static void verify_export_tick(void *context, const struct bl_progress *progress)
{
    struct verifying *v = context;
    bl_progress_bar_tick(&v->bar, progress);
}

/* Verifies an export: the checksums of its files, or with --against every byte. */
static int verify_export(struct bl_cmd *cmd, struct verifying *v, const char *dir)
{
    char files[BL_PLURAL_SIZE], size[32];
    struct bl_export_verify request = {.dir = dir,
                                       .against = v->against,
                                       .workers = bl_cmd_workers(&cmd->common),
                                       .cancel = &cmd->cancel,
                                       .fault = verify_on_fault,
                                       .tick = verify_export_tick,
                                       .sink = v};
    if (v->task.set)
        return bl_error_set(&cmd->error, BL_EUSAGE, "--task is for datasets, and %s is an export", dir);
    bl_progress_start(&v->progress, "verify", "files", NULL, 0);
    int code = bl_export_verify_run(&request, &cmd->error);
    v->times.stage[BL_RUN_VERIFYING] = bl_progress_seconds(&v->progress);
    v->times.verify.wall = v->times.stage[BL_RUN_VERIFYING]; /* the times of the workers are not measured */
    bl_progress_bar_end(&v->bar);
    v->report.kind = "export";
    v->report.files = request.files;
    v->report.bytes = request.bytes;
    if (code || v->faults || cmd->common.quiet)
        return code;
    bl_text_size(size, request.bytes);
    bl_cmd_print("%s: verified, no errors: %s, %s%s%s", dir, bl_text_plural(files, request.files, "file"), size,
                 v->against ? ", equal to " : "", v->against ? v->against : "");
    return BL_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Prints the report as JSON, faults included. */
static int verify_print_json(struct verifying *v, const char *dir, struct bl_error *e)
{
    struct bl_buffer text = {0};
    v->report.dir = dir;
    v->report.against = v->against;
    v->report.task = v->task.index;
    v->report.tasks = v->task.set ? v->task.count : 0;
    if (!v->report.kind) {
        v->report.kind = "dataset";
        v->report.files = v->progress.done;
        v->report.bytes = v->progress.bytes;
    }
    struct json_t *run = NULL;
    int code = bl_run_times_json(&v->times, &run, e);
    if (!code)
        code = bl_verify_report_json(&v->report, run, &text, e);
    return bl_cmd_answer(NULL, &text, false, code, e);
}

/* Finds out what dir holds, verifies it, and prints the result. An unreadable manifest counts as that of a dataset,
 * whose checks report it. */
static int verify_run(struct bl_cmd *cmd, struct verifying *v)
{
    char faults[BL_PLURAL_SIZE];
    struct bl_error *e = &cmd->error, why = {0};
    struct bl_manifest manifest = {0};
    const char *dir;
    bool sound;
    BL_TRY(bl_cmd_remote_directory(&v->remote, cmd, &dir));
    BL_TRY(bl_task_resolve(&v->task, e));
    bl_signals_install(&cmd->cancel);
    v->bar = bl_progress_bar_make(&cmd->common);
    /* `sound` and the code do not matter here: verify_dataset reports a damaged manifest as a fault. */
    bool is_view = bl_manifest_inspect(&manifest, dir, &sound, &why) == BL_OK && bl_manifest_is_view(&manifest);
    bool is_export = false;
    if (why.code == BL_EFAIL && bl_far_failed())
        return bl_error_pass(e, BL_EFAIL, &why);
    int code = bl_fs_find(dir, BL_EXPORT_FILE, &is_export, e);
    if (!code && v->against && !is_export)
        code =
            bl_error_set(e, BL_EUSAGE, "--against is for what bload export wrote, and %s has no " BL_EXPORT_FILE, dir);
    if (!code)
        code = is_export ? verify_export(cmd, v, dir)
               : is_view ? verify_view(cmd, v, &manifest, dir)
                         : verify_dataset(cmd, v, dir);
    bl_manifest_free(&manifest);
    if (!code && !cmd->common.quiet)
        bl_end_report_print_times(&v->times);
    if (!code && v->json)
        code = verify_print_json(v, dir, e);
    bl_run_times_free(&v->times);
    if (code)
        return code;
    bool is_dataset = !is_view && !is_export;
    if (v->faults && !cmd->common.quiet && is_dataset && !bl_far_is(dir))
        bl_cmd_print("the command that packed %s, with --repair, makes damaged shards again", dir);
    if (v->faults)
        return bl_error_set(e, BL_EFAIL, "%s has %s", dir, bl_text_plural(faults, v->faults, "error"));
    if (!cmd->common.quiet && is_dataset)
        verify_print_summary(v, dir);
    if (!cmd->common.quiet)
        bl_cmd_remote_print(&v->remote);
    return BL_OK;
}

/* The command changes nothing: a damaged dataset is made again by bload pack --repair. */
int bl_cmd_verify(int argc, char **argv)
{
    struct verifying v = {.dataset.index.fd = -1};
    struct bl_cmd cmd = {
        .name = "verify",
        .usage = "[options] DIR\n"
                 "\n"
                 "Reads and checks all of a dataset: every checksum, and every table against the plan. Names every\n"
                 "fault; exit status 1 if there is one. With --task, each process verifies a range of the shards;\n"
                 "task 0 also checks the other files. For an export, checks the sizes and checksums of its files.",
        .usual = "against json task jobs",
        .examples = "dataset\n"
                    "mds --against dataset",
        .operands = "directories"};
    const struct bl_option_group groups[] = {{"Output", output_table, &v},
                                             {"Exports", against_table, &v},
                                             {"Tasks", bl_task_option_table, &v.task},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &v.remote},
                                             {"General", bl_common_threads_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = verify_run(&cmd, &v);
    bl_verify_close(&v.dataset);
    bl_verify_report_free(&v.report);
    bl_cmd_remote_close(&v.remote);
    return bl_cmd_end(&cmd, code, false);
}
