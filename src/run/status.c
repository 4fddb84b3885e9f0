#include "run/status.h"

#include <dirent.h>
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

#include "base/array.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "run/state.h"
#include "run/task.h"
#include "store/folders.h"
#include "store/shard_record.h"

#define BEAT_MAX ((size_t)1 << 16) /* bytes of a heartbeat file */
#define CONFIGURATION_MAX ((size_t)1 << 24)

const char *bl_status_at_name(enum bl_status_at at)
{
    static const char *const names[] = {"scan", "plan", "pack", "finish", "end"};
    return names[at];
}

const char *bl_task_state_name(enum bl_task_state state)
{
    static const char *const names[] = {"failed", "silent", "stopped", "running", "waiting", "done"};
    return names[state];
}

/* --- the files in DIR/.bload ------------------------------------------------------------------------------------ */

/* Numbers of shards, parts or tasks, ascending once they are sorted. */
struct numbers {
    int64_t *at;
    size_t count, capacity;
};

/* The names in DIR/.bload. */
struct names {
    struct numbers records, parts, scans, packs; /* scans and packs: tasks with a heartbeat */
    bool table, plan, plan_info, draft;
};

static int numbers_add(struct numbers *n, int64_t number, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(n->at, n->capacity, n->count + 1, e))
        return BL_EFAIL;
    n->at[n->count++] = number;
    return BL_OK;
}

static int numbers_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Counts the numbers in [begin, end). */
static int64_t numbers_count_within(const struct numbers *n, int64_t begin, int64_t end)
{
    size_t edge[2];
    for (int i = 0; i < 2; i++) {
        int64_t limit = i ? end : begin;
        size_t low = 0, high = n->count;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (n->at[middle] < limit)
                low = middle + 1;
            else
                high = middle;
        }
        edge[i] = low;
    }
    return (int64_t)(edge[1] - edge[0]);
}

static int names_add(struct names *names, const char *name, struct bl_error *e)
{
    int64_t number;
    if (bl_text_numbered(name, "shard-", 8, ".record", &number))
        return numbers_add(&names->records, number, e);
    if (bl_text_numbered(name, "scan-", 5, "", &number))
        return numbers_add(&names->parts, number, e);
    if (bl_text_numbered(name, "scan-task-", 5, "", &number))
        return numbers_add(&names->scans, number, e);
    if (bl_text_numbered(name, "task-", 5, "", &number))
        return numbers_add(&names->packs, number, e);
    names->table |= strcmp(name, BL_STATE_SEQUENCES) == 0;
    names->plan |= strcmp(name, BL_STATE_PLAN_FILE) == 0;
    names->plan_info |= strcmp(name, BL_STATE_PLAN_WORDS) == 0;
    names->draft |= strcmp(name, BL_STATE_DRAFT) == 0;
    return BL_OK;
}

static int names_read(struct names *names, DIR *directory, const char *folder, struct bl_error *e)
{
    int code = BL_OK;
    const struct dirent *entry;
    while (!code && (errno = 0, entry = readdir(directory)))
        code = names_add(names, entry->d_name, e);
    if (!code && errno)
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", folder);
    struct numbers *all[] = {&names->records, &names->parts, &names->scans, &names->packs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->count)
            qsort(all[i]->at, all[i]->count, sizeof *all[i]->at, numbers_compare);
    }
    return code;
}

/* Drops records without a shard, which a process killed in between leaves: such a shard must still be packed. */
static int records_drop_lone(struct numbers *records, const struct bl_format *format, const char *dir,
                             struct bl_error *e)
{
    uint8_t there[BL_SHARDS_PER_FOLDER];
    int64_t first = -1;
    size_t kept = 0;
    int code = BL_OK;
    for (size_t i = 0; i < records->count && !code; i++) {
        int64_t shard = records->at[i], place = shard % BL_SHARDS_PER_FOLDER;
        if (shard - place != first) {
            first = shard - place;
            memset(there, 0, sizeof there);
            code = bl_folders_read_shards(dir, format, first, there, e);
        }
        if (there[place])
            records->at[kept++] = shard;
    }
    records->count = kept;
    return code;
}

static void names_free(struct names *names)
{
    free(names->records.at);
    free(names->parts.at);
    free(names->scans.at);
    free(names->packs.at);
}

/* Reads folder/name: 1; 0 if it is gone, since all files go when a dataset is finished; or a code. */
static int status_read_text(const char *folder, const char *name, size_t max, struct bl_buffer *text,
                            struct stat *status, struct bl_error *e)
{
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/%s", folder, name);
    int found = bl_buffer_check(&path, e);
    if (!found && stat(path.data, status) != 0)
        found = errno == ENOENT ? 0 : bl_error_errno(e, BL_EFAIL, "cannot look at %s", path.data);
    else if (!found)
        found = bl_io_read_file(path.data, max, text, e) ? BL_EFAIL : 1;
    bl_buffer_free(&path);
    return found;
}

/* --- tasks ------------------------------------------------------------------------------------------------------ */

/* A task is silent only if both clocks agree: the writer's, in the beat, and that of the file's time, which may be a
 * server's. So one wrong clock does not make a task silent. */
static int64_t beat_age(const struct bl_beat *beat, const struct stat *status, int64_t now)
{
    int64_t last = beat->updated > status->st_mtime ? beat->updated : status->st_mtime;
    return now > last ? now - last : 0;
}

/* Whether the beat's process on this machine has ended. Two machines of the same name may see each other's beats, so a
 * recent beat is trusted (BL_STATUS_SILENT_GONE). */
static bool beat_process_is_gone(const struct bl_beat *beat)
{
    char host[sizeof beat->host] = "";
    return gethostname(host, sizeof host - 1) == 0 && strcmp(host, beat->host) == 0 && beat->pid > 0 &&
           beat->pid <= INT32_MAX && kill((pid_t)beat->pid, 0) != 0 && errno == ESRCH;
}

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
    double units = fmax((double)b->done, (double)b->parts / 1000);
    if (b->milliseconds > 0)
        t->rate = (b->step[0] ? (double)b->steps : units) * 1000 / (double)b->milliseconds;
    if (t->rate > 0 && b->step[0])
        t->left = (double)b->steps_left / t->rate;
    else if (t->rate > 0 && b->total)
        t->left = fmax((double)b->total - units, 0) / t->rate;
}

/* Reads the heartbeat of a task. task->beat stays NULL if the file is gone or invalid. */
static int task_read_beat(struct bl_status *s, const char *folder, const char *stage, int64_t index,
                          struct bl_status_task *task, struct bl_error *e)
{
    char name[BL_BEAT_FILE_MAX];
    struct bl_buffer text = {0};
    struct stat status;
    struct bl_error why = {0};
    *task = (struct bl_status_task){0};
    int found = status_read_text(folder, bl_beat_file(stage, index, name), BEAT_MAX, &text, &status, &why);
    if (found == 1) {
        task->beat = malloc(sizeof *task->beat);
        int code = task->beat ? bl_beat_parse(task->beat, text.data ? text.data : "", text.size, &why) : BL_OK;
        if (!code && task->beat && (task->beat->task != index || strcmp(task->beat->stage, stage) != 0))
            code = bl_error_set(&why, BL_EDATA, "it tells of another task");
        if (!code && task->beat)
            task->age = beat_age(task->beat, &status, s->now);
        found = code ? code : 1;
    }
    bl_buffer_free(&text);
    if (found == 1)
        return task->beat ? BL_OK : bl_error_memory(e);
    free(task->beat);
    task->beat = NULL;
    if (found < 0 && !s->unreadable++)
        bl_error_set(&s->unread, why.code, "%s: %s", name, why.text);
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

static int stage_read_tasks(struct bl_status *s, struct bl_status_stage *stage, const char *folder, const char *name,
                            const struct numbers *there, struct bl_error *e)
{
    struct bl_status_task *heard = calloc(there->count + 1, sizeof *heard);
    int code = heard ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < there->count && !code; i++)
        code = task_read_beat(s, folder, name, there->at[i], &heard[i], e);
    if (!code)
        code = stage_place_tasks(stage, heard, there->count, e);
    for (size_t i = 0; heard && i < there->count; i++)
        free(heard[i].beat);
    free(heard);
    return code;
}

/* Sets the range of each task and its finished units, once the number of units is known. A task is done if its units
 * exist; until they are known, if its heartbeat says so. */
static void stage_resolve(struct bl_status_stage *stage, const struct numbers *there)
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
        t->finished = numbers_count_within(there, t->begin, t->end);
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
    stage->finished = stage->units ? numbers_count_within(there, 0, stage->units) : (int64_t)there->count;
}

/* --- remaining work --------------------------------------------------------------------------------------------- */

/* If no work is left for other tasks, the slowest running task decides. */
static double stage_longest_left(const struct bl_status_stage *stage)
{
    double longest = -1;
    for (size_t i = 0; i < stage->count; i++)
        longest = fmax(longest, stage->task[i].state == BL_TASK_RUNNING ? stage->task[i].left : -1);
    return longest;
}

static int64_t shards_count_blocks(const struct bl_format *format, int64_t begin, int64_t end)
{
    int64_t shards = bl_format_shards(format);
    int64_t first = begin < shards ? bl_format_first_block(format, begin) : format->blocks;
    return (end < shards ? bl_format_first_block(format, end) : format->blocks) - first;
}

/* Counts the blocks of the existing shards in [begin, end). Only the last shard may be smaller. */
static int64_t records_count_blocks(const struct bl_format *format, const struct numbers *records, int64_t begin,
                                    int64_t end)
{
    int64_t last = bl_format_shards(format) - 1;
    int64_t whole = numbers_count_within(records, begin, end < last ? end : last) * format->blocks_per_shard;
    return whole + (end > last && begin <= last
                        ? numbers_count_within(records, last, end) * bl_format_blocks_of(format, last)
                        : 0);
}

/* Running tasks report their remaining steps. For the others, the plan gives the mean steps of a block. */
static double status_steps_left(const struct bl_status *s, const struct numbers *records)
{
    const struct bl_format *format = &s->manifest.format;
    const struct bl_plan_info *w = &s->plan_info;
    double steps = 0, mean = (double)(w->steps - w->deleted) / (double)w->blocks;
    for (int64_t i = 0; i < s->pack.tasks; i++) {
        const struct bl_status_task *t = &s->pack.task[i];
        int64_t blocks =
            shards_count_blocks(format, t->begin, t->end) - records_count_blocks(format, records, t->begin, t->end);
        bool told = t->state == BL_TASK_RUNNING && strcmp(t->beat->unit, "blocks") == 0;
        steps += told ? (double)t->beat->steps_left : (double)blocks * mean;
    }
    return steps;
}

static void status_estimate(struct bl_status *s, const struct names *names)
{
    s->scan.left =
        s->scan.in[BL_TASK_RUNNING] + s->scan.in[BL_TASK_DONE] == s->scan.tasks ? stage_longest_left(&s->scan) : -1;
    s->pack.left = -1;
    if (!s->pack.units)
        return;
    s->finished_blocks = records_count_blocks(&s->manifest.format, &names->records, 0, s->pack.units);
    if (s->pack.rate > 0)
        s->pack.left = fmax(status_steps_left(s, &names->records) / s->pack.rate, stage_longest_left(&s->pack));
}

/* --- the whole dataset ------------------------------------------------------------------------------------------ */

/* Reads the number of tasks of a scan, which the first task has set. */
static int status_read_scan_tasks(struct bl_status *s, const char *folder, struct bl_error *e)
{
    struct bl_buffer text = {0};
    struct stat status;
    const char *line;
    size_t at = 0, size;
    int found = status_read_text(folder, BL_STATE_SCAN, CONFIGURATION_MAX, &text, &status, e);
    s->parts = found == 1;
    while (found == 1 && bl_text_next_line(text.data, text.size, &at, &line, &size)) {
        if (size > 7 && strncmp(line, "tasks: ", 7) == 0 &&
            !bl_text_to_int(line + 7, size - 7, 1, BL_TASKS_MAX, &s->scan.tasks))
            found = bl_error_set(e, BL_EFAIL, "%s/" BL_STATE_SCAN ": \"%.*s\" cannot be", folder, (int)size, line);
    }
    bl_buffer_free(&text);
    return found < 0 ? found : BL_OK;
}

/* Reads the draft of the manifest, which exists once packing has begun. */
static int status_read_draft(struct bl_status *s, const char *folder, struct bl_error *e)
{
    struct bl_buffer text = {0};
    struct stat status;
    bool sound;
    int found = status_read_text(folder, BL_STATE_DRAFT, BL_MANIFEST_SIZE_MAX, &text, &status, e);
    int code = found < 0 ? found : BL_OK;
    if (found == 1)
        code = bl_manifest_parse(&s->manifest, text.data ? text.data : "", text.size, &sound, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s/" BL_STATE_DRAFT, folder);
    s->has_manifest = s->has_words = found == 1 && !code;
    if (s->has_manifest)
        s->plan_info = s->manifest.plan_info;
    bl_buffer_free(&text);
    return code;
}

/* Reads the plan_info of a plan made before packing. */
static int status_read_words(struct bl_status *s, const char *folder, struct bl_error *e)
{
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/" BL_STATE_PLAN_WORDS, folder);
    int code = bl_buffer_check(&path, e);
    if (!code)
        code = bl_plan_info_read(&s->plan_info, path.data, e);
    s->has_words = !code;
    bl_buffer_free(&path);
    return code;
}

static void status_find_stage(struct bl_status *s, const struct names *names)
{
    s->table = names->table;
    s->shared = names->plan;
    s->plan = names->plan || s->has_manifest;
    if (s->pack.units && s->pack.finished == s->pack.units)
        s->at = BL_AT_FINISH;
    else if (s->plan || names->records.count || (s->pack.in[BL_TASK_RUNNING] && s->table))
        s->at = BL_AT_PACK;
    else
        s->at = s->table || (s->parts && s->scan.finished == s->scan.tasks) ? BL_AT_PLAN : BL_AT_SCAN;
}

static int status_read_unfinished(struct bl_status *s, const char *dir, const char *folder, struct names *names,
                                  struct bl_error *e)
{
    int code = status_read_scan_tasks(s, folder, e);
    if (code)
        return code;
    code = names->draft ? status_read_draft(s, folder, e) : names->plan_info ? status_read_words(s, folder, e) : BL_OK;
    if (code)
        return code;
    if (s->has_manifest)
        code = records_drop_lone(&names->records, &s->manifest.format, dir, e);
    if (code)
        return code;
    code = stage_read_tasks(s, &s->scan, folder, "scan", &names->scans, e);
    if (code)
        return code;
    code = stage_read_tasks(s, &s->pack, folder, "pack", &names->packs, e);
    if (code)
        return code;
    s->scan.units = s->scan.tasks;
    s->pack.units = s->has_manifest ? bl_format_shards(&s->manifest.format) : 0;
    stage_resolve(&s->scan, &names->parts);
    stage_resolve(&s->pack, &names->records);
    status_find_stage(s, names);
    status_estimate(s, names);
    return BL_OK;
}

/* Counts shards lost since the dataset was finished. */
static int status_count_lost(struct bl_status *s, const char *dir, struct bl_error *e)
{
    const struct bl_format *format = &s->manifest.format;
    int code = BL_OK;
    for (int64_t first = 0; first < s->pack.units && !code; first += BL_SHARDS_PER_FOLDER) {
        uint8_t there[BL_SHARDS_PER_FOLDER] = {0};
        code = bl_folders_read_shards(dir, format, first, there, e);
        for (int64_t i = first; i < s->pack.units && i < first + BL_SHARDS_PER_FOLDER; i++) {
            s->pack.finished -= !there[i - first];
            s->finished_blocks -= there[i - first] ? 0 : bl_format_blocks_of(format, i);
        }
    }
    return code;
}

static int status_read_complete(struct bl_status *s, const char *dir, struct bl_error *e)
{
    int code = bl_manifest_read(&s->manifest, dir, e);
    if (code)
        return code;
    s->at = BL_AT_END;
    s->has_manifest = s->has_words = s->table = s->plan = true;
    s->plan_info = s->manifest.plan_info;
    s->pack.units = s->pack.finished = bl_format_shards(&s->manifest.format);
    s->pack.left = s->scan.left = -1;
    s->finished_blocks = s->manifest.format.blocks;
    return status_count_lost(s, dir, e);
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

static bool stat_is_older(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec < b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

/* Counts the marks of a chain of Slurm jobs, one for each bload verify task without errors. A mark older than the
 * manifest belongs to an earlier dataset. */
static int status_read_marks(struct bl_status *s, const char *dir, struct bl_error *e)
{
    struct bl_buffer path = {0}, manifest = {0};
    struct stat written, mark;
    size_t size = strlen(dir);
    while (size > 1 && dir[size - 1] == '/')
        size--;
    bl_buffer_printf(&path, "%.*s.slurm", (int)size, dir);
    bl_buffer_printf(&manifest, "%s/" BL_MANIFEST_FILE, dir);
    int code = bl_buffer_check(&path, e);
    if (!code)
        code = bl_buffer_check(&manifest, e);
    DIR *directory = code ? NULL : opendir(path.data);
    const struct dirent *entry;
    s->slurm = directory != NULL;
    bool complete = directory && s->at == BL_AT_END && stat(manifest.data, &written) == 0;
    while (complete && (entry = readdir(directory))) {
        int64_t tasks;
        if (!mark_parse(entry->d_name, &tasks) || (s->verify_tasks && tasks != s->verify_tasks) ||
            fstatat(dirfd(directory), entry->d_name, &mark, 0) != 0 || stat_is_older(&mark, &written))
            continue;
        s->verify_tasks = tasks;
        s->verified++;
    }
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
    struct names names = {0};
    bl_buffer_printf(&folder, "%s/" BL_WORK_FOLDER, dir);
    bl_buffer_printf(&manifest, "%s/" BL_MANIFEST_FILE, dir);
    int code = bl_buffer_check(&folder, e);
    if (!code)
        code = bl_buffer_check(&manifest, e);
    DIR *directory = code ? NULL : opendir(folder.data);
    int why = errno;
    if (!code && access(manifest.data, F_OK) == 0) {
        code = status_read_complete(s, dir, e);
    } else if (!code && !directory && (why == ENOENT || why == ENOTDIR)) {
        code = access(dir, F_OK) == 0 ? bl_error_set(e, BL_EFAIL, "%s is neither a dataset nor an unfinished one", dir)
                                      : bl_error_errno(e, BL_EFAIL, "cannot look at %s", dir);
    } else if (!code && !directory) {
        errno = why;
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", folder.data);
    } else if (!code) {
        code = names_read(&names, directory, folder.data, e);
        if (!code)
            code = status_read_unfinished(s, dir, folder.data, &names, e);
    }
    if (directory)
        closedir(directory);
    names_free(&names);
    bl_buffer_free(&folder);
    bl_buffer_free(&manifest);
    return code;
}

int bl_status_read(struct bl_status *s, const char *dir, struct bl_error *e)
{
    *s = (struct bl_status){.now = time(NULL)};
    int code = status_read_all(s, dir, e);
    if (!code)
        code = status_read_marks(s, dir, e);
    if (code)
        bl_status_free(s);
    return code;
}

bool bl_status_is_bad(const struct bl_status *s)
{
    const struct bl_status_stage *scan = &s->scan, *pack = &s->pack;
    if (s->at == BL_AT_END)
        return pack->finished < pack->units;
    if (s->at == BL_AT_FINISH)
        return false;
    return pack->in[BL_TASK_FAILED] || pack->in[BL_TASK_SILENT] ||
           (s->at == BL_AT_SCAN && (scan->in[BL_TASK_FAILED] || scan->in[BL_TASK_SILENT]));
}

static void stage_free(struct bl_status_stage *stage)
{
    for (size_t i = 0; i < stage->count; i++)
        free(stage->task[i].beat);
    free(stage->task);
}

void bl_status_free(struct bl_status *s)
{
    stage_free(&s->scan);
    stage_free(&s->pack);
    bl_manifest_free(&s->manifest);
    *s = (struct bl_status){0};
}
