/* Counts the rows of a table for a data card.
 *
 * Each row is read once and counted in a few tallies, so that memory is bounded and no value is an estimate. Columns
 * have the usual names of lists and data cards: a table of videos with the columns label and fps has a card with labels
 * and rates. The sources of a view are its datasets; otherwise a column "source" names them, or the folders of the
 * files do, or, if there is one folder alone, the files. */
#include "report/card.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/kind.h"
#include "kind/kinds.h"
#include "show/html.h"
#include "store/plan_info.h"

const char *const bl_card_names[BL_CARD_WAYS] = {"sources", "labels", "languages", "codecs", "resolutions", "rates"};

/* The columns of each, the first that a table has counts. Two columns with ", " between them are joined by an x. */
static const char *const card_columns[BL_CARD_WAYS][5] = {
    [BL_CARD_SOURCES] = {"source", "dataset"},
    [BL_CARD_LABELS] = {"label", "class", "category"},
    [BL_CARD_LANGUAGES] = {"language", "lang", "locale"},
    [BL_CARD_CODECS] = {"codec", "codec_name"},
    [BL_CARD_RESOLUTIONS] = {"resolution", "width, height"},
    [BL_CARD_RATES] = {"fps", "frame_rate", "sample_rate", "sampling_rate"},
};

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* Returns whether a table has a column. names: a tab before each. */
static bool card_has_column(const char *names, const char *name, size_t size)
{
    for (const char *at = names ? names : ""; *at;) {
        size_t length = strcspn(++at, "\t");
        if (length == size && memcmp(at, name, size) == 0)
            return true;
        at += length;
    }
    return false;
}

/* Returns the column, or the two, that a table has for this way; NULL: none. */
static const char *card_find_column(const char *names, enum bl_card_by way)
{
    for (int i = 0; i < 5 && card_columns[way][i]; i++) {
        const char *name = card_columns[way][i], *comma = strchr(name, ',');
        size_t size = comma ? (size_t)(comma - name) : strlen(name);
        if (card_has_column(names, name, size) && (!comma || card_has_column(names, comma + 2, strlen(comma + 2))))
            return name;
    }
    return NULL;
}

/* Returns the number above 0 in a text, or 0. */
static double card_number(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    return end != text && !*end && isfinite(number) && number > 0 ? number : 0;
}

double bl_card_hours(const struct bl_row_reader *text)
{
    const struct bl_row *row = &text->row;
    const struct bl_kind *kind = bl_kind_find(row->kind);
    int64_t num, den;
    if (kind && bl_kind_rate(kind, row->sampling, &num, &den))
        return (double)row->length * (double)den / (double)num / 3600;
    /* A column has the rate of the file, which is that of the steps only where all frames are taken. */
    struct bl_buffer fps = {0};
    bool all = strcmp(row->kind, "video") == 0 && strncmp(row->sampling, "all", 3) == 0;
    double rate = all && bl_row_get_value(row, "fps", &fps) && fps.size && !fps.failed ? card_number(fps.data) : 0;
    bl_buffer_free(&fps);
    if (rate > 0)
        return (double)row->length / rate / 3600;
    return (row->duration ? card_number(row->duration) : 0) / 3600;
}

/* Adds a row's numbers to an entry. */
static void card_add_row(struct bl_tally_entry *entry, const struct bl_row *row, double hours)
{
    entry->steps += row->length;
    entry->hours += hours;
    entry->timed += hours > 0;
}

static int card_count(struct bl_tally *tally, const char *value, const struct bl_row *row, double hours,
                      struct bl_error *e)
{
    struct bl_tally_entry *entry = &tally->rest;
    if (strlen(value) > BL_CARD_VALUE_MAX)
        entry->rows++;
    else
        BL_TRY(bl_tally_add(tally, value, &entry, e));
    card_add_row(entry, row, hours);
    return BL_OK;
}

/* Counts a row by its file and by the folder or tar that has it. */
static int card_count_place(struct bl_card *card, const struct bl_row *row, double hours, struct bl_error *e)
{
    bl_buffer_clear(&card->key);
    bl_tally_append_folder(*row->path ? row->path : row->id, &card->key);
    BL_TRY(bl_buffer_check(&card->key, e));
    BL_TRY(card_count(&card->folders, card->key.data, row, hours, e));
    return card_count(&card->files, row->path, row, hours, e);
}

/* Sets key to the row's value of a column, or of two; it is empty if one of them is, or if the table has no
 * such column (NULL). */
static int card_read_value(struct bl_card *card, const struct bl_row_reader *text, const char *column,
                           struct bl_error *e)
{
    const char *comma = column ? strchr(column, ',') : NULL;
    bl_buffer_clear(&card->key);
    bl_buffer_text(&card->key, "");
    if (!column)
        return bl_buffer_check(&card->key, e);
    if (!comma) {
        (void)bl_row_reader_value(text, column, &card->key);
        return bl_buffer_check(&card->key, e);
    }
    char first[32];
    snprintf(first, sizeof first, "%.*s", (int)(comma - column), column);
    bool both = bl_row_reader_value(text, first, &card->key) && card->key.size;
    bl_buffer_byte(&card->key, 'x');
    size_t size = card->key.size;
    both = both && bl_row_reader_value(text, comma + 2, &card->key) && card->key.size > size;
    if (!both)
        bl_buffer_clear(&card->key);
    return bl_buffer_check(&card->key, e);
}

/* Finds the columns of the next table. Rows of tables without a column that another table of the view has count under
 * "", also those that were counted before. */
static int card_begin_table(struct bl_card *card, const struct bl_columns *columns, struct bl_error *e)
{
    card->columns = columns;
    for (int way = 0; way < BL_CARD_WAYS; way++) {
        struct bl_tally_entry *entry;
        card->column[way] = card_find_column(columns->extra, (enum bl_card_by)way);
        if (card->by[way] || !card->column[way])
            continue;
        card->by[way] = card->column[way];
        if (!card->all.rows)
            continue;
        BL_TRY(bl_tally_add(&card->count[way], "", &entry, e));
        entry->rows = card->all.rows;
        entry->steps = card->all.steps;
        entry->hours = card->all.hours;
        entry->timed = card->all.timed;
    }
    return BL_OK;
}

int bl_card_add(struct bl_card *card, const struct bl_row_reader *text, const char *source, struct bl_error *e)
{
    const struct bl_row *row = &text->row;
    if (row->status != BL_ROW_OK)
        return BL_OK;
    if (source)
        card->by[BL_CARD_SOURCES] = "dataset";
    if (card->columns != text->columns)
        BL_TRY(card_begin_table(card, text->columns, e));
    double hours = bl_card_hours(text);
    card->all.rows++;
    card_add_row(&card->all, row, hours);
    for (int way = 0; way < BL_CARD_WAYS; way++) {
        const char *value = way == BL_CARD_SOURCES ? source : NULL;
        if (!card->by[way])
            continue;
        if (!value) {
            BL_TRY(card_read_value(card, text, card->column[way], e));
            value = card->key.data;
        }
        BL_TRY(card_count(&card->count[way], value, row, hours, e));
    }
    return card->by[BL_CARD_SOURCES] ? BL_OK : card_count_place(card, row, hours, e);
}

const char *bl_card_source(const struct bl_manifest *m, size_t row)
{
    return m->sources ? bl_view_source_of_row(m->source, m->sources, (int64_t)row)->name : NULL;
}

/* The folders are the sources if there are several. The files of one folder are, if there are paths at all. */
void bl_card_finish(struct bl_card *card)
{
    const struct bl_tally *folders = &card->folders, *files = &card->files;
    struct bl_tally *sources = &card->count[BL_CARD_SOURCES];
    if (!card->by[BL_CARD_SOURCES] && card->all.rows) {
        bool has_paths = files->count > 1 || (files->count == 1 && *files->entry[0].key);
        bool by_folder = folders->count > 1 || folders->rest.rows > 0;
        card->by[BL_CARD_SOURCES] = by_folder ? "folder" : has_paths ? "file" : NULL;
        *sources = by_folder ? *folders : *files;
        *(by_folder ? &card->folders : &card->files) = (struct bl_tally){0};
    }
    for (int way = 0; way < BL_CARD_WAYS; way++)
        bl_tally_sort(&card->count[way]);
}

bool bl_card_has_columns(const struct bl_sequences *table)
{
    for (int f = 0; f < table->files; f++) {
        for (int way = 0; way < BL_CARD_WAYS; way++) {
            if (card_find_column(table->file[f].columns.extra, (enum bl_card_by)way))
                return true;
        }
    }
    return false;
}

int bl_card_read(struct bl_card *card, const struct bl_sequences *table, const struct bl_manifest *manifest,
                 struct bl_error *e)
{
    struct bl_row_reader text = {0};
    int code = BL_OK;
    for (size_t i = 0; i < table->count && !code; i++) {
        code = bl_row_reader_read(table, i, &text, e);
        if (!code)
            code = bl_card_add(card, &text, bl_card_source(manifest, i), e);
    }
    bl_card_finish(card);
    bl_row_reader_free(&text);
    return code;
}

void bl_card_free(struct bl_card *card)
{
    for (int way = 0; way < BL_CARD_WAYS; way++)
        bl_tally_free(&card->count[way]);
    bl_tally_free(&card->folders);
    bl_tally_free(&card->files);
    bl_buffer_free(&card->key);
    *card = (struct bl_card){0};
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

struct bl_tally_entry bl_card_others(const struct bl_tally *tally, size_t shown, int64_t *values)
{
    struct bl_tally_entry others = tally->rest;
    *values = tally->rest.rows ? -1 : tally->count > shown ? (int64_t)(tally->count - shown) : 0;
    for (size_t i = shown; i < tally->count; i++) {
        const struct bl_tally_entry *entry = &tally->entry[i];
        others.rows += entry->rows;
        others.steps += entry->steps;
        others.hours += entry->hours;
        others.timed += entry->timed;
    }
    return others;
}

/* Sets the numbers of an entry in an object, and its share of all steps. */
static void card_set_numbers(json_t **object, const struct bl_tally_entry *entry, const struct bl_tally_entry *all)
{
    bl_jansson_set(object, "sequences", json_integer(entry->rows));
    bl_jansson_set(object, "steps", json_integer(entry->steps));
    bl_jansson_set(object, "share", json_real(all->steps ? (double)entry->steps / (double)all->steps : 0));
    bl_jansson_set(object, "hours", entry->timed ? json_real(entry->hours) : json_null());
    bl_jansson_set(object, "timed", json_integer(entry->timed));
}

/* Returns {"by", "values", "others"} of one way. */
static json_t *card_way_json(const struct bl_card *card, enum bl_card_by way)
{
    const struct bl_tally *tally = &card->count[way];
    json_t *list = json_array(), *others = json_object(), *object = json_object();
    size_t shown = tally->count < BL_CARD_SHOWN ? tally->count : BL_CARD_SHOWN;
    int64_t values;
    struct bl_tally_entry rest = bl_card_others(tally, shown, &values);
    for (size_t i = 0; i < shown; i++) {
        const struct bl_tally_entry *entry = &tally->entry[i];
        json_t *value = json_object();
        bl_jansson_set(&value, "value", *entry->key ? bl_jansson_escaped(entry->key) : json_null());
        card_set_numbers(&value, entry, &card->all);
        bl_jansson_push(&list, value);
    }
    bl_jansson_set(&others, "values", values < 0 ? json_null() : json_integer(values));
    card_set_numbers(&others, &rest, &card->all);
    bl_jansson_set(&object, "by", json_string(card->by[way]));
    bl_jansson_set(&object, "values", list);
    bl_jansson_set(&object, "others", others);
    return object;
}

struct json_t *bl_card_json(const struct bl_card *card)
{
    json_t *object = json_object();
    card_set_numbers(&object, &card->all, &card->all);
    if (object)
        json_object_del(object, "share");
    for (int way = 0; way < BL_CARD_WAYS; way++)
        bl_jansson_set(&object, bl_card_names[way],
                       card->by[way] ? card_way_json(card, (enum bl_card_by)way) : json_null());
    return object;
}

/* --- page --------------------------------------------------------------------------------------------------------- */

/* Appends the numbers that end a row. Hours are those of the sequences whose hours are known. */
static void card_append_numbers(const struct bl_tally_entry *entry, const struct bl_tally_entry *all,
                                struct bl_buffer *out)
{
    bl_page_number(out, entry->rows);
    bl_page_number(out, entry->steps);
    bl_page_number_text(out, "%.2f %%", all->steps ? 100 * (double)entry->steps / (double)all->steps : 0);
    bl_page_number_text(out, entry->timed ? "%.3f" : "-", entry->hours);
    bl_buffer_text(out, "</tr>\n");
}

/* Appends the table of one way, the common values first; the last row has all others. */
static void card_append_way(const struct bl_card *card, enum bl_card_by way, struct bl_buffer *out)
{
    const struct bl_tally *tally = &card->count[way];
    size_t shown = tally->count < BL_CARD_SHOWN ? tally->count : BL_CARD_SHOWN;
    char caption[96], head[96], a[BL_PLURAL_SIZE];
    int64_t values;
    struct bl_tally_entry others = bl_card_others(tally, shown, &values);
    snprintf(caption, sizeof caption, "%c%s by %s", bl_card_names[way][0] - 'a' + 'A', bl_card_names[way] + 1,
             card->by[way]);
    snprintf(head, sizeof head, "%s|#sequences|#steps|#of the steps|#hours", card->by[way]);
    bl_page_begin_table(out, caption, head);
    for (size_t i = 0; i < shown; i++) {
        bl_buffer_text(out, "<tr><th scope=\"row\" class=\"w\">");
        bl_xml_append_name(out, *tally->entry[i].key ? tally->entry[i].key : "not given");
        bl_buffer_text(out, "</th>");
        card_append_numbers(&tally->entry[i], &card->all, out);
    }
    if (others.rows) {
        bl_buffer_printf(out, "<tr><th scope=\"row\">%s</th>",
                         values < 0 ? "others" : bl_text_plural(a, values, "other"));
        card_append_numbers(&others, &card->all, out);
    }
    bl_page_end_table(out);
}

void bl_card_append_page(const struct bl_card *card, struct bl_buffer *out)
{
    bool any = false;
    for (int way = 0; way < BL_CARD_WAYS; way++)
        any |= card->by[way] != NULL;
    if (!any)
        return;
    bl_buffer_text(out, "<h2>For a data card</h2>\n<p>Usable sequences, those values with most steps first.</p>\n");
    for (int way = 0; way < BL_CARD_WAYS; way++) {
        if (card->by[way])
            card_append_way(card, (enum bl_card_by)way, out);
    }
}
