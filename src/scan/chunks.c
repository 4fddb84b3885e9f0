/* Cuts the inputs of a scan into chunks, one call after the other, on one thread.
 *
 * Kinds of many documents in a file (text, JSON lines) have chunk_bytes: large files are cut, small ones are gathered.
 * For other kinds a file is a chunk, which the worker checks by itself. Lists are read here, and a chunk takes some of
 * their lines. */
#include "scan/chunks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/documents.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/text.h"
#include "kind/input_stat.h"
#include "remote/copies.h"

#define FILES_MAX 4096 /* the most files of a chunk */
#define URLS_MAX 256   /* the most objects of a chunk: they are fetched in the background */
#define LINES_MAX 64   /* the most lines of a chunk, since each may stand for an hour of audio */
#define TEXT_MAX ((size_t)64 << 10)

/* The same limits for consecutive clips of one file. They are higher, since the worker opens the file once for all
 * clips. */
#define CLIPS_MAX 4096
#define CLIPS_TEXT_MAX ((size_t)1 << 20)

/* The number of chunks into which the remaining bytes are divided, within the limits of the bytes of a chunk: several
 * for each of 64 workers, so that the last chunks do not keep one worker busy for long after the others have ended. */
#define CHUNKS_LEFT 128

/* Bytes before a part of a file that show whether a document begins with the part: a separator has at most so many. */
#define BEFORE BL_SEPARATOR_MAX

#define BYTES_MAX ((int64_t)1 << 60) /* limit of the size of a file, so that a sum of two cannot overflow */

/* --- sizes ------------------------------------------------------------------------------------------------------ */

/* Returns the bytes of a file, or 0 if the file is unusable. The chunk of an unusable file reports it later. */
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

/* Returns the most bytes of the next chunk: a share of the remaining bytes, within the limits of the kind. */
static int64_t chunks_bytes(struct bl_chunks *s)
{
    const struct bl_kind_scan *scan = s->kind->scan;
    if (s->ahead < s->next) {
        s->ahead = s->next;
        s->ahead_bytes = 0;
    }
    /* More sizes would not change the result: CHUNKS_LEFT chunks of the largest size are known to follow. */
    while (s->ahead < s->files->count && s->ahead_bytes - s->begin < CHUNKS_LEFT * scan->chunk_bytes)
        s->ahead_bytes += file_bytes(s, &s->files->file[s->ahead++]);
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

/* Appends the next file to the inputs of the chunk. Its path is owned by the chunk. */
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

/* Removes the last input of the chunk. */
static void chunk_drop_last(struct bl_chunk_files *out)
{
    free((char *)out->input[--out->chunk.inputs].path);
}

/* Adds more files to the chunk while all of them have at most `most` bytes. An unusable file gets its own chunk, so
 * that its fault does not keep the worker from the others. */
static int chunk_add_small(struct bl_chunks *s, struct bl_chunk_files *out, int64_t most, struct bl_error *e)
{
    int64_t bytes = out->input[0].bytes;
    int count_max = bl_far_is(out->input[0].path) ? URLS_MAX : FILES_MAX;
    while (s->next < s->files->count && out->chunk.inputs < count_max) {
        const char *unusable;
        BL_TRY(chunk_add_file(s, out, e));
        struct bl_input *input = &out->input[out->chunk.inputs - 1];
        int code = bl_input_stat(s->kind, input, &unusable, e);
        bytes += input->bytes;
        if (code || unusable || bytes > most || strcmp(input->path, "-") == 0) {
            chunk_drop_last(out);
            return code;
        }
        chunks_next_file(s, input->bytes);
    }
    return BL_OK;
}

/* Sets whether a file that is larger than a chunk may be cut. */
static int chunk_is_divisible(const struct bl_chunks *s, const struct bl_input *input, bool *divisible,
                              struct bl_error *e)
{
    bool is_far = bl_far_is(input->path);
    /* An object stays the one whose first part was cut: its tag is compared. A small one is fetched as a whole, and one
     * of these names is compressed or damaged. */
    *divisible = is_far && s->begin;
    bool is_whole = is_far && (input->bytes <= BL_REMOTE_WHOLE || bl_path_has_suffix(input->path, ".gz") ||
                               bl_path_has_suffix(input->path, ".zst"));
    return *divisible || is_whole ? BL_OK : s->kind->scan->is_divisible(s->config, input, divisible, e);
}

/* Makes the chunk a part of a large file, a file, or several small files. */
static int chunk_fill(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    const struct bl_kind_scan *ops = s->kind->scan;
    const char *unusable;
    bool divisible = false;
    BL_TRY(bl_input_stat(s->kind, out->input, &unusable, e));
    const struct bl_input *input = out->input;
    int64_t most = chunks_bytes(s);
    out->is_checked = !unusable;
    if (out->is_checked && (s->begin || input->bytes > most) && ops->is_divisible)
        BL_TRY(chunk_is_divisible(s, input, &divisible, e));
    /* A file that was cut must stay divisible, and as it was when its first part was cut. */
    if (s->begin && (!divisible || input->bytes != s->bytes || input->modified != s->modified))
        return bl_input_report_changed(input, e);
    if (divisible) {
        s->bytes = input->bytes;
        s->modified = input->modified;
        out->chunk.begin = s->begin;
        s->begin += most;
        out->is_last = s->begin >= input->bytes;
        if (out->is_last)
            chunks_next_file(s, input->bytes);
        else
            out->chunk.end = s->begin;
        return BL_OK;
    }
    chunks_next_file(s, input->bytes);
    /* Standard input and unusable files are chunks by themselves. */
    return unusable || strcmp(input->path, "-") == 0 ? BL_OK : chunk_add_small(s, out, most, e);
}

/* --- lists ------------------------------------------------------------------------------------------------------ */

/* Closes the list that is being read, if there is one. */
static void list_close(struct bl_chunks *s)
{
    if (s->lines)
        bl_list_lines_close(s->lines);
    free(s->list_path);
    s->lines = NULL;
    s->list_path = NULL;
}

/* Returns whether the line still fits into the chunk. last: where the last line of the chunk begins in its text. Lines
 * of a list of clips begin with the path and a tab: clips of the same path have the higher limit. */
static bool chunk_takes_line(const struct bl_chunks *s, const struct bl_chunk_files *out, const struct bl_line *line,
                             size_t last)
{
    int lines = out->chunk.lines;
    if (lines < LINES_MAX && out->text.size < TEXT_MAX)
        return true;
    if (!bl_list_lines_are_clips(s->lines) || lines >= CLIPS_MAX || out->text.size >= CLIPS_TEXT_MAX)
        return false;
    const struct bl_line *other = &out->line[lines - 1];
    const char *tab = line->unusable ? NULL : memchr(line->text, '\t', line->size);
    size_t size = tab ? (size_t)(tab - line->text) + 1 : 0;
    return size && !other->unusable && other->size >= size && memcmp(out->text.data + last, line->text, size) == 0;
}

/* Reads the lines of the chunk. *ended: the list has no more lines. After an error the lines before it are valid. */
static int chunk_read_lines(struct bl_chunks *s, struct bl_chunk_files *out, bool *ended, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t last = 0;;) {
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
        code = BL_ARRAY_RESERVE(out->line, out->line_capacity, (size_t)out->chunk.lines + 1, e);
        if (code)
            break;
        out->line[out->chunk.lines++] = line;
        bl_buffer_append(&out->text, line.text, line.size);
        code = bl_buffer_check(&out->text, e);
        if (code)
            break;
    }
    size_t at = 0; /* the texts are set when out->text no longer moves */
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
    if (s->lines)
        BL_TRY(bl_list_lines_drain(s->lines, &out->chunk.drained, e));
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

/* Makes the chunk some lines of a list. The list stays open between the calls. */
static int chunk_fill_list(struct bl_chunks *s, struct bl_chunk_files *out, struct bl_error *e)
{
    const char *unusable;
    int code = bl_input_stat(NULL, out->input, &unusable, e);
    if (code || unusable) {
        list_close(s);
        s->next++; /* the worker checks the file again and reports why it is unusable */
        return code;
    }
    bool begins = !s->lines, ended = false;
    out->is_checked = true;
    out->chunk.list = true;
    if (begins) {
        s->list_path = strdup(out->input[0].path); /* the open list keeps the pointer */
        code = s->list_path ? bl_list_lines_open(&s->lines, s->list_path, &s->files->clips, s->cancel, &out->fault)
                            : bl_error_memory(&out->fault);
    }
    if (!code)
        code = chunk_read_lines(s, out, &ended, &out->fault);
    out->chunk.clips = s->lines && bl_list_lines_are_clips(s->lines);
    out->is_last = code || ended;
    return out->is_last ? chunk_end_list(s, out, begins, code, e) : BL_OK;
}

/* --- chunks ----------------------------------------------------------------------------------------------------- */

/* After an error, the inputs that were added belong to *out, so that the caller frees them. */
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

void bl_chunk_files_announce(struct bl_chunk_files *files, const struct bl_kind_scan *ops, const void *config)
{
    const struct bl_chunk *chunk = &files->chunk;
    files->is_announced = ops->chunk_bytes && !chunk->list;
    for (int i = 0; i < chunk->inputs && files->is_announced; i++)
        files->is_announced = !ops->is_streamed || ops->is_streamed(config, chunk->input[i].path);
    for (int i = 0; i < chunk->inputs && files->is_announced; i++)
        bl_far_announce(chunk->input[i].path, chunk->begin > BEFORE ? chunk->begin - BEFORE : 0, chunk->end);
}

void bl_chunk_files_release(struct bl_chunk_files *files)
{
    for (int i = 0; i < files->chunk.inputs && files->is_announced; i++)
        bl_far_release(files->chunk.input[i].path);
    files->is_announced = false;
}

void bl_chunk_files_free(struct bl_chunk_files *files)
{
    bl_chunk_files_release(files);
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
