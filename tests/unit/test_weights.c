#include "scan/files.h"

#include <fcntl.h>
#include <math.h>

#include "kind/kinds.h"
#include "run/bottleneck.h"
#include "run/heartbeat.h"
#include "unit.h"

UNIT_SCRATCH

#define OPENING 65536

/* A sparse file. */
static void make(const char *path, int64_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, bytes), 0);
    close(fd);
}

static void add_file(struct bl_files *files, const char *path)
{
    struct bl_error e = {0};
    ck_assert_int_eq(bl_files_add(files, path, 0, bl_kind_find("video"), true, &e), 0);
}

static void init(struct bl_weights *w, const struct bl_files *files, int64_t first, int64_t every)
{
    bl_weights_init(w, files, bl_kind_find("video"), NULL, first, every);
}

UNIT_TEST(a_large_file_weighs_more_than_many_small_ones)
{
    OWNED(bl_files_free) struct bl_files files = {0};
    struct bl_weights w;
    int64_t finished = 0;
    make("small.mp4", 1000);
    make("large.mp4", 100000000);
    for (int i = 0; i < 9; i++)
        add_file(&files, "small.mp4");
    add_file(&files, "large.mp4");
    init(&w, &files, 0, 1);
    ck_assert_int_eq(bl_weights_parts(&w, 0), 0);
    for (int i = 0; i < 9; i++) {
        int64_t weight = bl_weights_of(&w, 1000, 1);
        bl_weights_begin(&w, weight, 1);
        finished += weight;
    }
    ck_assert_int_lt(bl_weights_parts(&w, finished), 100); /* of 10000 */
    int64_t large = bl_weights_of(&w, 100000000, 1);
    bl_weights_begin(&w, large, 1);
    ck_assert_int_eq((bl_weights_parts(&w, finished + large / 2) + 25) / 50, 101);
    ck_assert_int_eq(bl_weights_parts(&w, finished + large), 10000);
}

UNIT_TEST(parts_of_a_file_add_up_to_it)
{
    OWNED(bl_files_free) struct bl_files files = {0};
    struct bl_weights w;
    make("large.mp4", 1000000);
    add_file(&files, "large.mp4");
    init(&w, &files, 0, 1);
    bl_weights_begin(&w, bl_weights_of(&w, 1000000, 1), 1);
    int64_t first = bl_weights_of(&w, 300000, 1), second = bl_weights_of(&w, 700000, 0);
    ck_assert_int_lt(bl_weights_parts(&w, first), 400);
    ck_assert_int_eq(bl_weights_parts(&w, first + second), 1000);
}

/* Of many files a sample is looked at, whose sizes stand for all, wherever the large ones lie. */
UNIT_TEST(a_sample_stands_for_all)
{
    OWNED(bl_files_free) struct bl_files files = {0};
    struct bl_weights w;
    make("small.mp4", 0);
    make("large.mp4", 1000000);
    for (int i = 0; i < 20000; i++)
        add_file(&files, i < 5000 ? "large.mp4" : "small.mp4");
    init(&w, &files, 0, 1);
    ck_assert_double_eq_tol(w.expected / (5000 * 1e6 + 20000.0 * OPENING), 1, 0.1);
    init(&w, &files, 1, 3); /* a task's */
    ck_assert_int_eq(w.files, 6667);
    ck_assert_double_eq_tol(w.expected / (1667 * 1e6 + 6667.0 * OPENING), 1, 0.1);
}

UNIT_TEST(without_sizes_all_weigh_the_same)
{
    struct bl_files files = {0};
    struct bl_weights w;
    add_file(&files, "a");
    add_file(&files, "b");
    bl_weights_init(&w, &files, bl_kind_find("frames"), NULL, 0, 1);
    ck_assert_int_eq(bl_weights_of(&w, 5, 1), bl_weights_of(&w, 1000000, 1));
    int64_t weight = bl_weights_of(&w, 5, 1);
    bl_weights_begin(&w, weight, 1);
    ck_assert_int_eq(bl_weights_parts(&w, weight), 1000);
    bl_files_free(&files);
    init(&w, &files, 0, 1); /* no files */
    ck_assert_int_eq(bl_weights_parts(&w, 0), 0);
}

/* Files that are missing, or larger than the sample told, do no harm. */
UNIT_TEST(a_wrong_sample_is_corrected)
{
    OWNED(bl_files_free) struct bl_files files = {0};
    struct bl_weights w;
    add_file(&files, "missing.mp4");
    add_file(&files, "missing.mp4");
    init(&w, &files, 0, 1);
    int64_t weight = bl_weights_of(&w, 1000000000, 1);
    bl_weights_begin(&w, weight, 1);
    int64_t parts = bl_weights_parts(&w, weight);
    ck_assert_int_gt(parts, 1900);
    ck_assert_int_lt(parts, 2000);
    bl_weights_begin(&w, bl_weights_of(&w, INT64_MAX, 1), 1); /* cannot overflow */
    ck_assert_int_ge(bl_weights_parts(&w, weight), 0);
}

/* A scan that goes through small files, then through large ones, at an even rate of bytes. */
struct scan {
    struct bl_weights weights;
    struct bl_progress progress;
    int64_t finished; /* bytes of finished files */
    int64_t begun;    /* files */
};

enum { SMALL = 90, LARGE = 10, SMALL_BYTES = 1000000, LARGE_BYTES = 9000000 };

static int64_t size_of(int64_t file)
{
    return file < SMALL ? SMALL_BYTES : LARGE_BYTES;
}

/* Goes on until so many bytes are done. */
static void scan_until(struct scan *s, double bytes)
{
    struct bl_progress *p = &s->progress;
    while (p->done < p->total && (double)(s->finished + (s->begun > p->done ? size_of(p->done) : 0)) <= bytes) {
        if (s->begun > p->done) {
            s->finished += size_of(p->done++);
            continue;
        }
        bl_weights_begin(&s->weights, bl_weights_of(&s->weights, size_of(s->begun), 1), 1);
        s->begun++;
    }
    int64_t under_way = s->begun > p->done ? (int64_t)bytes - s->finished : 0;
    p->parts = bl_weights_parts(&s->weights, s->finished + under_way + p->done * OPENING);
}

/* By number, the small files would be nine tenths of the scan, and they are half of it. */
UNIT_TEST(the_time_left_neither_jumps_nor_climbs)
{
    OWNED(bl_files_free) struct bl_files files = {0};
    struct bl_estimate estimate = {0};
    struct scan s = {.progress = {.total = SMALL + LARGE, .steps_left = -1}};
    const double seconds = 60, all = (double)SMALL * SMALL_BYTES + (double)LARGE * LARGE_BYTES;
    double before = INFINITY, done, left;
    make("small.mp4", SMALL_BYTES);
    make("large.mp4", LARGE_BYTES);
    for (int i = 0; i < SMALL + LARGE; i++)
        add_file(&files, i < SMALL ? "small.mp4" : "large.mp4");
    init(&s.weights, &files, 0, 1);
    for (double t = 0.2; t < seconds; t += 0.2) {
        scan_until(&s, all * t / seconds);
        bl_progress_work(&s.progress, &done, &left);
        bl_estimate_add(&estimate, t, done, left);
        double told = bl_estimate_left(&estimate);
        if (told < 0)
            continue;
        ck_assert_msg(told <= before + 1e-9, "at %g s: %g s left after %g", t, told, before);
        if (t > 5)
            ck_assert_msg(fabs(told - (seconds - t)) < 0.1 * (seconds - t) + 3, "at %g s: %g s left", t, told);
        before = told;
    }
    ck_assert_int_ge(s.progress.done, SMALL + LARGE - 1);
}
