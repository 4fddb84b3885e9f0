/* plan.tsv: writing and reading a plan as text.
 *
 * A plan may have billions of digits, so that writing avoids printf, and reading grows all arrays together. Most checks
 * are made line by line, for messages with a line number; bl_plan_check then checks the complete plan. */
#include "store/plan_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/io.h"
#include "base/text.h"
#include "plan/limits.h"

/* Rows are formatted into a chunk of memory, four digits at a time from a table of all four-digit numbers. */
enum { CHUNK = 1 << 18, ROW_MAX = (5 + 2 * BL_PLAN_COLUMNS_MAX) * 21, FOURS = 10000 };

struct plan_writer {
    uint32_t *four; /* [FOURS] the four digits of each number, the first one in the lowest byte */
    char *chunk;    /* [CHUNK + 2 * ROW_MAX] */
};

/* Copies four digits, and returns the address after them. */
static char *digits_put_four(char *to, uint32_t digits)
{
    memcpy(to, &digits, sizeof digits);
    return to + sizeof digits;
}

/* Writes a number and the character `end`, and returns the address after them. The first group of four digits is
 * shifted, so that its leading zeros fall away; up to three bytes after the number may be overwritten. */
static char *digits_put(char *to, const uint32_t *four, uint64_t value, char end)
{
    /* The groups are found from the last to the first, and written in reverse. */
    uint32_t after[4]; /* up to five groups of four digits */
    int n = 0;
    for (; value >= FOURS; value /= FOURS)
        after[n++] = (uint32_t)(value % FOURS);
    unsigned zeros = (value < 1000) + (value < 100) + (value < 10);
    to = digits_put_four(to, four[value] >> 8 * zeros) - zeros;
    while (n > 0)
        to = digits_put_four(to, four[after[--n]]);
    *to++ = end;
    return to;
}

/* Writes the chunk to the file and empties it, if it holds at least `least` bytes. *to: the end of its text. */
static int plan_writer_flush(const struct plan_writer *w, char **to, size_t least, struct bl_output *out,
                             struct bl_error *e)
{
    size_t size = (size_t)(*to - w->chunk);
    if (size < least)
        return BL_OK;
    *to = w->chunk;
    return bl_output_write(out, w->chunk, size, e);
}

/* Writes the start and the steps of each own field of piece p, a tab before each. start: [fields] where the steps of
 * the piece begin, which are moved to its end. */
static char *digits_put_own(char *to, const uint32_t *four, const struct bl_plan *plan, size_t p,
                            int64_t start[BL_PLAN_COLUMNS_MAX])
{
    for (int f = 0; f < plan->own.count; f++) {
        int64_t steps = bl_plan_own_length(plan, f, p);
        to[-1] = '\t';
        to = digits_put(to, four, (uint64_t)start[f], '\t');
        to = digits_put(to, four, (uint64_t)steps, '\n');
        start[f] += steps;
    }
    return to;
}

/* Formats the pieces of block b at *at. The digits of the block are made once, and copied to each row. */
static int plan_writer_block(const struct plan_writer *w, char **at, const struct bl_plan *plan, const int64_t *length,
                             size_t b, struct bl_output *out, struct bl_error *e)
{
    char number[24] = {0}, *to = *at;
    size_t size = (size_t)(digits_put(number, w->four, b, '\t') - number);
    int64_t start = 0, end = plan->block_ptr[b + 1], own[BL_PLAN_COLUMNS_MAX] = {0};
    int code = BL_OK;
    for (int64_t p = plan->block_ptr[b]; p < end && !code; p++) {
        bl_plan_prefetch_length(plan, length, (size_t)p);
        int64_t steps = bl_plan_piece_length(plan, length, (size_t)p);
        memcpy(to, number, sizeof number);
        to = digits_put(to + size, w->four, plan->sequence[p], '\t');
        to = digits_put(to, w->four, (uint64_t)start, '\t');
        to = digits_put(to, w->four, (uint64_t)steps, '\t');
        to = digits_put(to, w->four, plan->source_start ? (uint64_t)plan->source_start[p] : 0, '\n');
        to = digits_put_own(to, w->four, plan, (size_t)p, own);
        start = bl_plan_next_start(plan, start, steps);
        code = plan_writer_flush(w, &to, CHUNK, out, e);
    }
    *at = to;
    return code;
}

/* Appends the header line: the columns of every plan, then NAME.start and NAME.length of each own field. */
static void plan_table_header(const struct bl_plan *plan, struct bl_buffer *out)
{
    bl_buffer_append(out, BL_PLAN_TABLE_HEADER, strlen(BL_PLAN_TABLE_HEADER) - 1);
    for (int f = 0; f < plan->own.count; f++)
        bl_buffer_printf(out, "\t%s.start\t%s.length", plan->own.field[f].name, plan->own.field[f].name);
    bl_buffer_byte(out, '\n');
}

int bl_plan_table_write(struct bl_output *out, const struct bl_plan *plan, const int64_t *length, struct bl_error *e)
{
    static const char zeros[] =
        "\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0"; /* of an empty block, for each own field */
    struct plan_writer w = {malloc(FOURS * sizeof *w.four), malloc(CHUNK + 2 * ROW_MAX)};
    struct bl_buffer header = {0};
    char *to = w.chunk;
    int code = BL_OK;
    if (!w.four || !w.chunk) {
        code = bl_error_memory(e);
        goto out;
    }
    for (uint32_t i = 0; i < FOURS; i++)
        w.four[i] = UINT32_C(0x30303030) + (i / 1000 | i / 100 % 10 << 8 | i / 10 % 10 << 16 | i % 10 << 24);
    plan_table_header(plan, &header);
    code = bl_buffer_check(&header, e);
    if (!code)
        code = bl_output_write(out, header.data, header.size, e);
    for (size_t b = 0; b < plan->blocks && !code; b++) {
        if (plan->block_ptr[b] == plan->block_ptr[b + 1])
            to += sprintf(to, "%zu\t-1\t0\t0\t0%.*s\n", b, 4 * plan->own.count, zeros);
        code = plan_writer_block(&w, &to, plan, length, b, out, e);
        if (!code)
            code = plan_writer_flush(&w, &to, CHUNK, out, e);
    }
    if (!code)
        code = plan_writer_flush(&w, &to, 0, out, e);
out:
    bl_buffer_free(&header);
    free(w.four);
    free(w.chunk);
    return code;
}

/* A plan that is being read: its arrays grow together. */
struct plan_reader {
    struct bl_plan *plan;
    size_t count; /* sequences in the table */
    size_t piece_capacity, block_capacity;
    int64_t end;                      /* end of the last piece in its block */
    int64_t own[BL_PLAN_COLUMNS_MAX]; /* the same, of own steps */
    struct bl_alignment alignment;
};

/* The columns of the table, in order. */
enum { BLOCK, SEQUENCE, START, LENGTH, SOURCE_START, VALUES, VALUES_MAX = VALUES + 2 * BL_PLAN_COLUMNS_MAX };

/* Checks the own steps of a piece, which follow from its sequence: they begin where those of the piece before end. */
static int plan_reader_check_own(struct plan_reader *r, const int64_t *v, struct bl_error *e)
{
    for (int f = 0; f < r->plan->own.count; f++) {
        const struct bl_plan_own_field *field = &r->plan->own.field[f];
        int64_t start = v[VALUES + 2 * f], steps = v[VALUES + 2 * f + 1];
        /* The table may have anything: bl_plan_check has not seen its lengths yet. */
        double all = v[SEQUENCE] < 0 || v[SOURCE_START] ? 0 : field->length[v[SEQUENCE]];
        if (start != (v[SEQUENCE] < 0 ? 0 : r->own[f]) || steps > BL_T_MAX || (double)steps != all)
            return bl_error_set(e, BL_EFAIL,
                                "%" PRId64 " steps of %s from %" PRId64 " on: the sequence has %.15g"
                                ", which begin at %" PRId64,
                                steps, field->name, start, all, r->own[f]);
        r->own[f] += steps;
    }
    return BL_OK;
}

/* Adds a row to the plan, after checks of what a single row and the one before it show. v: [VALUES_MAX]. */
static int plan_reader_add(struct plan_reader *r, const int64_t *v, struct bl_error *e)
{
    struct bl_plan *p = r->plan;
    if (v[BLOCK] != (int64_t)p->blocks && (!p->blocks || v[BLOCK] != (int64_t)p->blocks - 1))
        return bl_error_set(e, BL_EFAIL,
                            "block %" PRId64 " after %zu blocks: rows must be ordered by block, then start", v[BLOCK],
                            p->blocks);
    if (v[SEQUENCE] < 0 && (v[LENGTH] || v[START] || v[SOURCE_START] || v[BLOCK] < (int64_t)p->blocks))
        return bl_error_set(e, BL_EFAIL, "the sequence -1 is only for empty blocks, with 0 in the other columns");
    if (v[SEQUENCE] >= 0 && v[LENGTH] < 1)
        return bl_error_set(e, BL_EFAIL, "a piece of %" PRId64 " steps", v[LENGTH]);
    if (v[SEQUENCE] >= (int64_t)r->count)
        return bl_error_set(e, BL_EFAIL, "no sequence %" PRId64 ": the table has %zu rows", v[SEQUENCE], r->count);
    /* block_ptr always has its end: after each row, the plan so far is complete. */
    if (BL_ARRAY_RESERVE(p->block_ptr, r->block_capacity, p->blocks + 2, e) ||
        bl_plan_reserve(p, &r->piece_capacity, p->pieces + 1, e))
        return BL_EFAIL;
    if (v[BLOCK] == (int64_t)p->blocks) {
        p->block_ptr[p->blocks++] = (int64_t)p->pieces;
        p->block_ptr[p->blocks] = (int64_t)p->pieces;
        r->end = 0;
        memset(r->own, 0, sizeof r->own);
    }
    BL_TRY(plan_reader_check_own(r, v, e));
    if (v[SEQUENCE] < 0)
        return BL_OK;
    if (!bl_alignment_add(&r->alignment, r->end, v[START]))
        return bl_error_set(e, BL_EFAIL, "a piece starts at %" PRId64 ", but the previous piece ends at %" PRId64,
                            v[START], r->end);
    if (v[LENGTH] > p->T - v[START])
        return bl_error_set(e, BL_EFAIL, "block %" PRId64 " is longer than T = %" PRId64, v[BLOCK], p->T);
    r->end = v[START] + v[LENGTH];
    p->sequence[p->pieces] = (uint32_t)v[SEQUENCE];
    p->length[p->pieces] = v[LENGTH];
    p->source_start[p->pieces++] = v[SOURCE_START];
    p->block_ptr[p->blocks] = (int64_t)p->pieces;
    return BL_OK;
}

/* Parses a row: integers divided by tabs, of which only the sequence may be -1. Returns -1 if it is invalid. */
static int plan_row_parse(const char *line, int values, int64_t *value)
{
    for (int v = 0; v < values; v++) {
        size_t size = strcspn(line, "\t");
        if (!bl_text_to_int(line, size, v == SEQUENCE ? -1 : 0, INT64_MAX, &value[v]))
            return -1;
        line += size;
        if (*line != (v < values - 1 ? '\t' : '\0'))
            return -1;
        line += *line != '\0';
    }
    return 0;
}

/* Reads all lines, and adds their rows to the plan. */
static int plan_reader_read(struct plan_reader *r, struct bl_lines *lines, struct bl_error *e)
{
    const int values = VALUES + 2 * r->plan->own.count;
    struct bl_buffer header = {0};
    char *line;
    size_t size;
    bool ended;
    plan_table_header(r->plan, &header);
    int code = bl_buffer_check(&header, e);
    while (!code) {
        int64_t value[VALUES_MAX];
        code = bl_lines_next(lines, &line, &size, &ended, e);
        if (code || !line)
            break;
        if (!ended)
            code = bl_error_set(e, BL_EFAIL, "truncated: the file ends in the middle of a line");
        else if (lines->number == 1 && (size + 1 != header.size || memcmp(line, header.data, size)))
            code = bl_error_set(e, BL_EFAIL, "not a plan: the header line is not \"%.*s\"", (int)header.size - 1,
                                header.data);
        else if (lines->number > 1 && plan_row_parse(line, values, value))
            code = bl_error_set(e, BL_EFAIL, "not %d integers: \"%.80s\"", values, line);
        else if (lines->number > 1)
            code = plan_reader_add(r, value, e);
        if (code)
            bl_error_prefix(e, "%s:%" PRId64, lines->path, lines->number);
    }
    bl_buffer_free(&header);
    return code;
}

int bl_plan_table_read(struct bl_plan *plan, const char *path, int64_t T, int64_t align, int64_t overlap,
                       const struct bl_plan_own *own, const int64_t *length, size_t count, struct bl_error *e)
{
    *plan = (struct bl_plan){.T = T, .overlap = overlap, .own = *own};
    struct plan_reader r = {.plan = plan, .count = count};
    struct bl_lines lines;
    BL_TRY(bl_lines_open(&lines, path, e));
    int code = plan_reader_read(&r, &lines, e);
    bl_lines_close(&lines);
    if (code)
        goto out;
    plan->align = align;
    if (!bl_alignment_value(&r.alignment))
        code = bl_error_set(e, BL_EFAIL, "%s: the gaps between pieces do not follow from any alignment", path);
    else if (!bl_alignment_is(&r.alignment, align))
        code = bl_error_set(e, BL_EUSAGE,
                            "%s: its starts are multiples of %" PRId64 ", not of --align %" PRId64
                            ": use the --align that bload plan was given",
                            path, r.alignment.divisor, align);
    else if (!plan->pieces)
        code = bl_error_set(e, BL_EFAIL, "%s: the plan is empty", path);
    if (code)
        goto out;
    /* A plan of complete sequences needs neither lengths nor source starts. */
    bool are_complete = true;
    for (size_t p = 0; p < plan->pieces && are_complete; p++)
        are_complete = !plan->source_start[p] && plan->length[p] == length[plan->sequence[p]];
    if (are_complete) {
        free(plan->length);
        free(plan->source_start);
        plan->length = plan->source_start = NULL;
    }
    code = bl_plan_check(plan, length, count, e);
    if (code)
        bl_error_prefix(e, "%s", path);
out:
    if (code)
        bl_plan_free(plan);
    return code;
}
