#include "store/jansson.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/checksum.h"

#define DIGITS 12 /* of a fraction: enough to resolve one step in 10^12, few enough to read */

void bl_jansson_push(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value)) {
        json_decref(*list);
        *list = NULL;
    }
}

void bl_jansson_set(json_t **object, const char *name, json_t *value)
{
    if (json_object_set_new(*object, name, value)) {
        json_decref(*object);
        *object = NULL;
    }
}

static int json_write_buffer(const char *text, size_t size, void *out)
{
    bl_buffer_append(out, text, size);
    return 0;
}

/* json_dumps would drop what it cannot append when memory is short, without an error. */
static int json_append(json_t *object, size_t flags, const char *end, struct bl_buffer *out, struct bl_error *e)
{
    int failed = json_dump_callback(object, json_write_buffer, out, flags);
    json_decref(object);
    bl_buffer_text(out, end);
    return failed ? bl_error_memory(e) : bl_buffer_check(out, e);
}

int bl_jansson_append_compact(json_t *object, struct bl_buffer *out, struct bl_error *e)
{
    return json_append(object, JSON_COMPACT, "", out, e);
}

int bl_jansson_append(json_t *object, struct bl_buffer *out, struct bl_error *e)
{
    return json_append(object, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS), "\n", out, e);
}

json_t *bl_jansson_escaped(const char *text)
{
    struct bl_buffer escaped = {0};
    bl_text_escape(&escaped, text ? text : "", text ? strlen(text) : 0);
    json_t *value = escaped.failed ? NULL : json_stringn(escaped.data ? escaped.data : "", escaped.size);
    bl_buffer_free(&escaped);
    return value;
}

int bl_jansson_get_integer(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
                           struct bl_error *e)
{
    const json_t *member = json_object_get(object, name);
    if (!json_is_integer(member) || json_integer_value(member) < min || json_integer_value(member) > max)
        return bl_error_set(e, BL_EDATA, "\"%s\" is missing, not an integer, or out of range", name);
    *value = json_integer_value(member);
    return BL_OK;
}

int bl_jansson_get_text(const json_t *object, const char *name, const char **value, struct bl_error *e)
{
    *value = json_string_value(json_object_get(object, name));
    return *value ? BL_OK : bl_error_set(e, BL_EDATA, "\"%s\" is missing, or not a string", name);
}

int bl_jansson_get_checksum(const json_t *object, const char *name, uint64_t *value, struct bl_error *e)
{
    const char *text;
    int code = bl_jansson_get_text(object, name, &text, e);
    if (code)
        return code;
    if (!bl_checksum_parse(text, value))
        return bl_error_set(e, BL_EDATA, "\"%s\" is not a checksum of 16 hexadecimal digits", name);
    return BL_OK;
}

int bl_jansson_unescaped(const json_t *value, char **out, struct bl_error *e)
{
    char *copy = strdup(json_string_value(value));
    int64_t size = copy ? bl_text_unescape(copy, strlen(copy)) : -1;
    if (copy && size >= 0) {
        copy[size] = '\0';
    } else if (copy) {
        strcpy(copy, json_string_value(value));
    }
    free(*out);
    *out = copy;
    return copy ? BL_OK : bl_error_memory(e);
}
