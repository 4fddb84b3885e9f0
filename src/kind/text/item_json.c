/* Makes items from values under keys: lines and elements of JSON, and rows of CSV and TSV.
 *
 * Rows of CSV become the same struct bl_json_value as lines of JSON, as strings, so that one path reads both. For
 * example, {"text": "ab", "n": 3} and the row ab,3 with --keep n:number give the same row of the table. The values are
 * read in place, without a tree of the line, since a scan reads gigabytes of lines. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/text.h"
#include "kind/input_stat.h"
#include "kind/row.h"
#include "kind/text/item.h"

/* --- values of fields --------------------------------------------------------------------------------------------- */

/* The values of an extra field of text: a JSON array with one number for each token. */

#define NUMBER_MAX ((size_t)64) /* bytes of a number's text: the shortest text of any F64 has 24 */

/* Returns true for a number without point or exponent. */
static bool element_is_integer(const struct bl_json_value *element)
{
    return element->type == BL_JSON_NUMBER && !memchr(element->text, '.', element->size) &&
           !memchr(element->text, 'e', element->size) && !memchr(element->text, 'E', element->size);
}

/* Reads an element as a double: a number, or true and false as 1 and 0. Returns false for null, for other types, and
 * for numbers that are not finite. */
static bool element_read_double(const struct bl_json_value *element, double *number)
{
    char text[NUMBER_MAX];
    char *end;
    if (element->type == BL_JSON_WORD && *element->text != 'n') {
        *number = *element->text == 't';
        return true;
    }
    if (element->type != BL_JSON_NUMBER || element->size >= sizeof text)
        return false;
    memcpy(text, element->text, element->size);
    text[element->size] = '\0';
    *number = strtod(text, &end);
    return !*end && isfinite(*number);
}

/* Gives the text of a value of a row its type: a number, or true or false in upper or lower case. Other texts stay
 * strings. Spaces and tabs around the value do not count, and neither does a plus sign, which JSON does not have. */
static void field_value_of_text(struct bl_json_value *value)
{
    static const char known[] = "+-.eE0123456789";
    const char *text = value->text, *end = text + value->size;
    char copy[NUMBER_MAX], *stop = copy;
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    size_t size = (size_t)(end - text);
    if ((size == 4 && strncasecmp(text, "true", 4) == 0) || (size == 5 && strncasecmp(text, "false", 5) == 0))
        *value = (struct bl_json_value){.type = BL_JSON_WORD, .text = size == 4 ? "true" : "false", .size = size};
    if (!size || size >= sizeof copy)
        return;
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (strspn(copy, known) == size)
        (void)strtod(copy, &stop);
    size_t plus = *text == '+';
    if (stop == copy + size)
        *value = (struct bl_json_value){.type = BL_JSON_NUMBER, .text = text + plus, .size = size - plus};
}

/* Appends an element that is no plain integer in the range of the type: an integer that is written as 1.0 or 1e3, or as
 * true or false. Returns false if the type cannot hold it. */
static bool element_append(struct bl_buffer *out, enum bl_dtype dtype, int64_t min, int64_t max,
                           const struct bl_json_value *element)
{
    int64_t number;
    double real;
    if (dtype == BL_F32) {
        float narrow = element_read_double(element, &real) ? (float)real : NAN;
        bl_buffer_append(out, &narrow, sizeof narrow);
        return isfinite(narrow);
    }
    if (element_is_integer(element)) {
        if (!bl_text_to_int(element->text, element->size, min, max, &number))
            return false;
    } else {
        if (!element_read_double(element, &real) || real != trunc(real) || fabs(real) >= 0x1p63)
            return false;
        number = (int64_t)real;
    }
    if (number < min || number > max)
        return false;
    /* The low bytes come first on the little-endian machines that bload supports. */
    bl_buffer_append(out, &number, bl_dtype_size(dtype));
    return true;
}

/* Appends the elements of an array in the type: integers in its range, also written as 1.0 or 1e3, and true and false
 * as 1 and 0; for F32 every number that stays finite. Sets *count to the number of elements appended. Returns false at
 * an element of another kind, and sets *odd to it; its index is *count. */
static bool field_values_append(struct bl_buffer *out, enum bl_dtype dtype, const struct bl_json_value *array,
                                size_t *count, struct bl_json_value *odd)
{
    size_t size = bl_dtype_size(dtype), at = 0;
    bool is_unsigned = dtype == BL_U8 || dtype == BL_U16;
    int64_t max = size == 8 ? INT64_MAX : ((int64_t)1 << (8 * size - !is_unsigned)) - 1,
            min = is_unsigned ? 0 : -max - 1;
    for (*count = 0;; ++*count) {
        int64_t number = 0;
        size_t begin = at;
        bool found;
        bool plain = dtype != BL_F32 && !bl_json_next_int(array, &at, &number, &found);
        if (plain && !found)
            return true;
        if (plain && number >= min && number <= max) {
            bl_buffer_append(out, &number, size);
            continue;
        }
        at = begin;
        if (!bl_json_next(array, &at, odd))
            return true;
        if (!element_append(out, dtype, min, max, odd))
            return false;
    }
}

/* --- lines and elements of JSON ----------------------------------------------------------------------------------- */

#define KEPT_MAX ((size_t)4096)       /* bytes of a value in the table, whose lines must stay readable */
#define WHOLE_MAX ((size_t)768 << 10) /* bytes of the values of a document in the table: a line has 1 MiB at most */
#define KEYS_SHOWN 10                 /* number of keys of a line that a message lists */
#define VALUE_SHOWN 40                /* bytes of a value that a message shows */
#define ADD_REASON(item, ...) bl_row_append_reason((item)->reason, sizeof(item)->reason, __VA_ARGS__)

/* Writes a key as the user wrote it, such as "a.b", and cuts the text to size bytes. */
static void key_print(const struct bl_json_key *key, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (int p = 0; p < key->parts && used < size; p++)
        used += (size_t)snprintf(out + used, size - used, "%s%.*s", p ? "." : "", (int)key->size[p], key->part[p]);
}

/* Returns the index of further text i in prepared.key. The order there is: the text, kept columns, fields, further
 * texts, then the key of --dedup-by. */
static int further_text(const struct bl_text_prepared *p, int i)
{
    return 1 + p->keeps + p->fields + i;
}

/* Returns the name of the option that has key k. */
static const char *key_option(const struct bl_text_prepared *p, int k)
{
    return p->same_column && k == BL_TEXT_KEYS(p) - 1 ? "dedup-by"
           : !k || k >= further_text(p, 0)            ? "key"
           : k <= p->keeps                            ? "keep"
                                                      : "field";
}

/* Skips the item because the value of key k is missing, or has another type than wanted, such as "a string". */
static int item_skip_value(struct bl_item *item, int k, const struct bl_json_value *value, const char *wanted)
{
    char name[100];
    struct bl_buffer keys = {0};
    const struct bl_json_key *key = &item->config->prepared.key[k];
    key_print(key, name, sizeof name);
    if (value->type != BL_JSON_NONE)
        return bl_item_skip(item, "\"%s\" is %s, not %s", name, bl_json_type_name(value->type), wanted);
    bl_json_append_keys(item->line, item->line_size, KEYS_SHOWN, &keys);
    bl_item_skip(item, "no key \"%s\"", name);
    if (keys.size)
        ADD_REASON(item, "the %s has %s (--%s)", item->unit, keys.data, key_option(&item->config->prepared, k));
    bl_buffer_free(&keys);
    /* The key may have another meaning: a name with a dot in it, or a key of the rows of a table. Only the first line
     * is searched for a table, as one object often fills a whole file. */
    struct bl_json_key whole = {.parts = 1, .part = {name}, .size = {strlen(name)}};
    struct bl_json_value found, table;
    struct bl_json_fault fault = {0};
    if (key->parts > 1 && bl_json_scan(item->line, item->line_size, &whole, 1, &found, &fault) && found.type)
        ADD_REASON(item, "a.b is b within a; with a dot in its name it is a\\.b");
    else if (item->row.offset <= 0 && bl_json_find_table(item->line, item->line_size, &table))
        ADD_REASON(item, "an array lies under \"%.*s\": make lines of it (jq -c '.[\"%.*s\"][]')", (int)table.size,
                   table.text, (int)table.size, table.text);
    return BL_OK;
}

/* Returns true if an array holds the messages of a chat: objects with the key "role" (OpenAI) or "from" (ShareGPT). */
static bool array_is_chat(const struct bl_json_value *array)
{
    struct bl_json_value first, name, value;
    size_t at = 0, within = 0;
    if (!bl_json_next(array, &at, &first) || first.type != BL_JSON_OBJECT)
        return false;
    while (bl_json_next_member(&first, &within, &name, &value)) {
        if ((name.size == 4 && memcmp(name.text, "role", 4) == 0) ||
            (name.size == 4 && memcmp(name.text, "from", 4) == 0))
            return true;
    }
    return false;
}

/* Reads the ids of a document from an array of JSON. Other elements than integers, and an empty array, make the item a
 * skipped one. BL_EUSAGE: --fim is given, which needs text. */
static int item_read_ids(struct bl_item *item, const struct bl_json_value *value, struct bl_error *e)
{
    int64_t id;
    size_t at = 0;
    BL_TRY(bl_item_add_marks(item, &item->config->prepared.begin, e));
    for (;;) {
        bool found;
        int code = bl_json_next_int(value, &at, &id, &found);
        if (code && array_is_chat(value))
            return bl_item_skip(item, "a chat, not ids: python3 -m bload.chat makes ids and loss masks of chats");
        if (code)
            return bl_item_skip(item, "token %zu is no id (a whole number)", item->ids.count);
        if (!found)
            break;
        BL_TRY(bl_item_add_id(item, id, e));
    }
    if (item->row.status == BL_ROW_OK && item->ids.count == (size_t)item->config->prepared.begin.count)
        return bl_item_skip(item, "%s", BL_REASON_EMPTY);
    BL_TRY(bl_item_refuse_ids_for_fim(item->config, item->path, e));
    return bl_item_end_ids(item, e);
}

/* Appends a value of a row with one quote for each two quotes: RFC 4180 doubles the quotes within a value. */
static void quotes_join(const char *text, size_t size, struct bl_buffer *out)
{
    for (const char *end = text + size, *quote; text < end; text = quote) {
        quote = memchr(text, '"', (size_t)(end - text));
        bl_buffer_append(out, text, (size_t)((quote ? quote + 1 : end) - text));
        quote = quote && quote + 2 < end ? quote + 2 : end;
    }
}

/* Sets item->text to a string without its escapes. *lone: the offset of half a surrogate pair, or SIZE_MAX
 * (bl_json_unescape). */
static void item_unescape(struct bl_item *item, const struct bl_json_value *value, size_t *lone)
{
    bl_buffer_clear(&item->text);
    *lone = SIZE_MAX;
    if (item->is_row)
        quotes_join(value->text, value->size, &item->text);
    else
        bl_json_unescape(value, &item->text, lone);
}

/* Sets *text to a string as valid UTF-8 without escapes, or skips the item. The text is in the line or in a buffer of
 * the item. line gives the offset for messages. */
static int item_read_string(struct bl_item *item, const struct bl_json_value *value, const char **text, size_t *size,
                            const struct bl_document *line, struct bl_error *e)
{
    size_t lone;
    int64_t at = line->offset + (value->text - line->text);
    *text = value->text;
    *size = value->size;
    BL_TRY(bl_item_repair_utf8(item, text, size, at, e));
    if (!value->escaped || item->row.status != BL_ROW_OK)
        return BL_OK;
    struct bl_json_value repaired = {.text = *text, .size = *size};
    item_unescape(item, &repaired, &lone);
    *text = item->text.data;
    *size = item->text.size;
    if (lone != SIZE_MAX && item->config->invalid == BL_INVALID_ERROR)
        return bl_item_skip(item, "half a surrogate pair at byte %" PRId64, at + (int64_t)lone);
    if (lone != SIZE_MAX)
        ADD_REASON(item, "half a surrogate pair at byte %" PRId64 ": replaced by U+FFFD", at + (int64_t)lone);
    return bl_buffer_check(&item->text, e);
}

/* Reads the value of the text's key: a string to encode, or an array of ids. With several keys, all values are strings,
 * which are joined with the text of --join. A document whose texts are all empty is empty, whatever stands between
 * them. */
static int item_read_text(struct bl_item *item, const struct bl_json_value *value, const struct bl_document *line,
                          struct bl_error *e)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    const char *text;
    size_t size, sum = 0;
    item->arrays += !p->texts && value->type == BL_JSON_ARRAY;
    if (!p->texts && value->type == BL_JSON_ARRAY)
        return item_read_ids(item, value, e);
    bl_buffer_clear(&item->joined);
    for (int i = 0; i <= p->texts; i++) {
        int k = i ? further_text(p, i - 1) : 0;
        if (value[k].type != BL_JSON_STRING)
            return item_skip_value(item, k, &value[k], p->texts ? "a string" : "a string or an array of ids");
        if (!item->encoder && value[k].size) {
            item->texts++;
            return item_skip_value(item, k, &value[k], "an array of ids (text needs --tokenizer)");
        }
        BL_TRY(item_read_string(item, &value[k], &text, &size, line, e));
        if (!p->texts)
            return bl_item_encode(item, text, size, e);
        if (item->row.status != BL_ROW_OK)
            return BL_OK;
        if (i)
            bl_buffer_append(&item->joined, p->join, p->join_size);
        bl_buffer_append(&item->joined, text, size);
        sum += size;
    }
    BL_TRY(bl_buffer_check(&item->joined, e));
    return bl_item_encode(item, item->joined.data, sum ? item->joined.size : 0, e);
}

/* Adds a value of which an own field is made, whole: null and what a skipped document has are empty. A document with
 * another value than a string where the field is a text, or with longer values than a line of the table takes, is
 * skipped. */
static int item_keep_whole(struct bl_item *item, int k, const struct bl_json_value *value, const char *text,
                           size_t size, struct bl_error *e)
{
    const struct bl_text_column *column = &item->config->prepared.column[k];
    bool is_null = value->type == BL_JSON_WORD && *value->text == 'n';
    bl_buffer_byte(&item->extra, '\t');
    size_t before = item->extra.size;
    if (item->row.status != BL_ROW_OK || is_null || !size)
        return bl_buffer_check(&item->extra, e);
    if (!column->is_list && value->type != BL_JSON_STRING)
        return item_skip_value(item, k, value, "a string");
    bl_text_escape(&item->extra, text, size);
    BL_TRY(bl_buffer_check(&item->extra, e));
    if (item->extra.size <= WHOLE_MAX)
        return BL_OK;
    item->extra.size = before;
    item->extra.data[before] = '\0';
    return bl_item_skip(item, "%s: longer than a row of the table can be (%zu KiB)", column->name, WHOLE_MAX >> 10);
}

/* Adds a value as a column of the table: a string as its text, other values as JSON. Cuts a value to KEPT_MAX bytes and
 * adds that to the reason. */
static int item_keep_value(struct bl_item *item, int k, const struct bl_json_value *value, struct bl_error *e)
{
    const struct bl_text_column *column = &item->config->prepared.column[k];
    const char *text = value->text;
    size_t size = value->size, lone;
    if (value->type == BL_JSON_STRING && value->escaped) {
        item_unescape(item, value, &lone);
        text = item->text.data;
        size = item->text.size;
    }
    BL_TRY(bl_buffer_check(&item->text, e));
    if (column->is_whole)
        return item_keep_whole(item, k, value, text, size, e);
    if (size > KEPT_MAX) {
        ADD_REASON(item, "%s: cut to %zu bytes", column->name, KEPT_MAX);
        size = KEPT_MAX;
    }
    bl_buffer_byte(&item->extra, '\t');
    if (size)
        bl_text_escape(&item->extra, text, size);
    return bl_buffer_check(&item->extra, e);
}

/* Adds a number as a column, with the digits of the file. Where the value is no number, the column is empty and the
 * item is skipped: its tensor has no empty value. */
static int item_keep_number(struct bl_item *item, int k, const struct bl_json_value *value, struct bl_error *e)
{
    const char *name = item->config->prepared.column[k].name;
    struct bl_json_value of_row = *value;
    double number = 0;
    int64_t whole;
    if (item->is_row)
        field_value_of_text(&of_row);
    value = &of_row;
    bool found = element_read_double(value, &number);
    /* An integer that F64 would round, such as 2^53 + 1, is refused: identifiers must not change silently. */
    if (found && element_is_integer(value))
        found = bl_text_to_int(value->text, value->size, INT64_MIN, INT64_MAX, &whole) && number < 0x1p63 &&
                (int64_t)number == whole;
    bl_buffer_byte(&item->extra, '\t');
    if (found && value->type == BL_JSON_WORD)
        bl_buffer_byte(&item->extra, number > 0 ? '1' : '0');
    else if (found)
        bl_buffer_append(&item->extra, value->text, value->size);
    BL_TRY(bl_buffer_check(&item->extra, e));
    int shown = value->size < VALUE_SHOWN ? (int)value->size : VALUE_SHOWN;
    if (found || item->row.status != BL_ROW_OK)
        return BL_OK;
    if (value->type == BL_JSON_NUMBER)
        return bl_item_skip(item, "%s: F64 cannot hold %.*s", name, shown, value->text);
    if (value->type == BL_JSON_WORD)
        return bl_item_skip(item, "%s: null is no number", name);
    if (item->is_row)
        return bl_item_skip(item, "%s: \"%.*s\" is no number", name, shown, value->text);
    return item_skip_value(item, k, value, "a number");
}

/* Appends the values of extra field k to item->values: one number for each token. Another count skips the item. */
static int item_read_field(struct bl_item *item, int k, const struct bl_json_value *value, struct bl_error *e)
{
    const struct bl_text_column *column = &item->config->prepared.column[k];
    struct bl_json_value odd;
    size_t count;
    if (value->type != BL_JSON_ARRAY)
        return item_skip_value(item, k, value, "an array");
    if (!field_values_append(&item->values, column->dtype, value, &count, &odd)) {
        const char *quote = odd.type == BL_JSON_STRING ? "\"" : "";
        return bl_item_skip(item, "%s: value %zu is no number that fits %s: %s%.*s%s", column->name, count,
                            bl_dtype_name(column->dtype), quote, odd.size < VALUE_SHOWN ? (int)odd.size : VALUE_SHOWN,
                            odd.text, quote);
    }
    if (count != item->ids.count)
        return bl_item_skip(item, "%s has %zu values for %zu tokens", column->name, count, item->ids.count);
    return bl_buffer_check(&item->values, e);
}

int bl_item_read_values(struct bl_item *item, const struct bl_json_value *value, const struct bl_document *line,
                        struct bl_error *e)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    /* The text comes first, since each field needs as many values as there are tokens. */
    BL_TRY(item_read_text(item, value, line, e));
    BL_TRY(bl_item_add_fim(item, e));
    for (int k = 1; k <= p->keeps; k++)
        BL_TRY(p->column[k].is_number ? item_keep_number(item, k, &value[k], e)
                                      : item_keep_value(item, k, &value[k], e));
    item->row.extra = item->extra.size ? item->extra.data : NULL;
    if (p->same_column) {
        /* The digest is that of a string, or of the JSON of another value. A missing key and null give an empty column,
         * which equals no other. */
        struct bl_json_value same = value[BL_TEXT_KEYS(p) - 1];
        size_t lone;
        if (item->row.status != BL_ROW_OK || same.type == BL_JSON_NONE ||
            (same.type == BL_JSON_WORD && *same.text == 'n'))
            same = (struct bl_json_value){.text = ""};
        if (same.escaped) {
            item_unescape(item, &same, &lone);
            same.text = item->text.data ? item->text.data : "";
            same.size = item->text.size;
        }
        BL_TRY(bl_buffer_check(&item->text, e));
        BL_TRY(bl_item_add_digest(item, same.text, same.size, e));
    }
    if (!p->fields || item->row.status != BL_ROW_OK)
        return bl_item_finish(item, e);
    BL_TRY(bl_item_lay_out(item, e));
    for (int k = p->keeps + 1; k <= p->keeps + p->fields && item->row.status == BL_ROW_OK; k++)
        BL_TRY(item_read_field(item, k, &value[k], e));
    if (item->row.status != BL_ROW_OK)
        return BL_OK;
    int64_t count = (int64_t)item->ids.count;
    if (p->trained) {
        /* The number of trained tokens: of all, or of the first p->head ones if that is not 0. The values of all fields
         * were appended to item->values before, field after field. */
        const uint8_t *data[BL_FIELDS_MAX] = {NULL}, *at = (const uint8_t *)item->values.data;
        for (int f = 0; f < p->out.count; f++) {
            data[f] = at;
            at += (size_t)count * bl_field_step_bytes(&p->out.field[f]);
        }
        bl_buffer_byte(&item->extra, '\t');
        bl_buffer_int(&item->extra,
                      bl_fields_count_trained(&p->out, data, p->head && p->head < count ? p->head : count));
        item->row.extra = item->extra.data;
        BL_TRY(bl_buffer_check(&item->extra, e));
    }
    item->row.length = count;
    item->steps = item->values.data;
    item->bytes = item->values.size;
    return BL_OK;
}

/* Skips a line or an element that is no JSON object. The reason names the byte in the file, and the remedy where the
 * text shows it, such as --format json for a file that is one array. */
static int item_skip_json(struct bl_item *item, const struct bl_document *line, const struct bl_json_fault *fault)
{
    const char *text = item->line, *path = item->path;
    int64_t at = line->offset + (text - line->text) + (int64_t)fault->at;
    size_t size = line->ahead - (size_t)(text - line->text);
    struct bl_json_value table;
    bool is_array = *text == '[', is_first = line->offset == 0 && !line->element;
    if (is_first && strcmp(path, "-") == 0 && *text != '{')
        return bl_item_skip(item,
                            "no JSON: standard input is JSON, unless --format says another (a list of paths is @-)");
    if (is_first && *text == '{' && fault->at == item->line_size && line->ended &&
        bl_json_find_table(text, size, &table))
        return bl_item_skip(item,
                            "one object over several lines, with an array under \"%.*s\": make lines of it (jq -c "
                            "'.[\"%.*s\"][]')",
                            (int)table.size, table.text, (int)table.size, table.text);
    const char *what = fault->what;
    bool of_line = line->element && strncmp(what, "the line", 8) == 0;
    bl_item_skip(item, "not JSON at byte %" PRId64 ": %s%s%s", at, of_line ? "the element" : "",
                 of_line ? what + 8 : what,
                 line->ended     ? ""
                 : line->element ? " (the file ends in the middle of this element)"
                                 : " (the file ends in the middle of this line)");
    if (is_first && is_array && !line->element)
        ADD_REASON(item, "--format json reads a file that is one array");
    return BL_OK;
}

int bl_item_read_json(struct bl_item *item, const struct bl_document *line, bool *blank, struct bl_error *e)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    struct bl_json_value value[BL_JSON_KEYS_MAX];
    struct bl_json_fault fault = {0};
    const char *text = line->text;
    size_t size = line->size;
    if (line->offset == 0 && size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3; /* a byte order mark, which some editors of Windows write */
        size -= 3;
    }
    bl_item_begin(item, line->offset);
    *blank = !line->element && !line->too_long && bl_text_is_blank(text, size);
    if (*blank)
        return BL_OK;
    if (line->too_long)
        return bl_item_skip_long(item);
    item->row.content = bl_content_hash(line->text, line->size);
    item->line = text;
    item->line_size = size;
    item->unit = line->element ? "element" : "line";
    if (line->element && *text != '{' && bl_json_scan_value(text, size, &value[0], &fault)) {
        /* An element that is no object is a text or an array of ids, for the default key alone. It has no other keys,
         * so
         * --keep and --field skip it. */
        bool is_alone = !p->keeps && !p->fields && !p->texts && strcmp(item->config->key, "text") == 0;
        if (!is_alone || (value->type != BL_JSON_STRING && value->type != BL_JSON_ARRAY))
            return bl_item_skip(item, "the element is %s, not an object with keys", bl_json_type_name(value->type));
        if (p->same_column)
            value[1] = bl_item_is_same_text(item) ? value[0] : (struct bl_json_value){0};
        return bl_item_read_values(item, value, line, e);
    }
    if (!fault.what && bl_json_scan(text, size, p->key, BL_TEXT_KEYS(p), value, &fault))
        return bl_item_read_values(item, value, line, e);
    return item_skip_json(item, line, &fault);
}

/* --- rows of CSV and TSV ------------------------------------------------------------------------------------------ */

/* Gives the column that is read now to each key of this name. BL_EDATA: another column has the same name. */
static int columns_take(struct bl_item *item, struct bl_item_columns *columns, const struct bl_record_value *name,
                        struct bl_error *e)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    const char *text = name->text;
    size_t size = name->size;
    if (name->doubled) {
        bl_buffer_clear(&item->text);
        quotes_join(name->text, name->size, &item->text);
        text = item->text.data;
        size = item->text.size;
    }
    for (int k = 0; k < BL_TEXT_KEYS(p); k++) {
        /* A name equals the key as the user wrote it. Dots have no meaning there: the key a.b is the column "a.b". */
        const struct bl_json_key *key = &p->key[k];
        int last = key->parts - 1;
        size_t all = (size_t)(key->part[last] - key->part[0]) + key->size[last];
        if (!bl_json_part_is(key->part[0], all, text, size))
            continue;
        if (columns->of_key[k] >= 0)
            return bl_error_set(e, BL_EDATA, "two columns \"%.*s\"", (int)size, text);
        columns->of_key[k] = columns->count;
    }
    return bl_buffer_check(&item->text, e);
}

/* Appends the names in the first row, for a message: "id", "text", and "..." after KEYS_SHOWN names. */
static void row_print_names(const struct bl_document *row, char mark, struct bl_buffer *out)
{
    struct bl_record_value name;
    size_t at = 0;
    for (int n = 0; bl_record_next_value(row->text, row->size, mark, &at, &name) && n <= KEYS_SHOWN; n++) {
        int size = name.size < VALUE_SHOWN ? (int)name.size : VALUE_SHOWN;
        if (n == KEYS_SHOWN)
            bl_buffer_text(out, ", ...");
        else
            bl_buffer_printf(out, "%s\"%.*s\"", n ? ", " : "", size, name.text);
    }
    bl_buffer_text(out, "");
}

int bl_item_find_columns(struct bl_item *item, const struct bl_document *row, char mark,
                         struct bl_item_columns *columns, struct bl_error *e)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    struct bl_record_value name;
    struct bl_buffer names = {0};
    char key[100];
    size_t at = 0;
    int code = row->too_long ? bl_error_set(e, BL_EDATA, "the first row is longer than --max-document") : BL_OK;
    *columns = (struct bl_item_columns){.mark = mark};
    memset(columns->of_key, -1, sizeof columns->of_key);
    for (; !code && bl_record_next_value(row->text, row->size, mark, &at, &name); columns->count++) {
        code = name.fault ? bl_error_set(e, BL_EDATA, "line %" PRId64 ": %s", row->line, name.fault)
                          : columns_take(item, columns, &name, e);
    }
    for (int k = 0; k < BL_TEXT_KEYS(p) && !code; k++) {
        if (columns->of_key[k] >= 0)
            continue;
        key_print(&p->key[k], key, sizeof key);
        row_print_names(row, mark, &names);
        code = bl_error_set(e, BL_EDATA, "no column \"%s\": the first row has %s (--%s)", key, names.data,
                            key_option(p, k));
    }
    bl_buffer_free(&names);
    return code;
}

/* Skips a row for a reason, with its line. A quote that is never closed makes a row reach to the end of the file, so
 * the size of such a row is added. */
static int item_skip_row(struct bl_item *item, const struct bl_document *row, const char *what)
{
    char size[32];
    bl_item_skip(item, "line %" PRId64 ": %s", row->line, what);
    if (!row->ended)
        ADD_REASON(item, "the file ends in this row, of %s", bl_text_size(size, (int64_t)row->size));
    return BL_OK;
}

int bl_item_read_row(struct bl_item *item, const struct bl_item_columns *columns, const struct bl_document *row,
                     struct bl_error *e)
{
    const struct bl_text_prepared *p = &item->config->prepared;
    struct bl_json_value value[BL_JSON_KEYS_MAX] = {0};
    struct bl_record_value field;
    size_t at = 0;
    int count = 0;
    bl_item_begin(item, row->offset);
    if (row->too_long)
        return bl_item_skip_long(item);
    item->row.content = bl_content_hash(row->text, row->size);
    for (; bl_record_next_value(row->text, row->size, columns->mark, &at, &field); count++) {
        if (field.fault)
            return item_skip_row(item, row, field.fault);
        for (int k = 0; k < BL_TEXT_KEYS(p); k++) {
            if (columns->of_key[k] == count)
                value[k] = (struct bl_json_value){
                    .type = BL_JSON_STRING, .text = field.text, .size = field.size, .escaped = field.doubled};
        }
    }
    /* An unquoted separator in a value is the usual cause of more or fewer values than columns. */
    if (count != columns->count) {
        char values[BL_PLURAL_SIZE], wanted[BL_PLURAL_SIZE], what[200];
        snprintf(what, sizeof what, "%s for %s: values with a %s in them need quotes around them",
                 bl_text_plural(values, count, "value"), bl_text_plural(wanted, columns->count, "column"),
                 columns->mark == '\t'  ? "tab"
                 : columns->mark == ';' ? "semicolon"
                                        : "comma");
        return item_skip_row(item, row, what);
    }
    item->is_row = true;
    int code = bl_item_read_values(item, value, row, e);
    item->is_row = false;
    return code;
}
