#include "scan/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "kind/kinds.h"
#include "kind/list.h"

bool bl_files_is_tar(const struct bl_kind *kind, const char *name)
{
    return bl_path_has_suffix(name, ".tar") && (!kind || !kind->scan->stat_folder);
}

int bl_files_add(struct bl_files *files, const char *path, size_t id_offset, const struct bl_kind *kind, bool found,
                 struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(files->file, files->capacity, files->count + 1, e))
        return BL_EFAIL;
    char *copy = strdup(path);
    if (!copy)
        return bl_error_memory(e);
    files->file[files->count++] = (struct bl_file){.path = copy, .id = copy + id_offset, .kind = kind, .found = found};
    return BL_OK;
}

/* Sets the texts of a file to copies, which its path owns. */
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

int bl_files_add_named(struct bl_files *files, const char *path, const char *id, const struct bl_kind *kind,
                       const char *fault, struct bl_error *e)
{
    struct bl_file file = {.kind = kind};
    int code = BL_ARRAY_RESERVE(files->file, files->capacity, files->count + 1, e);
    if (!code)
        code = file_set_texts(&file, path, id, fault, e);
    if (!code)
        files->file[files->count++] = file;
    return code;
}

int bl_files_set_fault(struct bl_files *files, size_t number, const char *fault, struct bl_error *e)
{
    struct bl_file *file = &files->file[number];
    char *before = file->path;
    int code = file_set_texts(file, before, file->id, fault, e);
    if (!code)
        free(before);
    return code;
}

void bl_files_ignore(struct bl_files *files, const char *name, int64_t count)
{
    const char *dot = strrchr(name, '.');
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

/* Each column that --columns renames must be in some list. */
static int files_check_renames(const struct bl_files *files, struct bl_error *e)
{
    const struct bl_clip_columns *clips = &files->clips;
    for (int number = 0; number < BL_CLIP_RENAMES_MAX; number++) {
        const struct bl_clip_name column = bl_clip_names_column(clips->renames, number);
        if (!column.size)
            break;
        if (!(clips->renamed >> number & 1))
            return bl_error_set(e, BL_EUSAGE, "--columns: no list of clips has a column \"%.*s\"", (int)column.size,
                                column.text);
    }
    return BL_OK;
}

int bl_files_read_lists(struct bl_files *files, const struct bl_kind *kind, const char *base, const char *renames,
                        const struct bl_cancel *cancel, struct bl_error *e)
{
    int code = renames ? bl_clip_names_check(renames, e) : BL_OK;
    bl_clip_columns_free(&files->clips);
    files->clips.renames = renames;
    files->clips.are_clips = !kind->scan->manifest_values;
    for (size_t i = 0; i < files->count && !code; i++) {
        const char *name = files->file[i].path;
        if (!bl_file_is_list(&files->file[i], kind) || strcmp(name, "-") == 0)
            continue;
        char *path = bl_path_join(base, name);
        code = path ? bl_clip_columns_add(&files->clips, kind, path, name, cancel, e) : bl_error_memory(e);
        free(path);
    }
    return code ? code : files_check_renames(files, e);
}

void bl_files_columns(const struct bl_files *files, const struct bl_kind *kind, const void *config,
                      struct bl_buffer *out)
{
    const struct bl_clip_columns *clips = &files->clips;
    bool lists = bl_files_have_list(files, kind);
    if (kind->scan->columns)
        kind->scan->columns(config, lists && !clips->are_clips, out);
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
