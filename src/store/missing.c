#include "store/missing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/text.h"

/* The size of DIR/name; -1: there is no such file. */
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
        int code = file_size(dir, file->name, &bytes, e);
        if (code)
            return code;
        if (bytes == file->bytes)
            continue;
        char wrong[80] = "is missing";
        if (bytes >= 0)
            snprintf(wrong, sizeof wrong, "has %" PRId64 " bytes, the manifest says %" PRId64, bytes, file->bytes);
        return bl_error_set(e, BL_EDATA, "%s/%s %s: %s", dir, file->name, wrong,
                            strcmp(file->name, BL_SHARDS_FILE) == 0
                                ? "nothing else has the checksums of the shards, so pack into another -o"
                                : "to finish the dataset again, remove " BL_MANIFEST_FILE " and run the same command");
    }
    return BL_OK;
}

/* shards.tsv decides what is made again, so it must be intact. */
static int missing_check_table(const char *dir, const struct bl_manifest *m, struct bl_error *e)
{
    int64_t bytes = 0;
    uint64_t checksum = 0;
    char *path = bl_path_join(dir, BL_SHARDS_FILE);
    int code = path ? bl_checksum_file(path, &bytes, &checksum, e) : bl_error_memory(e);
    const struct bl_manifest_file *listed = bl_manifest_find_file(m, BL_SHARDS_FILE);
    if (!code && !(listed && listed->checksum == checksum))
        code = bl_error_set(e, BL_EDATA, "%s: checksum %016" PRIx64 " differs from the manifest", path, checksum);
    free(path);
    return code;
}

void bl_missing_add(struct bl_missing *l, int64_t shard)
{
    if (l->is_missing[shard])
        return;
    l->is_missing[shard] = 1;
    if (!l->count++ || shard < l->first)
        l->first = shard;
}

int bl_missing_find(struct bl_missing *l, const char *dir, const struct bl_manifest *m, int64_t begin, int64_t end,
                    struct bl_error *e)
{
    *l = (struct bl_missing){0};
    int code = missing_check_table(dir, m, e);
    if (code)
        return code;
    code = bl_shard_table_read(dir, &m->format, &l->row, e);
    if (code)
        return code;
    if (!(l->is_missing = calloc((size_t)bl_format_shards(&m->format), 1)))
        return bl_error_memory(e);
    for (int64_t i = begin; i < end && !code; i++) {
        int64_t bytes;
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
