/* bload report makes a page (HTML) about a dataset, a view or a table.
 *
 * The page is made by src/report. This file checks what the operand is, so that the message about a wrong one says what
 * to do: an export is described by bload info, an unfinished dataset by bload status. */
#include "report/report.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/input_file.h"
#include "cmd/cmd.h"
#include "cmd/remote.h"
#include "cmd/signals.h"
#include "export/finished.h"

struct reporting {
    const char *output; /* option; NULL: standard output */
    int64_t blocks;     /* option: blocks to draw */
    struct bl_report report;
    struct bl_cmd_remote remote; /* options of URLs */
};

static const struct bl_option table[] = {
    BL_OPTION_STRING("output", struct reporting, output, BL_AFFECTS_NOTHING,
                     "write the page to this file instead of standard output", .letter = 'o', .placeholder = "FILE"),
    BL_OPTION_INT("blocks", struct reporting, blocks, BL_AFFECTS_NOTHING,
                  "draw this many blocks, evenly spread; with 0, no shard is read"),
    {0},
};

/* Returns BL_EFAIL if the directory holds an export, whose files have no lengths, or an unfinished dataset, which has
 * no manifest that describes it. */
static int report_refuse(const char *dir, struct bl_error *e)
{
    bool is_export, is_there = false, is_begun = false;
    BL_TRY(bl_fs_find(dir, BL_EXPORT_FILE, &is_export, e));
    if (is_export)
        return bl_error_set(e, BL_EFAIL, "%s is an export: bload info describes it; name its dataset", dir);
    BL_TRY(bl_cmd_refuse_unfinished_export(dir, e));
    BL_TRY(bl_fs_find(dir, BL_MANIFEST_FILE, &is_there, e));
    if (!is_there)
        BL_TRY(bl_fs_find(dir, ".bload", &is_begun, e));
    if (is_begun)
        return bl_error_set(e, BL_EFAIL, "%s is not finished: bload status %s says how far it is", dir, dir);
    return BL_OK;
}

/* Checks the operand and makes the page. */
static int report_make(struct bl_cmd *cmd, struct reporting *r, struct bl_buffer *page)
{
    struct bl_error *e = &cmd->error, why = {0};
    struct stat s;
    const char *path = cmd->options.operands == 1 ? cmd->options.operand[0] : NULL;
    if (!path)
        return bl_error_set(e, BL_EUSAGE, "expects one dataset, view or table (see bload report --help)");
    if (strcmp(path, "-") == 0)
        return bl_error_set(e, BL_EUSAGE, "the table is read twice, so it cannot be -: name a file");
    BL_TRY(bl_cmd_remote_dataset(&r->remote, cmd, &path));
    BL_TRY(bl_cmd_check_file(r->output, "", e));
    bool is_far = bl_far_is(path); /* then it is a dataset or a view */
    if (!is_far && stat(path, &s))
        return bl_error_errno(e, BL_EFAIL, "cannot look at %s", path);
    bool is_table = !is_far && !S_ISDIR(s.st_mode); /* a table has no blocks, so the page is only about lengths */
    if (is_table && !S_ISREG(s.st_mode))
        return bl_error_set(e, BL_EUSAGE, "the table is read twice, so %s must be a file", path);
    if (!is_table && !is_far)
        BL_TRY(report_refuse(path, e));
    if (bl_report_read(&r->report, path, is_table, &why)) /* a directory without a dataset is not wrong usage */
        return bl_error_pass(e, BL_EFAIL, &why);
    r->report.sheets = r->blocks;
    bl_signals_install(&cmd->cancel);
    return bl_report_format(&r->report, &cmd->cancel, page, e);
}

/* The page is made in memory and written at the end, so that an error leaves no half of a page. */
int bl_cmd_report(int argc, char **argv)
{
    struct reporting r = {.blocks = 2};
    struct bl_buffer page = {0};
    struct bl_cmd cmd = {
        .name = "report",
        .usage = "[options] DIR|TABLE\n"
                 "\n"
                 "Makes a page (HTML, no scripts, nothing loaded) of a dataset, a view or a sequences.tsv: fields,\n"
                 "lengths, efficiency beside the bound and the other strategies, fill of blocks, ranks, sources, what\n"
                 "was left out and why, some blocks as pictures, and how to make the dataset again.",
        .usual = "output blocks h help",
        .examples = "dataset -o report.html\n"
                    "dataset/sequences.tsv -o report.html",
        .operands = "files"};
    const struct bl_option_group groups[] = {{"Output", table, &r},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &r.remote},
                                             {"General", bl_common_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (code || cmd.common.help)
        goto out;
    code = report_make(&cmd, &r, &page);
    if (!code)
        code = bl_cmd_write(r.output, &page, &cmd.error);
    if (!code && r.report.damage.code) /* the page says so too */
        code = bl_error_pass(&cmd.error, BL_EFAIL, &r.report.damage);
out:
    bl_buffer_free(&page);
    bl_report_free(&r.report);
    bl_cmd_remote_close(&r.remote);
    return bl_cmd_end(&cmd, code, false);
}
