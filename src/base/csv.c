/* Unquoted text is never longer than the quoted text, so each value overwrites itself. By the time a value's end is
 * written, the byte after the value has been read. */
#include "base/csv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/path.h"
#include "base/utf8.h"
#include "base/instream.h"
#include "base/text.h"

#define CHUNK ((size_t)1 << 18)

/* --- the text --------------------------------------------------------------------------------------------------- */

static int csv_load(struct bl_buffer *text, struct bl_instream *stream, struct bl_error *e)
{
    size_t got = 1;
    int code = BL_OK;
    while (!code && got) {
        if (text->size > BL_CSV_MAX)
            return bl_error_set(e, BL_EDATA, "a table of more than %zu GiB", BL_CSV_MAX >> 30);
        if (!bl_buffer_reserve(text, CHUNK))
            return bl_error_memory(e);
        code = bl_instream_read(stream, text->data + text->size, CHUNK, &got, e);
        text->size += got;
    }
    return code;
}

/* Checks that the whole text is UTF-8 without zero bytes. */
static int csv_check_text(const struct bl_buffer *text, struct bl_error *e)
{
    int64_t line = 1;
    for (size_t at = 0; at < text->size;) {
        const char *here = text->data + at;
        size_t size = (unsigned char)*here < 0x80 ? 1 : bl_utf8_length(here, text->size - at);
        if (!*here)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 ": a zero byte: this is not text", line);
        if (!size)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 ": not UTF-8 (byte %zu of the text): save it as UTF-8",
                                line, at);
        line += *here == '\n';
        at += size;
    }
    return BL_OK;
}

int bl_csv_open(struct bl_csv *r, const char *path, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_instream *stream;
    *r = (struct bl_csv){.tsv = bl_path_has_suffix(path, ".tsv") || bl_path_has_suffix(path, ".tsv.gz") ||
                                bl_path_has_suffix(path, ".tsv.zst"),
                         .next_line = 1};
    int code = bl_instream_open(&stream, path, 0, cancel, e);
    if (code)
        return code;
    code = csv_load(&r->text, stream, e);
    bl_instream_close(stream);
    if (code)
        goto out;
    r->text.data[r->text.size] = '\0';
    code = csv_check_text(&r->text, e);
    if (r->text.size >= 3 && memcmp(r->text.data, "\xef\xbb\xbf", 3) == 0)
        r->at = 3;
out:
    if (code)
        bl_csv_close(r);
    return code;
}

void bl_csv_close(struct bl_csv *r)
{
    bl_buffer_free(&r->text);
    free(r->value);
    *r = (struct bl_csv){0};
}

/* --- records ---------------------------------------------------------------------------------------------------- */

static int csv_add_value(struct bl_csv *r, char *value, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(r->value, r->capacity, r->values + 1, e))
        return BL_EFAIL;
    r->value[r->values++] = value;
    return BL_OK;
}

/* Skips a line end at the present position, if there is one. */
static bool csv_skip_line_end(struct bl_csv *r)
{
    const char *text = r->text.data + r->at;
    size_t size = text[0] == '\n' ? 1 : text[0] == '\r' && text[1] == '\n' ? 2 : 0;
    r->at += size;
    r->next_line += size != 0;
    return size != 0;
}

/* Reads a value that begins with a quote, up to its closing quote. */
static int csv_read_quoted(struct bl_csv *r, struct bl_error *e)
{
    char *text = r->text.data, *out = text + r->at;
    int64_t line = r->next_line;
    size_t begin = r->at++;
    int code = csv_add_value(r, out, e);
    for (; !code; r->at++) {
        if (r->at == r->text.size || r->at - begin > BL_CSV_RECORD_MAX)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 ": a value in quotes that does not end within %zu bytes",
                                line, BL_CSV_RECORD_MAX);
        if (text[r->at] == '"' && text[++r->at] != '"')
            break;
        r->next_line += text[r->at] == '\n';
        *out++ = text[r->at];
    }
    const char *after = text + r->at;
    if (code)
        return code;
    if (*after && *after != ',' && *after != '\n' && strncmp(after, "\r\n", 2) != 0)
        return bl_error_set(
            e, BL_EDATA, "line %" PRId64 ": text after the quote that ends a value: double the quotes inside a value",
            r->next_line);
    *out = '\0'; /* overwrites at most the closing quote */
    return BL_OK;
}

static int csv_read_plain(struct bl_csv *r, struct bl_error *e)
{
    char *text = r->text.data + r->at;
    size_t size = strcspn(text, ",\"\r\n");
    if (text[size] == '"')
        return bl_error_set(e, BL_EDATA,
                            "line %" PRId64 ": a quote inside a value: put the value in quotes, and double its own",
                            r->next_line);
    if (text[size] == '\r' && text[size + 1] != '\n')
        return bl_error_set(e, BL_EDATA, "line %" PRId64 ": a carriage return inside a line: put the value in quotes",
                            r->next_line);
    r->at += size;
    return csv_add_value(r, text, e);
}

/* The terminating NUL of a value may overwrite the mark that follows it, so that mark is read first. */
static int csv_read_record(struct bl_csv *r, struct bl_error *e)
{
    for (;;) {
        int code = r->text.data[r->at] == '"' ? csv_read_quoted(r, e) : csv_read_plain(r, e);
        if (code)
            return code;
        char *end = r->text.data + r->at;
        bool more = *end == ',';
        if (more)
            r->at++;
        else
            csv_skip_line_end(r);
        *end = '\0';
        if (!more)
            return BL_OK;
    }
}

static int csv_read_tsv(struct bl_csv *r, struct bl_error *e)
{
    char *text = r->text.data + r->at, *newline = strchr(text, '\n');
    size_t size = newline ? (size_t)(newline - text) : strlen(text);
    char *end = text + size - (size && text[size - 1] == '\r');
    r->at += size + (newline != NULL);
    r->next_line += newline != NULL;
    for (char *at = text; at;) {
        char *tab = memchr(at, '\t', (size_t)(end - at)), *stop = tab ? tab : end;
        int64_t value = bl_text_unescape(at, (size_t)(stop - at));
        if (value < 0 || memchr(at, '\0', (size_t)value))
            return bl_error_set(
                e, BL_EDATA, "line %" PRId64 ": an escape other than \\t \\n \\r \\\\ \\xHH, or a zero byte", r->line);
        at[value] = '\0';
        int code = csv_add_value(r, at, e);
        if (code)
            return code;
        at = tab ? tab + 1 : NULL;
    }
    return BL_OK;
}

int bl_csv_next(struct bl_csv *r, bool *found, struct bl_error *e)
{
    while (csv_skip_line_end(r))
        ;
    r->values = 0;
    r->line = r->next_line;
    *found = r->at < r->text.size;
    if (!*found)
        return BL_OK;
    size_t begin = r->at;
    int code = r->tsv ? csv_read_tsv(r, e) : csv_read_record(r, e);
    if (code)
        return code;
    if (r->at - begin > BL_CSV_RECORD_MAX)
        return bl_error_set(e, BL_EDATA, "line %" PRId64 ": a record of more than %zu bytes", r->line,
                            BL_CSV_RECORD_MAX);
    return BL_OK;
}
