/* Reads members of JSON objects, and lists those that bload does not support.
 *
 * A tokenizer.json can use features of `tokenizers` that bload does not have. An unknown member would change ids
 * silently, so every object has a list of its known members. Reading goes on after an unknown one, so that one message
 * names all of them: "not supported: "dropout" of the model BPE, the normalizer "X"". */
#include "kind/text/json_members.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 8 /* levels of Sequences: real files have two, and a bound keeps the recursion small */

void bl_unsupported_add(struct bl_unsupported *unsupported, const char *format, ...)
{
    /* Longer texts are cut: callers bound what they quote from the file. */
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (unsupported->list.size)
        bl_buffer_text(&unsupported->list, ", ");
    bl_buffer_text(&unsupported->list, text);
}

int bl_unsupported_check(const struct bl_unsupported *unsupported, struct bl_error *e)
{
    /* A list that memory was too small for must not count as empty. */
    if (bl_buffer_check(&unsupported->list, e))
        return BL_EFAIL;
    if (!unsupported->list.size)
        return BL_OK;
    return bl_error_set(e, BL_EFAIL, "not supported: %s", unsupported->list.data);
}

void bl_unsupported_free(struct bl_unsupported *unsupported)
{
    bl_buffer_free(&unsupported->list);
}

int bl_json_members_check(const json_t *object, const char *what, const char *const *names,
                          struct bl_unsupported *unsupported, struct bl_error *e)
{
    if (!json_is_object(object))
        return bl_error_set(e, BL_EFAIL, "%s is not an object", what);
    const char *name;
    json_t *value;
    /* jansson's macro takes no const object, and does not change it. */
    json_object_foreach((json_t *)object, name, value)
    {
        size_t i = 0;
        while (names[i] && strcmp(names[i], name) != 0)
            i++;
        if (!names[i])
            bl_unsupported_add(unsupported, "\"%.80s\" of %s", name, what);
    }
    return BL_OK;
}

int bl_json_members_read_flags(const json_t *object, const char *what, const struct bl_json_flag *flags,
                               struct bl_error *e)
{
    for (const struct bl_json_flag *flag = flags; flag->name; flag++) {
        /* The default stays where the member is missing. */
        const json_t *member = json_object_get(object, flag->name);
        if (!member || (flag->nullable && json_is_null(member)))
            continue;
        if (!json_is_boolean(member))
            return bl_error_set(e, BL_EFAIL, "%s: \"%s\" is not true or false", what, flag->name);
        *flag->value = json_is_true(member);
    }
    return BL_OK;
}

const char *bl_json_type(const json_t *object)
{
    /* A missing type is "", so that callers can compare without a check. */
    const char *type = json_string_value(json_object_get(object, "type"));
    return type ? type : "";
}

/* Appends the steps of object; depth: the number of Sequences around the object. Sequences become one flat list, as
 * their members run one after the other. */
static int steps_add(struct bl_json_steps *steps, const json_t *object, const char *list, const char *what, int depth,
                     struct bl_unsupported *unsupported, struct bl_error *e)
{
    const char *const known[] = {"type", list, NULL};
    if (!object || json_is_null(object))
        return BL_OK;
    /* An object without a type is a step, too: the reader of steps names it as unsupported. */
    if (strcmp(bl_json_type(object), "Sequence") != 0) {
        int code = BL_ARRAY_RESERVE(steps->step, steps->capacity, steps->count + 1, e);
        if (code)
            return code;
        steps->step[steps->count++] = object;
        return json_is_object(object) ? BL_OK : bl_error_set(e, BL_EFAIL, "a %s is not an object", what);
    }
    /* The file decides how deep Sequences are, so the recursion needs a bound. */
    if (depth == DEPTH)
        return bl_error_set(e, BL_EFAIL, "more than %d Sequences within each other", DEPTH);
    char name[64];
    /* A Sequence has no members except its type and its list. */
    snprintf(name, sizeof name, "the %s Sequence", what);
    int code = bl_json_members_check(object, name, known, unsupported, e);
    const json_t *items = json_object_get(object, list);
    for (size_t i = 0; i < json_array_size(items) && !code; i++)
        code = steps_add(steps, json_array_get(items, i), list, what, depth + 1, unsupported, e);
    return code;
}

int bl_json_steps_add(struct bl_json_steps *steps, const json_t *object, const char *list, const char *what,
                      struct bl_unsupported *unsupported, struct bl_error *e)
{
    return steps_add(steps, object, list, what, 0, unsupported, e);
}

int bl_json_step_check(const json_t *object, const char *what, bool named, const char *const *names,
                       struct bl_unsupported *unsupported, struct bl_error *e)
{
    /* Messages name "the normalizer Strip" if named is set, and "a normalizer" otherwise. */
    char name[64];
    if (named)
        snprintf(name, sizeof name, "the %s %s", what, bl_json_type(object));
    else
        snprintf(name, sizeof name, "a %s", what);
    return bl_json_members_check(object, name, names, unsupported, e);
}

void bl_json_steps_free(struct bl_json_steps *steps)
{
    free(steps->step);
    *steps = (struct bl_json_steps){0};
}

/* {"pattern": {"String": " "}} sets *literal, {"pattern": {"Regex": "\\s"}} clears it. */
const json_t *bl_json_pattern(const json_t *object, bool *literal)
{
    const json_t *pattern = json_object_get(object, "pattern"), *text = json_object_get(pattern, "String");
    *literal = text != NULL;
    text = text ? text : json_object_get(pattern, "Regex");
    return json_is_string(text) ? text : NULL;
}
