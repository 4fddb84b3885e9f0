/* bload finish turns the shards of several tasks into a dataset.
 *
 * Tasks of bload pack --task leave their shards in DIR, and a draft of the manifest, the table and the plan in
 * DIR/.bload. This command loads these three, checks that they belong together, and has the run write the index and the
 * manifest. It may be repeated: a dataset that is complete is checked for lost shards, and nothing else happens. */
#include <inttypes.h>
#include <string.h>

#include "base/fs.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/signals.h"
#include "cmd/summary.h"
#include "run/plan.h"
#include "plan/options.h"
#include "run/options.h"
#include "run/state.h"
#include "store/folders.h"
#include "store/index.h"

/* The state of the command: what the tasks have left, and what the end of the run returns. */
struct finishing {
    const char *name;             /* of the dataset: a directory or a URL */
    const char *dir;              /* the directory, or the scratch */
    struct bl_cmd_output dataset; /* what is open of it */
    struct bl_cmd_remote remote;
    struct bl_state state;       /* DIR/.bload, locked */
    struct bl_manifest manifest; /* the draft, or that of a complete dataset */
    struct bl_sequences table;
    uint64_t table_checksum; /* of the table's file, as the state has it */
    struct bl_plan plan;
    struct bl_plan_options plan_options; /* as the manifest records them */
    struct bl_finished finished;
    struct bl_run_times times;
    bool partial, json; /* partial: some inputs are unusable; json is an option */
    bool nothing_new;   /* the tasks found nothing to pack, so there is no dataset */
};

static const struct bl_option output_table[] = {
    BL_OPTION_FLAG("json", struct finishing, json, BL_AFFECTS_NOTHING,
                   "print the dataset as bload info --json does, once it is complete"),
    {0},
};

/* --- files in DIR/.bload ------------------------------------------------------------------------------------------ */

/* Loads the draft of the manifest, the table, the plan and its options, and compares their checksums. BL_EFAIL: one of
 * them is missing, damaged or of another run. */
static int finish_load(struct finishing *f, struct bl_error *e)
{
    const char *path = f->state.sequences;
    char digest[BL_DIGEST_SIZE];
    struct bl_plan_info plan_info;
    bool found;
    BL_TRY(bl_manifest_draft_read(&f->state, &f->manifest, e));
    BL_TRY(bl_table_checksum_verify(&f->state, &f->table_checksum, e));
    BL_TRY(bl_sequences_open(&f->table, &path, 1, false, e));
    BL_TRY(bl_table_checksum_compare(&f->table, f->table_checksum, e));
    BL_TRY(bl_saved_plan_load(&f->state, &f->plan, &plan_info, f->manifest.format.T, f->table.length, f->table.count,
                              NULL, &found, e));
    if (!found)
        return bl_error_set(e, BL_EFAIL,
                            "%s was begun by bload pack without --task: run that command again to finish it", f->dir);
    BL_TRY(bl_plan_digest(&f->plan, f->table.length, digest, e));
    if (strcmp(digest, f->manifest.format.plan_digest) != 0)
        return bl_error_set(e, BL_EFAIL, "%s/.bload/" BL_STATE_PLAN_FILE " is not the plan that was packed", f->dir);
    /* The options of the plan: sequences.tsv names the option by which a sequence was dropped. */
    BL_TRY(bl_recorded_plan_options(&f->manifest, &f->plan_options, e));
    return bl_table_lengths_resolve(&f->table, &f->plan_options, e);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Returns BL_EFAIL if the finished dataset has lost shards since; the message names the first ones. */
static int finish_check_shards(const struct finishing *f, struct bl_error *e)
{
    struct bl_missing missing;
    struct bl_buffer text = {0};
    const struct bl_format *format = &f->manifest.format;
    int64_t shards = bl_format_shards(format);
    BL_TRY(bl_missing_check_files(f->dir, &f->manifest, e));
    if (f->dataset.mirror)
        return bl_mirror_check_shards(f->dataset.mirror, format, e);
    int code = bl_missing_find(&missing, f->dir, &f->manifest, 0, shards, e);
    if (code || !missing.count)
        goto out;
    bl_missing_describe(&text, f->dir, format, missing.count, shards, missing.first);
    code = bl_buffer_check(&text, e);
    if (!code)
        code = bl_error_set(e, BL_EFAIL, "%s: run the same bload pack command to make them again", text.data);
out:
    bl_missing_free(&missing);
    bl_buffer_free(&text);
    return code;
}

/* Handles a dataset that is already complete: it may have lost shards since, and files of the run may remain. *found:
 * whether it is complete. */
static int finish_find(struct bl_cmd *cmd, struct finishing *f, bool *found)
{
    struct bl_error *e = &cmd->error;
    int code = bl_fs_find(f->dir, BL_MANIFEST_FILE, found, e);
    if (!*found)
        return code;
    BL_TRY(bl_manifest_read(&f->manifest, f->dir, e));
    BL_TRY(bl_sequences_open_dataset(&f->table, f->dir, NULL, e));
    BL_TRY(finish_check_shards(f, e));
    f->partial = !bl_sequences_is_clean(&f->table);
    BL_TRY(bl_state_remove_leftovers(f->dir, e));
    if (f->dataset.mirror)
        BL_TRY(bl_mirror_remove_leftovers(f->dataset.mirror, e));
    if (!cmd->common.quiet) {
        const struct bl_fault_counts faults = bl_fault_counts_of(&f->table);
        bl_summary_complete(f->name, f->partial ? &faults : NULL);
    }
    return BL_OK;
}

/* Removes DIR/.bload if the tasks found nothing to pack, which a file of theirs says, and sets f->nothing_new. */
static int finish_discard(struct finishing *f, struct bl_error *e)
{
    struct bl_buffer path = {0};
    const char *table = f->state.sequences;
    int code = bl_state_path(&f->state, BL_STATE_NOTHING_NEW, &path, e);
    if (!code)
        code = bl_fs_exists(path.data, &f->nothing_new, e);
    if (!code && f->nothing_new)
        code = bl_sequences_open(&f->table, &table, 1, false, e);
    if (!code && f->nothing_new) {
        f->partial = !bl_sequences_is_clean(&f->table);
        bl_sequences_close_files(&f->table);
        code = bl_state_discard(&f->state, e);
        if (!code && f->dataset.mirror)
            code = bl_mirror_remove_state(f->dataset.mirror, e);
    }
    bl_buffer_free(&path);
    return code;
}

/* Writes the dataset and removes DIR/.bload. The state stays open until the manifest is written, since its lock keeps
 * tasks away. */
static int finish_write(struct bl_cmd *cmd, struct finishing *f)
{
    struct bl_error *e = &cmd->error;
    struct bl_finish finish = {.dir = f->dir,
                               .mirror = f->dataset.mirror,
                               .table = &f->table,
                               .plan = &f->plan,
                               .plan_options = &f->plan_options,
                               .manifest = &f->manifest,
                               .cancel = &cmd->cancel};
    BL_TRY(bl_state_adopt(&f->state, f->dir, e));
    BL_TRY(finish_discard(f, e));
    if (f->nothing_new)
        return BL_OK;
    BL_TRY(finish_load(f, e));
    finish.table_checksum = f->table_checksum;
    BL_TRY(bl_finish_sweep(f->dir, e));
    BL_TRY(bl_finish_run(&finish, &f->finished, e));
    if (f->dataset.mirror)
        BL_TRY(bl_mirror_finish(f->dataset.mirror, e));
    f->partial = bl_finished_partial(&f->finished);
    bl_sequences_close_files(&f->table); /* they are in DIR/.bload; the counts stay */
    return bl_state_remove(&f->state, e);
}

/* Completes the dataset unless it is complete, and prints its summary. */
static int finish_run(struct bl_cmd *cmd, struct finishing *f)
{
    bool found;
    BL_TRY(bl_cmd_output_name(cmd, &f->name));
    bl_signals_install(&cmd->cancel);
    BL_TRY(bl_cmd_output_open(&f->dataset, f->name, &f->remote, BL_MIRROR_FINISH, NULL, cmd));
    f->dir = f->dataset.dir;
    int code = finish_find(cmd, f, &found);
    if (code || found)
        return code;
    double begun = bl_seconds_now();
    code = finish_write(cmd, f);
    f->times.stage[BL_RUN_FINISHING] = bl_seconds_now() - begun;
    if (code)
        return code;
    if (f->nothing_new && !cmd->common.quiet)
        bl_cmd_print("nothing new: %s is not written", f->name);
    else if (!cmd->common.quiet) {
        bl_summary_plan(&f->plan, &f->manifest.plan_info);
        bl_summary_dataset(f->name, &f->manifest.format, &f->finished, 0, NULL);
        bl_summary_finished(&f->finished, f->name);
        bl_summary_left_out(&f->table.left_out);
        bl_end_report_print_times(&f->times);
        bl_end_report_print_next("verify", f->name, "");
    }
    return BL_OK;
}

int bl_cmd_finish(int argc, char **argv)
{
    struct finishing f = {.state = BL_STATE_NONE};
    struct bl_cmd cmd = {
        .name = "finish",
        .usage = "[options] DIR\n"
                 "\n"
                 "Completes a dataset from what the tasks of bload pack --task left in DIR/.bload: writes the tables,\n"
                 "the index and, last, the manifest; then removes DIR/.bload.",
        .usual = "json quiet h help",
        .examples = "dataset\n"
                    "-q dataset",
        .operands = "directories"};
    const struct bl_option_group groups[] = {{"Output", output_table, &f},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &f.remote},
                                             {BL_CMD_OUTPUT_TITLE, bl_cmd_output_table, &f.dataset},
                                             {"Faults", bl_common_faults_table, &cmd.common},
                                             {"General", bl_common_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = finish_run(&cmd, &f);
    if (!code && !cmd.common.help && f.json)
        code = bl_cmd_write_info(f.dir, &f.times, &f.finished.totals, &cmd.error);
    bl_state_close(&f.state);
    bl_cmd_output_close(&f.dataset, !code, &cmd);
    bl_plan_free(&f.plan);
    bl_sequences_close(&f.table);
    bl_manifest_free(&f.manifest);
    return bl_cmd_end(&cmd, code, f.partial);
}
