/* The files of a dataset on disk: work files of runs, missing files of a finished dataset, and finished shards.
 *
 * Names decide what a file is. A run may remove only files whose names runs give, since users may keep other files in
 * the same directory. */
#include "store/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "store/format.h"
#include "store/shard_reader.h"

/* --- folders ------------------------------------------------------------------------------------------------------ */

int bl_folders_make(const char *path, struct bl_error *e)
{
    bool made;
    BL_TRY(bl_fs_mkdir(path, &made, e));
    return made ? bl_fs_sync_parent(path, e) : BL_OK;
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
    if (!code)
        code = bl_folders_make(work, e);
    if (!code)
        code = bl_folders_make(shards, e);
    free(work);
    free(shards);
    return code;
}

int bl_folders_read_shards(const char *dir, const struct bl_format *format, int64_t first,
                           uint8_t there[BL_SHARDS_PER_FOLDER], struct bl_error *e)
{
    char name[BL_SHARD_NAME_MAX];
    /* The name of a shard gives the folder and the suffix: "shards/00012/shard-00012000.safetensors.zst". */
    const char *suffix = strchr(bl_format_shard_name(format, first, name), '.');
    *strrchr(name, '/') = '\0';
    char *path = bl_path_join(dir, name);
    if (!path)
        return bl_error_memory(e);
    int code = BL_OK;
    DIR *folder = opendir(path);
    if (!folder && errno != ENOENT)
        code = bl_error_errno(e, BL_EFAIL, "cannot open the directory %s", path);
    const struct dirent *entry = NULL;
    while (folder && (errno = 0, entry = readdir(folder))) {
        int64_t shard;
        if (bl_text_numbered(entry->d_name, "shard-", 8, suffix, &shard) && shard >= first &&
            shard - first < BL_SHARDS_PER_FOLDER)
            there[shard - first] = 1;
    }
    if (folder && errno)
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    if (folder)
        closedir(folder);
    free(path);
    return code;
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
    /* The name before the first ".part-" has no such mark, so that the recursion ends. */
    /* Unfinished files: "NAME.part-HOST-PID-RANDOM". */
    const char *part = strstr(name, ".part-");
    char *plain = part ? strndup(name, (size_t)(part - name)) : NULL;
    bool own = plain && bl_folders_is_work_file(plain);
    free(plain);
    return own;
}

bool bl_folders_is_of_system(const char *name)
{
    return strncmp(name, ".fuse_hidden", 12) == 0 || strncmp(name, ".nfs", 4) == 0;
}

/* A temporary name is "NAME.part-HOST-PID-RANDOM" (bl_temporary_name), so that the host follows ".part-". */
int bl_folders_sweep(const char *dir, bool only_host, struct bl_error *e)
{
    static const char mark[] = ".part-";
    char host[65];
    bl_temporary_host(host);
    size_t size = strlen(host);
    char *path = bl_path_join(dir, BL_WORK_FOLDER);
    DIR *folder = NULL;
    int code = path ? bl_fs_opendir(path, &folder, e) : bl_error_memory(e);
    const struct dirent *entry;
    while (!code && folder && (errno = 0, entry = readdir(folder))) {
        const char *name = entry->d_name, *part = strstr(name, mark);
        const char *its = part ? part + sizeof mark - 1 : NULL;
        if (!its || !bl_folders_is_work_file(name))
            continue;
        bool is_of_host = strncmp(its, host, size) == 0 && its[size] == '-';
        if ((is_of_host || !only_host) && unlinkat(dirfd(folder), name, 0) != 0 && errno != ENOENT)
            code = bl_error_errno(e, BL_EFAIL, "cannot remove %s/%s", path, name);
    }
    if (!code && folder && errno)
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path);
    if (folder)
        closedir(folder);
    free(path);
    return code;
}

/* --- missing files ------------------------------------------------------------------------------------------------ */

/* Returns the size of DIR/name in *bytes; -1: the file does not exist. */
static int file_size(const char *dir, const char *name, int64_t *bytes, struct bl_error *e)
{
    struct stat status;
    int code = BL_OK;
    char *path = bl_path_join(dir, name);
    *bytes = -1;
    if (!path)
        return bl_error_memory(e);
    if (stat(path, &status) == 0)
        *bytes = S_ISREG(status.st_mode) ? (int64_t)status.st_size : -1;
    else if (errno != ENOENT && errno != ENOTDIR)
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    free(path);
    return code;
}

int bl_missing_check_files(const char *dir, const struct bl_manifest *m, struct bl_error *e)
{
    int64_t bytes;
    for (size_t i = 0; i < m->files; i++) {
        const struct bl_manifest_file *file = &m->file[i];
        BL_TRY(file_size(dir, file->name, &bytes, e));
        if (bytes == file->bytes)
            continue;
        char wrong[80] = "is missing";
        if (bytes >= 0)
            snprintf(wrong, sizeof wrong, "has %" PRId64 " bytes, the manifest says %" PRId64, bytes, file->bytes);
        return bl_error_set(e, BL_EDATA, "%s/%s %s: %s", dir, file->name, wrong,
                            strcmp(file->name, BL_SHARDS_FILE) == 0
                                ? "no other file has the checksums of the shards, so pack into another directory (-o)"
                                : "to finish the dataset again, remove " BL_MANIFEST_FILE " and run the same command");
    }
    return BL_OK;
}

void bl_missing_add(struct bl_missing *l, int64_t shard)
{
    if (l->is_missing[shard])
        return;
    l->is_missing[shard] = 1;
    if (!l->count++ || shard < l->first)
        l->first = shard;
}

/* shards.tsv determines which shards are made again, so it must be intact: its checksum is compared first. */
int bl_missing_find(struct bl_missing *l, const char *dir, const struct bl_manifest *m, int64_t begin, int64_t end,
                    struct bl_error *e)
{
    *l = (struct bl_missing){0};
    int64_t bytes = 0;
    uint64_t checksum = 0;
    char *path = bl_path_join(dir, BL_SHARDS_FILE);
    int code = path ? bl_checksum_file(path, &bytes, &checksum, e) : bl_error_memory(e);
    const struct bl_manifest_file *listed = bl_manifest_find_file(m, BL_SHARDS_FILE);
    if (!code && !(listed && listed->checksum == checksum))
        code = bl_error_set(e, BL_EDATA, "%s: checksum %016" PRIx64 " differs from the manifest", path, checksum);
    free(path);
    BL_TRY(code);
    BL_TRY(bl_shard_table_read(dir, &m->format, &l->row, e));
    if (!(l->is_missing = calloc((size_t)bl_format_shards(&m->format), 1)))
        return bl_error_memory(e);
    for (int64_t i = begin; i < end && !code; i++) {
        code = file_size(dir, l->row[i].file, &bytes, e);
        if (!code && bytes != l->row[i].bytes)
            bl_missing_add(l, i);
    }
    return code;
}

void bl_missing_describe(struct bl_buffer *out, const char *dir, const struct bl_format *format, int64_t count,
                         int64_t shards, int64_t first)
{
    char a[32], b[BL_PLURAL_SIZE], name[BL_SHARD_NAME_MAX];
    bl_buffer_printf(out, "%s: %s of %s %s missing or damaged, the first is %s (bload status %s shows more)", dir,
                     bl_text_count(a, count), bl_text_plural(b, shards, "shard"), count == 1 ? "is" : "are",
                     bl_format_shard_name(format, first, name), dir);
}

void bl_missing_free(struct bl_missing *l)
{
    free(l->row);
    free(l->is_missing);
    *l = (struct bl_missing){0};
}

/* --- finished shards ---------------------------------------------------------------------------------------------- */

/* A shard counts as found if it has the recorded size, and the header that follows from the format. One that is damaged
 * is written again. */
int bl_shard_find(const struct bl_format *format, const char *dir, int64_t shard, struct bl_shard_record *record,
                  bool *found, struct bl_error *e)
{
    char name[BL_SHARD_NAME_MAX], *path = bl_path_join(dir, bl_format_shard_name(format, shard, name));
    struct bl_error why = {0};
    struct bl_shard_reader file = {.fd = -1};
    struct bl_layout layout;
    bool exists = false;
    *found = false;
    *record = (struct bl_shard_record){0};
    int code = path ? bl_shard_record_read(record, format, dir, shard, &exists, e) : bl_error_memory(e);
    if (code || !exists)
        goto out;
    if (access(path, F_OK) != 0) {
        code = errno == ENOENT ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
        goto out;
    }
    code = bl_shard_reader_open(&file, path, format->compressed, &why);
    if (!code)
        code = bl_shard_reader_layout(&file, format, record->shard, &layout, &why);
    if (!code) {
        if (file.bytes == record->bytes && file.size == layout.file_size)
            code = bl_shard_reader_compare_header(&file, &layout, found, &why);
        bl_layout_free(&layout);
    }
    bl_shard_reader_close(&file);
    code = code == BL_EDATA ? BL_OK : bl_error_pass(e, code, &why);
out:
    if (!*found)
        bl_shard_record_free(record);
    free(path);
    return code;
}
