#include "store/shard_finder.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"
#include "store/layout.h"
#include "store/shard_reader.h"

/* Whether the file has the recorded size and the header that follows from the format. */
static int shard_compare_file(const struct bl_shard_record *record, const struct bl_format *format, const char *path,
                              bool *same, struct bl_error *e)
{
    struct bl_layout layout;
    struct bl_shard_reader file;
    int code = bl_shard_reader_open(&file, path, format->compressed, e);
    if (code)
        return code;
    code = bl_shard_reader_layout(&file, format, record->shard, &layout, e);
    if (code)
        goto out;
    if (file.bytes == record->bytes && file.size == layout.file_size)
        code = bl_shard_reader_compare_header(&file, &layout, same, e);
    bl_layout_free(&layout);
out:
    bl_shard_reader_close(&file);
    return code;
}

int bl_shard_find(const struct bl_format *format, const char *dir, int64_t shard, struct bl_shard_record *record,
                  bool *found, struct bl_error *e)
{
    char name[BL_SHARD_NAME_MAX];
    struct bl_error why = {0};
    bool exists = false;
    *found = false;
    *record = (struct bl_shard_record){0};
    char *path = bl_path_join(dir, bl_format_shard_name(format, shard, name));
    int code = path ? bl_shard_record_read(record, format, dir, shard, &exists, e) : bl_error_memory(e);
    if (code || !exists)
        goto out;
    if (access(path, F_OK) == 0) {
        code = shard_compare_file(record, format, path, found, &why);
        if (code == BL_EDATA) /* damaged: it will be written again */
            code = BL_OK;
        else if (code)
            bl_error_set(e, code, "%s", why.text);
    } else if (errno != ENOENT) {
        code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    }
    if (!*found)
        bl_shard_record_free(record);
out:
    free(path);
    return code;
}
