/* Keeps what is known of objects, and copies of some.
 *
 * A copy is an unnamed file, so that no name of an object becomes one of a file, and nothing is left behind. A copy
 * stays while later ones have room beside it, as some formats are opened twice: for their beginning and for all. */
#include "remote/files.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/input_file.h"
#include "base/output.h"
#include "remote/ranges.h"

#define COPIES 16
#define COPIES_BYTES ((int64_t)1 << 30) /* of all copies that are kept */

/* A copy of an object. fd is its own; readers get further descriptors. */
struct copy {
    const char *url; /* NULL: the place is free */
    int fd;
    int64_t bytes;
    uint64_t used; /* when it was last opened, as a count of opens */
};

struct bl_remote_files {
    const struct bl_remote_options *options;
    const struct bl_cancel *cancel;
    struct bl_far_files far;
    pthread_mutex_t lock;             /* for all that follows */
    struct bl_remote *remote;         /* NULL: no URL was used */
    struct bl_remote_object **object; /* pointers, so that texts stay where they are */
    size_t objects, capacity;
    struct bl_hash by_url;
    struct copy copy[COPIES];
    uint64_t opens;
    struct bl_ranges ranges; /* with a lock of its own */
};

/* --- objects ------------------------------------------------------------------------------------------------------ */

static uint64_t url_hash(const char *url)
{
    return XXH3_64bits(url, strlen(url));
}

/* Returns what is known of an object, or NULL. The lock is held. */
static struct bl_remote_object *files_find_known(const struct bl_remote_files *files, const char *url, uint64_t hash)
{
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&files->by_url, hash);
         bl_hash_next(&files->by_url, &probe, &number);) {
        if (strcmp(files->object[number]->url, url) == 0)
            return files->object[number];
    }
    return NULL;
}

/* Keeps what is known of an object, unless it is known already. The lock is held. */
static int files_keep_object(struct bl_remote_files *files, const struct bl_remote_object *object, struct bl_error *e)
{
    uint64_t hash = url_hash(object->url);
    if (files_find_known(files, object->url, hash))
        return BL_OK;
    struct bl_remote_object *own = malloc(sizeof *own);
    if (!own)
        return bl_error_memory(e);
    *own = (struct bl_remote_object){strdup(object->url), strdup(object->tag), object->size};
    int code = own->url && own->tag ? BL_OK : bl_error_memory(e);
    if (!code)
        code = BL_ARRAY_RESERVE(files->object, files->capacity, files->objects + 1, e);
    if (!code)
        code = bl_hash_add(&files->by_url, hash, files->objects, e);
    if (!code) {
        files->object[files->objects++] = own;
        return BL_OK;
    }
    bl_remote_object_free(own);
    free(own);
    return code;
}

/* Opens the client when it is first needed. */
static int files_need_client(struct bl_remote_files *files, struct bl_error *e)
{
    (void)pthread_mutex_lock(&files->lock);
    int code = files->remote ? BL_OK : bl_remote_open(&files->remote, files->options, files->cancel, e);
    (void)pthread_mutex_unlock(&files->lock);
    return code;
}

int bl_remote_files_find(struct bl_remote_files *files, const char *url, struct bl_remote_object *object,
                         struct bl_error *e)
{
    uint64_t hash = url_hash(url);
    struct bl_remote_object found = {0};
    object->size = 0;
    BL_TRY(files_need_client(files, e));
    (void)pthread_mutex_lock(&files->lock);
    const struct bl_remote_object *known = files_find_known(files, url, hash);
    (void)pthread_mutex_unlock(&files->lock);
    int code = known ? BL_OK : bl_remote_stat(files->remote, url, &found, e);
    (void)pthread_mutex_lock(&files->lock);
    if (!code && !known)
        code = files_keep_object(files, &found, e);
    known = code ? NULL : files_find_known(files, url, hash);
    (void)pthread_mutex_unlock(&files->lock);
    if (known)
        *object = *known;
    else
        object->size = found.size;
    bl_remote_object_free(&found);
    return code;
}

/* The caller of a list that is being made. */
struct listed {
    struct bl_remote_files *files;
    bl_remote_emit *emit;
    void *context;
};

static int listed_take(void *context, const struct bl_remote_object *object, struct bl_error *e)
{
    const struct listed *listed = context;
    (void)pthread_mutex_lock(&listed->files->lock);
    int code = files_keep_object(listed->files, object, e);
    (void)pthread_mutex_unlock(&listed->files->lock);
    return code ? code : listed->emit(listed->context, object, e);
}

int bl_remote_files_list(struct bl_remote_files *files, const char *url, bl_remote_emit *emit, void *context,
                         struct bl_error *e)
{
    struct listed listed = {files, emit, context};
    BL_TRY(files_need_client(files, e));
    return bl_remote_list(files->remote, url, listed_take, &listed, e);
}

bool bl_remote_files_count(struct bl_remote_files *files, struct bl_remote_counts *counts)
{
    (void)pthread_mutex_lock(&files->lock);
    bool used = files->remote != NULL;
    if (used)
        bl_remote_count(files->remote, counts);
    (void)pthread_mutex_unlock(&files->lock);
    return used;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static void copy_close(struct copy *copy)
{
    if (copy->url)
        close(copy->fd);
    *copy = (struct copy){0};
}

/* Opens another descriptor of a copy, with a position of its own. */
static int copy_open(struct copy *copy, struct bl_error *e)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", copy->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? bl_error_errno(e, BL_EFAIL, "%s: cannot open its copy", copy->url) : fd;
}

/* Makes room for a copy, and returns its place. The lock is held. */
static struct copy *copies_make_room(struct bl_remote_files *files, int64_t bytes)
{
    for (;;) {
        struct copy *oldest = NULL, *unused = NULL;
        int64_t all = bytes;
        for (size_t i = 0; i < COPIES; i++) {
            struct copy *copy = &files->copy[i];
            all += copy->bytes;
            unused = copy->url ? unused : copy;
            oldest = copy->url && (!oldest || copy->used < oldest->used) ? copy : oldest;
        }
        if (unused && (all <= COPIES_BYTES || !oldest))
            return unused;
        copy_close(oldest);
    }
}

/* Returns a descriptor of a copy that is there, -1 if there is none, or a code. */
static int files_open_copy(struct bl_remote_files *files, const char *url, bool *found, struct bl_error *e)
{
    int fd = -1;
    *found = false;
    (void)pthread_mutex_lock(&files->lock);
    for (size_t i = 0; i < COPIES && !*found; i++) {
        struct copy *copy = &files->copy[i];
        if (!copy->url || strcmp(copy->url, url) != 0)
            continue;
        *found = true;
        copy->used = ++files->opens;
        fd = copy_open(copy, e);
    }
    (void)pthread_mutex_unlock(&files->lock);
    return fd;
}

/* Opens an input: struct bl_far_files. */
static int files_open(void *context, const char *url, struct bl_error *e)
{
    struct bl_remote_files *files = context;
    struct bl_remote_object object;
    bool found;
    int fd = files_open_copy(files, url, &found, e);
    if (found)
        return fd;
    BL_TRY(bl_remote_files_find(files, url, &object, e));
    fd = bl_temporary_open(NULL, e);
    if (fd < 0)
        return fd;
    int code = bl_remote_save(files->remote, &object, fd, e);
    if (code) {
        close(fd);
        return code;
    }
    struct copy made = {.url = object.url, .fd = fd, .bytes = object.size};
    (void)pthread_mutex_lock(&files->lock);
    made.used = ++files->opens;
    int opened = copy_open(&made, e);
    *copies_make_room(files, object.size) = made;
    (void)pthread_mutex_unlock(&files->lock);
    return opened;
}

/* Describes an input: struct bl_far_files. Its content is the hash of its size and tag, since a tag is only of one
 * form of its bytes: the parts of an upload, or a compression. */
static int files_identify(void *context, const char *url, int64_t *bytes, uint64_t *content, bool *missing,
                          struct bl_error *e)
{
    struct bl_remote_object object;
    struct bl_buffer text = {0};
    int found = bl_remote_files_find(context, url, &object, e);
    *missing = found && object.size < 0;
    if (found)
        return found;
    *bytes = object.size;
    bl_buffer_printf(&text, "%lld %s", (long long)object.size, object.tag);
    int code = bl_buffer_check(&text, e);
    uint64_t hash = code ? 0 : XXH3_64bits(text.data, text.size);
    *content = hash ? hash : 1;
    bl_buffer_free(&text);
    return code;
}

/* Opens an object for reading by ranges: struct bl_far_files. */
static int files_open_ranges(void *context, const char *url, int64_t begin, struct bl_far **far, int64_t *bytes,
                             struct bl_error *e)
{
    struct bl_remote_files *files = context;
    struct bl_remote_object object;
    BL_TRY(bl_remote_files_find(files, url, &object, e));
    (void)pthread_mutex_lock(&files->lock);
    const struct bl_remote_object *known = files_find_known(files, url, url_hash(url));
    (void)pthread_mutex_unlock(&files->lock);
    *bytes = object.size;
    return bl_ranges_open(&files->ranges, files->remote, known, begin, far, e);
}

int bl_remote_files_open(struct bl_remote_files **out, const struct bl_remote_options *options,
                         const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_remote_files *files = calloc(1, sizeof *files);
    if (!files || pthread_mutex_init(&files->lock, NULL) != 0) {
        free(files);
        return bl_error_memory(e);
    }
    int code = bl_ranges_init(&files->ranges, e);
    if (code) {
        (void)pthread_mutex_destroy(&files->lock);
        free(files);
        return code;
    }
    files->options = options;
    files->cancel = cancel;
    files->far = (struct bl_far_files){.open = files_open,
                                       .identify = files_identify,
                                       .open_ranges = files_open_ranges,
                                       .read = bl_ranges_read,
                                       .close = bl_ranges_close,
                                       .context = files};
    bl_far_set(&files->far);
    *out = files;
    return BL_OK;
}

void bl_remote_files_close(struct bl_remote_files *files)
{
    if (!files)
        return;
    bl_far_set(NULL);
    for (size_t i = 0; i < COPIES; i++)
        copy_close(&files->copy[i]);
    bl_ranges_free(&files->ranges);
    for (size_t i = 0; i < files->objects; i++) {
        bl_remote_object_free(files->object[i]);
        free(files->object[i]);
    }
    free(files->object);
    bl_hash_free(&files->by_url);
    bl_remote_close(files->remote);
    (void)pthread_mutex_destroy(&files->lock);
    free(files);
}
