/* Merges the parts of many tasks: reads their chunks in turn, task 0, 1, ..., N - 1, 0, ..., and copies the rows.
 *
 * A chunk without a form is copied byte by byte. Only a row that has a form is parsed, since it may have to become a
 * skipped row. Parts are opened for one read and closed again, so that the limit of open files does not limit the
 * tasks. */
#include "scan/merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "scan/chunk_rows.h"
#include "scan/part.h"
#include "store/columns.h"

/* The memory of all buffers is bounded, and so each buffer becomes smaller with the number of tasks; below 16 KiB,
 * opening a part for each read would take most of the time. */
#define MEMORY ((int64_t)128 << 20) /* bytes of the buffers of all parts */
#define BUFFER_MIN ((int64_t)16 << 10)
#define BUFFER_MAX ((int64_t)1 << 20)

/* The merge: the state of the table that all parts make together. */
struct merging {
    const struct bl_merge *merge;
    struct bl_output *out;
    struct bl_merged *merged;
    struct bl_part *part; /* [tasks] */
    int64_t opened;
    struct bl_part_place place; /* where the previous chunk ends */
    struct bl_step_formats forms;
    struct bl_buffer row, id, path, kind, reason, line;
    uint8_t *claimed; /* one bit for each line of the table of attributes; or NULL */
};

/* Returns the first task without a part, or -1 if all parts are there. */
int64_t bl_merge_find_missing(const char *folder, int64_t tasks)
{
    for (int64_t task = 0; task < tasks; task++) {
        struct bl_buffer path = {0};
        /* The error is not needed: a part that cannot be seen is missing. */
        bool there = bl_part_path(folder, task, &path, NULL) == BL_OK && access(path.data, F_OK) == 0;
        bl_buffer_free(&path);
        if (!there)
            return task;
    }
    return -1;
}

/* --- parts ------------------------------------------------------------------------------------------------------ */

/* Sets the error for two parts that do not belong to the same scan. why: the difference. */
static int merge_mismatch(const struct merging *m, const char *a, const char *b, const char *why, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "%s and %s do not match: %s (remove %s/scan-* and scan again)", a, b, why,
                        m->merge->folder);
}

/* Opens all parts and compares their heads with that of the first one. The set of claimed lines has one bit a line. */
static int merge_open_parts(struct merging *m, struct bl_error *e)
{
    int64_t tasks = m->merge->tasks, buffer_size = MEMORY / tasks;
    buffer_size = buffer_size < BUFFER_MIN ? BUFFER_MIN : buffer_size > BUFFER_MAX ? BUFFER_MAX : buffer_size;
    /* The checksum states in the parts need the alignment. */
    m->part = aligned_alloc(64, (size_t)tasks * sizeof *m->part);
    if (!m->part)
        return bl_error_memory(e);
    for (; m->opened < tasks; m->opened++)
        BL_TRY(bl_part_open(&m->part[m->opened], m->merge->folder, m->opened, tasks, (size_t)buffer_size, e));
    const struct bl_part *first = &m->part[0];
    const struct bl_part_head *head = &first->head;
    for (int64_t t = 1; t < tasks; t++) {
        const struct bl_part *p = &m->part[t];
        /* The columns depend on options, so that different ones mean different scans. */
        if (strcmp(p->head.columns, head->columns) != 0)
            return merge_mismatch(m, first->path, p->path, "their tables have different columns", e);
        if (p->head.attribute_rows != head->attribute_rows || p->head.attribute_line != head->attribute_line ||
            !p->head.attributes != !head->attributes)
            return merge_mismatch(m, first->path, p->path, "they were joined with different tables of attributes", e);
    }
    if (!head->attributes)
        return BL_OK;
    m->claimed = calloc((size_t)head->attribute_line / 8 + 1, 1);
    return m->claimed ? BL_OK : bl_error_memory(e);
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* Returns the unescaped value of a column, which lies in out, or NULL if an escape is invalid. */
static const char *part_line_value(const char *const *column, enum bl_column c, struct bl_buffer *out)
{
    bl_buffer_clear(out);
    /* The tab behind the value is left out. */
    bl_buffer_append(out, column[c], (size_t)(column[c + 1] - column[c]) - 1);
    int64_t size = out->data && !out->failed ? bl_text_unescape(out->data, out->size) : -1;
    if (size < 0)
        return NULL;
    out->data[size] = '\0';
    return out->data;
}

/* Writes a row as a skipped row: length 0, the status and reason of `row`, and all other columns as they are. */
static int merge_write_skipped(struct merging *m, const char *const *column, const struct bl_row *row,
                               struct bl_error *e)
{
    /* The line begins with the id and its tab. */
    bl_buffer_clear(&m->line);
    bl_buffer_append(&m->line, column[BL_COLUMN_ID], (size_t)(column[BL_COLUMN_LENGTH] - column[BL_COLUMN_ID]));
    bl_buffer_text(&m->line, "0\t");
    bl_buffer_append(&m->line, column[BL_COLUMN_KIND], (size_t)(column[BL_COLUMN_STATUS] - column[BL_COLUMN_KIND]));
    bl_buffer_printf(&m->line, "%s\t", bl_row_status_name(row->status));
    bl_text_escape(&m->line, row->reason, strlen(row->reason));
    bl_buffer_byte(&m->line, '\t');
    bl_buffer_text(&m->line, column[BL_COLUMN_SAMPLING]); /* and all that follows */
    BL_TRY(bl_buffer_check(&m->line, e));
    return bl_output_write(m->out, m->line.data, m->line.size, e);
}

/* Writes a row that has a format of steps. It becomes a skipped row if the format differs from that of the first
 * such row, which only the merge knows. */
static int merge_write_row(struct merging *m, struct bl_part *p, const char *form, struct bl_error *e)
{
    const char *column[BL_COLUMNS], *line = m->row.data;
    struct bl_row row = {.status = BL_ROW_OK};
    bool good = true;
    /* column[c] is the beginning of column c; its end is one byte before the beginning of the next one. */
    for (int c = 0; c < BL_COLUMNS && good; c++) {
        column[c] = line;
        line += strcspn(line, "\t\n");
        good = c + 1 == BL_COLUMNS || *line++ == '\t';
    }
    good = good && (row.id = part_line_value(column, BL_COLUMN_ID, &m->id)) &&
           (row.path = part_line_value(column, BL_COLUMN_PATH, &m->path)) &&
           (row.kind = part_line_value(column, BL_COLUMN_KIND, &m->kind));
    if (!good)
        return bl_part_damaged(p, "an invalid row", e);
    BL_TRY(bl_step_formats_check(&m->forms, form, &row, &m->reason, e));
    if (row.status == BL_ROW_OK)
        return bl_output_write(m->out, m->row.data, m->row.size, e);
    /* The part counted the row as usable: the sum of all parts must not. */
    struct bl_scan_progress *found = &m->merged->found;
    int64_t length = 0;
    (void)bl_text_to_int(column[BL_COLUMN_LENGTH], strcspn(column[BL_COLUMN_LENGTH], "\t"), 0, INT64_MAX, &length);
    found->skipped++;
    found->steps -= length;
    /* The row had a reason, so that it counted as damaged. */
    found->damaged -= column[BL_COLUMN_REASON][0] != '\t';
    BL_TRY(merge_write_skipped(m, column, &row, e));
    return m->merge->fault(m->merge->sink, &row, e);
}

/* Reads the only row of a chunk with a format, and writes it. The format is copied, since reading overwrites it. */
static int merge_read_row(struct merging *m, struct bl_part *p, const struct bl_part_chunk *chunk, struct bl_error *e)
{
    struct bl_buffer form = {0};
    bl_buffer_text(&form, chunk->form);
    int code = bl_buffer_check(&form, e);
    bl_buffer_clear(&m->row);
    if (chunk->bytes > BL_LINE_MAX)
        code = bl_part_damaged(p, "a row without end", e);
    /* The row may lie in several buffers. */
    for (int64_t left = chunk->bytes; left && !code;) {
        const char *data;
        size_t size = 0;
        code = bl_part_read(p, left, &data, &size, e);
        bl_buffer_append(&m->row, data, size);
        left -= (int64_t)size;
    }
    if (!code)
        code = bl_buffer_check(&m->row, e);
    if (!code)
        code = m->row.size ? merge_write_row(m, p, form.data, e) : bl_part_damaged(p, "a form without a row", e);
    bl_buffer_free(&form);
    return code;
}

/* Reads the numbers of the attribute lines that the rows of a chunk claimed, one in each line. BL_EFAIL: another
 * sequence has claimed one of them. A number may be cut by the end of a buffer, so digits are taken one by one. */
static int merge_claim_all(struct merging *m, struct bl_part *p, int64_t bytes, struct bl_error *e)
{
    int64_t line = 0;
    const char *data;
    size_t size = 0;
    for (int64_t left = bytes; left; left -= (int64_t)size) {
        BL_TRY(bl_part_read(p, left, &data, &size, e));
        for (size_t i = 0; i < size; i++) {
            /* The limit keeps the number below 2^63. */
            if (data[i] >= '0' && data[i] <= '9' && line < INT64_MAX / 100) {
                line = line * 10 + data[i] - '0';
                continue;
            }
            if (data[i] != '\n')
                return bl_part_damaged(p, "an invalid number", e);
            if (!m->claimed || line > p->head.attribute_line)
                return bl_part_damaged(p, "a line of attributes that does not exist", e);
            uint8_t *bits = &m->claimed[line / 8], bit = (uint8_t)(1u << line % 8);
            if (*bits & bit)
                return bl_error_set(e, BL_EFAIL, "%s:%" PRId64 ": two sequences match the id of this row: use full ids",
                                    p->head.attributes, line);
            *bits |= bit;
            m->merged->unused--;
            /* The count of unused attributes begins at all rows. */
            line = 0;
        }
    }
    return BL_OK;
}

/* Writes the rows of a chunk. BL_EDATA: it is not the chunk of this number. BL_EFAIL: it does not begin where the
 * previous one ended, so the inputs changed between two tasks. */
static int merge_chunk(struct merging *m, struct bl_part *p, int64_t number, const struct bl_part_chunk *chunk,
                       struct bl_error *e)
{
    if (chunk->number != number)
        return bl_part_damaged(p, "a chunk of another task", e);
    if (chunk->begin.file != m->place.file || chunk->begin.at != m->place.at) {
        const struct bl_part *before = &m->part[(number + m->merge->tasks - 1) % m->merge->tasks];
        return merge_mismatch(m, before->path, p->path, "the inputs changed between these tasks", e);
    }
    m->place = chunk->end;
    const struct bl_part_chunk s = *chunk; /* a copy, since reading further overwrites the form */
    if (s.form)
        BL_TRY(merge_read_row(m, p, &s, e));
    size_t size = 0;
    for (int64_t left = s.form ? 0 : s.bytes; left; left -= (int64_t)size) {
        const char *data;
        BL_TRY(bl_part_read(p, left, &data, &size, e));
        BL_TRY(bl_output_write(m->out, data, size, e));
    }
    return merge_claim_all(m, p, s.claimed, e);
}

/* --- chunks -------------------------------------------------------------------------------------------------- */

/* Merges all chunks, in order. When the first part ends, all must have ended. */
static int merge_chunks(struct merging *m, struct bl_error *e)
{
    int64_t number = 0, ended = 0, tasks = m->merge->tasks;
    while (ended < tasks) {
        struct bl_part *p = &m->part[(number + ended) % tasks];
        struct bl_part_chunk chunk;
        bool found;
        if (m->merge->cancel && bl_cancelled(m->merge->cancel))
            return BL_ECANCEL;
        BL_TRY(bl_part_next(p, &chunk, &found, e));
        if (found ? ended > 0 : p->chunks != number)
            return merge_mismatch(m, m->part[0].path, p->path, "these tasks found different numbers of inputs", e);
        if (found) {
            BL_TRY(merge_chunk(m, p, number++, &chunk, e));
        } else {
            ended++;
            bl_scan_progress_add(&m->merged->found, &p->found);
        }
        if (m->merge->tick)
            m->merge->tick(m->merge->sink, number);
    }
    return BL_OK;
}

int bl_merge_run(const struct bl_merge *merge, struct bl_output *out, struct bl_merged *merged, struct bl_error *e)
{
    struct merging m = {.merge = merge, .out = out, .merged = merged};
    *merged = (struct bl_merged){0};
    int code = merge_open_parts(&m, e);
    if (!code) {
        const struct bl_part_head *head = &m.part[0].head;
        code = bl_output_write(out, head->columns, strlen(head->columns), e);
        merged->unused = head->attribute_rows;
        merged->attributes = head->attributes ? strdup(head->attributes) : NULL;
        if (!code && head->attributes && !merged->attributes)
            code = bl_error_memory(e);
    }
    if (!code)
        code = bl_output_write(out, "\n", 1, e);
    if (!code)
        code = merge_chunks(&m, e);
    while (m.opened)
        bl_part_close(&m.part[--m.opened]);
    free(m.part);
    free(m.claimed);
    bl_step_formats_free(&m.forms);
    struct bl_buffer *const buffers[] = {&m.row, &m.id, &m.path, &m.kind, &m.reason, &m.line};
    for (size_t b = 0; b < sizeof buffers / sizeof *buffers; b++)
        bl_buffer_free(buffers[b]);
    return code;
}
