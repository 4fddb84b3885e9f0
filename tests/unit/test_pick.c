#include "kind/video/options.h"
#include "unit.h"

/* What is taken, as the frames' numbers. */
struct taken {
    int frame[4096];
    int count;
};

static void take(struct taken *t, int frame, int64_t times)
{
    for (; times > 0; times--) {
        ck_assert_int_lt(t->count, 4096);
        t->frame[t->count++] = frame;
    }
}

static void pick_all(struct bl_pick *pick, const int64_t *time, int frames, int64_t end, struct taken *t)
{
    t->count = 0;
    for (int i = 0; i < frames; i++)
        take(t, i - 1, bl_pick_push(pick, time[i]));
    take(t, frames - 1, bl_pick_end(pick, end));
    ck_assert_int_eq(pick->taken, t->count);
}

static void assert_taken(const struct taken *t, const int *frame, int count)
{
    ck_assert_int_eq(t->count, count);
    for (int i = 0; i < count; i++)
        ck_assert_msg(t->frame[i] == frame[i], "output %d: frame %d, not %d", i, t->frame[i], frame[i]);
}

#define ASSERT_TAKEN(t, ...)                                                                                           \
    assert_taken(t, (const int[]){__VA_ARGS__}, (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))

UNIT_TEST(every_frame_and_every_third)
{
    struct bl_pick pick;
    struct taken t;
    static const int64_t time[] = {5, 5, BL_PICK_UNKNOWN, -9, 100}; /* they do not matter */
    ck_assert(bl_pick_init(&pick, 0, 0, 1, 0, 0));
    pick_all(&pick, time, 5, 0, &t);
    ASSERT_TAKEN(&t, 0, 1, 2, 3, 4);
    ck_assert(bl_pick_init(&pick, 0, 0, 3, 1, 1000));
    pick_all(&pick, time, 5, 0, &t);
    ASSERT_TAKEN(&t, 0, 3);
    ck_assert(bl_pick_init(&pick, 0, 0, 3, 1, 1000));
    pick_all(&pick, time, 4, 0, &t);
    ASSERT_TAKEN(&t, 0, 3);
    ck_assert(bl_pick_init(&pick, 0, 0, 7, 1, 1000));
    pick_all(&pick, time, 0, 0, &t);
    ck_assert_int_eq(t.count, 0);
}

/* 25 frames a second, in ticks of 40 ms, from 1000 on. What is expected was printed by ffmpeg 5.1:
 * ffmpeg -f lavfi -i testsrc2=r=25:d=0.4 -vf setpts=PTS-STARTPTS,fps=F -vsync passthrough -f framemd5 - */
UNIT_TEST(rates_as_ffmpeg_takes_them)
{
    int64_t time[10];
    for (int i = 0; i < 10; i++)
        time[i] = 1000 + i;
    struct bl_pick pick;
    struct taken t;
    ck_assert(bl_pick_init(&pick, 10, 1, 1, 1, 25));
    pick_all(&pick, time, 10, 1010, &t);
    ASSERT_TAKEN(&t, 1, 3, 6, 8);
    ck_assert(bl_pick_init(&pick, 25, 1, 1, 1, 25));
    pick_all(&pick, time, 10, 1010, &t);
    ASSERT_TAKEN(&t, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    ck_assert(bl_pick_init(&pick, 30, 1, 1, 1, 25));
    pick_all(&pick, time, 10, 1010, &t);
    ASSERT_TAKEN(&t, 0, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8, 9);
    ck_assert(bl_pick_init(&pick, 1, 1, 1, 1, 25));
    pick_all(&pick, time, 10, 1010, &t);
    ck_assert_int_eq(t.count, 0); /* 0.4 s: ffmpeg too gives none */
}

/* Frames that begin 0.36 s after the sound. What is expected of the first was printed by ffmpeg 5.1, of such a file:
 * ffmpeg -i late.nut -vf fps=5 -f image2 -c:v rawvideo late-%d.raw */
UNIT_TEST(outputs_before_the_first_frame)
{
    int64_t time[10];
    for (int i = 0; i < 10; i++)
        time[i] = 1000 + i;
    struct bl_pick pick;
    struct taken t;
    ck_assert(bl_pick_init(&pick, 5, 1, 1, 1, 25));
    bl_pick_set_origin(&pick, 991);
    pick_all(&pick, time, 10, 1010, &t);
    ASSERT_TAKEN(&t, 3, 3, 3, 8);
    ck_assert(bl_pick_init(&pick, 25, 1, 1, 1, 25));
    bl_pick_set_origin(&pick, 998);
    pick_all(&pick, time, 3, 1003, &t);
    ASSERT_TAKEN(&t, 0, 0, 0, 1, 2);
    ck_assert(bl_pick_init(&pick, 25, 1, 1, 1, 25));
    bl_pick_set_origin(&pick, 1001); /* an origin after the first frame: it has no output */
    pick_all(&pick, time, 3, 1003, &t);
    ASSERT_TAKEN(&t, 1, 2);
}

UNIT_TEST(frames_without_a_time_take_nothing)
{
    static const int64_t time[] = {0, BL_PICK_UNKNOWN, 2, 3};
    struct bl_pick pick;
    struct taken t;
    ck_assert(bl_pick_init(&pick, 1, 1, 1, 1, 1));
    pick_all(&pick, time, 4, 4, &t);
    ASSERT_TAKEN(&t, 1, 1, 2, 3); /* the filter drops the frame before it and holds it */
    ck_assert(bl_pick_init(&pick, 1, 1, 1, 1, 1));
    pick_all(&pick, time, 4, BL_PICK_UNKNOWN, &t);
    ASSERT_TAKEN(&t, 1, 1, 2); /* no time at which the last ends */
}

/* The filter said otherwise: output n is the last frame whose rounded time is at most n, up to the rounded end. */
UNIT_TEST(any_times_at_any_rate)
{
    unsigned seed = 1;
    for (int round = 0; round < 2000; round++) {
        int64_t num = 1 + rand_r(&seed) % 60000, den = 1 + rand_r(&seed) % 1500, base = 1 + rand_r(&seed) % 90000;
        int64_t time[40], at = rand_r(&seed) % 1000 - 500;
        int64_t step = 2 * base * den / num + 2;
        int frames = 1 + rand_r(&seed) % 40;
        for (int i = 0; i < frames; i++, at += 1 + rand_r(&seed) % step)
            time[i] = at;
        struct bl_pick pick;
        struct taken t;
        ck_assert(bl_pick_init(&pick, num, den, 1, 1, base));
        pick_all(&pick, time, frames, at, &t);
        int64_t outputs = (2 * (at - time[0]) * num + base * den) / (2 * base * den);
        ck_assert_int_eq(t.count, outputs);
        for (int n = 0, frame = 0; n < t.count; n++) {
            while (frame + 1 < frames && (2 * (time[frame + 1] - time[0]) * num + base * den) / (2 * base * den) <= n)
                frame++;
            ck_assert_int_eq(t.frame[n], frame);
        }
    }
}

UNIT_TEST(extremes)
{
    struct bl_pick pick;
    ck_assert(!bl_pick_init(&pick, 0, 1, 1, 1, 25));
    ck_assert(!bl_pick_init(&pick, 25, 1, 1, 0, 1));
    ck_assert(!bl_pick_init(&pick, (int64_t)INT32_MAX + 1, 1, 1, 1, 25));
    ck_assert(!bl_pick_init(&pick, 0, 0, 0, 1, 25));
    ck_assert(bl_pick_init(&pick, INT32_MAX, 1, 1, INT32_MAX, 1));
    ck_assert_int_eq(bl_pick_push(&pick, INT64_MIN + 1), 0);
    ck_assert_int_eq(bl_pick_push(&pick, INT64_MAX), INT64_MAX);
    ck_assert_int_eq(bl_pick_end(&pick, 0), 0);
    ck_assert(bl_pick_init(&pick, 30, 1, 1, 1, 25));
    ck_assert_int_eq(bl_pick_end(&pick, 99), 0); /* no frame at all */
}
