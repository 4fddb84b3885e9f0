/* A dataset in a store, and its scratch. The names of objects are those of files in the scratch, with the URL before
 * them. */
#include "run/mirror_parts.h"

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
#include "base/text.h"
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

enum { RECORD_IS_THERE = 1, SHARD_IS_THERE = 2 };

bool bl_mirror_is_needed(const char *output)
{
    return bl_path_is_url(output);
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
    *counts = (struct bl_remote_counts){0};
    if (m->remote) /* NULL: the URL was refused */
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

/* Objects without bytes, which a store may leave where a writer was killed, count as missing; but a part of the spool
 * has none where a task has no text. */
static int mirror_on_object(void *context, const struct bl_remote_object *object, struct bl_error *e)
{
    static const char spool[] = BL_WORK_FOLDER "/spool/";
    struct bl_mirror *m = context;
    if (!object->size && strncmp(object->url + strlen(m->url) + 1, spool, strlen(spool)) != 0)
        return BL_OK;
    if (BL_ARRAY_RESERVE(m->object, m->capacity, m->objects + 1, e))
        return BL_EFAIL;
    struct bl_mirror_object *o = &m->object[m->objects];
    *o = (struct bl_mirror_object){strdup(object->url + strlen(m->url) + 1), strdup(object->tag), object->size};
    m->objects++;
    return o->name && o->tag ? BL_OK : bl_error_memory(e);
}

bool bl_mirror_is_ours(const char *name)
{
    static const char *const begins[] = {BL_MIRROR_SHARDS, BL_WORK_FOLDER "/"};
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
        if (!bl_mirror_is_ours(m->object[i].name))
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

/* Sets path to a scratch of this dataset. parent: NULL: $TMPDIR or /tmp. */
static int scratch_name(struct bl_buffer *path, const char *url, const char *parent, int number, struct bl_error *e)
{
    const char *tmp = getenv("TMPDIR");
    parent = parent ? parent : tmp && *tmp ? tmp : "/tmp";
    bl_buffer_printf(path, "%s/bload-%016" PRIx64 "-%d", parent, bl_checksum(url, strlen(url)), number);
    return bl_buffer_check(path, e);
}

/* Finds the first scratch of this dataset that no process uses, or makes one. */
static int scratch_take(struct bl_mirror *m, const char *parent, struct bl_error *e)
{
    bool is_free = false;
    for (int i = 0; i < SCRATCHES_MAX && !is_free; i++) {
        struct bl_buffer path = {0};
        int code = scratch_name(&path, m->url, parent, i, e);
        if (!code)
            code = scratch_lock(m, path.data, &is_free, e);
        if (code || !is_free) {
            bl_buffer_free(&path);
            BL_TRY(code);
        }
        m->dir = is_free ? path.data : NULL;
    }
    return is_free ? BL_OK : bl_error_set(e, BL_EFAIL, "%s: no scratch of it is free: remove some", m->url);
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

/* --- state -------------------------------------------------------------------------------------------------------- */

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

/* Whether an object is a shard or a record of one; sets its bit of m->sent, and the shard's number. */
static bool name_find_shard(const char *name, uint8_t *bit, int64_t *shard)
{
    static const char begin[] = BL_WORK_FOLDER "/";
    char last[64];
    const char *slash = strrchr(name, '/');
    *bit = strncmp(name, begin, strlen(begin)) == 0 ? RECORD_IS_THERE : SHARD_IS_THERE;
    if (*bit == RECORD_IS_THERE)
        return bl_text_numbered(name + strlen(begin), "shard-", 8, ".record", shard) && *shard <= SHARDS_MAX;
    if (!slash || strncmp(name, BL_MIRROR_SHARDS, strlen(BL_MIRROR_SHARDS)) != 0)
        return false;
    snprintf(last, sizeof last, "%.*s", (int)strcspn(slash + 1, "."), slash + 1);
    return bl_text_numbered(last, "shard-", 8, "", shard) && *shard <= SHARDS_MAX;
}

/* Notes the shards that the store has, with their records. Somebody may have removed a shard whose record is left. */
static int mirror_note_shards(struct bl_mirror *m, struct bl_error *e)
{
    int64_t shard;
    uint8_t bit;
    for (size_t i = 0; i < m->objects; i++) {
        if (!name_find_shard(m->object[i].name, &bit, &shard))
            continue;
        BL_TRY(bl_mirror_reserve(m, shard, e));
        m->sent[shard] |= bit;
    }
    for (size_t i = 0; i < m->shards; i++)
        m->sent[i] = m->sent[i] == (RECORD_IS_THERE | SHARD_IS_THERE);
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
        BL_TRY(bl_mirror_fetch(m, first, &same, e));
    m->keeps = same;
    return same ? scratch_remove_finished(m, e) : scratch_empty(m, e);
}

/* Brings the scratch up to what the store has. */
static int mirror_update(struct bl_mirror *m, struct bl_error *e)
{
    BL_TRY(scratch_reconcile(m, e));
    BL_TRY(bl_mirror_fetch_state(m, e));
    return m->finished ? BL_OK : mirror_note_shards(m, e);
}

/* --- open and close ----------------------------------------------------------------------------------------------- */

/* Parses the URL, which must name a place that can be written, and keeps it without a slash at its end. */
static int mirror_set_url(struct bl_mirror *m, const char *text, struct bl_error *e)
{
    struct bl_url url = {0};
    int code = bl_url_is(text) ? bl_url_parse(&url, text, e) : BL_OK;
    if (!code && (!url.bucket || (url.scheme != BL_URL_S3 && url.scheme != BL_URL_GS)))
        code = bl_error_set(e, BL_EUSAGE, "%s: datasets are written to s3:// and gs:// URLs, and to directories", text);
    size_t size = strlen(text);
    while (size && text[size - 1] == '/')
        size--;
    bool named = !code && strspn(url.key, "/") < strlen(url.key);
    for (size_t end = named ? strlen(url.key) : 0; end && url.key[end - 1] == '/'; end--)
        url.key[end - 1] = '\0';
    if (!code && !named)
        code = bl_error_set(e, BL_EUSAGE, "%s names no place in the bucket: add one, as in %.*s/dataset", text,
                            (int)size, text);
    /* Some stores refuse such keys, and others take them for another place. */
    if (!code && bl_url_path_has_steps(url.key))
        code = bl_error_set(e, BL_EUSAGE, "%s: its path has an empty part, or one that is . or ..", text);
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
    int failed = -1; /* what the pipeline sets after an error; the number of a signal stays */
    (void)atomic_compare_exchange_strong(&m->cancel->requested, &failed, 0);
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

void bl_mirror_close_task(struct bl_mirror *m)
{
    m->keeps |= m->begun;
    bl_mirror_close(m, false);
}

void bl_mirror_remove_scratches(const char *url, const char *parent)
{
    struct bl_error none = {0};
    bool exists = true;
    for (int i = 0; i < SCRATCHES_MAX && exists; i++) {
        struct bl_mirror m = {.lock = -1};
        struct bl_buffer path = {0};
        bool is_free = false;
        if (scratch_name(&path, url, parent, i, &none) || bl_fs_exists(path.data, &exists, &none))
            exists = false;
        m.dir = path.data;
        if (exists && scratch_lock(&m, path.data, &is_free, &none) == BL_OK && is_free &&
            scratch_empty(&m, &none) == BL_OK)
            (void)rmdir(path.data);
        if (m.lock >= 0)
            close(m.lock);
        bl_buffer_free(&path);
    }
}
