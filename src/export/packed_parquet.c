#include "export/packed_parquet.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/path.h"
#include "base/regular.h"
#include "store/jansson.h"

#define RECORD "bload.json"
#define METADATA "metadata.json"

enum { JSON_MAX = 1 << 20 };

static int json_read(const char *dir, const char *name, json_t **value, struct bl_error *e)
{
    struct bl_buffer text = {0};
    json_error_t why;
    char *path = bl_path_join(dir, name);
    int code = path ? bl_regular_check(path, e) : bl_error_memory(e);
    if (!code)
        code = bl_io_read_file(path, JSON_MAX, &text, e);
    if (!code && !(*value = json_loadb(text.data ? text.data : "", text.size, 0, &why)))
        code = bl_error_set(e, BL_EDATA, "%s: line %d: %s", path, why.line, why.text);
    bl_buffer_free(&text);
    free(path);
    return code;
}

static int packed_parse(struct bl_packed_parquet *p, const json_t *record, const json_t *metadata, struct bl_error *e)
{
    const char *dataset, *field;
    int code = bl_jansson_get_text(record, "dataset", &dataset, e);
    if (!code)
        code = bl_jansson_get_text(record, "field", &field, e);
    if (!code)
        code = bl_jansson_get_integer(json_array_get(metadata, 0), "pack_size", 1, INT64_MAX, &p->T, e);
    if (code)
        return code;
    p->dataset = strdup(dataset);
    p->field = strdup(field);
    return p->dataset && p->field ? BL_OK : bl_error_memory(e);
}

static int packed_count_files(struct bl_packed_parquet *p, const char *dir, struct bl_error *e)
{
    DIR *folder = opendir(dir);
    if (!folder)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    const struct dirent *entry;
    struct stat status;
    int code = BL_OK;
    while (!code && (errno = 0, entry = readdir(folder))) {
        if (!bl_path_has_suffix(entry->d_name, ".parquet"))
            continue;
        if (fstatat(dirfd(folder), entry->d_name, &status, 0) != 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot stat %s/%s", dir, entry->d_name);
        p->files++;
        p->bytes += code ? 0 : (int64_t)status.st_size;
    }
    if (!code && errno)
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    closedir(folder);
    return code;
}

int bl_packed_parquet_read(struct bl_packed_parquet *p, const char *dir, bool *found, struct bl_error *e)
{
    json_t *record = NULL, *metadata = NULL;
    bool has_metadata = false;
    *p = (struct bl_packed_parquet){0};
    int code = bl_fs_find(dir, RECORD, found, e);
    if (!code)
        code = bl_fs_find(dir, METADATA, &has_metadata, e);
    *found &= has_metadata;
    if (code || !*found)
        return code;
    code = json_read(dir, RECORD, &record, e);
    if (!code)
        code = json_read(dir, METADATA, &metadata, e);
    if (!code && (code = packed_parse(p, record, metadata, e)))
        bl_error_prefix(e, "%s: " RECORD " or " METADATA, dir);
    if (!code)
        code = packed_count_files(p, dir, e);
    json_decref(record);
    json_decref(metadata);
    return code;
}

void bl_packed_parquet_free(struct bl_packed_parquet *p)
{
    free(p->dataset);
    free(p->field);
    *p = (struct bl_packed_parquet){0};
}

int bl_packed_parquet_json(const struct bl_packed_parquet *p, struct bl_buffer *out, struct bl_error *e)
{
    json_t *object = json_object();
    bl_jansson_set(&object, "export", json_string("packed-parquet"));
    bl_jansson_set(&object, "dataset_checksum", bl_jansson_escaped(p->dataset));
    bl_jansson_set(&object, "T", json_integer(p->T));
    bl_jansson_set(&object, "files", json_integer(p->files));
    bl_jansson_set(&object, "file_bytes", json_integer(p->bytes));
    bl_jansson_set(&object, "field", bl_jansson_escaped(p->field));
    bl_jansson_set(&object, "reader", json_string(BL_PACKED_PARQUET_READER));
    return bl_jansson_append(object, out, e);
}
