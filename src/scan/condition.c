#include "scan/condition.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Longer operators before those that they begin with. */
static const struct {
    const char *text;
    enum bl_comparison comparison;
} comparisons[] = {{"!=", BL_COMPARE_UNEQUAL}, {"<=", BL_COMPARE_AT_MOST}, {">=", BL_COMPARE_AT_LEAST},
                   {"=", BL_COMPARE_EQUAL},    {"<", BL_COMPARE_LESS},     {">", BL_COMPARE_GREATER},
                   {"~", BL_COMPARE_GLOB}};

static struct bl_decimal decimal_parse(const char *text)
{
    struct bl_decimal number = {0};
    char *end = NULL;
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return number;
    number.value = strtod(text, &end); /* the process is in the C locale */
    number.is_number = !*end && isfinite(number.value);
    number.is_whole = bl_text_to_int(text, strlen(text), INT64_MIN, INT64_MAX, &number.whole);
    return number;
}

/* Negative, 0 or positive. */
static int decimal_compare(const struct bl_decimal *a, const struct bl_decimal *b)
{
    if (a->is_whole && b->is_whole)
        return (a->whole > b->whole) - (a->whole < b->whole);
    return (a->value > b->value) - (a->value < b->value);
}

/* Finds the first operator. NULL: there is none. */
static char *operator_find(char *text, size_t *size, enum bl_comparison *comparison)
{
    for (char *at = text; *at; at++) {
        for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
            *size = strlen(comparisons[i].text);
            *comparison = comparisons[i].comparison;
            if (strncmp(at, comparisons[i].text, *size) == 0)
                return at;
        }
    }
    return NULL;
}

/* Cuts blanks off both ends. */
static char *condition_trim(char *text)
{
    static const char blanks[] = " \t";
    text += strspn(text, blanks);
    size_t size = strlen(text);
    while (size && strchr(blanks, text[size - 1]))
        size--;
    text[size] = '\0';
    return text;
}

int bl_condition_parse(struct bl_condition *c, const char *text, struct bl_error *e)
{
    *c = (struct bl_condition){.text = strdup(text)};
    if (!c->text)
        return bl_error_memory(e);
    size_t size;
    char *at = operator_find(c->text, &size, &c->comparison);
    bool good = at && !strchr(text, '\n') && (!at[size] || !strchr("=<>~", at[size])); /* "==" is none */
    if (good) {
        c->value = condition_trim(at + size);
        *at = '\0';
        c->column = condition_trim(c->text);
        good = *c->column;
    }
    if (!good)
        return bl_error_set(e, BL_EUSAGE,
                            "--where expects COLUMN OP VALUE, OP one of = != < <= > >= and ~ (a glob), such as "
                            "\"length >= 30\", not \"%s\"",
                            text);
    c->number = decimal_parse(c->value);
    bool needs_number = c->comparison >= BL_COMPARE_LESS && c->comparison <= BL_COMPARE_AT_LEAST;
    if (needs_number && !c->number.is_number)
        return bl_error_set(e, BL_EUSAGE, "--where \"%s\": < <= > >= compare numbers, and \"%s\" is none", text,
                            c->value);
    return BL_OK;
}

void bl_condition_free(struct bl_condition *c)
{
    free(c->text);
    c->text = NULL;
}

bool bl_condition_holds(const struct bl_condition *c, const char *value, bool *no_number)
{
    *no_number = false;
    if (c->comparison == BL_COMPARE_GLOB)
        return fnmatch(c->value, value, 0) == 0;
    const struct bl_decimal number = decimal_parse(value);
    bool numbers = number.is_number && c->number.is_number;
    int order = numbers ? decimal_compare(&number, &c->number) : strcmp(value, c->value);
    if (c->comparison == BL_COMPARE_EQUAL)
        return order == 0;
    if (c->comparison == BL_COMPARE_UNEQUAL)
        return order != 0;
    *no_number = !numbers;
    if (!numbers)
        return false;
    switch (c->comparison) {
    case BL_COMPARE_LESS:
        return order < 0;
    case BL_COMPARE_AT_MOST:
        return order <= 0;
    case BL_COMPARE_GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}
