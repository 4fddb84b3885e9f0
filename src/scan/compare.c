#include "scan/compare.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "store/rows.h"

static int refuse(const char *path, const char *what, struct bl_error *e)
{
    return bl_error_set(
        e, BL_EFAIL, "the inputs changed since the scan: %s %s (undo that, or choose another directory)", path, what);
}

/* A file must hold what it held. What was not there, or no file, has no size: it must not have become one. Of a file of
 * many documents only the size is compared: what a row tells of is one of them, and reading compares that. */
static int compare_file(const struct bl_kind *kind, const char *name, const char *base, const struct bl_row *row,
                        struct bl_error *e)
{
    if (strcmp(name, "-") == 0)
        return BL_OK;
    struct bl_input input = {.path = bl_input_path(base, name)};
    const char *unusable = NULL;
    if (!input.path)
        return bl_error_memory(e);
    int code = kind->keep ? bl_input_look(kind, &input, &unusable, e) : bl_input_look_into(kind, &input, &unusable, e);
    free((char *)input.path);
    if (code)
        return code;
    bool other = !kind->keep && row->content && input.content != row->content;
    if (unusable && (row->bytes > 0 || other))
        return refuse(name, "is gone", e);
    if (input.bytes != row->bytes)
        return refuse(name, "has another size", e);
    return other ? refuse(name, "has other bytes", e) : BL_OK;
}

/* Whether the row is of a line of a list, for which the list's checksum vouches, which is part of the configuration. */
static bool is_of_list(const struct bl_kind *kind, const struct bl_row *row)
{
    return kind->is_list && (*row->start || kind->is_list(row->path));
}

static void skip_lists(const struct bl_files *files, size_t *next)
{
    while (*next < files->count && bl_kind_is_list(files->kind, files->file[*next].path))
        ++*next;
}

/* The row's file must be the next one of those that are no lists. */
static int compare_row(const struct bl_files *files, size_t *next, const char *base, const struct bl_row *row,
                       struct bl_error *e)
{
    skip_lists(files, next);
    if (is_of_list(files->kind, row))
        return compare_file(files->kind, row->path, base, row, e);
    if (*next && strcmp(files->file[*next - 1].path, row->path) == 0)
        return BL_OK; /* another row of the same file */
    if (*next == files->count || bl_text_natural(files->file[*next].path, row->path) > 0)
        return refuse(row->path, "is gone", e);
    const struct bl_file *file = &files->file[(*next)++];
    if (strcmp(file->path, row->path) != 0)
        return refuse(file->path, "is new", e);
    return compare_file(files->kind, file->path, base, row, e);
}

int bl_scan_compare(const struct bl_files *files, const char *base, const struct bl_kind *kind, const void *config,
                    const struct bl_sequences *table, struct bl_error *e)
{
    struct bl_row_text text = {0};
    size_t next = 0;
    int code = BL_OK;
    for (size_t i = 0; i < table->count && !code; i++) {
        code = bl_sequences_row(table, i, &text, e);
        if (!code)
            code = compare_row(files, &next, base, &text.row, e);
        if (!code && kind->compare)
            code = kind->compare(config, &text.row, e);
    }
    skip_lists(files, &next);
    if (!code && next < files->count)
        code = refuse(files->file[next].path, "is new", e);
    bl_row_text_free(&text);
    return code;
}
