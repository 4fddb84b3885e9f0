#include "scan/chunks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/text.h"
#include "kind/input_stat.h"

#define FILES_MAX 4096 /* the most files of a chunk */
#define LINES_MAX 64   /* the most lines of a chunk, since each may stand for an hour of audio */
#define TEXT_MAX ((size_t)64 << 10)

/* The same limits for consecutive clips of one file. They are higher, since the worker opens the file once for all
 * clips. */
#define CLIPS_MAX 4096
#define CLIPS_TEXT_MAX ((size_t)1 << 20)

/* The number of chunks into which the remaining bytes are divided, within the limits of the bytes of a chunk: several
 * for each of 64 workers, so that the last chunks do not keep one worker busy for long after the others have ended. */
#define CHUNKS_LEFT 128

#define BYTES_MAX ((int64_t)1 << 60) /* limit of the size of a file, so that a sum of two cannot overflow */

/* --- sizes ------------------------------------------------------------------------------------------------------ */

/* Returns the bytes of a file, or 0 if the file is unusable; its own chunk reports that later. */
static int64_t file_bytes(const struct bl_chunks *s, const struct bl_file *file)
{
    struct bl_error ignored = {0};
    const char *unusable;
    struct bl_input input = {.path = bl_path_join(s->base, file->path), .fault = file->fault};
    int code = input.path ? bl_input_stat(s->kind, &input, &unusable, &ignored) : BL_EFAIL;
    free((char *)input.path);
    if (code || unusable)
        return 0;
    return input.bytes < BYTES_MAX ? input.bytes : BYTES_MAX;
}

/* Adds the sizes of the next files until they are enough for CHUNKS_LEFT chunks of the largest size. */
static void chunks_look_ahead(struct bl_chunks *s)
{
    if (s->ahead < s->next) {
        s->ahead = s->next;
        s->ahead_bytes = 0;
    }
    while (s->ahead < s->files->count && s->ahead_bytes - s->begin < CHUNKS_LEFT * s->kind->scan->chunk_bytes)
        s->ahead_bytes += file_bytes(s, &s->files->file[s->ahead++]);
}

/* Returns the most bytes of the next chunk: a share of the remaining bytes, within the limits of the kind. */
static int64_t chunks_bytes(struct bl_chunks *s)
{
    chunks_look_ahead(s);
    const struct bl_kind_scan *scan = s->kind->scan;
    int64_t bytes = (s->ahead_bytes - s->begin) / CHUNKS_LEFT;
    bytes = bytes > scan->chunk_bytes_least ? bytes : scan->chunk_bytes_least;
    return bytes < scan->chunk_bytes ? bytes : scan->chunk_bytes;
}

/* Advances to the next file. bytes: the size of this one. If it has changed since it was added to ahead_bytes, only the
 * sizes of later chunks change. */
static void chunks_next_file(struct bl_chunks *s, int64_t bytes)
{
    s->ahead_bytes -= bytes < s->ahead_bytes ? bytes : s->ahead_bytes;
    s->next++;
    s->begin = 0;
}

/* --- files ------------------------------------------------------------------------------------------------------ */

static int chunk_add_file(const struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    size_t count = (size_t)out->chunk.inputs;
    BL_TRY(BL_ARRAY_RESERVE(out->input, out->capacity, count + 1, e));
    struct bl_input *input = out->input;
    out->chunk.input = input;
    input[count] = (struct bl_input){.path = bl_path_join(s->base, out->file[count].path),
                                     .name = out->file[count].path,
                                     .id = out->file[count].id,
                                     .fault = out->file[count].fault};
    if (!input[count].path)
        return bl_error_memory(e);
    out->chunk.inputs++;
    return BL_OK;
}

static void chunk_drop_last(struct bl_chunk_files *out)
{
    free((char *)out->input[--out->chunk.inputs].path);
}

/* Adds more files to the chunk while all of them have at most `most` bytes. An unusable file gets its own chunk. */
static int chunk_add_small(struct bl_chunks *s, struct bl_chunk_files *out, int64_t most, struct bl_error *e)
{
    int64_t bytes = out->input[0].bytes;
    int code = BL_OK;
    while (!code && s->next < s->files->count && out->chunk.inputs < FILES_MAX) {
        const char *unusable;
        code = chunk_add_file(s, out, e);
        if (code)
            break;
        struct bl_input *input = &out->input[out->chunk.inputs - 1];
        code = bl_input_stat(s->kind, input, &unusable, e);
        bytes += input->bytes;
        if (code || unusable || bytes > most || strcmp(input->path, "-") == 0) {
            chunk_drop_last(out);
            break;
        }
        chunks_next_file(s, input->bytes);
    }
    return code;
}

/* Makes the chunk the next part of a large file. Returns an error if the file changed since its first part was cut. */
static int chunk_cut(struct bl_chunks *s, struct bl_chunk_files *out, int64_t most, struct bl_error *e)
{
    const struct bl_input *input = out->input;
    if (s->begin && (input->bytes != s->bytes || input->modified != s->modified))
        return bl_input_report_changed(input, e);
    s->bytes = input->bytes;
    s->modified = input->modified;
    out->chunk.begin = s->begin;
    s->begin += most;
    out->is_last = s->begin >= out->input[0].bytes;
    if (out->is_last)
        chunks_next_file(s, input->bytes);
    else
        out->chunk.end = s->begin;
    return BL_OK;
}

static int chunk_fill(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    const struct bl_kind_scan *ops = s->kind->scan;
    const char *unusable;
    bool divisible = false;
    int code = bl_input_stat(s->kind, out->input, &unusable, e);
    if (code)
        return code;
    int64_t most = chunks_bytes(s);
    out->is_checked = !unusable;
    if (out->is_checked && (s->begin || out->input[0].bytes > most) && ops->is_divisible)
        code = ops->is_divisible(s->config, out->input, &divisible, e);
    if (code)
        return code;
    if (divisible)
        return chunk_cut(s, out, most, e);
    if (s->begin)
        return bl_input_report_changed(out->input, e); /* the file was divisible for its first part, so it changed */
    chunks_next_file(s, out->input[0].bytes);
    if (unusable || strcmp(out->input[0].path, "-") == 0)
        return BL_OK;
    return chunk_add_small(s, out, most, e);
}

/* --- lists ------------------------------------------------------------------------------------------------------ */

static void list_close(struct bl_chunks *s)
{
    if (s->lines)
        bl_list_lines_close(s->lines);
    free(s->list_path);
    s->lines = NULL;
    s->list_path = NULL;
}

static int list_open(struct bl_chunks *s, const char *path, struct bl_error *e)
{
    s->list_path = strdup(path); /* the open list keeps the pointer */
    if (!s->list_path)
        return bl_error_memory(e);
    return bl_list_lines_open(&s->lines, s->list_path, &s->files->clips, s->cancel, e);
}

/* Returns whether line begins with the same path as other, whose text is at `text`. */
static bool line_has_path_of(const struct bl_line *line, const struct bl_line *other, const char *text)
{
    const char *tab = line->unusable ? NULL : memchr(line->text, '\t', line->size);
    size_t size = tab ? (size_t)(tab - line->text) + 1 : 0;
    return size && !other->unusable && other->size >= size && memcmp(text, line->text, size) == 0;
}

/* Returns whether the line still fits into the chunk. last: where the last line of the chunk begins in its text. */
static bool chunk_takes_line(const struct bl_chunks *s, const struct bl_chunk_files *out, const struct bl_line *line,
                             size_t last)
{
    int lines = out->chunk.lines;
    if (lines < LINES_MAX && out->text.size < TEXT_MAX)
        return true;
    return bl_list_lines_are_clips(s->lines) && lines < CLIPS_MAX && out->text.size < CLIPS_TEXT_MAX &&
           line_has_path_of(line, &out->line[lines - 1], out->text.data + last);
}

static int chunk_add_line(struct bl_chunk_files *out, const struct bl_line *line, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(out->line, out->line_capacity, (size_t)out->chunk.lines + 1, e));
    out->line[out->chunk.lines] = *line;
    out->line[out->chunk.lines++].text = NULL; /* set later: out->text may still move */
    if (line->size)
        bl_buffer_append(&out->text, line->text, line->size);
    return bl_buffer_check(&out->text, e);
}

/* Reads the lines of the chunk. *ended: the list has no more lines. */
static int chunk_read_lines(struct bl_chunks *s, struct bl_chunk_files *out, bool *ended, struct bl_error *e)
{
    int code = BL_OK;
    *ended = false;
    for (size_t last = 0; !code && !*ended;) {
        struct bl_line line;
        bool found;
        code = bl_list_lines_next(s->lines, &line, &found, e);
        *ended = !code && !found;
        if (code || *ended)
            break;
        if (!chunk_takes_line(s, out, &line, last)) {
            bl_list_lines_put_back(s->lines);
            break;
        }
        last = out->text.size;
        code = chunk_add_line(out, &line, e);
    }
    size_t at = 0;
    for (int i = 0; i < out->chunk.lines; i++) {
        out->line[i].text = out->line[i].size ? out->text.data + at : "";
        at += out->line[i].size;
    }
    out->chunk.line = out->line;
    return code;
}

/* Ends the list after its last line or its first error. code and out->fault: the result of reading it. Invalid data
 * becomes the fault of the chunk, which is reported after the lines before it. */
static int chunk_end_list(struct bl_chunks *s, struct bl_chunk_files *out, bool begins, int code, struct bl_error *e)
{
    struct bl_error *fault = &out->fault;
    if (code && code != BL_EDATA)
        return bl_error_set(e, code, "%s", fault->text);
    if (s->lines) {
        int failed = bl_list_lines_drain(s->lines, &out->chunk.drained, e);
        if (failed)
            return failed;
    }
    int64_t line = s->lines ? bl_list_lines_read(s->lines) : 0;
    if (code && line)
        bl_error_prefix(fault, "after line %" PRId64, line);
    else if (!code && begins && !out->chunk.lines)
        code = bl_error_set(fault, BL_EDATA, "an empty list");
    out->chunk.fault = code ? fault->text : NULL;
    s->next++;
    list_close(s);
    return BL_OK;
}

static int chunk_fill_lines(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    bool begins = !s->lines, ended = false;
    out->is_checked = true;
    out->chunk.list = true;
    int code = begins ? list_open(s, out->input[0].path, &out->fault) : BL_OK;
    if (!code)
        code = chunk_read_lines(s, out, &ended, &out->fault);
    out->chunk.clips = s->lines && bl_list_lines_are_clips(s->lines);
    out->is_last = code || ended;
    return out->is_last ? chunk_end_list(s, out, begins, code, e) : BL_OK;
}

static int chunk_fill_list(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    const char *unusable;
    int code = bl_input_stat(NULL, out->input, &unusable, e);
    if (!code && !unusable)
        return chunk_fill_lines(s, out, e);
    list_close(s);
    s->next++; /* the worker checks the file again and reports why it is unusable */
    return code;
}

/* ---------------------------------------------------------------------------------------------------------------- */

int bl_chunks_next(struct bl_chunks *s, struct bl_chunk_files *out, bool *found, struct bl_error *e)
{
    *out = (struct bl_chunk_files){.chunk = {.end = INT64_MAX, .base = s->base}, .is_last = true};
    *found = s->next < s->files->count;
    if (!*found)
        return BL_OK;
    out->file = &s->files->file[s->next];
    int code = chunk_add_file(s, out, e);
    if (!code && bl_file_is_list(out->file, s->kind))
        code = chunk_fill_list(s, out, e);
    else if (!code && s->kind->scan->chunk_bytes)
        code = chunk_fill(s, out, e);
    else
        s->next++; /* the worker checks the file, since this takes long on some file systems */
    return code;
}

void bl_chunk_files_free(struct bl_chunk_files *files)
{
    while (files->chunk.inputs)
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
