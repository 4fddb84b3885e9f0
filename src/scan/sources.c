#include "scan/sources.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/text.h"

/* The folders from the source down to here, to notice a link that leads back up. */
struct folder {
    const struct folder *parent;
    dev_t device;
    ino_t inode;
    bool is_input; /* of a kind that takes folders: it holds one of its files */
    bool is_empty;
};

struct listing {
    struct bl_files *files;
    const char *base;
    const struct bl_kind *kind; /* of the source at hand, or NULL: by extension */
    size_t id_offset;           /* where ids begin within the paths of the source at hand */
};

/* stat of a path as given. *there: whether it leads to something; errno says why not. A failing system is an error. */
static int look(const struct listing *l, const char *path, struct stat *status, bool *there, struct bl_error *e)
{
    char *open_path = bl_input_path(l->base, path);
    if (!open_path)
        return bl_error_memory(e);
    *there = stat(open_path, status) == 0;
    int error = errno;
    free(open_path);
    errno = error;
    if (!*there && bl_errno_is_system(error))
        return bl_error_errno(e, BL_EFAIL, "cannot look at %s", path);
    return BL_OK;
}

int bl_files_add(struct bl_files *files, const char *path, size_t id_offset, const struct bl_kind *kind, bool found,
                 struct bl_error *e)
{
    if (files->count == files->capacity) {
        size_t capacity = files->capacity ? files->capacity * 2 : 256;
        struct bl_file *file = realloc(files->file, capacity * sizeof *file);
        if (!file)
            return bl_error_memory(e);
        files->file = file;
        files->capacity = capacity;
    }
    char *copy = strdup(path);
    if (!copy)
        return bl_error_memory(e);
    files->file[files->count++] = (struct bl_file){copy, copy + id_offset, kind, found};
    return BL_OK;
}

/* Counts a file that is no input under its extension; past the table's end under the last one, "others". */
static void ignore(struct bl_files *files, const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *label = name[0] == '.' ? "hidden" : dot && dot[1] && strlen(dot) < 15 ? dot : "no extension";
    if (files->ignored_count == BL_IGNORED_MAX - 1)
        label = "others";
    for (int i = 0; i < files->ignored_count; i++) {
        if (strcmp(files->ignored[i].extension, label) == 0) {
            files->ignored[i].count++;
            return;
        }
    }
    struct bl_ignored *entry = &files->ignored[files->ignored_count++];
    snprintf(entry->extension, sizeof entry->extension, "%s", label);
    entry->count = 1;
}

static int walk(struct listing *l, const char *path, const struct folder *parent, struct bl_error *e);

static int visit(struct listing *l, const char *path, const char *name, unsigned char type, struct folder *folder,
                 struct bl_error *e)
{
    struct stat status;
    bool is_folder = type == DT_DIR, is_file = type == DT_REG;
    /* A link leads to a file or a folder; one that leads nowhere is an input if its name says so, to be named as
     * useless. */
    if (type == DT_LNK || type == DT_UNKNOWN) {
        bool there;
        int code = look(l, path, &status, &there, e);
        if (code)
            return code;
        is_folder = there && S_ISDIR(status.st_mode);
        is_file = !there || S_ISREG(status.st_mode);
    }
    if (name[0] == '.') {
        ignore(l->files, name);
        return BL_OK;
    }
    if (is_folder)
        return walk(l, path, folder, e);
    const struct bl_kind *kind = l->kind ? l->kind : bl_kind_of_file(name);
    if (!is_file || !kind || !bl_kind_takes(kind, name)) {
        ignore(l->files, name);
        return BL_OK;
    }
    folder->is_input = kind->measure;
    return kind->measure ? BL_OK : bl_files_add(l->files, path, l->id_offset, kind, !l->kind, e);
}

static int walk_entries(struct listing *l, DIR *directory, const char *path, struct folder *folder, struct bl_error *e)
{
    struct bl_buffer below = {0};
    int code = BL_OK;
    const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
    while (!code) {
        errno = 0;
        struct dirent *entry = readdir(directory);
        if (!entry) {
            if (errno)
                code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
            break;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        folder->is_empty = false;
        bl_buffer_clear(&below);
        bl_buffer_printf(&below, "%s%s%s", path, slash, entry->d_name);
        code = bl_buffer_check(&below, e);
        if (!code)
            code = visit(l, below.data, entry->d_name, entry->d_type, folder, e);
    }
    bl_buffer_free(&below);
    return code;
}

static int walk(struct listing *l, const char *path, const struct folder *parent, struct bl_error *e)
{
    struct stat status;
    bool there;
    int code = look(l, path, &status, &there, e);
    if (code)
        return code;
    if (!there)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    for (const struct folder *up = parent; up; up = up->parent) {
        if (up->device == status.st_dev && up->inode == status.st_ino)
            return bl_error_set(e, BL_EUSAGE, "%s leads back to a folder above it: remove that link", path);
    }
    char *open_path = bl_input_path(l->base, path);
    if (!open_path)
        return bl_error_memory(e);
    DIR *directory = opendir(open_path);
    free(open_path);
    if (!directory)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    struct folder here = {parent, status.st_dev, status.st_ino, false, true};
    code = walk_entries(l, directory, path, &here, e);
    closedir(directory);
    /* A folder with nothing in it is a sequence without steps, to be named as useless. */
    here.is_input |= here.is_empty && l->kind && l->kind->measure;
    if (!code && here.is_input) /* the source itself is named as it was given */
        code = bl_files_add(l->files, path, parent ? l->id_offset : 0, l->kind, false, e);
    return code;
}

/* A folder, or anything else named outright. */
static int add_named(struct listing *l, const char *path, bool must_exist, struct bl_error *e)
{
    struct stat status;
    bool there;
    if (strcmp(path, "-") == 0) /* standard input */
        return bl_files_add(l->files, path, 0, l->kind ? l->kind : bl_kind_of_file(path), false, e);
    int code = look(l, path, &status, &there, e);
    if (code)
        return code;
    if (there && S_ISDIR(status.st_mode)) {
        size_t size = strlen(path);
        l->id_offset = size + (path[size - 1] != '/');
        return walk(l, path, NULL, e);
    }
    if (!there && must_exist) {
        int missing = errno;
        char *open_path = bl_input_path(l->base, path);
        bool link = open_path && lstat(open_path, &status) == 0;
        free(open_path);
        errno = missing;
        if (!link)
            return bl_error_errno(e, BL_EUSAGE, "%s", path);
    }
    return bl_files_add(l->files, path, 0, l->kind ? l->kind : bl_kind_of_file(path), false, e);
}

static int add_list(struct listing *l, const char *list, struct bl_error *e)
{
    char *open_path = strcmp(list, "-") == 0 ? strdup("-") : bl_input_path(l->base, list);
    if (!open_path)
        return bl_error_memory(e);
    struct bl_lines lines;
    char *line;
    size_t size;
    bool ended;
    int got = 0, code = bl_lines_open(&lines, open_path, e);
    if (!code) {
        while (!code && (got = bl_lines_next(&lines, &line, &size, &ended, e)) > 0) {
            if (size && line[size - 1] == '\r')
                line[size - 1] = '\0';
            if (*line)
                code = add_named(l, line, false, e);
        }
        bl_lines_close(&lines);
    }
    free(open_path);
    return code ? code : got;
}

static int add_glob(struct listing *l, const char *pattern, struct bl_error *e)
{
    char *open_pattern = bl_input_path(l->base, pattern);
    if (!open_pattern)
        return bl_error_memory(e);
    glob_t found;
    int result = glob(open_pattern, GLOB_NOSORT, NULL, &found);
    free(open_pattern);
    if (result == GLOB_NOMATCH)
        return bl_error_set(e, BL_EUSAGE, "%s: nothing there has such a name", pattern);
    if (result)
        return bl_error_set(e, BL_EFAIL, "%s: cannot read the directories that it names", pattern);
    size_t prefix = l->base && pattern[0] != '/' ? strlen(l->base) + 1 : 0;
    int code = BL_OK;
    for (size_t i = 0; i < found.gl_pathc && !code; i++)
        code = add_named(l, found.gl_pathv[i] + prefix, false, e);
    globfree(&found);
    return code;
}

static int add_source(struct listing *l, const struct bl_source *source, struct bl_error *e)
{
    const char *path = source->path;
    struct stat status;
    if (!*path)
        return bl_error_set(e, BL_EUSAGE, "a source with an empty name");
    if (path[0] == '@')
        return add_list(l, path + 1, e);
    /* A file may be called "what?.mp4": only what is not there as it stands is a pattern. */
    bool there = true;
    int code = strpbrk(path, "*?[") ? look(l, path, &status, &there, e) : BL_OK;
    if (code)
        return code;
    return there ? add_named(l, path, true, e) : add_glob(l, path, e);
}

static int compare_paths(const void *a, const void *b)
{
    return bl_text_natural(((const struct bl_file *)a)->path, ((const struct bl_file *)b)->path);
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp((*(const struct bl_file *const *)a)->id, (*(const struct bl_file *const *)b)->id);
}

static int check_ids(const struct bl_files *files, struct bl_error *e)
{
    const struct bl_file **order = malloc((files->count + 1) * sizeof *order);
    if (!order)
        return bl_error_memory(e);
    for (size_t i = 0; i < files->count; i++)
        order[i] = &files->file[i];
    qsort(order, files->count, sizeof *order, compare_ids);
    int code = BL_OK;
    for (size_t i = 1; i < files->count && !code; i++) {
        if (strcmp(order[i]->id, order[i - 1]->id) == 0)
            code = bl_error_set(e, BL_EUSAGE, "two inputs have the id \"%s\": %s and %s (name a folder above both)",
                                order[i]->id, order[i - 1]->path, order[i]->path);
    }
    free(order);
    return code;
}

static int compare_ignored(const void *a, const void *b)
{
    return strcmp(((const struct bl_ignored *)a)->extension, ((const struct bl_ignored *)b)->extension);
}

/* Whether there are inputs of a kind that does not give way. */
static bool has_strong(const struct bl_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->file[i].kind && !files->file[i].kind->gives_way)
            return true;
    }
    return false;
}

/* Files that lie beside what a folder is about are ignored as those of no kind are. */
static void give_way(struct bl_files *files)
{
    size_t kept = 0;
    if (!has_strong(files))
        return;
    for (size_t i = 0; i < files->count; i++) {
        struct bl_file *file = &files->file[i];
        if (!file->found || !file->kind->gives_way) {
            files->file[kept++] = *file;
            continue;
        }
        const char *slash = strrchr(file->path, '/');
        ignore(files, slash ? slash + 1 : file->path);
        free(file->path);
    }
    files->count = kept;
}

/* All inputs must be of one kind. Files whose names tell nothing go with the others. */
static int settle_kinds(struct bl_files *files, struct bl_error *e)
{
    struct bl_buffer text = {0};
    const struct bl_kind *only = NULL;
    int kinds = 0;
    for (int k = 0; bl_kinds[k]; k++) {
        int64_t count = 0;
        for (size_t i = 0; i < files->count; i++)
            count += files->file[i].kind == bl_kinds[k];
        if (!count)
            continue;
        bl_buffer_printf(&text, "%s%" PRId64 " %s", kinds ? ", " : "", count, bl_kinds[k]->name);
        only = bl_kinds[k];
        kinds++;
    }
    int code = bl_buffer_check(&text, e);
    if (!code && kinds > 1)
        code = bl_error_set(e, BL_EUSAGE, "sources of several kinds (%s): choose one with --kind", text.data);
    bl_buffer_free(&text);
    files->kind = only ? only : bl_kinds[0];
    return code;
}

int bl_sources_list(struct bl_files *files, const struct bl_source *source, int sources, const char *base,
                    const struct bl_kind *kind, struct bl_error *e)
{
    *files = (struct bl_files){0};
    struct listing l = {.files = files, .base = base};
    int code = BL_OK;
    for (int s = 0; s < sources && !code; s++) {
        l.kind = source[s].kind ? source[s].kind : kind;
        code = add_source(&l, &source[s], e);
    }
    if (!code) {
        if (files->count)
            qsort(files->file, files->count, sizeof *files->file, compare_paths);
        code = check_ids(files, e);
    }
    give_way(files);
    qsort(files->ignored, (size_t)files->ignored_count, sizeof *files->ignored, compare_ignored);
    if (!code)
        code = settle_kinds(files, e);
    if (code)
        bl_files_free(files);
    return code;
}

bool bl_files_have_list(const struct bl_files *files, const struct bl_kind *kind)
{
    for (size_t i = 0; i < files->count; i++) {
        if (bl_kind_is_list(kind, files->file[i].path))
            return true;
    }
    return false;
}

void bl_files_free(struct bl_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->file[i].path);
    free(files->file);
    *files = (struct bl_files){0};
}
