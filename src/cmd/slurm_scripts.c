/* The scripts of a chain, in DIR.slurm: one per stage, a common part, and the script that submits them.
 *
 * Users may read them and change them by hand. So the texts below are shell scripts with comments, and only what
 * differs between chains is appended by functions. A script of a stage is short, since it sources the common part:
 *
 *     #!/bin/sh
 *     # Task i of 16 packs its share of the shards. Written by bload slurm, for submit.sh.
 *     #SBATCH --job-name=bload-pack
 *     #SBATCH --output=/data/dataset.slurm/logs/pack-%A_%a.log
 *     #SBATCH --open-mode=append --requeue --signal=B:USR1@60
 *     i=$((${1:-0} + SLURM_ARRAY_TASK_ID))
 *     . '/data/dataset.slurm'/task.sh
 *     bload pack -c "$config" --task "$i/16" -j "$cpus" "$@" -o "$dir" */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/option_help.h"
#include "base/output.h"
#include "cmd/slurm.h"
#include "run/state_files.h"

/* --- quoting ------------------------------------------------------------------------------------------------------ */

/* Characters of which a word may consist without being quoted in an #SBATCH line. */
static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=,:@%+";

/* Appends a word in the quotes of a POSIX shell, which runs the scripts. */
static void word_quote_for_shell(struct bl_buffer *out, const char *word)
{
    bl_shell_quote(out, BL_SHELL_BASH, word, strlen(word));
}

/* Quotes a word of an #SBATCH line, which Slurm parses by its own rules: a backslash makes the next character literal,
 * even in quotes, and "#" outside quotes begins a comment. */
static void word_quote_for_sbatch(struct bl_buffer *out, const char *word)
{
    if (*word && !word[strspn(word, plain)]) {
        bl_buffer_text(out, word);
        return;
    }
    bl_buffer_byte(out, '"');
    for (; *word; word++) {
        if (*word == '"' || *word == '\\')
            bl_buffer_byte(out, '\\');
        bl_buffer_byte(out, *word);
    }
    bl_buffer_byte(out, '"');
}

/* --- common part -------------------------------------------------------------------------------------------------- */

/* The functions of task.sh: `bload` runs a command as a child and passes signals on, `stop` handles a signal, `again`
 * requeues the job, `finished` counts files, and `say` writes a line to the log. A job is requeued, that is, it goes
 * back to the queue with the same number, when its time is over or Slurm ends it: the command resumes where it was. It
 * is not requeued for ever: only as long as files get finished in between, and a hundred times at most. */
static const char common[] =
    "\n"
    "# The processors that Slurm gave: more may be seen than that.\n"
    "cpus=${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}\n"
    "job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}\n"
    "job=${job:-$SLURM_JOB_ID}\n"
    "restarts=${SLURM_RESTART_COUNT:-0}\n"
    "\n"
    "say() {\n"
    "    printf '%s\\n' \"$(date '+%F %T') job $job on $(uname -n): $(printf '%s' \"$*\" | tr '[:cntrl:]' '?')\" >&2\n"
    "}\n"
    "\n"
    "# How much is finished, by all tasks together, in files.\n"
    "finished() {\n"
    "    {\n"
    "        find \"$dir/.bload\" -type f ! -name '*.part*' ! -name '*task-*'\n"
    "        find \"$chain\" -name 'verified-*'\n"
    "    } 2>/dev/null | wc -l\n"
    "}\n"
    "\n"
    "# Slurm sends USR1 (the time limit) to this script alone, but TERM (the end of the job) to bload, too. A second "
    "signal\n# would end bload at once, without tidying up.\n"
    "signals=0 signal='' child=''\n"
    "stop() {\n"
    "    signals=$((signals + 1)) signal=$1\n"
    "    [ -n \"$child\" ] || return 0\n"
    "    [ \"$1\" = USR1 ] || sleep 2\n"
    "    kill -TERM \"$child\" 2>/dev/null\n"
    "}\n"
    "trap 'stop USR1' USR1\n"
    "trap 'stop TERM' TERM\n"
    "\n"
    "# Requeues the job, which then resumes with what is not finished. \"incomplete\": not if Slurm has cancelled the "
    "job, or\n# requeues it by itself.\n"
    "again() {\n"
    "    if [ \"$signal\" = USR1 ] && [ \"$restarts\" -ge 2 ] && [ \"$(finished)\" -le \"$before\" ]; then\n"
    "        say 'no time left, and nothing was finished since the last start: give more --time, or make smaller "
    "shards'\n"
    "        exit 1\n"
    "    fi\n"
    "    if [ \"$signal\" = USR1 ] && [ \"$restarts\" -ge 100 ]; then\n"
    "        say 'no time left, for the hundredth time: give more --time, or more --tasks'\n"
    "        exit 1\n"
    "    fi\n"
    "    trap '' USR1 TERM\n"
    "    say \"ended by $signal; goes back to the queue, unless Slurm has ended the job\"\n"
    "    scontrol requeue incomplete \"$job\"\n"
    "    exit 1\n"
    "}\n"
    "\n"
    "# bload COMMAND...: runs it, and tells what its status means.\n"
    "bload() {\n"
    "    before=$(finished)\n"
    "    say \"bload $*\"\n"
    "    [ -z \"$signal\" ] || again\n"
    "    \"$program\" \"$@\" &\n"
    "    child=$! status=0\n"
    "    while :; do\n"
    "        seen=$signals status=0\n"
    "        wait \"$child\" || status=$?\n"
    "        # A wait that a signal interrupts has not seen the end.\n"
    "        if [ \"$signals\" -eq \"$seen\" ] || [ \"$status\" -le 128 ]; then break; fi\n"
    "    done\n"
    "    case $status in\n"
    "    0) say 'done' ;;\n"
    "    3) say 'done, but some inputs are unusable or damaged (status 3)' ;;\n"
    "    *)\n"
    "        [ -z \"$signal\" ] || [ \"$status\" -le 3 ] || again\n"
    "        say \"failed with status $status\"\n"
    "        exit \"$status\"\n"
    "        ;;\n"
    "    esac\n"
    "}\n";

/* Appends "name='value'", a line that assigns a variable of the shell. */
static void script_append_assignment(struct bl_buffer *out, const char *name, const char *value)
{
    bl_buffer_printf(out, "%s=", name);
    word_quote_for_shell(out, value);
    bl_buffer_byte(out, '\n');
}

/* Appends task.sh. */
static void script_append_common(struct bl_buffer *out, const struct bl_slurm *s)
{
    bl_buffer_text(out, "# The common part of the scripts of all stages, which source it. Written by bload slurm.\n"
                        "# shellcheck shell=sh disable=SC2034\n"
                        "cd ");
    word_quote_for_shell(out, s->directory);
    bl_buffer_text(out, " || exit\n");
    script_append_assignment(out, "program", s->program);
    script_append_assignment(out, "config", s->config);
    script_append_assignment(out, "dir", s->dir);
    script_append_assignment(out, "chain", s->folder);
    bl_buffer_text(out, common);
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

/* Appends the lines in which sbatch finds options: name, log, requeueing, and the words that the user gave. The signal
 * USR1 comes a minute before the time limit. */
static void script_append_directives(struct bl_buffer *out, const struct bl_slurm *s, int stage)
{
    struct bl_buffer log = {0};
    bl_buffer_printf(out, "#SBATCH --job-name=bload-%s\n#SBATCH ", bl_slurm_stage_names[stage]);
    bl_buffer_text(&log, "--output=");
    for (const char *at = s->folder; *at; at++) /* Slurm replaces sequences that begin with "%" */
        bl_buffer_text(&log, *at == '%' ? "%%" : (const char[]){*at, '\0'});
    bl_buffer_printf(&log, "/logs/%s-%s.log", bl_slurm_stage_names[stage], bl_slurm_is_array(stage) ? "%A_%a" : "%j");
    word_quote_for_sbatch(out, log.data ? log.data : "");
    bl_buffer_free_part(&log, out);
    bl_buffer_text(out, "\n#SBATCH --open-mode=append --requeue --signal=B:USR1@60\n");
    if (s->words)
        bl_buffer_text(out, "#SBATCH");
    for (int w = 0; w < s->words; w++) {
        bl_buffer_byte(out, ' ');
        word_quote_for_sbatch(out, s->sbatch[w]);
    }
    bl_buffer_text(out, s->words ? "\n" : "");
}

/* Slurm kills jobs that use more memory than it granted, and only sometimes tells them how much that is. */
static const char memory[] = "# The memory that Slurm gave, if it says; a tenth is left to what bload does not count.\n"
                             "mb=${SLURM_MEM_PER_NODE:-$((${SLURM_MEM_PER_CPU:-0} * ${SLURM_CPUS_ON_NODE:-1}))}\n"
                             "set --\n"
                             "[ \"$mb\" -eq 0 ] || set -- --memory \"$((mb * 9 / 10))M\"\n";

/* Appends the command of a stage. */
static void script_append_command(struct bl_buffer *out, const struct bl_slurm *s, int stage)
{
    switch ((enum bl_slurm_stages)stage) {
    case BL_SLURM_SCAN:
        bl_buffer_printf(out, "bload scan -c \"$config\" --task \"$i/%" PRId64 "\" -j \"$cpus\" -o \"$dir\"\n",
                         s->tasks);
        break;
    case BL_SLURM_PLAN:
        bl_buffer_text(out, "bload plan -c \"$config\" \"$dir\"\n");
        break;
    case BL_SLURM_PACK:
        bl_buffer_text(out, s->owns_memory ? "set --\n" : memory);
        bl_buffer_printf(out, "bload pack -c \"$config\" --task \"$i/%" PRId64 "\" -j \"$cpus\" \"$@\" -o \"$dir\"\n",
                         s->tasks);
        break;
    case BL_SLURM_FINISH:
        bl_buffer_text(out, "bload finish \"$dir\"\n");
        break;
    case BL_SLURM_VERIFY:
        bl_buffer_text(out, "# Where nothing was new (--extend), there is no dataset after the finish.\n"
                            "[ -e \"$dir\" ] || { echo \"$dir was not written: nothing was new\" >&2; exit 0; }\n");
        bl_buffer_printf(out, "bload verify --task \"$i/%" PRId64 "\" -j \"$cpus\" \"$dir\"\n", s->tasks);
        bl_buffer_printf(out, ": >\"$chain/verified-$(printf %%05d \"$i\")-of-%05" PRId64 "\"\n", s->tasks);
        break;
    case BL_SLURM_STAGES:
        break;
    }
}

/* The second line of the script of each stage says this. In scripts of arrays it follows "Task i of N ". */
static const char *const purposes[] = {
    "counts its share of the inputs",
    "Puts the shares of the scan together, and plans what goes into which block",
    "packs its share of the shards",
    "Gathers what the tasks packed, and writes the manifest",
    "verifies its share of the shards, and leaves a mark",
};

/* Appends the script of a stage. Its argument is the offset of the array's tasks: element e does task offset + e. */
static void script_append_stage(struct bl_buffer *out, const struct bl_slurm *s, int stage)
{
    bl_buffer_text(out, "#!/bin/sh\n# ");
    if (bl_slurm_is_array(stage))
        bl_buffer_printf(out, "Task i of %" PRId64 " ", s->tasks);
    bl_buffer_printf(out, "%s. Written by bload slurm, for submit.sh.\n", purposes[stage]);
    script_append_directives(out, s, stage);
    if (bl_slurm_is_array(stage))
        bl_buffer_text(out, "i=$((${1:-0} + SLURM_ARRAY_TASK_ID))\n");
    bl_buffer_text(out, ". ");
    word_quote_for_shell(out, s->folder);
    bl_buffer_text(out, "/task.sh\n");
    script_append_command(out, s, stage);
}

/* --- submission --------------------------------------------------------------------------------------------------- */

/* The functions of submit.sh. After them, the script has lines such as
 *
 *     stage afterany:1234            job 1234 of this stage is already there
 *     submit pack 0 --array=3,7-9    elements that are missing
 *
 * so that each job depends on all jobs of the stage before, those that are there and those submitted just now. */
static const char submitting[] =
    "\n"
    "\n"
    "# This script submits only once: bload slurm then finds what is still missing.\n"
    "if ! (set -C && : >\"$chain/submitted\") 2>/dev/null; then\n"
    "    echo 'This was submitted before. bload slurm writes a new script for what is missing now.' >&2\n"
    "    exit 1\n"
    "fi\n"
    "\n"
    "# Jobs inherit the environment: remove the variables of the job in which this script may run.\n"
    "unset SLURM_JOB_ID SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID SLURM_RESTART_COUNT SLURM_CPUS_PER_TASK "
    "SLURM_CPUS_ON_NODE \\\n"
    "    SLURM_MEM_PER_NODE SLURM_MEM_PER_CPU\n"
    "\n"
    "# stage DEPENDENCY...: jobs submitted from here on wait for the stage before. DEPENDENCY: jobs of this stage that "
    "are\n"
    "# queued already.\n"
    "after='' before=''\n"
    "stage() {\n"
    "    earlier=$after after=$before before=''\n"
    "    for each; do before=${before:+$before,}$each; done\n"
    "}\n"
    "\n"
    "# submit STAGE OFFSET [OPTION...]: element e of the job is task OFFSET + e. A job that waits for tasks checks\n"
    "# itself that all their files are there: to Slurm a task has failed that finished after its time limit, or that "
    "was\n"
    "# cancelled and done again.\n"
    "submit() {\n"
    "    name=$1 offset=$2\n"
    "    shift 2\n"
    "    # If the plan fails, nothing is packed, and finish must not start.\n"
    "    if [ \"$name\" = finish ]; then after=$after${earlier:+,$earlier}; fi\n"
    "    id=$(sbatch --parsable --kill-on-invalid-dep=yes ${after:+\"--dependency=$after\"} \"$@\" \"$chain/$name.sh\" "
    "\"$offset\")\n"
    "    id=${id%%;*} # with several clusters, the name of the cluster follows\n"
    "    case $id in '' | *[!0-9]*)\n"
    "        echo \"sbatch gave no number of a job: $id\" >&2\n"
    "        exit 1\n"
    "        ;;\n"
    "    esac\n"
    "    echo \"$name $id $offset\" >>\"$chain/jobs\"\n"
    "    case $name in scan | pack) ended=afterany ;; *) ended=afterok ;; esac\n"
    "    before=${before:+$before,}$ended:$id\n"
    "    echo \"submitted $name: job $id\" >&2\n"
    "}\n";

/* Formats the elements whose byte is set, of count elements: "0-3,7". */
static void script_append_ranges(struct bl_buffer *out, const uint8_t *set, int64_t count)
{
    const char *separator = "";
    for (int64_t at = 0; at < count; at++) {
        int64_t first = at;
        while (at < count && set[at])
            at++;
        if (at == first)
            continue;
        bl_buffer_printf(out, "%s%" PRId64, separator, first);
        if (at - first > 1)
            bl_buffer_printf(out, "-%" PRId64, at - 1);
        separator = ",";
    }
}

/* Appends a scancel line for each job of which entries have to be cancelled: they wait for a stage that runs again. A
 * job is cancelled entirely, or by its elements: scancel '1234_[0-3,7]'. set: scratch of BL_TASKS_MAX + 1 bytes. */
static void script_append_cancelled(struct bl_buffer *out, const struct bl_slurm *s, uint8_t *set)
{
    for (int64_t j = 0; j < s->jobs; j++) {
        bool whole = false, some = false;
        memset(set, 0, (size_t)BL_TASKS_MAX + 1);
        for (int64_t i = 0; i < s->entries; i++) {
            const struct bl_slurm_entry *entry = &s->entry[i];
            if (entry->job != j || !entry->cancel)
                continue;
            if (entry->element < 0)
                whole = true;
            else
                set[entry->element] = some = true;
        }
        if (!whole && !some)
            continue;
        bl_buffer_printf(out, "scancel '%" PRId64, s->job[j].id);
        if (!whole) {
            bl_buffer_text(out, "_[");
            script_append_ranges(out, set, (int64_t)BL_TASKS_MAX + 1);
            bl_buffer_byte(out, ']');
        }
        bl_buffer_text(out, "' || :\n");
    }
}

/* Appends a "submit" line for the tasks of a stage that are missing. Slurm limits the elements of an array, so many
 * tasks need several arrays. set: scratch of BL_TASKS_MAX + 1 bytes. */
static void script_append_submitted(struct bl_buffer *out, const struct bl_slurm *s, int stage, uint8_t *set)
{
    const struct bl_slurm_stage *of = &s->stage[stage];
    /* An array that needs no element is left out, so that the others keep their offsets. */
    for (int64_t offset = 0; offset < of->tasks; offset += s->array_size) {
        int64_t count = of->tasks - offset < s->array_size ? of->tasks - offset : s->array_size;
        bool any = false;
        for (int64_t i = 0; i < count; i++)
            any |= set[i] = of->task[offset + i].submit;
        if (!any)
            continue;
        bl_buffer_printf(out, "submit %s %" PRId64, bl_slurm_stage_names[stage], offset);
        if (bl_slurm_is_array(stage)) {
            bl_buffer_text(out, " --array=");
            script_append_ranges(out, set, count);
            if (s->at_once)
                bl_buffer_printf(out, "%%%" PRId64, s->at_once);
        }
        bl_buffer_byte(out, '\n');
    }
}

/* Appends submit.sh: the functions, the jobs that go on, the jobs to cancel, and the jobs to submit. */
static int script_append_submission(struct bl_buffer *out, const struct bl_slurm *s, struct bl_error *e)
{
    uint8_t *set = malloc((size_t)BL_TASKS_MAX + 1);
    if (!set)
        return bl_error_memory(e);
    bl_buffer_text(out, "#!/bin/sh\n# Submits what is missing of a dataset. Written by bload slurm.\nset -eu\n");
    script_append_assignment(out, "chain", s->folder);
    bl_buffer_text(out, "cd ");
    word_quote_for_shell(out, s->directory);
    bl_buffer_text(out, submitting);
    bl_buffer_text(
        out, "\n# Record the jobs of earlier submissions that are still queued or running.\n: >\"$chain/jobs\"\n");
    for (int64_t j = 0; j < s->jobs; j++) {
        if (s->job[j].goes_on)
            bl_buffer_printf(out, "echo '%s %" PRId64 " %" PRId64 "' >>\"$chain/jobs\"\n",
                             bl_slurm_stage_names[s->job[j].stage], s->job[j].id, s->job[j].offset);
    }
    script_append_cancelled(out, s, set);
    for (int stage = 0; stage < BL_SLURM_STAGES; stage++) {
        bl_buffer_byte(out, '\n');
        /* A dependency on each job of the stage that goes on, of the kinds that `submit` in the script uses. */
        bl_buffer_text(out, "stage");
        for (int64_t j = 0; j < s->jobs; j++) {
            if (s->job[j].goes_on && s->job[j].stage == stage)
                bl_buffer_printf(out, " %s:%" PRId64, bl_slurm_is_array(stage) ? "afterany" : "afterok", s->job[j].id);
        }
        bl_buffer_byte(out, '\n');
        script_append_submitted(out, s, stage, set);
    }
    free(set);
    return BL_OK;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* Writes a file of DIR.slurm in place of an earlier one. A job that runs keeps reading the earlier one. */
static int script_replace(const struct bl_slurm *s, const char *name, const struct bl_buffer *text, struct bl_error *e)
{
    char *path = bl_path_join(s->folder, name);
    int code = path ? bl_buffer_check(text, e) : bl_error_memory(e);
    if (!code)
        code = bl_output_replace(path, text->data, text->size, e);
    free(path);
    return code;
}

int bl_slurm_write(const struct bl_slurm *s, struct bl_error *e)
{
    struct bl_buffer text = {0}, name = {0};
    script_append_common(&text, s);
    int code = script_replace(s, "task.sh", &text, e);
    for (int stage = 0; stage < BL_SLURM_STAGES && !code; stage++) {
        bl_buffer_clear(&text);
        bl_buffer_clear(&name);
        script_append_stage(&text, s, stage);
        bl_buffer_printf(&name, "%s.sh", bl_slurm_stage_names[stage]);
        code = bl_buffer_check(&name, e);
        if (!code)
            code = script_replace(s, name.data, &text, e);
    }
    bl_buffer_clear(&text);
    if (!code)
        code = script_append_submission(&text, s, e);
    if (!code)
        code = script_replace(s, "submit.sh", &text, e);
    bl_buffer_free(&text);
    bl_buffer_free(&name);
    return code;
}
