/* Reading goes once over the text: header to columns, each line to a length and an offset, each id to a hash. The
 * hashes are then sorted in place, which tells whether any id comes twice at 8 bytes a row; only then are the two rows
 * looked up. */
#include "store/sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/io.h"
#include "base/sort.h"
#include "base/text.h"
#include "store/groups.h"

static const char *const column_name[BL_COLUMNS_ALL] = {"id",     "length",   "kind",   "path",  "bytes",    "status",
                                                        "reason", "sampling", "stream", "start", "duration", "channel"};

#define FIELDS_MAX ((int)(sizeof((struct bl_row_text *)0)->field / sizeof(char *)))

/* Bytes that are read for a row, and at most for one that follows the row before. */
#define ROW_READ 512
#define ROWS_READ ((size_t)64 << 10)

/* What is collected while the tables are read. */
struct loading {
    struct bl_sequences *table;
    size_t capacity;
    uint64_t *hash;       /* [capacity] of the ids, NULL for plain lengths */
    const char *group_by; /* a column, or NULL */
    int group_column;     /* its place in the present file */
    struct bl_groups groups;
};

static int grow(struct loading *l, size_t needed, struct bl_error *e)
{
    struct bl_sequences *t = l->table;
    if (needed <= l->capacity)
        return BL_OK;
    size_t capacity = l->capacity ? l->capacity : 1024;
    while (capacity < needed)
        capacity += capacity / 2;
    int64_t *length = realloc(t->length, capacity * sizeof *length);
    if (!length)
        return bl_error_memory(e);
    t->length = length;
    if (l->hash) {
        int64_t *offset = realloc(t->offset, capacity * sizeof *offset);
        if (!offset)
            return bl_error_memory(e);
        t->offset = offset;
        uint32_t *group = l->group_by ? realloc(t->group, capacity * sizeof *group) : NULL;
        if (l->group_by && !group)
            return bl_error_memory(e);
        t->group = group;
        uint64_t *hash = realloc(l->hash, capacity * sizeof *hash);
        if (!hash)
            return bl_error_memory(e);
        l->hash = hash;
    }
    l->capacity = capacity;
    return BL_OK;
}

/* Splits a line at its tabs, in place. Returns how many fields it has, or more than FIELDS_MAX. */
static int split(char *line, char **field)
{
    int count = 0;
    for (char *at = line; at; count++) {
        char *tab = strchr(at, '\t');
        if (count < FIELDS_MAX)
            field[count] = at;
        if (tab)
            *tab++ = '\0';
        at = tab;
    }
    return count;
}

/* Whether the column at place f is one of those that every table has. */
static bool is_known(const struct bl_sequences_file *file, int f)
{
    for (int c = 0; c < BL_COLUMNS; c++) {
        if (file->column[c] == f)
            return true;
    }
    return false;
}

static int join_further(const struct bl_sequences_file *file, char *const *field, struct bl_buffer *out,
                        struct bl_error *e)
{
    bl_buffer_clear(out);
    for (int f = 0; f < file->columns; f++) {
        if (!is_known(file, f)) {
            bl_buffer_byte(out, '\t');
            bl_buffer_text(out, field[f]);
        }
    }
    return bl_buffer_check(out, e);
}

static int read_header(struct bl_sequences_file *file, char *line, struct bl_error *e)
{
    char *field[FIELDS_MAX];
    struct bl_buffer further = {0};
    file->columns = split(line, field);
    if (file->columns > FIELDS_MAX)
        return bl_error_set(e, BL_EFAIL, "%s:1: more than %d columns", file->path, FIELDS_MAX);
    for (int c = 0; c < BL_COLUMNS_ALL; c++) {
        file->column[c] = -1;
        for (int f = 0; f < file->columns; f++) {
            if (strcmp(field[f], column_name[c]) == 0)
                file->column[c] = f;
        }
    }
    for (int c = BL_COLUMN_ID; c <= BL_COLUMN_LENGTH; c++) {
        if (file->column[c] < 0)
            return bl_error_set(
                e, BL_EFAIL,
                "%s:1: no column \"%s\" in the header line: not a table of sequences (a plain list of lengths "
                "is read by --lengths)",
                file->path, column_name[c]);
    }
    int code = join_further(file, field, &further, e);
    file->further = further.data ? further.data : strdup("");
    return code ? code : file->further ? BL_OK : bl_error_memory(e);
}

bool bl_sequences_knows(const char *name)
{
    bool known = false;
    for (int c = 0; c < BL_COLUMNS_ALL; c++)
        known |= strcmp(column_name[c], name) == 0;
    return known;
}

int bl_sequences_column(const char *header, const char *name)
{
    size_t wanted = strlen(name);
    for (int column = 0;; column++) {
        size_t size = strcspn(header, "\t");
        if (size == wanted && memcmp(header, name, size) == 0)
            return column;
        if (!header[size])
            return -1;
        header += size + 1;
    }
}

/* Which column of this file makes the groups. */
static int find_group_column(struct loading *l, const char *path, const char *line, struct bl_error *e)
{
    l->group_column = bl_sequences_column(line, l->group_by);
    return l->group_column >= 0 ? BL_OK
                                : bl_error_set(e, BL_EFAIL, "%s:1: no column \"%s\" to group by", path, l->group_by);
}

static int parse_status(const char *text)
{
    for (int s = BL_ROW_OK; s <= BL_ROW_FAILED; s++) {
        if (strcmp(text, bl_row_status_name((enum bl_row_status)s)) == 0)
            return s;
    }
    return -1;
}

/* Notes kind and sampling of the first ok row, and the first row that differs. */
static int note_sort(struct bl_sequences *t, const struct bl_sequences_file *file, char **field, struct bl_error *e)
{
    const char *kind = file->column[BL_COLUMN_KIND] < 0 ? "" : field[file->column[BL_COLUMN_KIND]];
    const char *sampling = file->column[BL_COLUMN_SAMPLING] < 0 ? "" : field[file->column[BL_COLUMN_SAMPLING]];
    if (!t->kind) {
        t->kind = strdup(kind);
        t->sampling = strdup(sampling);
        return t->kind && t->sampling ? BL_OK : bl_error_memory(e);
    }
    if (t->mixed == SIZE_MAX && (strcmp(t->kind, kind) != 0 || strcmp(t->sampling, sampling) != 0))
        t->mixed = t->count;
    return BL_OK;
}

static int add_row(struct loading *l, const struct bl_sequences_file *file, char *line, int64_t number, int64_t offset,
                   struct bl_error *e)
{
    struct bl_sequences *t = l->table;
    char *field[FIELDS_MAX];
    int fields = split(line, field);
    if (fields != file->columns)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": %d columns where the header has %d", file->path, number,
                            fields, file->columns);
    const char *text = field[file->column[BL_COLUMN_LENGTH]];
    const char *status_text = file->column[BL_COLUMN_STATUS] < 0 ? "ok" : field[file->column[BL_COLUMN_STATUS]];
    int status = parse_status(status_text);
    if (status < 0)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": \"%s\" is no status (ok, skipped, dropped, failed)",
                            file->path, number, status_text);
    int64_t length;
    if (!bl_text_to_int(text, strlen(text), status == BL_ROW_OK ? 1 : 0, INT64_MAX, &length))
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": \"%s\" is no length (a whole number from %d)", file->path,
                            number, text, status == BL_ROW_OK ? 1 : 0);
    if (grow(l, t->count + 1, e))
        return BL_EFAIL;
    if (status == BL_ROW_OK && __builtin_add_overflow(t->steps, length, &t->steps))
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": the lengths add up to more than 2^63", file->path, number);
    if (status == BL_ROW_OK && note_sort(t, file, field, e))
        return BL_EFAIL;
    const char *group = l->group_by ? field[l->group_column] : NULL;
    if (group && bl_groups_find(&l->groups, group, strlen(group), &t->group[t->count], e))
        return BL_EFAIL;
    const char *id = field[file->column[BL_COLUMN_ID]];
    l->hash[t->count] = XXH3_64bits(id, strlen(id));
    t->offset[t->count] = offset;
    t->length[t->count++] = status == BL_ROW_OK ? length : 0;
    t->by_status[status]++;
    const char *reason = file->column[BL_COLUMN_REASON] < 0 ? "" : field[file->column[BL_COLUMN_REASON]];
    t->damaged += status == BL_ROW_OK && *reason;
    t->empty += status == BL_ROW_SKIPPED && strcmp(reason, BL_REASON_EMPTY) == 0;
    return BL_OK;
}

/* A line of one to seven digits, as nearly all are, from 8 bytes at a time: its length, and how many bytes it takes. 0
 * when it is no such line. */
static int64_t plain_length(const char *text, size_t *bytes)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    word ^= UINT64_C(0x3030303030303030); /* digits become 0 to 9 */
    uint64_t other = ((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080);
    int digits = other ? __builtin_ctzll(other) / 8 : 0;
    *bytes = (size_t)digits + 1;
    if (digits == 0 || text[digits] != '\n')
        return 0;
    word <<= 64 - 8 * digits;
    /* Pairs of digits, then of pairs, then of these; the first digit is in the lowest byte. */
    word = (word * 10 + (word >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    word = (word * 100 + (word >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (int64_t)((word * 10000 + (word >> 32)) & UINT32_MAX);
}

/* Plain lines from what was read already, until one is none. */
static int add_plain(struct loading *l, struct bl_lines *lines, struct bl_error *e)
{
    struct bl_sequences *t = l->table;
    const char *text;
    size_t size = bl_lines_ahead(lines, &text), at = 0, bytes, first = t->count;
    while (at < size) {
        int64_t length = plain_length(text + at, &bytes);
        if (length == 0 || bytes > size - at || length > INT64_MAX - t->steps)
            break;
        if (t->count == l->capacity && grow(l, t->count + 1, e))
            return BL_EFAIL;
        t->steps += length;
        t->length[t->count++] = length;
        at += bytes;
    }
    t->by_status[BL_ROW_OK] += (int64_t)(t->count - first);
    bl_lines_skip(lines, at, (int64_t)(t->count - first));
    return BL_OK;
}

/* "length" or "length count". */
static int add_lengths(struct loading *l, const char *path, const char *line, size_t size, int64_t number,
                       struct bl_error *e)
{
    struct bl_sequences *t = l->table;
    size_t digits = strcspn(line, " \t\r");
    size_t gap = strspn(line + digits, " \t\r");
    size_t second = strcspn(line + digits + gap, " \t\r");
    size_t tail = strspn(line + digits + gap + second, " \t\r");
    int64_t length, count = 1;
    if (digits + gap + second + tail != size || !bl_text_to_int(line, digits, 1, INT64_MAX, &length))
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": \"%.60s\" is no length (a whole number from 1)", path, number,
                            line);
    if (second && !bl_text_to_int(line + digits + gap, second, 0, UINT32_MAX, &count))
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": \"%.60s\" is no \"length count\"", path, number, line);
    int64_t steps;
    if (__builtin_mul_overflow(length, count, &steps) || __builtin_add_overflow(t->steps, steps, &t->steps))
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": the lengths add up to more than 2^63", path, number);
    if (grow(l, t->count + (size_t)count, e))
        return BL_EFAIL;
    for (int64_t i = 0; i < count; i++)
        t->length[t->count++] = length;
    t->by_status[BL_ROW_OK] += count;
    return BL_OK;
}

static int read_lines(struct loading *l, struct bl_sequences_file *file, struct bl_lines *lines, struct bl_error *e)
{
    char *line;
    size_t size;
    bool ended;
    int got;
    while ((got = bl_lines_next(lines, &line, &size, &ended, e)) > 0) {
        if (strlen(line) != size)
            return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": a zero byte: not a text table", file->path,
                                lines->number);
        int code;
        if (!l->hash)
            code = add_lengths(l, file->path, line, size, lines->number, e);
        else if (lines->number == 1) {
            code = l->group_by ? find_group_column(l, file->path, line, e) : BL_OK;
            code = code ? code : read_header(file, line, e);
        } else
            code = add_row(l, file, line, lines->number, lines->offset, e);
        if (!code && !ended)
            code = bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": the file ends in the middle of a line: it was cut off",
                                file->path, lines->number);
        if (!code && !l->hash)
            code = add_plain(l, lines, e);
        if (code)
            return code;
    }
    if (!got && l->hash && !lines->number)
        return bl_error_set(e, BL_EFAIL, "%s is empty: not a table of sequences", file->path);
    return got;
}

static int read_file(struct loading *l, const char *path, struct bl_error *e)
{
    struct bl_sequences_file *file = &l->table->file[l->table->files++];
    *file = (struct bl_sequences_file){.fd = -1, .first = l->table->count};
    struct bl_lines lines;
    int code = bl_lines_open(&lines, path, e);
    if (code)
        return code;
    file->path = strdup(lines.path);
    code = file->path ? read_lines(l, file, &lines, e) : bl_error_memory(e);
    if (!code && lines.fd != STDIN_FILENO) {
        file->fd = lines.fd; /* kept open: rows are read back from it */
        lines.fd = -1;
    }
    bl_lines_close(&lines);
    return code;
}

/* Names the rows whose ids have this hash, if they are the same indeed. */
static int name_duplicate(const struct bl_sequences *t, uint64_t hash, struct bl_error *e)
{
    struct bl_row_text text = {0}, first = {0};
    size_t at = SIZE_MAX;
    int code = BL_OK;
    for (size_t i = 0; i < t->count && !code; i++) {
        code = bl_sequences_row(t, i, &text, e);
        struct bl_buffer escaped = {0};
        if (!code)
            bl_text_escape(&escaped, text.row.id, strlen(text.row.id));
        if (!code && escaped.data && XXH3_64bits(escaped.data, escaped.size) == hash) {
            if (at == SIZE_MAX) {
                at = i;
                code = bl_sequences_row(t, i, &first, e);
            } else if (strcmp(first.row.id, text.row.id) == 0) {
                code = bl_error_set(e, BL_EFAIL, "two sequences have the id \"%s\": rows %zu and %zu (%s, %s)",
                                    text.row.id, at, i, first.row.path, text.row.path);
            }
        }
        bl_buffer_free(&escaped);
    }
    bl_row_text_free(&text);
    bl_row_text_free(&first);
    return code;
}

static int check_duplicates(struct loading *l, struct bl_error *e)
{
    bl_sort_u64(l->hash, l->table->count, 0);
    for (size_t i = 1; i < l->table->count; i++) {
        if (l->hash[i] != l->hash[i - 1])
            continue;
        /* Rows of stdin are gone; two equal hashes of 64 bits are two equal ids for all practical purposes. */
        for (int f = 0; f < l->table->files; f++) {
            if (l->table->file[f].fd < 0)
                return bl_error_set(e, BL_EFAIL, "%s: two sequences have the same id", l->table->file[f].path);
        }
        int code = name_duplicate(l->table, l->hash[i], e);
        if (code)
            return code;
    }
    return BL_OK;
}

static int open_all(struct bl_sequences *t, const char *const *paths, int count, bool lengths, const char *group_by,
                    struct bl_error *e)
{
    *t = (struct bl_sequences){.mixed = SIZE_MAX};
    struct loading l = {.table = t, .group_by = group_by};
    int code = BL_OK;
    t->file = calloc((size_t)count, sizeof *t->file);
    if (!lengths)
        l.hash = malloc(sizeof *l.hash);
    if (!t->file || (!lengths && !l.hash))
        code = bl_error_memory(e);
    for (int i = 0; i < count && !code; i++)
        code = read_file(&l, paths[i], e);
    if (!code && l.hash)
        code = check_duplicates(&l, e);
    free(l.hash);
    bl_groups_free(&l.groups);
    if (code)
        bl_sequences_close(t);
    return code;
}

int bl_sequences_open(struct bl_sequences *t, const char *const *paths, int count, bool lengths, struct bl_error *e)
{
    return open_all(t, paths, count, lengths, NULL, e);
}

int bl_sequences_open_grouped(struct bl_sequences *t, const char *const *paths, int count, const char *column,
                              struct bl_error *e)
{
    return open_all(t, paths, count, false, column, e);
}

/* Whether the row is ok; its kind goes to out if so. What is wrong with it is for bl_sequences_open to tell. */
static bool peek_row(const struct bl_sequences_file *file, char *line, struct bl_buffer *out)
{
    char *field[FIELDS_MAX];
    int status = file->column[BL_COLUMN_STATUS], kind = file->column[BL_COLUMN_KIND];
    if (split(line, field) != file->columns || (status >= 0 && parse_status(field[status]) != BL_ROW_OK))
        return false;
    if (kind >= 0)
        bl_buffer_text(out, field[kind]);
    return true;
}

int bl_sequences_peek(const char *path, struct bl_buffer *header, struct bl_buffer *kind, struct bl_error *e)
{
    struct bl_sequences_file file = {.path = (char *)path};
    struct bl_lines lines;
    char *line;
    size_t size;
    bool ended, found = false;
    int got = 1, code = bl_lines_open(&lines, path, e);
    if (code)
        return code;
    bl_buffer_text(header, "");
    bl_buffer_text(kind, "");
    while (!code && !found && (got = bl_lines_next(&lines, &line, &size, &ended, e)) > 0) {
        if (lines.number > 1) {
            found = peek_row(&file, line, kind);
            continue;
        }
        bl_buffer_text(header, line);
        code = read_header(&file, line, e);
    }
    bl_lines_close(&lines);
    free(file.further);
    code = code ? code : got < 0 ? got : BL_OK;
    if (!code)
        code = bl_buffer_check(header, e);
    return code ? code : bl_buffer_check(kind, e);
}

void bl_sequences_close(struct bl_sequences *t)
{
    for (int f = 0; f < t->files; f++) {
        if (t->file[f].fd >= 0)
            close(t->file[f].fd);
        free(t->file[f].path);
        free(t->file[f].further);
    }
    free(t->file);
    free(t->length);
    free(t->group);
    free(t->offset);
    free(t->kind);
    free(t->sampling);
    *t = (struct bl_sequences){0};
}

/* Reads on behind what text has of the file. */
static int read_ahead(const struct bl_sequences_file *file, struct bl_row_text *text, struct bl_error *e)
{
    struct bl_buffer *ahead = &text->ahead;
    ssize_t n;
    if (!bl_buffer_reserve(ahead, text->most))
        return bl_error_memory(e);
    do
        n = pread(file->fd, ahead->data + ahead->size, text->most, text->ahead_at + (int64_t)ahead->size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot read %s", file->path);
    if (n == 0)
        return bl_error_set(e, BL_EFAIL, "%s changed while it was in use", file->path);
    ahead->size += (size_t)n;
    return BL_OK;
}

/* Reads the line at offset, without its newline, into text->line. Who asks for row after row gets them from ever larger
 * reads: a call for each would cost as much as all else that is done with it. */
static int read_line(const struct bl_sequences_file *file, int64_t offset, struct bl_row_text *text, struct bl_error *e)
{
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
            return bl_error_set(e, BL_EFAIL, "%s changed while it was in use", file->path);
        if (at)
            memmove(ahead->data, ahead->data + at, ahead->size - at);
        ahead->size -= at;
        at = 0;
        text->ahead_at = offset;
        text->most = !text->most ? ROW_READ : text->most < ROWS_READ ? 2 * text->most : ROWS_READ;
        int code = read_ahead(file, text, e);
        if (code)
            return code;
    }
    size_t size = (size_t)(newline - ahead->data) - at;
    text->next = offset + (int64_t)size + 1;
    bl_buffer_clear(&text->line);
    bl_buffer_append(&text->line, ahead->data + at, size);
    return bl_buffer_check(&text->line, e);
}

static const struct bl_sequences_file *file_of(const struct bl_sequences *t, size_t row)
{
    int f = t->files - 1;
    while (f > 0 && t->file[f].first > row)
        f--;
    return &t->file[f];
}

/* The unescaped value of a column, or what stands for a column that is not there. */
static const char *value(const struct bl_sequences_file *file, struct bl_row_text *text, enum bl_column column,
                         const char *missing)
{
    int at = file->column[column];
    if (at < 0)
        return missing;
    char *field = text->field[at];
    int64_t size = bl_text_unescape(field, strlen(field));
    if (size < 0)
        return NULL;
    field[size] = '\0';
    return field;
}

int bl_sequences_row(const struct bl_sequences *t, size_t i, struct bl_row_text *text, struct bl_error *e)
{
    const struct bl_sequences_file *file = file_of(t, i);
    if (!t->offset || file->fd < 0)
        return bl_error_set(e, BL_EFAIL, "row %zu cannot be read back from %s", i, file->path);
    int code = read_line(file, t->offset[i], text, e);
    if (code)
        return code;
    if (split(text->line.data, text->field) != file->columns)
        return bl_error_set(e, BL_EFAIL, "%s changed while it was in use", file->path);
    code = *file->further ? join_further(file, text->field, &text->further, e) : BL_OK; /* before it is unescaped */
    if (code)
        return code;
    const char *v[BL_COLUMNS_ALL];
    static const char *const missing[BL_COLUMNS_ALL] = {"", "0", "", "", "-1", "ok", "", "", "-1", "", "", ""};
    for (int c = 0; c < BL_COLUMNS_ALL; c++) {
        v[c] = value(file, text, (enum bl_column)c, missing[c]);
        if (!v[c])
            return bl_error_set(e, BL_EFAIL, "%s: row %zu: a backslash in \"%s\" that begins no \\t \\n \\r \\\\ \\xHH",
                                file->path, i, column_name[c]);
    }
    struct bl_row *row = &text->row;
    *row = (struct bl_row){.id = v[BL_COLUMN_ID],
                           .kind = v[BL_COLUMN_KIND],
                           .path = v[BL_COLUMN_PATH],
                           .reason = v[BL_COLUMN_REASON],
                           .sampling = v[BL_COLUMN_SAMPLING],
                           .start = v[BL_COLUMN_START],
                           .duration = v[BL_COLUMN_DURATION],
                           .channel = v[BL_COLUMN_CHANNEL],
                           .further = *file->further ? text->further.data : NULL,
                           .columns = file->further};
    int status = parse_status(v[BL_COLUMN_STATUS]);
    int64_t stream;
    const char *bytes = *v[BL_COLUMN_BYTES] ? v[BL_COLUMN_BYTES] : "-1";
    const char *stream_text = *v[BL_COLUMN_STREAM] ? v[BL_COLUMN_STREAM] : "-1";
    if (status < 0 || !bl_text_to_int(v[BL_COLUMN_LENGTH], strlen(v[BL_COLUMN_LENGTH]), 0, INT64_MAX, &row->length) ||
        !bl_text_to_int(bytes, strlen(bytes), -1, INT64_MAX, &row->bytes) ||
        !bl_text_to_int(stream_text, strlen(stream_text), -1, INT32_MAX, &stream))
        return bl_error_set(e, BL_EFAIL, "%s: row %zu (%s): a number in length, bytes or stream that is none",
                            file->path, i, row->id);
    row->status = (enum bl_row_status)status;
    row->stream = (int)stream;
    row->offset = bl_row_offset(row);
    return BL_OK;
}

void bl_row_text_free(struct bl_row_text *text)
{
    bl_buffer_free(&text->line);
    bl_buffer_free(&text->further);
    bl_buffer_free(&text->ahead);
}

static void append_field(struct bl_buffer *out, const char *text)
{
    bl_text_escape(out, text, strlen(text));
    bl_buffer_byte(out, '\t');
}

void bl_sequences_format(const struct bl_row *row, struct bl_buffer *out)
{
    append_field(out, row->id);
    bl_buffer_int(out, row->length);
    bl_buffer_byte(out, '\t');
    append_field(out, row->kind);
    append_field(out, row->path);
    bl_buffer_int(out, row->bytes);
    bl_buffer_byte(out, '\t');
    append_field(out, bl_row_status_name(row->status));
    append_field(out, row->reason);
    append_field(out, row->sampling);
    if (row->stream >= 0)
        bl_buffer_int(out, row->stream);
    if (row->further)
        bl_buffer_text(out, row->further);
    bl_buffer_byte(out, '\n');
}

/* Paths that were seen, by their hashes: rows of a file need not stand together in a table that was put together from
 * several. */
struct seen {
    uint64_t *hash; /* [capacity] a table with open addressing; 0: free */
    size_t count, capacity;
};

static bool seen_add(struct seen *seen, uint64_t hash)
{
    size_t at = hash & (seen->capacity - 1);
    while (seen->hash[at] && seen->hash[at] != hash)
        at = (at + 1) & (seen->capacity - 1);
    bool is_new = !seen->hash[at];
    seen->hash[at] = hash;
    seen->count += is_new;
    return is_new;
}

static int seen_grow(struct seen *seen, struct bl_error *e)
{
    if (2 * seen->count < seen->capacity)
        return BL_OK;
    struct seen larger = {.capacity = seen->capacity ? 2 * seen->capacity : 1024};
    larger.hash = calloc(larger.capacity, sizeof *larger.hash);
    if (!larger.hash)
        return bl_error_memory(e);
    for (size_t i = 0; i < seen->capacity; i++) {
        if (seen->hash[i])
            seen_add(&larger, seen->hash[i]);
    }
    free(seen->hash);
    *seen = larger;
    return BL_OK;
}

int bl_sequences_paths(const struct bl_sequences *t, int (*visit)(void *context, const char *path, struct bl_error *e),
                       void *context, struct bl_error *e)
{
    struct bl_row_text text = {0};
    struct seen seen = {0};
    uint64_t last = 0;
    int code = BL_OK;
    for (size_t i = 0; i < t->count && !code; i++) {
        if (!t->length[i])
            continue;
        code = bl_sequences_row(t, i, &text, e);
        uint64_t hash = code ? 0 : XXH3_64bits(text.row.path, strlen(text.row.path)) | 1;
        if (code || hash == last)
            continue;
        last = hash;
        code = seen_grow(&seen, e);
        if (!code && seen_add(&seen, hash))
            code = visit(context, text.row.path, e);
    }
    free(seen.hash);
    bl_row_text_free(&text);
    return code;
}

int64_t bl_sequences_useless(const struct bl_sequences *t)
{
    return t->by_status[BL_ROW_SKIPPED] + t->by_status[BL_ROW_FAILED] - t->empty;
}

bool bl_sequences_clean(const struct bl_sequences *t)
{
    return !bl_sequences_useless(t) && !t->damaged;
}
