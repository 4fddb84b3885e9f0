#include "scan/subset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/pipe_copy.h"
#include "base/text.h"
#include "scan/extend.h"
#include "scan/same_content.h"
#include "store/row_reader.h"

#define SPLIT "split" /* the column */
#define TICK_ROWS 64  /* between two looks at the clock, where a row takes no time */

/* Marks are enum bl_left_out, or from here on the number of a condition, then that of a dataset. */
#define MARK_CONDITION BL_LEFT_OUT_OPTIONS
#define MARK_HELD (MARK_CONDITION + BL_TEXTS_MAX)

struct choosing {
    struct bl_subset *subset;
    const struct bl_sequences *table;
    struct bl_row_reader text, twin;
    struct bl_buffer value;
    struct bl_hash seen; /* rows by their content */
    struct bl_extend extend;
    uint8_t part; /* of the last row, for --split */
    int64_t chosen;
};

static enum bl_left_out mark_option(uint8_t mark)
{
    if (mark >= MARK_HELD)
        return BL_LEFT_OUT_EXTEND;
    return mark < MARK_CONDITION ? (enum bl_left_out)mark : BL_LEFT_OUT_WHERE;
}

void bl_subset_free(struct bl_subset *s)
{
    for (int i = 0; i < s->conditions; i++)
        bl_condition_free(&s->condition[i]);
    bl_buffer_free(&s->notes);
    free(s->mark);
    free(s->part);
    free(s->twin);
    s->conditions = 0;
    s->mark = s->part = NULL;
    s->twin = NULL;
}

/* --- columns ---------------------------------------------------------------------------------------------------- */

static bool columns_have(const struct bl_columns *columns, const char *name)
{
    int known = bl_columns_parse(name);
    return known >= 0 ? columns->place[known] >= 0 : bl_columns_find(columns->extra, name) > 0;
}

static int subset_check_column(const struct bl_columns *columns, const char *option, const char *argument,
                               const char *name, const char *path, struct bl_error *e)
{
    struct bl_buffer all = {0};
    if (columns_have(columns, name))
        return BL_OK;
    for (int c = 0; c < BL_COLUMNS; c++) {
        if (columns->place[c] >= 0)
            bl_buffer_printf(&all, "%s%s", all.size ? ", " : "", bl_columns_name((enum bl_column)c));
    }
    for (const char *at = columns->extra; *at; at += 1 + strcspn(at + 1, "\t"))
        bl_buffer_printf(&all, ", %.*s", (int)strcspn(at + 1, "\t"), at + 1);
    int code = bl_buffer_check(&all, e);
    if (!code)
        code = bl_error_set(e, BL_EUSAGE, "--%s %s: %s has no column \"%s\", but %s", option, argument, path, name,
                            all.data);
    bl_buffer_free(&all);
    return code;
}

static int subset_check_columns(const struct bl_subset_options *o, const struct bl_columns *columns, const char *path,
                                struct bl_error *e)
{
    int code = BL_OK;
    for (int i = 0; i < o->where.count && !code; i++) {
        struct bl_condition condition;
        code = bl_condition_parse(&condition, o->where.text[i], e);
        if (!code)
            code = subset_check_column(columns, "where", o->where.text[i], condition.column, path, e);
        bl_condition_free(&condition);
    }
    if (!code && o->split.parts && o->split_by)
        code = subset_check_column(columns, "split-by", o->split_by, o->split_by, path, e);
    if (!code && o->take && !o->split.parts && !columns_have(columns, SPLIT))
        code = bl_error_set(e, BL_EUSAGE, "--take %s needs --split, or a table with a column " SPLIT ": %s has none",
                            o->take, path);
    if (!code && o->dedup && !columns_have(columns, bl_columns_name(BL_COLUMN_CONTENT)))
        code = bl_error_set(e, BL_EUSAGE, "--dedup: %s has no column content", path);
    return code;
}

int bl_subset_check_header(const struct bl_subset_options *o, const char *header, const char *name, struct bl_error *e)
{
    struct bl_columns columns = {0};
    char *line = strdup(header);
    int code = line ? bl_columns_read(&columns, line, name, e) : bl_error_memory(e);
    if (!code)
        code = subset_check_columns(o, &columns, name, e);
    free(columns.extra);
    free(line);
    return code;
}

/* The row's value in a column that its table has, valid until the next row or value. */
static int choosing_value(struct choosing *c, const char *name, const char **value, struct bl_error *e)
{
    const struct bl_row *row = &c->text.row;
    *value = bl_row_reader_field(&c->text, name);
    if (*value)
        return BL_OK;
    bl_buffer_clear(&c->value);
    if (!bl_row_get_value(row, name, &c->value))
        return bl_error_set(e, BL_EFAIL, "%s: no value, or an invalid escape, in column \"%s\"", row->id, name);
    *value = c->value.data;
    return BL_OK;
}

/* --- the choice ------------------------------------------------------------------------------------------------- */

/* Rows that are not usable are looked up too: they have not vanished. */
static int choosing_find_held(struct choosing *c, uint8_t *mark, struct bl_error *e)
{
    int dataset;
    int code = bl_extend_find(&c->extend, &c->text.row, &dataset, e);
    if (!code && dataset >= 0)
        *mark = (uint8_t)(MARK_HELD + dataset);
    return code;
}

static int choosing_check_conditions(struct choosing *c, uint8_t *mark, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    for (int i = 0; i < s->conditions && !*mark; i++) {
        const char *value;
        bool no_number;
        int code = choosing_value(c, s->condition[i].column, &value, e);
        if (code)
            return code;
        if (!bl_condition_holds(&s->condition[i], value, &no_number))
            *mark = (uint8_t)(MARK_CONDITION + i);
        s->no_number[i] += no_number;
    }
    return BL_OK;
}

static int choosing_add_twin(struct bl_subset *s, size_t row, size_t first, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(s->twin, s->capacity, s->twins + 1, e);
    if (!code)
        s->twin[s->twins++] = (struct bl_twin){row, first};
    return code;
}

static int choosing_find_twin(struct choosing *c, size_t i, uint8_t *mark, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    const struct bl_row *row = &c->text.row;
    s->no_content += !row->content;
    if (!row->content)
        return BL_OK;
    if (i >= UINT32_MAX - 1) /* the table's numbers */
        return bl_error_set(e, BL_EFAIL, "--dedup: the table has too many rows");
    uint64_t hash = bl_same_content_hash(row);
    size_t first;
    for (struct bl_hash_probe probe = bl_hash_begin(&c->seen, hash); bl_hash_next(&c->seen, &probe, &first);) {
        bool same = false;
        int code = bl_row_reader_read(c->table, first, &c->twin, e);
        if (!code)
            code = bl_same_content(&c->twin.row, row, s->base, s->cancel, &same, e);
        if (code)
            return code;
        if (!same)
            continue;
        *mark = BL_LEFT_OUT_DEDUP;
        return choosing_add_twin(s, i, first, e);
    }
    return bl_hash_add(&c->seen, hash, i, e);
}

/* The name of the row's part: of --split, which a column of that name must confirm, or else of that column. */
static int choosing_part(struct choosing *c, struct bl_buffer *part, struct bl_error *e)
{
    const struct bl_subset_options *o = c->subset->options;
    const char *value = c->text.row.id;
    bool has_split = bl_columns_find(c->text.row.columns, SPLIT) > 0;
    int code = BL_OK;
    bl_buffer_clear(part);
    if (o->split.parts && o->split_by)
        code = choosing_value(c, o->split_by, &value, e);
    if (code)
        return code;
    if (o->split.parts) {
        int k = bl_split_part(&o->split, value);
        c->part = (uint8_t)k;
        bl_buffer_append(part, o->split.part[k].name, o->split.part[k].size);
    }
    code = bl_buffer_check(part, e);
    if (!code && has_split)
        code = choosing_value(c, SPLIT, &value, e);
    if (code || !has_split)
        return code;
    if (!o->split.parts)
        bl_buffer_text(part, value);
    else if (c->text.row.status == BL_ROW_OK && strcmp(value, part->data) != 0)
        return bl_error_set(e, BL_EUSAGE,
                            "--split says \"%s\" of %s, and the table's column " SPLIT " \"%s\": leave out --split, or "
                            "rename the column",
                            part->data, c->text.row.id, value);
    return bl_buffer_check(part, e);
}

static int choosing_choose_row(struct choosing *c, size_t i, struct bl_buffer *part, struct bl_error *e)
{
    const struct bl_subset_options *o = c->subset->options;
    uint8_t *mark = &c->subset->mark[i];
    int code = o->extend.count ? choosing_find_held(c, mark, e) : BL_OK;
    if (!code)
        code = choosing_check_conditions(c, mark, e);
    if (!code && !*mark && o->dedup)
        code = choosing_find_twin(c, i, mark, e);
    if (!code && (o->split.parts || o->take))
        code = choosing_part(c, part, e);
    if (code)
        return code;
    if (o->split.parts)
        c->subset->part[i] = c->part;
    if (!*mark && o->take && strcmp(part->data, o->take) != 0)
        *mark = BL_LEFT_OUT_TAKE;
    if (!*mark && o->share && !bl_share_takes(o->share, c->text.row.id))
        *mark = BL_LEFT_OUT_SHARE;
    if (!*mark && o->first && c->chosen == o->first)
        *mark = BL_LEFT_OUT_FIRST;
    c->chosen += !*mark;
    if (*mark)
        c->subset->left_out.by[mark_option(*mark)]++;
    return BL_OK;
}

static int choosing_choose_rows(struct choosing *c, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    struct bl_buffer part = {0};
    int code = BL_OK;
    for (size_t i = 0; i < s->count && !code; i++) {
        bool is_usable = c->table->length[i] > 0;
        if (s->tick && (s->options->dedup || i % TICK_ROWS == 0))
            s->tick(s->sink, (int64_t)i, (int64_t)s->count);
        if (!is_usable && !s->options->extend.count)
            continue;
        code = s->cancel && bl_cancelled(s->cancel) ? BL_ECANCEL : bl_row_reader_read(c->table, i, &c->text, e);
        if (!code)
            code = is_usable ? choosing_choose_row(c, i, &part, e) : choosing_find_held(c, &s->mark[i], e);
    }
    bl_buffer_free(&part);
    return code;
}

/* --- what is told ----------------------------------------------------------------------------------------------- */

/* "no sequence is left: 3 left out by --where, 1 by --first" */
static int subset_check_left(const struct choosing *c, bool may_be_held, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char a[32];
    if (c->chosen || !c->table->by_status[BL_ROW_OK] || (may_be_held && c->subset->left_out.by[BL_LEFT_OUT_EXTEND]))
        return BL_OK;
    for (int by = 0; by < BL_LEFT_OUT_OPTIONS; by++) {
        if (c->subset->left_out.by[by])
            bl_buffer_printf(&text, "%s%s by --%s", text.size ? ", " : "", bl_text_count(a, c->subset->left_out.by[by]),
                             bl_left_out_option((enum bl_left_out)by));
    }
    int code = bl_buffer_check(&text, e);
    if (!code)
        code = bl_error_set(e, BL_EFAIL, "no sequence is left: %s", text.data);
    bl_buffer_free(&text);
    return code;
}

static int subset_note(struct choosing *c, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    char a[BL_PLURAL_SIZE];
    int code = s->options->extend.count ? bl_extend_note(&c->extend, &s->notes, e) : BL_OK;
    if (code)
        return code;
    for (int i = 0; i < s->conditions; i++) {
        if (s->no_number[i])
            bl_buffer_printf(&s->notes, "%s--where %s: %s, and left out", s->notes.size ? "\n" : "",
                             s->options->where.text[i],
                             bl_text_plural(a, s->no_number[i], "value is no number|values are no numbers"));
    }
    if (s->no_content)
        bl_buffer_printf(&s->notes, "%s--dedup: %s, and not compared", s->notes.size ? "\n" : "",
                         bl_text_plural(a, s->no_content, "sequence has no digest|sequences have no digest"));
    return bl_buffer_check(&s->notes, e);
}

/* may_be_held: none need be left if a dataset holds some. */
static int subset_choose(struct bl_subset *s, const struct bl_sequences *t, bool may_be_held, struct bl_error *e)
{
    const struct bl_subset_options *o = s->options;
    struct choosing c = {.subset = s, .table = t};
    int code = BL_OK;
    for (int f = 0; f < t->files && !code; f++)
        code = subset_check_columns(o, &t->file[f].columns, t->file[f].path, e);
    for (int i = 0; i < o->where.count && !code; i++)
        code = bl_condition_parse(&s->condition[s->conditions++], o->where.text[i], e);
    s->count = t->count;
    s->mark = calloc(t->count + 1, 1);
    s->part = o->split.parts ? calloc(t->count + 1, 1) : NULL;
    if (!code && (!s->mark || (o->split.parts && !s->part)))
        code = bl_error_memory(e);
    if (!code && o->extend.count)
        code = bl_extend_open(&c.extend, o, t->kind, s->cancel, e);
    if (!code)
        code = choosing_choose_rows(&c, e);
    if (!code)
        code = subset_check_left(&c, may_be_held, e);
    if (!code)
        code = subset_note(&c, e);
    bl_row_reader_free(&c.text);
    bl_row_reader_free(&c.twin);
    bl_buffer_free(&c.value);
    bl_hash_free(&c.seen);
    if (o->extend.count)
        bl_extend_close(&c.extend);
    return code;
}

/* --- a table in memory ------------------------------------------------------------------------------------------ */

static int subset_set_groups(const struct bl_subset *s, struct bl_sequences *t, struct bl_error *e)
{
    t->group = calloc(t->count + 1, sizeof *t->group);
    if (!t->group)
        return bl_error_memory(e);
    for (size_t i = 0; i < t->count; i++)
        t->group[i] = s->part[i];
    return BL_OK;
}

static int subset_open_paths(struct bl_subset *s, struct bl_sequences *t, const char *const *paths, int count,
                             const struct bl_sequences_columns *columns, struct bl_error *e)
{
    struct bl_sequences_columns wanted = *columns;
    struct bl_sequences whole;
    const struct bl_sequences_columns none = {.may_repeat = columns->may_repeat};
    int code = bl_sequences_open_columns(&whole, paths, count, &none, e);
    if (code)
        return code;
    bool by_part = s->options->split.parts && wanted.group_by && strcmp(wanted.group_by, SPLIT) == 0;
    for (int f = 0; f < whole.files; f++)
        by_part &= !columns_have(&whole.file[f].columns, SPLIT);
    code = subset_choose(s, &whole, false, e);
    bl_sequences_close(&whole);
    if (code)
        return code;
    wanted.left_out = s->mark;
    wanted.rows = s->count;
    wanted.group_by = by_part ? NULL : wanted.group_by;
    code = bl_sequences_open_columns(t, paths, count, &wanted, e);
    if (code)
        return code;
    if (t->count != s->count)
        code = bl_error_set(e, BL_EFAIL, "%s changed while it was being read", paths[0]);
    else if (by_part)
        code = subset_set_groups(s, t, e);
    if (code)
        bl_sequences_close(t);
    return code;
}

int bl_subset_open(struct bl_subset *s, struct bl_sequences *t, const char *const *paths, int count,
                   const struct bl_sequences_columns *columns, struct bl_error *e)
{
    if (!bl_subset_is_given(s->options))
        return bl_sequences_open_columns(t, paths, count, columns, e);
    struct bl_pipe_copy *copy = calloc((size_t)count, sizeof *copy);
    const char **path = calloc((size_t)count, sizeof *path);
    int copies = 0, code = copy && path ? BL_OK : bl_error_memory(e);
    for (; copies < count && !code; copies++) {
        code = bl_pipe_copy_open(&copy[copies], paths[copies], e);
        path[copies] = bl_pipe_copy_path(&copy[copies], paths[copies]);
    }
    if (!code)
        code = subset_open_paths(s, t, path, count, columns, e);
    for (int i = 0; i < copies; i++) {
        bl_pipe_copy_fix_error(&copy[i], e);
        bl_pipe_copy_close(&copy[i]);
    }
    free(copy);
    free(path);
    return code;
}

/* --- a table on disk -------------------------------------------------------------------------------------------- */

struct writing {
    struct choosing choosing;
    size_t twin; /* the first of the rows that follow */
    bool adds_split;
    struct bl_buffer part, reason, extra, line;
    struct bl_output *out;
};

static int writing_drop(struct writing *w, size_t i, struct bl_error *e)
{
    struct choosing *c = &w->choosing;
    const struct bl_subset *s = c->subset;
    const struct bl_subset_options *o = s->options;
    struct bl_row *row = &c->text.row;
    uint8_t mark = s->mark[i];
    enum bl_left_out by = mark_option(mark);
    int code = BL_OK;
    bl_buffer_clear(&w->reason);
    bl_buffer_printf(&w->reason, BL_LEFT_OUT "%s", bl_left_out_option(by));
    if (by == BL_LEFT_OUT_EXTEND)
        bl_buffer_printf(&w->reason, " %s", o->extend.text[mark - MARK_HELD]);
    else if (by == BL_LEFT_OUT_WHERE)
        bl_buffer_printf(&w->reason, " %s", o->where.text[mark - MARK_CONDITION]);
    else if (by == BL_LEFT_OUT_TAKE)
        bl_buffer_printf(&w->reason, " %s", o->take);
    else if (by == BL_LEFT_OUT_FIRST)
        bl_buffer_printf(&w->reason, " %" PRId64, o->first);
    if (by == BL_LEFT_OUT_SHARE) {
        bl_buffer_byte(&w->reason, ' ');
        bl_share_format(o->share, &w->reason);
    }
    if (by == BL_LEFT_OUT_DEDUP) {
        code = bl_row_reader_read(c->table, s->twin[w->twin++].first, &c->twin, e);
        if (!code)
            bl_buffer_printf(&w->reason, ": the content of %s", c->twin.row.id);
    }
    row->status = BL_ROW_DROPPED;
    row->length = 0;
    row->reason = w->reason.data;
    return code ? code : bl_buffer_check(&w->reason, e);
}

static int writing_add_part(struct writing *w, struct bl_error *e)
{
    struct bl_row *row = &w->choosing.text.row;
    int code = choosing_part(&w->choosing, &w->part, e);
    if (code)
        return code;
    bl_buffer_clear(&w->extra);
    bl_buffer_printf(&w->extra, "%s\t", row->extra ? row->extra : "");
    bl_text_escape(&w->extra, w->part.data, w->part.size);
    row->extra = w->extra.data;
    return bl_buffer_check(&w->extra, e);
}

static int writing_add_row(struct writing *w, size_t i, struct bl_error *e)
{
    struct choosing *c = &w->choosing;
    struct bl_subset *s = c->subset;
    int code = s->cancel && bl_cancelled(s->cancel) ? BL_ECANCEL : bl_row_reader_read(c->table, i, &c->text, e);
    if (!code && s->mark[i])
        code = writing_drop(w, i, e);
    if (code)
        return code;
    bl_scan_progress_count(&s->found, s->kind, &c->text.row);
    code = w->adds_split ? writing_add_part(w, e) : BL_OK;
    if (code)
        return code;
    bl_buffer_clear(&w->line);
    bl_row_format(&c->text.row, &w->line);
    code = bl_buffer_check(&w->line, e);
    return code ? code : bl_output_write(w->out, w->line.data, w->line.size, e);
}

static int subset_write(struct bl_subset *s, const struct bl_sequences *t, struct bl_output *out, struct bl_error *e)
{
    struct writing w = {.choosing = {.subset = s, .table = t}, .out = out};
    const struct bl_columns *columns = &t->file[0].columns;
    w.adds_split = s->options->split.parts && !columns_have(columns, SPLIT);
    bl_buffer_printf(&w.line, BL_SEQUENCES_COLUMNS "%s%s\n", columns->extra, w.adds_split ? "\t" SPLIT : "");
    int code = bl_buffer_check(&w.line, e);
    if (!code)
        code = bl_output_write(out, w.line.data, w.line.size, e);
    for (size_t i = 0; i < t->count && !code; i++)
        code = writing_add_row(&w, i, e);
    bl_row_reader_free(&w.choosing.text);
    bl_row_reader_free(&w.choosing.twin);
    bl_buffer_free(&w.choosing.value);
    bl_buffer_free(&w.part);
    bl_buffer_free(&w.reason);
    bl_buffer_free(&w.extra);
    bl_buffer_free(&w.line);
    return code;
}

int bl_subset_run(struct bl_subset *s, const char *dir, bl_subset_fill *fill, void *context, struct bl_output *out,
                  struct bl_error *e)
{
    struct bl_output whole = {.fd = -1};
    struct bl_sequences table = {0};
    if (!bl_subset_is_given(s->options))
        return fill(context, out, e);
    int code = bl_output_unnamed(&whole, dir, e);
    if (!code)
        code = fill(context, &whole, e);
    if (!code)
        code = bl_output_flush(&whole, e);
    if (!code)
        code = bl_sequences_open(&table, &(const char *){whole.path}, 1, false, e);
    if (!code)
        code = subset_choose(s, &table, true, e);
    if (!code)
        code = subset_write(s, &table, out, e);
    bl_sequences_close(&table);
    bl_output_abort(&whole);
    return code;
}
