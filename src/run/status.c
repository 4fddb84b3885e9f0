/* The status of a dataset: what exists decides what is done, and heartbeats decide who works on the rest.
 *
 * An unfinished dataset is read in four steps: the number of tasks of the scan, the draft of the manifest, the
 * heartbeats of both stages, and last the records of shards, which are counted for the range of each task. Example:
 * task 3 of 16 has shards 12 to 15; records of 12 and 13 exist, and its heartbeat is 400 seconds old: it is silent with
 * 2 of 4 shards finished. */
#include "run/status.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/text.h"
#include "run/mirror.h"
#include "run/state.h"
#include "run/state_files.h"
#include "store/folders.h"
#include "store/plan_info.h"
#include "store/view.h"

/* Seconds without a beat after which a task counts as silent: in a phase that reports progress, and in one that does
 * not. */
#define BL_STATUS_SILENT 120
#define BL_STATUS_SILENT_LONG 1800
/* The same for a task on this machine whose process has ended. */
#define BL_STATUS_SILENT_GONE 30

/* --- tasks of a stage --------------------------------------------------------------------------------------------- */

#define TASKS_NAMED 20             /* ranges of tasks named in a message, at most */
#define BEAT_MAX ((size_t)1 << 16) /* bytes of a heartbeat file */

const char *bl_task_state_name(enum bl_task_state state)
{
    static const char *const names[] = {"failed", "silent", "stopped", "running", "waiting", "done"};
    return names[state];
}

/* Whether the beat's process on this machine has ended. Two machines of the same name may see each other's beats, so a
 * recent beat is trusted (BL_STATUS_SILENT_GONE). */
static bool beat_process_is_gone(const struct bl_beat *beat)
{
    char host[sizeof beat->host] = "";
    return gethostname(host, sizeof host - 1) == 0 && strcmp(host, beat->host) == 0 && beat->pid > 0 &&
           beat->pid <= INT32_MAX && kill((pid_t)beat->pid, 0) != 0 && errno == ESRCH;
}

/* Sets the state of a task by its heartbeat, and its rate and the time left if it is running. A task that ended well
 * waits: status_stage_resolve finds out whether its results exist. */
static void task_judge(struct bl_status_task *t)
{
    static const enum bl_task_state ended[] = {
        [BL_BEAT_DONE] = BL_TASK_WAITING, [BL_BEAT_FAILED] = BL_TASK_FAILED, [BL_BEAT_STOPPED] = BL_TASK_STOPPED};
    const struct bl_beat *b = t->beat;
    t->left = -1;
    if (!b || b->state != BL_BEAT_RUNNING) {
        t->state = b ? ended[b->state] : BL_TASK_WAITING;
        return;
    }
    t->gone = t->age > BL_STATUS_SILENT_GONE && beat_process_is_gone(b);
    if (t->gone || t->age > (b->unit[0] ? BL_STATUS_SILENT : BL_STATUS_SILENT_LONG)) {
        t->state = BL_TASK_SILENT;
        return;
    }
    t->state = BL_TASK_RUNNING;
    double units = b->parts ? (double)b->parts / 1000 : (double)b->done;
    if (b->milliseconds > 0)
        t->rate = (b->step[0] ? (double)b->steps : units) * 1000 / (double)b->milliseconds;
    if (t->rate > 0 && b->step[0] && b->steps_left >= 0)
        t->left = (double)b->steps_left / t->rate;
    else if (units > 0 && b->total)
        t->left = fmax((double)b->total - units, 0) / units * (double)b->milliseconds / 1000;
}

/* Reads the heartbeat of a task. task->beat stays NULL if the file is gone or invalid. */
static int task_read_beat(struct bl_status_stage *stage, const char *folder, const char *stage_name, int64_t index,
                          int64_t now, struct bl_status_task *task, struct bl_error *e)
{
    char name[BL_BEAT_FILE_MAX];
    struct bl_buffer text = {0};
    struct stat status;
    struct bl_error why = {0};
    bool found;
    *task = (struct bl_status_task){.beat = malloc(sizeof *task->beat)};
    if (!task->beat)
        return bl_error_memory(e);
    int code =
        bl_state_files_read(folder, bl_beat_file(stage_name, index, name), BEAT_MAX, &text, &status, &found, &why);
    if (!code && found)
        code = bl_beat_parse(task->beat, text.data ? text.data : "", text.size, &why);
    if (code || !found)
        goto out;
    if (task->beat->task != index || strcmp(task->beat->stage, stage_name) != 0) {
        code = bl_error_set(&why, BL_EDATA, "it belongs to another task");
    } else {
        /* A task is silent only if both clocks agree: the writer's, in the beat, and that of the time of the file,
         * which may be a server's. So one wrong clock does not make a task silent. */
        int64_t last = task->beat->updated > status.st_mtime ? task->beat->updated : status.st_mtime;
        task->age = now > last ? now - last : 0;
    }
out:
    bl_buffer_free(&text);
    if (code && !stage->unreadable++)
        bl_error_set(&stage->unread, why.code, "%s: %s", name, why.text);
    if (code || !found) {
        free(task->beat);
        task->beat = NULL;
    }
    return BL_OK;
}

/* Puts the tasks with heartbeats in their places. If no file gives the number of tasks, the latest beat does. Of tasks
 * from another division, only running ones are kept. */
static int stage_place_tasks(struct bl_status_stage *stage, struct bl_status_task *heard, size_t count,
                             struct bl_error *e)
{
    const struct bl_status_task *last = NULL;
    for (size_t i = 0; i < count; i++) {
        if (heard[i].beat && (!last || heard[i].beat->updated > last->beat->updated))
            last = &heard[i];
    }
    if (!stage->tasks && last)
        stage->tasks = last->beat->tasks;
    stage->task = calloc((size_t)stage->tasks + count + 1, sizeof *stage->task);
    if (!stage->task)
        return bl_error_memory(e);
    stage->count = (size_t)stage->tasks;
    for (size_t i = 0; i < count; i++) {
        struct bl_beat *beat = heard[i].beat;
        task_judge(&heard[i]);
        if (beat && beat->tasks == stage->tasks)
            stage->task[beat->task] = heard[i];
        else if (beat && heard[i].state == BL_TASK_RUNNING)
            stage->task[stage->count++] = heard[i];
        else
            free(beat);
        heard[i].beat = NULL;
    }
    return BL_OK;
}

/* Reads the heartbeats of the tasks of a stage, "scan" or "pack". stage->tasks must be set. now: in seconds since 1970.
 * Free with status_stage_free, also after an error. */
static int status_stage_read(struct bl_status_stage *stage, const char *folder, const char *name,
                             const struct bl_numbers *beats, int64_t now, struct bl_error *e)
{
    struct bl_status_task *heard = calloc(beats->count + 1, sizeof *heard);
    int code = heard ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < beats->count && !code; i++)
        code = task_read_beat(stage, folder, name, beats->at[i], now, &heard[i], e);
    if (!code)
        code = stage_place_tasks(stage, heard, beats->count, e);
    for (size_t i = 0; heard && i < beats->count; i++)
        free(heard[i].beat);
    free(heard);
    return code;
}

/* Sets the range of each task and counts its finished units: those in `made`. stage->units must be set. A task is done
 * if its units exist; until they are known, if its heartbeat says so. */
static void status_stage_resolve(struct bl_status_stage *stage, const struct bl_numbers *made)
{
    for (size_t i = 0; i < stage->count; i++) {
        struct bl_status_task *t = &stage->task[i];
        bool known = stage->units > 0;
        struct bl_task task = {.set = true, .index = (int64_t)i, .count = stage->tasks};
        if (t->beat) {
            task.index = t->beat->task;
            task.count = t->beat->tasks;
        }
        if (known)
            bl_task_range(&task, stage->units, &t->begin, &t->end);
        t->finished = bl_numbers_count_within(made, t->begin, t->end);
        if (!t->beat)
            t->state = BL_TASK_WAITING;
        if (t->state != BL_TASK_RUNNING &&
            (known ? t->finished == t->end - t->begin : t->beat && t->beat->state == BL_BEAT_DONE))
            t->state = BL_TASK_DONE;
        if ((int64_t)i < stage->tasks)
            stage->in[t->state]++;
        if (t->state == BL_TASK_RUNNING && t->rate > 0) {
            stage->rate += t->rate;
            stage->rate_of = t->beat->step[0] ? t->beat->step : t->beat->unit;
        }
    }
    stage->finished = stage->units ? bl_numbers_count_within(made, 0, stage->units) : (int64_t)made->count;
}

/* Frees the tasks and their heartbeats. */
static void status_stage_free(struct bl_status_stage *stage)
{
    for (size_t i = 0; i < stage->count; i++)
        free(stage->task[i].beat);
    free(stage->task);
}

/* --- what to run ------------------------------------------------------------------------------------------------ */

/* Returns whether the task must be run: nobody works on it, and its results do not all exist. */
static bool task_is_due(const struct bl_status_task *t)
{
    return t->state != BL_TASK_RUNNING && t->state != BL_TASK_DONE;
}

/* The tasks that must be run: "3, 4, 7-9". */
static void stage_append_due(const struct bl_status_stage *stage, struct bl_buffer *out)
{
    int named = 0;
    for (int64_t i = 0; i < stage->tasks; i++) {
        int64_t first = i;
        while (i < stage->tasks && task_is_due(&stage->task[i]))
            i++;
        if (i == first)
            continue;
        if (named++ == TASKS_NAMED) {
            bl_buffer_text(out, ", ... (--json lists all)");
            return;
        }
        bl_buffer_printf(out, named > 1 ? ", %" PRId64 : "%" PRId64, first);
        if (i - first > 1)
            bl_buffer_printf(out, "-%" PRId64, i - 1);
    }
}

void bl_status_stage_append_command(const struct bl_status_stage *stage, const char *command, struct bl_buffer *out)
{
    bool due = false;
    for (int64_t i = 0; i < stage->tasks && stage->tasks > 1; i++)
        due |= task_is_due(&stage->task[i]);
    if (!due) {
        bl_buffer_printf(out, "run the same bload %s command to resume", command);
        return;
    }
    bl_buffer_printf(out, "run the same bload %s --task I/%" PRId64 " command for I = ", command, stage->tasks);
    stage_append_due(stage, out);
}

/* --- status of a dataset ------------------------------------------------------------------------------------------ */

#define CONFIGURATION_MAX ((size_t)1 << 24)

/* --- remaining work --------------------------------------------------------------------------------------------- */

/* Returns the seconds that the slowest running task still takes; negative: unknown. If no work is left for other tasks,
 * this decides. */
static double stage_longest_left(const struct bl_status_stage *stage)
{
    double longest = -1;
    for (size_t i = 0; i < stage->count; i++)
        longest = fmax(longest, stage->task[i].state == BL_TASK_RUNNING ? stage->task[i].left : -1);
    return longest;
}

/* Counts the blocks of the existing shards in [begin, end), by the numbers of their records. All shards have as many
 * blocks, except the last one, which may have fewer. */
static int64_t records_count_blocks(const struct bl_format *format, const struct bl_numbers *records, int64_t begin,
                                    int64_t end)
{
    int64_t last = bl_format_shards(format) - 1;
    int64_t whole = bl_numbers_count_within(records, begin, end < last ? end : last) * format->blocks_per_shard;
    return whole + (end > last && begin <= last
                        ? bl_numbers_count_within(records, last, end) * bl_format_blocks_of(format, last)
                        : 0);
}

/* Returns the steps that are not packed yet. Running tasks report theirs. For the others, the plan gives the mean steps
 * of a block. */
static double status_steps_left(const struct bl_status *s, const struct bl_numbers *records)
{
    const struct bl_format *format = &s->manifest.format;
    const struct bl_plan_info *w = &s->plan_info;
    double steps = 0, mean = (double)bl_plan_info_placed(w) / (double)w->blocks;
    for (int64_t i = 0; i < s->pack.tasks; i++) {
        const struct bl_status_task *t = &s->pack.task[i];
        if (t->state == BL_TASK_RUNNING && strcmp(t->beat->unit, "blocks") == 0) {
            steps += (double)t->beat->steps_left;
            continue;
        }
        int64_t first = bl_format_first_block(format, t->begin), end = bl_format_first_block(format, t->end);
        int64_t blocks = (end < format->blocks ? end : format->blocks) - first;
        steps += (double)(blocks - records_count_blocks(format, records, t->begin, t->end)) * mean;
    }
    return steps;
}

/* A heartbeat may be older than the last shards: then these tell how many blocks there are. */
static void status_raise_done(struct bl_status *s, const struct bl_numbers *records)
{
    for (size_t i = 0; i < s->pack.count && s->pack.units; i++) {
        const struct bl_status_task *t = &s->pack.task[i];
        if (!t->beat || strcmp(t->beat->doing, "pack") != 0 || strcmp(t->beat->unit, "blocks") != 0)
            continue;
        int64_t there = records_count_blocks(&s->manifest.format, records, t->begin, t->end);
        t->beat->done = there > t->beat->done ? there : t->beat->done;
    }
}

/* --- the whole dataset ------------------------------------------------------------------------------------------ */

/* Reads the number of tasks of a scan, which the first task has set. */
static int status_read_scan_tasks(struct bl_status *s, const char *folder, struct bl_error *e)
{
    struct bl_buffer text = {0};
    struct stat status;
    size_t size;
    int code = bl_state_files_read(folder, BL_STATE_SCAN, CONFIGURATION_MAX, &text, &status, &s->parts, e);
    if (code || !s->parts)
        goto out;
    code = bl_sealed_open(&text, BL_STATE_SCAN, e);
    if (code)
        goto out;
    const char *tasks = bl_identity_value(text.data, "tasks", 5, &size);
    if (tasks && !bl_text_to_int(tasks, size, 1, BL_TASKS_MAX, &s->scan.tasks))
        code = bl_error_set(e, BL_EFAIL, "%s/" BL_STATE_SCAN ": \"%.*s\" is not a number of tasks", folder, (int)size,
                            tasks);
out:
    bl_buffer_free(&text);
    return code;
}

/* Reads the draft of the manifest, which exists once packing has begun. */
static int status_read_draft(struct bl_status *s, const char *folder, struct bl_error *e)
{
    struct bl_buffer text = {0};
    struct stat status;
    bool found, sound;
    int code = bl_state_files_read(folder, BL_STATE_DRAFT, BL_MANIFEST_SIZE_MAX, &text, &status, &found, e);
    if (code || !found)
        goto out;
    code = bl_manifest_parse(&s->manifest, text.data ? text.data : "", text.size, &sound, e);
    if (!code && !sound)
        code = bl_error_set(e, BL_EDATA, "its checksum is wrong: it is damaged, or was edited");
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s/" BL_STATE_DRAFT, folder);
    if (code)
        goto out;
    s->has_manifest = s->has_plan_info = true;
    s->plan_info = s->manifest.plan_info;
out:
    bl_buffer_free(&text);
    return code;
}

/* Drops the records of shards that the store does not have. */
static void records_drop_lone(struct bl_numbers *records, const struct bl_mirror *mirror)
{
    size_t kept = 0;
    for (size_t i = 0; i < records->count; i++) {
        if (bl_mirror_has_shard(mirror, records->at[i]))
            records->at[kept++] = records->at[i];
    }
    records->count = kept;
}

/* Reads DIR/.bload. folder: its path. files: the names in it; those of records without a shard are dropped. */
static int status_read_unfinished(struct bl_status *s, const char *dir, const char *folder,
                                  struct bl_state_files *files, struct bl_error *e)
{
    BL_TRY(status_read_scan_tasks(s, folder, e));
    int code = BL_OK;
    if (files->draft) {
        code = status_read_draft(s, folder, e);
    } else if (files->plan_info) {
        char *path = bl_path_join(folder, BL_STATE_PLAN_INFO); /* of a plan made before packing */
        code = path ? bl_plan_info_read(&s->plan_info, path, e) : bl_error_memory(e);
        s->has_plan_info = !code;
        free(path);
    }
    BL_TRY(code);
    if (s->mirror)
        records_drop_lone(&files->records, s->mirror);
    else if (s->has_manifest)
        BL_TRY(bl_state_files_drop_lone(files, &s->manifest.format, dir, e));
    BL_TRY(status_stage_read(&s->scan, folder, "scan", &files->scans, s->now, e));
    BL_TRY(status_stage_read(&s->pack, folder, "pack", &files->packs, s->now, e));
    s->unreadable = s->scan.unreadable + s->pack.unreadable;
    s->unread = s->scan.unreadable ? s->scan.unread : s->pack.unread;
    s->scan.units = s->scan.tasks;
    s->pack.units = s->has_manifest ? bl_format_shards(&s->manifest.format) : 0;
    status_stage_resolve(&s->scan, &files->parts);
    status_stage_resolve(&s->pack, &files->records);
    status_raise_done(s, &files->records);
    s->table = files->table;
    s->shared = files->plan;
    s->plan = files->plan || s->has_manifest;
    if (s->pack.units && s->pack.finished == s->pack.units)
        s->at = BL_AT_FINISH;
    else if (s->plan || files->records.count || (s->pack.in[BL_TASK_RUNNING] && s->table))
        s->at = BL_AT_PACK;
    else
        s->at = s->table || (s->parts && s->scan.finished == s->scan.tasks) ? BL_AT_PLAN : BL_AT_SCAN;
    s->scan.left =
        s->scan.in[BL_TASK_RUNNING] + s->scan.in[BL_TASK_DONE] == s->scan.tasks ? stage_longest_left(&s->scan) : -1;
    s->pack.left = -1;
    if (s->pack.units)
        s->finished_blocks = records_count_blocks(&s->manifest.format, &files->records, 0, s->pack.units);
    if (s->pack.units && s->pack.rate > 0)
        s->pack.left = fmax(status_steps_left(s, &files->records) / s->pack.rate, stage_longest_left(&s->pack));
    return BL_OK;
}

/* Reads a dataset that has a manifest, and looks for files that it has lost. A view has no shards, but sources. */
static int status_read_complete(struct bl_status *s, const char *dir, struct bl_error *e)
{
    BL_TRY(bl_manifest_read(&s->manifest, dir, e));
    s->at = BL_AT_END;
    s->has_manifest = s->has_plan_info = s->table = s->plan = true;
    s->plan_info = s->manifest.plan_info;
    bool is_view = bl_manifest_is_view(&s->manifest);
    s->pack.units = s->pack.finished = is_view ? 0 : bl_format_shards(&s->manifest.format);
    s->pack.left = s->scan.left = -1;
    s->finished_blocks = s->manifest.format.blocks;
    int code = bl_missing_check_files(dir, &s->manifest, &s->lost);
    if (!code && is_view)
        code = bl_view_check_sources(&s->manifest, dir, &s->lost);
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &s->lost);
    for (int64_t first = 0; first < s->pack.units; first += BL_SHARDS_PER_FOLDER) { /* a view has none */
        uint8_t there[BL_SHARDS_PER_FOLDER] = {0};
        BL_TRY(bl_folders_read_shards(dir, &s->manifest.format, first, there, e));
        for (int64_t i = first; i < s->pack.units && i < first + BL_SHARDS_PER_FOLDER; i++) {
            s->pack.finished -= !there[i - first];
            s->finished_blocks -= there[i - first] ? 0 : bl_format_blocks_of(&s->manifest.format, i);
        }
    }
    return BL_OK;
}

/* Parses "verified-00003-of-00016". */
static bool mark_parse(const char *name, int64_t *tasks)
{
    char of[64];
    int64_t task;
    const char *middle = strstr(name, "-of-");
    if (!middle || !bl_text_numbered(middle, "-of-", 5, "", tasks))
        return false;
    snprintf(of, sizeof of, "-of-%05" PRId64, *tasks);
    return bl_text_numbered(name, "verified-", 5, of, &task) && task < *tasks;
}

/* Counts the marks of a chain of Slurm jobs, one for each bload verify task without errors. A mark older than the
 * manifest belongs to an earlier dataset. */
static int status_read_marks(struct bl_status *s, const char *dir, struct bl_error *e)
{
    struct bl_buffer path = {0}, manifest = {0};
    struct stat written, mark;
    DIR *directory = NULL;
    size_t size = strlen(dir);
    while (size > 1 && dir[size - 1] == '/')
        size--;
    bl_buffer_printf(&path, "%.*s.slurm", (int)size, dir);
    bl_buffer_printf(&manifest, "%s/" BL_MANIFEST_FILE, dir);
    int code = path.failed || manifest.failed ? bl_error_memory(e) : BL_OK;
    if (code)
        goto out;
    directory = opendir(path.data);
    s->slurm = directory != NULL;
    if (!directory || s->at != BL_AT_END || stat(manifest.data, &written) != 0)
        goto out;
    const struct timespec *since = &written.st_mtim, *at = &mark.st_mtim;
    const struct dirent *entry;
    while ((entry = readdir(directory))) {
        int64_t tasks;
        if (!mark_parse(entry->d_name, &tasks) || (s->verify_tasks && tasks != s->verify_tasks) ||
            fstatat(dirfd(directory), entry->d_name, &mark, 0) != 0 || at->tv_sec < since->tv_sec ||
            (at->tv_sec == since->tv_sec && at->tv_nsec < since->tv_nsec))
            continue;
        s->verify_tasks = tasks;
        s->verified++;
    }
out:
    if (directory)
        closedir(directory);
    bl_buffer_free(&path);
    bl_buffer_free(&manifest);
    return code;
}

/* A finish writes the manifest before it removes .bload. So open .bload first: if both are missing, no finish came in
 * between. */
static int status_read_all(struct bl_status *s, const char *dir, struct bl_error *e)
{
    struct bl_buffer folder = {0}, manifest = {0};
    struct bl_state_files files = {0};
    DIR *directory = NULL;
    bl_buffer_printf(&folder, "%s/" BL_WORK_FOLDER, dir);
    bl_buffer_printf(&manifest, "%s/" BL_MANIFEST_FILE, dir);
    int code = folder.failed || manifest.failed ? bl_error_memory(e) : BL_OK;
    if (code)
        goto out;
    directory = opendir(folder.data);
    int why = errno;
    if (access(manifest.data, F_OK) == 0) {
        code = status_read_complete(s, dir, e);
    } else if (directory) {
        code = bl_state_files_list(&files, directory, folder.data, e);
        if (!code)
            code = status_read_unfinished(s, dir, folder.data, &files, e);
    } else if (access(dir, F_OK) != 0) {
        code = bl_error_errno(e, BL_EFAIL, "cannot read %s", dir);
    } else if (why == ENOENT || why == ENOTDIR) {
        code = bl_error_set(e, BL_EFAIL, "%s is neither a dataset nor an unfinished one", dir);
    } else {
        errno = why;
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", folder.data);
    }
out:
    if (directory)
        closedir(directory);
    bl_state_files_free(&files);
    bl_buffer_free(&folder);
    bl_buffer_free(&manifest);
    return code;
}

int bl_status_read(struct bl_status *s, const char *dir, const struct bl_mirror *mirror, struct bl_error *e)
{
    *s = (struct bl_status){.now = time(NULL), .mirror = mirror};
    int code = status_read_all(s, dir, e);
    if (!code)
        code = status_read_marks(s, dir, e);
    if (code)
        bl_status_free(s);
    return code;
}

/* While shards are packed, a task of the scan that failed does not matter any more: the table exists. */
bool bl_status_is_bad(const struct bl_status *s)
{
    const struct bl_status_stage *scan = &s->scan, *pack = &s->pack;
    if (s->at == BL_AT_END)
        return s->lost.code || pack->finished < pack->units;
    if (s->at == BL_AT_FINISH)
        return false;
    return pack->in[BL_TASK_FAILED] || pack->in[BL_TASK_SILENT] ||
           (s->at == BL_AT_SCAN && (scan->in[BL_TASK_FAILED] || scan->in[BL_TASK_SILENT]));
}

void bl_status_free(struct bl_status *s)
{
    status_stage_free(&s->scan);
    status_stage_free(&s->pack);
    bl_manifest_free(&s->manifest);
    *s = (struct bl_status){0};
}

/* --- status as JSON ----------------------------------------------------------------------------------------------- */

/* Values that are not known are null. */

static json_t *json_text_or_null(const char *text)
{
    return text && *text ? bl_jansson_escaped(text) : json_null();
}

static json_t *json_count_or_null(bool is, int64_t value)
{
    return is ? json_integer(value) : json_null();
}

static json_t *json_seconds(double value)
{
    return value >= 0 ? json_real(value) : json_null();
}

/* Adds the members of a heartbeat to the object of its task. */
static void json_put_beat(json_t **object, const struct bl_beat *b)
{
    bl_jansson_set(object, "tasks", json_integer(b->tasks));
    bl_jansson_set(object, "host", json_text_or_null(b->host));
    bl_jansson_set(object, "pid", json_integer(b->pid));
    bl_jansson_set(object, "job", json_text_or_null(b->job));
    bl_jansson_set(object, "began", json_integer(b->began));
    bl_jansson_set(object, "updated", json_integer(b->updated));
    bl_jansson_set(object, "doing", json_text_or_null(b->doing));
    bl_jansson_set(object, "unit", json_text_or_null(b->unit));
    bl_jansson_set(object, "done", json_integer(b->done));
    bl_jansson_set(object, "total", json_count_or_null(b->total > 0, b->total));
    bl_jansson_set(object, "step", json_text_or_null(b->step));
    bl_jansson_set(object, "steps", json_integer(b->steps));
    bl_jansson_set(object, "steps_left", json_count_or_null(b->steps_left >= 0, b->steps_left));
    bl_jansson_set(object, "bytes", json_integer(b->bytes));
    bl_jansson_set(object, "status", json_count_or_null(b->status >= 0, b->status));
    bl_jansson_set(object, "error", json_text_or_null(b->error));
}

/* Returns the object of a task. units: "parts" or "shards", the name of the member with their number. */
static json_t *json_task(const struct bl_status_stage *stage, int64_t index, const char *units)
{
    const struct bl_status_task *t = &stage->task[index];
    json_t *object = json_object();
    bl_jansson_set(&object, "task", json_integer(t->beat ? t->beat->task : index));
    bl_jansson_set(&object, "state", json_string(bl_task_state_name(t->state)));
    bl_jansson_set(&object, units, json_count_or_null(stage->units > 0, t->end - t->begin));
    bl_jansson_set(&object, "first", json_count_or_null(stage->units > 0, t->begin));
    bl_jansson_set(&object, "finished", json_count_or_null(stage->units > 0, t->finished));
    if (t->beat) {
        json_put_beat(&object, t->beat);
        bl_jansson_set(&object, "seconds_since_update", json_integer(t->age));
        bl_jansson_set(&object, "gone", json_boolean(t->gone));
        bl_jansson_set(&object, "rate", json_real(t->rate));
        bl_jansson_set(&object, "seconds_left", json_seconds(t->left));
    }
    return object;
}

/* Returns the object of a stage, with the list of its tasks. */
static json_t *json_stage(const struct bl_status_stage *stage, const char *units)
{
    json_t *object = json_object(), *list = json_array();
    bl_jansson_set(&object, "tasks", json_count_or_null(stage->tasks > 0, stage->tasks));
    bl_jansson_set(&object, units, json_count_or_null(stage->units > 0, stage->units));
    bl_jansson_set(&object, "finished", json_integer(stage->finished));
    for (int i = 0; i < BL_TASK_STATES; i++)
        bl_jansson_set(&object, bl_task_state_name(i), json_integer(stage->in[i]));
    bl_jansson_set(&object, "rate", json_real(stage->rate));
    bl_jansson_set(&object, "rate_of", json_text_or_null(stage->rate_of));
    bl_jansson_set(&object, "seconds_left", json_seconds(stage->left));
    for (size_t i = 0; i < stage->count; i++)
        bl_jansson_push(&list, json_task(stage, (int64_t)i, units));
    bl_jansson_set(&object, "task", list);
    return object;
}

int bl_status_json(const struct bl_status *s, const char *next, struct bl_buffer *out, struct bl_error *e)
{
    static const char *const at[] = {"scan", "plan", "pack", "finish", "end"};
    bool complete = s->at == BL_AT_END;
    json_t *object = json_object();
    bl_jansson_set(&object, "complete", json_boolean(complete));
    bl_jansson_set(&object, "stage", json_string(at[s->at]));
    bl_jansson_set(&object, "good", json_boolean(!bl_status_is_bad(s)));
    bl_jansson_set(&object, "next", json_text_or_null(next));
    bl_jansson_set(&object, "now", json_integer(s->now));
    bl_jansson_set(&object, "table", json_boolean(s->table));
    bl_jansson_set(&object, "plan", json_boolean(s->plan));
    bl_jansson_set(&object, "sequences", json_count_or_null(s->has_plan_info, s->plan_info.sequences));
    bl_jansson_set(&object, "steps", json_count_or_null(s->has_plan_info, s->plan_info.steps));
    bl_jansson_set(&object, "blocks", json_count_or_null(s->has_plan_info, s->plan_info.blocks));
    bl_jansson_set(&object, "finished_blocks", json_count_or_null(s->has_manifest, s->finished_blocks));
    bl_jansson_set(&object, "shards", json_count_or_null(s->has_manifest, s->pack.units));
    bl_jansson_set(&object, "finished_shards", json_integer(s->pack.finished));
    bl_jansson_set(&object, "skipped", json_count_or_null(complete, s->manifest.skipped));
    bl_jansson_set(&object, "failed", json_count_or_null(complete, s->manifest.failed));
    bl_jansson_set(&object, "failed_steps", json_count_or_null(complete, s->manifest.failed_steps));
    bl_jansson_set(&object, "scan", json_stage(&s->scan, "parts"));
    bl_jansson_set(&object, "pack", json_stage(&s->pack, "shards"));
    bl_jansson_set(&object, "verify_tasks", json_count_or_null(s->verify_tasks > 0, s->verify_tasks));
    bl_jansson_set(&object, "verified", json_integer(s->verified));
    bl_jansson_set(&object, "unreadable", json_integer(s->unreadable));
    return bl_jansson_append(object, out, e);
}
