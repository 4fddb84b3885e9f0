#include "run/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

#define CONFIGURATION_MAX ((size_t)1 << 24) /* bytes: many sources may be named */

/* The value of the line "name: value" in text, and its size; NULL when there is no such line. */
static const char *find_value(const char *text, const char *name, size_t name_size, size_t *size)
{
    for (const char *line = text; *line;) {
        const char *end = strchrnul(line, '\n');
        if (strncmp(line, name, name_size) == 0 && strncmp(line + name_size, ": ", 2) == 0) {
            *size = (size_t)(end - line) - name_size - 2;
            return line + name_size + 2;
        }
        line = *end ? end + 1 : end;
    }
    return NULL;
}

int bl_identity_compare(const char *there, const char *wanted, const char *what, struct bl_error *e)
{
    if (strcmp(there, wanted) == 0)
        return BL_OK;
    for (int turn = 0; turn < 2; turn++) {
        const char *from = turn ? there : wanted, *in = turn ? wanted : there;
        for (const char *line = from; *line;) {
            const char *end = strchrnul(line, '\n'), *colon = strstr(line, ": ");
            size_t name = colon && colon < end ? (size_t)(colon - line) : (size_t)(end - line);
            size_t mine = (size_t)(end - line) - name, its = 0;
            const char *value = find_value(in, line, name, &its);
            if (mine >= 2)
                mine -= 2;
            if (!value || its != mine || memcmp(value, line + name + 2, its) != 0) {
                const char *a = turn ? value : line + name + 2, *b = turn ? line + name + 2 : value;
                size_t a_size = turn ? its : mine, b_size = turn ? mine : its;
                return bl_error_set(e, BL_EUSAGE,
                                    "%s of another configuration: %.*s is \"%.*s\" there, not \"%.*s\" (undo "
                                    "that, or choose another directory)",
                                    what, (int)name, line, (int)b_size, b ? b : "", (int)a_size, a ? a : "");
            }
            line = *end ? end + 1 : end;
        }
    }
    return bl_error_set(e, BL_EUSAGE, "%s of another configuration (its lines stand in another order)", what);
}

static char *join(const char *dir, const char *name)
{
    size_t size = strlen(dir) + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", dir, name);
    return path;
}

/* A directory that is not ours must be empty: a typing error shall not mix a dataset into somebody's home. */
static int check_empty(const char *dir, struct bl_error *e)
{
    DIR *directory = opendir(dir);
    if (!directory)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    int code = BL_OK;
    struct dirent *entry;
    while (!code && (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            code = bl_error_set(e, BL_EUSAGE,
                                "%s holds %s, which is no part of a dataset in the making: choose another "
                                "directory, or empty this one",
                                dir, entry->d_name);
    }
    closedir(directory);
    return code;
}

static int take_lock(struct bl_state *s, struct bl_error *e)
{
    char *path = join(s->folder, "lock");
    if (!path)
        return bl_error_memory(e);
    s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    int code = BL_OK;
    if (s->lock < 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    else if (flock(s->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        code = bl_error_set(e, BL_EFAIL, "another bload is at work in %s", s->dir);
    free(path);
    return code; /* a file system without locks: then nobody can be kept out */
}

/* 1 when a shard of the dataset is finished, which its record tells; 0, or a code. */
static int has_shards(const struct bl_state *s, struct bl_error *e)
{
    DIR *directory = opendir(s->folder);
    if (!directory)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", s->folder);
    int found = 0;
    const struct dirent *entry;
    while (!found && (entry = readdir(directory)))
        found = strstr(entry->d_name, ".record") != NULL;
    closedir(directory);
    return found;
}

/* As long as no shard is finished, there is nothing that another configuration could be mixed with: who mends an option
 * that was refused, or thinks again, need not empty the directory first. Only the scan has to be done anew. */
static int begin(const struct bl_state *s, const char *identity, struct bl_error *e)
{
    if (unlink(s->sequences) != 0 && errno != ENOENT)
        return bl_error_errno(e, BL_EFAIL, "cannot remove %s", s->sequences);
    return bl_io_replace(s->configuration, identity, strlen(identity), e);
}

static int settle_configuration(struct bl_state *s, const char *identity, struct bl_error *e)
{
    if (access(s->configuration, F_OK) != 0)
        return begin(s, identity, e);
    struct bl_buffer there = {0}, what = {0};
    struct bl_error differs = {0};
    bl_buffer_printf(&what, "%s holds an unfinished dataset", s->dir);
    int code = bl_io_slurp(s->configuration, CONFIGURATION_MAX, &there, e);
    if (!code)
        code = bl_buffer_check(&what, e);
    if (!code && bl_identity_compare(there.data ? there.data : "", identity, what.data, &differs)) {
        code = has_shards(s, e);
        if (code > 0)
            code = bl_error_set(e, differs.code, "%s", differs.text);
        else if (!code)
            code = begin(s, identity, e);
    }
    bl_buffer_free(&there);
    bl_buffer_free(&what);
    return code;
}

static int make_names(struct bl_state *s, const char *dir, struct bl_error *e)
{
    *s = (struct bl_state){.lock = -1};
    s->dir = strdup(dir);
    s->folder = join(dir, ".bload");
    s->configuration = s->folder ? join(s->folder, "configuration") : NULL;
    s->sequences = s->folder ? join(s->folder, "sequences.tsv") : NULL;
    s->spool = s->folder ? join(s->folder, "spool") : NULL;
    return s->dir && s->configuration && s->sequences && s->spool ? BL_OK : bl_error_memory(e);
}

int bl_state_open(struct bl_state *s, const char *dir, const char *identity, struct bl_error *e)
{
    int code = make_names(s, dir, e);
    if (!code)
        code = bl_io_mkdirs(dir, e);
    if (!code && access(s->folder, F_OK) != 0)
        code = check_empty(dir, e);
    if (!code)
        code = bl_io_mkdirs(s->spool, e);
    if (!code)
        code = take_lock(s, e);
    if (!code)
        code = settle_configuration(s, identity, e);
    if (code)
        bl_state_close(s);
    return code;
}

int bl_state_recall(const char *dir, const char *name, struct bl_buffer *value, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char *path = join(dir, ".bload/configuration");
    if (!path)
        return bl_error_memory(e);
    int code = access(path, F_OK) == 0 ? bl_io_slurp(path, CONFIGURATION_MAX, &text, e) : BL_OK;
    size_t size = 0;
    const char *found = text.data ? find_value(text.data, name, strlen(name), &size) : NULL;
    if (!code && found)
        bl_buffer_append(value, found, size);
    bl_buffer_free(&text);
    free(path);
    return code ? code : bl_buffer_check(value, e);
}

/* Removes the files in a folder but for the spool and the lock, which the folder itself may hold. */
static int remove_files(const char *folder, struct bl_error *e)
{
    int code = BL_OK;
    DIR *directory = opendir(folder);
    if (!directory)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", folder);
    const struct dirent *entry;
    while (!code && (entry = readdir(directory))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lock") == 0 ||
            strcmp(name, "spool") == 0)
            continue;
        if (unlinkat(dirfd(directory), name, 0) != 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot remove %s/%s", folder, name);
    }
    closedir(directory);
    return code;
}

/* The lock goes last: until then nobody else begins here. */
static int remove_all(const struct bl_state *s, struct bl_error *e)
{
    bool spool = access(s->spool, F_OK) == 0;
    int code = spool ? remove_files(s->spool, e) : BL_OK;
    if (!code && spool && rmdir(s->spool) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot remove %s", s->spool);
    if (!code)
        code = remove_files(s->folder, e);
    if (code)
        return code;
    struct bl_buffer lock = {0};
    bl_buffer_printf(&lock, "%s/lock", s->folder);
    code = bl_buffer_check(&lock, e);
    if (!code && unlink(lock.data) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot remove %s", lock.data);
    bl_buffer_free(&lock);
    return code;
}

int bl_state_remove(struct bl_state *s, struct bl_error *e)
{
    int code = remove_all(s, e);
    if (!code && rmdir(s->folder) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot remove %s", s->folder);
    return code ? code : bl_io_sync_directory(s->dir, e);
}

int bl_state_clear(const char *dir, struct bl_error *e)
{
    struct bl_state s;
    int code = make_names(&s, dir, e);
    if (!code && access(s.folder, F_OK) == 0) {
        code = take_lock(&s, e);
        if (!code)
            code = bl_state_remove(&s, e);
    }
    bl_state_close(&s);
    return code;
}

void bl_state_close(struct bl_state *s)
{
    if (s->lock >= 0)
        close(s->lock);
    free(s->dir);
    free(s->folder);
    free(s->configuration);
    free(s->sequences);
    free(s->spool);
    *s = (struct bl_state){.lock = -1};
}
