/* Finds many objects at once.
 *
 * A request for each of thousands of names, one after the other, would take minutes of waiting. */
#include "remote/lookup.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fs.h"
#include "remote/url.h"

#define LIST_MIN 4        /* names of one folder that are worth a list */
#define LIST_EACH 4       /* objects of a list for each name, */
#define LIST_BASE 1000    /* and these, after which the list ends: there are too many others */
#define LOOKUP_THREADS 16 /* requests at the same time */
#define LOOKUP_MIN 4      /* names that are worth threads */

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Whether the name is one of an object of a store. */
static bool name_is_listable(const char *name)
{
    size_t size = strlen(name);
    return bl_url_is(name) && strncasecmp(name, "http", 4) != 0 && name[size - 1] != '/';
}

/* Counts what is left of a list, and ends it. */
static int lookup_count(void *context, const struct bl_remote_object *object, struct bl_error *e)
{
    int64_t *left = context;
    (void)object;
    return (*left)-- > 0 ? BL_OK : bl_error_set(e, BL_EUSAGE, "too many objects");
}

/* Sets *next to the place behind the names of one folder that begin at `at`, and returns how many there are. *common:
 * the bytes with which all of them begin. */
static int64_t names_count_run(const struct bl_buffer *names, size_t at, size_t *next, size_t *common)
{
    const char *first = names->data + at;
    const size_t folder = (size_t)(bl_path_name(first) - first);
    int64_t count = 0;
    *common = strlen(first);
    *next = at;
    while (*next < names->size) {
        const char *name = names->data + *next;
        size_t same = 0;
        if (!name_is_listable(name) || (size_t)(bl_path_name(name) - name) != folder ||
            strncmp(name, first, folder) != 0)
            break;
        while (same < *common && name[same] == first[same])
            same++;
        *common = same;
        *next += strlen(name) + 1;
        count++;
    }
    if (!count)
        *next += strlen(first) + 1;
    return count;
}

/* Lists what names of one folder begin with. */
static int lookup_lists(struct bl_remote_files *files, const struct bl_buffer *names, struct bl_error *e)
{
    for (size_t at = 0, next, common; at < names->size; at = next) {
        int64_t count = names_count_run(names, at, &next, &common);
        int64_t left = count * LIST_EACH + LIST_BASE;
        struct bl_error fault = {0};
        if (count < LIST_MIN)
            continue;
        char *prefix = strndup(names->data + at, common);
        int code = prefix ? bl_remote_files_list(files, prefix, lookup_count, &left, &fault) : bl_error_memory(&fault);
        free(prefix);
        if (code == BL_ECANCEL)
            return bl_error_pass(e, code, &fault);
    }
    return BL_OK;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

/* What the threads share. */
struct lookup {
    struct bl_remote_files *files;
    const char **name;
    size_t count;
    atomic_size_t next;
    atomic_int code; /* of the first failure */
};

static void *lookup_run(void *context)
{
    struct lookup *l = context;
    struct bl_remote_object object;
    for (size_t i; !atomic_load(&l->code) && (i = atomic_fetch_add(&l->next, 1)) < l->count;) {
        struct bl_error fault = {0};
        int none = 0, code = bl_remote_files_find(l->files, l->name[i], &object, &fault);
        if (code)
            (void)atomic_compare_exchange_strong(&l->code, &none, code);
    }
    return NULL;
}

int bl_remote_files_lookup(struct bl_remote_files *files, const struct bl_buffer *names, struct bl_error *e)
{
    struct lookup l = {.files = files};
    struct bl_remote_object first;
    struct bl_error fault = {0};
    pthread_t thread[LOOKUP_THREADS];
    size_t capacity = 0, threads = 0;
    int code = lookup_lists(files, names, e);
    for (size_t at = 0; at < names->size && !code; at += strlen(names->data + at) + 1) {
        const char *name = names->data + at;
        if (!bl_url_is(name) || name[strlen(name) - 1] == '/')
            continue;
        code = BL_ARRAY_RESERVE(l.name, capacity, l.count + 1, e);
        if (!code)
            l.name[l.count++] = name;
    }
    /* The first request loads libcurl, which is done before there are threads, and fails alone if all would. */
    if (!code && l.count >= LOOKUP_MIN)
        atomic_store(&l.code, bl_remote_files_find(files, l.name[0], &first, &fault));
    /* Without threads, each name is asked for when its turn comes. */
    while (!code && !atomic_load(&l.code) && l.count >= LOOKUP_MIN && threads < LOOKUP_THREADS && threads < l.count &&
           pthread_create(&thread[threads], NULL, lookup_run, &l) == 0)
        threads++;
    for (size_t i = 0; i < threads; i++)
        (void)pthread_join(thread[i], NULL);
    if (!code && atomic_load(&l.code) == BL_ECANCEL)
        code = bl_error_set(e, BL_ECANCEL, "stopped");
    free(l.name);
    return code;
}
