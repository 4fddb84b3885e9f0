#include "scan/condition.h"

#include <fnmatch.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/env.h"
#include "store/row_reader.h"

/* --- conditions --------------------------------------------------------------------------------------------------- */

/* Longer operators before those that they begin with. */
static const struct {
    const char *text;
    enum bl_comparison comparison;
} comparisons[] = {{"!=", BL_COMPARE_UNEQUAL}, {"<=", BL_COMPARE_AT_MOST}, {">=", BL_COMPARE_AT_LEAST},
                   {"=", BL_COMPARE_EQUAL},    {"<", BL_COMPARE_LESS},     {">", BL_COMPARE_GREATER},
                   {"~", BL_COMPARE_GLOB}};

static struct bl_decimal decimal_parse(const char *text)
{
    struct bl_decimal number = {0};
    char *end = NULL;
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return number;
    number.value = strtod(text, &end); /* the process is in the C locale */
    number.is_number = !*end && isfinite(number.value);
    number.is_whole = bl_text_to_int(text, strlen(text), INT64_MIN, INT64_MAX, &number.whole);
    return number;
}

/* Negative, 0 or positive. */
static int decimal_compare(const struct bl_decimal *a, const struct bl_decimal *b)
{
    if (a->is_whole && b->is_whole)
        return (a->whole > b->whole) - (a->whole < b->whole);
    return (a->value > b->value) - (a->value < b->value);
}

/* Finds the first operator. NULL: there is none. */
static char *operator_find(char *text, size_t *size, enum bl_comparison *comparison)
{
    for (char *at = text; *at; at++) {
        for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
            *size = strlen(comparisons[i].text);
            *comparison = comparisons[i].comparison;
            if (strncmp(at, comparisons[i].text, *size) == 0)
                return at;
        }
    }
    return NULL;
}

/* Cuts blanks off both ends. */
static char *condition_trim(char *text)
{
    static const char blanks[] = " \t";
    text += strspn(text, blanks);
    size_t size = strlen(text);
    while (size && strchr(blanks, text[size - 1]))
        size--;
    text[size] = '\0';
    return text;
}

int bl_condition_parse(struct bl_condition *c, const char *text, struct bl_error *e)
{
    *c = (struct bl_condition){.text = strdup(text)};
    if (!c->text)
        return bl_error_memory(e);
    size_t size;
    char *at = operator_find(c->text, &size, &c->comparison);
    bool good = at && !strchr(text, '\n') && (!at[size] || !strchr("=<>~", at[size])); /* "==" is none */
    if (good) {
        c->value = condition_trim(at + size);
        *at = '\0';
        c->column = condition_trim(c->text);
        good = *c->column;
    }
    if (!good)
        return bl_error_set(e, BL_EUSAGE,
                            "--where expects COLUMN OP VALUE, OP one of = != < <= > >= and ~ (a glob), such as "
                            "\"length >= 30\", not \"%s\"",
                            text);
    c->number = decimal_parse(c->value);
    bool needs_number = c->comparison >= BL_COMPARE_LESS && c->comparison <= BL_COMPARE_AT_LEAST;
    if (needs_number && !c->number.is_number)
        return bl_error_set(e, BL_EUSAGE, "--where \"%s\": < <= > >= compare numbers, and \"%s\" is none", text,
                            c->value);
    return BL_OK;
}

void bl_condition_free(struct bl_condition *c)
{
    free(c->text);
    c->text = NULL;
}

bool bl_condition_holds(const struct bl_condition *c, const char *value, bool *no_number)
{
    *no_number = false;
    if (c->comparison == BL_COMPARE_GLOB)
        return fnmatch(c->value, value, 0) == 0;
    const struct bl_decimal number = decimal_parse(value);
    bool numbers = number.is_number && c->number.is_number;
    int order = numbers ? decimal_compare(&number, &c->number) : strcmp(value, c->value);
    if (c->comparison == BL_COMPARE_EQUAL)
        return order == 0;
    if (c->comparison == BL_COMPARE_UNEQUAL)
        return order != 0;
    *no_number = !numbers;
    if (!numbers)
        return false;
    switch (c->comparison) {
    case BL_COMPARE_LESS:
        return order < 0;
    case BL_COMPARE_AT_MOST:
        return order <= 0;
    case BL_COMPARE_GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* --- exclusion ---------------------------------------------------------------------------------------------------- */

struct excluded {
    const char *id;
    char *plain; /* without the escapes that a table has; NULL: it has none */
    atomic_bool used;
};

struct bl_exclusion {
    struct bl_buffer text; /* the ids, each with a NUL after it */
    struct excluded *row;  /* [count] by id */
    size_t count;
    struct bl_hash hash; /* of the rows, by both */
};

static int exclusion_add_list(struct bl_exclusion *x, const char *list, const char *base, struct bl_error *e)
{
    char *path = bl_path_join(base, list);
    int code = path ? bl_lines_append_list(path, &x->text, e) : bl_error_memory(e);
    free(path);
    return code;
}

static int exclusion_compare(const void *a, const void *b)
{
    return strcmp(((const struct excluded *)a)->id, ((const struct excluded *)b)->id);
}

static int exclusion_hash(struct bl_exclusion *x, size_t i, const char *id, struct bl_error *e)
{
    return bl_hash_add(&x->hash, XXH3_64bits(id, strlen(id)), i, e);
}

/* Makes a row known by its id, as it is and as the id that a table writes so. */
static int exclusion_index(struct bl_exclusion *x, size_t i, struct bl_error *e)
{
    struct excluded *row = &x->row[i];
    int code = exclusion_hash(x, i, row->id, e);
    if (code || !strchr(row->id, '\\'))
        return code;
    char *plain = strdup(row->id);
    if (!plain)
        return bl_error_memory(e);
    int64_t size = bl_text_unescape(plain, strlen(plain));
    if (size < 0) {
        free(plain);
        return BL_OK;
    }
    plain[size] = '\0';
    row->plain = plain;
    return exclusion_hash(x, i, plain, e);
}

/* The ids in order, each once. */
static int exclusion_sort(struct bl_exclusion *x, struct bl_error *e)
{
    size_t all = 0, kept = 0;
    for (size_t at = 0; at < x->text.size; at += strlen(x->text.data + at) + 1)
        all++;
    x->row = calloc(all + 1, sizeof *x->row);
    if (!x->row)
        return bl_error_memory(e);
    for (size_t at = 0; at < x->text.size; at += strlen(x->text.data + at) + 1)
        x->row[x->count++].id = x->text.data + at;
    qsort(x->row, x->count, sizeof *x->row, exclusion_compare);
    for (size_t i = 0; i < x->count; i++) {
        if (!kept || strcmp(x->row[kept - 1].id, x->row[i].id) != 0)
            x->row[kept++].id = x->row[i].id;
    }
    x->count = kept;
    int code = bl_hash_reserve(&x->hash, kept, e);
    for (size_t i = 0; i < kept && !code; i++)
        code = exclusion_index(x, i, e);
    return code;
}

int bl_exclusion_open(struct bl_exclusion **exclusion, const char *const *arguments, int count, const char *base,
                      struct bl_error *e)
{
    struct bl_exclusion *x = calloc(1, sizeof *x);
    int code = BL_OK;
    if (!x)
        return bl_error_memory(e);
    for (int i = 0; i < count && !code; i++) {
        if (arguments[i][0] == '@')
            code = exclusion_add_list(x, arguments[i] + 1, base, e);
        else
            bl_buffer_append(&x->text, arguments[i], strlen(arguments[i]) + 1);
    }
    if (code)
        goto out;
    code = bl_buffer_check(&x->text, e);
    if (!code)
        code = exclusion_sort(x, e);
out:
    if (code)
        bl_exclusion_close(x);
    else
        *exclusion = x;
    return code;
}

void bl_exclusion_close(struct bl_exclusion *x)
{
    if (!x)
        return;
    bl_buffer_free(&x->text);
    bl_hash_free(&x->hash);
    for (size_t i = 0; x->row && i < x->count; i++)
        free(x->row[i].plain);
    free(x->row);
    free(x);
}

static bool exclusion_find(struct bl_exclusion *x, const char *id)
{
    bool is_found = false;
    size_t i;
    for (struct bl_hash_probe probe = bl_hash_begin(&x->hash, XXH3_64bits(id, strlen(id)));
         bl_hash_next(&x->hash, &probe, &i);) {
        struct excluded *row = &x->row[i];
        if (strcmp(row->id, id) != 0 && (!row->plain || strcmp(row->plain, id) != 0))
            continue;
        atomic_store_explicit(&row->used, true, memory_order_relaxed);
        is_found = true;
    }
    return is_found;
}

bool bl_exclusion_has(struct bl_exclusion *x, const char *id, const char *file)
{
    bool own = exclusion_find(x, id);
    return (file && exclusion_find(x, file)) || own;
}

void bl_exclusion_apply(struct bl_row *row)
{
    row->status = BL_ROW_DROPPED;
    row->length = 0;
    row->reason = "left out by --exclude";
    row->form = NULL;
}

bool bl_exclusion_has_row(struct bl_exclusion *x, const struct bl_row *row, struct bl_buffer *file)
{
    bl_buffer_clear(file);
    if (bl_row_offset(row) >= 0)
        bl_buffer_append(file, row->id, (size_t)(strrchr(row->id, '#') - row->id));
    return bl_exclusion_has(x, row->id, file->size ? file->data : NULL);
}

int bl_exclusion_match(const struct bl_sequences *table, struct bl_exclusion *x, struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_buffer file = {0};
    int code = BL_OK;
    int64_t left = table->excluded;
    for (size_t i = 0; i < table->count && left && !code; i++) {
        if (table->length[i])
            continue;
        code = bl_row_reader_read(table, i, &text, e);
        if (code || text.row.status != BL_ROW_DROPPED)
            continue;
        (void)bl_exclusion_has_row(x, &text.row, &file);
        left--;
    }
    bl_row_reader_free(&text);
    bl_buffer_free(&file);
    return code;
}

void bl_exclusion_identify(const struct bl_exclusion *x, struct bl_buffer *out)
{
    char digest[BL_DIGEST_SIZE];
    struct bl_checksum_state state;
    bl_checksum_begin(&state);
    for (size_t i = 0; i < x->count; i++)
        bl_checksum_add(&state, x->row[i].id, strlen(x->row[i].id) + 1);
    bl_checksum_format(bl_checksum_end(&state), digest);
    bl_buffer_printf(out, "exclude: %zu (%s)\n", x->count, digest);
}

void bl_exclusion_append_unused(const struct bl_exclusion *x, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE];
    size_t unused = 0;
    for (size_t i = 0; i < x->count; i++) {
        if (!atomic_load_explicit(&x->row[i].used, memory_order_relaxed) && !unused++)
            bl_buffer_printf(out, "--exclude %s: no sequence has that id", x->row[i].id);
    }
    if (unused > 1)
        bl_buffer_printf(out, ", nor %s", bl_text_plural(a, (int64_t)unused - 1, "other"));
}
