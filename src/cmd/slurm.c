/* bload slurm turns a YAML file into the Slurm jobs that make a dataset: scan, plan, pack, finish, verify.
 *
 * The command reads the files of an earlier chain and asks squeue, decides which tasks are still missing
 * (slurm_state.c), writes scripts that submit just those (slurm_scripts.c), and runs them with --submit. So the same
 * command is right at any time: before the first job, after a failed one, while jobs are running.
 *
 * DIR.slurm has the scripts, the logs, and these files:
 *
 *     configuration       what the chain was written for, as lines
 *     jobs                a line for each submitted job: pack 1234 1000 (stage, job, offset of its tasks)
 *     submitted           submit.sh has run
 *     verified-00003-of-00016   task 3 has verified its shards
 *     lock                held while this command works */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/process.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/compare.h"
#include "cmd/slurm.h"
#include "cmd/summary.h"
#include "plan/options.h"
#include "run/state_files.h"
#include "store/manifest.h"

#define ARRAY_SIZE 1001 /* Slurm's default of MaxArraySize */

/* The contents of the YAML file: the inputs and the options of packing. */
struct content {
    struct bl_pack_options options;
    struct bl_plan_options plan_options;
    struct bl_subset_options subset;
    struct bl_inputs inputs;
};

/* The options of this command. None of them may stand in the YAML file, which describes a dataset and not a cluster. */
static const struct bl_option table[] = {
    BL_OPTION_STRING("config", struct bl_slurm, config, BL_AFFECTS_NOTHING,
                     "what to pack, and how: the YAML file of bload pack; required", .letter = 'c',
                     .placeholder = "FILE.yaml", .command_line_only = true),
    BL_OPTION_STRING("output", struct bl_slurm, output, BL_AFFECTS_NOTHING,
                     "the dataset's directory, which all nodes see; scripts go to DIR.slurm; required", .letter = 'o',
                     .placeholder = "DIR", .command_line_only = true),
    BL_OPTION_INT("tasks", struct bl_slurm, tasks, BL_AFFECTS_NOTHING,
                  "number of tasks of scan, pack and verify; required", .min = 1, .max = BL_TASKS_MAX,
                  .command_line_only = true),
    BL_OPTION_FLAG("parents", struct bl_slurm, parents, BL_AFFECTS_NOTHING,
                   "also make missing directories above it; without it they are an error", .command_line_only = true),
    BL_OPTION_FLAG("submit", struct bl_slurm, submit, BL_AFFECTS_NOTHING, "also submit what is missing",
                   .command_line_only = true),
    BL_OPTION_INT("at-once", struct bl_slurm, at_once, BL_AFFECTS_NOTHING,
                  "run at most this many tasks of an array at the same time [all]", .min = 1, .max = BL_TASKS_MAX,
                  .command_line_only = true),
    BL_OPTION_INT("array-size", struct bl_slurm, array_size, BL_AFFECTS_NOTHING,
                  "put at most this many tasks into one job array [the limit that scontrol shows, or 1001]", .min = 1,
                  .max = BL_TASKS_MAX, .command_line_only = true),
    {0},
};

/* --- options ------------------------------------------------------------------------------------------------------ */

/* Returns whether a word is an option of sbatch that would break the chain: --array, also as --arr=1, or -a. */
static bool sbatch_is_reserved(const char *word)
{
    static const char *const names[] = {"array", "dependency", "kill-on-invalid-dep", "parsable", "wrap",
                                        "wait",  "clusters",   "test-only",           "help",     "version",
                                        "usage"};
    static const char letters[] = "adhMVW"; /* the same options by one letter */
    size_t size = strcspn(word, "=");       /* sbatch accepts any prefix of a name, of at least two letters here */
    if (word[0] == '-' && word[1] != '-')
        return word[1] && strchr(letters, word[1]);
    for (size_t i = 0; size > 3 && i < sizeof names / sizeof *names; i++) {
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, names[i], size - 2) == 0)
            return true;
    }
    return false;
}

/* Takes the operands as options of sbatch, and checks them. In a script, each option is one word of a line. */
static int slurm_resolve_sbatch(struct bl_cmd *cmd, struct bl_slurm *s)
{
    s->sbatch = cmd->options.operand;
    s->words = cmd->options.operands;
    cmd->options.operands = 0; /* so that nothing below takes them for sources */
    if (s->words && s->sbatch[0][0] != '-')
        return bl_error_set(&cmd->error, BL_EUSAGE,
                            "%s: sources are named in the YAML file, and sbatch's options come after --", s->sbatch[0]);
    for (int w = 0; w < s->words; w++) {
        const char *word = s->sbatch[w];
        if (!*word || word[strcspn(word, "\n\r")])
            return bl_error_set(&cmd->error, BL_EUSAGE, "sbatch's option \"%s\" cannot be written in a script", word);
        if (sbatch_is_reserved(word))
            return bl_error_set(&cmd->error, BL_EUSAGE, "%s is set by bload slurm itself: leave it out", word);
    }
    return BL_OK;
}

/* Returns the absolute path of `path`, which is relative to directory, with the suffix; without "./" in front and "/"
 * at the end. NULL: out of memory. The caller frees it. */
static char *path_make_absolute(const char *directory, const char *path, const char *suffix)
{
    struct bl_buffer text = {0};
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    while (size > 2 && path[0] == '.' && path[1] == '/') {
        path += 2;
        size -= 2;
    }
    if (*path != '/')
        bl_buffer_printf(&text, "%s/", strcmp(directory, "/") == 0 ? "" : directory);
    bl_buffer_printf(&text, "%.*s%s", (int)size, path, suffix);
    if (text.failed)
        bl_buffer_free(&text);
    return text.data;
}

/* Sets the paths that the scripts contain. All are absolute, since jobs start in other directories. */
static int slurm_resolve_paths(struct bl_slurm *s, struct bl_error *e)
{
    char program[4096];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size > 0 ? size : 0] = '\0';
    s->directory = get_current_dir_name(); /* keeps symbolic links as the user knows them */
    if (size < 0 || !s->directory)
        return bl_error_errno(e, BL_EFAIL, "cannot find the path of %s", size < 0 ? "this program" : "this directory");
    if (access(program, X_OK) != 0)
        return bl_error_errno(e, BL_EFAIL, "jobs cannot run %s", program);
    s->program = strdup(program); /* the same version as this one, wherever PATH leads in a job */
    s->dir = path_make_absolute(s->directory, s->output, "");
    s->state = path_make_absolute(s->directory, s->output, "/" BL_WORK_FOLDER);
    s->folder = path_make_absolute(s->directory, s->output, ".slurm");
    if (!s->program || !s->dir || !s->state || !s->folder)
        return bl_error_memory(e);
    for (const char *at = s->folder; *at; at++) {
        if (*at == '\\' || (unsigned char)*at < ' ')
            return bl_error_set(e, BL_EUSAGE,
                                "%s: Slurm cannot write logs where a name holds a backslash or control character",
                                s->folder);
    }
    return BL_OK;
}

/* Reads the YAML file, and checks that jobs can do what it says. */
static int slurm_resolve_file(struct bl_cmd *cmd, struct bl_slurm *s, struct content *p)
{
    struct bl_error *e = &cmd->error;
    p->inputs.config_path = s->config;
    BL_TRY(bl_inputs_resolve(&p->inputs, cmd->options.operand, cmd->options.operands, cmd));
    s->owns_memory = bl_options_origin(&cmd->options, "memory") != BL_ORIGIN_DEFAULT;
    if (!p->inputs.set.sources)
        return bl_error_set(e, BL_EUSAGE, "%s names no sources", s->config);
    for (int i = 0; i < p->inputs.set.sources; i++) {
        if (strcmp(p->inputs.set.source[i].path, "-") == 0)
            return bl_error_set(e, BL_EUSAGE, "%s: a job has no standard input to pack", s->config);
    }
    /* The first stages of the chain make the table and the plan. */
    if (p->options.sequences || p->options.plan)
        return bl_error_set(
            e, BL_EUSAGE,
            "%s: bload slurm scans and plans by itself; to pack an existing table or plan, use bload pack --task",
            s->config);
    BL_TRY(bl_pack_resolve_store(cmd, &p->options, &p->plan_options));
    p->subset.extend_base = bl_inputs_base(&p->inputs, &cmd->options, "extend");
    p->subset.together = p->plan_options.together_column;
    BL_TRY(bl_subset_check(&p->subset, e));
    BL_TRY(bl_pack_check_options(cmd, &p->options));
    return p->plan_options.T == BL_T_AUTO ? BL_OK : bl_length_source_require_T(cmd);
}

/* --- cluster ------------------------------------------------------------------------------------------------------ */

/* Returns the number after a name, as in "MaxArraySize = 1001", or `otherwise` if there is none. text may be NULL. */
static int64_t scontrol_number(const char *text, const char *name, int64_t otherwise)
{
    const char *at = text ? strstr(text, name) : NULL;
    if (!at)
        return otherwise;
    at += strlen(name);
    at += strspn(at, " =");
    int64_t number;
    return bl_text_to_int(at, strspn(at, "0123456789"), 0, BL_TASKS_MAX, &number) ? number : otherwise;
}

/* Sets the number of tasks that one array may have, unless --array-size gives it. The largest index is MaxArraySize -
 * 1, and the first is 0. Clusters may limit the tasks further, by max_array_tasks in SchedulerParameters. */
static int slurm_resolve_array_size(struct bl_slurm *s, struct bl_error *e)
{
    if (s->array_size)
        return BL_OK;
    const char *argv[] = {"scontrol", "show", "config", NULL};
    struct bl_buffer output = {0};
    int status = 1, code = BL_OK;
    if (bl_process_found(argv[0]))
        code = bl_process_run(argv, &output, &status, e);
    const char *text = status == 0 ? output.data : NULL;
    s->array_size = scontrol_number(text, "MaxArraySize", ARRAY_SIZE);
    int64_t most = scontrol_number(text, "max_array_tasks", s->array_size);
    s->array_size = most < s->array_size ? most : s->array_size;
    if (!code && !s->array_size)
        code = bl_error_set(e, BL_EFAIL, "this cluster takes no job arrays (MaxArraySize is 0)");
    bl_buffer_free(&output);
    return code;
}

/* Takes the lock of DIR.slurm, and makes the folder of logs. The lock prevents two concurrent runs of this command,
 * which would submit every job twice. s->lock holds it until the command ends. */
static int slurm_take_lock(struct bl_slurm *s, struct bl_error *e)
{
    char *logs = bl_path_join(s->folder, "logs"), *lock = bl_path_join(s->folder, "lock");
    int code = logs && lock ? bl_fs_mkdirs(logs, e) : bl_error_memory(e);
    if (!code && (s->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666)) < 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot open %s", lock);
    /* A file system without locks cannot exclude others, which is no error. */
    if (!code && flock(s->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        code = bl_error_set(e, BL_EFAIL, "another bload slurm is running in %s", s->folder);
    free(logs);
    free(lock);
    return code;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Numbers of tasks of a stage. */
struct counts {
    int64_t done, running, queued, held; /* held tasks are counted as queued, too */
    int64_t submit;                      /* tasks that submit.sh will submit */
};

/* Counts the tasks of a stage by their states. */
static struct counts stage_count(const struct bl_slurm_stage *stage)
{
    struct counts c = {0};
    for (int64_t i = 0; i < stage->tasks; i++) {
        const struct bl_slurm_task *task = &stage->task[i];
        c.done += task->done;
        c.running += task->running && !task->done;
        c.queued += task->queued && !task->running && !task->done;
        c.held += task->held && !task->running && !task->done;
        c.submit += task->submit;
    }
    return c;
}

/* Appends " 3 done", after a comma if it is not the first count; nothing for count 0. */
static void slurm_append_count(struct bl_buffer *out, int64_t count, const char *words)
{
    char a[32];
    if (count)
        bl_buffer_printf(out, "%s %s %s", out->size ? "," : "", bl_text_count(a, count), words);
}

/* Prints the line of a stage: "pack       16 tasks: 3 done, 2 running, 11 to submit". */
static void stage_print(const char *name, const struct bl_slurm_stage *stage)
{
    char a[32];
    struct bl_buffer text = {0};
    struct counts c = stage_count(stage);
    slurm_append_count(&text, c.done, "done");
    slurm_append_count(&text, c.running, "running");
    slurm_append_count(&text, c.queued, "in the queue");
    slurm_append_count(&text, c.held, "of them held (scontrol release)");
    slurm_append_count(&text, c.submit, "to submit");
    if (!text.failed)
        bl_cmd_print("%-6s %6s task%s%s", name, bl_text_count(a, stage->tasks),
                     stage->tasks == 1 ? ": " : "s:", text.data);
    bl_buffer_free(&text);
}

/* Reports the faults of inputs of a complete dataset. Its jobs have succeeded, since such faults end no job. */
static void slurm_print_faults(const struct bl_slurm *s)
{
    struct bl_manifest m = {0};
    struct bl_error none = {0};
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/sequences.tsv", s->output);
    if (bl_manifest_read(&m, s->dir, &none) == BL_OK && !path.failed)
        bl_summary_faults(&(struct bl_fault_counts){.skipped = m.skipped, .failed = m.failed}, path.data);
    bl_manifest_free(&m);
    bl_buffer_free(&path);
}

/* --- submission --------------------------------------------------------------------------------------------------- */

/* Runs submit.sh. BL_EFAIL: there is no sbatch, or it refused a job. */
static int slurm_submit(const struct bl_slurm *s, struct bl_error *e)
{
    char *path = bl_path_join(s->folder, "submit.sh");
    const char *argv[] = {"/bin/sh", path, NULL}; /* its output goes to the user */
    int status = 0, code = path ? BL_OK : bl_error_memory(e);
    if (!code && !bl_process_found("sbatch"))
        code = bl_error_set(e, BL_EFAIL, "there is no sbatch here: on a machine that submits jobs, run sh %s", path);
    if (!code)
        code = bl_process_run(argv, NULL, &status, e);
    if (!code && status)
        code = bl_error_set(e, BL_EFAIL,
                            "%s ended with status %d: what it has submitted goes on, and the same command submits the "
                            "rest",
                            path, status);
    free(path);
    return code;
}

/* Prints the stages, writes the scripts for the tasks that are missing, and submits them with --submit. */
static int slurm_submit_missing(struct bl_cmd *cmd, const struct bl_slurm *s)
{
    char a[BL_PLURAL_SIZE];
    struct counts all = {0};
    for (int k = 0; k < BL_SLURM_STAGES; k++) {
        struct counts c = stage_count(&s->stage[k]);
        all.submit += c.submit;
        all.queued += c.queued + c.running;
        if (!cmd->common.quiet)
            stage_print(bl_slurm_stage_names[k], &s->stage[k]);
    }
    int code = BL_OK;
    if (all.submit) {
        /* The mark of an earlier submission goes together with its script: the new jobs are not submitted yet. */
        char *mark = bl_path_join(s->folder, "submitted");
        code = mark ? bl_slurm_write(s, &cmd->error) : bl_error_memory(&cmd->error);
        if (!code)
            code = bl_fs_remove(mark, &cmd->error);
        free(mark);
    }
    if (!code && all.submit && s->submit)
        code = slurm_submit(s, &cmd->error);
    if (code || cmd->common.quiet)
        return code;
    /* The last line says what the user does next. */
    if (!all.submit && !all.queued) {
        bl_cmd_print("%s is complete and verified: nothing to submit", s->output);
        slurm_print_faults(s);
    } else if (!all.submit) {
        bl_cmd_print("nothing to submit: %s (bload status %s)",
                     bl_text_plural(a, all.queued, "task is under way|tasks are under way"), s->output);
    } else if (!s->submit) {
        bl_cmd_print("sh %s/submit.sh submits them, or this command with --submit", s->folder);
    } else {
        bl_cmd_print("bload status %s shows the progress; logs are in %s/logs", s->output, s->folder);
    }
    return BL_OK;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* The steps in order: options, identity, lock, state, comparison with an earlier chain, and submission. The state is
 * read under the lock, so that no other command submits in between. */
static int slurm_run(struct bl_cmd *cmd, struct bl_slurm *s, struct content *p)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer lines = {0};
    bool blind = false;
    const struct bl_packing_request request = {.inputs = &p->inputs.set,
                                               .options = &p->options,
                                               .plan_options = &p->plan_options,
                                               .subset = &p->subset,
                                               .given = &cmd->options,
                                               .cancel = &cmd->cancel};
    BL_TRY(slurm_resolve_sbatch(cmd, s));
    if (!s->config)
        return bl_error_set(e, BL_EUSAGE, "-c FILE.yaml must be given: what to pack, and how");
    if (!s->output)
        return bl_error_set(e, BL_EUSAGE, "-o DIR must be given: the dataset's directory");
    if (!s->tasks)
        return bl_error_set(e, BL_EUSAGE, "--tasks N must be given: into how many tasks the work is divided");
    BL_TRY(slurm_resolve_paths(s, e));
    BL_TRY(slurm_resolve_file(cmd, s, p));
    BL_TRY(bl_cmd_check_parent("-o", s->dir, s->parents || p->options.parents, e));
    int code = bl_slurm_identify(cmd, s, &p->inputs, &request, &lines);
    if (!code)
        code = slurm_take_lock(s, e);
    if (!code)
        code = bl_slurm_inspect(s, &blind, e);
    if (!code && blind)
        bl_cmd_print("there is no squeue here: earlier jobs are assumed to be over");
    if (!code)
        code = bl_slurm_agree(s, lines.data, e);
    if (!code)
        code = slurm_resolve_array_size(s, e);
    if (!code)
        code = slurm_submit_missing(cmd, s);
    bl_buffer_free(&lines);
    return code;
}

/* The YAML file is that of bload pack, and all options of pack are accepted in it, without being flags here. */
int bl_cmd_slurm(int argc, char **argv)
{
    struct bl_slurm s = {.lock = -1};
    struct content p = {0};
    struct bl_cmd cmd = {
        .name = "slurm",
        .usage = "-c FILE.yaml -o DIR --tasks N [options] [-- SBATCH-OPTION...]\n"
                 "\n"
                 "Writes the jobs of a dataset into DIR.slurm: an array of tasks that scan, a job that plans, an\n"
                 "array that packs, a job that finishes, and an array that verifies. The same command again submits\n"
                 "only what is missing.",
        .usual = "config output tasks submit at-once",
        .examples = "-c dataset.yaml -o dataset --tasks 16\n"
                    "-c dataset.yaml -o dataset --tasks 16 --submit -- --time=2:00:00",
        .operands = "nothing"};
    /* The YAML file may contain all options of pack, none of which is a flag here. */
    const struct bl_option_group output[] = {{NULL, bl_pack_option_table, &p.options}, {0}};
    const struct bl_option_group others[] = {
        {NULL, bl_subset_option_table, &p.subset},       {NULL, bl_plan_option_table, &p.plan_options},
        {NULL, bl_plan_strategy_table, &p.plan_options}, {"Jobs", table, &s},
        {"General", bl_common_table, &cmd.common},       {0},
    };
    int code = bl_cmd_options(&cmd, output);
    if (!code)
        code = bl_inputs_add_options(&p.inputs, &cmd, true);
    if (!code)
        code = bl_cmd_parse(&cmd, others, argc, argv);
    if (!code && !cmd.common.help)
        code = slurm_run(&cmd, &s, &p);
    if (s.lock >= 0)
        close(s.lock);
    for (int k = 0; k < BL_SLURM_STAGES; k++)
        free(s.stage[k].task);
    free(s.job);
    free(s.entry);
    free(s.program);
    free(s.directory);
    free(s.dir);
    free(s.state);
    free(s.folder);
    bl_inputs_free(&p.inputs);
    return bl_cmd_end(&cmd, code, false);
}
