/* Chooses the rows of a table by the options of a subset.
 *
 * Each row gets a mark of one byte: 0 if it is chosen, otherwise the option that leaves it out. Options apply in a
 * fixed order (exclude, extend, where, min-trained, dedup, dedup-by, take, share, first), and the first one that leaves
 * a row out has it: so the counts of the summary add up, and --first counts what the others leave. */
#include "scan/subset.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/text.h"
#include "scan/compare.h"

#define TICK_ROWS 64 /* between two looks at the clock, where a row takes no time */

void bl_subset_free(struct bl_subset *s)
{
    for (int i = 0; i < s->conditions; i++)
        bl_condition_free(&s->condition[i]);
    bl_buffer_free(&s->notes);
    for (size_t i = 0; i < sizeof s->repeats.file / sizeof *s->repeats.file; i++) {
        free(s->repeats.file[i].path);
        s->repeats.file[i].path = NULL;
    }
    free(s->mark);
    free(s->part);
    free(s->twin);
    s->conditions = 0;
    s->mark = s->part = NULL;
    s->twin = NULL;
}

/* Marks are numbers of options, except three ranges: excluded ids, the conditions of --where, and the datasets of
 * --extend. */
enum bl_left_out bl_subset_mark_option(uint8_t mark)
{
    if (mark == BL_SUBSET_MARK_EXCLUDED)
        return BL_LEFT_OUT_EXCLUDE;
    /* The numbers of options come first, then those of conditions, then those of datasets. */
    if (mark >= BL_SUBSET_MARK_HELD)
        return BL_LEFT_OUT_EXTEND;
    return mark < BL_SUBSET_MARK_CONDITION ? (enum bl_left_out)mark : BL_LEFT_OUT_WHERE;
}

/* The twins of the subset stay: the writing of a table needs them. */
void bl_subset_choice_free(struct bl_subset_choice *c)
{
    bl_row_reader_free(&c->text);
    bl_row_reader_free(&c->twin);
    bl_buffer_free(&c->value);
    bl_buffer_free(&c->named);
    bl_hash_free(&c->seen);
    bl_hash_free(&c->seen_text);
    bl_buffer_free(&c->same_column);
    /* The buffers of the present row and of the row that it is compared with. */
    for (int i = 0; i < 2; i++) {
        bl_buffer_free(&c->same_value[i]);
        bl_same_text_buffers_free(&c->same[i]);
    }
    bl_extend_close(&c->extend);
    bl_buffer_free(&c->bundle_value);
    bl_groups_free(&c->bundles);
    free(c->bundle);
}

/* --- columns ---------------------------------------------------------------------------------------------------- */

/* name: of a column that every table may have, such as "length", or of an extra column. */
bool bl_subset_has_column(const struct bl_columns *columns, const char *name)
{
    int known = bl_columns_parse(name);
    return known >= 0 ? columns->place[known] >= 0 : bl_columns_find(columns->extra, name) > 0;
}

/* Checks that a table has the column. option, argument: for the message. BL_EUSAGE: the message lists the columns
 * that the table has. */
static int subset_check_column(const struct bl_columns *columns, const char *option, const char *argument,
                               const char *name, const char *path, struct bl_error *e)
{
    struct bl_buffer all = {0};
    if (bl_subset_has_column(columns, name))
        return BL_OK;
    /* Known columns have a place; extra ones are a list with a tab before each name. */
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

/* Sets name to the column that --dedup-by compares: the column of digests, "digest(text:lower)", or the column
 * itself, "text". */
static int same_column_name(const struct bl_subset_options *o, bool is_digest, struct bl_buffer *name,
                            struct bl_error *e)
{
    bl_buffer_clear(name);
    if (is_digest)
        bl_same_text_append_column(&o->dedup_by, name);
    else
        bl_buffer_append(name, o->dedup_by.key, o->dedup_by.size);
    return bl_buffer_check(name, e);
}

/* Checks that the table has one of these two columns. *is_digest: it has the digests, which a scan made of the
 * normal form. */
static int subset_check_same_column(const struct bl_subset_options *o, const struct bl_columns *columns,
                                    const char *path, bool *is_digest, struct bl_error *e)
{
    struct bl_buffer name = {0};
    int code = same_column_name(o, true, &name, e);
    *is_digest = !code && bl_subset_has_column(columns, name.data);
    if (!code && !*is_digest)
        code = same_column_name(o, false, &name, e);
    if (!code && !*is_digest)
        code = subset_check_column(columns, "dedup-by", name.data, name.data, path, e);
    bl_buffer_free(&name);
    return code;
}

/* Checks that a table has the columns of all options, before any row is read. BL_EUSAGE: a column is missing. */
static int subset_check_columns(const struct bl_subset_options *o, const struct bl_columns *columns, const char *path,
                                struct bl_error *e)
{
    bool is_digest;
    int code = BL_OK;
    /* The conditions are parsed again here, as the check comes before any choice. */
    for (int i = 0; i < o->where.count && !code; i++) {
        struct bl_condition condition;
        code = bl_condition_parse(&condition, o->where.text[i], e);
        if (!code)
            code = subset_check_column(columns, "where", o->where.text[i], condition.column, path, e);
        bl_condition_free(&condition);
    }
    if (!code && o->split.parts && o->split_by)
        code = subset_check_column(columns, "split-by", o->split_by, o->split_by, path, e);
    bool keeps = o->split.parts || o->take || o->share || o->first || o->extend.count; /* bundles */
    if (!code && o->together && keeps)
        code = subset_check_column(columns, "together", o->together, o->together, path, e);
    if (!code && o->take && !o->split.parts && !bl_subset_has_column(columns, BL_SUBSET_SPLIT))
        code = bl_error_set(e, BL_EUSAGE,
                            "--take %s needs --split, or a table with a column " BL_SUBSET_SPLIT ": %s has none",
                            o->take, path);
    if (!code && o->min_trained && !bl_subset_has_column(columns, BL_TRAINED))
        code = bl_error_set(e, BL_EUSAGE,
                            "--min-trained: %s has no column " BL_TRAINED
                            ", which scan and pack add where JSON lines have a field loss_mask or labels",
                            path);
    if (!code && o->dedup_by.key)
        code = subset_check_same_column(o, columns, path, &is_digest, e);
    if (!code && o->dedup && !bl_subset_has_column(columns, bl_columns_name(BL_COLUMN_CONTENT)))
        code = bl_error_set(e, BL_EUSAGE, "--dedup: %s has no column content", path);
    return code;
}

/* Checks the header of a table that is not complete yet: a scan of hours must not end with a missing column. */
int bl_subset_check_header(const struct bl_subset_options *o, const char *header, const char *name, struct bl_error *e)
{
    struct bl_columns columns = {0};
    /* The function changes the line, so it gets a copy. */
    char *line = strdup(header);
    int code = line ? bl_columns_read(&columns, line, name, e) : bl_error_memory(e);
    if (!code)
        code = subset_check_columns(o, &columns, name, e);
    free(columns.extra);
    free(line);
    return code;
}

/* Finds the row's value in a column that its table has. *value points into the row or into out, and is valid until
 * either changes. */
static int row_find_value(const struct bl_row_reader *text, const char *name, struct bl_buffer *out, const char **value,
                          struct bl_error *e)
{
    const struct bl_row *row = &text->row;
    /* A column with a fixed place needs no unescaping. */
    *value = bl_row_reader_field(text, name);
    if (*value)
        return BL_OK;
    bl_buffer_clear(out);
    if (!bl_row_get_value(row, name, out))
        return bl_error_set(e, BL_EFAIL, "%s: no value, or an invalid escape, in column \"%s\"", row->id, name);
    *value = out->data;
    return BL_OK;
}

/* Finds the value of the present row, valid until the next row or value. */
static int choosing_value(struct bl_subset_choice *c, const char *name, const char **value, struct bl_error *e)
{
    return row_find_value(&c->text, name, &c->value, value, e);
}

/* --- the choice ------------------------------------------------------------------------------------------------- */

/* Marks row i if --exclude has its id, or its id with the name of its source before it, "books/a.txt". Rows that are
 * not usable are looked up too, so that their ids do not count as unknown; they keep their status. */
static int choosing_exclude(struct bl_subset_choice *c, size_t i, uint8_t *mark, struct bl_error *e)
{
    const struct bl_subset *s = c->subset;
    /* The last table is tried first: the loop below goes back. */
    const struct bl_sequences_file *file = &c->table->file[c->table->files - 1];
    bool has = bl_exclusion_has_row(s->exclusion, &c->text.row, &c->value);
    /* The tables follow each other: the row belongs to the last one that begins at it or before it. */
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
    BL_TRY(bl_buffer_check(&c->named, e));
    return bl_buffer_check(&c->value, e);
}

/* Marks the row if a dataset of --extend stores it. Rows that are not usable are looked up too: such an input has
 * not vanished. */
static int choosing_find_held(struct bl_subset_choice *c, uint8_t *mark, struct bl_error *e)
{
    int dataset;
    int code = bl_extend_find(&c->extend, &c->text.row, &dataset, e);
    /* The mark has the number of the dataset for the reason. */
    if (!code && dataset >= 0)
        *mark = (uint8_t)(BL_SUBSET_MARK_HELD + dataset);
    return code;
}

/* Marks the present row by the first condition that it does not fulfil, or by --min-trained. A condition of an order
 * counts values that are no numbers, for a note. */
static int choosing_check_conditions(struct bl_subset_choice *c, uint8_t *mark, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    const char *value;
    for (int i = 0; i < s->conditions && !*mark; i++) {
        bool no_number;
        BL_TRY(choosing_value(c, s->condition[i].column, &value, e));
        if (!bl_condition_holds(&s->condition[i], value, &no_number))
            *mark = (uint8_t)(BL_SUBSET_MARK_CONDITION + i);
        /* The count includes rows that the condition leaves out for this reason. */
        s->no_number[i] += no_number;
    }
    if (*mark || !s->options->min_trained)
        return BL_OK;
    int64_t trained;
    BL_TRY(choosing_value(c, BL_TRAINED, &value, e));
    if (!bl_text_to_int(value, strlen(value), 0, INT64_MAX, &trained))
        return bl_error_set(e, BL_EFAIL, "%s: \"%s\" in column " BL_TRAINED " is no number of tokens", c->text.row.id,
                            value);
    if (trained < s->options->min_trained)
        *mark = BL_LEFT_OUT_MIN_TRAINED;
    return BL_OK;
}

/* Marks row i, the present one, if an earlier row has the same content. Equal hashes only name candidates: their
 * files are compared. A row without a digest is kept and counted. */
static int choosing_find_twin(struct bl_subset_choice *c, size_t i, uint8_t *mark, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    const struct bl_row *row = &c->text.row;
    /* A row without a digest cannot be compared without reading all files. */
    s->no_content += !row->content;
    if (!row->content)
        return BL_OK;
    if (i >= UINT32_MAX - 1) /* the table's numbers */
        return bl_error_set(e, BL_EFAIL, "--dedup: the table has too many rows");
    uint64_t hash = bl_same_content_hash(row);
    size_t first;
    for (struct bl_hash_probe probe = bl_hash_begin(&c->seen, hash); bl_hash_next(&c->seen, &probe, &first);) {
        bool same = false;
        /* Earlier rows are read again from the table: their texts are not in memory. */
        BL_TRY(bl_row_reader_read(c->table, first, &c->twin, e));
        BL_TRY(bl_same_content(&c->twin.row, row, s->base, s->cancel, &same, e));
        if (!same)
            continue;
        *mark = BL_LEFT_OUT_DEDUP;
        BL_TRY(BL_ARRAY_RESERVE(s->twin, s->capacity, s->twins + 1, e));
        s->twin[s->twins++] = (struct bl_twin){i, first};
        return BL_OK;
    }
    return bl_hash_add(&c->seen, hash, i, e);
}

/* Finds the text that --dedup-by compares: its normal form, or its digest. number: 0 for the present row, 1 for the
 * earlier one. *text is valid until the next call with this number. */
static int choosing_find_text(struct bl_subset_choice *c, int number, const char **text, size_t *size,
                              struct bl_error *e)
{
    int code = row_find_value(number ? &c->twin : &c->text, c->same_column.data, &c->same_value[number], text, e);
    *size = code ? 0 : strlen(*text);
    if (code || c->is_digest)
        return code;
    return bl_same_text_normalize(&c->subset->options->dedup_by, text, size, &c->same[number], e);
}

/* Ends the counting of a file: insertion moves its entry, the last one, to its place among those with the most
 * repeats. */
static void repeats_end_file(struct bl_repeats *r)
{
    int at = BL_REPEATS_FILES;
    r->files += r->file[at].rows > 0;
    for (; at && r->file[at].rows > r->file[at - 1].rows; at--) {
        const struct bl_repeats_file more = r->file[at];
        r->file[at] = r->file[at - 1];
        r->file[at - 1] = more;
    }
    free(r->file[BL_REPEATS_FILES].path);
    r->file[BL_REPEATS_FILES] = (struct bl_repeats_file){0};
}

/* Marks row i, the present one, if an earlier row has the same text. A row that --extend leaves out is read, too: a
 * new row with its text is a repeat. A row without text is kept and counted. */
static int choosing_find_same_text(struct bl_subset_choice *c, size_t i, uint8_t *mark, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    const char *text, *other;
    size_t size, other_size, first;
    int code = choosing_find_text(c, 0, &text, &size, e);
    s->no_text += !code && !size;
    if (code || !size)
        return code;
    s->texts++;
    if (i >= UINT32_MAX - 1) /* the table's numbers */
        return bl_error_set(e, BL_EFAIL, "--dedup-by: the table has too many rows");
    uint64_t hash = XXH3_64bits(text, size);
    for (struct bl_hash_probe probe = bl_hash_begin(&c->seen_text, hash);
         bl_hash_next(&c->seen_text, &probe, &first);) {
        BL_TRY(bl_row_reader_read(c->table, first, &c->twin, e));
        BL_TRY(choosing_find_text(c, 1, &other, &other_size, e));
        if (size != other_size || memcmp(text, other, size) != 0)
            continue;
        if (*mark)
            return BL_OK;
        *mark = BL_LEFT_OUT_DEDUP_BY;
        BL_TRY(BL_ARRAY_RESERVE(s->twin, s->capacity, s->twins + 1, e));
        s->twin[s->twins++] = (struct bl_twin){i, first};
        /* The rows of a file follow each other: the last place counts the present file. */
        struct bl_repeats_file *last = &s->repeats.file[BL_REPEATS_FILES];
        s->repeats.rows++;
        if (!last->path || strcmp(last->path, c->text.row.path) != 0) {
            repeats_end_file(&s->repeats);
            last->path = strdup(c->text.row.path);
            if (!last->path)
                return bl_error_memory(e);
        }
        last->rows++;
        return BL_OK;
    }
    return bl_hash_add(&c->seen_text, hash, i, e);
}

/* --- bundles ---------------------------------------------------------------------------------------------------- */

/* What was decided about the rows of a bundle so far. */
struct bl_subset_bundle {
    uint64_t part;                    /* hash of the name of their part */
    bool has_part, is_held, is_new;   /* --extend: a dataset holds a row, or not */
    bool is_chosen, is_first_decided; /* --first */
};

/* Finds the name by which the present row is put into a part or share: its bundle, or its id if it is alone. */
static int choosing_find_name(struct bl_subset_choice *c, const char **name, struct bl_error *e)
{
    const char *column = c->subset->options->together, *value;
    *name = c->text.row.id;
    bl_buffer_clear(&c->bundle_value);
    if (!column)
        return BL_OK;
    BL_TRY(choosing_value(c, column, &value, e));
    bl_buffer_text(&c->bundle_value, value);
    *name = *value ? c->bundle_value.data : *name;
    return bl_buffer_check(&c->bundle_value, e);
}

/* Finds what was decided about the bundle of the present row; NULL: it is alone. *bundle is valid until the next row.
 */
static int choosing_find_bundle(struct bl_subset_choice *c, struct bl_subset_bundle **bundle, struct bl_error *e)
{
    uint32_t number;
    const char *name;
    size_t before = c->bundles.count;
    *bundle = NULL;
    BL_TRY(choosing_find_name(c, &name, e));
    if (!c->bundle_value.size)
        return BL_OK;
    BL_TRY(bl_groups_find(&c->bundles, c->bundle_value.data, c->bundle_value.size, &number, e));
    BL_TRY(BL_ARRAY_RESERVE(c->bundle, c->bundle_capacity, c->bundles.count, e));
    if (c->bundles.count > before)
        c->bundle[number] = (struct bl_subset_bundle){.part = 0};
    *bundle = &c->bundle[number];
    return BL_OK;
}

/* Checks that --extend holds all rows of the bundle or none, and that they are in one part. part: the name of the
 * present row's part, or NULL. BL_EUSAGE names the bundle. */
static int choosing_check_bundle(struct bl_subset_choice *c, struct bl_subset_bundle *bundle, uint8_t mark,
                                 const struct bl_buffer *part, struct bl_error *e)
{
    const struct bl_subset_options *o = c->subset->options;
    uint64_t hash = part ? XXH3_64bits(part->data ? part->data : "", part->size) : 0;
    bool is_held = bl_subset_mark_option(mark) == BL_LEFT_OUT_EXTEND;
    bundle->is_held |= is_held;
    bundle->is_new |= !is_held;
    if (bundle->is_held && bundle->is_new && o->extend.count)
        return bl_error_set(
            e, BL_EUSAGE,
            "--together %s: a dataset of --extend holds some sequences with \"%s\" and not others, such "
            "as %s",
            o->together, c->bundle_value.data, c->text.row.id);
    if (part && bundle->has_part && bundle->part != hash)
        return bl_error_set(
            e, BL_EUSAGE,
            "--together %s: the sequences with \"%s\" are in several parts, such as %s in \"%s\": split by "
            "this column (--split-by %s)",
            o->together, c->bundle_value.data, c->text.row.id, part->data, o->together);
    bundle->part = hash;
    bundle->has_part |= part != NULL;
    return BL_OK;
}

/* Returns whether --first takes the present row: there is room for it, or it has taken the first one of its bundle. */
static bool choosing_is_first(struct bl_subset_choice *c, struct bl_subset_bundle *bundle)
{
    bool has_room = c->chosen < c->subset->options->first;
    if (!bundle)
        return has_room;
    bundle->is_chosen = bundle->is_first_decided ? bundle->is_chosen : has_room;
    bundle->is_first_decided = true;
    return bundle->is_chosen;
}

/* Sets part to the name of the present row's part: that of --split, or that of its column split. BL_EUSAGE: both are
 * there and differ. */
int bl_subset_choice_part(struct bl_subset_choice *c, struct bl_buffer *part, struct bl_error *e)
{
    const struct bl_subset_options *o = c->subset->options;
    const char *value;
    bool has_split = bl_columns_find(c->text.row.columns, BL_SUBSET_SPLIT) > 0;
    bl_buffer_clear(part);
    BL_TRY(choosing_find_name(c, &value, e));
    if (o->split.parts && o->split_by)
        BL_TRY(choosing_value(c, o->split_by, &value, e));
    if (o->split.parts) {
        /* The hash of the value decides, so that rows with the same value share a part. */
        int k = bl_split_part(&o->split, value);
        c->part = (uint8_t)k;
        bl_buffer_append(part, o->split.part[k].name, o->split.part[k].size);
    }
    BL_TRY(bl_buffer_check(part, e));
    if (!has_split)
        return BL_OK;
    BL_TRY(choosing_value(c, BL_SUBSET_SPLIT, &value, e));
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

/* Marks row i, the present one, by the options in their order, and counts it. A row is read for --dedup-by although
 * --extend left it out, as its text counts as seen. */
static int choosing_choose_row(struct bl_subset_choice *c, size_t i, struct bl_buffer *part, struct bl_error *e)
{
    const struct bl_subset_options *o = c->subset->options;
    uint8_t *mark = &c->subset->mark[i];
    bool has_part = o->split.parts || o->take;
    struct bl_subset_bundle *bundle = NULL;
    const char *name = c->text.row.id;
    int code = !*mark && o->extend.count ? choosing_find_held(c, mark, e) : BL_OK;
    if (!code)
        code = choosing_check_conditions(c, mark, e);
    if (!code && !*mark && o->dedup)
        code = choosing_find_twin(c, i, mark, e);
    if (!code && (!*mark || bl_subset_mark_option(*mark) == BL_LEFT_OUT_EXTEND) && o->dedup_by.key)
        code = choosing_find_same_text(c, i, mark, e);
    if (!code && has_part)
        code = bl_subset_choice_part(c, part, e);
    if (!code && o->together && (has_part || o->share || o->first || o->extend.count))
        code = choosing_find_bundle(c, &bundle, e);
    if (!code && bundle)
        code = choosing_check_bundle(c, bundle, *mark, has_part ? part : NULL, e);
    if (code)
        return code;
    name = bundle ? c->bundle_value.data : name;
    /* The number of the part is kept for every row, also for rows that a later option leaves out. */
    if (o->split.parts)
        c->subset->part[i] = c->part;
    if (!*mark && o->take && strcmp(part->data, o->take) != 0)
        *mark = BL_LEFT_OUT_TAKE;
    if (!*mark && o->share && !bl_share_takes(o->share, name))
        *mark = BL_LEFT_OUT_SHARE;
    /* --first counts rows that all other options leave. */
    if (!*mark && o->first && !choosing_is_first(c, bundle))
        *mark = BL_LEFT_OUT_FIRST;
    c->chosen += !*mark;
    if (*mark)
        c->subset->left_out.by[bl_subset_mark_option(*mark)]++;
    return BL_OK;
}

/* Reads and marks all rows in order. Rows that are not usable are read only where an option looks their ids up,
 * which saves most of the time for tables with many of them. */
static int choosing_choose_rows(struct bl_subset_choice *c, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    struct bl_buffer part = {0};
    int code = BL_OK;
    for (size_t i = 0; i < s->count && !code; i++) {
        bool is_usable = c->table->length[i] > 0;
        /* Comparing texts or files takes long, so that each row may report progress. */
        if (s->tick && (s->options->dedup || s->options->dedup_by.key || i % TICK_ROWS == 0))
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

/* --- messages --------------------------------------------------------------------------------------------------- */

/* Appends the note about repeated texts: "--dedup-by text: 3 of 9 sequences repeat the text of an earlier one: 2 in
 * b.jsonl, 1 in a.jsonl". */
static void subset_note_repeats(struct bl_subset *s)
{
    struct bl_repeats *r = &s->repeats;
    struct bl_buffer *out = &s->notes;
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE];
    const char *before = out->size ? "\n" : "";
    int64_t named = 0;
    repeats_end_file(r);
    if (r->rows) {
        bl_buffer_printf(out, "%s--dedup-by ", before);
        bl_same_text_format(&s->options->dedup_by, out);
        bl_buffer_printf(out, ": %s of %s %s the text of an earlier one: ", bl_text_count(a, r->rows),
                         bl_text_plural(b, s->texts, "sequence"), r->rows == 1 ? "repeats" : "repeat");
        for (int i = 0; i < BL_REPEATS_FILES && r->file[i].rows; i++) {
            bl_buffer_printf(out, "%s%s in ", i ? ", " : "", bl_text_count(a, r->file[i].rows));
            bl_text_append_masked(out, r->file[i].path);
            named += r->file[i].rows;
        }
        if (r->rows > named)
            bl_buffer_printf(out, ", %s in %s", bl_text_count(a, r->rows - named),
                             bl_text_plural(b, r->files - BL_REPEATS_FILES, "other file"));
        before = "\n";
    }
    if (!s->no_text)
        return;
    bl_buffer_printf(out, "%s--dedup-by ", before);
    bl_same_text_format(&s->options->dedup_by, out);
    bl_buffer_printf(out, ": %s there, and %s kept%s",
                     bl_text_plural(a, s->no_text, "sequence has no text|sequences have no text"),
                     s->no_text == 1 ? "is" : "are", s->texts ? "" : ": nothing was compared (is it the right key?)");
}

/* Appends notes about rows that an option could not compare: values that are no numbers, missing digests, missing
 * texts. */
static int subset_note(struct bl_subset_choice *c, struct bl_error *e)
{
    struct bl_subset *s = c->subset;
    char a[BL_PLURAL_SIZE];
    BL_TRY(s->options->extend.count ? bl_extend_note(&c->extend, &s->notes, e) : BL_OK);
    for (int i = 0; i < s->conditions; i++) {
        if (s->no_number[i])
            bl_buffer_printf(&s->notes, "%s--where %s: %s, and left out", s->notes.size ? "\n" : "",
                             s->options->where.text[i],
                             bl_text_plural(a, s->no_number[i], "value is no number|values are no numbers"));
    }
    if (s->no_content)
        bl_buffer_printf(&s->notes, "%s--dedup: %s, and not compared", s->notes.size ? "\n" : "",
                         bl_text_plural(a, s->no_content, "sequence has no digest|sequences have no digest"));
    if (s->options->dedup_by.key)
        subset_note_repeats(s);
    return bl_buffer_check(&s->notes, e);
}

/* Chooses the rows of an open table. may_be_held: it is no error if --extend leaves out all rows, as a run that adds
 * nothing is usual. BL_EFAIL: no sequence is left. */
int bl_subset_choose(struct bl_subset *s, const struct bl_sequences *t, bool may_be_held, struct bl_error *e)
{
    const struct bl_subset_options *o = s->options;
    struct bl_subset_choice c = {.subset = s, .table = t};
    int code = BL_OK;
    for (int f = 0; f < t->files && !code; f++)
        code = subset_check_columns(o, &t->file[f].columns, t->file[f].path, e);
    c.is_digest = true; /* --dedup-by compares digests if all tables have them */
    for (int f = 0; f < t->files && !code && o->dedup_by.key && c.is_digest; f++)
        code = subset_check_same_column(o, &t->file[f].columns, t->file[f].path, &c.is_digest, e);
    if (!code && o->dedup_by.key)
        code = same_column_name(o, c.is_digest, &c.same_column, e);
    /* Tables with digests beside tables without: all must then have the column itself. */
    for (int f = 0; f < t->files && !code && o->dedup_by.key && !c.is_digest; f++)
        code = subset_check_column(&t->file[f].columns, "dedup-by", c.same_column.data, c.same_column.data,
                                   t->file[f].path, e);
    for (int i = 0; i < o->where.count && !code; i++)
        code = bl_condition_parse(&s->condition[s->conditions++], o->where.text[i], e);
    s->count = t->count;
    s->mark = calloc(t->count + 1, 1);
    /* A byte more, as calloc(3) of 0 bytes may return NULL. */
    s->part = o->split.parts ? calloc(t->count + 1, 1) : NULL;
    if (!code && (!s->mark || (o->split.parts && !s->part)))
        code = bl_error_memory(e);
    if (!code && o->extend.count)
        code = bl_extend_open(&c.extend, o, t->kind, s->cancel, e);
    if (!code)
        code = choosing_choose_rows(&c, e);
    /* "no sequence is left: 3 left out by --where, 1 by --first" */
    struct bl_buffer text = {0};
    bool is_empty =
        !code && !c.chosen && t->by_status[BL_ROW_OK] && !(may_be_held && s->left_out.by[BL_LEFT_OUT_EXTEND]);
    for (int by = 0; by < BL_LEFT_OUT_OPTIONS && is_empty; by++) {
        char a[32];
        if (s->left_out.by[by])
            bl_buffer_printf(&text, "%s%s by --%s", text.size ? ", " : "", bl_text_count(a, s->left_out.by[by]),
                             bl_left_out_option((enum bl_left_out)by));
    }
    if (is_empty)
        code = bl_buffer_check(&text, e);
    if (is_empty && !code)
        code = bl_error_set(e, BL_EFAIL, "no sequence is left: %s", text.data);
    bl_buffer_free(&text);
    if (!code)
        code = subset_note(&c, e);
    bl_subset_choice_free(&c);
    return code;
}
