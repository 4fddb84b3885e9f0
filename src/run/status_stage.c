#include "run/status_stage.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/task.h"

#define TASKS_NAMED 20             /* ranges of tasks named in a message, at most */
#define BEAT_MAX ((size_t)1 << 16) /* bytes of a heartbeat file */

const char *bl_task_state_name(enum bl_task_state state)
{
    static const char *const names[] = {"failed", "silent", "stopped", "running", "waiting", "done"};
    return names[state];
}

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
    if (code || !found)
        goto out;
    code = bl_beat_parse(task->beat, text.data ? text.data : "", text.size, &why);
    if (code)
        goto out;
    if (task->beat->task != index || strcmp(task->beat->stage, stage_name) != 0)
        code = bl_error_set(&why, BL_EDATA, "it belongs to another task");
    else
        task->age = beat_age(task->beat, &status, now);
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

int bl_status_stage_read(struct bl_status_stage *stage, const char *folder, const char *name,
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

/* A task is done if its units exist; until they are known, if its heartbeat says so. */
void bl_status_stage_resolve(struct bl_status_stage *stage, const struct bl_numbers *made)
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

void bl_status_stage_free(struct bl_status_stage *stage)
{
    for (size_t i = 0; i < stage->count; i++)
        free(stage->task[i].beat);
    free(stage->task);
}

/* --- what to run ------------------------------------------------------------------------------------------------ */

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
