/* The state of a chain of jobs: its identity, its finished tasks, its queued and running jobs, and what to submit.
 *
 * A task is done if its result exists: a part of the scan, a plan, all shards of a task with their records, a manifest,
 * the mark of a verified task. A finished stage implies that the earlier ones are finished, even if their files are
 * gone. Slurm reports which of the submitted jobs are queued or running. Slurm's accounting is not used: it is often
 * missing, and the exit status of a job says less than its files.
 *
 * A task is submitted if it is neither done nor queued nor running. A queued job is cancelled if it waits for a stage
 * that is submitted again: it would begin too early. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/process.h"
#include "base/text.h"
#include "cmd/slurm.h"
#include "run/input_set.h"
#include "run/state.h"
#include "run/state_files.h"
#include "store/folders.h"
#include "store/format.h"
#include "store/manifest.h"

/* --- identity ----------------------------------------------------------------------------------------------------- */

/* The identity of a chain: everything that decides the dataset, and the number of tasks, as lines:
 *
 *     tasks: 16
 *     kind: video
 *     T: 64
 *
 * A different chain in the same place is refused before it submits anything. */

#define CONFIGURATION_MAX ((size_t)1 << 24) /* bytes of a file of such lines */

/* Copies the lines of an identity without the SIMD level. That level belongs to the present machine, or in a dataset
 * already begun to the machine that began it. */
static int chain_drop_simd(const char *lines, struct bl_buffer *out, struct bl_error *e)
{
    size_t at = 0, size;
    const char *line;
    while (bl_text_next_line(lines, strlen(lines), &at, &line, &size)) {
        if (strncmp(line, "simd: ", 6) == 0)
            continue;
        bl_buffer_append(out, line, size);
        bl_buffer_byte(out, '\n');
    }
    return bl_buffer_check(out, e);
}

/* Compares two texts of lines. `what` begins the message: "DIR holds a dataset". BL_EUSAGE: they differ. */
typedef int comparison(const char *there, const char *wanted, const char *what, struct bl_error *e);

/* The two texts of a comparison between a record and the lines of this run. Messages begin with both texts: "DIR holds
 * a dataset". */
struct record {
    const char *dir, *state;
    comparison *by;
};

/* Compares the lines of a record with those of this run, both without the SIMD level. A record without lines matches.
 */
static int chain_compare_lines(const struct record *r, const char *lines, const char *wanted, struct bl_error *e)
{
    struct bl_buffer there = {0}, what = {0};
    bl_buffer_printf(&what, "%s %s", r->dir, r->state);
    int code = chain_drop_simd(lines, &there, e);
    if (!code)
        code = bl_buffer_check(&what, e);
    if (!code && there.data)
        code = r->by(there.data, wanted, what.data, e);
    bl_buffer_free(&there);
    bl_buffer_free(&what);
    return code;
}

/* Compares the lines with a file of such lines, if it exists. sealed: the file ends with its checksum. */
static int chain_compare_file(const struct record *r, const char *folder, const char *name, bool sealed,
                              const char *wanted, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bool exists;
    char *path = bl_path_join(folder, name);
    int code = path ? bl_io_read_existing(path, CONFIGURATION_MAX, &text, &exists, e) : bl_error_memory(e);
    if (!code && text.data && sealed)
        code = bl_sealed_open(&text, path, e);
    if (!code && text.data)
        code = chain_compare_lines(r, text.data, wanted, e);
    bl_buffer_free(&text);
    free(path);
    return code;
}

/* The inputs are listed as bload pack lists them, but not scanned: their names and options decide the lines. */
int bl_slurm_identify(struct bl_cmd *cmd, const struct bl_slurm *s, struct bl_inputs *inputs,
                      const struct bl_packing_request *request, struct bl_buffer *lines)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer identity = {0};
    int code = bl_inputs_list(inputs, cmd);
    if (!code) {
        bl_inputs_want(inputs, request->subset, request->plan_options);
        code = bl_inputs_use(inputs, inputs->set.files.kind, cmd);
    }
    if (!code)
        code = bl_packing_check_inputs(request, e);
    if (!code)
        code = bl_packing_identify(request, &identity, e);
    /* A user who only verifies a dataset may have moved its inputs. */
    if (code && bl_slurm_is_finished(s)) {
        bl_cmd_print("%s is complete; its inputs cannot be compared with %s: %s", s->output, s->config, e->text);
        bl_error_clear(e);
        code = BL_OK;
    } else if (!code) {
        bl_buffer_printf(lines, "tasks: %" PRId64 "\n", s->tasks);
        code = chain_drop_simd(identity.data, lines, e);
    }
    bl_buffer_free(&identity);
    return code;
}

/* Compares the identity of a scan. The number of tasks has a message of its own, since it is an option of this command
 * and no other. */
static int chain_compare_tasks(const char *there, const char *wanted, const char *what, struct bl_error *e)
{
    size_t at = 0, size, own = strcspn(wanted, "\n");
    const char *line;
    while (bl_text_next_line(there, strlen(there), &at, &line, &size)) {
        if (strncmp(line, "tasks: ", 7) == 0 && (size != own || memcmp(line, wanted, own) != 0))
            return bl_error_set(e, BL_EUSAGE, "%s in %.*s tasks: give --tasks %.*s, or choose another directory", what,
                                (int)size - 7, line + 7, (int)size - 7, line + 7);
    }
    return bl_identity_within(there, strchr(wanted, '\n') + 1, what, e);
}

/* Compares with the manifest of a complete dataset, which does not contain the number of tasks. */
static int chain_compare_manifest(const struct bl_slurm *s, const char *wanted, struct bl_error *e)
{
    const struct record dataset = {s->dir, "holds a dataset", bl_identity_compare};
    struct bl_buffer there = {0};
    struct bl_manifest m = {0};
    int code = bl_manifest_read(&m, s->dir, e);
    if (!code)
        code = bl_identity_of_manifest(&m, &there, e); /* the lines that the dataset was packed by */
    if (!code)
        code = chain_compare_lines(&dataset, there.data, wanted, e);
    bl_manifest_free(&m);
    bl_buffer_free(&there);
    return code;
}

/* The lines are compared with every record there is: of an earlier chain, of a complete dataset, or of the state in
 * DIR/.bload, which this command's jobs have written, or commands run by hand. */
int bl_slurm_agree(const struct bl_slurm *s, const char *lines, struct bl_error *e)
{
    static const char name[] = "configuration";
    const struct record chain = {s->folder, "holds a chain", bl_identity_compare};
    const struct record scan = {s->dir, "is being scanned", chain_compare_tasks};
    const struct record pack = {s->dir, "holds an unfinished dataset", bl_identity_compare};
    if (!lines)
        return BL_OK;
    /* Before any job has begun, a user may change the options without removing files. */
    if (s->entries > 0 || bl_slurm_is_finished(s) || access(s->state, F_OK) == 0)
        BL_TRY(chain_compare_file(&chain, s->folder, name, false, lines, e));
    if (bl_slurm_is_finished(s)) {
        BL_TRY(chain_compare_manifest(s, strchr(lines, '\n') + 1, e));
    } else {
        int64_t done = 0;
        for (int64_t i = 0; i < s->stage[BL_SLURM_SCAN].tasks; i++)
            done += s->stage[BL_SLURM_SCAN].task[i].done;
        if (done < s->stage[BL_SLURM_SCAN].tasks) /* after the scan, the number of its tasks does not matter */
            BL_TRY(chain_compare_file(&scan, s->state, BL_STATE_SCAN, true, lines, e));
        BL_TRY(chain_compare_file(&pack, s->state, BL_STATE_CONFIGURATION, true, strchr(lines, '\n') + 1, e));
    }
    char *path = bl_path_join(s->folder, name);
    int code = path ? bl_output_replace(path, lines, strlen(lines), e) : bl_error_memory(e);
    free(path);
    return code;
}

/* --- finished tasks ----------------------------------------------------------------------------------------------- */

const char *const bl_slurm_stage_names[] = {"scan", "plan", "pack", "finish", "verify", NULL};

bool bl_slurm_is_array(int stage)
{
    return stage == BL_SLURM_SCAN || stage == BL_SLURM_PACK || stage == BL_SLURM_VERIFY;
}

/* The names found in DIR/.bload and DIR/shards. */
struct found {
    bool table, plan; /* sequences.tsv and the plan exist */
    uint8_t *part;    /* [parts] one byte per task: its part of the scan exists */
    uint8_t *record;  /* [shards] one byte per shard: its record exists */
    uint8_t *shard;   /* [shards], and on to the end of the last folder: the shard has its name. A process that is
                         killed in between leaves only the record */
    int64_t parts, shards;
};

/* Notes the names in DIR/.bload: scan-00003, shard-00000017.record, the table and the plan. */
static int found_read_names(const char *folder, struct found *f, struct bl_error *e)
{
    DIR *directory = opendir(folder);
    if (!directory)
        return errno == ENOENT ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", folder);
    struct dirent *entry;
    while ((errno = 0, entry = readdir(directory))) {
        const char *name = entry->d_name;
        int64_t number;
        if (bl_text_numbered(name, "scan-", 5, "", &number) && number < f->parts)
            f->part[number] = 1;
        if (bl_text_numbered(name, "shard-", 8, ".record", &number) && number < f->shards)
            f->record[number] = 1;
        f->table |= strcmp(name, BL_STATE_SEQUENCES) == 0;
        f->plan |= strcmp(name, BL_STATE_PLAN_FILE) == 0;
    }
    int code = errno ? bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", folder) : BL_OK;
    closedir(directory);
    return code;
}

/* Reads the number of shards, which the first packing task stores (0: none has), and finds the shards that have their
 * names. */
static int draft_read_shards(const struct bl_slurm *s, struct found *f, struct bl_error *e)
{
    struct bl_buffer text = {0};
    struct bl_manifest draft = {0};
    bool sound;
    char *path = bl_path_join(s->state, BL_STATE_DRAFT);
    int code = path ? BL_OK : bl_error_memory(e);
    if (!code && access(path, F_OK) == 0) {
        code = bl_io_read_file(path, BL_MANIFEST_SIZE_MAX, &text, e);
        if (!code)
            code = bl_manifest_parse(&draft, text.data ? text.data : "", text.size, &sound, e);
        if (!code && !sound)
            code = bl_error_set(e, BL_EDATA, "its checksum is wrong: it is damaged, or was edited");
        if (code)
            bl_error_prefix(e, "%s", path);
        else
            f->shards = bl_format_shards(&draft.format);
    }
    /* Folders are read entirely, so the array goes on to the end of the last one. */
    f->shard = calloc((size_t)f->shards + BL_SHARDS_PER_FOLDER, 1);
    f->record = calloc((size_t)f->shards + 1, 1);
    if (!code && (!f->shard || !f->record))
        code = bl_error_memory(e);
    for (int64_t first = 0; first < f->shards && !code; first += BL_SHARDS_PER_FOLDER)
        code = bl_folders_read_shards(s->dir, &draft.format, first, f->shard + first, e);
    bl_manifest_free(&draft);
    bl_buffer_free(&text);
    free(path);
    return code;
}

/* Marks all tasks of a stage as done. */
static void stage_set_done(struct bl_slurm_stage *stage)
{
    for (int64_t i = 0; i < stage->tasks; i++)
        stage->task[i].done = true;
}

/* Decides which tasks of an unfinished dataset are done. Each file proves the stages before its own. */
static void chain_resolve_done(struct bl_slurm *s, const struct found *f)
{
    struct bl_slurm_stage *scan = &s->stage[BL_SLURM_SCAN], *pack = &s->stage[BL_SLURM_PACK];
    for (int64_t i = 0; i < scan->tasks; i++)
        scan->task[i].done = f->part[i];
    for (int64_t i = 0; f->shards && i < pack->tasks; i++) { /* a task packs a range of consecutive shards */
        struct bl_task task = {.set = true, .index = i, .count = pack->tasks};
        int64_t begin, end;
        bl_task_range(&task, f->shards, &begin, &end);
        while (begin < end && f->record[begin] && f->shard[begin])
            begin++;
        pack->task[i].done = begin == end;
    }
    if (f->plan || f->shards)
        stage_set_done(&s->stage[BL_SLURM_PLAN]);
    if (f->plan || f->table || f->shards)
        stage_set_done(scan);
}

/* Finds the tasks that are done of a dataset that is not finished. */
static int chain_read_state(struct bl_slurm *s, struct bl_error *e)
{
    struct found f = {.parts = s->tasks};
    int code = draft_read_shards(s, &f, e);
    f.part = calloc((size_t)f.parts, 1);
    if (!code && !f.part)
        code = bl_error_memory(e);
    if (!code)
        code = found_read_names(s->state, &f, e);
    if (!code)
        chain_resolve_done(s, &f);
    free(f.part);
    free(f.record);
    free(f.shard);
    return code;
}

/* Returns whether a file in DIR exists and is not newer than the mark. */
static bool mark_is_newer_than(const struct bl_slurm *s, const char *name, const struct stat *mark, struct bl_error *e)
{
    struct stat file; /* two changes within the clock's resolution count as in order */
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/%s", s->dir, name);
    bool exists = !bl_buffer_check(&path, e) && stat(path.data, &file) == 0;
    bl_buffer_free(&path);
    if (!exists)
        return false;
    const struct timespec *a = &mark->st_mtim, *b = &file.st_mtim;
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec >= b->tv_nsec;
}

/* Finds the tasks that have verified their shards. A mark older than the manifest belongs to an earlier dataset, and a
 * mark older than a shard says nothing about the shard, which was made again since. */
static int chain_read_marks(struct bl_slurm *s, const struct bl_missing *missing, int64_t shards, struct bl_error *e)
{
    struct bl_slurm_stage *verify = &s->stage[BL_SLURM_VERIFY];
    struct bl_buffer path = {0};
    int code = BL_OK;
    for (int64_t i = 0; i < verify->tasks && !code; i++) {
        struct stat mark;
        struct bl_task task = {.set = true, .index = i, .count = verify->tasks};
        int64_t shard, end;
        bl_task_range(&task, shards, &shard, &end);
        bl_buffer_clear(&path);
        bl_buffer_printf(&path, "%s/verified-%05d-of-%05d", s->folder, (int)i, (int)s->tasks);
        code = bl_buffer_check(&path, e);
        bool done = !code && stat(path.data, &mark) == 0 && mark_is_newer_than(s, BL_MANIFEST_FILE, &mark, e);
        while (done && shard < end)
            done = mark_is_newer_than(s, missing->row[shard++].file, &mark, e);
        verify->task[i].done = done;
    }
    bl_buffer_free(&path);
    return code;
}

/* Finds the tasks that are done of a complete dataset. Shards that are lost or truncated have to be packed again; then
 * DIR/.bload exists until the finish. */
static int chain_read_dataset(struct bl_slurm *s, struct bl_error *e)
{
    struct bl_manifest m = {0};
    struct bl_missing missing = {0};
    int code = bl_manifest_read(&m, s->dir, e);
    int64_t shards = code ? 0 : bl_format_shards(&m.format);
    if (!code)
        code = bl_missing_check_files(s->dir, &m, e);
    if (!code)
        code = bl_missing_find(&missing, s->dir, &m, 0, shards, e);
    struct bl_slurm_stage *pack = &s->stage[BL_SLURM_PACK];
    if (!code)
        s->stage[BL_SLURM_FINISH].task[0].done = !missing.count && access(s->state, F_OK) != 0;
    for (int64_t i = 0; i < pack->tasks && !code; i++) {
        struct bl_task task = {.set = true, .index = i, .count = pack->tasks};
        int64_t begin, end;
        bl_task_range(&task, shards, &begin, &end);
        while (begin < end && !missing.is_missing[begin])
            begin++;
        pack->task[i].done = begin == end;
    }
    if (!code)
        code = chain_read_marks(s, &missing, shards, e);
    bl_missing_free(&missing);
    bl_manifest_free(&m);
    return code;
}

bool bl_slurm_is_finished(const struct bl_slurm *s)
{
    bool finished;
    return !bl_fs_find(s->dir, BL_MANIFEST_FILE, &finished, NULL) && finished;
}

/* --- queued and running jobs -------------------------------------------------------------------------------------- */

/* Parses a line "pack 1234 1000" of DIR.slurm/jobs, which submit.sh appends: stage, job, offset. */
static int job_parse(struct bl_slurm *s, const char *line, size_t size, struct bl_error *e)
{
    struct bl_slurm_job job = {.stage = -1};
    const char *id = memchr(line, ' ', size);
    const char *offset = id ? memchr(id + 1, ' ', size - (size_t)(id + 1 - line)) : NULL;
    for (int k = 0; offset && k < BL_SLURM_STAGES; k++) {
        if (strlen(bl_slurm_stage_names[k]) == (size_t)(id - line) &&
            strncmp(line, bl_slurm_stage_names[k], (size_t)(id - line)) == 0)
            job.stage = k;
    }
    if (job.stage < 0 || !bl_text_to_int(id + 1, (size_t)(offset - id - 1), 1, INT64_MAX, &job.id) ||
        !bl_text_to_int(offset + 1, (size_t)(line + size - offset - 1), 0, BL_TASKS_MAX, &job.offset))
        return bl_error_set(e, BL_EFAIL, "%s/jobs has the line \"%.*s\", which is no job: remove it", s->folder,
                            (int)size, line);
    BL_TRY(BL_ARRAY_RESIZE(s->job, (size_t)s->jobs + 1, e));
    s->job[s->jobs++] = job;
    return BL_OK;
}

#define JOBS_MAX ((size_t)1 << 24) /* bytes of DIR.slurm/jobs */

/* Reads DIR.slurm/jobs, if it exists. */
static int job_read_all(struct bl_slurm *s, struct bl_error *e)
{
    struct bl_buffer text = {0};
    const char *line;
    size_t at = 0, size;
    char *path = bl_path_join(s->folder, "jobs");
    int code = path ? BL_OK : bl_error_memory(e);
    if (!code && access(path, F_OK) == 0)
        code = bl_io_read_file(path, JOBS_MAX, &text, e);
    while (!code && bl_text_next_line(text.data ? text.data : "", text.size, &at, &line, &size))
        code = job_parse(s, line, size, e);
    bl_buffer_free(&text);
    free(path);
    return code;
}

/* Returns whether a state of squeue means that a job is queued, or running (queued false). Jobs in other states have
 * ended, or are about to end. */
static bool job_is_in(const char *state, bool queued)
{
    static const char *const states[2][8] = {
        {"RUNNING", "CONFIGURING", "SUSPENDED", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT"},
        {"PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}};
    const char *const *at = states[queued];
    while (*at && strcmp(*at, state) != 0)
        at++;
    return *at;
}

/* Parses a line "1234_5 PENDING JobHeldUser": job and element, state, reason. Other lines are warnings, or jobs of
 * other users, and are ignored. Changes the line. */
static int entry_parse(struct bl_slurm *s, char *line, struct bl_error *e)
{
    char *rest = line, *element = strsep(&rest, " ");
    const char *state = rest ? strsep(&rest, " ") : "", *reason = rest ? rest : "";
    const char *id = strsep(&element, "_");
    struct bl_slurm_entry entry = {.job = -1, .element = -1, .queued = job_is_in(state, true)};
    int64_t number;
    if ((!entry.queued && !job_is_in(state, false)) || !bl_text_to_int(id, strlen(id), 1, INT64_MAX, &number) ||
        (element && !bl_text_to_int(element, strlen(element), 0, BL_TASKS_MAX, &entry.element)))
        return BL_OK;
    for (int64_t j = 0; j < s->jobs && entry.job < 0; j++)
        entry.job = s->job[j].id == number ? j : -1;
    if (entry.job < 0)
        return BL_OK;
    entry.held = strcmp(state, "SPECIAL_EXIT") == 0 || strcasestr(reason, "held");
    entry.cancel = strcmp(reason, "DependencyNeverSatisfied") == 0; /* it would wait forever */
    BL_TRY(BL_ARRAY_RESIZE(s->entry, (size_t)s->entries + 1, e));
    s->entry[s->entries++] = entry;
    return BL_OK;
}

int bl_slurm_ask_queue(const char *ids, struct bl_buffer *output, int *status, struct bl_error *e)
{
    const char *argv[] = {"squeue", "-h", "-r", "-t", "all", "-o", "%i %T %r", "-j", ids, NULL};
    BL_TRY(bl_process_run(argv, output, status, e));
    const char *text = output->data ? output->data : "";
    /* squeue fails if it is asked for a single job which it does not know any more. */
    if (*status == 0 || strstr(text, "Invalid job id"))
        return BL_OK;
    return bl_error_set(e, BL_EFAIL, "squeue cannot list the jobs: %.*s", (int)strcspn(text, "\n"), text);
}

/* Asks squeue for all submitted jobs, and keeps the entries that are queued or running. */

static int squeue_run(struct bl_slurm *s, struct bl_error *e)
{
    struct bl_buffer ids = {0}, output = {0};
    int status = 0;
    for (int64_t j = 0; j < s->jobs; j++) {
        bl_buffer_text(&ids, j ? "," : "");
        bl_buffer_int(&ids, s->job[j].id);
    }
    int code = bl_buffer_check(&ids, e);
    if (!code)
        code = bl_slurm_ask_queue(ids.data, &output, &status, e);
    char *rest = output.data, *line;
    while (!code && status == 0 && (line = strsep(&rest, "\n")))
        code = entry_parse(s, line, e);
    bl_buffer_free(&output);
    bl_buffer_free(&ids);
    return code;
}

/* --- decisions ---------------------------------------------------------------------------------------------------- */

/* Decides in the order of the stages what to submit: tasks that are neither done nor queued nor running. A queued job
 * remains, unless it waits for an earlier stage that runs again (anew). A running job is never cancelled. */
static void chain_resolve_stages(struct bl_slurm *s)
{
    bool anew = false;
    for (int k = 0; k < BL_SLURM_STAGES; k++) {
        struct bl_slurm_stage *stage = &s->stage[k];
        bool any = false;
        for (int64_t i = 0; i < s->entries; i++) {
            struct bl_slurm_entry *entry = &s->entry[i];
            struct bl_slurm_job *job = &s->job[entry->job];
            int64_t task = job->offset + (entry->element < 0 ? 0 : entry->element);
            if (job->stage != k || task >= stage->tasks)
                continue;
            entry->cancel |= entry->queued && anew;
            if (entry->cancel)
                continue;
            job->goes_on = true;
            stage->task[task].queued |= entry->queued;
            stage->task[task].held |= entry->held;
            stage->task[task].running |= !entry->queued;
        }
        for (int64_t i = 0; i < stage->tasks; i++) {
            struct bl_slurm_task *task = &stage->task[i];
            task->submit = !task->done && !task->queued && !task->running;
            any |= task->submit;
        }
        anew |= any;
    }
}

/* The files are read first and squeue is asked second: a task that ends in between counts as neither done nor running,
 * and is submitted again, which finds that nothing is left to do. */
int bl_slurm_inspect(struct bl_slurm *s, bool *blind, struct bl_error *e)
{
    int code = BL_OK;
    for (int k = 0; k < BL_SLURM_STAGES && !code; k++) {
        struct bl_slurm_stage *stage = &s->stage[k];
        stage->tasks = bl_slurm_is_array(k) ? s->tasks : 1;
        stage->task = calloc((size_t)stage->tasks, sizeof *stage->task);
        code = stage->task ? BL_OK : bl_error_memory(e);
    }
    if (code)
        return code;
    if (bl_slurm_is_finished(s)) {
        stage_set_done(&s->stage[BL_SLURM_SCAN]);
        stage_set_done(&s->stage[BL_SLURM_PLAN]);
        BL_TRY(chain_read_dataset(s, e));
    } else {
        BL_TRY(chain_read_state(s, e));
    }
    BL_TRY(job_read_all(s, e));
    /* Without squeue all jobs count as ended, and the caller says so. */
    *blind = s->jobs && !bl_process_found("squeue");
    code = s->jobs && !*blind ? squeue_run(s, e) : BL_OK;
    if (!code)
        chain_resolve_stages(s);
    return code;
}
