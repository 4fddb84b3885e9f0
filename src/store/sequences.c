/* sequences.tsv: reading tables into memory, and finding ids that occur twice.
 *
 * A table may have 10^8 rows. So its strings stay in the file, ids are known by their hashes only while the table is
 * read, and lists of plain lengths have a path of their own, which reads 8 bytes at a time. */
#include "store/sequences.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/io.h"
#include "store/dataset_file.h"
#include "base/sort.h"
#include "base/text.h"
#include "kind/row.h"

/* --- groups ------------------------------------------------------------------------------------------------------- */

int bl_groups_find(struct bl_groups *g, const char *value, size_t size, uint32_t *id, struct bl_error *e)
{
    uint64_t hash = XXH3_64bits(value, size);
    size_t number;
    for (struct bl_hash_probe probe = bl_hash_begin(&g->table, hash); bl_hash_next(&g->table, &probe, &number);) {
        if (g->hash[number] == hash) {
            *id = (uint32_t)number;
            return BL_OK;
        }
    }
    BL_TRY(BL_ARRAY_RESERVE(g->hash, g->capacity, g->count + 1, e));
    BL_TRY(bl_hash_add(&g->table, hash, g->count, e));
    g->hash[g->count] = hash;
    *id = (uint32_t)g->count++;
    return BL_OK;
}

void bl_groups_free(struct bl_groups *g)
{
    free(g->hash);
    bl_hash_free(&g->table);
    *g = (struct bl_groups){0};
}

/* --- duplicate ids ------------------------------------------------------------------------------------------------ */

/* Duplicate ids in a table. Sorting the hashes of all ids, 8 bytes per row, shows whether an id occurs twice. Only then
 * are the two rows searched. */

/* Sets the error that rows a and b have the same id. first, second: these rows, or NULL if they cannot be read back.
 * The message names the file and the line of each, such as "a.tsv:5", and its path; the header is line 1. */
static int duplicates_report_pair(const struct bl_sequences *t, size_t a, const struct bl_row *first, size_t b,
                                  const struct bl_row *second, struct bl_error *e)
{
    const struct bl_row *const known[] = {first, second};
    const size_t row[] = {a, b};
    struct bl_buffer place[2] = {0};
    int code;
    for (int k = 0; k < 2; k++) {
        int f = 0;
        while (f + 1 < t->files && t->file[f + 1].first <= row[k])
            f++;
        bl_buffer_printf(&place[k], "%s:%zu", t->file[f].path, row[k] - t->file[f].first + 2);
        if (known[k] && known[k]->path && *known[k]->path)
            bl_buffer_printf(&place[k], " (%s)", known[k]->path);
    }
    if (place[0].failed || place[1].failed)
        code = bl_error_memory(e);
    else if (first)
        code = bl_error_set(e, BL_EFAIL, "two sequences have the id \"%s\": %s and %s%s", first->id, place[0].data,
                            place[1].data, first->is_clip ? "; a column id of the list can tell them apart" : "");
    else
        code = bl_error_set(e, BL_EFAIL, "two sequences have the same id: %s and %s", place[0].data, place[1].data);
    bl_buffer_free(&place[0]);
    bl_buffer_free(&place[1]);
    return code;
}

/* Searches the rows whose ids have this hash. BL_EFAIL: two of the ids are equal, not only their hashes. */
static int duplicates_report_ids(const struct bl_sequences *t, uint64_t hash, struct bl_error *e)
{
    struct bl_row_reader text = {0}, first = {0};
    size_t at = SIZE_MAX;
    int code = BL_OK;
    for (size_t i = 0; i < t->count && !code; i++) {
        code = bl_row_reader_read(t, i, &text, e);
        struct bl_buffer escaped = {0};
        if (!code)
            bl_text_escape(&escaped, text.row.id, strlen(text.row.id));
        if (!code && escaped.data && XXH3_64bits(escaped.data, escaped.size) == hash) {
            if (at == SIZE_MAX) {
                at = i;
                code = bl_row_reader_read(t, i, &first, e);
            } else if (strcmp(first.row.id, text.row.id) == 0) {
                code = duplicates_report_pair(t, at, &first.row, i, &text.row, e);
            }
        }
        bl_buffer_free(&escaped);
    }
    bl_row_reader_free(&text);
    bl_row_reader_free(&first);
    return code;
}

/* Checks that no id occurs twice. hash: the XXH3 of each row's id as written in the file; this function sorts the
 * array. Rows of stdin cannot be read back, so that equal hashes are taken as equal ids there, and their rows are found
 * in a copy of the unsorted array. BL_EFAIL: an id occurs twice; the message names both rows. */
static int duplicates_check(const struct bl_sequences *t, uint64_t *hash, struct bl_error *e)
{
    bool gone = false;
    int code = BL_OK;
    for (int f = 0; f < t->files; f++)
        gone |= t->file[f].fd < 0;
    /* Only rows that cannot be read back need the copy, which takes 8 bytes a row. */
    uint64_t *unsorted = gone ? malloc((t->count + 1) * sizeof *unsorted) : NULL;
    if (gone && !unsorted)
        return bl_error_memory(e);
    if (gone && t->count)
        memcpy(unsorted, hash, t->count * sizeof *hash);
    bl_sort_u64(hash, t->count, 0);
    for (size_t i = 1; i < t->count && !code; i++) {
        if (hash[i] != hash[i - 1])
            continue;
        size_t at = 0;
        while (gone && unsorted[at] != hash[i])
            at++;
        size_t next = at + 1;
        while (gone && unsorted[next] != hash[i])
            next++;
        code = gone ? duplicates_report_pair(t, at, NULL, next, NULL, e) : duplicates_report_ids(t, hash[i], e);
    }
    free(unsorted);
    return code;
}

/* Returns the index of a hash in a compacted array, or count if the array lacks it. */
static size_t duplicates_find(const uint64_t *sorted, size_t count, uint64_t hash)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] == hash)
            return middle;
        if (sorted[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return count;
}

/* Lists the rows whose id another row has, ascending, in *rows, [*listed], which the caller frees; NULL: there are
 * none. If only one of the rows with an id has steps, that row is not listed, since its id is unique among the usable
 * rows. hash, length: [count], the hash of the id and the steps of each row. Equal hashes are taken as equal ids. */
static int duplicates_collect(const uint64_t *hash, const int64_t *length, size_t count, int64_t **rows, size_t *listed,
                              struct bl_error *e)
{
    size_t several = 0, capacity = 0;
    *rows = NULL;
    *listed = 0;
    if (!count)
        return BL_OK;
    uint64_t *sorted = malloc(count * sizeof *sorted);
    if (!sorted)
        return bl_error_memory(e);
    memcpy(sorted, hash, count * sizeof *sorted);
    bl_sort_u64(sorted, count, 0);
    /* Move one of each hash that occurs several times to the front. */
    for (size_t i = 1; i < count; i++) {
        uint64_t again = sorted[i];
        if (again == sorted[i - 1] && (!several || sorted[several - 1] != again))
            sorted[several++] = again;
    }
    uint8_t *usable = calloc(several + 1, 1); /* rows with steps that have the hash; 2 stands for more */
    int code = usable ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < count && several && !code; i++) {
        size_t at = length[i] ? duplicates_find(sorted, several, hash[i]) : several;
        if (at < several && usable[at] < 2)
            usable[at]++;
    }
    for (size_t i = 0; i < count && several && !code; i++) {
        size_t at = duplicates_find(sorted, several, hash[i]);
        if (at == several || (length[i] && usable[at] == 1))
            continue;
        code = BL_ARRAY_RESERVE(*rows, capacity, *listed + 1, e);
        if (!code)
            (*rows)[(*listed)++] = (int64_t)i;
    }
    free(usable);
    free(sorted);
    return code;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* State while tables are read. */
struct sequences_loader {
    struct bl_sequences *table;
    size_t capacity;
    uint64_t *hash; /* [capacity] of the ids, NULL for plain lengths */
    struct bl_sequences_columns columns;
    int group_column, together_column, number_column[BL_SEQUENCES_NUMBERS_MAX]; /* their indices in the current file */
    struct bl_groups groups, bundles;
};

/* Returns the value of a known column with its escapes, or the argument `missing` if the file has no such column. */
static const char *columns_value(const struct bl_columns *columns, char *const *field, enum bl_column column,
                                 const char *missing)
{
    int at = columns->place[column];
    return at < 0 ? missing : field[at];
}

/* Makes room for so many rows in all arrays that the table has, which share one capacity. */
static int loader_reserve(struct sequences_loader *l, size_t needed, struct bl_error *e)
{
    struct bl_sequences *t = l->table;
    if (needed <= l->capacity)
        return BL_OK;
    size_t capacity = bl_array_capacity(l->capacity, needed);
    BL_TRY(BL_ARRAY_RESIZE(t->length, capacity, e));
    if (l->hash) {
        BL_TRY(BL_ARRAY_RESIZE(l->hash, capacity, e));
        BL_TRY(BL_ARRAY_RESIZE(t->offset, capacity, e));
    }
    if (l->columns.group_by)
        BL_TRY(BL_ARRAY_RESIZE(t->group, capacity, e));
    if (l->columns.together)
        BL_TRY(BL_ARRAY_RESIZE(t->together, capacity, e));
    for (int k = 0; k < l->columns.numbers; k++)
        BL_TRY(BL_ARRAY_RESIZE(t->number[k], capacity, e));
    l->capacity = capacity;
    return BL_OK;
}

/* Reads the further columns of a row: its group, and its numbers, which are 0 for rows that are not ok. */
static int loader_add_columns(struct sequences_loader *l, const struct bl_sequences_file *file, char **field,
                              int64_t number, enum bl_row_status status, struct bl_error *e)
{
    struct bl_sequences *t = l->table;
    for (int k = 0; k < l->columns.numbers; k++) {
        t->number[k][t->count] = 0;
        if (status != BL_ROW_OK)
            continue;
        const char *text = field[l->number_column[k]];
        char *end = NULL;
        double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1; /* the process is in the C locale */
        t->number[k][t->count] = value;
        if (value < 0 || !isfinite(value) || !end || *end)
            return bl_error_set(e, BL_EUSAGE,
                                "%s:%" PRId64 ": the %s is \"%s\": --%s needs a column of numbers of at least 0",
                                file->path, number, l->columns.number[k].name, text, l->columns.number[k].option);
    }
    if (l->columns.together) {
        const char *bundle = field[l->together_column];
        t->together[t->count] = BL_ALONE;
        if (*bundle)
            BL_TRY(bl_groups_find(&l->bundles, bundle, strlen(bundle), &t->together[t->count], e));
    }
    if (!l->columns.group_by)
        return BL_OK;
    const char *group = field[l->group_column];
    return bl_groups_find(&l->groups, group, strlen(group), &t->group[t->count], e);
}

/* Adds the row of a line, which it splits in place. number: of the line, for messages; offset: of the line in its file.
 * The table keeps kind and sampling of the first ok row, and the number of the first row that differs. */
static int loader_add_row(struct sequences_loader *l, const struct bl_sequences_file *file, char *line, int64_t number,
                          int64_t offset, struct bl_error *e)
{
    const struct bl_columns *columns = &file->columns;
    struct bl_sequences *t = l->table;
    char *field[BL_COLUMNS_MAX];
    int64_t length = 0;
    int fields = bl_columns_split(line, field);
    if (fields != columns->count)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": %d columns where the header has %d", file->path, number,
                            fields, columns->count);
    const char *word = columns_value(columns, field, BL_COLUMN_STATUS, "ok");
    const char *text = field[columns->place[BL_COLUMN_LENGTH]], *id = field[columns->place[BL_COLUMN_ID]];
    const char *reason = columns_value(columns, field, BL_COLUMN_REASON, "");
    int status = bl_row_status_parse(word), least = status == BL_ROW_OK ? 1 : 0;
    if (status < 0)
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": invalid status \"%s\" (ok, skipped, dropped, failed)",
                            file->path, number, word);
    if (!bl_text_to_int(text, strlen(text), least, INT64_MAX, &length))
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": invalid length \"%s\" (expected an integer from %d)",
                            file->path, number, text, least);
    BL_TRY(loader_reserve(l, t->count + 1, e));
    if (status == BL_ROW_OK && t->count < l->columns.rows && l->columns.left_out[t->count]) {
        status = BL_ROW_DROPPED;
        length = 0;
    }
    if (status == BL_ROW_OK) {
        if (__builtin_add_overflow(t->steps, length, &t->steps))
            return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": the lengths add up to more than 2^63", file->path,
                                number);
        const char *kind = bl_columns_unescape(columns, field, BL_COLUMN_KIND, "");
        const char *sampling = bl_columns_unescape(columns, field, BL_COLUMN_SAMPLING, "");
        if (!kind || !sampling)
            return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": invalid escape in kind or sampling", file->path, number);
        if (!t->kind && (!(t->kind = strdup(kind)) || !(t->sampling = strdup(sampling))))
            return bl_error_memory(e);
        if (t->mixed == SIZE_MAX && (strcmp(t->kind, kind) != 0 || strcmp(t->sampling, sampling) != 0))
            t->mixed = t->count;
    }
    BL_TRY(loader_add_columns(l, file, field, number, (enum bl_row_status)status, e));
    l->hash[t->count] = XXH3_64bits(id, strlen(id));
    t->offset[t->count] = offset;
    t->length[t->count++] = status == BL_ROW_OK ? length : 0;
    t->by_status[status]++;
    t->excluded += status == BL_ROW_DROPPED && !length;
    t->held += status == BL_ROW_DROPPED && strcmp(reason, BL_REASON_HELD) == 0;
    if (status == BL_ROW_DROPPED && !length)
        bl_left_out_count(&t->left_out, reason);
    t->damaged += status == BL_ROW_OK && *reason;
    t->empty += status == BL_ROW_SKIPPED && strcmp(reason, BL_REASON_EMPTY) == 0;
    return BL_OK;
}

/* Parses a line of one to seven digits, as nearly all are, 8 bytes at a time. Returns the length, and the line's size
 * in *bytes; 0: another kind of line. */
static int64_t length_parse_plain(const char *text, size_t *bytes)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    word ^= UINT64_C(0x3030303030303030); /* digits become 0 to 9 */
    /* A byte is another character if adding 0x76 to it sets its top bit, or if it has that bit already. */
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

/* Adds such lines from the buffer until one is of another kind. */
static int loader_add_plain(struct sequences_loader *l, struct bl_lines *lines, struct bl_error *e)
{
    struct bl_sequences *t = l->table;
    const char *text;
    size_t size = bl_lines_ahead(lines, &text), at = 0, bytes, first = t->count;
    while (at < size) {
        int64_t length = length_parse_plain(text + at, &bytes);
        /* bl_lines_ahead guarantees 8 readable bytes after the text: a line at its end may be cut. */
        if (length == 0 || bytes > size - at || length > INT64_MAX - t->steps)
            break;
        if (t->count == l->capacity && loader_reserve(l, t->count + 1, e))
            return BL_EFAIL;
        t->steps += length;
        t->length[t->count++] = length;
        at += bytes;
    }
    t->by_status[BL_ROW_OK] += (int64_t)(t->count - first);
    bl_lines_skip(lines, at, (int64_t)(t->count - first));
    return BL_OK;
}

/* Adds the rows of a line "length" or "length count". */
static int loader_add_lengths(struct sequences_loader *l, const char *path, const char *line, size_t size,
                              int64_t number, struct bl_error *e)
{
    struct bl_sequences *t = l->table;
    size_t digits = strcspn(line, " \t\r");
    size_t gap = strspn(line + digits, " \t\r");
    size_t second = strcspn(line + digits + gap, " \t\r");
    size_t tail = strspn(line + digits + gap + second, " \t\r");
    int64_t length, count = 1;
    if (digits + gap + second + tail != size || !bl_text_to_int(line, digits, 1, INT64_MAX, &length))
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": invalid length \"%.60s\" (expected an integer from 1)", path,
                            number, line);
    if (second && !bl_text_to_int(line + digits + gap, second, 0, UINT32_MAX, &count))
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": \"%.60s\" is not \"length count\"", path, number, line);
    int64_t steps;
    if (__builtin_mul_overflow(length, count, &steps) || __builtin_add_overflow(t->steps, steps, &t->steps))
        return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": the lengths add up to more than 2^63", path, number);
    if (loader_reserve(l, t->count + (size_t)count, e))
        return BL_EFAIL;
    for (int64_t i = 0; i < count; i++)
        t->length[t->count++] = length;
    t->by_status[BL_ROW_OK] += count;
    return BL_OK;
}

/* Finds the further columns in the header of a file. */
static int loader_find_columns(struct sequences_loader *l, const struct bl_sequences_file *file, const char *header,
                               struct bl_error *e)
{
    const struct bl_sequences_columns *columns = &l->columns;
    l->group_column = columns->group_by ? bl_columns_find(header, columns->group_by) : 0;
    if (l->group_column < 0)
        return bl_error_set(e, BL_EFAIL, "%s:1: no column \"%s\" to group by", file->path, columns->group_by);
    l->together_column = columns->together ? bl_columns_find(header, columns->together) : 0;
    if (l->together_column < 0)
        return bl_error_set(e, BL_EUSAGE, "%s:1: no column \"%s\" for --together", file->path, columns->together);
    for (int k = 0; k < columns->numbers; k++) {
        l->number_column[k] = bl_columns_find(header, columns->number[k].name);
        if (l->number_column[k] < 0)
            return bl_error_set(e, BL_EUSAGE, "%s:1: no column \"%s\" for --%s", file->path, columns->number[k].name,
                                columns->number[k].option);
    }
    return BL_OK;
}

/* Reads all lines of a file. A list of lengths has no header line. */
static int loader_read_lines(struct sequences_loader *l, struct bl_sequences_file *file, struct bl_lines *lines,
                             struct bl_error *e)
{
    char *line;
    size_t size;
    bool ended;
    for (;;) {
        BL_TRY(bl_lines_next(lines, &line, &size, &ended, e));
        if (!line)
            break;
        if (strlen(line) != size)
            return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": NUL byte: not a text table", file->path, lines->number);
        if (!l->hash) {
            BL_TRY(loader_add_lengths(l, file->path, line, size, lines->number, e));
        } else if (lines->number == 1) {
            BL_TRY(loader_find_columns(l, file, line, e));
            BL_TRY(bl_columns_read(&file->columns, line, file->path, e));
        } else {
            BL_TRY(loader_add_row(l, file, line, lines->number, lines->offset, e));
        }
        if (!ended)
            return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": truncated: the file ends in the middle of a line",
                                file->path, lines->number);
        BL_TRY(l->hash ? BL_OK : loader_add_plain(l, lines, e));
    }
    if (l->hash && !lines->number)
        return bl_error_set(e, BL_EFAIL, "%s is empty: not a table of sequences", file->path);
    return BL_OK;
}

/* Reads a file, and keeps it open unless it is stdin, so that rows can be read back. */
static int loader_read_file(struct sequences_loader *l, const char *path, struct bl_error *e)
{
    struct bl_sequences_file *file = &l->table->file[l->table->files++];
    *file = (struct bl_sequences_file){.fd = -1, .first = l->table->count};
    struct bl_lines lines;
    struct bl_checksum_state sum;
    BL_TRY(bl_dataset_file_lines(&lines, path, e));
    bl_checksum_begin(&sum);
    lines.sum = &sum;
    file->path = strdup(lines.path);
    int code = file->path ? loader_read_lines(l, file, &lines, e) : bl_error_memory(e);
    if (!code)
        file->checksum = bl_checksum_end(&sum);
    if (!code && lines.fd != STDIN_FILENO) {
        file->fd = lines.fd;
        lines.fd = -1;
    }
    bl_lines_close(&lines);
    return code;
}

/* Reads the files as one table. columns may be NULL. On error the table is empty. */
static int sequences_open(struct bl_sequences *t, const char *const *paths, int count, bool lengths,
                          const struct bl_sequences_columns *columns, struct bl_error *e)
{
    *t = (struct bl_sequences){.mixed = SIZE_MAX};
    struct sequences_loader l = {.table = t};
    if (columns)
        l.columns = *columns;
    int code = BL_OK;
    t->file = calloc((size_t)count, sizeof *t->file);
    if (!lengths)
        l.hash = malloc(sizeof *l.hash);
    if (!t->file || (!lengths && !l.hash))
        code = bl_error_memory(e);
    for (int i = 0; i < count && !code; i++)
        code = loader_read_file(&l, paths[i], e);
    if (!code && l.hash && !l.columns.may_repeat)
        code = duplicates_check(t, l.hash, e);
    else if (!code && l.hash && count > 1 && !l.columns.left_out) /* ids repeat in several datasets, not in one */
        code = duplicates_collect(l.hash, t->length, t->count, &t->repeated, &t->repeats, e);
    free(l.hash);
    bl_groups_free(&l.groups);
    bl_groups_free(&l.bundles);
    if (code)
        bl_sequences_close(t);
    return code;
}

int bl_sequences_open(struct bl_sequences *t, const char *const *paths, int count, bool lengths, struct bl_error *e)
{
    return sequences_open(t, paths, count, lengths, NULL, e);
}

int bl_sequences_open_columns(struct bl_sequences *t, const char *const *paths, int count,
                              const struct bl_sequences_columns *columns, struct bl_error *e)
{
    return sequences_open(t, paths, count, false, columns, e);
}

int bl_sequences_open_dataset(struct bl_sequences *t, const char *dir, const struct bl_sequences_columns *columns,
                              struct bl_error *e)
{
    *t = (struct bl_sequences){0};
    char *path = bl_path_join(dir, BL_SEQUENCES_FILE);
    int code = path ? bl_regular_check(path, e) : bl_error_memory(e);
    if (!code)
        code = sequences_open(t, &(const char *){path}, 1, false, columns, e);
    free(path);
    return code;
}

/* Invalid rows are passed over; bl_sequences_open reports them. */
int bl_sequences_peek(const char *path, struct bl_buffer *header, struct bl_buffer *kind, struct bl_error *e)
{
    struct bl_columns columns = {0};
    struct bl_lines lines;
    char *line;
    size_t size;
    char *field[BL_COLUMNS_MAX];
    bool ended, found = false;
    BL_TRY(bl_lines_open(&lines, path, e));
    int code = BL_OK;
    bl_buffer_text(header, "");
    bl_buffer_text(kind, "");
    while (!code && !found) {
        code = bl_lines_next(&lines, &line, &size, &ended, e);
        if (code || !line)
            break;
        if (lines.number == 1) {
            bl_buffer_text(header, line);
            code = bl_columns_read(&columns, line, path, e);
            continue;
        }
        found = bl_columns_split(line, field) == columns.count &&
                bl_row_status_parse(columns_value(&columns, field, BL_COLUMN_STATUS, "ok")) == BL_ROW_OK;
        if (found)
            bl_buffer_text(kind, columns_value(&columns, field, BL_COLUMN_KIND, ""));
    }
    bl_lines_close(&lines);
    free(columns.extra);
    BL_TRY(code);
    if (!header->size)
        return bl_error_set(e, BL_EFAIL, "%s is empty: not a table of sequences", path);
    BL_TRY(bl_buffer_check(header, e));
    return bl_buffer_check(kind, e);
}

/* In a table merged from several, the rows of a file need not be consecutive. */
int bl_sequence_paths_visit(const struct bl_sequences *t,
                            int (*visit)(void *context, const char *path, struct bl_error *e), void *context,
                            struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_groups paths = {0};
    int code = BL_OK;
    for (size_t i = 0; i < t->count && !code; i++) {
        if (!t->length[i])
            continue;
        code = bl_row_reader_read(t, i, &text, e);
        size_t before = paths.count;
        uint32_t group;
        if (!code)
            code = bl_groups_find(&paths, text.row.path, strlen(text.row.path), &group, e);
        if (!code && paths.count > before)
            code = visit(context, text.row.path, e);
    }
    bl_groups_free(&paths);
    bl_row_reader_free(&text);
    return code;
}

/* --- columns of a plan -------------------------------------------------------------------------------------------- */

struct bl_sequences_columns bl_plan_columns_wanted(const char *group_by, const struct bl_plan_options *o)
{
    struct bl_sequences_columns columns = {.group_by = group_by, .together = o->together_column};
    if (o->cost.column) {
        columns.number[0].name = o->cost.column;
        columns.number[columns.numbers++].option = "cost";
    }
    for (int i = 0; i < o->max_column.count; i++) {
        columns.number[columns.numbers].name = o->max_column.each[i].name;
        columns.number[columns.numbers++].option = "max-column";
    }
    for (int i = 0; i < o->capacity.count; i++) {
        columns.number[columns.numbers].name = o->capacity.each[i].name;
        columns.number[columns.numbers++].option = "capacity";
    }
    return columns;
}

/* The capacities become maxima of columns behind those of --max-column, in the place of those that an earlier call has
 * added. */
void bl_plan_columns_set(struct bl_plan_options *o, const uint32_t *group, double *const *number)
{
    struct bl_plan_columns *columns = &o->max_column;
    o->group = group;
    o->column = o->cost.column ? *number++ : NULL;
    while (columns->count && columns->each[columns->count - 1].is_field)
        columns->count--;
    for (int i = 0; i < columns->count; i++)
        columns->each[i].value = *number++;
    for (int i = 0; i < o->capacity.count && columns->count < BL_PLAN_COLUMNS_MAX; i++) {
        columns->each[columns->count] = o->capacity.each[i];
        columns->each[columns->count++].value = *number++;
    }
}
