#include "cmd/field_choice.h"

#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

/* The names of the fields: "frames, labels". */
static int fields_refuse(const struct bl_fields *fields, const char *name, struct bl_error *e)
{
    struct bl_buffer names = {0};
    struct bl_nearest nearest = {.word = name ? name : "", .size = name ? strlen(name) : 0};
    for (int f = 0; f < fields->count; f++) {
        bl_buffer_printf(&names, "%s%s", f ? ", " : "", fields->field[f].name);
        bl_nearest_offer(&nearest, fields->field[f].name);
    }
    int code = bl_buffer_check(&names, e);
    if (!code && !name)
        code = bl_error_set(e, BL_EUSAGE, "--field must be given, one of: %s", names.data);
    else if (!code && nearest.best)
        code = bl_error_set(e, BL_EUSAGE, "--field %s: there is none, did you mean %s? All are: %s", name, nearest.best,
                            names.data);
    else if (!code)
        code = bl_error_set(e, BL_EUSAGE, "--field %s: there is none, but: %s", name, names.data);
    bl_buffer_free(&names);
    return code;
}

int bl_field_choose(const struct bl_fields *fields, const char *name, int *found, struct bl_error *e)
{
    *found = 0;
    if (!name)
        return fields->count == 1 ? BL_OK : fields_refuse(fields, NULL, e);
    for (int f = 0; f < fields->count; f++) {
        if (strcmp(fields->field[f].name, name) == 0) {
            *found = f;
            return BL_OK;
        }
    }
    return fields_refuse(fields, name, e);
}
