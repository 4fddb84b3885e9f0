#include "scan/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kind/kinds.h"

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

void bl_files_ignore(struct bl_files *files, const char *name)
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
    free(files->empty_folder);
    *files = (struct bl_files){0};
}
