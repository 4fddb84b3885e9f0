/* bload report: a page about a dataset, a view or a table. */
#include "report/report.h"

#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/signals.h"
#include "export/finished.h"

struct reporting {
    const char *output;
    int64_t blocks;
    struct bl_report report;
};

static const struct bl_option table[] = {
    BL_OPTION_STRING("output", struct reporting, output, BL_AFFECTS_NOTHING,
                     "write the page to this file instead of standard output", .letter = 'o', .placeholder = "FILE"),
    BL_OPTION_INT("blocks", struct reporting, blocks, BL_AFFECTS_NOTHING,
                  "draw so many blocks, evenly spread; 0: none, and no shard is read"),
    {0},
};

/* An export has no lengths. */
static int report_refuse_export(const char *dir, struct bl_error *e)
{
    bool found;
    int code = bl_fs_find(dir, BL_EXPORT_FILE, &found, e);
    if (!code && found)
        return bl_error_set(e, BL_EFAIL, "%s is an export: bload info describes it; name its dataset", dir);
    return code ? code : bl_cmd_refuse_unfinished_export(dir, e);
}

/* A dataset in the making has no manifest that says what is in it. */
static int report_refuse_unfinished(const char *dir, struct bl_error *e)
{
    bool is_there = false, is_begun = false;
    int code = bl_fs_find(dir, BL_MANIFEST_FILE, &is_there, e);
    if (!code && !is_there)
        code = bl_fs_find(dir, ".bload", &is_begun, e);
    if (code || is_there || !is_begun)
        return code;
    return bl_error_set(e, BL_EFAIL, "%s is not finished: bload status %s says how far it is", dir, dir);
}

static int report_make(struct bl_cmd *cmd, struct reporting *r, struct bl_buffer *page)
{
    struct bl_error *e = &cmd->error, why = {0};
    struct stat s;
    const char *path = cmd->options.operands == 1 ? cmd->options.operand[0] : NULL;
    if (!path)
        return bl_error_set(e, BL_EUSAGE, "expects one dataset, view or table (see bload report --help)");
    if (strcmp(path, "-") == 0)
        return bl_error_set(e, BL_EUSAGE, "the table is read twice, so it cannot be -: name a file");
    int code = bl_io_check_path(path, e);
    if (!code)
        code = bl_cmd_check_file(r->output, "", e);
    if (code)
        return code;
    if (stat(path, &s))
        return bl_error_errno(e, BL_EFAIL, "cannot look at %s", path);
    bool is_table = !S_ISDIR(s.st_mode);
    if (is_table && !S_ISREG(s.st_mode))
        return bl_error_set(e, BL_EUSAGE, "the table is read twice, so %s must be a file", path);
    code = is_table ? BL_OK : report_refuse_export(path, e);
    if (!code && !is_table)
        code = report_refuse_unfinished(path, e);
    if (code)
        return code;
    code = bl_report_read(&r->report, path, is_table, &why);
    if (code) /* a directory without a dataset is no usage error */
        return bl_error_pass(e, BL_EFAIL, &why);
    r->report.sheets = r->blocks;
    bl_signals_install(&cmd->cancel);
    return bl_report_format(&r->report, &cmd->cancel, page, e);
}

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
                 "was left out and why, some blocks as pictures, and how to make it again.",
        .usual = "output blocks h help",
        .examples = "dataset -o report.html\n"
                    "dataset/sequences.tsv -o report.html",
        .operands = "files"};
    const struct bl_option_group groups[] = {{"Output", table, &r}, {"General", bl_common_table, &cmd.common}, {0}};
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
    return bl_cmd_end(&cmd, code, false);
}
