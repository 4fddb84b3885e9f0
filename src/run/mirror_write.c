/* Writes the results of a run to the store. The names of objects are those of files in the scratch, with the URL before
 * them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "pool/pipeline.h"
#include "remote/upload.h"
#include "run/mirror_parts.h"
#include "store/folders.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/sequences.h"
#include "store/shard_table.h"

#define REMOVERS 16  /* requests at the same time */
#define WRITES_MAX 3 /* of an object that is there, and then is not */

/* A file that is to be an object. */
struct publishing {
    struct bl_mirror *m;
    const char *url, *path;
    int fd;
    int64_t size;
    char *empty; /* the tag of an object without bytes, which stands in its place; or NULL */
};

/* Compares the file with the object that is there. *gone: there is none any more, or one without bytes, which a store
 * may leave where a writer was killed. BL_EDATA: it has other bytes, which the file has now. */
static int publishing_compare(struct publishing *p, bool *gone, struct bl_error *e)
{
    struct bl_remote_object object = {0}, now = {0};
    struct bl_error fault = {0}, none = {0};
    bool same = false;
    int code = bl_remote_stat(p->m->remote, p->url, &object, &fault);
    *gone = code == BL_EUSAGE && object.size < 0;
    if (!code && !object.size && p->size) {
        p->empty = object.tag;
        object.tag = NULL;
        *gone = true;
    }
    if (!code && !*gone)
        code = bl_mirror_compare(p->m, &object, p->path, &same, &fault);
    if (!code && !same && !*gone)
        code = bl_mirror_save(p->m, &object, p->path, &fault);
    bool differs = !code && !same && !*gone;
    if (code == BL_EFAIL)
        *gone = bl_remote_stat(p->m->remote, p->url, &now, &none) == BL_EUSAGE && now.size < 0;
    bl_remote_object_free(&object);
    bl_remote_object_free(&now);
    if (*gone)
        return BL_OK;
    if (differs)
        return bl_error_set(e, BL_EDATA, "%s: another run has written other bytes", p->url);
    return bl_error_pass(e, code == BL_EUSAGE ? BL_EFAIL : code, &fault);
}

/* Writes the object, unless it is there. Another run that ends may remove it while it is compared: then it is written.
 */
static int publishing_write(struct publishing *p, struct bl_error *e)
{
    for (int i = 0; i < WRITES_MAX; i++) {
        const struct bl_remote_condition condition = {.is_new = !p->empty, .tag = p->empty};
        struct bl_remote_written written = {0};
        bool gone = false;
        BL_TRY(bl_remote_upload(p->m->remote, p->url, p->fd, p->size, &condition, &written, e));
        free(p->empty);
        p->empty = NULL;
        bool is_there = written.outcome == BL_REMOTE_CONFLICT;
        bl_remote_written_free(&written);
        if (is_there)
            BL_TRY(publishing_compare(p, &gone, e));
        if (!gone)
            return BL_OK;
    }
    return bl_error_set(e, BL_EFAIL, "%s: cannot be written: it was there and removed %d times", p->url, WRITES_MAX);
}

int bl_mirror_publish(struct bl_mirror *m, const char *name, struct bl_error *e)
{
    struct bl_buffer url = {0}, path = {0};
    struct stat status;
    int fd = -1;
    bl_buffer_printf(&url, "%s/%s", m->url, name);
    bl_buffer_printf(&path, "%s/%s", m->dir, name);
    int code = url.failed || path.failed ? bl_error_memory(e) : BL_OK;
    if (!code && ((fd = open(path.data, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)) < 0 || fstat(fd, &status) != 0))
        code = bl_error_errno(e, BL_EFAIL, "cannot open %s", path.data);
    if (!code) {
        struct publishing p = {m, url.data, path.data, fd, status.st_size, NULL};
        code = publishing_write(&p, e);
        free(p.empty);
    }
    m->keeps &= code != BL_EDATA; /* the run that the store knows is another one */
    m->keeps |= !code;
    if (fd >= 0)
        close(fd);
    bl_buffer_free(&url);
    bl_buffer_free(&path);
    return code;
}

bool bl_mirror_had(const struct bl_mirror *m, const char *name)
{
    return bl_mirror_find(m, name) != NULL;
}

int bl_mirror_replace(struct bl_mirror *m, const char *name, const void *data, size_t size, struct bl_error *e)
{
    struct bl_buffer url = {0};
    struct bl_remote_written written = {0};
    bl_buffer_printf(&url, "%s/%s", m->url, name);
    int code = bl_buffer_check(&url, e);
    if (!code)
        code = bl_remote_put(m->remote, url.data, data, size, NULL, &written, e);
    bl_remote_written_free(&written);
    bl_buffer_free(&url);
    return code;
}

bool bl_mirror_has_shard(const struct bl_mirror *m, int64_t shard)
{
    return (size_t)shard < m->shards && m->sent[shard];
}

int bl_mirror_read_record(const struct bl_mirror *m, const struct bl_format *format, int64_t shard,
                          struct bl_shard_record *record, bool *found, struct bl_error *e)
{
    char name[BL_SHARD_NAME_MAX];
    BL_TRY(bl_shard_record_read(record, format, m->dir, shard, found, e));
    bl_format_shard_name(format, shard, name);
    const struct bl_mirror_object *o = bl_mirror_find(m, name); /* NULL: this run has sent it */
    if (*found && o && o->size != record->bytes) {
        bl_shard_record_free(record);
        *found = false;
    }
    return BL_OK;
}

void bl_mirror_drop_shard(struct bl_mirror *m, int64_t shard)
{
    if ((size_t)shard < m->shards)
        m->sent[shard] = 0;
}

int bl_mirror_send_shard(struct bl_mirror *m, const struct bl_format *format, int64_t shard, struct bl_error *e)
{
    char name[BL_SHARD_NAME_MAX], record[64];
    struct bl_buffer text[4] = {{0}};
    bl_format_shard_name(format, shard, name);
    snprintf(record, sizeof record, BL_WORK_FOLDER "/shard-%08" PRId64 ".record", shard);
    for (int i = 0; i < 4; i++)
        bl_buffer_printf(&text[i], "%s/%s", i % 2 ? m->url : m->dir, i < 2 ? name : record);
    int code = text[0].failed || text[1].failed || text[2].failed || text[3].failed ? bl_error_memory(e) : BL_OK;
    const struct bl_sending sending = {text[0].data, text[1].data, text[2].data, text[3].data};
    if (!code)
        code = bl_mirror_reserve(m, shard, e);
    if (!code)
        code = bl_sender_add(m->sender, &sending, e);
    if (!code)
        m->sent[shard] = 1;
    for (int i = 0; i < 4; i++)
        bl_buffer_free(&text[i]);
    return code;
}

/* Has one file of the spool sent. */
static int mirror_send_spooled(struct bl_mirror *m, const char *name, struct bl_error *e)
{
    struct bl_buffer path = {0}, url = {0};
    bl_buffer_printf(&path, "%s/" BL_WORK_FOLDER "/spool/%s", m->dir, name);
    bl_buffer_printf(&url, "%s/" BL_WORK_FOLDER "/spool/%s", m->url, name);
    const struct bl_sending sending = {.path = path.data, .url = url.data};
    int code = path.failed || url.failed ? bl_error_memory(e) : bl_sender_add(m->sender, &sending, e);
    bl_buffer_free(&path);
    bl_buffer_free(&url);
    return code;
}

int bl_mirror_send_spool(struct bl_mirror *m, struct bl_error *e)
{
    char *path = bl_path_join(m->dir, BL_WORK_FOLDER "/spool");
    DIR *folder = NULL;
    const struct dirent *entry;
    int code = path ? bl_fs_opendir(path, &folder, e) : bl_error_memory(e);
    while (!code && folder && (errno = 0, entry = readdir(folder))) {
        if (!strstr(entry->d_name, ".part-") && bl_folders_is_work_file(entry->d_name))
            code = mirror_send_spooled(m, entry->d_name, e);
    }
    if (!code && folder && errno)
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    if (folder)
        closedir(folder);
    free(path);
    return code;
}

int bl_mirror_flush(struct bl_mirror *m, struct bl_error *e)
{
    return bl_sender_finish(m->sender, e);
}

int64_t bl_mirror_memory(const struct bl_mirror *m, int64_t shard_bytes)
{
    return bl_sender_bytes(m->senders, shard_bytes);
}

int bl_mirror_shards_held(const struct bl_mirror *m)
{
    return m->senders + 1;
}

int bl_mirror_check_shards(const struct bl_mirror *m, const struct bl_format *format, struct bl_error *e)
{
    struct bl_shard_row *rows = NULL;
    char a[32], b[BL_PLURAL_SIZE];
    int64_t missing = 0, first = 0, shards = bl_format_shards(format);
    BL_TRY(bl_shard_table_read(m->dir, format, &rows, e));
    for (int64_t i = 0; i < shards; i++) {
        const struct bl_mirror_object *o = bl_mirror_find(m, rows[i].file);
        bool lacks = !o || o->size != rows[i].bytes;
        if (lacks && !missing++)
            first = i;
    }
    int code = BL_OK;
    if (missing)
        code = bl_error_set(e, BL_EFAIL,
                            "%s: %s of %s missing or damaged, the first is %s: remove these and %s/" BL_MANIFEST_FILE
                            ", and the same command makes them again",
                            m->url, bl_text_count(a, missing), bl_text_plural(b, shards, "shard is|shards are"),
                            rows[first].file, m->url);
    free(rows);
    return code;
}

/* The removal of the state: a dataset has a record for each shard, so that many are removed at the same time. */
struct removing {
    struct bl_mirror *m;
    char **url; /* of the objects */
    size_t count, capacity, next;
};

static int removing_note(void *context, const struct bl_remote_object *object, struct bl_error *e)
{
    struct removing *r = context;
    const char *name = object->url + strlen(r->m->url) + strlen("/" BL_WORK_FOLDER "/");
    if (strcmp(name, BL_STATE_CONFIGURATION) == 0)
        return BL_OK;
    if (BL_ARRAY_RESERVE(r->url, r->capacity, r->count + 1, e))
        return BL_EFAIL;
    r->url[r->count] = strdup(object->url);
    return r->url[r->count++] ? BL_OK : bl_error_memory(e);
}

static int removing_produce(void *context, void **job, struct bl_error *e)
{
    struct removing *r = context;
    (void)e;
    *job = r->next < r->count ? r->url[r->next++] : NULL;
    return BL_OK;
}

static int removing_work(void *context, void *worker, void *job, struct bl_error *e)
{
    (void)worker;
    return bl_remote_delete(((struct removing *)context)->m->remote, job, e);
}

/* Removes the objects below a URL, but for the configuration. */
static int mirror_remove_below(struct bl_mirror *m, const char *url, struct bl_error *e)
{
    static const struct bl_stages stages = {.produce = removing_produce, .work = removing_work};
    struct removing r = {.m = m};
    int code = bl_remote_list_any(m->remote, url, removing_note, &r, e);
    if (!code)
        code = bl_pipeline_run(&stages, &r, REMOVERS, 2 * REMOVERS, m->cancel, e);
    for (size_t i = 0; i < r.count; i++)
        free(r.url[i]);
    free(r.url);
    return code;
}

/* The configuration goes last: it says that there is state. */
int bl_mirror_remove_state(struct bl_mirror *m, struct bl_error *e)
{
    struct bl_buffer url = {0};
    struct bl_error fault = {0};
    int64_t count;
    bl_buffer_printf(&url, "%s/" BL_WORK_FOLDER "/", m->url);
    int code = bl_buffer_check(&url, e);
    if (!code)
        code = mirror_remove_below(m, url.data, e);
    bl_buffer_text(&url, BL_STATE_CONFIGURATION);
    if (!code)
        code = bl_buffer_check(&url, e);
    if (!code)
        code = bl_remote_delete(m->remote, url.data, e);
    bl_buffer_clear(&url);
    bl_buffer_printf(&url, "%s/", m->url);
    if (!code)
        code = bl_buffer_check(&url, e);
    if (!code && bl_remote_clear_uploads(m->remote, url.data, 0, &count, &fault) == BL_ECANCEL)
        code = bl_error_pass(e, BL_ECANCEL, &fault);
    m->left = fault;
    bl_buffer_free(&url);
    return code;
}

const char *bl_mirror_left(const struct bl_mirror *m)
{
    return m->left.code ? m->left.text : NULL;
}

int bl_mirror_remove_leftovers(struct bl_mirror *m, struct bl_error *e)
{
    bool any = false;
    for (size_t i = 0; i < m->objects; i++)
        any |= strncmp(m->object[i].name, BL_WORK_FOLDER "/", strlen(BL_WORK_FOLDER "/")) == 0;
    return any ? bl_mirror_remove_state(m, e) : BL_OK;
}

/* Copies the manifest. One that another run has written may differ in what it notes of its machine, and in nothing
 * else. */
static int mirror_publish_manifest(struct bl_mirror *m, struct bl_error *e)
{
    struct bl_manifest here = {0}, there = {0};
    struct bl_buffer text = {0};
    struct bl_error none = {0};
    int code = bl_manifest_read(&here, m->dir, e);
    if (code)
        return code;
    code = bl_mirror_publish(m, BL_MANIFEST_FILE, e);
    if (code == BL_EDATA && bl_manifest_read(&there, m->dir, &none) == BL_OK) {
        const struct bl_manifest own = here;
        here.notes = there.notes;
        here.note = there.note;
        if (bl_manifest_format(&here, false, &text, &none) == BL_OK && strcmp(here.digest, there.digest) == 0) {
            bl_error_clear(e);
            code = BL_OK;
        }
        here.notes = own.notes;
        here.note = own.note;
    }
    bl_buffer_free(&text);
    bl_manifest_free(&there);
    bl_manifest_free(&here);
    return code;
}

int bl_mirror_finish(struct bl_mirror *m, struct bl_error *e)
{
    BL_TRY(bl_mirror_publish(m, BL_INDEX_FILE, e));
    BL_TRY(bl_mirror_publish(m, BL_SHARDS_FILE, e));
    BL_TRY(bl_mirror_publish(m, BL_SEQUENCES_FILE, e));
    BL_TRY(mirror_publish_manifest(m, e));
    return bl_mirror_remove_state(m, e);
}
