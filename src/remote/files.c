/* Keeps what is known of objects, and has copies of them made (copies.h). */
#include "remote/files.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/input_file.h"
#include "remote/copies.h"
#include "remote/ranges.h"

struct bl_remote_files {
    const struct bl_remote_options *options;
    const struct bl_cancel *cancel;
    struct bl_far_files far;
    pthread_mutex_t lock;             /* for all that follows */
    struct bl_remote *remote;         /* NULL: no URL was used */
    struct bl_remote_object **object; /* pointers, so that texts stay where they are */
    size_t objects, capacity;
    struct bl_hash by_url;
    struct bl_copies *copies; /* NULL as remote */
    struct bl_ranges ranges;
    struct folder *folder; /* that were listed */
    size_t folders, folder_capacity;
    struct bl_hash by_folder;
};

/* A folder, whose files were listed. */
struct folder {
    char *url;
    struct bl_buffer files; /* as struct bl_far_files has them */
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

/* Fetches for a copy: a bl_copies_fetch. */
static int files_fetch(void *context, const struct bl_remote_object *object, int64_t begin, int64_t end,
                       bl_remote_sink *sink, void *sink_context, bool *lacks_ranges, struct bl_error *e)
{
    const struct bl_remote_files *files = context;
    return bl_remote_fetch(files->remote, object, begin, end, sink, sink_context, lacks_ranges, e);
}

/* Opens the client when it is first needed. */
static int files_need_client(struct bl_remote_files *files, struct bl_error *e)
{
    (void)pthread_mutex_lock(&files->lock);
    int code = files->remote ? BL_OK : bl_remote_open(&files->remote, files->options, files->cancel, e);
    if (!code && !files->copies)
        code = bl_copies_open(&files->copies, files_fetch, files, e);
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

/* --- inputs: struct bl_far_files ---------------------------------------------------------------------------------- */

/* Returns a descriptor of a copy of the object, as a whole. */
static int files_open(void *context, const char *url, struct bl_error *e)
{
    struct bl_remote_files *files = context;
    struct bl_remote_object object;
    BL_TRY(bl_remote_files_find(files, url, &object, e));
    return bl_copies_get(files->copies, &object, e);
}

/* Returns a descriptor of a copy that may be incomplete. */
static int files_follow(void *context, const char *url, struct bl_far_copy **copy, struct bl_error *e)
{
    struct bl_remote_files *files = context;
    struct bl_remote_object object;
    BL_TRY(bl_remote_files_find(files, url, &object, e));
    return bl_copies_follow(files->copies, &object, copy, e);
}

/* Sets what is known of an object, without a request. False: nothing is. */
static bool files_recall(struct bl_remote_files *files, const char *url, struct bl_remote_object *object)
{
    (void)pthread_mutex_lock(&files->lock);
    const struct bl_remote_object *known = files_find_known(files, url, url_hash(url));
    if (known)
        *object = *known;
    (void)pthread_mutex_unlock(&files->lock);
    return known;
}

static void files_announce(void *context, const char *url, int64_t begin, int64_t end)
{
    struct bl_remote_files *files = context;
    struct bl_remote_object object;
    if (files_recall(files, url, &object))
        bl_copies_announce(files->copies, &object, begin, end);
}

static void files_release(void *context, const char *url)
{
    struct bl_remote_files *files = context;
    struct bl_remote_object object;
    if (files_recall(files, url, &object))
        bl_copies_release(files->copies, &object);
}

/* Describes an input. Its content is the hash of its size and tag, since a tag is only of one
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

/* Adds an object to the files of its folder, but for those of folders below. */
struct folder_list {
    struct bl_buffer *files;
    size_t prefix; /* bytes of the folder's URL, with the slash */
};

static int folder_take(void *context, const struct bl_remote_object *object, struct bl_error *e)
{
    const struct folder_list *list = context;
    const char *name = object->url + list->prefix;
    if (!strchr(name, '/')) {
        bl_buffer_printf(list->files, "%lld ", (long long)object->size);
        bl_buffer_append(list->files, name, strlen(name) + 1);
    }
    return bl_buffer_check(list->files, e);
}

/* Returns a folder that was listed, or NULL. The lock is held. */
static const struct folder *files_find_folder(const struct bl_remote_files *files, const char *url)
{
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&files->by_folder, url_hash(url));
         bl_hash_next(&files->by_folder, &probe, &number);) {
        if (strcmp(files->folder[number].url, url) == 0)
            return &files->folder[number];
    }
    return NULL;
}

/* Keeps the files of a folder. The lock is held. */
static int files_keep_folder(struct bl_remote_files *files, const char *url, const struct bl_buffer *list,
                             struct bl_error *e)
{
    if (files_find_folder(files, url))
        return BL_OK;
    struct folder own = {.url = strdup(url)};
    bl_buffer_append(&own.files, list->data, list->size);
    int code = own.url ? bl_buffer_check(&own.files, e) : bl_error_memory(e);
    if (!code)
        code = BL_ARRAY_RESERVE(files->folder, files->folder_capacity, files->folders + 1, e);
    if (!code)
        code = bl_hash_add(&files->by_folder, url_hash(url), files->folders, e);
    if (!code) {
        files->folder[files->folders++] = own;
        return BL_OK;
    }
    free(own.url);
    bl_buffer_free(&own.files);
    return code;
}

/* Lists a folder, once: struct bl_far_files. */
static int files_list(void *context, const char *url, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_remote_files *files = context;
    struct bl_buffer prefix = {0};
    (void)pthread_mutex_lock(&files->lock);
    const struct folder *known = files_find_folder(files, url);
    if (known)
        bl_buffer_append(out, known->files.data, known->files.size);
    (void)pthread_mutex_unlock(&files->lock);
    if (known)
        return bl_buffer_check(out, e);
    BL_TRY(files_need_client(files, e));
    bl_buffer_printf(&prefix, "%s%s", url, url[strlen(url) - 1] == '/' ? "" : "/");
    int code = bl_buffer_check(&prefix, e);
    struct folder_list list = {out, prefix.size};
    struct listed listed = {files, folder_take, &list};
    if (!code)
        code = bl_remote_list_any(files->remote, prefix.data, listed_take, &listed, e);
    (void)pthread_mutex_lock(&files->lock);
    if (!code)
        code = files_keep_folder(files, url, out, e);
    (void)pthread_mutex_unlock(&files->lock);
    bl_buffer_free(&prefix);
    return code;
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
                                       .list = files_list,
                                       .context = files,
                                       .announce = files_announce,
                                       .release = files_release,
                                       .follow = files_follow,
                                       .wait = bl_copies_wait,
                                       .leave = bl_copies_leave};
    bl_far_set(&files->far);
    *out = files;
    return BL_OK;
}

void bl_remote_files_close(struct bl_remote_files *files)
{
    if (!files)
        return;
    bl_far_set(NULL);
    if (files->remote)
        bl_remote_end(files->remote);
    bl_copies_close(files->copies);
    bl_ranges_free(&files->ranges);
    for (size_t i = 0; i < files->objects; i++) {
        bl_remote_object_free(files->object[i]);
        free(files->object[i]);
    }
    free(files->object);
    bl_hash_free(&files->by_url);
    for (size_t i = 0; i < files->folders; i++) {
        free(files->folder[i].url);
        bl_buffer_free(&files->folder[i].files);
    }
    free(files->folder);
    bl_hash_free(&files->by_folder);
    bl_remote_close(files->remote);
    (void)pthread_mutex_destroy(&files->lock);
    free(files);
}
