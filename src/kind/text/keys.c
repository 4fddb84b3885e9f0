#include "kind/text/keys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "base/utf8.h"

/* Whether the name can be that of a column: it is written to the header of the table as it is. */
static bool is_column_name(const char *name)
{
    size_t left = strlen(name), size;
    for (; left; name += size, left -= size) {
        size = bl_utf8_length(name, left);
        if (!size || (unsigned char)*name < ' ' || *name == 0x7f || *name == '\\')
            return false;
    }
    return true;
}

static bool column_dtype_parse(const char *text, size_t size, enum bl_dtype *dtype)
{
    static const enum bl_dtype known[] = {BL_U8, BL_I8, BL_U16, BL_I16, BL_I32, BL_I64, BL_F32};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        *dtype = known[i];
        if (strlen(bl_dtype_name(*dtype)) == size && strncasecmp(bl_dtype_name(*dtype), text, size) == 0)
            return true;
    }
    return false;
}

/* Sets what ":number" says, and takes it off the key. Other colons belong to the key: "dc:title". */
static int column_parse_number(struct bl_text_column *column, const char *key, const char **end, struct bl_error *e)
{
    const char *colon = memrchr(key, ':', (size_t)(*end - key));
    size_t size = colon ? (size_t)(*end - colon - 1) : 0;
    enum bl_dtype dtype;
    column->is_number = size == strlen("number") && memcmp(colon + 1, "number", size) == 0;
    if (column->is_number)
        *end = colon;
    else if (colon && column_dtype_parse(colon + 1, size, &dtype))
        return bl_error_set(e, BL_EUSAGE, "--keep \"%.*s\": a number of each document is KEY:number (F64)",
                            (int)(*end - key), key);
    return BL_OK;
}

/* Parses "NAME=KEY:DTYPE", of which the name and the type are optional, as column k. Only fields have types; "number"
 * is that of a kept column. */
static int column_parse(struct bl_text_prepared *p, int k, const char *text, size_t size, bool is_field,
                        struct bl_error *e)
{
    struct bl_text_column *column = &p->column[k];
    const char *end = text + size, *equals = memchr(text, '=', size), *key = equals ? equals + 1 : text;
    const char *colon = is_field ? memrchr(key, ':', (size_t)(end - key)) : NULL, *key_end = colon ? colon : end;
    int code = is_field ? BL_OK : column_parse_number(column, key, &key_end, e);
    if (code)
        return code;
    size_t key_size = (size_t)(key_end - key), name_size = equals ? (size_t)(equals - text) : key_size;
    if (!name_size || name_size >= sizeof column->name)
        return bl_error_set(e, BL_EUSAGE, "\"%.*s\" is not NAME=KEY", (int)size, text);
    memcpy(column->name, text, name_size);
    for (char *dot = column->name; !equals && (dot = strstr(dot, "\\.")); dot++) /* the key's name, as it is */
        memmove(dot, dot + 1, strlen(dot));
    if (!is_column_name(column->name))
        return bl_error_set(e, BL_EUSAGE,
                            "\"%.*s\": a name is UTF-8 without backslash or control characters: give another one, as "
                            "in NAME=KEY",
                            (int)size, text);
    if (!bl_json_key_parse(&p->key[k], key, key_size))
        return bl_error_set(e, BL_EUSAGE, "\"%.*s\" is not a key (a.b is b within a, a\\.b a name with a dot)",
                            (int)key_size, key);
    column->dtype = BL_I32;
    if (colon && !column_dtype_parse(colon + 1, (size_t)(end - colon - 1), &column->dtype))
        return bl_error_set(e, BL_EUSAGE, "\"%.*s\": a field's type is u8, i8, u16, i16, i32, i64 or f32", (int)size,
                            text);
    return BL_OK;
}

/* Parses a list of columns, and appends them to the others. */
static int columns_parse(struct bl_text_prepared *p, const char *list, bool is_field, int *count, struct bl_error *e)
{
    for (const char *at = list; at;) {
        const char *end = strchrnul(at, ',');
        int k = 1 + p->keeps + p->fields;
        if (k == BL_JSON_KEYS_MAX)
            return bl_error_set(e, BL_EUSAGE, "more than %d keys in --keep and --field", BL_JSON_KEYS_MAX - 1);
        int code = column_parse(p, k, at, (size_t)(end - at), is_field, e);
        if (code)
            return code;
        ++*count;
        at = *end ? end + 1 : NULL;
    }
    return BL_OK;
}

/* Refuses names that the table has for other columns, or that are used twice. */
static int columns_check_kept(const struct bl_text_prepared *p, bool fim, struct bl_error *e)
{
    static const char *const taken[] = {
        "id",     "length",  "kind",          "path",          "bytes",          "status", "reason",    "sampling",
        "stream", "content", BL_TEXT_HAD_BOS, BL_TEXT_HAD_EOS, BL_TEXT_SPECIALS, "fim",    "fim.begin", "fim.end"};
    size_t takens = sizeof taken / sizeof *taken - (fim ? 0 : 3);
    for (int k = 1; k <= p->keeps; k++) {
        for (size_t i = 0; i < takens; i++) {
            if (strcmp(p->column[k].name, taken[i]) == 0)
                return bl_error_set(e, BL_EUSAGE,
                                    "--keep: the table has a column \"%s\" of its own: give another name, as in "
                                    "text.%s=%s",
                                    taken[i], taken[i], taken[i]);
        }
        for (int j = 1; j < k; j++) {
            if (strcmp(p->column[k].name, p->column[j].name) == 0)
                return bl_error_set(e, BL_EUSAGE, "--keep: two columns \"%s\"", p->column[k].name);
        }
    }
    return BL_OK;
}

const char *bl_text_number(const struct bl_text_prepared *p, int i)
{
    for (int k = 1; k <= p->keeps; k++) {
        if (p->column[k].is_number && i-- == 0)
            return p->column[k].name;
    }
    return NULL;
}

/* Parses the keys of the text: the first one, and after all others the further ones. */
static int texts_parse(struct bl_text_prepared *p, const char *list, struct bl_error *e)
{
    int k = 0;
    for (const char *at = list; at;) {
        const char *end = strchrnul(at, ',');
        if (k == BL_JSON_KEYS_MAX)
            return bl_error_set(e, BL_EUSAGE, "more than %d keys in --key, --keep and --field", BL_JSON_KEYS_MAX);
        if (!bl_json_key_parse(&p->key[k], at, (size_t)(end - at)))
            return bl_error_set(e, BL_EUSAGE,
                                "--key: \"%.*s\" is not a key (a.b is b within a, a\\.b a name with a dot)",
                                (int)(end - at), at);
        p->texts += k > 0;
        k = BL_TEXT_KEYS(p);
        at = *end ? end + 1 : NULL;
    }
    return BL_OK;
}

static int join_prepare(const char *text, struct bl_text_prepared *p, struct bl_error *e)
{
    p->join = strdup(text ? text : BL_JOIN);
    if (!p->join)
        return bl_error_memory(e);
    int64_t size = bl_text_unescape(p->join, strlen(p->join));
    if (size < 0)
        return bl_error_set(e, BL_EUSAGE, "--join: after a backslash comes n, t, r, \\ or xHH");
    if (bl_utf8_valid(p->join, (size_t)size) != (size_t)size)
        return bl_error_set(e, BL_EUSAGE, "--join is not UTF-8");
    p->join_size = (size_t)size;
    return BL_OK;
}

int bl_text_keys_prepare(const struct bl_text_config *config, struct bl_text_prepared *p, struct bl_error *e)
{
    int code = columns_parse(p, config->keep, false, &p->keeps, e);
    if (code)
        return code;
    code = columns_parse(p, config->field, true, &p->fields, e);
    if (code)
        return code;
    code = texts_parse(p, config->key, e);
    if (code)
        return code;
    code = join_prepare(config->join, p, e);
    if (code)
        return code;
    return columns_check_kept(p, config->fim.given, e);
}

/* Adds the key that is compared, behind all others, and the column of its digest. */
static int keys_want_same(struct bl_text_prepared *p, const struct bl_same_text *same, struct bl_error *e)
{
    struct bl_buffer name = {0};
    int k = BL_TEXT_KEYS(p);
    bl_same_text_append_column(same, &name);
    int code = bl_buffer_check(&name, e);
    if (code)
        goto out;
    if (k == BL_JSON_KEYS_MAX)
        code =
            bl_error_set(e, BL_EUSAGE, "more than %d keys in --key, --keep, --field and --dedup-by", BL_JSON_KEYS_MAX);
    else if (!bl_json_key_parse(&p->key[k], same->key, same->size) || !is_column_name(name.data))
        code = bl_error_set(e, BL_EUSAGE, "--dedup-by: \"%.*s\" is not a key (a.b is b within a)", (int)same->size,
                            same->key);
    if (code)
        goto out;
    p->same = *same;
    p->same_column = name.data;
    name = (struct bl_buffer){0};
out:
    bl_buffer_free(&name);
    return code;
}

int bl_text_keys_want(void *values, const struct bl_kind_wanted *wanted, struct bl_error *e)
{
    struct bl_text_prepared *p = &((struct bl_text_config *)values)->prepared;
    p->trained = wanted->trained;
    p->head = wanted->head;
    if (wanted->trained && !bl_fields_have_mask(&p->out))
        return bl_error_set(e, BL_EUSAGE,
                            "--min-trained counts the tokens that a field loss_mask or labels trains: give it, as in "
                            "--field loss_mask=KEY:u8");
    return wanted->same ? keys_want_same(p, wanted->same, e) : BL_OK;
}
