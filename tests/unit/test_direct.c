#include "base/output.h"

#include <fcntl.h>
#include <pthread.h>

#include "unit.h"

UNIT_SCRATCH

#define ROOM ((size_t)4 << 20)

/* A file of ROOM bytes 0xee, and memory to write from. */
struct scene {
    int fd, direct;
    uint8_t *memory, *read, *expected; /* [ROOM + a page], page-aligned */
};

static void scene_open(struct scene *s)
{
    s->memory = aligned_alloc(BL_DIRECT_PAGE, ROOM + BL_DIRECT_PAGE);
    s->read = aligned_alloc(BL_DIRECT_PAGE, ROOM + BL_DIRECT_PAGE);
    ck_assert_ptr_nonnull(s->memory);
    s->expected = aligned_alloc(BL_DIRECT_PAGE, ROOM + BL_DIRECT_PAGE);
    ck_assert_ptr_nonnull(s->read);
    ck_assert_ptr_nonnull(s->expected);
    for (size_t i = 0; i < ROOM + BL_DIRECT_PAGE; i++)
        s->memory[i] = (uint8_t)(i * 7 + (i >> 8) * 11 + (i >> 16));
    s->fd = open("file", O_RDWR | O_CREAT, 0666);
    ck_assert_int_ge(s->fd, 0);
    s->direct = bl_direct_open("file");
}

static void scene_close(struct scene *s)
{
    if (s->direct >= 0)
        close(s->direct);
    close(s->fd);
    free(s->memory);
    free(s->read);
    free(s->expected);
}

/* Writes size bytes from memory + at to offset, and looks at all of the file. */
static void check_write(struct scene *s, int direct, size_t at, size_t size, size_t offset)
{
    memset(s->expected, 0xee, ROOM);
    ck_assert_int_eq(pwrite(s->fd, s->expected, ROOM, 0), (ssize_t)ROOM);
    memcpy(s->expected + offset, s->memory + at, size);
    struct bl_error e = {0};
    ck_assert_int_eq(bl_direct_pwrite(direct, s->fd, s->memory + at, size, (int64_t)offset, "file", &e), BL_OK);
    ck_assert_int_eq(pread(s->fd, s->read, ROOM, 0), (ssize_t)ROOM);
    ck_assert_int_eq(memcmp(s->read, s->expected, ROOM), 0);
}

UNIT_TEST(what_is_written_does_not_depend_on_the_way)
{
    static const size_t offsets[] = {0, 1, 512, 4095, 4096, 12345};
    static const size_t sizes[] = {0, 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (3 << 20) + 777};
    OWNED(scene_close) struct scene s = {0};
    scene_open(&s);
    for (size_t o = 0; o < COUNT(offsets); o++) {
        for (size_t i = 0; i < COUNT(sizes); i++) {
            size_t alike = offsets[o] % BL_DIRECT_PAGE, unlike = (alike + 8) % BL_DIRECT_PAGE;
            check_write(&s, s.direct, alike, sizes[i], offsets[o]);
            check_write(&s, s.direct, unlike, sizes[i], offsets[o]);
            check_write(&s, -1, alike, sizes[i], offsets[o]);
        }
    }
}

/* Neighbours share pages: that of each one's beginning is that of another's end. */
#define SHARE ((1 << 20) + 777)

struct neighbour {
    struct scene *scene;
    size_t number;
    uint8_t *memory; /* placed as its bytes lie in the file */
    pthread_t thread;
};

static void *write_share(void *argument)
{
    struct neighbour *n = argument;
    size_t offset = n->number * SHARE;
    struct bl_error e = {0};
    int code = bl_direct_pwrite(n->scene->direct, n->scene->fd, n->memory + offset % BL_DIRECT_PAGE, SHARE,
                                (int64_t)offset, "file", &e);
    return code ? n : NULL;
}

UNIT_TEST(neighbours_at_the_same_time)
{
    OWNED(scene_close) struct scene s = {0};
    struct neighbour n[3];
    scene_open(&s);
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < 3; i++) {
            n[i] = (struct neighbour){&s, i, aligned_alloc(BL_DIRECT_PAGE, ROOM), 0};
            ck_assert_ptr_nonnull(n[i].memory);
            memset(n[i].memory, (int)i * 16 + round, ROOM);
            ck_assert_int_eq(pthread_create(&n[i].thread, NULL, write_share, &n[i]), 0);
        }
        for (size_t i = 0; i < 3; i++) {
            void *failed;
            ck_assert_int_eq(pthread_join(n[i].thread, &failed), 0);
            ck_assert_ptr_null(failed);
            free(n[i].memory);
        }
        ck_assert_int_eq(fsync(s.fd), 0);
        ck_assert_int_eq(pread(s.fd, s.read, 3 * SHARE, 0), 3 * SHARE);
        for (size_t i = 0; i < 3; i++)
            memset(s.expected + i * SHARE, (int)i * 16 + round, SHARE);
        ck_assert_int_eq(memcmp(s.read, s.expected, 3 * SHARE), 0);
    }
}

UNIT_TEST(a_failing_system_is_told)
{
    OWNED(scene_close) struct scene s = {0};
    scene_open(&s);
    int unwritable = open("file", O_RDONLY);
    ck_assert_int_ge(unwritable, 0);
    FAILS(bl_direct_pwrite(unwritable, s.fd, s.memory, ROOM, 0, "file", &e), BL_EFAIL,
          "cannot write file: Bad file descriptor");
    close(unwritable);
}

UNIT_TEST(no_such_file)
{
    ck_assert_int_eq(bl_direct_open("/nonexistent/file"), -1);
}
