/* Keeps the list of inputs, walks through folders to fill it, and estimates how the time of a scan divides among
 * them.
 *
 * There may be millions of inputs, so that a file costs one allocation: its path, its id and its fault follow each
 * other, and the id is often the end of the path ("v/a/b.mp4" has the id "a/b.mp4" if the source is "v"). */
#include "scan/files.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/meter.h"
#include "kind/input_stat.h"
#include "kind/kinds.h"
#include "kind/list.h"
#include "store/shard_table.h"

/* --- files -------------------------------------------------------------------------------------------------------- */

/* For a kind whose inputs are folders, a tar is no folder and so no input. */
bool bl_files_is_tar(const struct bl_kind *kind, const char *name)
{
    return bl_path_has_suffix(name, ".tar") && (!kind || !kind->scan->stat_folder);
}

/* id_offset: where the id begins within the path. found: the file was found in a folder and not named by the user. */
int bl_files_add(struct bl_files *files, const char *path, size_t id_offset, const struct bl_kind *kind, bool found,
                 struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(files->file, files->capacity, files->count + 1, e))
        return BL_EFAIL;
    /* The path is copied: the id points into the copy. */
    char *copy = strdup(path);
    if (!copy)
        return bl_error_memory(e);
    files->file[files->count++] = (struct bl_file){.path = copy, .id = copy + id_offset, .kind = kind, .found = found};
    return BL_OK;
}

/* Sets path, id and fault to copies in one allocation, which file->path owns. The previous texts stay as they are. */
static int file_set_texts(struct bl_file *file, const char *path, const char *id, const char *fault, struct bl_error *e)
{
    const size_t path_size = strlen(path) + 1, id_size = strlen(id) + 1, fault_size = fault ? strlen(fault) + 1 : 0;
    char *text = malloc(path_size + id_size + fault_size);
    if (!text)
        return bl_error_memory(e);
    memcpy(text, path, path_size);
    memcpy(text + path_size, id, id_size);
    if (fault)
        memcpy(text + path_size + id_size, fault, fault_size);
    file->path = text;
    file->id = text + path_size;
    file->fault = fault ? text + path_size + id_size : NULL;
    return BL_OK;
}

/* Adds a file whose id is no part of its path, such as a member of a tar. fault: why it cannot be used, or NULL. */
int bl_files_add_named(struct bl_files *files, const char *path, const char *id, const struct bl_kind *kind,
                       const char *fault, struct bl_error *e)
{
    struct bl_file file = {.kind = kind};
    BL_TRY(BL_ARRAY_RESERVE(files->file, files->capacity, files->count + 1, e));
    BL_TRY(file_set_texts(&file, path, id, fault, e));
    files->file[files->count++] = file;
    return BL_OK;
}

/* Ranks of the files of a folder: only those of the highest rank are inputs. A tar beside videos may hold the same
 * videos, and a readme beside tars is no document. */
enum rank { RANK_DOCUMENT, RANK_TAR, RANK_FALLBACK, RANK_PRIMARY };

/* Returns the rank of a file. Files that the user named themselves have the highest one. */
static enum rank file_rank(const struct bl_file *file)
{
    if (file->tar)
        return RANK_TAR;
    if (!file->found || !file->kind || !file->kind->is_fallback)
        return RANK_PRIMARY;
    return file->kind->reads_stdin ? RANK_DOCUMENT : RANK_FALLBACK;
}

void bl_files_drop_secondary(struct bl_files *files, size_t first)
{
    size_t kept = first;
    enum rank highest = RANK_DOCUMENT;
    for (size_t i = first; i < files->count; i++)
        highest = file_rank(&files->file[i]) > highest ? file_rank(&files->file[i]) : highest;
    for (size_t i = first; i < files->count; i++) {
        struct bl_file *file = &files->file[i];
        enum rank rank = file_rank(file);
        if (rank == highest || (rank == RANK_DOCUMENT && highest == RANK_FALLBACK)) {
            files->file[kept++] = *file;
            continue;
        }
        bl_files_ignore(files, bl_path_name(file->path), 1);
        /* The path owns all texts of the file. */
        free(file->path);
    }
    files->count = kept;
}

int bl_files_set_fault(struct bl_files *files, size_t number, const char *fault, struct bl_error *e)
{
    struct bl_file *file = &files->file[number];
    /* The id lies in the same allocation, so that it is copied before the path is freed. */
    char *before = file->path;
    BL_TRY(file_set_texts(file, before, file->id, fault, e));
    free(before);
    return BL_OK;
}

/* Counts files under their extension, such as ".txt". The last entry takes all further extensions: a message names
 * some, and the array has a fixed size. */
void bl_files_ignore(struct bl_files *files, const char *name, int64_t count)
{
    const char *dot = strrchr(name, '.');
    /* A name such as "archive.backup-of-monday" has no usual extension: the entry has room for 15 bytes. */
    const char *label = name[0] == '.' ? "hidden" : dot && dot[1] && strlen(dot) < 15 ? dot : "no extension";
    if (files->ignored_count == BL_IGNORED_MAX - 1)
        label = "others";
    for (int i = 0; i < files->ignored_count; i++) {
        if (strcmp(files->ignored[i].extension, label) == 0) {
            files->ignored[i].count += count;
            return;
        }
    }
    struct bl_ignored *entry = &files->ignored[files->ignored_count++];
    snprintf(entry->extension, sizeof entry->extension, "%s", label);
    entry->count = count;
}

bool bl_file_is_list(const struct bl_file *file, const struct bl_kind *kind)
{
    return !file->folder && bl_kind_is_list(kind, file->path);
}

bool bl_files_have_list(const struct bl_files *files, const struct bl_kind *kind)
{
    for (size_t i = 0; i < files->count; i++) {
        if (bl_file_is_list(&files->file[i], kind))
            return true;
    }
    return false;
}

/* Reads the columns of all lists among the inputs. renames: --columns, or NULL. BL_EUSAGE: a list is wrong, or no
 * list has a column that --columns renames. */
int bl_files_read_lists(struct bl_files *files, const struct bl_kind *kind, const char *base, const char *renames,
                        const struct bl_cancel *cancel, struct bl_error *e)
{
    int code = renames ? bl_clip_names_check(renames, e) : BL_OK;
    bl_clip_columns_free(&files->clips);
    files->clips.renames = renames;
    files->clips.are_clips = !bl_kind_has_manifests(kind);
    for (size_t i = 0; i < files->count && !code; i++) {
        const char *name = files->file[i].path;
        /* Standard input can be read only once: its columns remain unknown. */
        if (!bl_file_is_list(&files->file[i], kind) || strcmp(name, "-") == 0)
            continue;
        char *path = bl_path_join(base, name);
        code = path ? bl_clip_columns_add(&files->clips, kind, path, name, cancel, e) : bl_error_memory(e);
        free(path);
    }
    for (int number = 0; number < BL_CLIP_RENAMES_MAX && !code; number++) {
        const struct bl_clip_name column = bl_clip_names_column(renames, number);
        if (!column.size)
            break;
        /* The set of renamed columns has a bit for each pair. Those of templates are checked with each list. */
        if (!bl_clip_template_is(column) && !(files->clips.renamed >> number & 1))
            code = bl_error_set(e, BL_EUSAGE, "--columns: no list of clips has a column \"%.*s\"", (int)column.size,
                                column.text);
    }
    return code;
}

void bl_files_columns(const struct bl_files *files, const struct bl_kind *kind, const void *config,
                      struct bl_buffer *out)
{
    const struct bl_clip_columns *clips = &files->clips;
    bool lists = bl_files_have_list(files, kind);
    if (kind->scan->columns)
        kind->scan->columns(config, lists && !clips->are_clips, out);
    /* Columns of a kind come first, then those of clips, then the columns of the lists. */
    if (!lists)
        return;
    if (clips->are_clips)
        bl_buffer_text(out, BL_CLIP_COLUMNS);
    for (size_t c = 0; c < clips->count; c++)
        bl_buffer_printf(out, "\t%s", clips->name[c]); /* needs no escapes: see bl_attributes_check_name */
}

void bl_files_free(struct bl_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->file[i].path);
    free(files->file);
    bl_clip_columns_free(&files->clips);
    bl_member_index_free(&files->members);
    free(files->empty_folder);
    *files = (struct bl_files){0};
}

/* --- walk through a folder ---------------------------------------------------------------------------------------- */

/* Links can make a folder appear at many paths, all of which are inputs: n nested links at 2^n paths. */
#define REPEATS_MAX 100    /* reads of an entry, on average */
#define ENTRIES_FREE 10000 /* entries that may be read before the limit of repeats applies */

/* A folder on the way from the source to the present one. The chain on the stack detects a link that leads back up. */
struct folder {
    const struct folder *parent;
    dev_t device;
    ino_t inode;
    bool is_input;   /* the kind reads folders, and this one holds files of it */
    bool is_dataset; /* bload's own, or below one: its shards are no inputs */
};

/* A folder that was read, wherever its path leads. */
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
    int64_t entries, distinct; /* entries read; those of them in folders seen for the first time */
};

/* errno tells the caller why *there is false; a failure of the system, such as an I/O error, is an error here. */
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
        return bl_opener_fail("cannot stat", path, BL_EFAIL, e);
    return BL_OK;
}

int bl_walk_add_found(const struct bl_walk *about, const char *path, size_t id_offset, bool *is_part,
                      struct bl_error *e)
{
    const char *name = bl_path_name(path);
    const struct bl_kind *kind = about->kind ? about->kind : bl_kind_find_by_file(name);
    *is_part = false;
    if (bl_files_is_tar(kind, name)) {
        int code = bl_files_add(about->files, path, id_offset, kind, true, e);
        if (!code)
            about->files->file[about->files->count - 1].tar = true;
        return code;
    }
    /* Some extensions belong to a kind only if the user requests the kind, such as .bin for arrays. */
    const char *const *asked = about->kind ? about->kind->asked_extensions : NULL;
    bool known = kind && (bl_kind_has_extension(kind, name) || (asked && bl_path_has_extension(name, asked)));
    if (about->names ? !bl_path_has_extension(name, about->names->extensions) : !known) {
        bl_files_ignore(about->files, name, 1);
        return BL_OK;
    }
    *is_part = kind->scan->stat_folder;
    return *is_part ? BL_OK : bl_files_add(about->files, path, id_offset, kind, !about->kind, e);
}

/* Counts a folder with this number of entries. BL_EUSAGE: links lead to the same folders again and again. n nested
 * links make 2^n paths, so a limit of repeats ends the walk; small folders may repeat without limit. */
static int seen_add(struct walking *w, const char *path, const struct folder *folder, int64_t entries,
                    struct bl_error *e)
{
    /* The factor is 2^64 divided by the golden ratio, which spreads neighbouring inodes. */
    uint64_t hash = ((uint64_t)folder->inode + (uint64_t)folder->device * 31) * UINT64_C(0x9e3779b97f4a7c15);
    bool seen = false;
    size_t number;
    w->entries += entries + 1;
    for (struct bl_hash_probe probe = bl_hash_begin(&w->by_inode, hash);
         !seen && bl_hash_next(&w->by_inode, &probe, &number);)
        seen = w->seen[number].device == folder->device && w->seen[number].inode == folder->inode;
    if (!seen) {
        BL_TRY(BL_ARRAY_RESERVE(w->seen, w->capacity, w->folders + 1, e));
        BL_TRY(bl_hash_add(&w->by_inode, hash, w->folders, e));
        w->seen[w->folders++] = (struct seen){folder->device, folder->inode};
        w->distinct += entries + 1;
    }
    /* The first 10,000 entries are free; after them, an entry may be read REPEATS_MAX times on average. */
    if (w->entries - ENTRIES_FREE <= REPEATS_MAX * w->distinct)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE, "%s: links lead to the same folders over and over: remove some", path);
}

/* --- one folder ------------------------------------------------------------------------------------------------- */

/* Walks through a folder and all folders below it. parent: the folder above, NULL for the source itself. */
static int walk_folder(struct walking *w, const char *path, const struct folder *parent, struct bl_error *e);

/* Adds a folder that cannot be read as an input, which the scan skips with the reason; errno says why. The source
 * itself must be readable, and an entry that has vanished since it was listed is an error, too. */
static int walk_add_unreadable(const struct walking *w, const char *path, bool is_source, struct bl_error *e)
{
    if (is_source || errno == ENOENT || bl_errno_is_system(errno))
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    return bl_files_add(w->walk->files, path, w->id_offset, w->walk->kind, false, e);
}

/* Takes an entry of a folder: walks into a folder, adds an input, or counts another file as ignored. path: the whole
 * path, of which name is the last part. type: DT_DIR and so on, as readdir(3) gives it. Hidden entries are never
 * inputs. */
static int walk_entry(struct walking *w, const char *path, const char *name, unsigned char type, struct folder *folder,
                      struct bl_error *e)
{
    const struct bl_walk *about = w->walk;
    struct stat status;
    bool is_folder = type == DT_DIR;
    /* Hidden files and folders, such as .git, are skipped. */
    if (name[0] == '.') {
        if (!w->list)
            bl_files_ignore(about->files, name, 1);
        return BL_OK;
    }
    /* All but folders are inputs by their names: the scan will skip dangling links, pipes and devices. */
    if (type == DT_LNK || type == DT_UNKNOWN) {
        bool there;
        BL_TRY(bl_walk_stat(about, path, &status, &there, e));
        if (!there && (errno == EACCES || errno == ENAMETOOLONG))
            return walk_add_unreadable(w, path, false, e);
        is_folder = there && S_ISDIR(status.st_mode);
    }
    if (is_folder)
        return walk_folder(w, path, folder, e);
    if (w->list)
        return BL_OK;
    if (folder->is_dataset && bl_path_has_suffix(name, ".safetensors")) {
        bl_files_ignore(about->files, name, 1);
        return BL_OK;
    }
    bool is_part;
    int code = bl_walk_add_found(about, path, w->id_offset, &is_part, e);
    folder->is_input |= is_part;
    return code;
}

/* Reads the names of a folder: for each entry the byte of its type, the name, and a NUL. *opened: false if the
 * folder cannot be opened; errno then says why, and the caller decides. */
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

/* Takes the entries of the folder. Names are read first and the folder is closed, as the nesting of folders may
 * exceed the limit of open files. */
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
    for (size_t at = 0; at < names.size; at += strlen(names.data + at + 1) + 2)
        here->is_dataset |=
            strcmp(names.data + at + 1, BL_SHARDS_FILE) == 0 || strcmp(names.data + at + 1, BL_WORK_FOLDER) == 0;
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

/* The check of the chain above precedes the walk: a link to a folder above would never end. */
static int walk_folder(struct walking *w, const char *path, const struct folder *parent, struct bl_error *e)
{
    struct stat status;
    bool there;
    /* The path may have vanished since the folder was read. */
    BL_TRY(bl_walk_stat(w->walk, path, &status, &there, e));
    if (!there)
        return walk_add_unreadable(w, path, !parent, e);
    for (const struct folder *up = parent; up; up = up->parent) {
        if (up->device == status.st_dev && up->inode == status.st_ino)
            return bl_error_set(e, BL_EUSAGE, "%s leads back to a folder above it: remove that link", path);
    }
    struct folder here = {
        .parent = parent, .is_dataset = parent && parent->is_dataset, .device = status.st_dev, .inode = status.st_ino};
    int code = walk_entries(w, path, &here, e);
    if (code || !here.is_input)
        return code;
    /* The source itself is named as it was given. */
    code = bl_files_add(w->walk->files, path, parent ? w->id_offset : 0, w->walk->kind, false, e);
    if (!code)
        w->walk->files->file[w->walk->files->count - 1].folder = true;
    return code;
}

/* Adds the inputs below this folder. Ids are relative to it unless whole_ids is set. */
int bl_walk_folder(const struct bl_walk *about, const char *path, struct bl_error *e)
{
    size_t size = strlen(path);
    struct walking w = {.walk = about, .id_offset = about->whole_ids ? 0 : size + (path[size - 1] != '/')};
    int code = walk_folder(&w, path, NULL, e);
    free(w.seen);
    bl_hash_free(&w.by_inode);
    return code;
}

/* Appends the paths of the folder and of all below it, each with a NUL, and adds no inputs. */
int bl_walk_list_folders(const struct bl_walk *about, const char *path, struct bl_buffer *folders, struct bl_error *e)
{
    struct walking w = {.walk = about, .list = folders};
    int code = walk_folder(&w, path, NULL, e);
    free(w.seen);
    bl_hash_free(&w.by_inode);
    return code ? code : bl_buffer_check(folders, e);
}

/* --- weights of files --------------------------------------------------------------------------------------------- */

#define OPENING ((int64_t)64 << 10) /* weight of opening a file: bytes that could be read in the same time */
#define SAMPLE 4096                 /* the most files in the sample of sizes, */
#define SAMPLE_TIME 100 /* and the most milliseconds for it, since on some file systems each file takes one */
#define BYTES_MAX ((int64_t)1 << 50)

/* Returns a stride of about the golden section of the number of files, coprime to it: the stride reaches each file
 * once, and the first ones are spread evenly. */
static int64_t weights_stride(int64_t files)
{
    int64_t stride = (int64_t)((double)files * 0.6180339887498949);
    for (stride = stride > 1 ? stride : 1;; stride++) {
        int64_t divisor = stride; /* the greatest common one, by Euclid's algorithm */
        for (int64_t other = files; other;) {
            int64_t rest = divisor % other;
            divisor = other;
            other = rest;
        }
        if (divisor == 1)
            return stride;
    }
}

/* Estimates the weight of all files from a sample: the mean of size + OPENING, times the number of files. Files
 * first, first + every, ... count, those of a task. Folders and lists have no estimate: their sizes say little. */
void bl_weights_init(struct bl_weights *w, const struct bl_files *files, const struct bl_kind *kind, const char *base,
                     int64_t first, int64_t every)
{
    int64_t count = (int64_t)files->count;
    *w = (struct bl_weights){.files = count > first ? (count - first + every - 1) / every : 0};
    if (!w->files || kind->scan->stat_folder || bl_files_have_list(files, kind))
        return;
    int64_t stride = weights_stride(w->files), sampled = 0;
    long long begun = bl_meter_clock();
    double sum = 0;
    for (int64_t at = 0; sampled < w->files && sampled < SAMPLE; sampled++, at = (at + stride) % w->files) {
        /* The clock is read once in 16 files; on network file systems each file may take milliseconds. */
        if (sampled % 16 == 15 && bl_meter_clock() - begun > SAMPLE_TIME)
            break;
        const struct bl_file *file = &files->file[first + at * every];
        struct bl_error ignored = {0};
        const char *unusable = NULL;
        struct bl_input input = {.path = bl_path_join(base, file->path), .fault = file->fault};
        int code = input.path ? bl_input_stat(kind, &input, &unusable, &ignored) : BL_EFAIL;
        free((char *)input.path);
        int64_t bytes = code || unusable ? 0 : input.bytes < BYTES_MAX ? input.bytes : BYTES_MAX;
        sum += (double)(bytes + OPENING);
    }
    w->expected = sum / (double)sampled * (double)w->files;
}

int64_t bl_weights_of(const struct bl_weights *w, int64_t bytes, int64_t opens)
{
    return opens * OPENING + (w->expected > 0 ? bytes < BYTES_MAX ? bytes : BYTES_MAX : 0);
}

void bl_weights_begin(struct bl_weights *w, int64_t weight, int64_t files)
{
    atomic_fetch_add_explicit(&w->sum, weight, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->seen, files, memory_order_relaxed);
}

/* Returns thousandths of files: the share of the weight that is finished, times the number of files. Before all
 * files were seen, the estimate is the total, and at least OPENING for each file to come. */
int64_t bl_weights_parts(const struct bl_weights *w, int64_t finished)
{
    int64_t seen = atomic_load_explicit(&w->seen, memory_order_relaxed);
    double sum = (double)atomic_load_explicit(&w->sum, memory_order_relaxed), all = sum;
    if (seen < w->files)
        all = fmax(w->expected, sum + (double)(w->files - seen) * (double)OPENING);
    return all > 0 ? (int64_t)(1000 * (double)w->files * fmin((double)finished / all, 1)) : 0;
}
