#include "run/space.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "store/folders.h"
#include "store/format.h"

enum { FOLDERS = 2 }; /* in each other, in DIR/shards and DIR/.bload */

/* The data still to be written. */
struct need {
    int64_t shards, bytes;
};

static void space_add_missing(const struct bl_pack_params *pack, struct need *need)
{
    for (int64_t i = pack->shard_begin; i < pack->shard_end; i++) {
        if (!pack->missing->is_missing[i])
            continue;
        need->shards++;
        need->bytes += pack->missing->row[i].bytes;
    }
}

static int space_of_shard(const struct bl_format *format, int64_t shard, int64_t *bytes, struct bl_error *e)
{
    struct bl_layout layout;
    int code = bl_layout_make(&layout, format, shard, e);
    if (code)
        return code;
    *bytes = layout.file_size;
    bl_layout_free(&layout);
    return BL_OK;
}

/* All but the last have one size. */
static int space_of_ends(const struct bl_format *format, int64_t *first, int64_t *last, struct bl_error *e)
{
    int code = space_of_shard(format, 0, first, e);
    return code ? code : space_of_shard(format, bl_format_shards(format) - 1, last, e);
}

int bl_space_of_shards(const struct bl_format *format, int64_t *bytes, struct bl_error *e)
{
    int64_t first, last;
    int code = space_of_ends(format, &first, &last, e);
    if (!code)
        *bytes = first * (bl_format_shards(format) - 1) + last;
    return code;
}

/* Adds the shards that do not have their names yet. */
static int space_add_new(const struct bl_pack_params *pack, struct need *need, struct bl_error *e)
{
    const struct bl_format *format = pack->format;
    int64_t shards = bl_format_shards(format), first_bytes, last_bytes;
    int code = space_of_ends(format, &first_bytes, &last_bytes, e);
    if (code)
        return code;
    for (int64_t first = 0; first < shards && !code; first += BL_SHARDS_PER_FOLDER) {
        uint8_t there[BL_SHARDS_PER_FOLDER] = {0};
        code = bl_folders_read_shards(pack->dir, format, first, there, e);
        for (int64_t i = first; i < shards && i < first + BL_SHARDS_PER_FOLDER; i++) {
            need->shards += !there[i - first];
            need->bytes += there[i - first] ? 0 : i == shards - 1 ? last_bytes : first_bytes;
        }
    }
    return code;
}

/* Sums the space that other tasks have already used for shards in progress. */
static int space_taken(const char *dir, int64_t *bytes, struct bl_error *e)
{
    struct stat status;
    char *path = bl_path_join(dir, BL_WORK_FOLDER);
    if (!path)
        return bl_error_memory(e);
    DIR *folder = opendir(path);
    int code = folder ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    free(path);
    if (code)
        return code;
    const struct dirent *entry;
    *bytes = 0;
    while ((entry = readdir(folder))) {
        const char *name = entry->d_name;
        if (strncmp(name, "shard-", 6) == 0 && strstr(name, ".part-") &&
            fstatat(dirfd(folder), name, &status, AT_SYMLINK_NOFOLLOW) == 0)
            *bytes += (int64_t)status.st_blocks * 512;
    }
    closedir(folder);
    return BL_OK;
}

/* Adds the bytes of all files below a folder, which is closed; levels: of folders in it. */
static int space_add_files(int fd, const char *path, int levels, int64_t *bytes, struct bl_error *e)
{
    DIR *folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    }
    int code = BL_OK;
    const struct dirent *entry;
    struct stat status;
    while (!code && (entry = readdir(folder))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(status.st_mode))
            *bytes += (int64_t)status.st_blocks * 512;
        if (!S_ISDIR(status.st_mode) || !levels)
            continue;
        int below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        code = below < 0 ? BL_OK : space_add_files(below, path, levels - 1, bytes, e);
    }
    closedir(folder);
    return code;
}

static int space_of_folder(const char *dir, const char *name, int64_t *bytes, struct bl_error *e)
{
    *bytes = 0;
    char *path = bl_path_join(dir, name);
    if (!path)
        return bl_error_memory(e);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), code = BL_OK;
    if (fd >= 0)
        code = space_add_files(fd, path, FOLDERS, bytes, e);
    else if (errno != ENOENT)
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    free(path);
    return code;
}

int bl_space_of_begun(const char *dir, int64_t *shards, int64_t *work, struct bl_error *e)
{
    int64_t parts = 0;
    int code = space_of_folder(dir, "shards", shards, e);
    if (!code)
        code = space_of_folder(dir, BL_WORK_FOLDER, work, e);
    if (!code && *work)
        code = space_taken(dir, &parts, e);
    *shards += parts;
    *work -= parts;
    return code;
}

char *bl_space_folder(const char *dir)
{
    char *path = strdup(dir);
    while (path && *path && access(path, F_OK) != 0) {
        size_t size = strlen(path);
        while (size && path[size - 1] == '/')
            size--;
        while (size && path[size - 1] != '/')
            size--;
        path[size] = '\0';
    }
    if (path && !*path) {
        free(path);
        path = strdup(".");
    }
    return path;
}

int bl_space_free(const char *dir, int64_t *bytes, struct bl_error *e)
{
    struct statvfs disk;
    char *path = bl_space_folder(dir);
    if (!path)
        return bl_error_memory(e);
    int code = statvfs(path, &disk) ? bl_error_errno(e, BL_EFAIL, "cannot read the free space of %s", dir) : BL_OK;
    /* A file system that does not report its size has no blocks. */
    if (!code)
        *bytes = disk.f_blocks ? (int64_t)((double)disk.f_bavail * (double)disk.f_frsize) : -1;
    free(path);
    return code;
}

/* Reads the free space first: data that other tasks write in between then counts twice, in favour of continuing. */
int bl_space_check(const struct bl_pack_params *pack, struct bl_error *e)
{
    struct need need = {0};
    int64_t left, others = 0;
    bool again = pack->missing && pack->missing->is_missing;
    if (pack->format->compressed && !again)
        return BL_OK;
    int code = bl_space_free(pack->dir, &left, e);
    if (code || left < 0)
        return code;
    if (again)
        space_add_missing(pack, &need);
    code = again ? BL_OK : space_add_new(pack, &need, e);
    if (code)
        return code;
    code = space_taken(pack->dir, &others, e);
    if (code)
        return code;
    if ((double)need.bytes <= (double)left + (double)others)
        return BL_OK;
    char shards[32], bytes[32], room[32];
    errno = ENOSPC;
    return bl_error_errno(e, BL_EFAIL, "%s: %s of shards (%s) are still to be written, but only %s are free", pack->dir,
                          bl_text_size(bytes, need.bytes), bl_text_count(shards, need.shards),
                          bl_text_size(room, left));
}
