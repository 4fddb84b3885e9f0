/* The parts that all commands share: the common options, help, the error at the end, and the exit status.
 *
 * Each command is a function in a file of its own. It fills a struct bl_cmd with its texts, calls bl_cmd_parse with its
 * tables of options, does its work, and ends by bl_cmd_end:
 *
 *     struct bl_cmd cmd = {.name = "cat", .usage = "[options] DIR|VIEW ID\n\nWrites ...", ...};
 *     int code = bl_cmd_parse(&cmd, groups, argc, argv);
 *     if (!code && !cmd.common.help)
 *         code = cat_run(&cmd, &c);
 *     return bl_cmd_end(&cmd, code, false); */
#include "cmd/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/option_help.h"
#include "base/output.h"
#include "base/text.h"
#include "run/machine.h"
#include "cmd/signals.h"

/* --- common options ----------------------------------------------------------------------------------------------- */

/* Macros, since C has no way to put a table into another one. */
#define COMMON                                                                                                         \
    BL_OPTION_FLAG("quiet", struct bl_common, quiet, BL_AFFECTS_NOTHING,                                               \
                   "no progress and no summary; faults are always reported", .letter = 'q'),                           \
        BL_OPTION_FLAG("h", struct bl_common, usual, BL_AFFECTS_NOTHING, "the usual options, and examples",            \
                       .letter = 'h', .command_line_only = true),                                                      \
        BL_OPTION_FLAG("help", struct bl_common, help, BL_AFFECTS_NOTHING,                                             \
                       "all options; with the name of a section: its options", .command_line_only = true)

/* The values of --progress, in the order of enum bl_progress_form. */
static const char *const progress_names[] = {"auto", "bar", "plain", "json", "off", NULL};

#define PROGRESS                                                                                                       \
    BL_OPTION_CHOICE("progress", struct bl_common, progress, progress_names, BL_AFFECTS_NOTHING,                       \
                     "how progress is shown on standard error; auto: a bar on a terminal, otherwise plain lines at "   \
                     "growing intervals; off with -q",                                                                 \
                     .initial = "auto", .command_line_only = true)

const struct bl_option bl_common_table[] = {COMMON, {0}};

const struct bl_option bl_common_progress_table[] = {PROGRESS, COMMON, {0}};

const struct bl_option bl_common_threads_table[] = {
    BL_OPTION_INT("jobs", struct bl_common, jobs, BL_AFFECTS_NOTHING, "threads [one per processor]", .letter = 'j',
                  .min = 1, .max = 1024),
    PROGRESS,
    COMMON,
    {0},
};

const struct bl_option bl_common_faults_table[] = {
    BL_OPTION_FLAG("skipped-ok", struct bl_common, skipped_ok, BL_AFFECTS_NOTHING,
                   "exit status 0, not 3, if the only faults are unusable inputs; they are still reported",
                   .command_line_only = true),
    {0},
};

int bl_cmd_workers(const struct bl_common *common)
{
    return common->jobs ? (int)common->jobs : bl_machine_processors();
}

/* --- checks of operands ------------------------------------------------------------------------------------------- */

int bl_cmd_check_parent(const char *option, const char *dir, bool parents, struct bl_error *e)
{
    if (access(dir, F_OK) == 0 || errno != ENOENT)
        return BL_OK; /* any other fault is reported when the directory is opened */
    if (bl_path_is_url(dir))
        return bl_error_set(e, BL_EUSAGE, "%s %s is a URL, and this is written to a disk", option, dir);
    char *parent = parents ? NULL : bl_path_parent(dir);
    if (!parent)
        return parents ? BL_OK : bl_error_memory(e);
    int code = BL_OK;
    if (access(parent, F_OK) != 0 && errno == ENOENT)
        code =
            bl_error_set(e, BL_EUSAGE,
                         "%s %s: the directory %s does not exist: is the name right, and is its file system mounted? "
                         "(--parents makes it)",
                         option, dir, parent);
    free(parent);
    return code;
}

int bl_cmd_check_file(const char *path, const char *advice, struct bl_error *e)
{
    struct stat status;
    if (path && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return bl_error_set(e, BL_EUSAGE, "-o %s is a directory: a file is expected%s", path, advice);
    return BL_OK;
}

int bl_cmd_directory(struct bl_cmd *cmd, const char **dir)
{
    if (cmd->options.operands != 1)
        return bl_error_set(&cmd->error, BL_EUSAGE, "expects one dataset directory (see bload %s --help)", cmd->name);
    *dir = cmd->options.operand[0];
    return bl_io_check_path(*dir, &cmd->error);
}

/* --- output ------------------------------------------------------------------------------------------------------- */

void bl_cmd_print(const char *format, ...)
{
    char some[1024], *all = NULL; /* most lines fit, and need no allocation */
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(some, sizeof some, format, arguments);
    va_end(arguments);
    if (size >= (int)sizeof some && (all = malloc((size_t)size + 1))) {
        va_start(arguments, format);
        vsnprintf(all, (size_t)size + 1, format, arguments);
        va_end(arguments);
    }
    char *text = all ? all : some; /* out of memory, print only the beginning */
    bl_utf8_mask(text, strlen(text), "");
    fprintf(stderr, "bload: %s\n", text);
    free(all);
}

void bl_cmd_print_text(struct bl_buffer *text)
{
    if (text->size && !text->failed)
        bl_cmd_print("%s", text->data);
    bl_buffer_free(text);
}

int bl_cmd_write(const char *path, const struct bl_buffer *text, struct bl_error *e)
{
    struct bl_output out = {0};
    int code = bl_buffer_check(text, e); /* a text that lost memory must not be written in part */
    if (!code)
        code = bl_output_open(&out, path, e);
    if (!code)
        code = bl_output_write(&out, text->data, text->size, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out); /* does nothing after a commit */
    return code;
}

int bl_cmd_answer(const char *path, struct bl_buffer *text, bool masked, int code, struct bl_error *e)
{
    /* Lines end as they should; every other hidden character could change what a terminal shows. */
    if (masked && text->data && !text->failed)
        text->size = bl_utf8_mask(text->data, text->size, "\n");
    if (!code)
        code = bl_cmd_write(path, text, e);
    bl_buffer_free(text);
    return code;
}

void bl_cmd_append_line(struct bl_buffer *out, const char *label, const char *text)
{
    bl_buffer_printf(out, "%-12s", label);
    bl_text_append_masked(out, text);
    bl_buffer_byte(out, '\n');
}

/* --- help and completion ------------------------------------------------------------------------------------------ */

/* Appends what -h shows: the ways to call the command, without the paragraph that says what it does, the usual options,
 * and examples. */
static int help_append_usual(struct bl_cmd *cmd, struct bl_buffer *text)
{
    const char *paragraph = strstr(cmd->usage, "\n\n");
    int ways = paragraph ? (int)(paragraph - cmd->usage) : (int)strlen(cmd->usage);
    bl_buffer_printf(text, "usage: bload %s %.*s\n\n", cmd->name, ways, cmd->usage);
    int code = bl_options_help_some(&cmd->options, cmd->usual, text, &cmd->error);
    bl_buffer_text(text, "\nexamples:\n");
    for (const char *line = cmd->examples; *line;) {
        int size = (int)strcspn(line, "\n");
        bl_buffer_printf(text, "  bload %s %.*s\n", cmd->name, size, line);
        line += size + (line[size] == '\n');
    }
    bl_buffer_printf(text, "\nAll options: bload %s --help, man bload-%s\n", cmd->name, cmd->name);
    return code;
}

/* Appends what --help shows: the section that the first operand names ("bload pack --help video"), or all sections, and
 * how to ask for one of them. */
static void help_append_all(const struct bl_cmd *cmd, struct bl_buffer *text)
{
    const struct bl_options *o = &cmd->options;
    if (o->operands && bl_options_help(o, o->operand[0], text))
        return;
    bl_buffer_printf(text, "usage: bload %s %s\n", cmd->name, cmd->usage);
    bl_options_help(o, NULL, text);
    bl_buffer_printf(text, "\nOne section: bload %s --help SECTION, of:\n", cmd->name);
    bl_options_help_sections(o, text);
}

/* Prints the command's part of a completion script, for the shell with this name. */
static int cmd_print_completion(struct bl_cmd *cmd, const char *name)
{
    int shell = 0; /* enum bl_shell */
    struct bl_buffer text = {0};
    while (bl_shell_names[shell] && strcmp(bl_shell_names[shell], name) != 0)
        shell++;
    if (!bl_shell_names[shell])
        return bl_error_set(&cmd->error, BL_EUSAGE, "unknown shell \"%s\" (see bload completion --help)", name);
    bl_options_completion(&cmd->options, (enum bl_shell)shell, cmd->name, cmd->operands ? cmd->operands : "files",
                          &text);
    cmd->common.help = true;
    return bl_cmd_answer(NULL, &text, false, BL_OK, &cmd->error);
}

int bl_cmd_options(struct bl_cmd *cmd, const struct bl_option_group *groups)
{
    int code = BL_OK;
    for (const struct bl_option_group *g = groups; g->options && !code; g++)
        code = bl_options_add(&cmd->options, g->title, g->options, g->values, &cmd->error);
    return code;
}

/* Requests for help and completion are answered here, so that no command knows of them. A parse error does not hide
 * them: common.help may be set by a word before the wrong one. */
int bl_cmd_parse(struct bl_cmd *cmd, const struct bl_option_group *groups, int argc, char **argv)
{
    const size_t size = sizeof BL_COMPLETION_FLAG - 1;
    BL_TRY(bl_cmd_options(cmd, groups));
    if (argc == 2 && strncmp(argv[1], BL_COMPLETION_FLAG, size) == 0)
        return cmd_print_completion(cmd, argv[1] + size);
    int code = bl_options_parse(&cmd->options, argc - 1, argv + 1, &cmd->error);
    if (!cmd->common.help && !cmd->common.usual)
        return code;
    struct bl_buffer text = {0};
    code = BL_OK; /* a user who asks for help in a wrong command line gets help */
    if (cmd->common.help) {
        help_append_all(cmd, &text);
    } else {
        code = help_append_usual(cmd, &text);
    }
    cmd->common.help = true;
    return bl_cmd_answer(NULL, &text, false, code, &cmd->error);
}

/* --- end ---------------------------------------------------------------------------------------------------------- */

/* Returns the exit status of a command that no signal ended. Faults of inputs alone do not make a command fail: its
 * code is 0, and `partial` is true. */
static int cmd_exit_status(const struct bl_cmd *cmd, int code, bool partial)
{
    if (code == BL_EUSAGE)
        return BL_EXIT_USAGE;
    if (code)
        return BL_EXIT_FAILED;
    return partial && !cmd->common.skipped_ok ? BL_EXIT_PARTIAL : BL_EXIT_DONE;
}

void bl_cmd_end_heartbeat(struct bl_cmd *cmd, struct bl_heartbeat *heartbeat, int code, bool partial)
{
    int caught = code ? bl_signals_caught(&cmd->cancel) : 0;
    /* A process that a signal ended has the status 128 + its number in a shell, and the heartbeat shows the same. */
    bl_heartbeat_end(heartbeat, caught ? 128 + caught : cmd_exit_status(cmd, code, partial),
                     code && !caught ? cmd->error.text : NULL);
    char times[BL_PLURAL_SIZE];
    if (heartbeat->missed && !code)
        bl_cmd_print("%s: the heartbeat for bload status could not be written, %s: %s", cmd->name,
                     bl_text_plural(times, heartbeat->missed, "time"), heartbeat->error.text);
}

/* Only bload pack says how to go on after a signal: its same command resumes, while others begin again. */
int bl_cmd_end(struct bl_cmd *cmd, int code, bool partial)
{
    int caught = bl_signals_caught(&cmd->cancel);
    if (code && caught) /* users press Ctrl-C themselves, so SIGINT is not named */
        bl_cmd_print("%s: interrupted%s%s%s", cmd->name, caught == SIGINT ? "" : " by ",
                     caught == SIGINT ? "" : strsignal(caught),
                     strcmp(cmd->name, "pack") == 0 ? "; run the same command to resume" : "");
    else if (code)
        bl_cmd_print("%s: %s", cmd->name, cmd->error.text[0] ? cmd->error.text : "failed");
    bl_options_free(&cmd->options);
    if (code && caught)
        bl_signals_reraise(caught);
    return cmd_exit_status(cmd, code, partial);
}
