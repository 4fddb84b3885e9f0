/* Tracks progress and writes heartbeats. A table of struct line maps each member of struct bl_beat to a line of the
 * file, for writing and for parsing alike. A file begins like this:
 *
 *     stage: pack
 *     task: 3
 *     tasks: 16
 *     host: node7 */
#include "run/heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/process.h"
#include "base/text.h"
#include "run/mirror.h"
#include "store/folders.h"

/* --- progress ----------------------------------------------------------------------------------------------------- */

void bl_progress_start(struct bl_progress *p, const char *what, const char *unit, const char *step, int64_t total)
{
    *p = (struct bl_progress){.what = what, .unit = unit, .step = step, .total = total, .started = bl_seconds_now()};
}

void bl_progress_work(const struct bl_progress *p, double *done, double *left)
{
    if (p->step && p->steps_left >= 0) {
        *done = (double)p->steps;
        *left = p->total ? (double)p->steps_left : -1;
    } else if (p->bytes_total) {
        *done = (double)p->bytes;
        *left = fmax((double)p->bytes_total - *done, 0);
    } else {
        *done = p->parts ? (double)p->parts / 1000 : (double)p->done;
        *left = p->total ? fmax((double)p->total - *done, 0) : -1;
    }
}

double bl_progress_fraction(const struct bl_progress *p)
{
    double done, left, found = p->step && p->steps_left >= 0 ? (double)p->steps_found : 0;
    bl_progress_work(p, &done, &left);
    return left >= 0 && found + done > 0 ? (found + done) / (found + done + left) : 0;
}

double bl_progress_seconds(const struct bl_progress *p)
{
    return bl_seconds_now() - p->started;
}

/* --- heartbeat ---------------------------------------------------------------------------------------------------- */

/* --- the format ------------------------------------------------------------------------------------------------- */

static const char *const states[] = {"running", "done", "failed", "stopped", NULL};

/* The three sorts of lines: a text, a number, and a number that the file has as a word. */
#define TEXT(label, member)                                                                                            \
    {                                                                                                                  \
        label, offsetof(struct bl_beat, member), sizeof((struct bl_beat *)0)->member, NULL                             \
    }
#define NUMBER(label, member)                                                                                          \
    {                                                                                                                  \
        label, offsetof(struct bl_beat, member), 0, NULL                                                               \
    }
#define WORD(label, member, names)                                                                                     \
    {                                                                                                                  \
        label, offsetof(struct bl_beat, member), 0, names                                                              \
    }

/* The lines of the file, in this order. A text has room bytes, including its NUL. Any other value is a number, or the
 * index of one of the names. */
static const struct line {
    const char *name;
    size_t offset, room;
    const char *const *names;
} lines[] = {
    TEXT("stage", stage),
    NUMBER("task", task),
    NUMBER("tasks", tasks),
    TEXT("host", host),
    NUMBER("pid", pid),
    TEXT("job", job),
    NUMBER("began", began),
    NUMBER("updated", updated),
    WORD("state", state, states),
    NUMBER("status", status),
    TEXT("doing", doing),
    TEXT("unit", unit),
    NUMBER("done", done),
    NUMBER("total", total),
    NUMBER("parts", parts),
    TEXT("step", step),
    NUMBER("steps", steps),
    NUMBER("steps left", steps_left),
    NUMBER("milliseconds", milliseconds),
    NUMBER("bytes", bytes),
    TEXT("error", error),
};

#define LINES (sizeof lines / sizeof *lines)

char *bl_beat_file(const char *stage, int64_t task, char out[BL_BEAT_FILE_MAX])
{
    bool scan = strcmp(stage, "scan") == 0;
    snprintf(out, BL_BEAT_FILE_MAX, "%stask-%05" PRId64, scan ? "scan-" : "", task);
    return out;
}

void bl_beat_format(const struct bl_beat *beat, struct bl_buffer *out)
{
    for (size_t i = 0; i < LINES; i++) {
        const struct line *line = &lines[i];
        const char *at = (const char *)beat + line->offset;
        bl_buffer_printf(out, "%s: ", line->name);
        if (line->room)
            bl_text_escape(out, at, strlen(at));
        else if (line->names)
            bl_buffer_text(out, line->names[*(const int64_t *)(const void *)at]);
        else
            bl_buffer_int(out, *(const int64_t *)(const void *)at);
        bl_buffer_byte(out, '\n');
    }
}

/* Parses the value of a line into its member of the beat. Returns false if the value is invalid. */
static bool beat_parse_value(const struct line *line, struct bl_beat *beat, const char *value, size_t size)
{
    char *at = (char *)beat + line->offset;
    int64_t *number = (int64_t *)(void *)at;
    if (line->room) {
        /* A longer text is cut to its room. A NUL within it makes it invalid, as does an unknown escape. */
        struct bl_buffer copy = {0};
        bl_buffer_append(&copy, value, size);
        int64_t plain = !size ? 0 : copy.data ? bl_text_unescape(copy.data, size) : -1;
        bool good = plain >= 0 && !(size && memchr(copy.data, '\0', (size_t)plain));
        snprintf(at, line->room, "%.*s", good ? (int)plain : 0, size ? copy.data : "");
        bl_buffer_free(&copy);
        return good;
    }
    if (!line->names)
        return bl_text_to_int(value, size, -1, INT64_MAX, number);
    for (*number = 0; line->names[*number]; ++*number) {
        const char *name = line->names[*number];
        if (strlen(name) == size && memcmp(name, value, size) == 0)
            return true;
    }
    return false;
}

int bl_beat_parse(struct bl_beat *beat, const char *text, size_t size, struct bl_error *e)
{
    *beat = (struct bl_beat){.task = -1};
    const char *line, *colon;
    size_t at = 0, line_size;
    while (bl_text_next_line(text, size, &at, &line, &line_size)) {
        colon = memmem(line, line_size, ": ", 2);
        if (!colon)
            return bl_error_set(e, BL_EDATA, "a line without a name");
        size_t name_size = (size_t)(colon - line), value_size = line_size - name_size - 2;
        for (size_t i = 0; i < LINES; i++) {
            bool named = strlen(lines[i].name) == name_size && memcmp(lines[i].name, line, name_size) == 0;
            if (named && !beat_parse_value(&lines[i], beat, colon + 2, value_size))
                return bl_error_set(e, BL_EDATA, "the value of \"%s\" is invalid", lines[i].name);
        }
    }
    if (!beat->stage[0] || beat->task < 0 || beat->tasks <= beat->task || beat->tasks > BL_TASKS_MAX)
        return bl_error_set(e, BL_EDATA, "the stage or the task is missing or invalid");
    return BL_OK;
}

/* --- the heartbeat of this process ------------------------------------------------------------------------------ */

/* Writes the beat to the store. */
static int beat_send(const struct bl_heartbeat *h, const struct bl_buffer *text, struct bl_error *e)
{
    char *name = bl_path_join(BL_WORK_FOLDER, bl_path_name(h->path));
    int code = name ? bl_mirror_replace(h->mirror, name, text->data, text->size, e) : bl_error_memory(e);
    free(name);
    return code;
}

/* Writes the beat to its file. The rename is atomic, so that a reader finds the old beat or the new one. There is no
 * sync: after a crash of the machine the task is silent anyway. */
static int beat_write(struct bl_heartbeat *h, struct bl_error *e)
{
    struct bl_buffer text = {0};
    h->written = bl_seconds_now();
    h->beat.updated = time(NULL);
    bl_beat_format(&h->beat, &text);
    int code = bl_buffer_check(&text, e);
    int fd = code ? code : bl_fs_create(h->temporary, O_WRONLY, e);
    if (fd < 0) {
        bl_buffer_free(&text);
        return fd;
    }
    code = bl_io_write(fd, text.data, text.size, h->temporary, e);
    if (close(fd) != 0 && !code)
        code = bl_error_errno(e, BL_EFAIL, "cannot close %s", h->temporary);
    if (!code)
        code = bl_fs_rename(h->temporary, h->path, e);
    if (code)
        (void)bl_fs_unlink(h->temporary);
    if (!code && h->mirror)
        code = beat_send(h, &text, e);
    bl_buffer_free(&text);
    return code;
}

/* Writes the beat, and counts a failure instead of returning it: work continues without a heartbeat. One that is not
 * sent because the run ends is no failure. */
static void heartbeat_try(struct bl_heartbeat *h)
{
    struct bl_error fault = {0};
    int code = beat_write(h, &fault);
    if (code && code != BL_ECANCEL && !h->missed++)
        h->error = fault;
}

void bl_heartbeat_begin(struct bl_heartbeat *h, const char *dir, struct bl_mirror *mirror, const char *stage,
                        const struct bl_task *task)
{
    *h = (struct bl_heartbeat){.mirror = mirror,
                               .beat = {.tasks = 1, .pid = getpid(), .began = time(NULL), .status = -1}};
    snprintf(h->beat.stage, sizeof h->beat.stage, "%s", stage);
    if (task->set) {
        h->beat.task = task->index;
        h->beat.tasks = task->count;
    }
    if (gethostname(h->beat.host, sizeof h->beat.host - 1) != 0)
        h->beat.host[0] = '\0';
    const char *array = getenv("SLURM_ARRAY_JOB_ID"), *element = getenv("SLURM_ARRAY_TASK_ID");
    const char *alone = getenv("SLURM_JOB_ID");
    if (array && element) /* the name that Slurm gives an array element: "77_3" */
        snprintf(h->beat.job, sizeof h->beat.job, "%s_%s", array, element);
    else if (alone)
        snprintf(h->beat.job, sizeof h->beat.job, "%s", alone);
    char file[BL_BEAT_FILE_MAX];
    struct bl_buffer path = {0}, temporary = {0};
    bl_buffer_printf(&path, "%s/.bload/%s", dir, bl_beat_file(stage, h->beat.task, file));
    if (bl_buffer_check(&path, &h->error) || bl_temporary_name(path.data, &temporary, &h->error)) {
        bl_buffer_free(&path);
        bl_buffer_free(&temporary);
        h->missed++;
        return;
    }
    h->path = path.data;
    h->temporary = temporary.data;
    heartbeat_try(h);
}

void bl_heartbeat_set_phase(struct bl_heartbeat *h, const char *doing)
{
    if (!h->path)
        return;
    h->beat.unit[0] = h->beat.step[0] = '\0';
    h->beat.done = h->beat.total = h->beat.parts = h->beat.steps = h->beat.steps_left = h->beat.milliseconds = 0;
    snprintf(h->beat.doing, sizeof h->beat.doing, "%s", doing);
    heartbeat_try(h);
}

/* Every tick is stored, so that the last beat has the final progress. A new phase is written at once. */
void bl_heartbeat_tick(struct bl_heartbeat *h, const struct bl_progress *progress)
{
    if (!h->path)
        return;
    bool turned = strcmp(h->beat.doing, progress->what) != 0;
    struct bl_beat *b = &h->beat;
    snprintf(b->doing, sizeof b->doing, "%s", progress->what);
    snprintf(b->unit, sizeof b->unit, "%s", progress->unit);
    snprintf(b->step, sizeof b->step, "%s", progress->step ? progress->step : "");
    b->done = progress->done;
    b->total = progress->total;
    b->parts = progress->parts;
    b->steps = progress->steps;
    b->steps_left = progress->steps_left;
    b->milliseconds = (int64_t)(bl_progress_seconds(progress) * 1000);
    b->bytes = progress->bytes;
    if (turned || bl_seconds_now() - h->written >= BL_HEARTBEAT_SECONDS)
        heartbeat_try(h);
}

void bl_heartbeat_free(struct bl_heartbeat *h)
{
    free(h->path);
    free(h->temporary);
    h->path = h->temporary = NULL;
}

/* An error of the last write is no error if the folder is gone: bload finish has then removed it, and the dataset is
 * complete. */
void bl_heartbeat_end(struct bl_heartbeat *h, int status, const char *error)
{
    if (!h->path)
        return;
    bool done = status == 0 || status == 3;
    h->beat.state = done ? BL_BEAT_DONE : status > 128 ? BL_BEAT_STOPPED : BL_BEAT_FAILED;
    h->beat.status = status;
    snprintf(h->beat.error, sizeof h->beat.error, "%s", error ? error : "");
    struct bl_error e = {0};
    int code = beat_write(h, &e);
    char *slash = strrchr(h->path, '/');
    *slash = '\0';
    if (code && (access(h->path, F_OK) == 0 || errno != ENOENT)) {
        bl_error_pass(&h->error, e.code, &e);
        h->missed++;
    }
    bl_heartbeat_free(h);
}
