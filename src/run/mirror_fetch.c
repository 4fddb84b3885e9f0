/* Copies objects of a dataset into its scratch: those of its state that a command uses, or the tables of a finished
 * dataset. */
#include "run/mirror_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "pool/pipeline.h"
#include "store/folders.h"

#define FETCHERS 16     /* requests for state at the same time */
#define LOOKED_AT 65536 /* bytes of the files whose contents show the state */
#define SPOOL BL_WORK_FOLDER "/spool"
#define ROWS ".rows" /* ends the names of files of the spool that say what is in the others */
#define TAGS "tags"
#define TAGS_MAX ((size_t)1 << 30)

/* --- objects ------------------------------------------------------------------------------------------------------ */

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
int bl_mirror_fetch(const struct bl_mirror *m, const struct bl_mirror_object *o, bool *same, struct bl_error *e)
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
    if (m->use == BL_MIRROR_LOOK && strncmp(o->name, BL_MIRROR_SHARDS, strlen(BL_MIRROR_SHARDS)) == 0)
        return !strstr(o->name, "..");
    if (m->finished)
        return bl_mirror_is_ours(o->name) && !strchr(o->name, '/');
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
    const struct bl_buffer *tags; /* those of the scratch, or nothing */
    size_t tags_at;               /* where the line of the next object may be */
};

/* --- tags --------------------------------------------------------------------------------------------------------- */

/* DIR/tags has a line for each object of which the scratch has a copy, sorted by name: name, size and tag. A task that
 * uses the scratch of another one fetches no such object again in order to compare it. */

static void tags_add(struct bl_buffer *text, const struct bl_mirror_object *o)
{
    bl_buffer_printf(text, "%s\t%" PRId64 "\t%s\n", o->name, o->size, o->tag);
}

/* Returns whether the scratch has a copy of the object. Objects are asked for by their order. */
static bool fetching_has(struct fetching *f, const struct bl_mirror_object *o)
{
    struct bl_buffer line = {0};
    struct stat status;
    bool has = false;
    size_t name_size = strlen(o->name);
    tags_add(&line, o);
    while (f->tags && f->tags_at < f->tags->size && !line.failed) {
        const char *there = f->tags->data + f->tags_at;
        int order = strncmp(there, o->name, name_size);
        order = order ? order : there[name_size] != '\t';
        if (order > 0)
            break;
        has = order == 0 && strncmp(there, line.data, line.size) == 0;
        f->tags_at += strcspn(there, "\n") + 1;
    }
    bl_buffer_free(&line);
    char *path = has ? bl_path_join(f->m->dir, o->name) : NULL;
    has = path && lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == o->size;
    free(path);
    return has;
}

/* Reads the tags. A file that is damaged costs only time. */
static void tags_read(const struct bl_mirror *m, struct bl_buffer *text)
{
    struct bl_error none = {0};
    char *path = bl_path_join(m->dir, TAGS);
    if (!path || access(path, F_OK) != 0 || bl_sealed_read(path, TAGS_MAX, text, &none) != BL_OK)
        bl_buffer_clear(text);
    free(path);
}

/* Writes the tags of what was fetched, unless they are those of before. */
static int tags_write(const struct bl_mirror *m, const struct bl_buffer *before, struct bl_error *e)
{
    struct bl_buffer text = {0};
    struct bl_output out = {0};
    for (size_t i = 0; i < m->objects; i++) {
        if (mirror_needs(m, &m->object[i]))
            tags_add(&text, &m->object[i]);
    }
    char *path = bl_path_join(m->dir, TAGS);
    int code = path ? bl_buffer_check(&text, e) : bl_error_memory(e);
    bool same = !code && text.size == before->size && (!text.size || memcmp(text.data, before->data, text.size) == 0);
    if (!code && !same)
        code = bl_sealed_close(&text, e);
    if (!code && !same)
        code = bl_output_own(&out, path, e);
    if (!code && !same)
        code = bl_io_write(out.fd, text.data, text.size, path, e);
    if (!code && !same)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    bl_buffer_free(&text);
    free(path);
    return code;
}

/* --- fetching ----------------------------------------------------------------------------------------------------- */

static int fetch_produce(void *context, void **job, struct bl_error *e)
{
    struct fetching *f = context;
    (void)e;
    while (f->next < f->m->objects &&
           (!f->needs(f->m, &f->m->object[f->next]) || fetching_has(f, &f->m->object[f->next])))
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
    if (m->use == BL_MIRROR_LOOK &&
        (object->size > LOOKED_AT || strncmp(object->name, BL_MIRROR_SHARDS, strlen(BL_MIRROR_SHARDS)) == 0))
        return mirror_stand_in(m, object, e);
    return bl_mirror_fetch(m, object, &same, e);
}

/* Copies the objects that needs chooses to the scratch, but for those whose tags it has. */
static int mirror_fetch_all(const struct bl_mirror *m,
                            bool (*needs)(const struct bl_mirror *, const struct bl_mirror_object *),
                            const struct bl_buffer *tags, struct bl_error *e)
{
    static const struct bl_stages stages = {.produce = fetch_produce, .work = fetch_work};
    struct fetching fetching = {.m = m, .needs = needs, .tags = tags};
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

int bl_mirror_fetch_state(struct bl_mirror *m, struct bl_error *e)
{
    struct bl_buffer tags = {0};
    BL_TRY(mirror_find_spool(m, e));
    tags_read(m, &tags);
    int code = mirror_fetch_all(m, mirror_needs, &tags, e);
    if (!code && m->begun && m->use != BL_MIRROR_LOOK)
        code = tags_write(m, &tags, e);
    bl_buffer_free(&tags);
    return code;
}

int bl_mirror_fetch_spool(struct bl_mirror *m, struct bl_error *e)
{
    return mirror_fetch_all(m, object_has_steps, NULL, e);
}
