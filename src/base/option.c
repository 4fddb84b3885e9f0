/* Options: tables of typed entries, the command line, the values, and conditions between options.
 *
 * A stage has a struct of values and a table that describes its members. Everything else follows from the table, so
 * that an option is written down once. An entry, and a command line that it parses:
 *
 *     BL_OPTION_INT("world-size", struct bl_plan_options, world_size, BL_AFFECTS_PLAN, "number of ranks", .min = 1)
 *     --world-size 8    --world-size=8    and for an option with the letter T: -T 512, -T512
 *
 * `origin` has a byte for each option of all groups, in their order, which says where its value comes from. */
#include "base/option.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define OPTION_SUGGESTION_SIZE 128 /* bytes: a name of an option and the words around it */

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* Moves to the next option of all groups; {0} begins. index counts them through, and is the index in o->origin. */
bool bl_options_next(const struct bl_options *o, struct bl_option_match *match)
{
    /* A table ends with an entry without a name; the next group follows. */
    const struct bl_option *next = match->option ? match->option + 1 : NULL;
    int g = match->option ? (int)(match->group - o->group) : -1;
    match->index += match->option != NULL;
    while (!next || !next->name) {
        if (++g >= o->groups)
            return false;
        next = o->group[g].options;
    }
    match->group = &o->group[g];
    match->option = next;
    return true;
}

/* Counts the options of all groups, which is the size of o->origin. */
static int options_count(const struct bl_options *o)
{
    int count = 0;
    for (struct bl_option_match m = {0}; bl_options_next(o, &m);)
        count++;
    return count;
}

/* Finds an option by its name of `size` bytes, or with name NULL by its letter. flag: find only flags of this command.
 * A group without a title belongs to another command, and may have an option of the same name. */
static bool option_find(const struct bl_options *o, const char *name, size_t size, char letter, bool flag,
                        struct bl_option_match *match)
{
    for (struct bl_option_match m = {0}; bl_options_next(o, &m);) {
        /* Names and letters are compared completely: an abbreviation could become ambiguous with the next version. */
        const char *own = m.option->name;
        bool same = name ? strncmp(own, name, size) == 0 && !own[size] : m.option->letter == letter;
        if (same && (!flag || m.group->title)) {
            *match = m;
            return true;
        }
    }
    return false;
}

bool bl_options_find(const struct bl_options *o, const char *name, size_t size, struct bl_option_match *match)
{
    return option_find(o, name, size, 0, false, match);
}

bool bl_options_find_flag(const struct bl_options *o, const char *name, size_t size, struct bl_option_match *match)
{
    return option_find(o, name, size, 0, true, match);
}

/* Writes ": did you mean --strategy?" to text, or `see` if no name is near. flags: suggest only flags of this command;
 * otherwise only keys of a YAML file. Options of one letter are near to everything and are left out. */
static const char *option_suggest(const struct bl_options *o, const char *name, size_t size, bool flags,
                                  const char *see, char text[OPTION_SUGGESTION_SIZE])
{
    struct bl_nearest nearest = {.word = name, .size = size};
    for (struct bl_option_match m = {0}; bl_options_next(o, &m);) {
        /* The nearest name so far is kept, and bl_nearest_offer decides what is near. */
        if (flags ? m.group->title && m.option->name[1] : !m.option->command_line_only)
            bl_nearest_offer(&nearest, m.option->name);
    }
    if (nearest.best)
        snprintf(text, OPTION_SUGGESTION_SIZE, ": did you mean %s%s?", flags ? "--" : "", nearest.best);
    else
        snprintf(text, OPTION_SUGGESTION_SIZE, "%s", see);
    return text;
}

/* Returns the place of the option's value in the stage's struct. */
static void *option_value(const struct bl_option_group *group, const struct bl_option *option)
{
    return (char *)group->values + option->offset;
}

/* Adds a group and sets its values to their defaults. The table ends with an entry without a name. The defaults go
 * through the parsers, so that a wrong one shows in the first run of any test. */
int bl_options_add(struct bl_options *o, const char *title, const struct bl_option *table, void *values,
                   struct bl_error *e)
{
    if (o->groups == BL_OPTION_GROUPS_MAX)
        return bl_error_set(e, BL_EFAIL, "more than %d groups of options", BL_OPTION_GROUPS_MAX);
    int before = options_count(o);
    /* The new options have the last indices, so that the origins before them stay. */
    o->group[o->groups++] = (struct bl_option_group){title, table, values};
    int after = options_count(o);
    /* One byte more than needed, because realloc(0) may return NULL. */
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

/* Reports a value that the type does not accept. Example: "--size expects width x height, such as 224x224, not "big"".
 * A key of a YAML file has no dashes. */
static int option_reject(const struct bl_option *option, const char *text, enum bl_origin origin, struct bl_error *e)
{
    struct bl_buffer expected = {0};
    if (option->choices) {
        bl_buffer_text(&expected, "one of ");
        /* Only whole numbers state limits of their option; other types describe theirs in `expects`. */
        bl_option_append_choices(option, ", ", &expected);
    } else {
        bl_buffer_text(&expected, option->type->expects);
        /* max 0 means that there is no upper limit. */
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

/* Sets a value, unless one of a stronger origin is set: a flag is stronger than a file, and a file than the default.
 * A stronger origin first empties the list of an option that repeats, so that flags replace the list of a file. */
static int option_apply(struct bl_options *o, const struct bl_option_match *match, const char *text,
                        enum bl_origin origin, struct bl_error *e)
{
    if (o->origin[match->index] > origin)
        return BL_OK;
    if (o->origin[match->index] < origin)
        memset(option_value(match->group, match->option), 0, match->option->repeats);
    if (!match->option->type->parse(match->option, text, option_value(match->group, match->option)))
        return option_reject(match->option, text, origin, e);
    o->origin[match->index] = (unsigned char)origin;
    return BL_OK;
}

/* Sets an option by its name, from a YAML file or a flag. Unknown keys are errors: a typing error must not be ignored.
 */
int bl_options_set(struct bl_options *o, const char *name, const char *text, enum bl_origin origin, struct bl_error *e)
{
    struct bl_option_match match;
    char suggestion[OPTION_SUGGESTION_SIZE];
    bool known = option_find(o, name, strlen(name), 0, origin == BL_ORIGIN_FLAG, &match) &&
                 (origin == BL_ORIGIN_FLAG || !match.option->command_line_only);
    /* Options such as --config and --help have no meaning in a file. */
    if (!known)
        return bl_error_set(e, BL_EUSAGE, "unknown key \"%s\"%s", name,
                            option_suggest(o, name, strlen(name), false, "", suggestion));
    return option_apply(o, &match, text, origin, e);
}

bool bl_options_repeats(const struct bl_options *o, const char *name)
{
    struct bl_option_match match;
    return bl_options_find(o, name, strlen(name), &match) && match.option->repeats > 0;
}

enum bl_origin bl_options_origin(const struct bl_options *o, const char *name)
{
    struct bl_option_match match;
    if (!bl_options_find(o, name, strlen(name), &match))
        return BL_ORIGIN_DEFAULT;
    return (enum bl_origin)o->origin[match.index];
}

void bl_option_format(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out)
{
    option->type->format(option, option_value(group, option), out);
}

/* --- command line ----------------------------------------------------------------------------------------------- */

/* Sets a list that the command line has set before, to the same value. Another list is refused: it would replace the
 * first one, and a user may expect that both count. Example: "--keep is given twice, as "url" and as "id": give it
 * once, with commas between: --keep url,id". The comparison is that of the formatted values. */
static int option_parse_again(struct bl_options *o, const struct bl_option_match *match, const char *text,
                              struct bl_error *e)
{
    const char *name = match->option->name, *dashes = name[1] ? "--" : "-";
    struct bl_buffer before = {0}, after = {0};
    bl_option_format(match->group, match->option, &before);
    /* An empty text makes sure that data is not NULL. */
    bl_buffer_text(&before, "");
    int code = option_apply(o, match, text, BL_ORIGIN_FLAG, e);
    if (code)
        goto out;
    bl_option_format(match->group, match->option, &after);
    bl_buffer_text(&after, "");
    if (before.failed || after.failed)
        code = bl_error_memory(e);
    else if (strcmp(before.data, after.data) != 0)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s%s is given twice, as \"%s\" and as \"%s\": give it once, with commas between: "
                            "%s%s %s,%s",
                            dashes, name, before.data, text, dashes, name, before.data, text);
out:
    bl_buffer_free(&before);
    bl_buffer_free(&after);
    return code;
}

/* Sets the option of argv[*at]. Its value is the rest of the same word (attached), or the next word, to which *at then
 * moves. A flag without a value is true. */
static int option_parse_value(struct bl_options *o, const struct bl_option_match *match, const char *attached, int argc,
                              char **argv, int *at, struct bl_error *e)
{
    if (!attached && match->option->type == &bl_option_flag)
        attached = "true";
    if (!attached) {
        /* The value is the next word, whatever it begins with: -1 may be a number. */
        if (*at + 1 >= argc)
            return bl_error_set(e, BL_EUSAGE, "%s needs a value (%s)", argv[*at],
                                match->option->choices ? "see --help" : match->option->type->expects);
        attached = argv[++*at];
    }
    /* The last flag counts, as on other command lines: scripts put theirs behind defaults. Lists are an exception:
     * options whose placeholder in --help has a comma. */
    const struct bl_option *option = match->option;
    const char *shown = option->placeholder ? option->placeholder : option->type->placeholder;
    bool is_list = !option->repeats && shown && strchr(shown, ',');
    if (is_list && o->origin[match->index] == BL_ORIGIN_FLAG)
        return option_parse_again(o, match, attached, e);
    return option_apply(o, match, attached, BL_ORIGIN_FLAG, e);
}

/* Parses a word --NAME or --NAME=VALUE; in the first case, the next word may be the value. */
static int option_parse_long(struct bl_options *o, int argc, char **argv, int *at, struct bl_error *e)
{
    const char *name = argv[*at] + 2, *equals = strchr(name, '=');
    size_t size = equals ? (size_t)(equals - name) : strlen(name);
    struct bl_option_match match;
    if (!option_find(o, name, size, 0, true, &match)) {
        char suggestion[OPTION_SUGGESTION_SIZE];
        return bl_error_set(e, BL_EUSAGE, "unknown option --%.*s%s", (int)size, name,
                            option_suggest(o, name, size, true, " (see --help)", suggestion));
    }
    return option_parse_value(o, &match, equals ? equals + 1 : NULL, argc, argv, at, e);
}

/* Parses a word -X or -XVALUE. Several letters in one word are refused: -hv would be -h with the value "v". */
static int option_parse_short(struct bl_options *o, int argc, char **argv, int *at, struct bl_error *e)
{
    const char *word = argv[*at];
    struct bl_option_match match;
    if (!option_find(o, NULL, 0, word[1], true, &match))
        return bl_error_set(e, BL_EUSAGE, "unknown option -%c (see --help)%s", word[1],
                            /* A file name such as -2024.mp4 looks like an option. */
                            word[2] ? "; before a name that begins with -, write --" : "");
    if (word[2] && match.option->type == &bl_option_flag)
        return bl_error_set(e, BL_EUSAGE, "-%c takes no value: write %s as separate flags", word[1], word);
    return option_parse_value(o, &match, word[2] ? word + 2 : NULL, argc, argv, at, e);
}

/* Parses a command line. Words that begin no option become operands, in their order; "-" is an operand, and all words
 * after "--" are. The operands point into argv. */
int bl_options_parse(struct bl_options *o, int argc, char **argv, struct bl_error *e)
{
    free(o->operand);
    o->operands = 0;
    /* There are at most as many operands as words. One more is allocated, because calloc(0) may return NULL. */
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

/* --- types of values ---------------------------------------------------------------------------------------------- */

/* The words that YAML 1.2 and users write; the empty text is neither. */
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

/* Formats an integer. One without a default is not set while it is 0, and has no text then. */
static void int_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    if (option->initial || *(const int64_t *)value)
        bl_buffer_printf(out, "%" PRId64, *(const int64_t *)value);
}

/* Parses 64 bits without a sign, for seeds: bl_text_to_int reads up to 2^63 - 1 only. */
static bool uint_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    /* strtoull would accept spaces and signs. */
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

/* A size such as 256M; max does not apply to sizes. */
static bool bytes_parse(const struct bl_option *option, const char *text, void *value)
{
    return bl_text_to_bytes(text, value) && *(int64_t *)value >= option->min;
}

/* Parses one of the choices. The value is an int, the index among them, which is also the enum of the stage. */
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

/* Stores the text without a copy: it lies in argv or in the text of the YAML file, and both outlive the options. */
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

/* Appends a text to the list. Flags of one option come one after the other: --where A --where B. */
static bool texts_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_texts *texts = value;
    (void)option;
    if (!*text || texts->count == BL_TEXTS_MAX)
        return false;
    texts->text[texts->count++] = text;
    return true;
}

/* Writes one text per line, because a text may contain commas. */
static void texts_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_texts *texts = value;
    (void)option;
    for (int i = 0; i < texts->count; i++)
        bl_buffer_printf(out, "%s%s", i ? "\n" : "", texts->text[i]);
}

/* Parses 25, 12.5 (as 25/2) or 30000/1001. At most nine digits are allowed on either side, so that products of two
 * rates fit 64 bits; the fraction is reduced, so that equal rates have equal text. */
static bool rational_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    int64_t num, den = 1;
    size_t whole = strspn(text, "0123456789");
    /* rest begins behind the "/" or "." */
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
        /* 12.5 has the numerator 125 and the denominator 10 before it is reduced. */
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
    int64_t divisor = num; /* the greatest common one, by Euclid */
    for (int64_t other = den, remainder; other; other = remainder) {
        remainder = divisor % other;
        divisor = other;
    }
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

/* A side has at most 32,768 pixels, which keeps the bytes of a picture far below 2^63. */
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

/* Placeholder in --help, parser, formatter, and what a message says that the option expects. */
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

void bl_option_append_choices(const struct bl_option *option, const char *separator, struct bl_buffer *out)
{
    for (int i = 0; option->choices[i]; i++)
        bl_buffer_printf(out, "%s%s", i ? separator : "", option->choices[i]);
}

/* --- conditions --------------------------------------------------------------------------------------------------- */

/* Some options have an effect only together with others, which struct bl_option.only lists. A flag without effect is
 * an error, since the user expects one. Examples of `only`: "strategy=sample|mix" and "world-size/batch-size". */

/* Returns whether the list, from `list` to `end`, contains the word text of size bytes. */
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

/* Returns whether the condition from at to end holds: NAME=VALUE|VALUE requires a value, NAME/NAME one of them to
 * be set. An option that this command does not have fulfils every condition. */
static bool condition_holds(const struct bl_options *o, const char *at, const char *end)
{
    const char *equals = memchr(at, '=', (size_t)(end - at));
    struct bl_option_match match;
    /* The value is compared as text, in the form that --print-config shows. */
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
        /* One option of the list that is set, or unknown to this command, is enough. */
        if (!bl_options_find(o, at, size, &match) || o->origin[match.index] != BL_ORIGIN_DEFAULT)
            return true;
        at += size + 1;
    }
    return false;
}

/* Reports a condition that does not hold, with the other option as a user writes it: "--strategy sample or mix",
 * "--world-size or --batch-size". */
static int condition_report(const struct bl_option *option, const char *at, const char *end, struct bl_error *e)
{
    struct bl_buffer flags = {0};
    bl_buffer_text(&flags, "--");
    for (; at < end; at++) {
        if (*at == '|' || *at == '/')
            bl_buffer_text(&flags, *at == '|' ? " or " : " or --");
        /* "a=b|c/d" becomes "--a b or c or --d". */
        else
            bl_buffer_byte(&flags, *at == '=' ? ' ' : *at);
    }
    int code = bl_buffer_check(&flags, e);
    if (!code)
        code = bl_error_set(e, BL_EUSAGE, "--%s has no effect without %s", option->name, flags.data);
    bl_buffer_free(&flags);
    return code;
}

/* Checks only flags: several commands and strategies may share a YAML file. Commas separate conditions, and each must
 * hold. */
int bl_options_check(const struct bl_options *o, struct bl_error *e)
{
    for (struct bl_option_match m = {0}; bl_options_next(o, &m);) {
        const char *at = o->origin[m.index] == BL_ORIGIN_FLAG ? m.option->only : NULL;
        while (at) {
            const char *end = strchrnul(at, ',');
            if (!condition_holds(o, at, end))
                return condition_report(m.option, at, end, e);
            at = *end ? end + 1 : NULL;
        }
    }
    return BL_OK;
}
