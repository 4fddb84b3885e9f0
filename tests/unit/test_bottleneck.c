#include "run/bottleneck.h"
#include "cmd/summary.h"
#include "unit.h"

/* A run whose longest stage is writing: 10 s with 4 workers, who are at work all the time, and decode. */
static struct bl_run_times writing(void)
{
    struct bl_run_times t = {.scan_computes = BL_LIMIT_DECODER, .write_computes = BL_LIMIT_DECODER};
    t.stage[BL_RUN_SCANNING] = t.scan.wall = 1;
    t.stage[BL_RUN_WRITING] = t.write.wall = 10;
    t.write.worked = 40;
    t.write.processor.run = 40;
    return t;
}

static void check(const struct bl_run_times *t, enum bl_limit limit, double share)
{
    struct bl_bottleneck found = bl_bottleneck_find(t);
    ck_assert_msg(found.limit == limit, "%s, not %s", bl_limit_text(found.limit), bl_limit_text(limit));
    ck_assert_double_eq_tol(found.share, share, 1e-6);
}

UNIT_TEST(workers_on_the_processor_are_the_limit_by_what_they_do)
{
    struct bl_run_times t = writing();
    check(&t, BL_LIMIT_DECODER, 10.0 / 11);
    t.write_computes = BL_LIMIT_PROCESSOR;
    check(&t, BL_LIMIT_PROCESSOR, 10.0 / 11);
    t.write.processor = (struct bl_processor_time){.run = 10, .queued = 30}; /* other programs had it */
    check(&t, BL_LIMIT_PROCESSOR, 10.0 / 11);
    t.write.encoded = 24;
    check(&t, BL_LIMIT_ENCODER, 6.0 / 11);
}

UNIT_TEST(what_both_stages_need_is_added)
{
    struct bl_run_times t = writing();
    t.stage[BL_RUN_SCANNING] = t.scan.wall = 8;
    t.scan.worked = t.scan.processor.run = 32;
    check(&t, BL_LIMIT_DECODER, 1);
    t.scan_computes = BL_LIMIT_TOKENIZER;
    t.stage[BL_RUN_SCANNING] = t.scan.wall = 20;
    check(&t, BL_LIMIT_TOKENIZER, 20.0 / 30);
}

UNIT_TEST(workers_off_the_processor_wait_for_their_inputs)
{
    struct bl_run_times t = writing();
    t.write.processor.run = 10;
    check(&t, BL_LIMIT_READING, 7.5 / 11);
    t.write.reserved = 28; /* most of it for memory */
    check(&t, BL_LIMIT_MEMORY, 7.0 / 11);
    t.write.reserved = 0;
    t.on_gpu = true;
    check(&t, BL_LIMIT_DECODER, 10.0 / 11);
}

UNIT_TEST(a_machine_that_does_not_tell_is_not_guessed_about)
{
    struct bl_run_times t = writing();
    t.write.processor = (struct bl_processor_time){.run = 10, .is_partly = true};
    check(&t, BL_LIMIT_INPUTS, 10.0 / 11);
    t.write.processor.run = 38;
    check(&t, BL_LIMIT_DECODER, 10.0 / 11);
}

UNIT_TEST(workers_without_a_job_wait_for_what_keeps_jobs_from_them)
{
    static const enum bl_limit limits[] = {BL_LIMIT_BLOCK, BL_LIMIT_DISK, BL_LIMIT_DISK};
    for (int wait = 0; wait < BL_WAITS; wait++) {
        struct bl_run_times t = writing();
        t.write.lost[wait] = 6;
        check(&t, limits[wait], 6.0 / 11);
    }
    struct bl_run_times t = writing();
    t.stage[BL_RUN_SCANNING] = t.scan.wall = 20;
    t.scan.lost[BL_WAIT_ORDER] = 18;
    check(&t, BL_LIMIT_TABLE, 18.0 / 30);
}

UNIT_TEST(the_file_that_held_the_run_up_is_named)
{
    struct bl_run_times t = writing();
    t.write.lost[BL_WAIT_JOB] = 6;
    t.write.held = 1;
    ck_assert_int_eq(bl_work_note_file(&t.write, "a", 2, &e), 0);
    t.write.held = 5;
    ck_assert_int_eq(bl_work_note_file(&t.write, "b", 8, &e), 0);
    t.write.held = 4;
    ck_assert_int_eq(bl_work_note_file(&t.write, "c", 9, &e), 0);
    t.write.held = 6;
    ck_assert_int_eq(bl_work_note_file(&t.write, "no reason", 2, &e), 0);
    check(&t, BL_LIMIT_FILE, 6.0 / 11);
    ck_assert_str_eq(bl_bottleneck_find(&t).file, "b");
    ck_assert_double_eq(bl_bottleneck_find(&t).seconds, 8);
    t.stage[BL_RUN_PLANNING] = 200; /* of a long run a second is nothing */
    check(&t, BL_LIMIT_PLANNING, 200.0 / 211);
    ck_assert_ptr_null(bl_bottleneck_find(&t).file);
    bl_run_times_free(&t);
    ck_assert_ptr_null(t.write.slowest);
}

UNIT_TEST(whole_stages_may_be_the_limit)
{
    static const enum bl_limit limits[] = {BL_LIMIT_LISTING,   BL_LIMIT_TABLE,     BL_LIMIT_PLANNING,
                                           BL_LIMIT_BUCKETING, BL_LIMIT_FINISHING, BL_LIMIT_TABLE};
    for (int stage = 0; stage < BL_RUN_STAGES; stage++) {
        struct bl_run_times t = {0};
        check(&t, BL_LIMIT_NONE, 0);
        t.stage[stage] = 3;
        check(&t, limits[stage], 1);
    }
}

/* Clocks that disagree make no negative shares, nor more than there is. */
UNIT_TEST(odd_figures_do_no_harm)
{
    struct bl_run_times t = writing();
    t.write.processor.run = 1e6;
    t.write.lost[BL_WAIT_WRITE] = 1e6;
    t.write.lost[BL_WAIT_ORDER] = -5;
    t.write.encoded = -1;
    check(&t, BL_LIMIT_DISK, 10.0 / 11);
    t.write.wall = 1e9;
    check(&t, BL_LIMIT_DISK, 10.0 / 11);
}

UNIT_TEST(every_limit_has_its_words)
{
    ck_assert_ptr_null(bl_limit_name(BL_LIMIT_NONE));
    for (int a = 1; a < BL_LIMITS; a++) {
        ck_assert_ptr_nonnull(bl_limit_name((enum bl_limit)a));
        ck_assert_ptr_nonnull(bl_limit_text((enum bl_limit)a));
        for (int b = 1; b < a; b++)
            ck_assert_str_ne(bl_limit_name((enum bl_limit)a), bl_limit_name((enum bl_limit)b));
    }
}

static void check_lines(const struct bl_run_times *t, const char *lines)
{
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    bl_end_report_append_times(t, &text);
    ck_assert_str_eq(text.data ? text.data : "", lines);
}

UNIT_TEST(the_report_has_two_lines_for_a_run_that_took_some_time)
{
    struct bl_run_times t = writing();
    check_lines(&t, "time: 1.0 s scanning, 10.0 s writing\nlimit: decoding, 91 % of the time\n");
    t.write.lost[BL_WAIT_JOB] = 8;
    t.write.slowest = strdup("a/\nb.mp4");
    t.write.slowest_held = 7;
    t.write.slowest_seconds = 9;
    check_lines(&t, "time: 1.0 s scanning, 10.0 s writing\n"
                    "limit: waiting for single files, 73 % of the time; waited for a/?b.mp4, which took 9.0 s\n");
    t.stage[BL_RUN_WRITING] = 2;
    check_lines(&t, "");
    bl_run_times_free(&t);
}

UNIT_TEST(the_report_says_what_opening_took_on_gpus)
{
    struct bl_run_times t = writing();
    t.gpu = (struct bl_gpu_times){.devices = 1, .devices_seconds = 0.354};
    check_lines(&t, "time: 1.0 s scanning, 10.0 s writing\nopened: 1 GPU in 0.35 s\n"
                    "limit: decoding, 91 % of the time\n");
    t.gpu.workers = 14;
    t.gpu.workers_seconds = 1.25;
    t.gpu.decoders = 1;
    t.gpu.decoders_seconds = 0.045;
    t.gpu.reconfigured = 12;
    t.gpu.reused = 3456;
    check_lines(&t,
                "time: 1.0 s scanning, 10.0 s writing\n"
                "opened: 1 GPU in 0.35 s, 14 workers in 1.25 s, 1 decoder in 0.04 s (12 reconfigured, 3,456 reused)\n"
                "limit: decoding, 91 % of the time\n");
}
