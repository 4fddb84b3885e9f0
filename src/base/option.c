#include "base/option.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* --- types ------------------------------------------------------------------------------------------------------ */

static bool flag_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    bool on = strcmp(text, "true") == 0 || strcmp(text, "yes") == 0;
    bool off = strcmp(text, "false") == 0 || strcmp(text, "no") == 0;
    *(bool *)value = on;
    return on || off;
}

static void flag_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    bl_buffer_text(out, *(const bool *)value ? "true" : "false");
}

static bool int_parse(const struct bl_option *option, const char *text, void *value)
{
    return bl_text_to_int(text, strlen(text), option->min, option->max ? option->max : INT64_MAX, value);
}

static void int_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    if (option->initial || *(const int64_t *)value)
        bl_buffer_printf(out, "%" PRId64, *(const int64_t *)value);
}

static bool uint_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    uint64_t number = 0;
    if (!*text || text[strspn(text, "0123456789")])
        return false;
    for (; *text; text++) {
        if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
            return false;
    }
    *(uint64_t *)value = number;
    return true;
}

static void uint_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    bl_buffer_printf(out, "%" PRIu64, *(const uint64_t *)value);
}

static bool bytes_parse(const struct bl_option *option, const char *text, void *value)
{
    return bl_text_to_bytes(text, value) && *(int64_t *)value >= option->min;
}

static bool choice_parse(const struct bl_option *option, const char *text, void *value)
{
    for (int i = 0; option->choices[i]; i++) {
        if (strcmp(option->choices[i], text) == 0) {
            *(int *)value = i;
            return true;
        }
    }
    return false;
}

static void choice_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    bl_buffer_text(out, option->choices[*(const int *)value]);
}

static bool string_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    *(const char **)value = text;
    return *text != '\0';
}

static void string_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const char *text = *(const char *const *)value;
    if (text)
        bl_buffer_text(out, text);
}

static int64_t rational_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* 25, 12.5 (as 25/2) or 30000/1001; at most nine digits on either side, so that products of two fit 64 bits. */
static bool texts_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_texts *texts = value;
    (void)option;
    if (!*text || texts->count == BL_TEXTS_MAX)
        return false;
    texts->text[texts->count++] = text;
    return true;
}

static void texts_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_texts *texts = value;
    (void)option;
    for (int i = 0; i < texts->count; i++)
        bl_buffer_printf(out, "%s%s", i ? ", " : "", texts->text[i]);
}

static bool rational_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    int64_t num, den = 1;
    size_t whole = strspn(text, "0123456789");
    const char *rest = text + whole + (text[whole] != '\0');
    size_t digits = strlen(rest);
    if (!whole || whole > 9 || digits > 9 || rest[strspn(rest, "0123456789")] ||
        !bl_text_to_int(text, whole, 0, INT64_MAX, &num))
        return false;
    if (text[whole] == '/') {
        if (!bl_text_to_int(rest, digits, 1, INT64_MAX, &den))
            return false;
    } else if (text[whole] == '.') {
        int64_t fraction;
        if (whole + digits > 9 || !bl_text_to_int(rest, digits, 0, INT64_MAX, &fraction))
            return false;
        for (size_t i = 0; i < digits; i++)
            den *= 10;
        num = num * den + fraction;
    } else if (text[whole]) {
        return false;
    }
    if (num < 1)
        return false;
    int64_t divisor = rational_gcd(num, den);
    *(struct bl_rational *)value = (struct bl_rational){num / divisor, den / divisor};
    return true;
}

static void rational_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_rational *r = value;
    if (r->den == 1)
        bl_buffer_printf(out, "%" PRId64, r->num);
    else if (r->den)
        bl_buffer_printf(out, "%" PRId64 "/%" PRId64, r->num, r->den);
}

static bool dimensions_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    const char *x = strchr(text, 'x');
    int64_t width, height;
    if (!x || !bl_text_to_int(text, (size_t)(x - text), 1, 32768, &width) ||
        !bl_text_to_int(x + 1, strlen(x + 1), 1, 32768, &height))
        return false;
    *(struct bl_dimensions *)value = (struct bl_dimensions){(int)width, (int)height};
    return true;
}

static void dimensions_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_dimensions *d = value;
    if (d->width)
        bl_buffer_printf(out, "%dx%d", d->width, d->height);
}

const struct bl_option_type bl_option_flag = {NULL, flag_parse, flag_format, "true or false"};
const struct bl_option_type bl_option_int = {"N", int_parse, int_format, "a whole number"};
const struct bl_option_type bl_option_uint = {"N", uint_parse, uint_format, "a whole number, 0 to 2^64-1"};
const struct bl_option_type bl_option_bytes = {"BYTES", bytes_parse, int_format,
                                               "a number of bytes, such as 256M or 4G"};
const struct bl_option_type bl_option_choice = {NULL, choice_parse, choice_format, NULL};
const struct bl_option_type bl_option_string = {"TEXT", string_parse, string_format, "a text that is not empty"};
const struct bl_option_type bl_option_texts = {"TEXT", texts_parse, texts_format,
                                               "a text that is not empty, 64 times at most"};
const struct bl_option_type bl_option_path = {"FILE", string_parse, string_format, "the name of a file"};
const struct bl_option_type bl_option_rational = {"RATE", rational_parse, rational_format,
                                                  "a positive rate, such as 25, 12.5 or 30000/1001"};
const struct bl_option_type bl_option_dimensions = {"WxH", dimensions_parse, dimensions_format,
                                                    "width x height, each 1 to 32768, such as 224x224"};

/* --- groups ----------------------------------------------------------------------------------------------------- */

static int options_count(const struct bl_options *o)
{
    int count = 0;
    for (int g = 0; g < o->groups; g++) {
        for (const struct bl_option *option = o->group[g].options; option->name; option++)
            count++;
    }
    return count;
}

/* An option found by name or letter: its place in the tables. */
struct match {
    const struct bl_option_group *group;
    const struct bl_option *option;
    int index;
};

static bool options_find(const struct bl_options *o, const char *name, size_t size, char letter, bool flag,
                         struct match *match)
{
    int index = 0;
    for (int g = 0; g < o->groups; g++) {
        for (const struct bl_option *option = o->group[g].options; option->name; option++, index++) {
            bool named = name && strncmp(option->name, name, size) == 0 && option->name[size] == '\0';
            if ((named || (letter && option->letter == letter)) && !(flag && !o->group[g].title)) {
                *match = (struct match){&o->group[g], option, index};
                return true;
            }
        }
    }
    return false;
}

static void *option_value(const struct bl_option_group *group, const struct bl_option *option)
{
    return (char *)group->values + option->offset;
}

int bl_options_add(struct bl_options *o, const char *title, const struct bl_option *table, void *values,
                   struct bl_error *e)
{
    if (o->groups == BL_OPTION_GROUPS_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %d groups of options", BL_OPTION_GROUPS_MAX);
    int before = options_count(o);
    o->group[o->groups++] = (struct bl_option_group){title, table, values};
    int after = options_count(o);
    unsigned char *origin = realloc(o->origin, (size_t)after + 1);
    if (!origin)
        return bl_error_memory(e);
    memset(origin + before, BL_ORIGIN_DEFAULT, (size_t)(after - before) + 1);
    o->origin = origin;
    for (const struct bl_option *option = table; option->name; option++) {
        if (option->initial && !option->type->parse(option, option->initial, (char *)values + option->offset))
            return bl_error_set(e, BL_EFAIL, "--%s does not take its own default %s", option->name, option->initial);
    }
    return BL_OK;
}

void bl_options_free(struct bl_options *o)
{
    free(o->origin);
    free(o->operand);
    *o = (struct bl_options){0};
}

static void option_append_choices(const struct bl_option *option, const char *separator, struct bl_buffer *out)
{
    for (int i = 0; option->choices[i]; i++)
        bl_buffer_printf(out, "%s%s", i ? separator : "", option->choices[i]);
}

/* "--size expects width x height, such as 224x224, not "big"" */
static int option_reject(const struct bl_option *option, const char *text, enum bl_origin origin, struct bl_error *e)
{
    struct bl_buffer expected = {0};
    if (option->choices) {
        bl_buffer_text(&expected, "one of ");
        option_append_choices(option, ", ", &expected);
    } else {
        bl_buffer_text(&expected, option->type->expects);
        if (option->type == &bl_option_int && option->max)
            bl_buffer_printf(&expected, " from %" PRId64 " to %" PRId64, option->min, option->max);
        else if (option->type == &bl_option_int)
            bl_buffer_printf(&expected, " of at least %" PRId64, option->min);
    }
    const char *dashes = origin == BL_ORIGIN_FLAG ? (option->name[1] ? "--" : "-") : "";
    int code = bl_error_set(e, BL_EUSAGE, "%s%s expects %s, not \"%s\"", dashes, option->name,
                            expected.data ? expected.data : "something else", text);
    bl_buffer_free(&expected);
    return code;
}

static int option_apply(struct bl_options *o, const struct match *match, const char *text, enum bl_origin origin,
                        struct bl_error *e)
{
    if (o->origin[match->index] > origin)
        return BL_OK;
    if (match->option->type == &bl_option_texts && o->origin[match->index] < origin)
        *(struct bl_texts *)option_value(match->group, match->option) = (struct bl_texts){.count = 0};
    if (!match->option->type->parse(match->option, text, option_value(match->group, match->option)))
        return option_reject(match->option, text, origin, e);
    o->origin[match->index] = (unsigned char)origin;
    return BL_OK;
}

int bl_options_set(struct bl_options *o, const char *name, const char *text, enum bl_origin origin, struct bl_error *e)
{
    struct match match;
    if (!options_find(o, name, strlen(name), 0, origin == BL_ORIGIN_FLAG, &match) ||
        (origin == BL_ORIGIN_FILE && match.option->command_line_only))
        return bl_error_set(e, BL_EUSAGE, "unknown key \"%s\"", name);
    return option_apply(o, &match, text, origin, e);
}

bool bl_options_repeats(const struct bl_options *o, const char *name)
{
    struct match match;
    return options_find(o, name, strlen(name), 0, false, &match) && match.option->type == &bl_option_texts;
}

enum bl_origin bl_options_origin(const struct bl_options *o, const char *name)
{
    struct match match;
    if (!options_find(o, name, strlen(name), 0, false, &match))
        return BL_ORIGIN_DEFAULT;
    return (enum bl_origin)o->origin[match.index];
}

/* --- command line ----------------------------------------------------------------------------------------------- */

/* Sets the option of argv[*at]; its value is what follows in the word (attached), or the next word. */
static int option_parse_value(struct bl_options *o, const struct match *match, const char *attached, int argc,
                              char **argv, int *at, struct bl_error *e)
{
    if (!attached && match->option->type == &bl_option_flag)
        attached = "true";
    if (!attached) {
        if (*at + 1 >= argc)
            return bl_error_set(e, BL_EUSAGE, "%s needs a value (%s)", argv[*at],
                                match->option->choices ? "see --help" : match->option->type->expects);
        attached = argv[++*at];
    }
    return option_apply(o, match, attached, BL_ORIGIN_FLAG, e);
}

static int option_parse_long(struct bl_options *o, int argc, char **argv, int *at, struct bl_error *e)
{
    const char *name = argv[*at] + 2, *equals = strchr(name, '=');
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    struct match match;
    if (!options_find(o, name, size, 0, true, &match))
        return bl_error_set(e, BL_EUSAGE, "unknown option --%.*s (see --help)", (int)size, name);
    return option_parse_value(o, &match, equals ? equals + 1 : NULL, argc, argv, at, e);
}

static int option_parse_short(struct bl_options *o, int argc, char **argv, int *at, struct bl_error *e)
{
    const char *word = argv[*at];
    struct match match;
    if (!options_find(o, NULL, 0, word[1], true, &match))
        return bl_error_set(e, BL_EUSAGE, "unknown option -%c (see --help)", word[1]);
    if (word[2] && match.option->type == &bl_option_flag)
        return bl_error_set(e, BL_EUSAGE, "-%c takes no value: write %s as separate flags", word[1], word);
    return option_parse_value(o, &match, word[2] ? word + 2 : NULL, argc, argv, at, e);
}

int bl_options_parse(struct bl_options *o, int argc, char **argv, struct bl_error *e)
{
    free(o->operand);
    o->operands = 0;
    o->operand = calloc((size_t)argc + 1, sizeof *o->operand);
    if (!o->operand)
        return bl_error_memory(e);
    bool only_operands = false;
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        int code = BL_OK;
        if (only_operands || word[0] != '-' || !word[1])
            o->operand[o->operands++] = word;
        else if (strcmp(word, "--") == 0)
            only_operands = true;
        else if (word[1] == '-')
            code = option_parse_long(o, argc, argv, &at, e);
        else
            code = option_parse_short(o, argc, argv, &at, e);
        if (code)
            return code;
    }
    return BL_OK;
}

/* --- options that have an effect beside others alone ------------------------------------------------------------- */

/* Whether text, of so many bytes, is one of the words of the list. */
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

/* The condition from at to end: NAME=VALUE|VALUE, or NAME/NAME. */
static bool condition_holds(const struct bl_options *o, const char *at, const char *end)
{
    const char *equals = memchr(at, '=', (size_t)(end - at));
    struct match match;
    if (equals) {
        struct bl_buffer value = {0};
        bool there = options_find(o, at, (size_t)(equals - at), 0, false, &match);
        if (there)
            bl_option_format(match.group, match.option, &value);
        bool listed =
            !there || value.failed || condition_lists(equals + 1, end, value.data ? value.data : "", value.size);
        bl_buffer_free(&value);
        return listed;
    }
    while (at < end) {
        size_t size = strcspn(at, "/,");
        if (!options_find(o, at, size, 0, false, &match) || o->origin[match.index] != BL_ORIGIN_DEFAULT)
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

/* --- what is printed -------------------------------------------------------------------------------------------- */

int bl_options_each(const struct bl_options *o, bl_option_visit *visit, void *context)
{
    for (int g = 0; g < o->groups; g++) {
        for (const struct bl_option *option = o->group[g].options; option->name; option++) {
            int code = visit(context, &o->group[g], option);
            if (code)
                return code;
        }
    }
    return BL_OK;
}

int bl_options_each_flag(const struct bl_options *o, bl_option_visit *visit, void *context)
{
    int index = 0;
    for (int g = 0; g < o->groups; g++) {
        for (const struct bl_option *option = o->group[g].options; option->name; option++, index++) {
            int code = o->origin[index] == BL_ORIGIN_FLAG ? visit(context, &o->group[g], option) : BL_OK;
            if (code)
                return code;
        }
    }
    return BL_OK;
}

void bl_option_format(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out)
{
    option->type->format(option, option_value(group, option), out);
}

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

/* affects NOTHING: of all that affect something. */
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

/* "  -T, --T N" is written as "  -T N": a name of one letter is its own flag. */
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
        option_append_choices(option, "|", out);
    } else if (option->type->placeholder) {
        bl_buffer_printf(out, " %s", option->type->placeholder);
    }
}

/* Words, broken into lines that begin at a column and end before column 80. */
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

static void option_append_help(const struct bl_option *option, struct bl_buffer *out)
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
    bl_buffer_text(&text, option->help);
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
            option_append_help(option, out);
    }
}
