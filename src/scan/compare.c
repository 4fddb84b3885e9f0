#include "scan/compare.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

static int refuse(const char *path, const char *what, struct bl_error *e)
{
    return bl_error_set(
        e, BL_EFAIL, "the inputs changed since the scan: %s %s (undo that, or choose another directory)", path, what);
}

/* A file must be as large as it was. What was not there, or no file, has no size: it must not have become one. */
static int compare_file(const struct bl_file *file, const char *base, const struct bl_row *row, struct bl_error *e)
{
    struct stat status = {0};
    if (strcmp(file->path, "-") == 0)
        return BL_OK; /* standard input is read but once */
    char *path = bl_source_open_path(base, file->path);
    if (!path)
        return bl_error_memory(e);
    bool there = stat(path, &status) == 0, failing = !there && bl_errno_is_system(errno);
    if (failing)
        bl_error_errno(e, BL_EFAIL, "cannot look at %s", file->path);
    free(path);
    if (failing)
        return BL_EFAIL;
    if (!there && row->bytes > 0)
        return refuse(file->path, "is gone", e);
    int64_t bytes = S_ISREG(status.st_mode) ? status.st_size : 0;
    return bytes == row->bytes ? BL_OK : refuse(file->path, "has another size", e);
}

/* The row's file must be the next one of the list. */
static int compare_row(const struct bl_files *files, size_t *next, const char *base, const struct bl_row *row,
                       struct bl_error *e)
{
    if (*next && strcmp(files->file[*next - 1].path, row->path) == 0)
        return BL_OK; /* another row of the same file */
    if (*next == files->count || bl_text_natural(files->file[*next].path, row->path) > 0)
        return refuse(row->path, "is gone", e);
    const struct bl_file *file = &files->file[(*next)++];
    if (strcmp(file->path, row->path) != 0)
        return refuse(file->path, "is new", e);
    return compare_file(file, base, row, e);
}

int bl_scan_compare(const struct bl_files *files, const char *base, const struct bl_sequences *table,
                    struct bl_error *e)
{
    struct bl_row_text text = {0};
    size_t next = 0;
    int code = BL_OK;
    for (size_t i = 0; i < table->count && !code; i++) {
        code = bl_sequences_row(table, i, &text, e);
        if (!code)
            code = compare_row(files, &next, base, &text.row, e);
    }
    if (!code && next < files->count)
        code = refuse(files->file[next].path, "is new", e);
    bl_row_text_free(&text);
    return code;
}
