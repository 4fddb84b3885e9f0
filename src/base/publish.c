#include "base/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"

/* --- new folder --------------------------------------------------------------------------------------------------- */

/* A folder of files that appears under its name when all of them are in it. */

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

/* --- publish ------------------------------------------------------------------------------------------------------ */

#define CHUNK ((size_t)1 << 16)
#define SHOWN 80 /* bytes shown before and after the difference in a line */

/* *exists: the name is taken already. Without hard links a rename that refuses to replace does the work, and without
 * that, a check followed by a rename. */
static int publish_link(int folder, const char *temporary, const char *name, const char *path, bool *exists,
                        struct bl_error *e)
{
    struct stat status;
    if (linkat(folder, temporary, folder, name, 0) == 0)
        return BL_OK;
    *exists = errno == EEXIST;
    if (*exists)
        return BL_OK;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK)
        return bl_error_errno(e, BL_EFAIL, "cannot give %s its name", path);
    if (renameat2(folder, temporary, folder, name, RENAME_NOREPLACE) == 0)
        return BL_OK;
    *exists = errno == EEXIST || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (!*exists && renameat(folder, temporary, folder, name) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot give %s its name", path);
    return BL_OK;
}

/* --- differences ------------------------------------------------------------------------------------------------ */

/* One of two compared files. */
struct side {
    const char *path;
    int fd;
    char data[CHUNK];
    size_t size;
};

static int side_open(struct side *side, const char *path, struct bl_error *e)
{
    side->path = path;
    side->fd = bl_regular_open(path, e);
    return side->fd < 0 ? side->fd : BL_OK;
}

static int side_fill(struct side *side, struct bl_error *e)
{
    size_t got = 1;
    side->size = 0;
    while (side->size < CHUNK && got) {
        int code = bl_io_read(side->fd, side->data + side->size, CHUNK - side->size, &got, side->path, e);
        if (code)
            return code;
        side->size += got;
    }
    return BL_OK;
}

/* Returns the line around byte `at`, as far as it is in memory and shortened; *size -1: it is not text. */
static const char *side_line(const struct side *side, size_t at, int *size)
{
    size_t begin = at, end = at;
    while (begin > 0 && side->data[begin - 1] != '\n' && at - begin < SHOWN)
        begin--;
    while (end < side->size && side->data[end] != '\n' && end - at < SHOWN)
        end++;
    *size = (int)(end - begin);
    for (size_t i = begin; i < end; i++) {
        if ((unsigned char)side->data[i] < ' ' && side->data[i] != '\t')
            *size = -1;
    }
    return side->data + begin;
}

static int side_report(const struct side *there, const struct side *here, int64_t offset, int64_t line, size_t at,
                       struct bl_error *e)
{
    int a_size, b_size;
    const char *a = side_line(there, at, &a_size), *b = side_line(here, at, &b_size);
    if (a_size < 0 || b_size < 0)
        return bl_error_set(e, BL_EFAIL,
                            "%s exists already, with other content than here: the first difference is in byte %" PRId64,
                            there->path, offset + (int64_t)at);
    return bl_error_set(e, BL_EFAIL,
                        "%s exists already, with other content than here: line %" PRId64 " is \"%.*s\" there, \"%.*s\" "
                        "here",
                        there->path, line, a_size, a, b_size, b);
}

static int side_compare(struct side *there, struct side *here, struct bl_error *e)
{
    int64_t offset = 0, line = 1;
    for (;;) {
        int code = side_fill(there, e);
        if (!code)
            code = side_fill(here, e);
        if (code)
            return code;
        size_t common = there->size < here->size ? there->size : here->size, at = 0;
        for (; at < common && there->data[at] == here->data[at]; at++)
            line += there->data[at] == '\n';
        if (at < there->size || at < here->size)
            return side_report(there, here, offset, line, at, e);
        if (common < CHUNK)
            return BL_OK;
        offset += (int64_t)common;
    }
}

static int publish_compare(const char *there, const char *here, struct bl_error *e)
{
    struct side *side = calloc(2, sizeof *side);
    if (!side)
        return bl_error_memory(e);
    side[0].fd = side[1].fd = -1;
    int code = side_open(&side[0], there, e);
    if (code)
        goto out;
    code = side_open(&side[1], here, e);
    if (code)
        goto out;
    code = side_compare(&side[0], &side[1], e);
out:
    for (int i = 0; i < 2; i++) {
        if (side[i].fd >= 0)
            close(side[i].fd); /* read only: no data to lose */
    }
    free(side);
    return code;
}

int bl_publish_file(const char *temporary, const char *path, struct bl_error *e)
{
    const char *name;
    bool exists = false;
    int folder = bl_fs_open_parent(path, &name, e);
    if (folder < 0)
        return folder;
    int code = publish_link(folder, bl_path_name(temporary), name, path, &exists, e);
    close(folder);
    if (code)
        return code;
    return exists ? publish_compare(path, temporary, e) : bl_fs_sync_parent(path, e);
}
