#include "scan/walk.h"

#include "base/buffer.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/input_file.h"
#include "kind/kinds.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Links can make a folder appear at many paths, all of which are inputs: n nested links at 2^n paths. */
#define REPEATS_MAX 100    /* reads of an entry, on average */
#define ENTRIES_FREE 10000 /* so many entries are read in any case */

/* The folders from the source down to here, to detect a link that leads back up. */
struct folder {
    const struct folder *parent;
    dev_t device;
    ino_t inode;
    bool is_input; /* the kind reads folders, and this one holds files of it */
};

struct seen {
    dev_t device;
    ino_t inode;
};

struct walking {
    const struct bl_walk *walk;
    size_t id_offset;  /* where ids begin within paths */
    struct seen *seen; /* [folders] */
    size_t folders, capacity;
    struct bl_hash by_inode;
    struct bl_buffer *list;    /* takes the paths of folders, and files are no inputs; or NULL */
    int64_t entries, distinct; /* read; of them, in folders seen for the first time */
};

int bl_walk_stat(const struct bl_walk *walk_folder, const char *path, struct stat *status, bool *there,
                 struct bl_error *e)
{
    char *open_path = bl_path_join(walk_folder->base, path);
    if (!open_path)
        return bl_error_memory(e);
    *there = bl_input_file_stat(open_path, status) == 0;
    int error = errno;
    free(open_path);
    errno = error;
    if (!*there && bl_errno_is_system(error))
        return bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    return BL_OK;
}

/* --- folders seen so far ---------------------------------------------------------------------------------------- */

static bool seen_has(const struct walking *w, uint64_t hash, dev_t device, ino_t inode)
{
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&w->by_inode, hash); bl_hash_next(&w->by_inode, &probe, &number);) {
        if (w->seen[number].device == device && w->seen[number].inode == inode)
            return true;
    }
    return false;
}

/* Counts a folder with this number of entries. */
static int seen_add(struct walking *w, const char *path, const struct folder *folder, int64_t entries,
                    struct bl_error *e)
{
    uint64_t hash = ((uint64_t)folder->inode + (uint64_t)folder->device * 31) * UINT64_C(0x9e3779b97f4a7c15);
    w->entries += entries + 1;
    if (!seen_has(w, hash, folder->device, folder->inode)) {
        int code = BL_ARRAY_RESERVE(w->seen, w->capacity, w->folders + 1, e);
        if (code)
            return code;
        code = bl_hash_add(&w->by_inode, hash, w->folders, e);
        if (code)
            return code;
        w->seen[w->folders++] = (struct seen){folder->device, folder->inode};
        w->distinct += entries + 1;
    }
    if (w->entries - ENTRIES_FREE <= REPEATS_MAX * w->distinct)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "%s: links lead to the same folders over and over: remove some", path);
}

/* --- one folder ------------------------------------------------------------------------------------------------- */

static int walk_folder(struct walking *w, const char *path, const struct folder *parent, struct bl_error *e);

/* A folder that cannot be read: errno says why. The scan will list it as skipped; only the source itself must be
 * readable, and what was listed a moment ago must still exist. */
static int walk_add_unreadable(const struct walking *w, const char *path, bool is_source, struct bl_error *e)
{
    if (is_source || errno == ENOENT || bl_errno_is_system(errno))
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    return bl_files_add(w->walk->files, path, w->id_offset, w->walk->kind, false, e);
}

static int walk_entry(struct walking *w, const char *path, const char *name, unsigned char type, struct folder *folder,
                      struct bl_error *e)
{
    const struct bl_walk *about = w->walk;
    struct stat status;
    bool is_folder = type == DT_DIR;
    if (name[0] == '.') {
        if (!w->list)
            bl_files_ignore(about->files, name, 1);
        return BL_OK;
    }
    /* All but folders are inputs by their names: the scan will skip dangling links, pipes and devices. */
    if (type == DT_LNK || type == DT_UNKNOWN) {
        bool there;
        int code = bl_walk_stat(about, path, &status, &there, e);
        if (code)
            return code;
        if (!there && (errno == EACCES || errno == ENAMETOOLONG))
            return walk_add_unreadable(w, path, false, e);
        is_folder = there && S_ISDIR(status.st_mode);
    }
    if (is_folder)
        return walk_folder(w, path, folder, e);
    if (w->list)
        return BL_OK;
    const struct bl_kind *kind = about->kind ? about->kind : bl_kind_find_by_file(name);
    if (bl_files_is_tar(kind, name)) {
        int code = bl_files_add(about->files, path, w->id_offset, kind, true, e);
        if (!code)
            about->files->file[about->files->count - 1].tar = true;
        return code;
    }
    const char *const *asked = about->kind ? about->kind->asked_extensions : NULL;
    bool known = kind && (bl_kind_has_extension(kind, name) || (asked && bl_extensions_match(asked, name)));
    if (about->names ? !bl_extensions_match(about->names->extensions, name) : !known) {
        bl_files_ignore(about->files, name, 1);
        return BL_OK;
    }
    folder->is_input = kind->scan->stat_folder;
    return kind->scan->stat_folder ? BL_OK : bl_files_add(about->files, path, w->id_offset, kind, !about->kind, e);
}

int bl_walk_read_names(const struct bl_walk *walk_folder, const char *path, struct bl_buffer *names, int64_t *count,
                       bool *opened, struct bl_error *e)
{
    char *open_path = bl_path_join(walk_folder->base, path);
    if (!open_path)
        return bl_error_memory(e);
    DIR *directory = opendir(open_path);
    int error = errno;
    free(open_path);
    errno = error;
    *opened = directory;
    if (!directory)
        return BL_OK;
    const struct dirent *entry;
    while (errno = 0, entry = readdir(directory)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        bl_buffer_byte(names, (char)entry->d_type);
        bl_buffer_append(names, entry->d_name, strlen(entry->d_name) + 1);
        ++*count;
    }
    int code = errno ? bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path) : bl_buffer_check(names, e);
    closedir(directory);
    return code;
}

/* No folder stays open while those below it are visited: the nesting may exceed the limit of open files. */
static int walk_entries(struct walking *w, const char *path, struct folder *here, struct bl_error *e)
{
    struct bl_buffer names = {0}, below = {0};
    int64_t count = 0;
    bool opened = false;
    const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
    int code = bl_walk_read_names(w->walk, path, &names, &count, &opened, e);
    if (code)
        goto out;
    if (!opened)
        return walk_add_unreadable(w, path, !here->parent, e);
    if (w->list)
        bl_buffer_append(w->list, path, strlen(path) + 1);
    code = seen_add(w, path, here, count, e);
    if (code)
        goto out;
    for (size_t at = 0; at < names.size && !code; at += strlen(names.data + at + 1) + 2) {
        const char *name = names.data + at + 1;
        bl_buffer_clear(&below);
        bl_buffer_printf(&below, "%s%s%s", path, slash, name);
        code = bl_buffer_check(&below, e);
        if (!code)
            code = walk_entry(w, below.data, name, (unsigned char)names.data[at], here, e);
    }
out:
    /* An empty folder is a sequence without steps, which the scan will skip. */
    here->is_input |= !code && !count && !w->list && w->walk->kind && w->walk->kind->scan->stat_folder;
    bl_buffer_free(&names);
    bl_buffer_free(&below);
    return code;
}

static int walk_folder(struct walking *w, const char *path, const struct folder *parent, struct bl_error *e)
{
    struct stat status;
    bool there;
    int code = bl_walk_stat(w->walk, path, &status, &there, e);
    if (code)
        return code;
    if (!there)
        return walk_add_unreadable(w, path, !parent, e);
    for (const struct folder *up = parent; up; up = up->parent) {
        if (up->device == status.st_dev && up->inode == status.st_ino)
            return bl_error_set(e, BL_EUSAGE, "%s leads back to a folder above it: remove that link", path);
    }
    struct folder here = {.parent = parent, .device = status.st_dev, .inode = status.st_ino};
    code = walk_entries(w, path, &here, e);
    if (code || !here.is_input)
        return code;
    /* The source itself is named as it was given. */
    code = bl_files_add(w->walk->files, path, parent ? w->id_offset : 0, w->walk->kind, false, e);
    if (!code)
        w->walk->files->file[w->walk->files->count - 1].folder = true;
    return code;
}

int bl_walk_folder(const struct bl_walk *about, const char *path, struct bl_error *e)
{
    size_t size = strlen(path);
    struct walking w = {.walk = about, .id_offset = about->whole_ids ? 0 : size + (path[size - 1] != '/')};
    int code = walk_folder(&w, path, NULL, e);
    free(w.seen);
    bl_hash_free(&w.by_inode);
    return code;
}

int bl_walk_list_folders(const struct bl_walk *about, const char *path, struct bl_buffer *folders, struct bl_error *e)
{
    struct walking w = {.walk = about, .list = folders};
    int code = walk_folder(&w, path, NULL, e);
    free(w.seen);
    bl_hash_free(&w.by_inode);
    return code ? code : bl_buffer_check(folders, e);
}
