#include "kind/text/field_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

#define NUMBER_MAX ((size_t)64) /* bytes of a number's text */

/* The number that an element is. False: it is none. */
static bool element_read_double(const struct bl_json_value *element, double *number)
{
    char text[NUMBER_MAX];
    char *end;
    if (element->type == BL_JSON_WORD && *element->text != 'n') {
        *number = *element->text == 't';
        return true;
    }
    if (element->type != BL_JSON_NUMBER || element->size >= sizeof text)
        return false;
    memcpy(text, element->text, element->size);
    text[element->size] = '\0';
    *number = strtod(text, &end);
    return !*end && isfinite(*number);
}

void bl_field_value_of_text(struct bl_json_value *value)
{
    static const char known[] = "+-.eE0123456789";
    const char *text = value->text, *end = text + value->size;
    char copy[NUMBER_MAX], *stop = copy;
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    size_t size = (size_t)(end - text);
    if ((size == 4 && strncasecmp(text, "true", 4) == 0) || (size == 5 && strncasecmp(text, "false", 5) == 0))
        *value = (struct bl_json_value){.type = BL_JSON_WORD, .text = size == 4 ? "true" : "false", .size = size};
    if (!size || size >= sizeof copy)
        return;
    memcpy(copy, text, size);
    copy[size] = '\0';
    if (strspn(copy, known) == size)
        (void)strtod(copy, &stop);
    size_t plus = *text == '+';
    if (stop == copy + size)
        *value = (struct bl_json_value){.type = BL_JSON_NUMBER, .text = text + plus, .size = size - plus};
}

bool bl_field_value_read_number(const struct bl_json_value *value, double *number)
{
    int64_t whole;
    if (!element_read_double(value, number))
        return false;
    bool is_whole = value->type == BL_JSON_NUMBER && !memchr(value->text, '.', value->size) &&
                    !memchr(value->text, 'e', value->size) && !memchr(value->text, 'E', value->size);
    if (!is_whole)
        return true;
    /* The largest ones round to 2^63, which cannot be converted back. */
    return bl_text_to_int(value->text, value->size, INT64_MIN, INT64_MAX, &whole) && *number < 0x1p63 &&
           (int64_t)*number == whole;
}

static bool element_read_int(const struct bl_json_value *element, int64_t min, int64_t max, int64_t *number)
{
    double real;
    if (element->type == BL_JSON_NUMBER && !memchr(element->text, '.', element->size) &&
        !memchr(element->text, 'e', element->size) && !memchr(element->text, 'E', element->size))
        return bl_text_to_int(element->text, element->size, min, max, number);
    /* Doubles below 2^63 convert without loss, if they are whole. */
    if (!element_read_double(element, &real) || real != trunc(real) || fabs(real) >= 0x1p63)
        return false;
    *number = (int64_t)real;
    return *number >= min && *number <= max;
}

/* Appends what is no plain number of the type. */
static bool element_append(struct bl_buffer *out, enum bl_dtype dtype, int64_t min, int64_t max,
                           const struct bl_json_value *element)
{
    int64_t number;
    double real;
    if (dtype == BL_F32) {
        float narrow = element_read_double(element, &real) ? (float)real : NAN;
        bl_buffer_append(out, &narrow, sizeof narrow);
        return isfinite(narrow);
    }
    if (!element_read_int(element, min, max, &number))
        return false;
    bl_buffer_append(out, &number, bl_dtype_size(dtype)); /* the low bytes come first */
    return true;
}

bool bl_field_values_append(struct bl_buffer *out, enum bl_dtype dtype, const struct bl_json_value *array,
                            size_t *count, struct bl_json_value *odd)
{
    size_t size = bl_dtype_size(dtype), at = 0;
    bool is_unsigned = dtype == BL_U8 || dtype == BL_U16;
    int64_t max = size == 8 ? INT64_MAX : ((int64_t)1 << (8 * size - !is_unsigned)) - 1,
            min = is_unsigned ? 0 : -max - 1;
    for (*count = 0;; ++*count) {
        int64_t number = 0;
        size_t begin = at;
        bool found;
        bool plain = dtype != BL_F32 && !bl_json_next_int(array, &at, &number, &found);
        if (plain && !found)
            return true;
        if (plain && number >= min && number <= max) {
            bl_buffer_append(out, &number, size);
            continue;
        }
        at = begin;
        if (!bl_json_next(array, &at, odd))
            return true;
        if (!element_append(out, dtype, min, max, odd))
            return false;
    }
}
