#include "kind/array/inflated.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <zip.h>

#include "kind/array/npz.h"
#include "kind/kind.h"
#include "unit.h"

UNIT_SCRATCH

#define HEADER "{'descr': '<i4', 'fortran_order': False, 'shape': (65536, 4), }"
#define ELEMENTS (65536 * 4)
#define BYTES ((int64_t)4 * ELEMENTS)
#define ARCHIVES 3
#define THREADS 4

/* An archive with one deflated array of the numbers from `first` on. */
static int64_t write_archive(const char *path, int first)
{
    size_t head = 10 + sizeof HEADER - 1, size = head + (size_t)BYTES;
    uint8_t *npy = malloc(size);
    ck_assert_ptr_nonnull(npy);
    memcpy(npy, "\x93NUMPY\1\0", 8);
    npy[8] = sizeof HEADER - 1;
    npy[9] = 0;
    memcpy(npy + 10, HEADER, sizeof HEADER - 1);
    for (int32_t i = 0, value; i < ELEMENTS; i++) {
        value = first + i;
        memcpy(npy + head + (size_t)i * sizeof value, &value, sizeof value);
    }
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);
    ck_assert_ptr_nonnull(zip);
    ck_assert_int_eq(zip_file_add(zip, "x.npy", zip_source_buffer(zip, npy, size, 1), 0), 0);
    ck_assert_int_eq(zip_set_file_compression(zip, 0, ZIP_CM_DEFLATE, 1), 0);
    ck_assert_int_eq(zip_close(zip), 0);
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    return status.st_size;
}

static struct bl_array_file open_array(const char *path, const struct bl_cancel *cancel)
{
    struct bl_array_file file;
    struct bl_error e = {0};
    ck_assert_msg(bl_array_file_open(&file, path, -1, NULL, cancel, &e) == BL_OK, "%s", e.text);
    ck_assert(bl_array_file_is_deflated(&file));
    return file;
}

static const struct bl_array_copy *find(struct bl_inflated *all, struct bl_array_file *file)
{
    const struct bl_array_copy *copy;
    struct bl_error e = {0};
    ck_assert_msg(bl_inflated_find(all, file, ".", &copy, &e) == BL_OK, "%s", e.text);
    return copy;
}

UNIT_TEST(the_second_who_asks_makes_it_and_the_third_has_it)
{
    struct bl_cancel cancel = {0};
    struct bl_inflated *all;
    write_archive("a.npz", 5);
    ck_assert_int_eq(bl_inflated_make(&all, &e), BL_OK);
    OWNED(bl_array_file_close)
    struct bl_array_file one = open_array("a.npz", &cancel), two = open_array("a.npz", &cancel);
    ck_assert_ptr_null(find(all, &one));
    one.copy = find(all, &one);
    ck_assert_ptr_nonnull(one.copy);
    ck_assert(one.copy->bytes == BYTES && one.copy->sound);
    ck_assert_int_eq(unlink("a.npz"), 0); /* nothing more is needed of it */
    two.copy = find(all, &two);
    ck_assert_ptr_eq(two.copy, one.copy);
    ck_assert_int_eq(two.position, two.npy.begin);
    for (int32_t at = ELEMENTS - 1, value; at >= 0; at -= 999) {
        ck_assert_int_eq(bl_array_file_read(&two, &value, sizeof value, (int64_t)at * 4, &e), BL_OK);
        ck_assert_int_eq(value, 5 + at);
    }
    ck_assert_int_eq(two.position, two.npy.begin);
    ck_assert_int_eq(bl_array_file_verify(&two, &e), BL_OK);
    bl_inflated_free(all);
}

/* Turns a byte of the file over. */
static void spoil(const char *path, int64_t at)
{
    FILE *file = fopen(path, "r+b");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    int byte = fgetc(file);
    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    ck_assert_int_ne(fputc(byte ^ 0x55, file), EOF);
    ck_assert_int_eq(fclose(file), 0);
}

/* Which of the parts of an array can be read, from the last to the first, and whether the end is right. */
static void try_parts(struct bl_array_file *file, bool good[17])
{
    static uint8_t part[BYTES / 16];
    struct bl_error e = {0};
    for (int i = 15; i >= 0; i--) {
        OWNED(bl_array_file_close) struct bl_array_file here = open_array("a.npz", file->cancel);
        here.copy = file->copy;
        int code = bl_array_file_read(&here, part, sizeof part, i * (int64_t)sizeof part, &e);
        ck_assert(code == BL_OK || code == BL_EDATA);
        good[i] = !code;
    }
    good[16] = bl_array_file_verify(file, &e) == BL_OK;
}

UNIT_TEST(damage_costs_the_same_parts_with_and_without_it)
{
    struct bl_cancel cancel = {0};
    struct bl_inflated *all;
    for (int64_t k = 2; k < 20; k += unit_brief() ? 5 : 1) {
        bool with[17], without[17];
        int64_t bytes = write_archive("a.npz", 0);
        spoil("a.npz", bytes * k / 21);
        ck_assert_int_eq(bl_inflated_make(&all, &e), BL_OK);
        OWNED(bl_array_file_close) struct bl_array_file file = open_array("a.npz", &cancel);
        ck_assert_ptr_null(find(all, &file));
        try_parts(&file, without);
        ck_assert(!without[16]);
        bl_array_file_close(&file);
        file = open_array("a.npz", &cancel);
        file.copy = find(all, &file);
        ck_assert(file.copy && !file.copy->sound);
        try_parts(&file, with);
        ck_assert_int_eq(memcmp(with, without, sizeof with), 0);
        bl_inflated_free(all);
    }
}

/* What the threads of a test share. */
struct scene {
    struct bl_inflated *all;
    struct bl_cancel cancel;
    atomic_int firsts[ARCHIVES]; /* who had no copy */
    _Atomic(const struct bl_array_copy *) copy[ARCHIVES];
};

/* One of them, with streams that were opened before: libzip asks for the time zone then, which the thread sanitizer
 * does not understand. */
struct asker {
    struct scene *scene;
    struct bl_array_file file[ARCHIVES];
};

static void *ask(void *context)
{
    struct asker *asker = context;
    struct scene *scene = asker->scene;
    struct bl_error e = {0};
    for (int i = 0; i < 3 * ARCHIVES; i++) {
        int a = i % ARCHIVES;
        struct bl_array_file *file = &asker->file[a];
        const struct bl_array_copy *none = NULL;
        file->copy = find(scene->all, file);
        if (!file->copy) {
            atomic_fetch_add(&scene->firsts[a], 1);
            continue;
        }
        if (!atomic_compare_exchange_strong(&scene->copy[a], &none, file->copy))
            ck_assert_ptr_eq(none, file->copy);
        int32_t value, at = i * 1234;
        ck_assert_int_eq(bl_array_file_read(file, &value, sizeof value, (int64_t)at * 4, &e), BL_OK);
        ck_assert_int_eq(value, a * ELEMENTS + at);
    }
    return NULL;
}

UNIT_TEST(workers_share_one_copy)
{
    static const char *const path[ARCHIVES] = {"0.npz", "1.npz", "2.npz"};
    struct scene scene = {0};
    pthread_t thread[THREADS];
    struct asker asker[THREADS];
    for (int a = 0; a < ARCHIVES; a++) {
        write_archive(path[a], a * ELEMENTS);
        for (int t = 0; t < THREADS; t++)
            asker[t].file[a] = open_array(path[a], &scene.cancel);
    }
    ck_assert_int_eq(bl_inflated_make(&scene.all, &e), BL_OK);
    for (int t = 0; t < THREADS; t++) {
        asker[t].scene = &scene;
        ck_assert_int_eq(pthread_create(&thread[t], NULL, ask, &asker[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        ck_assert_int_eq(pthread_join(thread[t], NULL), 0);
    for (int a = 0; a < ARCHIVES; a++) {
        ck_assert_int_eq(atomic_load(&scene.firsts[a]), 1);
        ck_assert_int_eq(atomic_load(&scene.copy[a])->bytes, BYTES);
    }
    struct stat status;
    ck_assert_int_eq(fstat(atomic_load(&scene.copy[0])->fd, &status), 0);
    ck_assert_int_eq(status.st_size, ARCHIVES * BYTES);
    for (int i = 0; i < THREADS * ARCHIVES; i++)
        bl_array_file_close(&asker[i / ARCHIVES].file[i % ARCHIVES]);
    bl_inflated_free(scene.all);
}

static void *ask_until_cancelled(void *context)
{
    struct asker *asker = context;
    const struct bl_array_copy *copy;
    struct bl_error e = {0};
    int code = bl_inflated_find(asker->scene->all, &asker->file[0], ".", &copy, &e);
    ck_assert(code == BL_ECANCEL ? copy == NULL : code == BL_OK && copy);
    return NULL;
}

/* One worker makes a copy, the others wait for it: whenever the flag is raised, all of them come back. */
UNIT_TEST(a_cancel_ends_making_and_waiting)
{
    write_archive("a.npz", 0);
    for (int delay = 0; delay < 10; delay++) {
        struct scene scene = {0};
        pthread_t thread[THREADS];
        struct asker asker[THREADS];
        ck_assert_int_eq(bl_inflated_make(&scene.all, &e), BL_OK);
        for (int t = 0; t < THREADS; t++)
            asker[t] = (struct asker){.scene = &scene, .file = {open_array("a.npz", &scene.cancel)}};
        ck_assert_ptr_null(find(scene.all, &asker[0].file[0]));
        for (int t = 0; t < THREADS; t++)
            ck_assert_int_eq(pthread_create(&thread[t], NULL, ask_until_cancelled, &asker[t]), 0);
        usleep(500 * (unsigned)delay);
        atomic_store(&scene.cancel.requested, 1);
        for (int t = 0; t < THREADS; t++) {
            ck_assert_int_eq(pthread_join(thread[t], NULL), 0);
            bl_array_file_close(&asker[t].file[0]);
        }
        bl_inflated_free(scene.all);
    }
}

UNIT_TEST(what_cannot_be_written_is_told)
{
    struct bl_cancel cancel = {0};
    struct bl_inflated *all;
    const struct bl_array_copy *copy;
    write_archive("a.npz", 0);
    ck_assert_int_eq(bl_inflated_make(&all, &e), BL_OK);
    OWNED(bl_array_file_close) struct bl_array_file file = open_array("a.npz", &cancel);
    ck_assert_ptr_null(find(all, &file));
    ck_assert_int_eq(bl_inflated_find(all, &file, "none", &copy, &e), BL_EFAIL);
    ck_assert_ptr_null(copy);
    ck_assert_ptr_nonnull(strstr(e.text, "cannot open the directory none"));
    ck_assert_ptr_nonnull(find(all, &file)); /* whoever asks next is not left waiting */
    bl_inflated_free(all);
    ck_assert_int_eq(bl_inflated_make(&all, &e), BL_OK);
    ck_assert_ptr_null(find(all, &file));
    atomic_store(&cancel.requested, 1);
    ck_assert_int_eq(bl_inflated_find(all, &file, ".", &copy, &e), BL_ECANCEL);
    bl_inflated_free(all);
}
