#include "base/new_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/path.h"
#include "base/temporary.h"

/* BL_EUSAGE: there is something at path that is no empty folder. */
static int folder_check_free(const char *path, struct bl_error *e)
{
    DIR *list = opendir(path);
    const struct dirent *entry = NULL;
    bool is_free = true;
    if (!list && errno == ENOENT)
        return BL_OK;
    if (!list && errno == ENOTDIR)
        return bl_error_set(e, BL_EUSAGE, "%s is no directory", path);
    if (!list)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    errno = 0;
    while (is_free && (entry = readdir(list)))
        is_free = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    int code = !entry && errno ? bl_error_errno(e, BL_EFAIL, "cannot read %s", path) : BL_OK;
    closedir(list);
    return code || is_free ? code : bl_error_set(e, BL_EUSAGE, "%s is not empty: name a new directory", path);
}

int bl_new_folder_open(struct bl_new_folder *folder, const char *path, struct bl_error *e)
{
    struct bl_buffer name = {0};
    bool made = false;
    int code = folder_check_free(path, e);
    *folder = (struct bl_new_folder){.path = code ? NULL : strdup(path)};
    if (code)
        return code;
    if (!folder->path)
        return bl_error_memory(e);
    for (size_t size = strlen(path); size > 1 && folder->path[size - 1] == '/'; size--)
        folder->path[size - 1] = '\0';
    code = bl_temporary_name(folder->path, &name, e);
    if (!code)
        code = bl_fs_mkdir(name.data, &made, e);
    if (!code && !made)
        code = bl_error_set(e, BL_EFAIL, "%s exists", name.data);
    if (code)
        bl_buffer_free(&name);
    folder->temporary = code ? NULL : name.data;
    if (code)
        bl_new_folder_abort(folder);
    return code;
}

static int folder_write(const char *path, const void *data, size_t size, struct bl_error *e)
{
    int fd = bl_fs_create(path, O_WRONLY, e);
    if (fd < 0)
        return BL_EFAIL;
    int code = bl_io_write(fd, data, size, path, e);
    if (!code && fsync(fd) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot sync %s", path);
    if (close(fd) != 0 && !code)
        code = bl_error_errno(e, BL_EFAIL, "cannot close %s", path);
    return code;
}

int bl_new_folder_add(struct bl_new_folder *folder, const char *name, const void *data, size_t size, struct bl_error *e)
{
    char *path = bl_path_join(folder->temporary, name);
    bl_buffer_append(&folder->files, name, strlen(name) + 1);
    int code = path ? bl_buffer_check(&folder->files, e) : bl_error_memory(e);
    if (!code)
        code = folder_write(path, data, size, e);
    free(path);
    return code;
}

int bl_new_folder_commit(struct bl_new_folder *folder, struct bl_error *e)
{
    int code = bl_fs_sync_directory(folder->temporary, e);
    if (!code)
        code = bl_fs_rename(folder->temporary, folder->path, e);
    if (!code) {
        free(folder->temporary);
        folder->temporary = NULL;
        code = bl_fs_sync_parent(folder->path, e);
    }
    bl_new_folder_abort(folder);
    return code;
}

void bl_new_folder_abort(struct bl_new_folder *folder)
{
    struct bl_buffer path = {0};
    for (size_t at = 0; folder->temporary && at < folder->files.size; at += strlen(folder->files.data + at) + 1) {
        bl_buffer_clear(&path);
        bl_buffer_printf(&path, "%s/%s", folder->temporary, folder->files.data + at);
        if (!path.failed)
            (void)bl_fs_unlink(path.data);
    }
    if (folder->temporary)
        (void)bl_fs_rmdir(folder->temporary, NULL);
    bl_buffer_free(&path);
    bl_buffer_free(&folder->files);
    free(folder->temporary);
    free(folder->path);
    *folder = (struct bl_new_folder){.path = NULL};
}
