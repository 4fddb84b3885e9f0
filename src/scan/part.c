/* Reads and writes the parts of a scan by many tasks: text files that are checked by one checksum at their end. A part
 * with one chunk of one row, which is in the format of part.h, is for example:
 *
 *     bload scan part 1: task 0 of 4
 *     columns id<TAB>length<TAB>...
 *     attributes 120 121 labels.csv                  rows, last line, path; nothing if there is no table
 *     stretch 0 0 0 1 0 57 0 -                       number, begin (file, at), end, bytes of rows, of claims, form
 *     (57 bytes: the rows of the chunk, then one claimed line of attributes in each line)
 *     total 1 1 300 0 0 0 0 0                        chunks, rows, steps, skipped, empty, damaged, adjusted, excluded
 *     end 1f0c7a31bb90d2ae                           the checksum of all bytes before this line */
#include "scan/part.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/records.h"
#include "base/text.h"

/* --- progress of a scan ------------------------------------------------------------------------------------------- */

/* Adds a row to the counts. kind: NULL if no totals of columns are needed. */
void bl_scan_progress_count(struct bl_scan_progress *found, const struct bl_kind *kind, const struct bl_row *row)
{
    bool ok = row->status == BL_ROW_OK;
    found->rows++;
    found->steps += ok ? row->length : 0;
    found->skipped += row->status == BL_ROW_SKIPPED;
    found->excluded += row->status == BL_ROW_DROPPED;
    found->empty += bl_row_is_empty(row);
    found->damaged += ok && *row->reason;
    found->adjusted += ok && bl_row_is_adjusted(row);
    /* The totals are sums of columns that the kind names, such as bytes or channels. */
    if (ok && kind)
        bl_kind_add_totals(kind, row, false, &found->totals);
}

/* Adds the counts of one part to those of all. */
void bl_scan_progress_add(struct bl_scan_progress *all, const struct bl_scan_progress *some)
{
    all->rows += some->rows;
    all->steps += some->steps;
    all->skipped += some->skipped;
    all->damaged += some->damaged;
    all->adjusted += some->adjusted;
    all->empty += some->empty;
    all->excluded += some->excluded;
    all->suppressed += some->suppressed;
    for (int t = 0; t < BL_TOTALS_MAX; t++) {
        all->totals.sum[t] += some->totals.sum[t];
        all->totals.rows[t] += some->totals.rows[t];
    }
}

/* --- files of parts ----------------------------------------------------------------------------------------------- */

#define LINE_MAX_BYTES ((size_t)1 << 20) /* of the part's own lines */
#define CHECK_BUFFER ((size_t)1 << 18)

/* The name has five digits, so that listings of the folder are in the order of the tasks. */
int bl_part_path(const char *folder, int64_t task, struct bl_buffer *path, struct bl_error *e)
{
    bl_buffer_printf(path, "%s/scan-%05" PRId64, folder, task);
    return bl_buffer_check(path, e);
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* The file gets its name when it is published, so that a part under its name is always complete. */
int bl_part_create(struct bl_part_writer *w, const char *path, struct bl_error *e)
{
    /* The descriptor is -1 until the file is open, so that bl_part_abort is safe at any time. */
    *w = (struct bl_part_writer){.out = {.fd = -1}};
    bl_checksum_begin(&w->sum);
    return bl_output_own(&w->out, path, e);
}

/* A callback of bl_spill_drain: rows go through the checksum into the file. */
int bl_part_write(void *writer, const void *data, size_t size, struct bl_error *e)
{
    struct bl_part_writer *w = writer;
    /* An empty write would not change the checksum. */
    if (!size)
        return BL_OK;
    bl_checksum_add(&w->sum, data, size);
    return bl_output_write(&w->out, data, size, e);
}

/* Writes w->line, and counts it in the checksum. */
static int part_write_line(struct bl_part_writer *w, struct bl_error *e)
{
    BL_TRY(bl_buffer_check(&w->line, e));
    return bl_part_write(w, w->line.data, w->line.size, e);
}

/* Appends a text, escaped: paths and formats may have newlines, which would end the line. */
static void part_append_text(struct bl_buffer *out, const char *text)
{
    bl_text_escape(out, text, strlen(text));
}

/* Writes the three lines of the head. attributes is NULL if the scan joins no table. */
int bl_part_begin(struct bl_part_writer *w, const struct bl_part_head *head, struct bl_error *e)
{
    bl_buffer_clear(&w->line);
    /* The attributes are the number of rows, the last line and the path of the table. */
    bl_buffer_printf(&w->line, "bload scan part 1: task %" PRId64 " of %" PRId64 "\ncolumns %s\nattributes", head->task,
                     head->tasks, head->columns);
    if (head->attributes) {
        bl_buffer_printf(&w->line, " %" PRId64 " %" PRId64 " ", head->attribute_rows, head->attribute_line);
        part_append_text(&w->line, head->attributes);
    }
    bl_buffer_byte(&w->line, '\n');
    return part_write_line(w, e);
}

/* Begins a line: the word, then each number after a blank. */
static void part_format_numbers(struct bl_part_writer *w, const char *word, const int64_t *number, size_t count)
{
    bl_buffer_clear(&w->line);
    bl_buffer_text(&w->line, word);
    for (size_t i = 0; i < count; i++) {
        bl_buffer_byte(&w->line, ' ');
        bl_buffer_int(&w->line, number[i]);
    }
}

/* Writes the line of a chunk, which precedes its rows. The last value is "-", or "=" and the format of the steps: an
 * empty format differs from none. */
int bl_part_chunk(struct bl_part_writer *w, const struct bl_part_chunk *s, struct bl_error *e)
{
    const int64_t numbers[] = {s->number, s->begin.file, s->begin.at, s->end.file, s->end.at, s->bytes, s->claimed};
    part_format_numbers(w, "stretch", numbers, sizeof numbers / sizeof *numbers);
    bl_buffer_text(&w->line, s->form ? " =" : " -");
    part_append_text(&w->line, s->form ? s->form : "");
    bl_buffer_byte(&w->line, '\n');
    return part_write_line(w, e);
}

/* Writes the totals and the checksum, publishes the file, and frees the writer, also after errors. */
int bl_part_publish(struct bl_part_writer *w, int64_t chunks, const struct bl_scan_progress *found, struct bl_error *e)
{
    /* The order is that of the format in the comment of this file. */
    const int64_t numbers[] = {chunks,       found->rows,    found->steps,    found->skipped,
                               found->empty, found->damaged, found->adjusted, found->excluded};
    part_format_numbers(w, "total", numbers, sizeof numbers / sizeof *numbers);
    bl_buffer_byte(&w->line, '\n');
    int code = part_write_line(w, e);
    bl_buffer_clear(&w->line);
    bl_buffer_printf(&w->line, "end %016" PRIx64 "\n", bl_checksum_end(&w->sum));
    if (!code)
        code = part_write_line(w, e);
    if (!code)
        code = bl_output_publish(&w->out, e);
    bl_part_abort(w);
    return code;
}

void bl_part_abort(struct bl_part_writer *w)
{
    bl_output_abort(&w->out);
    bl_buffer_free(&w->line);
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* The message tells users what to do: only this task must run again. */
int bl_part_damaged(const struct bl_part *p, const char *why, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA,
                        "%s is damaged: %s (remove it, and run task %" PRId64 "/%" PRId64 " of bload scan again)",
                        p->path, why, p->head.task, p->head.tasks);
}

/* Reads the next bytes of the file into the buffer. The file is opened for each read, so that the limit of open
 * files does not limit the number of tasks. BL_EDATA: the file ends. */
static int part_fill(struct bl_part *p, struct bl_error *e)
{
    int fd = bl_regular_open(p->path, e);
    if (fd < 0)
        return fd;
    /* A signal may interrupt the call, which then starts again. */
    ssize_t n;
    do
        n = pread(fd, p->data, p->capacity, p->at);
    while (n < 0 && errno == EINTR);
    int code = n < 0 ? bl_error_errno(e, BL_EFAIL, "cannot read %s", p->path) : BL_OK;
    close(fd); /* read only: its error loses nothing */
    p->begin = 0;
    p->end = code ? 0 : (size_t)n;
    p->at += (int64_t)p->end;
    if (!code && n == 0)
        code = bl_part_damaged(p, "it ends early", e);
    return code;
}

/* Gives the next bytes of the part, at most max, valid until the next call. BL_EDATA: the file ends early. */
int bl_part_read(struct bl_part *p, int64_t max, const char **data, size_t *size, struct bl_error *e)
{
    BL_TRY(p->begin == p->end ? part_fill(p, e) : BL_OK);
    size_t left = p->end - p->begin;
    *data = p->data + p->begin;
    *size = max < (int64_t)left ? (size_t)max : left;
    /* Each byte counts once, when it leaves the buffer. */
    bl_checksum_add(&p->sum, *data, *size);
    p->begin += *size;
    return BL_OK;
}

/* Reads a line into p->line, without its newline. A line longer than 1 MiB is damage: the limit bounds the memory. */
static int part_read_line(struct bl_part *p, struct bl_error *e)
{
    bl_buffer_clear(&p->line);
    for (bool ended = false; !ended;) {
        BL_TRY(p->begin == p->end ? part_fill(p, e) : BL_OK);
        const char *at = p->data + p->begin, *newline = memchr(at, '\n', p->end - p->begin);
        size_t size = newline ? (size_t)(newline - at) : p->end - p->begin;
        ended = newline != NULL;
        bl_buffer_append(&p->line, at, size);
        bl_checksum_add(&p->sum, at, size + ended);
        p->begin += size + ended;
        BL_TRY(bl_buffer_check(&p->line, e));
        if (p->line.size > LINE_MAX_BYTES)
            return bl_part_damaged(p, "a line without end", e);
    }
    return BL_OK;
}

/* Returns the text after this word at the beginning of the line, or NULL if the line begins with another word. */
static const char *line_after(const struct bl_part *p, const char *word)
{
    size_t size = strlen(word);
    return strncmp(p->line.data, word, size) == 0 ? p->line.data + size : NULL;
}

/* Parses whole numbers, each after a blank, and moves *at behind the last one. Returns false if one is missing or
 * invalid. */
static bool line_parse_numbers(const char **at, int64_t *number, int count)
{
    for (int i = 0; i < count; i++) {
        size_t size = **at == ' ' ? strcspn(*at + 1, " ") : 0;
        if (!size || !bl_text_to_int(*at + 1, size, 0, INT64_MAX, &number[i]))
            return false;
        *at += 1 + size;
    }
    return true;
}

/* Reads the three lines of the head, and checks that the part is that of this task. The first line has the version
 * of the format. */
static int part_read_head(struct bl_part *p, struct bl_error *e)
{
    char first[128];
    int64_t number[2];
    /* The line is compared as a whole: a part of 3 tasks does not fit a scan of 4. */
    snprintf(first, sizeof first, "bload scan part 1: task %" PRId64 " of %" PRId64, p->head.task, p->head.tasks);
    BL_TRY(part_read_line(p, e));
    if (strcmp(p->line.data, first) != 0)
        return bl_part_damaged(p, "its first line is not that of this task's part", e);
    BL_TRY(part_read_line(p, e));
    const char *columns = line_after(p, "columns ");
    if (!columns)
        return bl_part_damaged(p, "no line of columns", e);
    bl_buffer_text(&p->columns, columns);
    p->head.columns = p->columns.data;
    BL_TRY(bl_buffer_check(&p->columns, e));
    BL_TRY(part_read_line(p, e));
    const char *at = line_after(p, "attributes");
    if (!at)
        return bl_part_damaged(p, "no line of attributes", e);
    if (!*at)
        return BL_OK;
    /* A greater line number would make the merge allocate too much memory. */
    if (!line_parse_numbers(&at, number, 2) || number[1] > (int64_t)BL_CSV_MAX || *at != ' ')
        return bl_part_damaged(p, "an invalid line of attributes", e);
    bl_buffer_text(&p->attributes, at + 1);
    BL_TRY(bl_buffer_check(&p->attributes, e));
    int64_t size = bl_text_unescape(p->attributes.data, p->attributes.size);
    if (size < 0)
        return bl_part_damaged(p, "an invalid line of attributes", e);
    p->attributes.size = (size_t)size;
    p->attributes.data[size] = '\0';
    p->head.attribute_rows = number[0];
    p->head.attribute_line = number[1];
    p->head.attributes = p->attributes.data;
    return BL_OK;
}

int bl_part_open(struct bl_part *p, const char *folder, int64_t task, int64_t tasks, size_t capacity,
                 struct bl_error *e)
{
    struct bl_buffer path = {0};
    *p = (struct bl_part){.head = {.task = task, .tasks = tasks}, .capacity = capacity};
    bl_checksum_begin(&p->sum);
    int code = bl_part_path(folder, task, &path, e);
    p->path = path.data;
    if (code)
        goto out;
    p->data = malloc(capacity);
    code = p->data ? part_read_head(p, e) : bl_error_memory(e);
out:
    if (code)
        bl_part_close(p);
    return code;
}

/* Reads the end of the part. at: the numbers of the line "total". The checksum covers all bytes before the line
 * "end", so it is taken before that line is read. */
static int part_read_end(struct bl_part *p, const char *at, struct bl_error *e)
{
    int64_t number[8];
    uint64_t sum = bl_checksum_end(&p->sum), expected;
    if (!line_parse_numbers(&at, number, 8) || *at)
        return bl_part_damaged(p, "an invalid line of totals", e);
    BL_TRY(part_read_line(p, e));
    const char *digest = line_after(p, "end ");
    if (!digest || !bl_checksum_parse(digest, &expected) || expected != sum)
        return bl_part_damaged(p, "wrong checksum", e);
    p->chunks = number[0];
    p->found = (struct bl_scan_progress){.rows = number[1],
                                         .steps = number[2],
                                         .skipped = number[3],
                                         .empty = number[4],
                                         .damaged = number[5],
                                         .adjusted = number[6],
                                         .excluded = number[7]};
    return BL_OK;
}

/* Reads the line of the next chunk, or the end of the part: *found is then false, and p->found has the totals. The
 * rows of the chunk must be read with bl_part_read before the next call. s->form is valid until then. */
int bl_part_next(struct bl_part *p, struct bl_part_chunk *s, bool *found, struct bl_error *e)
{
    int64_t n[7];
    *found = false;
    BL_TRY(part_read_line(p, e));
    const char *at = line_after(p, "total");
    if (at)
        return part_read_end(p, at, e);
    at = line_after(p, "stretch");
    /* The sum of both sizes must not overflow. */
    if (!at || !line_parse_numbers(&at, n, 7) || at[0] != ' ' || (at[1] != '-' && at[1] != '=') ||
        n[5] > INT64_MAX - n[6])
        return bl_part_damaged(p, "neither a chunk nor the end", e);
    *s = (struct bl_part_chunk){
        .number = n[0], .begin = {n[1], n[2]}, .end = {n[3], n[4]}, .bytes = n[5], .claimed = n[6]};
    *found = true;
    if (at[1] == '-')
        return BL_OK;
    int64_t size = bl_text_unescape((char *)at + 2, strlen(at + 2));
    if (size < 0)
        return bl_part_damaged(p, "an invalid form", e);
    ((char *)at)[2 + size] = '\0';
    s->form = at + 2;
    return BL_OK;
}

void bl_part_close(struct bl_part *p)
{
    free(p->path);
    free(p->data);
    bl_buffer_free(&p->line);
    bl_buffer_free(&p->columns);
    bl_buffer_free(&p->attributes);
    p->path = p->data = NULL;
}

/* Reads a whole part to check its checksum. *found: false if the task has no part yet. *counts: its totals. */
int bl_part_check(const char *folder, int64_t task, int64_t tasks, struct bl_scan_progress *counts, bool *found,
                  struct bl_error *e)
{
    struct bl_part part;
    struct bl_buffer path = {0};
    int code = bl_part_path(folder, task, &path, e);
    *found = false;
    if (!code)
        code = bl_fs_exists(path.data, found, e);
    bl_buffer_free(&path);
    if (code || !*found)
        return code;
    BL_TRY(bl_part_open(&part, folder, task, tasks, CHECK_BUFFER, e));
    for (bool more = true; more && !code;) {
        struct bl_part_chunk chunk;
        code = bl_part_next(&part, &chunk, &more, e);
        const char *data;
        size_t size = 0;
        /* Rows and claims are read and not kept: only their checksum matters. */
        for (int64_t left = code || !more ? 0 : chunk.bytes + chunk.claimed; left && !code; left -= (int64_t)size)
            code = bl_part_read(&part, left, &data, &size, e);
    }
    *counts = part.found;
    bl_part_close(&part);
    return code;
}
