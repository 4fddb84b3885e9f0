#include "scan/compare.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/text.h"
#include "kind/input_stat.h"
#include "run/pipeline.h"
#include "store/row_reader.h"

#define ROWS 64 /* of a job */

static int compare_fail(const char *path, const char *what, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "%s %s", path, what);
}

/* --- names ------------------------------------------------------------------------------------------------------ */

/* Whether the row is from a line of a list; a folder may have the name of one. Lists are not compared: their checksums
 * are part of the configuration. */
static bool row_is_of_list(const struct bl_kind *kind, const struct bl_row *row)
{
    return kind->scan->is_list && (*row->start || row->is_clip ||
                                   (kind->scan->is_list(row->path) && !(kind->scan->stat_folder && row->content)));
}

static void names_skip_lists(const struct bl_files *files, size_t *next)
{
    while (*next < files->count && bl_file_is_list(&files->file[*next], files->kind))
        ++*next;
}

/* The row's file must be the next one that is not a list. */
static int name_compare(const struct bl_files *files, size_t *next, const struct bl_row *row, struct bl_error *e)
{
    names_skip_lists(files, next);
    if (row_is_of_list(files->kind, row))
        return BL_OK;
    if (*next && strcmp(files->file[*next - 1].path, row->path) == 0)
        return BL_OK; /* another row of the same file */
    if (*next == files->count || bl_text_natural(files->file[*next].path, row->path) > 0)
        return compare_fail(row->path, "is gone", e);
    const struct bl_file *file = &files->file[(*next)++];
    return strcmp(file->path, row->path) == 0 ? BL_OK : compare_fail(file->path, "is new", e);
}

static int names_compare(const struct bl_compare *c, struct bl_error *e)
{
    struct bl_row_reader text = {0};
    size_t next = 0;
    int code = BL_OK;
    for (size_t i = 0; i < c->table->count && !code; i++) {
        code = bl_row_reader_read(c->table, i, &text, e);
        if (!code)
            code = name_compare(c->files, &next, &text.row, e);
    }
    names_skip_lists(c->files, &next);
    if (code)
        goto out;
    if (next < c->files->count)
        code = compare_fail(c->files->file[next].path, "is new", e);
out:
    bl_row_reader_free(&text);
    return code;
}

/* --- files ------------------------------------------------------------------------------------------------------ */

/* Some rows of the table. */
struct job {
    size_t begin, end;
};

struct comparing {
    const struct bl_compare *compare;
    size_t next;
};

/* A file must have its size and content. One that was unusable has no size: it must not have become usable. Of a file
 * with many documents only the size is compared; the content of each is compared when it is read. */
static int file_compare(const struct bl_compare *c, const struct bl_row *row, struct bl_error *e)
{
    const struct bl_kind *kind = c->kind;
    struct bl_input input = {.path = bl_path_join(c->base, row->path)};
    const char *unusable = NULL;
    if (!input.path)
        return bl_error_memory(e);
    int code =
        kind->spool ? bl_input_stat(kind, &input, &unusable, e) : bl_input_stat_content(kind, &input, &unusable, e);
    free((char *)input.path);
    if (code)
        return code;
    bool other = !kind->spool && row->content && input.content != row->content;
    if (unusable && (row->bytes > 0 || other))
        return compare_fail(row->path, "is gone", e);
    if (row->bytes >= 0 && input.bytes != row->bytes)
        return compare_fail(row->path, "has a different size", e);
    return other ? compare_fail(row->path, "has different content", e) : BL_OK;
}

static int compare_produce(void *context, void **out, struct bl_error *e)
{
    struct comparing *c = context;
    size_t left = c->compare->table->count - c->next;
    if (!left)
        return BL_OK;
    struct job *job = malloc(sizeof *job);
    if (!job)
        return bl_error_memory(e);
    *job = (struct job){c->next, c->next + (left < ROWS ? left : ROWS)};
    c->next = job->end;
    *out = job;
    return BL_OK;
}

/* Rows of one file are neighbours: it is checked once. */
static int compare_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    const struct bl_compare *c = ((struct comparing *)context)->compare;
    const struct job *job = job_;
    struct bl_row_reader text = {0};
    struct bl_buffer before = {0};
    int code = BL_OK;
    (void)worker;
    for (size_t i = job->begin - (job->begin > 0); i < job->end && !code; i++) {
        const struct bl_row *row = &text.row;
        code = bl_cancelled(c->cancel) ? BL_ECANCEL : bl_row_reader_read(c->table, i, &text, e);
        if (code)
            break;
        bool checked = i >= job->begin && strcmp(row->path, "-") != 0 && (c->files || row->status == BL_ROW_OK);
        if (checked && !(before.size && strcmp(before.data, row->path) == 0))
            code = file_compare(c, row, e);
        if (checked && !code && c->kind->scan->verify)
            code = c->kind->scan->verify(c->config, row, e);
        if (code)
            break;
        bl_buffer_clear(&before);
        bl_buffer_text(&before, row->path);
        code = bl_buffer_check(&before, e);
    }
    bl_row_reader_free(&text);
    bl_buffer_free(&before);
    return code;
}

static void compare_discard(void *context, void *job)
{
    (void)context;
    free(job);
}

static int compare_consume(void *context, void *job, struct bl_error *e)
{
    (void)e;
    compare_discard(context, job);
    return BL_OK;
}

int bl_compare_run(const struct bl_compare *compare, struct bl_error *e)
{
    static const struct bl_stages stages = {
        .produce = compare_produce, .work = compare_work, .consume = compare_consume, .discard = compare_discard};
    struct comparing c = {.compare = compare};
    int code = compare->files ? names_compare(compare, e) : BL_OK;
    if (code)
        return code;
    return bl_pipeline_run(&stages, &c, compare->workers, 4 * compare->workers, compare->cancel, e);
}
