#include "kind/file_check.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "kind/content.h"

/* A file's size and time; false when it is not there. */
static bool file_check_stat(const char *path, int64_t *bytes, int64_t *modified)
{
    struct stat status;
    bool there = stat(path, &status) == 0;
    *bytes = there ? status.st_size : -1;
    *modified = there ? (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec : 0;
    return there;
}

/* The file, of this size and time, must hold what the row says. */
static int file_check_content(struct bl_file_check *check, const struct bl_row *row, int64_t bytes, int64_t modified,
                              struct bl_error *e)
{
    uint64_t content;
    if (!row->content || (check->content == row->content && check->bytes == bytes && check->modified == modified &&
                          strcmp(check->path.data, row->path) == 0))
        return BL_OK;
    check->content = 0;
    int code = bl_content_hash_file(row->path, &content, e);
    if (code)
        return code;
    if (content != row->content)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: it holds other bytes", row->path);
    bl_buffer_clear(&check->path);
    bl_buffer_text(&check->path, row->path);
    code = bl_buffer_check(&check->path, e);
    check->bytes = bytes;
    check->modified = modified;
    check->content = code ? 0 : content;
    return code;
}

int bl_file_check_read(struct bl_file_check *check, const struct bl_kind *kind, struct bl_reader *reader,
                       const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    const char *path = request->row.path;
    int64_t bytes[2], modified[2];
    if (kind->spool || kind->scan->stat_folder || !*path)
        return kind->read->piece(reader, request, note, e);
    bool there = file_check_stat(path, &bytes[0], &modified[0]);
    int code = kind->read->piece(reader, request, note, e);
    if ((code && code != BL_EDATA) || !there)
        return code;
    /* What was found out about another file than that of the scan is of no account. */
    struct bl_error changed = {0};
    int after = BL_OK, told = errno; /* by which memory that lacked is known */
    if (!file_check_stat(path, &bytes[1], &modified[1]) || bytes[0] != bytes[1] || modified[0] != modified[1])
        after = bl_error_set(&changed, BL_EFAIL, "%s: changed while it was read", path);
    else
        after = file_check_content(check, &request->row, bytes[1], modified[1], &changed);
    if (after)
        *e = changed;
    else
        errno = told;
    return after ? after : code;
}

void bl_file_check_free(struct bl_file_check *check)
{
    bl_buffer_free(&check->path);
    *check = (struct bl_file_check){0};
}
