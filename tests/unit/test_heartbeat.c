#include "run/heartbeat.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/io.h"
#include "unit.h"

UNIT_SCRATCH

#define FILE_MAX ((size_t)1 << 16)

static struct bl_beat read_beat(const char *path)
{
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    struct bl_error e = {0};
    struct bl_beat beat;
    ck_assert_int_eq(bl_io_read_file(path, FILE_MAX, &text, &e), BL_OK);
    ck_assert_msg(bl_beat_parse(&beat, text.data, text.size, &e) == BL_OK, "%s", e.text);
    return beat;
}

static int parse(struct bl_beat *beat, const char *text)
{
    struct bl_error e = {0};
    return bl_beat_parse(beat, text, strlen(text), &e);
}

UNIT_TEST(what_is_written_is_read)
{
    struct bl_beat wrote = {.stage = "pack", .task = 3, .tasks = 8, .host = "node\n03", .pid = 4711, .job = "77_3"};
    wrote.state = BL_BEAT_FAILED;
    wrote.status = 1;
    wrote.began = 1700000000;
    wrote.updated = 1700000100;
    wrote.done = 12;
    wrote.total = 40;
    wrote.steps = INT64_MAX;
    strcpy(wrote.step, "frames");
    strcpy(wrote.error, "cannot open a\tb\\c\xff: no: such\nfile");
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    struct bl_beat read;
    bl_beat_format(&wrote, &text);
    ck_assert_int_eq(parse(&read, text.data), BL_OK);
    ck_assert_mem_eq(&read, &wrote, sizeof read);
}

/* An error may become longer by its escapes than the room that it came from. */
UNIT_TEST(a_long_error_comes_back_whole)
{
    struct bl_beat wrote = {.stage = "pack", .tasks = 1, .status = 1}, read;
    memset(wrote.error, '\t', sizeof wrote.error - 1);
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    bl_beat_format(&wrote, &text);
    ck_assert_int_eq(parse(&read, text.data), BL_OK);
    ck_assert_str_eq(read.error, wrote.error);
}

/* Version 0.2.0 calls the phase of bucketing "scatter". Any name of a phase can be read. */
UNIT_TEST(phases_of_other_versions_are_read)
{
    struct bl_beat beat;
    ck_assert_int_eq(parse(&beat, "stage: pack\ntask: 0\ntasks: 2\ndoing: scatter\n"), BL_OK);
    ck_assert_str_eq(beat.doing, "scatter");
}

UNIT_TEST(what_is_no_heartbeat_is_refused)
{
    struct bl_beat beat;
    ck_assert_int_eq(parse(&beat, "stage: pack\ntask: 0\ntasks: 2\nof a later version: x\n"), BL_OK);
    ck_assert_int_eq(beat.state, BL_BEAT_RUNNING);
    static const char *const wrong[] = {
        "",
        "x",
        "stage: pack\ntask: 0\n",
        "task: 0\ntasks: 2\n",
        "stage: pack\ntask: 2\ntasks: 2\n",
        "stage: pack\ntask: -1\ntasks: 2\n",
        "stage: pack\ntask: 0\ntasks: 100001\n",
        "stage: pack\ntask: 0\ntasks: 2\nstate: run\n",
        "stage: pack\ntask: 0\ntasks: 2\nstate: \n",
        "stage: pack\ntask: 0\ntasks: 2\npid: 99999999999999999999\n",
        "stage: pack\ntask: 0\ntasks: 2\nerror: \\q\n",
        "stage: pack\ntask: 0\ntasks: 2\nerror: \\x00\n",
    };
    for (size_t i = 0; i < COUNT(wrong); i++)
        ck_assert_msg(parse(&beat, wrong[i]) == BL_EDATA, "\"%s\"", wrong[i]);
}

UNIT_TEST(a_task_tells_how_it_goes)
{
    char before[64];
    ck_assert_int_eq(mkdir("d", 0777), 0);
    ck_assert_int_eq(mkdir("d/.bload", 0777), 0);
    unsetenv("SLURM_ARRAY_JOB_ID");
    setenv("SLURM_JOB_ID", "78", 1);
    struct bl_task task = {.set = true, .index = 3, .count = 8};
    struct bl_heartbeat h;
    bl_heartbeat_begin(&h, "d", NULL, "pack", &task);
    struct bl_beat b = read_beat("d/.bload/task-00003");
    ck_assert_str_eq(b.stage, "pack");
    ck_assert_int_eq(b.task * 100 + b.tasks, 308);
    ck_assert_int_eq(b.pid, getpid());
    ck_assert_str_eq(b.job, "78");
    ck_assert_int_eq(b.state, BL_BEAT_RUNNING);
    ck_assert_int_eq(b.status, -1);
    ck_assert_int_le(llabs(b.updated - (int64_t)time(NULL)), 60);
    bl_heartbeat_set_phase(&h, "plan");
    ck_assert_str_eq(read_beat("d/.bload/task-00003").doing, "plan");

    /* What is new to do is told at once; after that, a beat has its time, and the last one tells all. */
    struct bl_progress progress = {.what = "pack", .unit = "blocks", .step = "frames", .total = 40, .done = 1};
    bl_heartbeat_tick(&h, &progress);
    progress.done = 2;
    progress.steps_left = 77;
    bl_heartbeat_tick(&h, &progress);
    b = read_beat("d/.bload/task-00003");
    ck_assert_str_eq(b.doing, "pack");
    ck_assert_int_eq(b.done, 1);
    h.written -= BL_HEARTBEAT_SECONDS;
    bl_heartbeat_tick(&h, &progress);
    ck_assert_int_eq(read_beat("d/.bload/task-00003").done, 2);
    progress.done = 3;
    bl_heartbeat_tick(&h, &progress);
    bl_heartbeat_end(&h, 1, "cannot write x: no space");
    b = read_beat("d/.bload/task-00003");
    ck_assert_int_eq(b.done, 3);
    ck_assert_int_eq(b.steps_left, 77);
    ck_assert_int_eq(b.state, BL_BEAT_FAILED);
    ck_assert_str_eq(b.error, "cannot write x: no space");
    ck_assert_int_eq(h.missed, 0);

    /* Nothing temporary is left; what has ended is silent. */
    snprintf(before, sizeof before, "%s", "test \"$(ls -A d/.bload)\" = task-00003");
    ck_assert_int_eq(system(before), 0);
    bl_heartbeat_tick(&h, &progress);
    bl_heartbeat_end(&h, 0, NULL);
    ck_assert_int_eq(read_beat("d/.bload/task-00003").state, BL_BEAT_FAILED);
    unsetenv("SLURM_JOB_ID");
}

UNIT_TEST(ends_are_told_apart)
{
    static const struct {
        int status;
        int64_t state;
    } end[] = {{0, BL_BEAT_DONE}, {3, BL_BEAT_DONE}, {1, BL_BEAT_FAILED}, {2, BL_BEAT_FAILED}, {143, BL_BEAT_STOPPED}};
    ck_assert_int_eq(mkdir(".bload", 0777), 0);
    setenv("SLURM_ARRAY_JOB_ID", "77", 1);
    setenv("SLURM_ARRAY_TASK_ID", "3", 1);
    for (size_t i = 0; i < COUNT(end); i++) {
        struct bl_heartbeat h;
        bl_heartbeat_begin(&h, ".", NULL, "scan", &(struct bl_task){.set = true, .index = 1, .count = 2});
        bl_heartbeat_end(&h, end[i].status, NULL);
        struct bl_beat b = read_beat(".bload/scan-task-00001");
        ck_assert_int_eq(b.state, end[i].state);
        ck_assert_int_eq(b.status, end[i].status);
        ck_assert_str_eq(b.job, "77_3");
    }
    unsetenv("SLURM_ARRAY_JOB_ID");
    unsetenv("SLURM_ARRAY_TASK_ID");
}

/* What cannot be written is counted, with the first reason, and tried again; a dataset that was finished is none. */
UNIT_TEST(missed_beats_stop_nothing_and_are_counted)
{
    ck_assert_int_eq(mkdir(".bload", 0777), 0);
    ck_assert_int_eq(mkdir(".bload/task-00000", 0777), 0);
    struct bl_heartbeat h;
    bl_heartbeat_begin(&h, ".", NULL, "pack", &(struct bl_task){0});
    bl_heartbeat_set_phase(&h, "plan");
    ck_assert_int_eq(h.missed, 2);
    ck_assert_ptr_nonnull(strstr(h.error.text, "task-00000"));
    ck_assert_int_eq(rmdir(".bload/task-00000"), 0);
    bl_heartbeat_set_phase(&h, "plan");
    ck_assert_int_eq(h.missed, 2);
    struct bl_beat b = read_beat(".bload/task-00000");
    ck_assert_int_eq(b.task * 100 + b.tasks, 1);
    ck_assert_int_eq(unlink(".bload/task-00000"), 0);
    ck_assert_int_eq(rmdir(".bload"), 0);
    bl_heartbeat_end(&h, 0, NULL);
    ck_assert_int_eq(h.missed, 2);
}

UNIT_TEST(none_was_begun)
{
    struct bl_heartbeat h = {0};
    struct bl_progress progress = {.what = "pack", .unit = "blocks"};
    bl_heartbeat_set_phase(&h, "plan");
    bl_heartbeat_tick(&h, &progress);
    bl_heartbeat_end(&h, 1, "x");
    ck_assert_int_eq(h.missed, 0);
}
