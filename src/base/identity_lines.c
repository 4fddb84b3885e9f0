#include "base/identity_lines.h"

#include "base/text.h"

void bl_options_exclude(struct bl_options *o, const void *values)
{
    for (int g = 0; g < o->groups; g++)
        o->idle[g] = o->idle[g] || o->group[g].values == values;
}

void bl_option_identity(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out)
{
    struct bl_buffer value = {0};
    bl_option_format(group, option, &value);
    bl_buffer_printf(out, "%s: ", option->name);
    bl_text_escape(out, value.data ? value.data : "", value.size);
    bl_buffer_byte(out, '\n');
    out->failed |= value.failed;
    bl_buffer_free(&value);
}

/* With BL_AFFECTS_NOTHING, all options that affect something. */
static void group_append_identity(const struct bl_option_group *group, enum bl_affects affects, struct bl_buffer *out)
{
    for (const struct bl_option *option = group->options; option->name; option++) {
        if (option->affects == BL_AFFECTS_NOTHING || (affects && option->affects != affects))
            continue;
        bl_option_identity(group, option, out);
    }
}

void bl_options_identity_of(const struct bl_options *o, enum bl_affects affects, struct bl_buffer *out)
{
    for (int g = 0; g < o->groups; g++) {
        if (!o->idle[g])
            group_append_identity(&o->group[g], affects, out);
    }
}

void bl_options_identity(const struct bl_options *o, struct bl_buffer *out)
{
    bl_options_identity_of(o, BL_AFFECTS_NOTHING, out);
}
