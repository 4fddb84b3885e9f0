/* Copies of objects: what is announced is fetched once, ahead of its readers; and readers get it as it arrives. */
#include "remote/copies.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "unit.h"

#define MIB ((int64_t)1 << 20)
#define STEP 50000 /* bytes that the store sends at once */

/* A store whose objects have at each offset a byte that follows from it. */
struct store {
    struct bl_copies *copies;
    bool lacks_ranges;  /* it sends whole objects alone */
    const char *broken; /* the URL of an object that cannot be fetched, or NULL */
    atomic_int held;    /* not 0: fetches wait before their last step */
    atomic_int fetches, now, most;
    atomic_llong sent;
};

static char object_byte(int64_t at)
{
    return (char)(at * 2654435761u >> 16);
}

static void pause_a_little(void)
{
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
}

static int store_fetch(void *context, const struct bl_remote_object *object, int64_t begin, int64_t end,
                       bl_remote_sink *sink, void *sink_context, bool *lacks_ranges, struct bl_error *e)
{
    struct store *s = context;
    static _Thread_local char data[STEP];
    atomic_fetch_add(&s->fetches, 1);
    *lacks_ranges = s->lacks_ranges && end;
    if (*lacks_ranges)
        return bl_error_set(e, BL_EFAIL, "no ranges");
    int now = atomic_fetch_add(&s->now, 1) + 1, most = atomic_load(&s->most), code = BL_OK;
    while (now > most && !atomic_compare_exchange_weak(&s->most, &most, now))
        continue;
    end = end ? end : object->size;
    pause_a_little();
    for (int64_t at = begin; at < end && !code;) {
        size_t size = end - at < STEP ? (size_t)(end - at) : STEP;
        for (size_t i = 0; i < size; i++)
            data[i] = object_byte(at + (int64_t)i);
        while (at + STEP >= end && atomic_load(&s->held))
            pause_a_little();
        atomic_fetch_add(&s->sent, (long long)size);
        code = sink(sink_context, data, size, e);
        at += (int64_t)size;
    }
    atomic_fetch_sub(&s->now, 1);
    if (!code && s->broken && strcmp(s->broken, object->url) == 0)
        code = bl_error_set(e, BL_EFAIL, "%s: it is gone", object->url);
    return code;
}

static void store_open(struct store *s)
{
    struct bl_error e = {0};
    ck_assert_int_eq(bl_copies_open(&s->copies, store_fetch, s, &e), BL_OK);
}

static struct bl_remote_object object_make(const char *name, int64_t size)
{
    static char tag[] = "tag";
    return (struct bl_remote_object){(char *)(uintptr_t)name, tag, size};
}

/* Reads the bytes from begin to end as a reader that follows the copy, and compares them. */
static int object_read(const struct store *s, const struct bl_remote_object *object, int64_t begin, int64_t end,
                       struct bl_error *e)
{
    static _Thread_local char data[STEP];
    struct bl_far_copy *copy;
    int fd = bl_copies_follow(s->copies, object, &copy, e), code = BL_OK;
    if (fd < 0)
        return fd;
    for (int64_t at = begin, ready = 1; at < end && !code && ready; at += ready) {
        code = bl_copies_wait(copy, at, &ready, e);
        ready = ready < STEP ? ready : STEP;
        ready = ready < end - at ? ready : end - at;
        if (!code)
            code = bl_io_pread(fd, data, (size_t)ready, at, "the copy", e);
        int64_t wrong = 0;
        for (int64_t i = 0; i < ready && !code; i++)
            wrong += data[i] != object_byte(at + i);
        ck_assert_int_eq(wrong, 0);
    }
    close(fd);
    bl_copies_leave(copy);
    return code;
}

UNIT_TEST(announced_objects_are_fetched_once_and_together)
{
    enum { OBJECTS = 100 };
    struct store s = {0};
    struct bl_remote_object object[OBJECTS];
    char name[OBJECTS][16];
    store_open(&s);
    for (int i = 0; i < OBJECTS; i++) {
        snprintf(name[i], sizeof name[i], "s3://b/%d", i);
        object[i] = object_make(name[i], i * 1000);
        bl_copies_announce(s.copies, &object[i], 0, INT64_MAX);
    }
    for (int i = 0; i < OBJECTS; i++) {
        ck_assert_int_eq(object_read(&s, &object[i], 0, object[i].size, &e), BL_OK);
        /* Some formats are opened twice. */
        ck_assert_int_eq(object_read(&s, &object[i], 0, object[i].size, &e), BL_OK);
        bl_copies_release(s.copies, &object[i]);
    }
    ck_assert_int_eq(s.fetches, OBJECTS - 1); /* an empty one has nothing to fetch */
    ck_assert_int_eq(s.sent, OBJECTS * (OBJECTS - 1) / 2 * 1000);
    ck_assert_int_gt(s.most, 1);
    ck_assert_int_le(s.most, 32);
    bl_copies_close(s.copies);
}

UNIT_TEST(readers_follow_a_copy_that_grows)
{
    struct store s = {.held = 1};
    const struct bl_remote_object object = object_make("s3://b/a", 10 * MIB);
    store_open(&s);
    bl_copies_announce(s.copies, &object, 0, object.size);
    /* The last step of the object does not come before the beginning is read. */
    ck_assert_int_eq(object_read(&s, &object, 0, object.size - 2 * STEP, &e), BL_OK);
    atomic_store(&s.held, 0);
    ck_assert_int_eq(object_read(&s, &object, 0, object.size, &e), BL_OK);
    ck_assert_int_eq(s.fetches, 1);
    bl_copies_close(s.copies);
}

UNIT_TEST(a_large_object_is_fetched_in_parts_where_it_is_read)
{
    struct store s = {0};
    const struct bl_remote_object object = object_make("s3://b/a", 100 * MIB);
    store_open(&s);
    bl_copies_announce(s.copies, &object, 20 * MIB, 60 * MIB);
    ck_assert_int_eq(object_read(&s, &object, 20 * MIB, 60 * MIB, &e), BL_OK);
    ck_assert_int_eq(s.fetches, 5);
    ck_assert_int_eq(s.sent, 40 * MIB);
    ck_assert_int_le(s.most, 8);
    /* A document that goes on behind the part. */
    ck_assert_int_eq(object_read(&s, &object, 60 * MIB - 1, 60 * MIB + 65536, &e), BL_OK);
    ck_assert_int_eq(s.sent, 40 * MIB + 65536);
    /* What is there is not fetched again. */
    bl_copies_announce(s.copies, &object, 0, object.size);
    ck_assert_int_eq(object_read(&s, &object, 0, object.size, &e), BL_OK);
    ck_assert_int_eq(s.sent, 100 * MIB);
    bl_copies_release(s.copies, &object);
    bl_copies_release(s.copies, &object);
    bl_copies_close(s.copies);
}

UNIT_TEST(objects_are_read_without_announcement)
{
    struct store s = {0};
    const struct bl_remote_object object = object_make("s3://b/a", 30 * MIB);
    store_open(&s);
    ck_assert_int_eq(object_read(&s, &object, 0, object.size, &e), BL_OK);
    ck_assert_int_eq(s.sent, 30 * MIB);
    int fd = bl_copies_get(s.copies, &object, &e);
    ck_assert_int_ge(fd, 0);
    close(fd);
    ck_assert_int_eq(s.sent, 30 * MIB);
    bl_copies_close(s.copies);
}

UNIT_TEST(a_server_without_ranges_sends_the_whole)
{
    struct store s = {.lacks_ranges = true};
    const struct bl_remote_object object = object_make("http://a/b", 30 * MIB);
    store_open(&s);
    bl_copies_announce(s.copies, &object, 0, 20 * MIB);
    bl_copies_announce(s.copies, &object, 20 * MIB, 30 * MIB);
    ck_assert_int_eq(object_read(&s, &object, 19 * MIB, 30 * MIB, &e), BL_OK);
    ck_assert_int_eq(object_read(&s, &object, 0, 19 * MIB, &e), BL_OK);
    ck_assert_int_eq(s.fetches, 2);
    ck_assert_int_eq(s.sent, 30 * MIB);
    bl_copies_close(s.copies);
}

UNIT_TEST(a_failed_fetch_is_reported_to_its_readers)
{
    struct store s = {.broken = "s3://b/b"};
    const struct bl_remote_object a = object_make("s3://b/a", 1000), b = object_make("s3://b/b", 1000);
    store_open(&s);
    bl_copies_announce(s.copies, &b, 0, 1000);
    bl_copies_announce(s.copies, &a, 0, 1000);
    ck_assert_int_eq(object_read(&s, &a, 0, 1000, &e), BL_OK);
    while (atomic_load(&s.fetches) < 2 || atomic_load(&s.now))
        pause_a_little();
    pause_a_little();
    ck_assert_int_eq(bl_copies_get(s.copies, &b, &e), BL_EFAIL);
    ck_assert_str_eq(e.text, "s3://b/b: it is gone");
    bl_copies_close(s.copies);
}

UNIT_TEST(what_is_fetched_ahead_is_bounded)
{
    enum { OBJECTS = 40 };
    struct store s = {0};
    struct bl_remote_object object[OBJECTS];
    char name[OBJECTS][16];
    store_open(&s);
    for (int i = 0; i < OBJECTS; i++) {
        snprintf(name[i], sizeof name[i], "s3://b/%d", i);
        object[i] = object_make(name[i], 10 * MIB);
        bl_copies_announce(s.copies, &object[i], 0, object[i].size);
    }
    for (long long before = -1; before != atomic_load(&s.sent) || atomic_load(&s.now);) {
        before = atomic_load(&s.sent);
        for (int i = 0; i < 20; i++)
            pause_a_little();
    }
    ck_assert_int_eq(s.sent, 250 * MIB);
    /* The last one is not waited for in vain, and the first ones make room when they are read. */
    ck_assert_int_eq(object_read(&s, &object[OBJECTS - 1], 0, object[0].size, &e), BL_OK);
    for (int i = 0; i < OBJECTS; i++) {
        ck_assert_int_eq(object_read(&s, &object[i], 0, object[i].size, &e), BL_OK);
        bl_copies_release(s.copies, &object[i]);
    }
    ck_assert_int_eq(s.sent, OBJECTS * 10 * MIB);
    bl_copies_close(s.copies);
}

UNIT_TEST(what_is_not_needed_any_more_is_not_fetched)
{
    struct store s = {.held = 1};
    const struct bl_remote_object object = object_make("s3://b/a", 900 * MIB);
    store_open(&s);
    bl_copies_announce(s.copies, &object, 0, object.size);
    bl_copies_release(s.copies, &object);
    atomic_store(&s.held, 0);
    bl_copies_close(s.copies);
    ck_assert_int_le(s.fetches, 1);
}

/* Readers on threads. */
struct crowd {
    struct store store;
    struct bl_remote_object object[8];
    atomic_int next;
};

static void *crowd_read(void *argument)
{
    struct crowd *crowd = argument;
    for (int i; (i = atomic_fetch_add(&crowd->next, 1)) < 64;) {
        struct bl_error e = {0};
        const struct bl_remote_object *object = &crowd->object[i % 8];
        int64_t part = object->size / 8;
        ck_assert_int_eq(object_read(&crowd->store, object, i / 8 * part, (i / 8 + 1) * part, &e), BL_OK);
        bl_copies_release(crowd->store.copies, object);
    }
    return NULL;
}

UNIT_TEST(many_readers_share_copies)
{
    struct crowd crowd = {0};
    pthread_t thread[6];
    char name[8][16];
    (void)e;
    store_open(&crowd.store);
    for (int i = 0; i < 8; i++) {
        snprintf(name[i], sizeof name[i], "s3://b/%d", i);
        crowd.object[i] = object_make(name[i], (i % 2 ? 17 : 2) * MIB);
    }
    for (int i = 0; i < 64; i++) {
        int64_t part = crowd.object[i % 8].size / 8;
        bl_copies_announce(crowd.store.copies, &crowd.object[i % 8], i / 8 * part, (i / 8 + 1) * part);
    }
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, crowd_read, &crowd), 0);
    for (int i = 0; i < 6; i++)
        pthread_join(thread[i], NULL);
    ck_assert_int_eq(crowd.store.sent, 4 * (17 + 2) * MIB);
    bl_copies_close(crowd.store.copies);
}
