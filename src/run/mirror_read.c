/* A dataset in a store, and its scratch. The names of objects are those of files in the scratch, with the URL before
 * them. */
#include "run/mirror_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "pool/pipeline.h"
#include "remote/upload.h"
#include "remote/url.h"
#include "store/folders.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/sequences.h"
#include "store/shard_table.h"

#define SENDERS_MAX 8        /* uploads at the same time: more do not fill a connection better */
#define FETCHERS 16          /* requests for state at the same time */
#define SCRATCHES_MAX 1000   /* processes of a machine that write the same dataset */
#define DESCRIPTORS 16       /* of the walk that empties a scratch */
#define SHARDS_MAX 100000000 /* no run has a shard of a larger number */
#define SHARDS "shards/"     /* begins the names of shards */
#define SPOOL BL_WORK_FOLDER "/spool"
#define ROWS ".rows"    /* ends the names of files of the spool that say what is in the others */
#define LOOKED_AT 65536 /* bytes of the files whose contents show the state */

bool bl_mirror_is_needed(const char *output)
{
    return bl_url_is(output);
}

const char *bl_mirror_dir(const struct bl_mirror *m)
{
    return m->dir;
}

const char *bl_mirror_url(const struct bl_mirror *m)
{
    return m->url;
}

const char *bl_mirror_spool_url(const struct bl_mirror *m)
{
    return m->spool_url;
}

char *bl_mirror_name_url(const struct bl_mirror *m, const char *text)
{
    struct bl_buffer out = {0};
    const char *found;
    bl_buffer_text(&out, "");
    while (m->dir && (found = strstr(text, m->dir))) {
        bl_buffer_append(&out, text, (size_t)(found - text));
        bl_buffer_text(&out, m->url);
        text = found + strlen(m->dir);
    }
    bl_buffer_text(&out, text);
    if (out.failed)
        bl_buffer_free(&out);
    return out.data;
}

void bl_mirror_count(const struct bl_mirror *m, struct bl_remote_counts *counts)
{
    bl_remote_count(m->remote, counts);
}

/* --- what the store has ------------------------------------------------------------------------------------------- */

/* For qsort and bsearch: by name. */
static int object_compare(const void *a, const void *b)
{
    return strcmp(((const struct bl_mirror_object *)a)->name, ((const struct bl_mirror_object *)b)->name);
}

const struct bl_mirror_object *bl_mirror_find(const struct bl_mirror *m, const char *name)
{
    const struct bl_mirror_object key = {.name = (char *)name};
    return m->objects ? bsearch(&key, m->object, m->objects, sizeof key, object_compare) : NULL;
}

static int mirror_on_object(void *context, const struct bl_remote_object *object, struct bl_error *e)
{
    struct bl_mirror *m = context;
    if (BL_ARRAY_RESERVE(m->object, m->capacity, m->objects + 1, e))
        return BL_EFAIL;
    struct bl_mirror_object *o = &m->object[m->objects];
    *o = (struct bl_mirror_object){strdup(object->url + strlen(m->url) + 1), strdup(object->tag), object->size};
    m->objects++;
    return o->name && o->tag ? BL_OK : bl_error_memory(e);
}

/* Returns whether a run writes an object of this name. */
static bool name_is_ours(const char *name)
{
    static const char *const begins[] = {SHARDS, BL_WORK_FOLDER "/"};
    static const char *const names[] = {BL_MANIFEST_FILE, BL_INDEX_FILE, BL_SHARDS_FILE, BL_SEQUENCES_FILE};
    bool ours = false;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        ours |= strncmp(name, begins[i], strlen(begins[i])) == 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ours |= strcmp(name, names[i]) == 0;
    return ours;
}

/* Lists the objects. */
static int mirror_list(struct bl_mirror *m, struct bl_error *e)
{
    struct bl_buffer prefix = {0};
    bl_buffer_printf(&prefix, "%s/", m->url);
    int code = bl_buffer_check(&prefix, e);
    if (!code)
        code = bl_remote_list_any(m->remote, prefix.data, mirror_on_object, m, e);
    bl_buffer_free(&prefix);
    BL_TRY(code);
    if (m->objects)
        qsort(m->object, m->objects, sizeof *m->object, object_compare);
    m->finished = bl_mirror_find(m, BL_MANIFEST_FILE) != NULL;
    m->begun = !m->finished && (bl_mirror_find(m, BL_WORK_FOLDER "/" BL_STATE_CONFIGURATION) ||
                                bl_mirror_find(m, BL_WORK_FOLDER "/" BL_STATE_SCAN));
    return BL_OK;
}

/* Checks that a dataset may begin here: there are no other objects, for a typing error must not mix it with them, and
 * the store compares conditions, unless writers lock each other out. */
static int mirror_check_place(struct bl_mirror *m, struct bl_error *e)
{
    struct bl_buffer prefix = {0};
    if (m->finished || m->begun || (m->use != BL_MIRROR_SCAN && m->use != BL_MIRROR_PACK))
        return BL_OK;
    for (size_t i = 0; i < m->objects; i++) {
        if (!name_is_ours(m->object[i].name))
            return bl_error_set(e, BL_EUSAGE, "%s holds %s, which is no part of an unfinished dataset: use another -o",
                                m->url, m->object[i].name);
    }
    bl_buffer_printf(&prefix, "%s/" BL_WORK_FOLDER "/", m->url);
    int code = bl_buffer_check(&prefix, e);
    if (!code && !m->has_lock_dir)
        code = bl_remote_probe_conditional(m->remote, prefix.data, e);
    bl_buffer_free(&prefix);
    return code;
}

/* --- scratch ------------------------------------------------------------------------------------------------------ */

/* Locks the folder for this process. *free_: it is one that this user alone can write, and no other process uses. */
static int scratch_lock(struct bl_mirror *m, const char *path, bool *free_, struct bl_error *e)
{
    struct stat status;
    *free_ = false;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return bl_error_errno(e, errno == ENOSPC || errno == EIO ? BL_EFAIL : BL_EUSAGE, "cannot make the scratch %s",
                              path);
    m->lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (m->lock < 0)
        return BL_OK; /* a file or link of somebody else */
    *free_ = fstat(m->lock, &status) == 0 && status.st_uid == geteuid() && !(status.st_mode & 022) &&
             flock(m->lock, LOCK_EX | LOCK_NB) == 0;
    struct stat now;
    *free_ &= stat(path, &now) == 0 && now.st_ino == status.st_ino; /* it was not removed meanwhile */
    if (!*free_)
        close(m->lock);
    if (!*free_)
        m->lock = -1;
    return BL_OK;
}

/* Finds the first scratch of this dataset that no process uses, or makes one. */
static int scratch_take(struct bl_mirror *m, const char *parent, struct bl_error *e)
{
    const char *tmp = getenv("TMPDIR");
    bool is_free = false;
    parent = parent ? parent : tmp && *tmp ? tmp : "/tmp";
    for (int i = 0; i < SCRATCHES_MAX && !is_free; i++) {
        struct bl_buffer path = {0};
        bl_buffer_printf(&path, "%s/bload-%016" PRIx64 "-%d", parent, bl_checksum(m->url, strlen(m->url)), i);
        int code = bl_buffer_check(&path, e);
        if (!code)
            code = scratch_lock(m, path.data, &is_free, e);
        if (code || !is_free) {
            bl_buffer_free(&path);
            BL_TRY(code);
        }
        m->dir = is_free ? path.data : NULL;
    }
    return is_free ? BL_OK : bl_error_set(e, BL_EFAIL, "%s: no folder of it is free for a scratch", parent);
}

/* Removes one entry during the walk: nftw visits a folder after its entries. The scratch itself stays. */
static int mirror_remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    return place->level ? remove(path) : 0;
}

static int scratch_empty(const struct bl_mirror *m, struct bl_error *e)
{
    if (nftw(m->dir, mirror_remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot empty the scratch %s", m->dir);
    return BL_OK;
}

/* --- from the store to the scratch -------------------------------------------------------------------------------- */

/* Compares bytes of an object with those of a file. */
struct comparing {
    int fd;
    int64_t at;
    bool same;
    const char *path;
};

static int mirror_compare_bytes(void *context, const void *data, size_t size, struct bl_error *e)
{
    struct comparing *c = context;
    char here[16384];
    for (size_t i = 0; i < size && c->same;) {
        size_t part = size - i < sizeof here ? size - i : sizeof here;
        BL_TRY(bl_io_pread(c->fd, here, part, c->at, c->path, e));
        c->same = memcmp(here, (const char *)data + i, part) == 0;
        c->at += (int64_t)part;
        i += part;
    }
    return BL_OK;
}

/* Sets whether the file has the bytes of the object. A file that is missing has not. */
int bl_mirror_compare(const struct bl_mirror *m, const struct bl_remote_object *object, const char *path, bool *same,
                      struct bl_error *e)
{
    struct stat status;
    struct comparing c = {.fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), .same = true, .path = path};
    bool lacks_ranges;
    *same = false;
    if (c.fd < 0)
        return errno == ENOENT ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    int code = BL_OK;
    if (fstat(c.fd, &status) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    else if (status.st_size == object->size) {
        code =
            object->size ? bl_remote_fetch(m->remote, object, 0, 0, mirror_compare_bytes, &c, &lacks_ranges, e) : BL_OK;
        *same = !code && c.same;
    }
    close(c.fd);
    return code;
}

static int mirror_make_parent(const char *path, struct bl_error *e)
{
    char *parent = bl_path_parent(path);
    int code = parent ? bl_fs_mkdirs(parent, e) : bl_error_memory(e);
    free(parent);
    return code;
}

/* Copies an object to DIR/name. */
int bl_mirror_save(const struct bl_mirror *m, const struct bl_remote_object *object, const char *path,
                   struct bl_error *e)
{
    struct bl_output out = {0};
    int code = mirror_make_parent(path, e);
    if (!code)
        code = bl_output_own(&out, path, e);
    if (!code)
        code = bl_remote_save(m->remote, object, out.fd, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    return code;
}

/* Has DIR/name be the object of that name. *same: it was. */
static int mirror_fetch(const struct bl_mirror *m, const struct bl_mirror_object *o, bool *same, struct bl_error *e)
{
    struct bl_buffer url = {0}, path = {0};
    bl_buffer_printf(&url, "%s/%s", m->url, o->name);
    bl_buffer_printf(&path, "%s/%s", m->dir, o->name);
    struct bl_remote_object object = {url.data, o->tag, o->size};
    int code = url.failed || path.failed ? bl_error_memory(e) : BL_OK;
    if (!code)
        code = bl_mirror_compare(m, &object, path.data, same, e);
    if (!code && !*same)
        code = bl_mirror_save(m, &object, path.data, e);
    bl_buffer_free(&url);
    bl_buffer_free(&path);
    return code;
}

/* Makes DIR/name an empty file of the object's size. */
static int mirror_stand_in(const struct bl_mirror *m, const struct bl_mirror_object *o, struct bl_error *e)
{
    char *path = bl_path_join(m->dir, o->name);
    int code = path ? mirror_make_parent(path, e) : bl_error_memory(e), fd = -1;
    if (!code)
        fd = bl_fs_create(path, O_WRONLY, e);
    if (!code && fd < 0)
        code = fd;
    if (!code && ftruncate(fd, o->size) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot write %s", path);
    if (fd >= 0)
        close(fd);
    free(path);
    return code;
}

/* Returns whether a command needs this file of the state. */
static bool mirror_needs_state(const struct bl_mirror *m, const char *name)
{
    int64_t part;
    bool makes = m->use == BL_MIRROR_SCAN || m->use == BL_MIRROR_PACK;
    if (strncmp(name, "spool/", 6) == 0)
        return m->use == BL_MIRROR_PACK && bl_folders_is_work_file(name + 6) && strstr(name, ROWS);
    if (strchr(name, '/') || strstr(name, ".part-") || !bl_folders_is_work_file(name) || strncmp(name, "lock", 4) == 0)
        return false;
    if (strncmp(name, "task-", 5) == 0 || strncmp(name, "scan-task-", 10) == 0) /* heartbeats */
        return m->use == BL_MIRROR_FINISH || m->use == BL_MIRROR_LOOK;
    if (!bl_text_numbered(name, "scan-", 5, "", &part))
        return true;
    bool has_table = bl_mirror_find(m, BL_WORK_FOLDER "/" BL_STATE_SEQUENCES) != NULL;
    return m->use == BL_MIRROR_SCAN ? part == m->task
                                    : m->use == BL_MIRROR_LOOK || (!has_table && (makes || m->use == BL_MIRROR_PLAN));
}

/* Returns whether the scratch needs the object: of a finished dataset the tables, of an unfinished one its state. */
static bool mirror_needs(const struct bl_mirror *m, const struct bl_mirror_object *o)
{
    static const char folder[] = BL_WORK_FOLDER "/";
    if (m->use == BL_MIRROR_LOOK && strncmp(o->name, SHARDS, strlen(SHARDS)) == 0)
        return !strstr(o->name, "..");
    if (m->finished)
        return name_is_ours(o->name) && !strchr(o->name, '/');
    return strncmp(o->name, folder, strlen(folder)) == 0 && mirror_needs_state(m, o->name + strlen(folder));
}

/* Returns whether the object is a file of the spool's steps. */
static bool object_has_steps(const struct bl_mirror *m, const struct bl_mirror_object *o)
{
    size_t size = strlen(SPOOL "/");
    (void)m;
    return strncmp(o->name, SPOOL "/", size) == 0 && bl_folders_is_work_file(o->name + size) &&
           !strstr(o->name + size, ROWS);
}

struct fetching {
    const struct bl_mirror *m;
    bool (*needs)(const struct bl_mirror *m, const struct bl_mirror_object *o);
    size_t next;
};

static int fetch_produce(void *context, void **job, struct bl_error *e)
{
    struct fetching *f = context;
    (void)e;
    while (f->next < f->m->objects && !f->needs(f->m, &f->m->object[f->next]))
        f->next++;
    *job = f->next < f->m->objects ? &f->m->object[f->next++] : NULL;
    return BL_OK;
}

static int fetch_work(void *context, void *worker, void *job, struct bl_error *e)
{
    const struct bl_mirror *m = ((struct fetching *)context)->m;
    const struct bl_mirror_object *object = job;
    bool same;
    (void)worker;
    if (m->use == BL_MIRROR_LOOK && (object->size > LOOKED_AT || strncmp(object->name, SHARDS, strlen(SHARDS)) == 0))
        return mirror_stand_in(m, object, e);
    return mirror_fetch(m, object, &same, e);
}

/* Removes files of the dataset from a scratch whose dataset is not finished: a run was killed before it sent them. */
static int scratch_remove_finished(const struct bl_mirror *m, struct bl_error *e)
{
    static const char *const names[] = {BL_MANIFEST_FILE, BL_INDEX_FILE, BL_SHARDS_FILE, BL_SEQUENCES_FILE};
    int code = BL_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && !code; i++) {
        char *path = bl_path_join(m->dir, names[i]);
        code = path ? bl_fs_remove(path, e) : bl_error_memory(e);
        free(path);
    }
    return code;
}

/* Makes room in m->sent for a shard. */
int bl_mirror_reserve(struct bl_mirror *m, int64_t shard, struct bl_error *e)
{
    size_t before = m->shards;
    BL_TRY(BL_ARRAY_RESERVE(m->sent, m->shards, (size_t)shard + 1, e));
    if (m->shards > before)
        memset(m->sent + before, 0, m->shards - before);
    return BL_OK;
}

/* Notes the shards whose records the store has. */
static int mirror_note_shards(struct bl_mirror *m, struct bl_error *e)
{
    static const char begin[] = BL_WORK_FOLDER "/";
    int64_t shard;
    for (size_t i = 0; i < m->objects; i++) {
        const char *name = m->object[i].name;
        if (strncmp(name, begin, strlen(begin)) != 0 ||
            !bl_text_numbered(name + strlen(begin), "shard-", 8, ".record", &shard) || shard > SHARDS_MAX)
            continue;
        BL_TRY(bl_mirror_reserve(m, shard, e));
        m->sent[shard] = 1;
    }
    return BL_OK;
}

/* Empties a scratch whose state is not that of the store: of no run there, or of another configuration. */
static int scratch_reconcile(struct bl_mirror *m, struct bl_error *e)
{
    const struct bl_mirror_object *scan = bl_mirror_find(m, BL_WORK_FOLDER "/" BL_STATE_SCAN),
                                  *configuration = bl_mirror_find(m, BL_WORK_FOLDER "/" BL_STATE_CONFIGURATION);
    const struct bl_mirror_object *first = configuration ? configuration : scan;
    bool same = false;
    if (m->begun && m->use != BL_MIRROR_LOOK)
        BL_TRY(mirror_fetch(m, first, &same, e));
    m->keeps = same;
    return same ? scratch_remove_finished(m, e) : scratch_empty(m, e);
}

/* Copies the objects that needs chooses to the scratch. */
static int mirror_fetch_all(const struct bl_mirror *m,
                            bool (*needs)(const struct bl_mirror *, const struct bl_mirror_object *),
                            struct bl_error *e)
{
    static const struct bl_stages stages = {.produce = fetch_produce, .work = fetch_work};
    struct fetching fetching = {.m = m, .needs = needs};
    return bl_pipeline_run(&stages, &fetching, FETCHERS, 2 * FETCHERS, m->cancel, e);
}

/* Sets the URL of the spool, if the store has one. */
static int mirror_find_spool(struct bl_mirror *m, struct bl_error *e)
{
    bool any = false;
    for (size_t i = 0; i < m->objects && !m->finished; i++)
        any |= object_has_steps(m, &m->object[i]);
    free(m->spool_url);
    m->spool_url = any ? bl_path_join(m->url, SPOOL) : NULL;
    return any && !m->spool_url ? bl_error_memory(e) : BL_OK;
}

/* Brings the scratch up to what the store has. */
static int mirror_update(struct bl_mirror *m, struct bl_error *e)
{
    BL_TRY(scratch_reconcile(m, e));
    BL_TRY(mirror_find_spool(m, e));
    BL_TRY(mirror_fetch_all(m, mirror_needs, e));
    return m->finished ? BL_OK : mirror_note_shards(m, e);
}

int bl_mirror_fetch_spool(struct bl_mirror *m, struct bl_error *e)
{
    return mirror_fetch_all(m, object_has_steps, e);
}

/* --- open and close ----------------------------------------------------------------------------------------------- */

/* Parses the URL, which must name a place that can be written, and keeps it without a slash at its end. */
static int mirror_set_url(struct bl_mirror *m, const char *text, struct bl_error *e)
{
    struct bl_url url = {0};
    int code = bl_url_parse(&url, text, e);
    if (!code && url.scheme != BL_URL_S3 && url.scheme != BL_URL_GS)
        code = bl_error_set(e, BL_EUSAGE, "%s: datasets are written to s3:// and gs:// URLs, and to directories", text);
    size_t size = strlen(text);
    while (size && text[size - 1] == '/')
        size--;
    bool named = !code && strspn(url.key, "/") < strlen(url.key);
    if (!code && !named)
        code = bl_error_set(e, BL_EUSAGE, "%s names no place in the bucket: add one, as in %.*s/dataset", text,
                            (int)size, text);
    bl_url_free(&url);
    BL_TRY(code);
    m->url = strndup(text, size);
    return m->url ? BL_OK : bl_error_memory(e);
}

static void mirror_forget(struct bl_mirror *m)
{
    for (size_t i = 0; i < m->objects; i++) {
        free(m->object[i].name);
        free(m->object[i].tag);
    }
    m->objects = 0;
    if (m->sent)
        memset(m->sent, 0, m->shards);
}

/* Lists the dataset and brings the scratch up to it. Where that fails, another run may have ended meanwhile, and
 * removed the state, or the object that tries the store. */
static int mirror_read(struct bl_mirror *m, const char *scratch, struct bl_error *e)
{
    struct bl_error again = {0};
    BL_TRY(mirror_list(m, e));
    int code = mirror_check_place(m, e);
    if (!code)
        code = scratch_take(m, scratch, e);
    if (!code)
        code = mirror_update(m, e);
    if (!code || code == BL_ECANCEL || m->finished)
        return code;
    mirror_forget(m);
    if (mirror_list(m, &again) || !m->finished)
        return code;
    bl_error_clear(e);
    if (!m->dir)
        BL_TRY(scratch_take(m, scratch, e));
    return mirror_update(m, e);
}

int bl_mirror_open(struct bl_mirror **out, const struct bl_mirror_request *request, struct bl_error *e)
{
    struct bl_mirror *m = *out = calloc(1, sizeof *m);
    if (!m)
        return bl_error_memory(e);
    m->lock = -1;
    m->cancel = request->cancel;
    m->use = request->use;
    m->has_lock_dir = request->options->lock_dir != NULL;
    m->task = request->task;
    m->senders = request->senders < SENDERS_MAX ? request->senders : SENDERS_MAX;
    BL_TRY(mirror_set_url(m, request->url, e));
    BL_TRY(bl_remote_open(&m->remote, request->options, request->cancel, e));
    BL_TRY(mirror_read(m, request->scratch, e));
    return bl_sender_open(&m->sender, m->remote, m->senders, e);
}

void bl_mirror_close(struct bl_mirror *m, bool done)
{
    struct bl_error none = {0};
    if (!m)
        return;
    if (m->remote)
        bl_remote_end(m->remote);
    bl_sender_close(m->sender);
    bl_remote_close(m->remote);
    if (m->dir && (done || !m->keeps) && scratch_empty(m, &none) == BL_OK)
        (void)rmdir(m->dir);
    if (m->lock >= 0)
        close(m->lock);
    mirror_forget(m);
    free(m->object);
    free(m->sent);
    free(m->dir);
    free(m->spool_url);
    free(m->url);
    free(m);
}
