#include "base/lines.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/utf8.h"

#define LINES_CHUNK ((size_t)1 << 20)
#define LINES_SLACK 8 /* bytes after the buffer that may be read */

int bl_lines_open(struct bl_lines *lines, const char *path, struct bl_error *e)
{
    *lines = (struct bl_lines){.fd = -1, .path = path, .mark = '\n'};
    if (strcmp(path, "-") == 0) {
        lines->path = "standard input";
        lines->fd = STDIN_FILENO;
    } else {
        lines->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (lines->fd < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    }
    lines->capacity = BL_LINE_MAX + LINES_CHUNK + 1;
    lines->data = calloc(1, lines->capacity + LINES_SLACK);
    if (!lines->data) {
        bl_lines_close(lines);
        return bl_error_memory(e);
    }
    return BL_OK;
}

/* Moves the unused bytes to the front and reads more after them. */
static int lines_refill(struct bl_lines *lines, struct bl_error *e)
{
    memmove(lines->data, lines->data + lines->at, lines->end - lines->at);
    lines->end -= lines->at;
    lines->at = 0;
    size_t got;
    int code = bl_io_read(lines->fd, lines->data + lines->end, lines->capacity - 1 - lines->end, &got, lines->path, e);
    lines->eof = !code && !got;
    if (!code && got && lines->sum)
        bl_checksum_add(lines->sum, lines->data + lines->end, got);
    lines->end += got;
    lines->read_to += (int64_t)got;
    return code;
}

int bl_lines_open_list(struct bl_lines *lines, const char *path, struct bl_error *e)
{
    int code = bl_lines_open(lines, path, e);
    while (!code && !lines->eof && lines->end <= BL_LINE_MAX)
        code = lines_refill(lines, e);
    const char *other = code ? NULL : bl_utf8_other_mark(lines->data, lines->end);
    if (other)
        code = bl_error_set(e, BL_EFAIL, "%s: %s", lines->path, other);
    if (!code && memchr(lines->data, '\0', lines->end))
        lines->mark = '\0';
    if (!code && lines->end >= 3 && memcmp(lines->data, "\xef\xbb\xbf", 3) == 0)
        lines->at = 3;
    if (code)
        bl_lines_close(lines);
    return code;
}

int bl_lines_next(struct bl_lines *lines, char **line, size_t *size, bool *ended, struct bl_error *e)
{
    char *newline = NULL;
    size_t searched = 0;
    *line = NULL;
    for (;;) {
        size_t have = lines->end - lines->at;
        if (have > searched)
            newline = memchr(lines->data + lines->at + searched, lines->mark, have - searched);
        if (newline || lines->eof || have > BL_LINE_MAX)
            break;
        searched = have;
        int code = lines_refill(lines, e);
        if (code)
            return code;
    }
    if (!newline && lines->at == lines->end)
        return BL_OK;
    char *begin = lines->data + lines->at;
    *size = newline ? (size_t)(newline - begin) : lines->end - lines->at;
    if (*size > BL_LINE_MAX)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": line is longer than %d bytes", lines->path, lines->number + 1,
                            BL_LINE_MAX);
    *ended = newline != NULL;
    lines->offset = lines->read_to - (int64_t)(lines->end - lines->at);
    lines->number++;
    lines->at += *size + (newline != NULL);
    begin[*size] = '\0';
    *line = begin;
    return BL_OK;
}

size_t bl_lines_ahead(const struct bl_lines *lines, const char **text)
{
    *text = lines->data + lines->at;
    return lines->end - lines->at;
}

void bl_lines_skip(struct bl_lines *lines, size_t bytes, int64_t count)
{
    lines->at += bytes;
    lines->number += count;
}

static int list_append_lines(struct bl_lines *lines, struct bl_buffer *out, struct bl_error *e)
{
    char *line;
    size_t size;
    bool ended;
    int code;
    while (!(code = bl_lines_next(lines, &line, &size, &ended, e)) && line) {
        if (strlen(line) != size)
            return bl_error_set(e, BL_EFAIL, "%s: a zero byte: not a list of ids", lines->path);
        if (size && line[size - 1] == '\r')
            line[--size] = '\0';
        if (size)
            bl_buffer_append(out, line, size + 1);
    }
    return code ? code : bl_buffer_check(out, e);
}

int bl_lines_append_list(const char *path, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_lines lines;
    int code = bl_io_check_path(path, e);
    if (!code)
        code = bl_lines_open_list(&lines, path, e);
    if (code)
        return code;
    code = list_append_lines(&lines, out, e);
    bl_lines_close(&lines);
    return code;
}

void bl_lines_close(struct bl_lines *lines)
{
    if (lines->fd >= 0 && lines->fd != STDIN_FILENO)
        close(lines->fd);
    free(lines->data);
    *lines = (struct bl_lines){.fd = -1};
}
