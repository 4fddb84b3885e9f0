/* Records of text files: a reader of CSV and TSV, and a scanner that finds the ends of records without parsing them.
 *
 * The reader is for tables of users, which are read once from their beginning. The scanner is for inputs of gigabytes
 * that several workers share: a worker begins in the middle, at a place where an earlier worker has found a record to
 * begin. The same bytes may mean different things, depending on where a quote was opened before:
 *
 *     1,"a            a row of two lines ...
 *     2,b"            ... whose second line looks like a row of its own */
#include "base/records.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/fs.h"
#include "base/instream.h"
#include "base/json.h"
#include "base/text.h"

/* --- reading CSV and TSV ------------------------------------------------------------------------------------------ */

/* The value without its quotes is never longer than with them, so each value overwrites itself and nothing is
 * allocated. The byte behind a value is read before the NUL replaces it. */

/* At least one record, and the bytes that show its end, lie ahead in a window that is full: 16 bytes cover a line end,
 * a closing quote and the rest of a character. So a valid record never crosses the end of the window. */
#define AHEAD (BL_CSV_RECORD_MAX + 16)
#define WINDOW (4 * BL_CSV_RECORD_MAX) /* each refill moves at most a quarter of it */

/* The first bytes of bload's own table of sequences. A backslash begins an escape in such a table alone. */
#define OWN_HEADER "id\tlength\tkind\tpath\t"

/* --- the text --------------------------------------------------------------------------------------------------- */

/* Checks that the bytes that were read are UTF-8 without zero bytes. A character that is cut off at the end of the
 * window is checked after the next refill. */
static int csv_check_text(struct bl_csv *r, struct bl_error *e)
{
    /* Only the beginning of a file can be the mark of another encoding. */
    const char *other = r->before || r->checked ? NULL : bl_utf8_other_mark(r->text.data, r->text.size);
    if (other)
        return bl_error_set(e, BL_EDATA, "%s", other);
    while (r->checked < r->text.size) {
        const char *here = r->text.data + r->checked;
        size_t left = r->text.size - r->checked, size = (unsigned char)*here < 0x80 ? 1 : bl_utf8_length(here, left);
        if (!*here)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 ": a zero byte: this is not text", r->checked_line);
        if (!size && left < BL_UTF8_MAX && !r->end)
            break;
        if (!size)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 ": not UTF-8 (byte %zu of the text): save it as UTF-8",
                                r->checked_line, r->before + r->checked);
        r->checked_line += *here == '\n';
        r->checked += size;
    }
    return BL_OK;
}

/* Moves the rest of the text to the front, and fills the window. The terminating NUL stops strcspn and strchr. */
static int csv_refill(struct bl_csv *r, struct bl_error *e)
{
    struct bl_buffer *text = &r->text;
    r->before += r->at;
    r->checked -= r->at;
    text->size -= r->at;
    memmove(text->data, text->data + r->at, text->size);
    r->at = 0;
    while (text->size < WINDOW && !r->end) {
        size_t got;
        BL_TRY(bl_instream_read(r->stream, text->data + text->size, WINDOW - text->size, &got, e));
        text->size += got;
        r->end = !got;
    }
    text->data[text->size] = '\0';
    /* A file that decompresses without end is refused here. */
    if (r->before + text->size > BL_CSV_MAX)
        return bl_error_set(e, BL_EDATA, "a table of more than %zu GiB", BL_CSV_MAX >> 30);
    return csv_check_text(r, e);
}

/* Fills the window if less than a record may be ahead. */
static int csv_fill(struct bl_csv *r, struct bl_error *e)
{
    return r->end || r->text.size - r->at >= AHEAD ? BL_OK : csv_refill(r, e);
}

int bl_csv_open(struct bl_csv *r, const char *path, const struct bl_cancel *cancel, struct bl_error *e)
{
    /* A compressed table has the name of its content and a further extension. */
    *r = (struct bl_csv){.tsv = bl_path_has_suffix(path, ".tsv") || bl_path_has_suffix(path, ".tsv.gz") ||
                                bl_path_has_suffix(path, ".tsv.zst"),
                         .next_line = 1,
                         .checked_line = 1};
    /* A value may end with the last byte of the window, and has a NUL behind it. */
    BL_TRY(bl_instream_open(&r->stream, path, 0, cancel, e));
    int code = bl_buffer_reserve(&r->text, WINDOW + 1) ? csv_fill(r, e) : bl_error_memory(e);
    if (r->text.size >= 3 && memcmp(r->text.data, "\xef\xbb\xbf", 3) == 0)
        r->at = 3;
    if (code) {
        bl_csv_close(r);
        return code;
    }
    /* The first line decides; a .tsv file has tabs whatever its values contain. */
    r->mark = r->tsv ? '\t' : bl_record_find_mark(r->text.data + r->at, r->text.size - r->at);
    r->escapes = r->tsv && strncmp(r->text.data + r->at, OWN_HEADER, strlen(OWN_HEADER)) == 0;
    return BL_OK;
}

void bl_csv_close(struct bl_csv *r)
{
    if (r->stream)
        bl_instream_close(r->stream);
    bl_buffer_free(&r->text);
    free(r->value);
    *r = (struct bl_csv){0};
}

int64_t bl_csv_file_bytes(const struct bl_csv *r)
{
    return bl_instream_offset(r->stream);
}

/* --- records ---------------------------------------------------------------------------------------------------- */

static int csv_add_value(struct bl_csv *r, char *value, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(r->value, r->capacity, r->values + 1, e))
        return BL_EFAIL;
    r->value[r->values++] = value;
    return BL_OK;
}

/* Skips a line end at the present position. Returns whether there was one. The NUL behind the text makes the look at
 * text[1] safe. */
static bool csv_skip_line_end(struct bl_csv *r)
{
    const char *text = r->text.data + r->at;
    size_t size = text[0] == '\n' ? 1 : text[0] == '\r' && text[1] == '\n' ? 2 : 0;
    r->at += size;
    r->next_line += size != 0;
    return size != 0;
}

/* Reads a value that begins with a quote, up to its closing quote. A doubled quote is a quote of the value, and line
 * ends belong to it. */
static int csv_read_quoted(struct bl_csv *r, struct bl_error *e)
{
    char *text = r->text.data, *out = text + r->at;
    int64_t line = r->next_line;
    size_t begin = r->at++;
    /* The value begins at its opening quote, which the first byte of the content replaces. */
    int code = csv_add_value(r, out, e);
    for (; !code; r->at++) {
        if (r->at == r->text.size || r->at - begin > BL_CSV_RECORD_MAX)
            return bl_error_set(e, BL_EDATA, "line %" PRId64 ": a value in quotes that does not end within %zu bytes",
                                line, BL_CSV_RECORD_MAX);
        /* A quote that no other quote follows ends the value. */
        if (text[r->at] == '"' && text[++r->at] != '"')
            break;
        r->next_line += text[r->at] == '\n';
        *out++ = text[r->at];
    }
    const char *after = text + r->at;
    if (code)
        return code;
    if (*after && *after != r->mark && *after != '\n' && strncmp(after, "\r\n", 2) != 0)
        return bl_error_set(
            e, BL_EDATA, "line %" PRId64 ": text after the quote that ends a value: double the quotes inside a value",
            r->next_line);
    *out = '\0'; /* overwrites at most the closing quote */
    return BL_OK;
}

/* Reads a value that begins with no quote, up to the mark or the line end. BL_EDATA: it contains a quote or a lone \r,
 * both of which other programs read in different ways. */
static int csv_read_plain(struct bl_csv *r, struct bl_error *e)
{
    char *text = r->text.data + r->at;
    const char ends[] = {r->mark, '"', '\r', '\n', '\0'};
    size_t size = strcspn(text, ends);
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

/* Reads one record. Its last value ends at a line end or at the end of the text. The NUL of a value may replace the
 * mark that follows it, so the mark is read first. */
static int csv_read_record(struct bl_csv *r, struct bl_error *e)
{
    for (;;) {
        BL_TRY(r->text.data[r->at] == '"' ? csv_read_quoted(r, e) : csv_read_plain(r, e));
        char *end = r->text.data + r->at;
        bool more = *end == r->mark;
        if (more)
            r->at++;
        else
            csv_skip_line_end(r);
        *end = '\0';
        if (!more)
            return BL_OK;
    }
}

/* Reads a line of a TSV: every byte between two tabs belongs to a value, also quotes. A line that
 * was cut at the end of the file counts as a record, too. */
static int csv_read_tsv(struct bl_csv *r, struct bl_error *e)
{
    char *text = r->text.data + r->at, *newline = strchr(text, '\n');
    size_t size = newline ? (size_t)(newline - text) : strlen(text);
    char *end = text + size - (size && text[size - 1] == '\r');
    r->at += size + (newline != NULL);
    r->next_line += newline != NULL;
    /* bload's own tables escape tabs and line ends; the value becomes shorter in place. */
    for (char *at = text; at;) {
        char *tab = memchr(at, '\t', (size_t)(end - at)), *stop = tab ? tab : end;
        int64_t value = stop - at;
        if (r->escapes)
            value = bl_text_unescape(at, (size_t)value);
        if (value < 0 || memchr(at, '\0', (size_t)value))
            return bl_error_set(
                e, BL_EDATA, "line %" PRId64 ": an escape other than \\t \\n \\r \\\\ \\xHH, or a zero byte", r->line);
        at[value] = '\0';
        BL_TRY(csv_add_value(r, at, e));
        at = tab ? tab + 1 : NULL;
    }
    return BL_OK;
}

/* The window is filled before each line, since an empty line may be its last one. */
int bl_csv_next(struct bl_csv *r, bool *found, struct bl_error *e)
{
    do
        BL_TRY(csv_fill(r, e));
    while (csv_skip_line_end(r)); /* empty lines */
    r->values = 0;
    r->line = r->next_line;
    *found = r->at < r->text.size;
    if (!*found)
        return BL_OK;
    size_t begin = r->at;
    BL_TRY(r->tsv ? csv_read_tsv(r, e) : csv_read_record(r, e));
    /* The limit applies to the record, and the window has room for more. */
    if (r->at - begin > BL_CSV_RECORD_MAX)
        return bl_error_set(e, BL_EDATA, "line %" PRId64 ": a record of more than %zu bytes", r->line,
                            BL_CSV_RECORD_MAX);
    return BL_OK;
}

/* --- elements of arrays ------------------------------------------------------------------------------------------- */

/* Continues the scan of a string. Returns the place behind it with s->quoted false, or `end` if the string goes on. A
 * line end closes a string that was left open, so that a fault does not swallow the rest of the file. */
static const char *string_scan(struct bl_record_scan *s, const char *at, const char *end)
{
    while (at < end) {
        if (!s->escaped)
            at = bl_json_next_special(at, end);
        if (at == end)
            break;
        /* The byte after a backslash is part of the escape, even a quote. */
        bool was_escaped = s->escaped;
        s->escaped = false;
        if (*at == '\n' || (*at == '"' && !was_escaped)) {
            s->quoted = false;
            return at + (*at == '"');
        }
        s->escaped = *at == '\\' && !was_escaped;
        at++;
    }
    return at;
}

/* Takes one byte outside strings. Returns true if the element ends, with *at behind its last byte. A value without
 * brackets, such as 12 or null, ends before a comma, a space or a bracket. */
static bool element_step(struct bl_record_scan *s, const char **at)
{
    switch (**at) {
    case '"':
        s->quoted = true;
        break;
    case '{':
    case '[':
        s->depth++;
        break;
    case '}':
    case ']':
        if (s->depth == 0)
            return true;
        /* The bracket that closes the element belongs to it; one that closes the array does not. */
        *at += s->depth == 1;
        if (--s->depth == 0)
            return true;
        break;
    case ',':
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        if (!s->depth)
            return true;
        break;
    default:
        break;
    }
    ++*at;
    return false;
}

bool bl_record_element_end(struct bl_record_scan *s, const char *text, size_t from, size_t size, size_t *stop)
{
    const char *at = text + from, *end = text + size;
    bool ended = false;
    while (at < end && !ended) {
        if (!s->quoted) {
            ended = element_step(s, &at);
            continue;
        }
        at = string_scan(s, at, end);
        ended = !s->quoted && !s->depth;
    }
    *stop = (size_t)(at - text);
    return ended;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* The place of a byte in a row; the scan may stop between any two bytes. The first is the beginning of a value. */
enum { ROW_BEGIN, ROW_PLAIN, ROW_QUOTED, ROW_QUOTE /* in a quoted value: its end, or the first of two */, ROW_RETURN };

/* Goes to the next quote in a quoted value, or to the end of the text, and counts the line ends on the way. */
static const char *row_skip_quoted(struct bl_record_scan *s, const char *at, const char *end)
{
    const char *quote = memchr(at, '"', (size_t)(end - at)), *stop = quote ? quote : end;
    while ((at = memchr(at, '\n', (size_t)(stop - at)))) {
        s->lines++;
        at++;
    }
    return stop;
}

/* Returns the state behind a byte. A quote within a plain value belongs to the value; after a closing quote, another
 * one means that both are one quote of the value. */
static int row_step(int state, char byte, char mark)
{
    if (byte == '"' && state != ROW_PLAIN)
        return state == ROW_QUOTED ? ROW_QUOTE : ROW_QUOTED;
    if (state == ROW_QUOTED)
        return ROW_QUOTED;
    return byte == mark ? ROW_BEGIN : byte == '\r' ? ROW_RETURN : ROW_PLAIN;
}

bool bl_record_row_end(struct bl_record_scan *s, char mark, const char *text, size_t from, size_t size, size_t *stop,
                       size_t *next)
{
    const char *at = text + from, *end = text + size;
    for (;;) {
        /* Within quotes only a quote changes the state. */
        if (s->state == ROW_QUOTED)
            at = row_skip_quoted(s, at, end);
        if (at == end)
            return false;
        /* A row may end with \r alone. Only the byte behind it shows whether a \n follows. */
        bool after_return = s->state == ROW_RETURN;
        if (after_return || (*at == '\n' && s->state != ROW_QUOTED)) {
            *next = (size_t)(at - text) + (*at == '\n');
            *stop = (size_t)(at - text);
            *stop -= after_return && *stop;
            s->lines++;
            return true;
        }
        s->state = row_step(s->state, *at++, mark);
        /* Most bytes of a row change nothing, and are skipped here. */
        while (s->state == ROW_PLAIN && at < end && *at != mark && *at != '\n' && *at != '\r')
            at++;
    }
}

bool bl_record_row_has_return(const struct bl_record_scan *s)
{
    return s->state == ROW_RETURN;
}

char bl_record_find_mark(const char *text, size_t size)
{
    /* Only the first line is looked at, and quotes hide their content. */
    static const char marks[] = ",;\t";
    bool found[sizeof marks] = {false}, quoted = false;
    for (size_t i = 0; i < size && (quoted || text[i] != '\n'); i++) {
        const char *mark = quoted || !text[i] ? NULL : strchr(marks, text[i]);
        quoted ^= text[i] == '"';
        if (mark)
            found[mark - marks] = true;
    }
    for (size_t m = 0; marks[m]; m++) {
        if (found[m])
            return marks[m];
    }
    return marks[0];
}

bool bl_record_next_value(const char *row, size_t size, char mark, size_t *at, struct bl_record_value *value)
{
    if (*at > size)
        return false;
    const char *begin = row + *at, *end = row + size, *stop;
    *value = (struct bl_record_value){.text = begin};
    bool quoted = begin < end && *begin == '"';
    if (quoted) {
        /* Doubled quotes are skipped in pairs. */
        value->text = stop = ++begin;
        while ((stop = memchr(stop, '"', (size_t)(end - stop))) && stop + 1 < end && stop[1] == '"') {
            value->doubled = true;
            stop += 2;
        }
        value->size = (size_t)((stop ? stop : end) - begin);
        *at = stop ? (size_t)(stop - row) + 1 : size;
        if (!stop)
            value->fault = "a quote begins a value, and none ends it: double the quotes within values";
        else if (*at < size && row[*at] != mark)
            value->fault = "text after the quote that ends a value: double the quotes within values";
    } else {
        stop = size > *at ? memchr(begin, mark, size - *at) : NULL;
        value->size = (size_t)((stop ? stop : end) - begin);
        *at += value->size;
    }
    /* After a fault the position of the next value is not known, so that the row ends. */
    *at = value->fault ? SIZE_MAX : *at + 1;
    return true;
}

/* --- places ----------------------------------------------------------------------------------------------------- */

/* Workers begin the parts of a file in order, so that the last 1,024 places are the ones from which others begin. */
#define PLACES 1024

struct bl_record_places {
    pthread_mutex_t lock;
    struct {
        uint64_t path; /* hash */
        struct bl_record_place place;
    } entry[PLACES]; /* a ring */
    size_t count;    /* that were added */
};

int bl_record_places_open(struct bl_record_places **places, struct bl_error *e)
{
    struct bl_record_places *p = calloc(1, sizeof *p);
    if (!p)
        return bl_error_memory(e);
    /* Initializing a mutex with default attributes cannot fail on Linux. */
    pthread_mutex_init(&p->lock, NULL);
    *places = p;
    return BL_OK;
}

void bl_record_places_close(struct bl_record_places *places)
{
    if (places)
        pthread_mutex_destroy(&places->lock);
    free(places);
}

/* The path is compared by its hash alone: 64 bits do not collide among the files of a run. */
void bl_record_places_add(struct bl_record_places *places, const char *path, const struct bl_record_place *place)
{
    uint64_t hash = XXH3_64bits(path, strlen(path));
    pthread_mutex_lock(&places->lock);
    size_t at = places->count++ % PLACES;
    places->entry[at].path = hash;
    places->entry[at].place = *place;
    pthread_mutex_unlock(&places->lock);
}

/* The beginning of a file is always a place: offset 0, line 1. */
struct bl_record_place bl_record_places_find(struct bl_record_places *places, const char *path, int64_t offset)
{
    struct bl_record_place best = {.offset = 0, .line = 1};
    uint64_t hash = XXH3_64bits(path, strlen(path));
    pthread_mutex_lock(&places->lock);
    size_t filled = places->count < PLACES ? places->count : PLACES;
    for (size_t i = 0; i < filled; i++) {
        const struct bl_record_place *place = &places->entry[i].place;
        if (places->entry[i].path == hash && place->offset <= offset && place->offset > best.offset)
            best = *place;
    }
    pthread_mutex_unlock(&places->lock);
    return best;
}
