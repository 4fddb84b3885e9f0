#include "base/option_help.h"

#include <string.h>

/* Shortens "  -T, --T N" to "  -T N": a name of one letter is also its flag. */
static void option_append_usage(const struct bl_option *option, struct bl_buffer *out)
{
    bool one_letter = option->name[1] == '\0';
    if (one_letter)
        bl_buffer_printf(out, "  -%s", option->name);
    else if (option->letter)
        bl_buffer_printf(out, "  -%c, --%s", option->letter, option->name);
    else
        bl_buffer_printf(out, "      --%s", option->name);
    if (option->placeholder) {
        bl_buffer_printf(out, " %s", option->placeholder);
    } else if (option->choices) {
        bl_buffer_byte(out, ' ');
        bl_option_append_choices(option, "|", out);
    } else if (option->type->placeholder) {
        bl_buffer_printf(out, " %s", option->type->placeholder);
    }
}

/* Appends words, broken into lines from the given column to column 80. */
static void help_append_wrapped(struct bl_buffer *out, const char *text, int column)
{
    int at = column;
    for (const char *word = text; *word;) {
        size_t size = strcspn(word, " ");
        if (at > column && at + 1 + (int)size > 79) {
            bl_buffer_printf(out, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            bl_buffer_byte(out, ' ');
            at++;
        }
        bl_buffer_append(out, word, size);
        at += (int)size;
        word += size + (word[size] == ' ');
    }
}

/* size: bytes of its help. */
static void option_append_help(const struct bl_option *option, size_t size, struct bl_buffer *out)
{
    const int column = 30;
    size_t start = out->size;
    option_append_usage(option, out);
    int used = (int)(out->size - start);
    if (used + 2 > column)
        bl_buffer_printf(out, "\n%*s", column, "");
    else
        bl_buffer_printf(out, "%*s", column - used, "");
    struct bl_buffer text = {0};
    bl_buffer_append(&text, option->help, size);
    if (option->initial && option->type != &bl_option_flag)
        bl_buffer_printf(&text, " [%s]", option->initial);
    help_append_wrapped(out, text.data ? text.data : "", column);
    out->failed |= text.failed;
    bl_buffer_free(&text);
    bl_buffer_byte(out, '\n');
}

void bl_options_help(const struct bl_options *o, struct bl_buffer *out)
{
    for (int g = 0; g < o->groups; g++) {
        if (!o->group[g].title)
            continue;
        bl_buffer_printf(out, "\n%s:\n", o->group[g].title);
        for (const struct bl_option *option = o->group[g].options; option->name; option++)
            option_append_help(option, strlen(option->help), out);
    }
}

int bl_options_help_some(const struct bl_options *o, const char *names, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_option_match match;
    for (size_t size; *names; names += size + (names[size] == ' ')) {
        size = strcspn(names, " ");
        if (!bl_options_find_flag(o, names, size, &match))
            return bl_error_set(e, BL_EFAIL, "there is no option %.*s", (int)size, names);
        option_append_help(match.option, strcspn(match.option->help, ";"), out);
    }
    return BL_OK;
}
