#include "kind/file_check.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/input_file.h"
#include "kind/content.h"

/* Sets a file's size and time; false: it does not exist. */
static bool file_check_stat(const char *path, int64_t *bytes, int64_t *modified)
{
    struct stat status;
    if (bl_input_file_stat(path, &status) != 0)
        return false;
    *bytes = status.st_size;
    *modified = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    return true;
}

/* The file, of this size and time, must have the row's content. */
static int file_check_content(struct bl_file_check *check, const struct bl_row *row, int64_t bytes, int64_t modified,
                              struct bl_error *e)
{
    uint64_t content;
    if (!row->content)
        return BL_OK;
    if (check->content == row->content && check->bytes == bytes && check->modified == modified &&
        strcmp(check->path.data, row->path) == 0)
        return BL_OK;
    check->content = 0;
    int code = bl_content_hash_file(row->path, &content, e);
    if (code)
        return code;
    if (content != row->content)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: different content", row->path);
    bl_buffer_clear(&check->path);
    bl_buffer_text(&check->path, row->path);
    code = bl_buffer_check(&check->path, e);
    if (code)
        return code;
    check->bytes = bytes;
    check->modified = modified;
    check->content = content;
    return BL_OK;
}

int bl_file_check_read(struct bl_file_check *check, const struct bl_kind *kind, struct bl_reader *reader,
                       const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    const char *path = request->row.path;
    int64_t bytes, modified, bytes_after, modified_after;
    if (kind->spool || kind->scan->stat_folder || !*path)
        return kind->read->piece(reader, request, note, e);
    bool exists = file_check_stat(path, &bytes, &modified);
    int code = kind->read->piece(reader, request, note, e);
    if ((code && code != BL_EDATA) || !exists)
        return code;
    /* A changed file matters more than what was found in it. */
    struct bl_error changed = {0};
    int changed_code, reading_errno = errno; /* by which the caller recognizes a lack of memory */
    if (!file_check_stat(path, &bytes_after, &modified_after) || bytes != bytes_after || modified != modified_after)
        changed_code = bl_error_set(&changed, BL_EFAIL, "%s: changed while it was read", path);
    else
        changed_code = file_check_content(check, &request->row, bytes_after, modified_after, &changed);
    if (changed_code) {
        *e = changed;
        return changed_code;
    }
    errno = reading_errno;
    return code;
}

void bl_file_check_free(struct bl_file_check *check)
{
    bl_buffer_free(&check->path);
    *check = (struct bl_file_check){0};
}
