#include "store/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/path.h"
#include "base/temporary.h"
#include "base/fs.h"
#include "base/text.h"
#include "store/shard_record.h"

int bl_folders_make(const char *path, struct bl_error *e)
{
    bool made;
    int code = bl_fs_mkdir(path, &made, e);
    if (code || !made)
        return code;
    return bl_fs_sync_parent(path, e);
}

void bl_folders_refresh(const char *path)
{
    DIR *folder = opendir(path);
    if (folder)
        closedir(folder);
}

int bl_folders_prepare(const char *dir, struct bl_error *e)
{
    char *work = bl_path_join(dir, BL_WORK_FOLDER), *shards = bl_path_join(dir, "shards");
    int code = work && shards ? bl_fs_mkdirs(dir, e) : bl_error_memory(e);
    if (code)
        goto out;
    code = bl_folders_make(work, e);
    if (code)
        goto out;
    code = bl_folders_make(shards, e);
out:
    free(work);
    free(shards);
    return code;
}

int bl_folders_read_shards(const char *dir, const struct bl_format *format, int64_t first,
                           uint8_t there[BL_SHARDS_PER_FOLDER], struct bl_error *e)
{
    char name[BL_SHARD_NAME_MAX];
    const char *suffix = strchr(bl_format_shard_name(format, first, name), '.');
    *strrchr(name, '/') = '\0';
    char *path = bl_path_join(dir, name);
    if (!path)
        return bl_error_memory(e);
    int code = BL_OK;
    DIR *folder = opendir(path);
    if (!folder) {
        code = errno == ENOENT ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot open the directory %s", path);
        goto out;
    }
    const struct dirent *entry;
    while ((errno = 0, entry = readdir(folder))) {
        int64_t shard;
        if (bl_text_numbered(entry->d_name, "shard-", 8, suffix, &shard) && shard >= first &&
            shard - first < BL_SHARDS_PER_FOLDER)
            there[shard - first] = 1;
    }
    if (errno)
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    closedir(folder);
out:
    free(path);
    return code;
}

/* Whether a process of this host made the name; see bl_temporary_name. */
static bool entry_is_of_host(const char *name, const char *host)
{
    const char *part = strstr(name, ".part-");
    size_t size = strlen(host);
    return strncmp(part + 6, host, size) == 0 && part[6 + size] == '-';
}

bool bl_folders_is_work_file(const char *name)
{
    static const char *const patterns[] = {
        BL_STATE_CONFIGURATION, BL_STATE_SEQUENCES "*", BL_STATE_SEQUENCES_SUM,   BL_STATE_STDIN,
        BL_STATE_SCAN,          BL_STATE_PLAN,          BL_STATE_PLAN_INFO,       BL_STATE_PLAN_FILE,
        BL_STATE_NOTHING_NEW,   BL_STATE_DRAFT,         "shard-[0-9]*",           "scan-[0-9]*",
        "tar-[0-9a-f]*",        "task-[0-9]*",          "scan-task-[0-9]*",       "lock*",
        "bload.part-*",         "bload-??????",         "????????????????.rows*", "????????????????.steps*"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (fnmatch(patterns[i], name, 0) == 0)
            return true;
    }
    /* Unfinished files: "NAME.part-HOST-PID-RANDOM". */
    const char *part = strstr(name, ".part-");
    char *whole = part ? strndup(name, (size_t)(part - name)) : NULL;
    bool own = whole && bl_folders_is_work_file(whole);
    free(whole);
    return own;
}

bool bl_folders_is_of_system(const char *name)
{
    return strncmp(name, ".fuse_hidden", 12) == 0 || strncmp(name, ".nfs", 4) == 0;
}

/* host: only files begun there; NULL: all. */
static int folder_sweep(DIR *folder, const char *path, const char *host, struct bl_error *e)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry)
            return errno ? bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path) : BL_OK;
        if (!strstr(entry->d_name, ".part-") || !bl_folders_is_work_file(entry->d_name) ||
            (host && !entry_is_of_host(entry->d_name, host)))
            continue;
        if (unlinkat(dirfd(folder), entry->d_name, 0) != 0 && errno != ENOENT)
            return bl_error_errno(e, BL_EFAIL, "cannot remove %s/%s", path, entry->d_name);
    }
}

static int folders_sweep_work(const char *dir, const char *host, struct bl_error *e)
{
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/" BL_WORK_FOLDER, dir);
    DIR *folder = NULL;
    int code = bl_buffer_check(&path, e);
    if (!code)
        code = bl_fs_opendir(path.data, &folder, e);
    if (!code && folder) {
        code = folder_sweep(folder, path.data, host, e);
        closedir(folder);
    }
    bl_buffer_free(&path);
    return code;
}

int bl_folders_sweep(const char *dir, struct bl_error *e)
{
    return folders_sweep_work(dir, NULL, e);
}

int bl_folders_sweep_host(const char *dir, struct bl_error *e)
{
    char host[65];
    bl_temporary_host(host);
    return folders_sweep_work(dir, host, e);
}
