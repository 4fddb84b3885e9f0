#include "scan/subset_choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "scan/same_content.h"

#define TICK_ROWS 64 /* between two looks at the clock, where a row takes no time */

enum bl_left_out bl_subset_mark_option(uint8_t mark)
{
    if (mark == BL_SUBSET_MARK_EXCLUDED)
        return BL_LEFT_OUT_EXCLUDE;
    if (mark >= BL_SUBSET_MARK_HELD)
        return BL_LEFT_OUT_EXTEND;
    return mark < BL_SUBSET_MARK_CONDITION ? (enum bl_left_out)mark : BL_LEFT_OUT_WHERE;
}

void bl_subset_choice_free(struct bl_subset_choice *c)
{
    bl_row_reader_free(&c->text);
    bl_row_reader_free(&c->twin);
    bl_buffer_free(&c->value);
    bl_buffer_free(&c->named);
    bl_hash_free(&c->seen);
    bl_extend_close(&c->extend);
}

/* --- columns ---------------------------------------------------------------------------------------------------- */

bool bl_subset_has_column(const struct bl_columns *columns, const char *name)
{
    int known = bl_columns_parse(name);
    return known >= 0 ? columns->place[known] >= 0 : bl_columns_find(columns->extra, name) > 0;
}

static int subset_check_column(const struct bl_columns *columns, const char *option, const char *argument,
                               const char *name, const char *path, struct bl_error *e)
{
    struct bl_buffer all = {0};
    if (bl_subset_has_column(columns, name))
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
    if (!code && o->take && !o->split.parts && !bl_subset_has_column(columns, BL_SUBSET_SPLIT))
        code = bl_error_set(e, BL_EUSAGE,
                            "--take %s needs --split, or a table with a column " BL_SUBSET_SPLIT ": %s has none",
                            o->take, path);
    if (!code && o->dedup && !bl_subset_has_column(columns, bl_columns_name(BL_COLUMN_CONTENT)))
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
static int choosing_value(struct bl_subset_choice *c, const char *name, const char **value, struct bl_error *e)
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

/* By its id, or by that with the name of its source before it. Rows that are not usable are looked up too: their ids
 * are there. */
static int choosing_exclude(struct bl_subset_choice *c, size_t i, uint8_t *mark, struct bl_error *e)
{
    const struct bl_subset *s = c->subset;
    const struct bl_sequences_file *file = &c->table->file[c->table->files - 1];
    bool has = bl_exclusion_has_row(s->exclusion, &c->text.row, &c->value);
    while (file > c->table->file && file->first > i)
        file--;
    if (s->source) {
        struct bl_row named = c->text.row;
        bl_buffer_clear(&c->named);
        bl_buffer_printf(&c->named, "%s/%s", s->source[file - c->table->file], named.id);
        named.id = c->named.data;
        if (!c->named.failed)
            has |= bl_exclusion_has_row(s->exclusion, &named, &c->value);
    }
    if (has && c->table->length[i])
        *mark = BL_SUBSET_MARK_EXCLUDED;
    int code = bl_buffer_check(&c->named, e);
    return code ? code : bl_buffer_check(&c->value, e);
}

/* Rows that are not usable are looked up too: they have not vanished. */
static int choosing_find_held(struct bl_subset_choice *c, uint8_t *mark, struct bl_error *e)
{
    int dataset;
    int code = bl_extend_find(&c->extend, &c->text.row, &dataset, e);
    if (!code && dataset >= 0)
        *mark = (uint8_t)(BL_SUBSET_MARK_HELD + dataset);
    return code;
}

static int choosing_check_conditions(struct bl_subset_choice *c, uint8_t *mark, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    for (int i = 0; i < s->conditions && !*mark; i++) {
        const char *value;
        bool no_number;
        int code = choosing_value(c, s->condition[i].column, &value, e);
        if (code)
            return code;
        if (!bl_condition_holds(&s->condition[i], value, &no_number))
            *mark = (uint8_t)(BL_SUBSET_MARK_CONDITION + i);
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

static int choosing_find_twin(struct bl_subset_choice *c, size_t i, uint8_t *mark, struct bl_error *e)
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

int bl_subset_choice_part(struct bl_subset_choice *c, struct bl_buffer *part, struct bl_error *e)
{
    const struct bl_subset_options *o = c->subset->options;
    const char *value = c->text.row.id;
    bool has_split = bl_columns_find(c->text.row.columns, BL_SUBSET_SPLIT) > 0;
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
        code = choosing_value(c, BL_SUBSET_SPLIT, &value, e);
    if (code || !has_split)
        return code;
    if (!o->split.parts)
        bl_buffer_text(part, value);
    else if (c->text.row.status == BL_ROW_OK && strcmp(value, part->data) != 0)
        return bl_error_set(e, BL_EUSAGE,
                            "--split says \"%s\" of %s, and the table's column " BL_SUBSET_SPLIT
                            " \"%s\": leave out --split, or "
                            "rename the column",
                            part->data, c->text.row.id, value);
    return bl_buffer_check(part, e);
}

static int choosing_choose_row(struct bl_subset_choice *c, size_t i, struct bl_buffer *part, struct bl_error *e)
{
    const struct bl_subset_options *o = c->subset->options;
    uint8_t *mark = &c->subset->mark[i];
    int code = !*mark && o->extend.count ? choosing_find_held(c, mark, e) : BL_OK;
    if (!code)
        code = choosing_check_conditions(c, mark, e);
    if (!code && !*mark && o->dedup)
        code = choosing_find_twin(c, i, mark, e);
    if (!code && (o->split.parts || o->take))
        code = bl_subset_choice_part(c, part, e);
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
        c->subset->left_out.by[bl_subset_mark_option(*mark)]++;
    return BL_OK;
}

static int choosing_choose_rows(struct bl_subset_choice *c, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    struct bl_buffer part = {0};
    int code = BL_OK;
    for (size_t i = 0; i < s->count && !code; i++) {
        bool is_usable = c->table->length[i] > 0;
        if (s->tick && (s->options->dedup || i % TICK_ROWS == 0))
            s->tick(s->sink, (int64_t)i, (int64_t)s->count);
        if (!is_usable && !s->options->extend.count && !s->exclusion)
            continue;
        code = s->cancel && bl_cancelled(s->cancel) ? BL_ECANCEL : bl_row_reader_read(c->table, i, &c->text, e);
        if (!code && s->exclusion)
            code = choosing_exclude(c, i, &s->mark[i], e);
        if (!code && is_usable)
            code = choosing_choose_row(c, i, &part, e);
        else if (!code && s->options->extend.count)
            code = choosing_find_held(c, &s->mark[i], e);
    }
    bl_buffer_free(&part);
    return code;
}

/* --- what is told ----------------------------------------------------------------------------------------------- */

/* "no sequence is left: 3 left out by --where, 1 by --first" */
static int subset_check_left(const struct bl_subset_choice *c, bool may_be_held, struct bl_error *e)
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

static int subset_note(struct bl_subset_choice *c, struct bl_error *e)
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

int bl_subset_choose(struct bl_subset *s, const struct bl_sequences *t, bool may_be_held, struct bl_error *e)
{
    const struct bl_subset_options *o = s->options;
    struct bl_subset_choice c = {.subset = s, .table = t};
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
    bl_subset_choice_free(&c);
    return code;
}
