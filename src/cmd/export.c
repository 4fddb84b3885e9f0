/* bload export writes the blocks of a dataset or view in another format, and this file describes existing exports.
 *
 * The command only fills a request (export/export.h) and prints the result. Three other commands (info, report,
 * status) get a directory that may hold an export, and ask this file for its description: an export has a file
 * export.json, packed Parquet has bload.json and metadata.json, and an unfinished one has only DIR/.bload. */
#include <inttypes.h>
#include <stddef.h>

#include "base/fs.h"
#include "base/text.h"
#include "bload.h"
#include "cmd/cmd.h"
#include "cmd/progress_bar.h"
#include "export/finished.h"
#include "export/export.h"
#include "cmd/remote.h"
#include "cmd/signals.h"
#include "run/state.h"

/* --- export info -------------------------------------------------------------------------------------------------- */

/* Appends the description for people: lines with a label, and a text from column 13 on. */
static void export_info_format(const struct bl_export_info *info, struct bl_buffer *out)
{
    const struct bl_export_description *d = &info->description;
    const struct bl_export_configuration *c = &info->configuration;
    char blocks[32], files[BL_PLURAL_SIZE], size[32];
    bl_buffer_printf(out, "export      %s, read by %s\ndataset     ", c->format->name, c->format->reader);
    bl_text_append_masked(out, d->dataset);
    bl_buffer_printf(out, ", its manifest's checksum is %s\n", c->source);
    if (*c->field)
        bl_cmd_append_line(out, "field", c->field);
    bl_buffer_printf(out, "blocks      %s%s in %s\n", bl_text_count(blocks, d->blocks),
                     c->ids ? " with the ids of their sequences" : "", bl_text_plural(files, d->parts, "file"));
    bl_buffer_printf(out, "size        %s, ", bl_text_size(size, d->bytes));
    if (c->compress.on)
        bl_buffer_printf(out, "zstd level %d: %s\n", c->compress.level, bl_text_size(size, d->file_bytes));
    else
        bl_buffer_text(out, "not compressed\n");
    bl_buffer_text(out, "made by     bload ");
    bl_text_append_masked(out, d->tool);
    bl_buffer_byte(out, '\n');
}

/* Describes packed Parquet; appends nothing and sets *found to false if dir holds none. */
static int packed_info(const char *dir, bool json, bool *found, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_packed_parquet packed;
    char a[BL_PLURAL_SIZE], b[32];
    int code = bl_packed_parquet_read(&packed, dir, found, e);
    if (!code && *found && json) {
        code = bl_packed_parquet_json(&packed, out, e);
    } else if (!code && *found) {
        bl_buffer_text(out, "export      packed Parquet, read by " BL_PACKED_PARQUET_READER
                            "\ndataset     its manifest's checksum is ");
        bl_text_append_masked(out, packed.dataset);
        bl_buffer_byte(out, '\n');
        bl_cmd_append_line(out, "field", packed.field);
        bl_buffer_printf(out, "blocks      T = %s, in %s of ", bl_text_count(b, packed.T),
                         bl_text_plural(a, packed.files, "file"));
        bl_buffer_printf(out, "%s\n", bl_text_size(b, packed.bytes));
    }
    bl_packed_parquet_free(&packed);
    return code == BL_EDATA ? BL_EFAIL : code; /* as in bl_cmd_export_info */
}

/* Damage is an error here, not the fault of an input: the export is the only subject, so BL_EDATA becomes BL_EFAIL. */
int bl_cmd_export_info(const char *dir, bool json, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_export_info info;
    bool found; /* export.json is there, or dir holds packed Parquet */
    int code = bl_fs_find(dir, BL_EXPORT_FILE, &found, e);
    if (!code && !found)
        code = packed_info(dir, json, &found, out, e);
    if (code || out->size)
        return code; /* packed_info has described packed Parquet */
    if (!found)
        return bl_cmd_refuse_unfinished_export(dir, e);
    code = bl_export_info_read(&info, dir, e);
    if (!code && json)
        code = bl_export_info_json(&info, out, e);
    else if (!code)
        export_info_format(&info, out);
    bl_export_info_free(&info);
    return code == BL_EDATA ? BL_EFAIL : code;
}

/* The configuration in DIR/.bload has a line "to: FORMAT" only if an export is being written. */
int bl_cmd_refuse_unfinished_export(const char *dir, struct bl_error *e)
{
    struct bl_buffer to = {0};
    int code = bl_state_recorded(dir, "to", &to, e);
    if (!code && to.size)
        code = bl_error_set(
            e, BL_EFAIL, "%s is an unfinished export to %s: run the same bload export command to resume", dir, to.data);
    bl_buffer_free(&to);
    return code;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* The state of the command. */
struct exporting {
    struct bl_export_request request; /* options fill most of its members */
    int to;                           /* index of bl_export_formats */
    bool json;
    struct bl_progress_bar bar;
    struct bl_cmd_remote remote; /* options of URLs */
};

/* The options of an export. Which of them a format supports, src/export checks. */
static const struct bl_option table[] = {
    BL_OPTION_CHOICE("to", struct exporting, to, bl_export_format_names, BL_AFFECTS_NOTHING,
                     "the format; required: mds is that of MosaicML Streaming, energon that of Megatron-Energon, "
                     "megatron its .bin and .idx of tokens"),
    BL_OPTION_STRING("output", struct exporting, request.output, BL_AFFECTS_NOTHING, "the directory to write; required",
                     .letter = 'o', .placeholder = "DIR2"),
    BL_OPTION_BYTES("shard-size", struct exporting, request.shard_size, BL_AFFECTS_NOTHING,
                    "bytes per file before compression; at least one block goes into each [mds: 64M, webdataset and "
                    "energon: 256M, megatron: all in one]",
                    .min = 1),
    BL_OPTION_CUSTOM("compress", &bl_option_compress, struct bl_compress, struct exporting, request.compress,
                     BL_AFFECTS_NOTHING, "compress each file of mds", .initial = "none"),
    BL_OPTION_STRING("field", struct exporting, request.field, BL_AFFECTS_NOTHING,
                     "for megatron: the field with the tokens [the only one with an integer a step]",
                     .placeholder = "NAME"),
    BL_OPTION_FLAG("ids", struct exporting, request.ids, BL_AFFECTS_NOTHING,
                   "for mds, webdataset and energon: also write the ids of the sequences in each block, as JSON"),
    BL_OPTION_FLAG("json", struct exporting, json, BL_AFFECTS_NOTHING,
                   "print the export as bload info --json does, once it is complete"),
    {0},
};

/* The callback of a request: shows progress from time to time, on the thread that called bl_export_run. */
static void export_show_progress(void *sink, const struct bl_progress *progress)
{
    bl_progress_bar_tick(sink, progress);
}

/* Prints the line at the end. A task prints how many files other tasks have still to write. */
static void export_print_summary(const struct exporting *x, const struct bl_export_made *made)
{
    char blocks[BL_PLURAL_SIZE], files[BL_PLURAL_SIZE], size[32];
    if (made->existed) {
        bl_cmd_print("%s is already complete: nothing to do", x->request.output);
        return;
    }
    bl_text_plural(blocks, made->blocks, "block");
    bl_text_plural(files, made->parts, "file");
    bl_text_size(size, made->bytes);
    if (!x->request.task.set)
        bl_cmd_print("%s: %s in %s, %s", x->request.output, blocks, files, size);
    else if (made->missing)
        bl_cmd_print("%s, task %" PRId64 " of %" PRId64 ": done; %" PRId64 " of %s %s missing yet", x->request.output,
                     x->request.task.index, x->request.task.count, made->missing, files,
                     made->missing == 1 ? "is" : "are");
    else
        bl_cmd_print("%s, task %" PRId64 " of %" PRId64 ": done; no file is missing: run the command without --task to "
                     "finish the export",
                     x->request.output, x->request.task.index, x->request.task.count);
}

/* Prints the description of the export as JSON. A task has no complete export to describe. */
static int export_print_json(const struct exporting *x, struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = bl_cmd_export_info(x->request.output, true, &text, e);
    return bl_cmd_answer(NULL, &text, false, code, e);
}

/* Checks the options, exports, and prints the summary. Nothing is written before all checks have passed. */
static int export_run(struct bl_cmd *cmd, struct exporting *x)
{
    struct bl_export_request *request = &x->request;
    struct bl_export_made made;
    struct bl_error *e = &cmd->error;
    BL_TRY(bl_cmd_remote_directory(&x->remote, cmd, &request->dir));
    if (bl_options_origin(&cmd->options, "to") == BL_ORIGIN_DEFAULT)
        return bl_error_set(e, BL_EUSAGE, "--to must be given: mds, webdataset, energon or megatron");
    if (!request->output)
        return bl_error_set(e, BL_EUSAGE, "-o must be given: the directory of the export");
    BL_TRY(bl_task_resolve(&request->task, e));
    BL_TRY(bl_cmd_check_parent("-o", request->output, false, e));
    request->tool = BLOAD_VERSION;
    request->format = bl_export_formats[x->to];
    request->workers = bl_cmd_workers(&cmd->common);
    request->cancel = &cmd->cancel;
    request->tick = export_show_progress;
    request->sink = &x->bar;
    x->bar = bl_progress_bar_make(&cmd->common);
    bl_signals_install(&cmd->cancel);
    int code = bl_export_run(request, &made, e); /* sets `made` also after an error */
    bl_progress_bar_end(&x->bar);
    if (!code && !cmd->common.quiet)
        export_print_summary(x, &made);
    if (!code && !cmd->common.quiet && made.left_out.size)
        bl_cmd_print("files of %s hold tokens only, so these fields are left out: %s", request->format->name,
                     made.left_out.data);
    bl_buffer_free(&made.left_out);
    if (!code && !cmd->common.quiet)
        bl_cmd_remote_print(&x->remote);
    return code || !x->json || request->task.set ? code : export_print_json(x, e);
}

/* The last run of several tasks has no --task: it writes what is missing, and finishes the export. */
int bl_cmd_export(int argc, char **argv)
{
    struct exporting x = {0};
    struct bl_cmd cmd = {.name = "export",
                         .usage = "--to FORMAT [options] DIR -o DIR2\n"
                                  "\n"
                                  "Writes the blocks of a finished dataset, or of a view, in a format that other\n"
                                  "loaders read. After an interruption, the same command resumes.",
                         .usual = "to output shard-size task jobs",
                         .examples = "dataset --to webdataset -o tars\n"
                                     "dataset --to mds --compress zstd -o mds",
                         .operands = "directories"};
    const struct bl_option_group groups[] = {{"Export", table, &x},
                                             {"Tasks", bl_task_option_table, &x.request.task},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &x.remote},
                                             {"General", bl_common_threads_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = export_run(&cmd, &x);
    bl_cmd_remote_close(&x.remote);
    return bl_cmd_end(&cmd, code, false);
}
