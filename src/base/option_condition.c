/* Options that have an effect only together with others: struct bl_option.only. */
#include <string.h>

#include "base/option.h"

/* Whether the list contains the word text of size bytes. */
static bool condition_lists(const char *list, const char *end, const char *text, size_t size)
{
    for (const char *at = list; at < end;) {
        size_t word = strcspn(at, "|,");
        if (word == size && memcmp(at, text, size) == 0)
            return true;
        at += word + 1;
    }
    return false;
}

/* Whether the condition from at to end holds: NAME=VALUE|VALUE, or NAME/NAME. */
static bool condition_holds(const struct bl_options *o, const char *at, const char *end)
{
    const char *equals = memchr(at, '=', (size_t)(end - at));
    struct bl_option_match match;
    if (equals) {
        struct bl_buffer value = {0};
        bool there = bl_options_find(o, at, (size_t)(equals - at), &match);
        if (there)
            bl_option_format(match.group, match.option, &value);
        bool listed =
            !there || value.failed || condition_lists(equals + 1, end, value.data ? value.data : "", value.size);
        bl_buffer_free(&value);
        return listed;
    }
    while (at < end) {
        size_t size = strcspn(at, "/,");
        if (!bl_options_find(o, at, size, &match) || o->origin[match.index] != BL_ORIGIN_DEFAULT)
            return true;
        at += size + 1;
    }
    return false;
}

/* "--strategy sample or mix", "--world-size or --batch-size" */
static void condition_append(struct bl_buffer *out, const char *at, const char *end)
{
    bl_buffer_text(out, "--");
    for (; at < end; at++) {
        if (*at == '|' || *at == '/')
            bl_buffer_text(out, *at == '|' ? " or " : " or --");
        else
            bl_buffer_byte(out, *at == '=' ? ' ' : *at);
    }
}

static int option_check(const struct bl_options *o, const struct bl_option *option, struct bl_error *e)
{
    for (const char *at = option->only; at;) {
        const char *end = strchrnul(at, ',');
        if (!condition_holds(o, at, end)) {
            struct bl_buffer condition = {0};
            condition_append(&condition, at, end);
            int code = bl_buffer_check(&condition, e);
            if (!code)
                code = bl_error_set(e, BL_EUSAGE, "--%s has no effect without %s", option->name, condition.data);
            bl_buffer_free(&condition);
            return code;
        }
        at = *end ? end + 1 : NULL;
    }
    return BL_OK;
}

int bl_options_check(const struct bl_options *o, struct bl_error *e)
{
    int index = 0, code = BL_OK;
    for (int g = 0; g < o->groups && !code; g++) {
        for (const struct bl_option *option = o->group[g].options; option->name && !code; option++, index++) {
            if (o->origin[index] == BL_ORIGIN_FLAG)
                code = option_check(o, option, e);
        }
    }
    return code;
}
