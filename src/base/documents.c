#include "base/documents.h"

#include <stdlib.h>
#include <string.h>

#include "base/input_file.h"
#include "base/instream.h"
#include "base/io.h"
#include "base/archive.h"
#include "base/utf8.h"

#define CHUNK ((size_t)1 << 20)

struct bl_documents {
    struct bl_instream *stream;
    struct bl_division_rule rule;
    int64_t end, max;
    char *data; /* [capacity + 1] */
    size_t capacity, at, filled;
    int64_t base; /* offset of data[0] in the file */
    bool eof;
    struct bl_error damage;         /* what reading ended with; its code is 0 if there is none */
    const struct bl_cancel *cancel; /* or NULL */
};

/* Moves the unused bytes to the front and reads more after them. */
static int documents_refill(struct bl_documents *d, struct bl_error *e)
{
    memmove(d->data, d->data + d->at, d->filled - d->at);
    d->base += (int64_t)d->at;
    d->filled -= d->at;
    d->at = 0;
    if (d->capacity - d->filled < CHUNK) {
        size_t capacity = d->capacity * 2;
        char *data = realloc(d->data, capacity + 1);
        if (!data)
            return bl_error_memory(e);
        d->data = data;
        d->capacity = capacity;
    }
    size_t got;
    int code = bl_instream_read(d->stream, d->data + d->filled, CHUNK, &got, &d->damage);
    if (code && code != BL_EDATA)
        return d->damage.code ? bl_error_set(e, code, "%s", d->damage.text) : code;
    d->filled += got;
    d->eof = code || !got;
    bool begins = d->base == 0 && d->filled == got; /* a file that begins as an archive is no text */
    const char *other = begins ? bl_archive_detect(d->data, got) : NULL;
    if (begins && !other)
        other = bl_utf8_other_mark(d->data, got);
    return other ? bl_error_set(e, BL_EDATA, "%s", other) : BL_OK;
}

static int documents_report_damage(const struct bl_documents *d, struct bl_error *e)
{
    return bl_error_set(e, d->damage.code, "%s", d->damage.text);
}

/* --- the start of a part of a file ------------------------------------------------------------------------------ */

/* Returns the size of the blank line at `at`, 0 if the line is not blank, and -1 if only more bytes can tell. */
static int documents_blank_line(const struct bl_documents *d, size_t at)
{
    size_t have = d->filled - at;
    if (have >= 1 && d->data[at] == '\n')
        return 1;
    if (have >= 2 && d->data[at] == '\r')
        return d->data[at + 1] == '\n' ? 2 : 0;
    return (have == 0 || d->data[at] == '\r') && !d->eof ? -1 : 0;
}

static int documents_skip_blank_lines(struct bl_documents *d, struct bl_error *e)
{
    int code = BL_OK, blank;
    while (!code && (blank = documents_blank_line(d, d->at))) {
        if (blank > 0)
            d->at += (size_t)blank;
        else
            code = documents_refill(d, e);
    }
    return code;
}

/* Moves past the first \n at or after the byte before the part. */
static int documents_skip_to_line(struct bl_documents *d, struct bl_error *e)
{
    int code = BL_OK;
    while (!code) {
        char *newline = memchr(d->data + d->at, '\n', d->filled - d->at);
        d->at = newline ? (size_t)(newline - d->data) + 1 : d->filled;
        if (newline || d->eof || bl_documents_offset(d) >= d->end)
            break;
        code = documents_refill(d, e);
    }
    return code;
}

/* Moves past the first blank lines that end in the part. */
static int documents_skip_to_paragraph(struct bl_documents *d, int64_t begin, struct bl_error *e)
{
    int code = d->base ? documents_skip_to_line(d, e) : BL_OK;
    while (!code && bl_documents_offset(d) < d->end) {
        int64_t line = bl_documents_offset(d);
        code = documents_skip_blank_lines(d, e);
        bool after = bl_documents_offset(d) > line && bl_documents_offset(d) >= begin;
        if (code || after || (d->at == d->filled && d->eof))
            break;
        code = documents_skip_to_line(d, e);
    }
    return code;
}

/* Moves past the first separator that ends in the part. */
static int documents_skip_to_separator(struct bl_documents *d, int64_t begin, struct bl_error *e)
{
    size_t size = d->rule.separator_size;
    int code = BL_OK;
    while (!code) {
        char *found = memmem(d->data + d->at, d->filled - d->at, d->rule.separator, size);
        if (found) {
            d->at = (size_t)(found - d->data) + size;
            if (bl_documents_offset(d) >= begin)
                break;
        } else if (d->eof || d->base + (int64_t)d->filled >= d->end) {
            d->at = d->filled;
            break;
        } else {
            d->at = d->filled - d->at < size ? d->at : d->filled - size + 1;
            code = documents_refill(d, e);
        }
    }
    return code;
}

/* Moves *at back to where the text before it does not matter: no separator that begins earlier ends after it.
 * Separators may overlap, as in a row of dashes; then the ones found from the left count. */
static int documents_find_independent(const struct bl_documents *d, const struct bl_input_file *file, const char *path,
                                      int64_t *at, struct bl_error *e)
{
    int64_t size = (int64_t)d->rule.separator_size, low = INT64_MAX;
    for (;;) {
        int64_t from = *at - size + 1 > 0 ? *at - size + 1 : 0;
        if (from < low) {
            low = *at > (int64_t)CHUNK ? *at - (int64_t)CHUNK : 0;
            low = from < low ? from : low;
            if (d->cancel && bl_cancelled(d->cancel))
                return BL_ECANCEL;
            int code = bl_io_pread(file->fd, d->data, (size_t)(*at - low + size - 1), file->begin + low, path, e);
            if (code)
                return code;
        }
        const char *found =
            memmem(d->data + (from - low), (size_t)(*at - from + size - 1), d->rule.separator, (size_t)size);
        if (!found)
            return BL_OK;
        *at = low + (found - d->data);
    }
}

/* Sets where reading must begin to find the first document of a part. */
static int documents_find_base(struct bl_documents *d, const char *path, int64_t begin, struct bl_error *e)
{
    static const int64_t before[] = {[BL_DIVISION_LINE] = 1, [BL_DIVISION_BLANK_LINE] = 3};
    if (d->rule.by != BL_DIVISION_SEPARATOR) {
        d->base = begin > before[d->rule.by] ? begin - before[d->rule.by] : 0;
        return BL_OK;
    }
    d->base = begin > (int64_t)d->rule.separator_size ? begin - (int64_t)d->rule.separator_size : 0;
    if (!d->base || d->rule.separator_size == 1)
        return BL_OK;
    struct bl_input_file file;
    if (bl_input_file_open(&file, path) != 0)
        return bl_error_errno(e, BL_EFAIL, "cannot open %s", path);
    int code = documents_find_independent(d, &file, path, &d->base, e);
    bl_input_file_close(&file);
    return code;
}

/* Skips to the first document that begins in a part. */
static int documents_skip_to_part(struct bl_documents *d, int64_t begin, struct bl_error *e)
{
    if (d->rule.by == BL_DIVISION_BLANK_LINE)
        return documents_skip_to_paragraph(d, begin, e);
    return d->rule.by == BL_DIVISION_SEPARATOR ? documents_skip_to_separator(d, begin, e)
                                               : documents_skip_to_line(d, e);
}

int bl_documents_open(struct bl_documents **documents, const char *path, const struct bl_division_rule *rule,
                      int64_t begin, int64_t end, int64_t max, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_documents *d = calloc(1, sizeof *d);
    if (!d)
        return bl_error_memory(e);
    d->rule = *rule;
    d->end = end;
    d->max = max;
    d->cancel = cancel;
    d->capacity = 2 * CHUNK;
    d->data = malloc(d->capacity + 1);
    int code = d->data ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    if (begin)
        code = documents_find_base(d, path, begin, e);
    if (code)
        goto out;
    code = bl_instream_open(&d->stream, path, d->base, cancel, e);
    if (!code && begin)
        code = documents_skip_to_part(d, begin, e);
out:
    if (code)
        bl_documents_close(d);
    else
        *documents = d;
    return code;
}

void bl_documents_close(struct bl_documents *d)
{
    if (d->stream)
        bl_instream_close(d->stream);
    free(d->data);
    free(d);
}

int bl_documents_drain(struct bl_documents *d, uint64_t *checksum, struct bl_error *e)
{
    return bl_instream_drain(d->stream, checksum, e);
}

int64_t bl_documents_offset(const struct bl_documents *d)
{
    return d->base + (int64_t)d->at;
}

static bool documents_find_blank_line(const struct bl_documents *d, size_t from, size_t *stop, size_t *next)
{
    for (size_t at = from; at < d->filled;) {
        char *newline = memchr(d->data + at, '\n', d->filled - at);
        if (!newline)
            return false;
        at = (size_t)(newline - d->data) + 1;
        int blank = documents_blank_line(d, at);
        *stop = at - 1;
        *next = at;
        if (blank)
            return blank > 0;
    }
    return false;
}

/* Finds where the document at d->at ends and where the next may begin. The search starts at from. False: the end of the
 * document has not been read yet. */
static bool documents_find_end(const struct bl_documents *d, size_t from, size_t *stop, size_t *next)
{
    const char *found = NULL;
    size_t size = 1;
    if (d->rule.by == BL_DIVISION_BLANK_LINE)
        return documents_find_blank_line(d, from, stop, next);
    if (d->rule.by == BL_DIVISION_LINE) {
        found = memchr(d->data + from, '\n', d->filled - from);
    } else if (d->rule.by == BL_DIVISION_SEPARATOR) {
        size = d->rule.separator_size;
        found = memmem(d->data + from, d->filled - from, d->rule.separator, size);
    }
    if (!found)
        return false;
    *stop = (size_t)(found - d->data);
    *next = *stop + size;
    return true;
}

/* Bytes at the end of searched text that must be kept, since they may begin the mark that ends the document. */
static size_t documents_overlap(const struct bl_documents *d)
{
    return d->rule.by == BL_DIVISION_SEPARATOR    ? d->rule.separator_size - 1
           : d->rule.by == BL_DIVISION_BLANK_LINE ? 2
                                                  : 0;
}

/* Reads until the end of the document at d->at is known. Drops the text of a document that grows too long. */
static int documents_complete(struct bl_documents *d, struct bl_document *document, size_t *stop, size_t *next,
                              struct bl_error *e)
{
    size_t searched = d->at;
    while (!(document->ended = documents_find_end(d, searched, stop, next))) {
        if (d->eof) {
            bool whole = d->rule.by != BL_DIVISION_FILE && bl_instream_is_whole(d->stream);
            if (d->damage.code && !whole)
                return documents_report_damage(d, e);
            *stop = *next = d->filled;
            if (d->rule.by == BL_DIVISION_BLANK_LINE && *stop > d->at && d->data[*stop - 1] == '\n')
                --*stop;
            return BL_OK;
        }
        size_t tail = d->filled - d->at < documents_overlap(d) ? d->filled - d->at : documents_overlap(d);
        if ((int64_t)(d->filled - d->at) > d->max)
            document->too_long = true;
        if (document->too_long)
            d->at = d->filled - tail;
        searched = d->filled - d->at - tail;
        int code = documents_refill(d, e);
        if (code)
            return code;
    }
    return BL_OK;
}

int64_t bl_documents_read(const struct bl_documents *d)
{
    return bl_instream_offset(d->stream);
}

/* Takes the \r of each \r\n out of the text from d->at to stop; the size that is left. A document by lines has one at
 * its end at most. */
static size_t documents_drop_returns(struct bl_documents *d, size_t stop)
{
    char *text = d->data + d->at;
    size_t size = stop - d->at, left = 0;
    bool cut = stop < d->filled && d->data[stop] == '\n';
    if (d->rule.by == BL_DIVISION_LINE)
        return size - (cut && size && text[size - 1] == '\r');
    if (d->rule.by != BL_DIVISION_BLANK_LINE || !memchr(text, '\r', size))
        return size;
    for (size_t i = 0; i < size; i++) {
        bool ends_line = i + 1 < size ? text[i + 1] == '\n' : cut;
        if (text[i] != '\r' || !ends_line)
            text[left++] = text[i];
    }
    return left;
}

int bl_documents_next(struct bl_documents *d, struct bl_document *document, bool *found, struct bl_error *e)
{
    int code = BL_OK;
    *document = (struct bl_document){0};
    *found = false;
    if (d->rule.by == BL_DIVISION_BLANK_LINE)
        code = documents_skip_blank_lines(d, e);
    if (code)
        return code;
    if (d->at == d->filled && !d->eof)
        code = documents_refill(d, e);
    if (!code && d->at == d->filled && d->damage.code)
        return documents_report_damage(d, e);
    if (code || d->at == d->filled || bl_documents_offset(d) >= d->end)
        return code;
    size_t stop = 0, next = 0;
    document->offset = bl_documents_offset(d);
    code = documents_complete(d, document, &stop, &next, e);
    if (code)
        return code;
    document->text = d->data + d->at;
    document->size = documents_drop_returns(d, stop);
    if ((int64_t)document->size > d->max)
        document->too_long = true;
    if (document->too_long)
        document->size = 0;
    d->at = next;
    *found = true;
    return BL_OK;
}
