#include "kind/text/json_members.h"

#include <string.h>

int bl_json_members_check(const json_t *object, const char *what, const char *const *names, struct bl_error *e)
{
    if (!json_is_object(object))
        return bl_error_set(e, BL_EFAIL, "%s is not an object", what);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        size_t i = 0;
        while (names[i] && strcmp(names[i], name) != 0)
            i++;
        if (!names[i])
            return bl_error_set(e, BL_EFAIL, "%s has \"%.80s\", which is not supported", what, name);
    }
    return BL_OK;
}

int bl_json_members_read_flags(const json_t *object, const char *what, const struct bl_json_flag *flags,
                               struct bl_error *e)
{
    for (const struct bl_json_flag *flag = flags; flag->name; flag++) {
        const json_t *member = json_object_get(object, flag->name);
        if (!member)
            continue;
        if (!json_is_boolean(member))
            return bl_error_set(e, BL_EFAIL, "%s: \"%s\" is not true or false", what, flag->name);
        *flag->value = json_is_true(member);
    }
    return BL_OK;
}
