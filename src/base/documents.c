/* Documents of a text file: where each begins and ends, in a part of the file that one worker reads.
 *
 * Files are cut into parts at offsets that follow from their sizes alone, and a document belongs to the part in which
 * it begins. So each worker finds the first document of its part by itself, and every document is read exactly once.
 * Example by lines, for the parts 0..5 and 5..11 of the text "ab\ncdef\ngh\n":
 *
 *     part 0..5    "ab" at 0, "cdef" at 3 (it goes on behind the part's end)
 *     part 5..11   skips to the line after offset 4, and has "gh" at 8
 *
 * Where records begin follows only from all the text before them (JSON arrays, quoted CSV). Their workers share the
 * places that others have found (base/records.h). */
#include "base/documents.h"

#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/input_file.h"
#include "base/instream.h"
#include "base/io.h"
#include "base/json.h"
#include "base/records.h"
#include "base/text.h"

#define CHUNK ((size_t)1 << 20) /* bytes that are read at once */

/* The window of the file in memory: data[at..filled) has been read and not yet returned. refill moves these bytes to
 * the front and reads behind them, and makes the window larger if needed, so that a document always lies in one piece.
 */
struct bl_documents {
    struct bl_instream *stream;
    struct bl_division_rule rule;
    int64_t end, max; /* bytes: the offset where the part ends, and the longest document */
    char *data;       /* [capacity + 1] */
    size_t capacity, at, filled;
    int64_t base; /* offset of data[0] in the file */
    bool eof;
    struct bl_error damage;         /* what reading ended with; its code is 0 if there is none */
    const struct bl_cancel *cancel; /* or NULL */
    /* For records only: */
    struct bl_record_scan record;
    int64_t line;       /* of the next row */
    bool after, closed; /* an element has been read, and nothing behind it; the array has ended */
    bool comma;         /* a comma has been read, and no element behind it */
};

/* Moves the unused bytes to the front and reads more behind them. Damage ends the file here and is kept: the documents
 * before it are whole. BL_EDATA: the file begins as an archive or in another encoding. */
static int documents_refill(struct bl_documents *d, struct bl_error *e)
{
    memmove(d->data, d->data + d->at, d->filled - d->at);
    d->base += (int64_t)d->at;
    d->filled -= d->at;
    d->at = 0;
    if (d->capacity - d->filled < CHUNK) {
        size_t capacity = d->capacity * 2;
        /* A document that fills the window needs a larger one; doubling keeps the number of copies small. */
        char *data = realloc(d->data, capacity + 1);
        if (!data)
            return bl_error_memory(e);
        d->data = data;
        d->capacity = capacity;
    }
    size_t got;
    /* The bytes before the damage arrive together with the error. */
    int code = bl_instream_read(d->stream, d->data + d->filled, CHUNK, &got, &d->damage);
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &d->damage);
    d->filled += got;
    d->eof = code || !got;
    bool begins = d->base == 0 && d->filled == got; /* a file that begins as an archive is no text */
    const char *other = begins ? bl_archive_detect(d->data, got) : NULL;
    if (begins && !other)
        other = bl_utf8_other_mark(d->data, got);
    return other ? bl_error_set(e, BL_EDATA, "%s", other) : BL_OK;
}

/* Reports the damage with which reading the file ended. */
static int documents_report_damage(const struct bl_documents *d, struct bl_error *e)
{
    return bl_error_pass(e, d->damage.code, &d->damage);
}

/* --- the start of a part of a file ------------------------------------------------------------------------------ */

/* Returns the size of the blank line at `at`, 0 if the line is not blank, and -1 if more bytes are needed to decide. */
static int documents_blank_line(const struct bl_documents *d, size_t at)
{
    size_t have = d->filled - at;
    if (have >= 1 && d->data[at] == '\n')
        return 1;
    /* A lone \r at the end of the window may be the first half of a line end. */
    if (have >= 2 && d->data[at] == '\r')
        return d->data[at + 1] == '\n' ? 2 : 0;
    return (have == 0 || d->data[at] == '\r') && !d->eof ? -1 : 0;
}

/* Moves behind the blank lines at the present place. */
static int documents_skip_blank_lines(struct bl_documents *d, struct bl_error *e)
{
    for (int blank; (blank = documents_blank_line(d, d->at));) {
        if (blank > 0)
            d->at += (size_t)blank;
        else
            BL_TRY(documents_refill(d, e));
    }
    return BL_OK;
}

/* Moves behind the next \n. Reading begins with the byte before the part: if that is a \n, a line begins with the part.
 */
static int documents_skip_to_line(struct bl_documents *d, struct bl_error *e)
{
    for (;;) {
        /* The window is dropped where it contains no line end. */
        char *newline = memchr(d->data + d->at, '\n', d->filled - d->at);
        d->at = newline ? (size_t)(newline - d->data) + 1 : d->filled;
        if (newline || d->eof || bl_documents_offset(d) >= d->end)
            return BL_OK;
        BL_TRY(documents_refill(d, e));
    }
}

/* Moves behind the first blank lines that end in the part: a document that begins behind them belongs to the part. */
static int documents_skip_to_paragraph(struct bl_documents *d, int64_t begin, struct bl_error *e)
{
    if (d->base)
        BL_TRY(documents_skip_to_line(d, e));
    while (bl_documents_offset(d) < d->end) {
        int64_t line = bl_documents_offset(d);
        BL_TRY(documents_skip_blank_lines(d, e));
        bool after = bl_documents_offset(d) > line && bl_documents_offset(d) >= begin;
        if (after || (d->at == d->filled && d->eof))
            break;
        BL_TRY(documents_skip_to_line(d, e));
    }
    return BL_OK;
}

/* Moves behind the first separator that ends in the part. */
static int documents_skip_to_separator(struct bl_documents *d, int64_t begin, struct bl_error *e)
{
    size_t size = d->rule.separator_size;
    for (;;) {
        char *found = memmem(d->data + d->at, d->filled - d->at, d->rule.separator, size);
        if (found) {
            d->at = (size_t)(found - d->data) + size;
            if (bl_documents_offset(d) >= begin)
                return BL_OK;
        } else if (d->eof || d->base + (int64_t)d->filled >= d->end) {
            d->at = d->filled;
            return BL_OK;
        } else { /* the last size - 1 bytes may begin a separator */
            d->at = d->filled - d->at < size ? d->at : d->filled - size + 1;
            BL_TRY(documents_refill(d, e));
        }
    }
}

/* Moves *at back to a place where the text before it does not matter: no separator that begins earlier ends after it.
 * Separators may overlap: "-----" contains "---" at three places, and the one that counts is found from the left. The
 * loop looks for a separator that *at would cut, and goes to its beginning until there is none. */
static int documents_find_independent(const struct bl_documents *d, const struct bl_input_file *file, const char *path,
                                      int64_t *at, struct bl_error *e)
{
    int64_t size = (int64_t)d->rule.separator_size, low = INT64_MAX;
    for (;;) {
        int64_t from = *at - size + 1 > 0 ? *at - size + 1 : 0;
        /* The window is read backwards, a chunk at a time, with size - 1 bytes of overlap. */
        if (from < low) {
            low = *at > (int64_t)CHUNK ? *at - (int64_t)CHUNK : 0;
            low = from < low ? from : low;
            if (d->cancel && bl_cancelled(d->cancel))
                return BL_ECANCEL;
            BL_TRY(bl_input_file_get(file, d->data, (size_t)(*at - low + size - 1), low, path, e));
        }
        const char *found =
            memmem(d->data + (from - low), (size_t)(*at - from + size - 1), d->rule.separator, (size_t)size);
        if (!found)
            return BL_OK;
        *at = low + (found - d->data);
    }
}

/* Sets d->base, where reading must begin to find the first document of a part. By lines, the byte before the part shows
 * whether a line begins there. By blank lines, three bytes show it, which have room for \n\r\n. By a separator, as many
 * bytes as it has. */
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
    if (bl_input_file_open_whole(&file, path) != 0)
        return bl_opener_fail("cannot open", path, BL_EFAIL, e);
    int code = documents_find_independent(d, &file, path, &d->base, e);
    bl_input_file_close(&file);
    return code;
}

/* --- records ---------------------------------------------------------------------------------------------------- */

/* Returns whether documents are records, whose beginnings follow from all the text before them. */
static bool rule_is_record(const struct bl_division_rule *rule)
{
    return rule->by == BL_DIVISION_JSON || rule->by == BL_DIVISION_ROW;
}

/* Reads until `bytes` bytes are available, or the file ends. */
static int documents_fill(struct bl_documents *d, size_t bytes, struct bl_error *e)
{
    while (!d->eof && d->filled - d->at < bytes)
        BL_TRY(documents_refill(d, e));
    return BL_OK;
}

/* Sets *byte to the next byte that is no white space, which stays unread; -1 at the end of the file. */
static int documents_peek(struct bl_documents *d, int *byte, struct bl_error *e)
{
    for (;;) {
        /* strchr would find the NUL of the set, too. */
        while (d->at < d->filled && strchr(" \t\r\n", d->data[d->at]) && d->data[d->at])
            d->at++;
        *byte = d->at < d->filled ? (unsigned char)d->data[d->at] : -1;
        if (d->at < d->filled || d->eof)
            return BL_OK;
        BL_TRY(documents_refill(d, e));
    }
}

/* Goes to the beginning of the next element, past the comma before it. *found false: the array has ended, and nothing
 * follows it. BL_EDATA: there is something else, at which reading stays. */
static int documents_find_element(struct bl_documents *d, bool *found, struct bl_error *e)
{
    int byte;
    *found = false;
    BL_TRY(documents_peek(d, &byte, e));
    if (byte == ',' && d->after) {
        d->at++;
        d->after = false;
        d->comma = true;
        BL_TRY(documents_peek(d, &byte, e));
    }
    /* The ] ends the array, unless a comma stands before it. */
    if (byte == ']' && !d->comma && !d->closed) {
        d->at++;
        d->after = false;
        d->closed = true;
        BL_TRY(documents_peek(d, &byte, e));
    }
    if (d->closed && byte < 0 && !d->damage.code)
        return BL_OK;
    if (byte < 0 && d->damage.code)
        return documents_report_damage(d, e);
    if (d->closed)
        return bl_error_set(e, BL_EDATA,
                            "text after the ] that ends the array: a file has one array, or an object in "
                            "every line (jq -c '.[]' makes lines of arrays)");
    if (byte < 0)
        return bl_error_set(e, BL_EDATA, "the file ends without the ] of its array: it may be cut off");
    if (byte == ']')
        return bl_error_set(e, BL_EDATA, "a comma before the ] that ends the array: no element follows it");
    if (d->after || byte == '}')
        return bl_error_set(e, BL_EDATA, "expected %s: what follows is not read",
                            d->after ? ", or ] after an element" : "an element");
    *found = true;
    return BL_OK;
}

/* Goes to the beginning of the next row, past empty lines, which count for the numbers of lines. */
static int documents_find_row(struct bl_documents *d, bool *found, struct bl_error *e)
{
    for (;;) {
        /* Two bytes are needed to recognize \r\n. */
        int code = documents_fill(d, 2, e);
        size_t have = d->filled - d->at;
        const char *at = d->data + d->at;
        *found = have && *at != '\n' && *at != '\r';
        if (code || *found)
            return code;
        if (!have && d->eof)
            return d->damage.code ? documents_report_damage(d, e) : BL_OK;
        d->at += 1 + (have > 1 && at[0] == '\r' && at[1] == '\n');
        d->line++;
    }
}

static int documents_find_record(struct bl_documents *d, bool *found, struct bl_error *e)
{
    return d->rule.by == BL_DIVISION_ROW ? documents_find_row(d, found, e) : documents_find_element(d, found, e);
}

/* Notes that the record at d->at has been read, and counts its line ends. */
static void documents_end_record(struct bl_documents *d)
{
    d->after = true;
    d->comma = false;
    d->line += d->record.lines;
}

/* Refuses an object that goes on behind its first line, where lines of JSON are expected: a user has probably saved one
 * document with indentation. The message shows the command of jq that makes lines. */
static int documents_check_object(const struct bl_documents *d, struct bl_error *e)
{
    const char *text = d->data + d->at, *end = d->data + d->filled;
    const char *newline = memchr(text, '\n', d->filled - d->at);
    struct bl_json_fault fault;
    struct bl_json_value name = {0};
    if (!newline || bl_json_scan(text, (size_t)(newline - text), NULL, 0, NULL, &fault) ||
        bl_text_is_blank(text + fault.at, (size_t)(newline - text) - fault.at) == false)
        return BL_OK;
    while (newline < end && bl_text_is_blank(newline, 1))
        newline++;
    /* A further line that begins with { is a second object: these are lines of JSON, and the first one is damaged.
     */
    if (newline == end || *newline == '{')
        return BL_OK;
    if (!bl_json_find_table(text, (size_t)(end - text), &name))
        return bl_error_set(e, BL_EDATA,
                            "one object over several lines: documents are the elements of an array, or an "
                            "object in every line (jq -c . makes a line of it)");
    return bl_error_set(e, BL_EDATA,
                        "one object, with an array under \"%.*s\": documents are the elements of an array, "
                        "or an object in every line (jq -c '.[\"%.*s\"][]' makes lines of it)",
                        (int)name.size, name.text, (int)name.size, name.text);
}

/* Reads the beginning of the file, which decides the rule: a [ begins an array, and other files have lines. Where the
 * first record may begin follows from it. */
static int documents_begin_records(struct bl_documents *d, struct bl_error *e)
{
    /* A mark between values and an object over several lines show in the first chunk. */
    int code = documents_fill(d, CHUNK, e), byte = 0;
    d->line = 1;
    if (!code && d->filled >= 3 && memcmp(d->data, "\xef\xbb\xbf", 3) == 0)
        d->at = 3; /* a byte order mark */
    if (!code && d->rule.by == BL_DIVISION_ROW && !d->rule.mark)
        d->rule.mark = bl_record_find_mark(d->data + d->at, d->filled - d->at);
    if (code || d->rule.by == BL_DIVISION_ROW)
        return code;
    code = documents_peek(d, &byte, e);
    if (byte == '[') {
        d->at++;
        return code;
    }
    if (!code && byte == '{')
        code = documents_check_object(d, e);
    d->rule.by = BL_DIVISION_LINE;
    d->at = 0;
    return code;
}

static int documents_complete(struct bl_documents *d, struct bl_document *document, size_t *stop, size_t *next,
                              struct bl_error *e);

/* Skips the records before the part. A fault in them belongs to another part, whose worker reports it; this part then
 * has no documents (end 0). */
static int documents_pass_records(struct bl_documents *d, const char *path, int64_t begin, struct bl_error *e)
{
    struct bl_error fault = {0};
    int64_t max = d->max;
    bool found = true, is_cut = false;
    int code = BL_OK;
    d->max = 0; /* their text is dropped */
    while (!code && found && !(d->cancel && bl_cancelled(d->cancel))) {
        struct bl_document passed = {0};
        size_t stop = 0, next = 0;
        code = documents_find_record(d, &found, &fault);
        if (code || !found || bl_documents_offset(d) >= begin)
            break;
        code = documents_complete(d, &passed, &stop, &next, &fault);
        d->at = next;
        documents_end_record(d);
        is_cut = !code && !passed.ended; /* the file ends in it */
        found = !is_cut;
    }
    d->max = max;
    if (d->cancel && bl_cancelled(d->cancel))
        return BL_ECANCEL;
    /* Workers of later parts begin here instead of at the beginning of the file. */
    if (!code && found)
        bl_record_places_add(d->rule.places, path, &(struct bl_record_place){bl_documents_offset(d), d->line});
    if (is_cut || (code == BL_EDATA && bl_documents_offset(d) < begin))
        d->end = 0;
    return code == BL_EDATA ? BL_OK : bl_error_pass(e, code, &fault);
}

/* Opens the records of a part. Reading begins at the last known place before it, unless that place lies in what was
 * read to decide the rule. */
static int documents_open_records(struct bl_documents *d, const char *path, int64_t begin, struct bl_error *e)
{
    int code = bl_instream_open(&d->stream, path, 0, d->cancel, e);
    if (!code)
        code = documents_begin_records(d, e);
    if (code || !begin || !rule_is_record(&d->rule))
        return code;
    const struct bl_record_place place = bl_record_places_find(d->rule.places, path, begin);
    if (place.offset > d->base + (int64_t)d->filled) {
        bl_instream_close(d->stream);
        d->stream = NULL;
        d->at = d->filled = 0;
        d->base = place.offset;
        d->line = place.line;
        /* An element begins at each place, so that a ] cannot stand there. */
        d->comma = true;
        code = bl_instream_open(&d->stream, path, place.offset, d->cancel, e);
    }
    return code ? code : documents_pass_records(d, path, begin, e);
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
    /* Room for a chunk that is used and one that is read. */
    d->capacity = 2 * CHUNK;
    d->data = malloc(d->capacity + 1);
    int code = d->data ? BL_OK : bl_error_memory(e);
    if (!code && rule_is_record(rule))
        code = documents_open_records(d, path, begin, e);
    if (code || rule_is_record(&d->rule) || (!begin && d->stream))
        goto out;
    if (d->stream) { /* the file turned out to have lines, which another search begins */
        bl_instream_close(d->stream);
        d->stream = NULL;
        d->at = d->filled = 0;
        d->eof = false;
    }
    if (begin)
        code = documents_find_base(d, path, begin, e);
    if (code)
        goto out;
    code = bl_instream_open(&d->stream, path, d->base, cancel, e);
    if (code || !begin)
        goto out;
    /* The other rules can begin anywhere, with a few bytes before the part. */
    if (d->rule.by == BL_DIVISION_BLANK_LINE)
        code = documents_skip_to_paragraph(d, begin, e);
    else if (d->rule.by == BL_DIVISION_SEPARATOR)
        code = documents_skip_to_separator(d, begin, e);
    else
        code = documents_skip_to_line(d, e);
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

/* Finds the first line end that a blank line follows. *stop: the offset before the line end, *next: the one after it;
 * the next document skips the blank lines. Returns false if more bytes are needed to decide. */
static bool documents_find_blank_line(const struct bl_documents *d, size_t from, size_t *stop, size_t *next)
{
    for (size_t at = from; at < d->filled;) {
        char *newline = memchr(d->data + at, '\n', d->filled - at);
        if (!newline)
            return false;
        at = (size_t)(newline - d->data) + 1;
        int blank = documents_blank_line(d, at);
        /* The line end itself belongs to no document. */
        *stop = at - 1;
        *next = at;
        if (blank)
            return blank > 0;
    }
    return false;
}

/* Finds where the document at d->at ends (*stop) and where the next one may begin (*next). The search starts at `from`.
 * Returns false if the end of the document has not been read yet. */
static bool documents_find_end(struct bl_documents *d, size_t from, size_t *stop, size_t *next)
{
    const char *found = NULL;
    size_t size = 1;
    if (d->rule.by == BL_DIVISION_ROW)
        return bl_record_row_end(&d->record, d->rule.mark, d->data, from, d->filled, stop, next);
    if (d->rule.by == BL_DIVISION_JSON) {
        bool ended = bl_record_element_end(&d->record, d->data, from, d->filled, stop);
        *next = *stop;
        return ended;
    }
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

/* Returns how many bytes at the end of searched text must be searched again, since they may begin the mark that ends
 * the document. */
static size_t documents_overlap(const struct bl_documents *d)
{
    return d->rule.by == BL_DIVISION_SEPARATOR    ? d->rule.separator_size - 1
           : d->rule.by == BL_DIVISION_BLANK_LINE ? 2
                                                  : 0;
}

/* Reads until the end of the document at d->at is known. The text of a document that grows longer than the limit is
 * dropped while the search for its end goes on, so that memory stays bounded. */
static int documents_complete(struct bl_documents *d, struct bl_document *document, size_t *stop, size_t *next,
                              struct bl_error *e)
{
    size_t searched = d->at;
    d->record = (struct bl_record_scan){0};
    while (!(document->ended = documents_find_end(d, searched, stop, next))) {
        if (d->eof) {
            /* The damage may lie behind the content, in a checksum: the last document is then whole. */
            bool whole = d->rule.by != BL_DIVISION_FILE && bl_instream_is_whole(d->stream);
            if (d->damage.code && !whole)
                return documents_report_damage(d, e);
            /* The last document of the file ends with it, and one line end at its end is no part of a paragraph. */
            *stop = *next = d->filled;
            if (d->rule.by == BL_DIVISION_BLANK_LINE && *stop > d->at && d->data[*stop - 1] == '\n')
                --*stop;
            *stop -= d->rule.by == BL_DIVISION_ROW && *stop > d->at && bl_record_row_has_return(&d->record);
            return BL_OK;
        }
        size_t tail = d->filled - d->at < documents_overlap(d) ? d->filled - d->at : documents_overlap(d);
        if ((int64_t)(d->filled - d->at) > d->max)
            document->too_long = true;
        if (document->too_long)
            d->at = d->filled - tail;
        searched = d->filled - d->at - tail;
        BL_TRY(documents_refill(d, e));
    }
    return BL_OK;
}

int64_t bl_documents_read(const struct bl_documents *d)
{
    return bl_instream_offset(d->stream);
}

/* Removes the \r of each \r\n from the text between d->at and stop, and returns the size that is left. A document by
 * lines has at most one, at its end; one by paragraphs has one in each line. */
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

/* Reads the document that begins at d->at. */
static int documents_read(struct bl_documents *d, struct bl_document *document, bool *found, struct bl_error *e)
{
    size_t stop = 0, next = 0;
    document->offset = bl_documents_offset(d);
    BL_TRY(documents_complete(d, document, &stop, &next, e));
    document->text = d->data + d->at;
    document->size = documents_drop_returns(d, stop);
    document->ahead = d->filled - d->at;
    /* The limit is compared again, since the last refill may have brought the end. */
    if ((int64_t)document->size > d->max)
        document->too_long = true;
    if (document->too_long)
        document->size = 0;
    d->at = next;
    *found = true;
    return BL_OK;
}

/* Reads the next record. A fault behind the end of the part is ignored: the part in which it lies reports it. */
static int documents_next_record(struct bl_documents *d, struct bl_document *document, bool *found, struct bl_error *e)
{
    struct bl_error fault = {0};
    bool there;
    int code = d->end ? documents_find_record(d, &there, &fault) : BL_OK;
    if (bl_documents_offset(d) >= d->end && (!code || code == BL_EDATA))
        return BL_OK;
    if (code)
        return bl_error_pass(e, code, &fault);
    if (!there)
        return BL_OK;
    document->line = d->rule.by == BL_DIVISION_ROW ? d->line : 0;
    document->element = d->rule.by == BL_DIVISION_JSON;
    code = documents_read(d, document, found, e);
    documents_end_record(d);
    if (!code && !document->ended)
        d->end = 0; /* the file ends in the record, which document->ended says */
    return code;
}

char bl_documents_mark(const struct bl_documents *d)
{
    return d->rule.mark;
}

int bl_documents_next(struct bl_documents *d, struct bl_document *document, bool *found, struct bl_error *e)
{
    *document = (struct bl_document){0};
    *found = false;
    if (rule_is_record(&d->rule))
        return documents_next_record(d, document, found, e);
    if (d->rule.by == BL_DIVISION_BLANK_LINE)
        BL_TRY(documents_skip_blank_lines(d, e));
    /* The end of a part is tested only when a document begins. */
    if (d->at == d->filled && !d->eof)
        BL_TRY(documents_refill(d, e));
    if (d->at == d->filled && d->damage.code)
        return documents_report_damage(d, e);
    return d->at == d->filled || bl_documents_offset(d) >= d->end ? BL_OK : documents_read(d, document, found, e);
}
