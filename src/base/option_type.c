/* The types of option values: parsing and formatting. */
#include <inttypes.h>
#include <string.h>

#include "base/option.h"
#include "base/text.h"

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

static bool texts_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_texts *texts = value;
    (void)option;
    if (!*text || texts->count == BL_TEXTS_MAX)
        return false;
    texts->text[texts->count++] = text;
    return true;
}

/* One a line: a text may have commas. */
static void texts_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_texts *texts = value;
    (void)option;
    for (int i = 0; i < texts->count; i++)
        bl_buffer_printf(out, "%s%s", i ? "\n" : "", texts->text[i]);
}

/* 25, 12.5 (as 25/2) or 30000/1001; at most nine digits on either side, so that products of two of them fit 64 bits. */
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

void bl_option_append_choices(const struct bl_option *option, const char *separator, struct bl_buffer *out)
{
    for (int i = 0; option->choices[i]; i++)
        bl_buffer_printf(out, "%s%s", i ? separator : "", option->choices[i]);
}
