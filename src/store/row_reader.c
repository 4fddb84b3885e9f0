/* The rows of sequences.tsv: reading a row back from its file, and writing one.
 *
 * Rows are mostly read in order. So the reader keeps the bytes after the row that was read last, and begins with a
 * small read, in case the next row is elsewhere. */
#include "store/row_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/input_stat.h"

/* --- table -------------------------------------------------------------------------------------------------------- */

void bl_sequences_close_files(struct bl_sequences *t)
{
    for (int f = 0; f < t->files; f++) {
        if (t->file[f].fd >= 0)
            close(t->file[f].fd);
        t->file[f].fd = -1;
    }
}

void bl_sequences_close(struct bl_sequences *t)
{
    bl_sequences_close_files(t);
    for (int f = 0; f < t->files; f++) {
        free(t->file[f].path);
        free(t->file[f].columns.extra);
    }
    free(t->file);
    free(t->length);
    free(t->group);
    free(t->together);
    for (int k = 0; k < BL_SEQUENCES_NUMBERS_MAX; k++)
        free(t->number[k]);
    free(t->offset);
    free(t->repeated);
    free(t->kind);
    free(t->sampling);
    *t = (struct bl_sequences){0};
}

int64_t bl_sequences_dropped(const struct bl_sequences *t)
{
    return t->by_status[BL_ROW_DROPPED] - t->held;
}

int64_t bl_sequences_unusable(const struct bl_sequences *t)
{
    return t->by_status[BL_ROW_SKIPPED] + t->by_status[BL_ROW_FAILED] - t->empty;
}

bool bl_sequences_is_clean(const struct bl_sequences *t)
{
    return !bl_sequences_unusable(t) && !t->damaged;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Bytes of the first read, and the maximum of the reads for consecutive rows. */
#define ROW_READ 512
#define ROWS_READ ((size_t)64 << 10)

/* Parses an integer from -1 to max; "" is -1. */
static bool row_parse_optional(const char *text, int64_t max, int64_t *value)
{
    *value = -1;
    return !*text || bl_text_to_int(text, strlen(text), -1, max, value);
}

/* Sets the numbers of a row. v: the texts of all columns. */
static int row_parse_numbers(struct bl_row *row, const char *const v[BL_COLUMNS_ALL], struct bl_error *e)
{
    int status = bl_row_status_parse(v[BL_COLUMN_STATUS]);
    int64_t stream, begin, end;
    const char *length = v[BL_COLUMN_LENGTH];
    if (status < 0 || !bl_text_to_int(length, strlen(length), 0, INT64_MAX, &row->length) ||
        !row_parse_optional(v[BL_COLUMN_BYTES], INT64_MAX, &row->bytes) ||
        !row_parse_optional(v[BL_COLUMN_STREAM], INT32_MAX, &stream) ||
        !row_parse_optional(v[BL_COLUMN_CLIP_BEGIN], INT64_MAX, &begin) ||
        !row_parse_optional(v[BL_COLUMN_CLIP_END], INT64_MAX, &end) || (end >= 0 && (begin < 0 || begin >= end)))
        return bl_error_set(e, BL_EFAIL, "invalid number in length, bytes, stream, clip_begin or clip_end");
    if (!bl_content_parse(v[BL_COLUMN_CONTENT], &row->content))
        return bl_error_set(e, BL_EFAIL, "\"%s\" in column content is not a checksum (16 hexadecimal digits)",
                            v[BL_COLUMN_CONTENT]);
    row->status = (enum bl_row_status)status;
    row->stream = (int)stream;
    row->is_clip = begin >= 0;
    row->clip_begin = begin > 0 ? begin : 0;
    row->clip_end = end > 0 ? end : 0;
    row->offset = bl_row_offset(row);
    return BL_OK;
}

/* Reads the line of row i into text->line, without its newline, and finds its file. Consecutive rows are read by ever
 * larger reads, since one system call for each row would cost as much as everything else. BL_EFAIL: the file changed
 * after its rows were counted, or cannot be read. */
static int row_find_line(const struct bl_sequences *t, size_t i, const struct bl_sequences_file **out,
                         struct bl_row_reader *text, struct bl_error *e)
{
    const struct bl_sequences_file *file = &t->file[t->files - 1];
    while (file > t->file && file->first > i)
        file--;
    *out = file;
    if (!t->offset || file->fd < 0)
        return bl_error_set(e, BL_EFAIL, "row %zu cannot be read back from %s", i, file->path);
    const int64_t offset = t->offset[i];
    struct bl_buffer *ahead = &text->ahead;
    const char *newline;
    if (text->next != offset || text->fd != file->fd) {
        ahead->size = text->most = 0;
        text->ahead_at = text->next = offset;
        text->fd = file->fd;
    }
    size_t at = (size_t)(offset - text->ahead_at);
    while (!(newline = at < ahead->size ? memchr(ahead->data + at, '\n', ahead->size - at) : NULL)) {
        if (ahead->size - at > BL_LINE_MAX)
            return bl_error_set(e, BL_EFAIL, "%s changed while it was being read", file->path);
        if (at)
            memmove(ahead->data, ahead->data + at, ahead->size - at);
        ahead->size -= at;
        at = 0;
        text->ahead_at = offset;
        text->most = !text->most ? ROW_READ : text->most < ROWS_READ ? 2 * text->most : ROWS_READ;
        if (!bl_buffer_reserve(ahead, text->most))
            return bl_error_memory(e);
        ssize_t n;
        do
            n = pread(file->fd, ahead->data + ahead->size, text->most, offset + (int64_t)ahead->size);
        while (n < 0 && errno == EINTR);
        if (n < 0)
            return bl_error_errno(e, BL_EFAIL, "cannot read %s", file->path);
        if (n == 0)
            return bl_error_set(e, BL_EFAIL, "%s changed while it was being read", file->path);
        ahead->size += (size_t)n;
    }
    size_t size = (size_t)(newline - ahead->data) - at;
    text->next = offset + (int64_t)size + 1;
    if (text->sum)
        bl_checksum_add(text->sum, ahead->data + at, size + 1);
    bl_buffer_clear(&text->line);
    bl_buffer_append(&text->line, ahead->data + at, size);
    return bl_buffer_check(&text->line, e);
}

int bl_row_reader_line(const struct bl_sequences *t, size_t i, struct bl_row_reader *text, struct bl_error *e)
{
    const struct bl_sequences_file *file;
    BL_TRY(row_find_line(t, i, &file, text, e));
    bl_buffer_byte(&text->line, '\n');
    return bl_buffer_check(&text->line, e);
}

int bl_row_reader_read(const struct bl_sequences *t, size_t i, struct bl_row_reader *text, struct bl_error *e)
{
    static const char *const missing[BL_COLUMNS_ALL] = {[BL_COLUMN_LENGTH] = "0", [BL_COLUMN_STATUS] = "ok"};
    const struct bl_sequences_file *file;
    BL_TRY(row_find_line(t, i, &file, text, e));
    const struct bl_columns *columns = text->columns = &file->columns;
    if (bl_columns_split(text->line.data, text->field) != columns->count)
        return bl_error_set(e, BL_EFAIL, "%s changed while it was being read", file->path);
    /* Copied before values are unescaped in place. */
    BL_TRY(*columns->extra ? bl_columns_extra(columns, text->field, &text->extra, e) : BL_OK);
    const char *v[BL_COLUMNS_ALL];
    for (int c = 0; c < BL_COLUMNS_ALL; c++) {
        v[c] = bl_columns_unescape(columns, text->field, (enum bl_column)c, missing[c] ? missing[c] : "");
        if (!v[c])
            return bl_error_set(e, BL_EFAIL, "%s: row %zu: invalid escape in \"%s\" (valid: \\t \\n \\r \\\\ \\xHH)",
                                file->path, i, bl_columns_name((enum bl_column)c));
    }
    text->row = (struct bl_row){.id = v[BL_COLUMN_ID],
                                .kind = v[BL_COLUMN_KIND],
                                .path = v[BL_COLUMN_PATH],
                                .reason = v[BL_COLUMN_REASON],
                                .sampling = v[BL_COLUMN_SAMPLING],
                                .start = v[BL_COLUMN_START],
                                .duration = v[BL_COLUMN_DURATION],
                                .channel = v[BL_COLUMN_CHANNEL],
                                .clip_seek = v[BL_COLUMN_CLIP_SEEK],
                                .extra = *columns->extra ? text->extra.data : NULL,
                                .columns = columns->extra};
    int code = row_parse_numbers(&text->row, v, e);
    if (code)
        bl_error_prefix(e, "%s: row %zu (%s)", file->path, i, text->row.id);
    return code;
}

void bl_row_reader_free(struct bl_row_reader *text)
{
    bl_buffer_free(&text->line);
    bl_buffer_free(&text->extra);
    bl_buffer_free(&text->ahead);
}

const char *bl_row_reader_field(const struct bl_row_reader *text, const char *name)
{
    int known = bl_columns_parse(name);
    int at = known >= 0 ? text->columns->place[known] : -1;
    return at >= 0 ? text->field[at] : NULL;
}

bool bl_row_reader_value(const struct bl_row_reader *text, const char *name, struct bl_buffer *out)
{
    const char *known = bl_row_reader_field(text, name);
    if (known)
        bl_buffer_text(out, known);
    return known || bl_row_get_value(&text->row, name, out);
}

/* Appends a text with escapes, and the tab after it. */
static void row_append_field(struct bl_buffer *out, const char *text)
{
    bl_text_escape(out, text, strlen(text));
    bl_buffer_byte(out, '\t');
}

void bl_row_format(const struct bl_row *row, struct bl_buffer *out)
{
    row_append_field(out, row->id);
    bl_buffer_int(out, row->length);
    bl_buffer_byte(out, '\t');
    row_append_field(out, row->kind);
    row_append_field(out, row->path);
    bl_buffer_int(out, row->bytes);
    bl_buffer_byte(out, '\t');
    row_append_field(out, bl_row_status_name(row->status));
    row_append_field(out, row->reason);
    row_append_field(out, row->sampling);
    if (row->stream >= 0)
        bl_buffer_int(out, row->stream);
    bl_buffer_byte(out, '\t');
    bl_content_format(row->content, out);
    if (row->extra)
        bl_buffer_text(out, row->extra);
    bl_buffer_byte(out, '\n');
}
