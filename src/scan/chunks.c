#include "scan/chunks.h"

#include "base/path.h"
#include "kind/input_stat.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX 4096 /* in a stretch */
#define LINES_MAX 64   /* of a list: each may stand for an hour of sound */
#define TEXT_MAX ((size_t)64 << 10)

/* Takes one more file into the stretch. */
static int chunk_add_file(const struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    size_t count = (size_t)out->stretch.inputs;
    struct bl_input *input = realloc(out->input, (count + 1) * sizeof *input);
    if (!input)
        return bl_error_memory(e);
    out->stretch.input = out->input = input;
    input[count] = (struct bl_input){
        .path = bl_path_join(s->base, out->file[count].path), .name = out->file[count].path, .id = out->file[count].id};
    if (!input[count].path)
        return bl_error_memory(e);
    out->stretch.inputs++;
    return BL_OK;
}

static void chunk_drop_last(struct bl_chunk_files *out)
{
    free((char *)out->input[--out->stretch.inputs].path);
}

/* Further files, as long as all of them are small enough together. One that cannot be read stands alone. */
static int chunk_add_small(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    int64_t bytes = out->input[0].bytes;
    int code = BL_OK;
    while (!code && s->next < s->files->count && out->stretch.inputs < FILES_MAX) {
        const char *unusable;
        code = chunk_add_file(s, out, e);
        if (code)
            break;
        struct bl_input *input = &out->input[out->stretch.inputs - 1];
        code = bl_input_stat(s->kind, input, &unusable, e);
        bytes += input->bytes;
        if (code || unusable || bytes > s->kind->scan->chunk_bytes || strcmp(input->path, "-") == 0) {
            chunk_drop_last(out);
            break;
        }
        s->next++;
    }
    return code;
}

/* The part of a large file that comes next, which must be that of the parts before it. */
static int chunk_cut(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    const struct bl_input *input = out->input;
    if (s->begin && (input->bytes != s->bytes || input->modified != s->modified))
        return bl_input_report_changed(input, e);
    s->bytes = input->bytes;
    s->modified = input->modified;
    out->stretch.begin = s->begin;
    s->begin += s->kind->scan->chunk_bytes;
    out->last = s->begin >= out->input[0].bytes;
    if (!out->last) {
        out->stretch.end = s->begin;
        return BL_OK;
    }
    s->next++;
    s->begin = 0;
    return BL_OK;
}

static int chunk_fill(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    const char *unusable;
    bool divisible = false;
    int code = bl_input_stat(s->kind, out->input, &unusable, e);
    out->looked = !code && !unusable;
    if (out->looked && out->input[0].bytes > s->kind->scan->chunk_bytes && s->kind->scan->is_divisible)
        code = s->kind->scan->is_divisible(s->config, out->input, &divisible, e);
    if (code)
        goto out;
    if (divisible)
        return chunk_cut(s, out, e);
    if (s->begin)
        return bl_input_report_changed(out->input, e); /* into one that has no parts */
out:
    s->next++;
    return code || !out->looked || strcmp(out->input[0].path, "-") == 0 ? code : chunk_add_small(s, out, e);
}

/* --- lists ------------------------------------------------------------------------------------------------------ */

static void list_close(struct bl_chunks *s)
{
    if (s->lines)
        bl_documents_close(s->lines);
    free(s->list_path);
    s->lines = NULL;
    s->list_path = NULL;
    s->line = 0;
}

static int list_open(struct bl_chunks *s, const char *path, struct bl_error *e)
{
    static const struct bl_division_rule rule = {.by = BL_DIVISION_LINE};
    s->list_path = strdup(path); /* it must last as long as the lines are read */
    if (!s->list_path)
        return bl_error_memory(e);
    return bl_documents_open(&s->lines, s->list_path, &rule, 0, INT64_MAX, BL_LIST_LINE_MAX, s->cancel, e);
}

static bool line_is_blank(const struct bl_document *line)
{
    for (size_t i = 0; i < line->size; i++) {
        if (!line->text[i] || !strchr(" \t\r", line->text[i]))
            return false;
    }
    return true;
}

/* Takes the next lines in: 1 when there may be more, 0 at the end, or a code. */
static int chunk_read_lines(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    struct bl_document line;
    int got = 1;
    while (out->stretch.lines < LINES_MAX && out->text.size < TEXT_MAX &&
           (got = bl_documents_next(s->lines, &line, e)) > 0) {
        s->line++;
        if (!line.too_long && line_is_blank(&line))
            continue;
        size_t size = line.too_long ? 0 : line.size;
        out->line[out->stretch.lines++] = (struct bl_line){.size = size, .number = s->line, .too_long = line.too_long};
        if (size)
            bl_buffer_append(&out->text, line.text, size);
    }
    const char *text = out->text.data;
    for (int i = 0; i < out->stretch.lines; i++) {
        out->line[i].text = text;
        text += out->line[i].size;
    }
    int code = bl_buffer_check(&out->text, e);
    return code ? code : got;
}

/* The next lines of the list that comes next. What is wrong with it ends it, and is told behind them. */
static int chunk_fill_lines(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    struct bl_error *fault = &out->fault;
    bool begins = !s->lines;
    out->looked = true;
    out->stretch.list = true;
    out->stretch.line = out->line = calloc(LINES_MAX, sizeof *out->line);
    if (!out->line)
        return bl_error_memory(e);
    int got = begins ? list_open(s, out->input[0].path, fault) : BL_OK;
    if (!got)
        got = chunk_read_lines(s, out, fault);
    out->last = got <= 0;
    if (!out->last)
        return BL_OK;
    if (s->lines && got != BL_ECANCEL && got != BL_EFAIL) {
        int code = bl_documents_drain(s->lines, &out->stretch.drained, e);
        if (code)
            return code;
    }
    if (got == BL_EDATA && s->line)
        bl_error_prefix(fault, "behind line %" PRId64, s->line);
    else if (!got && begins && !out->stretch.lines)
        got = bl_error_set(fault, BL_EDATA, "an empty list");
    if (got == BL_EDATA)
        out->stretch.fault = fault->text;
    s->next++;
    list_close(s);
    return got && got != BL_EDATA ? bl_error_set(e, got, "%s", fault->text) : BL_OK;
}

static int chunk_fill_list(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    const char *unusable;
    int code = bl_input_stat(s->kind, out->input, &unusable, e);
    if (code)
        goto out;
    if (!unusable)
        return chunk_fill_lines(s, out, e);
out:
    list_close(s);
    s->next++; /* the worker looks again, and says why */
    return code;
}

/* ---------------------------------------------------------------------------------------------------------------- */

int bl_chunks_next(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    *out = (struct bl_chunk_files){.stretch = {.end = INT64_MAX, .base = s->base}, .last = true};
    if (s->next == s->files->count)
        return 0;
    out->file = &s->files->file[s->next];
    int code = chunk_add_file(s, out, e);
    if (!code && bl_kind_is_list(s->kind, out->file->path))
        code = chunk_fill_list(s, out, e);
    else if (!code && s->kind->scan->chunk_bytes)
        code = chunk_fill(s, out, e);
    else
        s->next++; /* the worker looks at it: there are file systems where that takes long */
    return code ? code : 1;
}

void bl_chunk_files_free(struct bl_chunk_files *files)
{
    while (files->stretch.inputs)
        chunk_drop_last(files);
    free(files->input);
    free(files->line);
    bl_buffer_free(&files->text);
    *files = (struct bl_chunk_files){0};
}

void bl_chunks_close(struct bl_chunks *s)
{
    list_close(s);
}
