/* The translation of regular expressions from Oniguruma's syntax to PCRE2's, element by element: an escape, the
 * beginning of a group or a class, an interval, a byte.
 *
 * Most elements are the same in both syntaxes. The others have another meaning in PCRE2, or none:
 *
 *     \h              hexadecimal digits, not horizontal space; \v one character, not a class of them
 *     \s \w \b        by Unicode's White_Space and word characters, which are others in PCRE2
 *     [a[bc]]         a class within a class, written as one class
 *     (?m)            the dot matches newlines, too (^ and $ always match at lines)
 *     {,n}            {0,n}
 *     \u0041 \p{Letter} [[:alpha:]]    by the names of PCRE2
 *
 * Example: "(?m:[\h[xy]]{,3})" becomes "(?s:[0-9A-Fa-fxy]{0,3})". */
#include "kind/text/regex.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Word characters, for use in a class. Outside of a class Oniguruma uses its table of Latin-1, with six more word
 * characters: superscripts and fractions. */
#define WORD "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define WORD_ALONE WORD "\\xb2\\xb3\\xb9\\xbc-\\xbe"

/* The boundary (word "!", other "=") between a word character and another character, or the place (word "=", other "!")
 * between two of the same type. PCRE2's own \b has other word characters. */
#define BOUNDARY(word, other)                                                                                          \
    "(?:(?<=[" WORD_ALONE "])(?" word "[" WORD_ALONE "])|(?<![" WORD_ALONE "])(?" other "[" WORD_ALONE "]))"

/* A pattern that is being translated. */
struct translation {
    const char *pattern;
    size_t size, at; /* bytes; `at`: of the next element */
    int depth;       /* of classes */
    bool begun;      /* the class has just begun: here a bracket or hyphen is a character */
    struct bl_buffer *out;
};

/* Returns BL_EDATA with the offset of the element. */
static int syntax_fail(const struct translation *w, const char *what, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "offset %zu of the pattern: %s", w->at, what);
}

/* Returns the byte at this distance from the next element, or 0 behind the end of the pattern. */
static char syntax_peek(const struct translation *w, size_t ahead)
{
    return w->size - w->at > ahead ? w->pattern[w->at + ahead] : '\0';
}

/* Copies the next size bytes, or as many as are left. */
static void syntax_copy(struct translation *w, size_t size)
{
    if (size > w->size - w->at)
        size = w->size - w->at;
    bl_buffer_append(w->out, w->pattern + w->at, size);
    w->at += size;
}

/* Writes text instead of the next size bytes of the pattern. */
static void syntax_replace(struct translation *w, size_t size, const char *text)
{
    bl_buffer_text(w->out, text);
    w->at += size;
}

/* Writes a set of characters instead of the next size bytes: within a class its members, otherwise a class. BL_EDATA: a
 * negated set within a class, for which PCRE2 has no syntax. */
static int syntax_replace_set(struct translation *w, size_t size, const char *set, bool negated, struct bl_error *e)
{
    if (w->depth && negated)
        return syntax_fail(w, "the complement of a set within a class is not supported", e);
    if (!w->depth)
        bl_buffer_text(w->out, negated ? "[^" : "[");
    syntax_replace(w, size, set);
    if (!w->depth)
        bl_buffer_byte(w->out, ']');
    return BL_OK;
}

/* Oniguruma's names of properties, and those that PCRE2 has for them: PCRE2 does not know the long names of general
 * categories. */
static const char *const property[][2] = {
    {"Letter", "L"},
    {"Lowercase_Letter", "Ll"},
    {"Uppercase_Letter", "Lu"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"Format", "Cf"},
    {"Unassigned", "Cn"},
    {"Private_Use", "Co"},
    {"Any", "Any"},
    {"Alphabetic", "Alphabetic"},
    {"Alpha", "Alphabetic"},
    {"Uppercase", "Uppercase"},
    {"Upper", "Uppercase"},
    {"Lowercase", "Lowercase"},
    {"Lower", "Lowercase"},
    {"White_Space", "White_Space"},
    {"Space", "White_Space"},
    {"Digit", "Nd"},
    {"Cntrl", "Cc"},
    {"Ideographic", "Ideographic"},
    {"Yi", "sc:Yi"},
    {"Emoji", "Emoji"},
    {"Emoji_Presentation", "Emoji_Presentation"},
    {"Extended_Pictographic", "Extended_Pictographic"},
};

/* Appends the name of a property in PCRE2. There a script's name includes its extensions, and with sc: it does not. */
static void syntax_property_name(struct bl_buffer *out, const char *name, size_t size)
{
    for (size_t i = 0; i < sizeof property / sizeof *property; i++) {
        if (strlen(property[i][0]) == size && !strncasecmp(property[i][0], name, size)) {
            bl_buffer_text(out, property[i][1]);
            return;
        }
    }
    /* A longer name is that of a script. In PCRE2 \p{Greek} includes the script extensions, and \p{sc:Greek} does not,
     * as in Oniguruma. */
    if (size > 2)
        bl_buffer_text(out, "sc:");
    bl_buffer_append(out, name, size);
}

/* Translates \p{Name}, \p{^Name} or \P{Name}. Without braces it is the same in PCRE2. */
static void syntax_property(struct translation *w)
{
    const char *from = w->pattern + w->at;
    const char *close = syntax_peek(w, 2) == '{' ? memchr(from, '}', w->size - w->at) : NULL;
    if (!close) {
        syntax_copy(w, 2);
        return;
    }
    size_t head = from[3] == '^' ? 4 : 3;
    size_t size = (size_t)(close - from) - head;
    syntax_copy(w, head);
    syntax_property_name(w->out, from + head, size);
    w->at += size;
    syntax_copy(w, 1);
}

/* Translates an escape, within a class or not. The letters of the list near the end mean the same in PCRE2; each other
 * letter could have another meaning there, so it is refused. */
static int syntax_escape(struct translation *w, struct bl_error *e)
{
    char c = syntax_peek(w, 1);
    size_t digits = 0;
    switch (c) {
    case 'h':
    case 'H':
        return syntax_replace_set(w, 2, "0-9A-Fa-f", c == 'H', e);
    case 'w':
    case 'W':
        return syntax_replace_set(w, 2, w->depth ? WORD : WORD_ALONE, c == 'W', e);
    case 's':
        syntax_replace(w, 2, "\\p{White_Space}");
        return BL_OK;
    case 'S':
        syntax_replace(w, 2, "\\P{White_Space}");
        return BL_OK;
    case 'v':
        syntax_replace(w, 2, "\\x0b");
        return BL_OK;
    case 'u':
        /* \u and four hexadecimal digits become \x{...}. */
        while (digits < 4 && syntax_peek(w, 2 + digits) && strchr("0123456789abcdefABCDEF", syntax_peek(w, 2 + digits)))
            digits++;
        if (digits < 4)
            return syntax_fail(w, "\\u needs four hexadecimal digits", e);
        syntax_replace(w, 2, "\\x{");
        syntax_copy(w, 4);
        bl_buffer_byte(w->out, '}');
        return BL_OK;
    case 'p':
    case 'P':
        syntax_property(w);
        return BL_OK;
    case 'b':
        syntax_replace(w, 2, w->depth ? "\\b" : BOUNDARY("!", "="));
        return BL_OK;
    case 'B':
        syntax_replace(w, 2, BOUNDARY("=", "!"));
        return BL_OK;
    }
    /* Escapes of other characters are the character itself in both syntaxes. */
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (letter && !strchr("adefknrtxADGKNRXZgz", c))
        return syntax_fail(w, "this escape is not supported", e);
    syntax_copy(w, 2);
    return BL_OK;
}

/* Translates [:name:] or [:^name:] within a class, for the names that equal a property of PCRE2. BL_EDATA: another
 * name. */
static int syntax_posix_class(struct translation *w, struct bl_error *e)
{
    static const char *const names[] = {"alpha", "digit", "space", "upper", "lower", "cntrl"};
    size_t head = syntax_peek(w, 2) == '^' ? 3 : 2;
    const char *name = w->pattern + w->at + head;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t size = strlen(names[i]);
        if (w->size - w->at < head + size + 2 || memcmp(name, names[i], size) != 0 || memcmp(name + size, ":]", 2) != 0)
            continue;
        bl_buffer_text(w->out, head == 3 ? "\\P{" : "\\p{");
        syntax_property_name(w->out, name, size);
        syntax_replace(w, head + size + 2, "}");
        return BL_OK;
    }
    return syntax_fail(w, "this class of characters is not supported", e);
}

/* Translates an element of a class, or the beginning or end of the class. A class within a class loses its brackets:
 * without negation and intersection the union is the same. */
static int syntax_class_element(struct translation *w, struct bl_error *e)
{
    char c = syntax_peek(w, 0);
    /* A bracket or hyphen is a character only where the class has just begun. */
    bool begun = w->begun;
    w->begun = false;
    if (c == '\\')
        return syntax_escape(w, e);
    if (c == '[' && syntax_peek(w, 1) == ':' && w->depth)
        return syntax_posix_class(w, e);
    if (c == '&' && syntax_peek(w, 1) == '&')
        return syntax_fail(w, "the intersection of classes (&&) is not supported", e);
    if (c == '[') {
        if (w->depth && syntax_peek(w, 1) == '^')
            return syntax_fail(w, "a negated class within a class is not supported", e);
        /* The first bracket of a class within a class is dropped: its members become members of the outer class. */
        w->begun = true;
        if (w->depth++)
            w->at++;
        else
            syntax_copy(w, syntax_peek(w, 1) == '^' ? 2 : 1);
    } else if (c == ']' && !begun) {
        if (--w->depth)
            w->at++;
        else
            syntax_copy(w, 1);
    } else if (c == ']' || (c == '-' && (begun || syntax_peek(w, 1) == '[' || syntax_peek(w, 1) == ']'))) {
        bl_buffer_byte(w->out, '\\');
        syntax_copy(w, 1);
    } else {
        syntax_copy(w, 1);
    }
    return BL_OK;
}

/* Translates an opening parenthesis and the options that follow it. Ruby's option m is PCRE2's s. (?i) in the middle of
 * a group is refused: in Ruby it makes the rest of the group a group, alternatives included, in PCRE2 it does not. */
static int syntax_group(struct translation *w, struct bl_error *e)
{
    if (syntax_peek(w, 1) == '*')
        return syntax_fail(w, "(* has nothing to repeat", e);
    if (syntax_peek(w, 1) != '?' || !strchr("imx-", syntax_peek(w, 2)) || !syntax_peek(w, 2)) {
        syntax_copy(w, 1);
        return BL_OK;
    }
    size_t options = 0;
    while (syntax_peek(w, 2 + options) && strchr("imx-", syntax_peek(w, 2 + options)))
        options++;
    if (syntax_peek(w, 2 + options) == ')' && w->at)
        return syntax_fail(w, "options for the rest of a group are not supported: write (?i:...)", e);
    syntax_copy(w, 2);
    for (; options; options--) {
        if (syntax_peek(w, 0) == 'm')
            syntax_replace(w, 1, "s");
        else
            syntax_copy(w, 1);
    }
    return BL_OK;
}

/* Returns the number of digits at this distance. */
static size_t syntax_digits(const struct translation *w, size_t ahead)
{
    size_t digits = 0;
    while (syntax_peek(w, ahead + digits) >= '0' && syntax_peek(w, ahead + digits) <= '9')
        digits++;
    return digits;
}

/* Translates an opening brace: that of an interval, or a literal one. "{2}+" is refused, since Oniguruma repeats the
 * interval and PCRE2 takes it as possessive. */
static int syntax_interval(struct translation *w, struct bl_error *e)
{
    size_t low = syntax_digits(w, 1), at = 1 + low, high = 0;
    if (syntax_peek(w, at) == ',') {
        high = syntax_digits(w, at + 1);
        at += 1 + high;
    }
    if (syntax_peek(w, at) != '}' || !(low || high)) {
        syntax_copy(w, 1);
        return BL_OK;
    }
    if (syntax_peek(w, at + 1) == '+')
        return syntax_fail(w, "an interval that is repeated is not supported: put it into (?:...)", e);
    syntax_copy(w, 1);
    if (!low)
        bl_buffer_byte(w->out, '0');
    syntax_copy(w, at);
    return BL_OK;
}

/* Translates the next element and moves behind it. */
static int syntax_element(struct translation *w, struct bl_error *e)
{
    char c = syntax_peek(w, 0);
    if (w->depth || c == '[')
        return syntax_class_element(w, e);
    if (c == '\\')
        return syntax_escape(w, e);
    if (c == '(')
        return syntax_group(w, e);
    if (c == '{')
        return syntax_interval(w, e);
    syntax_copy(w, 1);
    return BL_OK;
}

/* After an error out holds the translation of the elements before it. */
int bl_regex_translate(const char *pattern, size_t size, struct bl_buffer *out, struct bl_error *e)
{
    struct translation w = {.pattern = pattern, .size = size, .out = out};
    int code = BL_OK;
    while (w.at < size && !code)
        code = syntax_element(&w, e);
    if (code)
        return code;
    return bl_buffer_check(out, e);
}

/* The pattern is translated again up to the offset: a table of offsets would be needed for errors alone. */
size_t bl_regex_origin(const char *pattern, size_t size, size_t translated)
{
    struct bl_buffer out = {0};
    struct translation w = {.pattern = pattern, .size = size, .out = &out};
    size_t from = 0;
    while (w.at < size && out.size <= translated && !out.failed) {
        from = w.at;
        if (syntax_element(&w, NULL))
            break;
    }
    if (out.size <= translated)
        from = size;
    bl_buffer_free(&out);
    return from;
}
