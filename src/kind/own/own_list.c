/* Reads arrays that are written as JSON lists: the elements in their order, which is C order, and the shape of a step.
 *
 * The first list at each depth decides how long lists there are, and the first number decides how deep numbers lie:
 * [[1, 2], [3, 4], [5, 6]] has three steps of the shape [2]. */
#include "kind/own/own_list.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define DEPTH_MAX (BL_FIELD_RANK_MAX + 1) /* the list of steps, and the axes of a step */
#define NUMBER_MAX ((size_t)64)           /* bytes of a number's text: the shortest text of any F64 has 24 */
#define VALUE_SHOWN 40                    /* bytes of a value that a message shows */

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* Rounds to a binary number of `digits` digits, whose last one is worth 2^least at least: to nearest, ties to even. */
static double number_round(double number, int digits, int least)
{
    int exponent;
    (void)frexp(number, &exponent);
    int last = exponent - digits > least ? exponent - digits : least;
    return ldexp(rint(ldexp(number, -last)), last);
}

/* Returns the bits of a binary16, which are those of the magnitude as a multiple of 2^-24 while it is subnormal.
 * Beyond its range they are those of an infinity. */
static uint16_t half_bits(double number)
{
    uint16_t sign = signbit(number) ? 0x8000 : 0;
    int exponent;
    if (isnan(number))
        return 0x7e00;
    number = fabs(isinf(number) ? number : number_round(number, 11, -24));
    if (number > 65504)
        return sign | 0x7c00;
    if (number < 0x1p-14)
        return sign | (uint16_t)ldexp(number, 24);
    double fraction = frexp(number, &exponent); /* from 0.5 to 1 */
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)ldexp(fraction, 11) & 1023));
}

/* Writes a number in a type of floating point. Returns false if it is finite and the type cannot hold it. */
static bool real_write(double number, enum bl_dtype dtype, uint8_t *out)
{
    bool fits = true;
    float single = dtype == BL_BF16 && isfinite(number) ? (float)number_round(number, 8, -133) : (float)number;
    uint16_t half = half_bits(number);
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (dtype == BL_F16)
        fits = (half & 0x7c00) != 0x7c00;
    else if (dtype != BL_F64)
        fits = isfinite(single);
    if (dtype == BL_BF16)
        half = (uint16_t)(bits >> 16); /* the rest of the fraction is 0 */
    if (dtype == BL_F64)
        memcpy(out, &number, sizeof number);
    else if (dtype == BL_F32)
        memcpy(out, &single, sizeof single);
    else
        memcpy(out, &half, sizeof half);
    return fits || !isfinite(number);
}

/* Writes a whole number. Returns false if the type cannot hold it. */
static bool integer_write(const char *text, size_t size, double number, enum bl_dtype dtype, uint8_t *out)
{
    size_t bytes = bl_dtype_size(dtype);
    bool is_unsigned = dtype == BL_U8 || dtype == BL_U16 || dtype == BL_U32 || dtype == BL_U64 || dtype == BL_BOOL;
    int64_t max = bytes == 8 ? INT64_MAX : ((int64_t)1 << (8 * bytes - !is_unsigned)) - 1;
    int64_t min = is_unsigned ? 0 : -max - 1, value;
    if (dtype == BL_BOOL)
        max = 1;
    if (!bl_text_to_int(text, size, min, max, &value)) {
        /* 1.0 and 1e3 are whole numbers, too; U64 has numbers beyond INT64_MAX. */
        bool is_large = dtype == BL_U64 && number >= 0x1p63 && number <= 0x1p64;
        char *end;
        errno = 0;
        uint64_t large = is_large ? strtoull(text, &end, 10) : 0;
        if (is_large && !*end && errno == 0) {
            memcpy(out, &large, sizeof large);
            return true;
        }
        if (number != trunc(number) || fabs(number) >= 0x1p53 || number < (double)min || number > (double)max)
            return false;
        value = (int64_t)number;
    }
    memcpy(out, &value, bytes); /* the low bytes come first */
    return true;
}

/* Returns whether F32 or F64 holds a number as it is written, if that is a whole one without exponent: an id or a time
 * would otherwise become another one. Fractions are rounded. */
static bool real_is_exact(const char *text, double number, enum bl_dtype dtype)
{
    int64_t value;
    if (text[strspn(text, "-0123456789")] || dtype == BL_F16 || dtype == BL_BF16)
        return true;
    if (!bl_text_to_int(text, strlen(text), INT64_MIN, INT64_MAX, &value))
        return false;
    double stored = dtype == BL_F32 ? (double)(float)number : number;
    return fabs(stored) < 0x1p63 && (int64_t)stored == value;
}

/* Writes an element: a number, or true and false as 1 and 0. */
static bool element_write(const struct bl_json_value *element, enum bl_dtype dtype, uint8_t *out)
{
    char text[NUMBER_MAX], *end;
    bool is_real = dtype == BL_F16 || dtype == BL_BF16 || dtype == BL_F32 || dtype == BL_F64;
    bool is_word = element->type == BL_JSON_WORD && *element->text != 'n';
    if (element->size >= sizeof text ||
        !(is_word || element->type == BL_JSON_NUMBER || (is_real && element->type == BL_JSON_NOT_FINITE)))
        return false;
    if (is_word)
        snprintf(text, sizeof text, "%d", *element->text == 't');
    else
        snprintf(text, sizeof text, "%.*s", (int)element->size, element->text);
    double number = strtod(text, &end);
    if (*end || (element->type == BL_JSON_NUMBER && !isfinite(number)))
        return false;
    if (is_real)
        return real_write(number, dtype, out) && real_is_exact(text, number, dtype);
    return integer_write(text, strlen(text), number, dtype, out);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* The state of reading a list. */
struct list_reading {
    enum bl_dtype dtype;
    uint8_t *out;            /* the next element, or NULL */
    int64_t step;            /* the number of the present one */
    int depth;               /* of the numbers; 0: not known yet */
    int64_t size[DEPTH_MAX]; /* of the lists at each depth; 0: not known yet */
    struct bl_error *e;
};

static int list_read_element(struct list_reading *r, const struct bl_json_value *element, int depth)
{
    uint8_t scratch[sizeof(double)] = {0};
    if (r->depth && r->depth != depth)
        return bl_error_set(r->e, BL_EDATA, "step %" PRId64 ": a number where others have a list", r->step);
    r->depth = depth;
    if (!element_write(element, r->dtype, r->out ? r->out : scratch)) {
        const char *quote = element->type == BL_JSON_STRING ? "\"" : "";
        int shown = element->size < VALUE_SHOWN ? (int)element->size : VALUE_SHOWN;
        return bl_error_set(r->e, BL_EDATA, "step %" PRId64 ": %s%.*s%s is no number that fits %s", r->step, quote,
                            shown, element->text, quote, bl_dtype_name(r->dtype));
    }
    if (r->out)
        r->out += bl_dtype_size(r->dtype);
    return BL_OK;
}

/* Reads a list at a depth, from 1 on, and those in it. */
static int list_read_level(struct list_reading *r, const struct bl_json_value *list, int depth)
{
    struct bl_json_value element;
    int64_t count = 0;
    for (size_t at = 0; bl_json_next(list, &at, &element); count++) {
        if (depth == 1)
            r->step = count;
        if (element.type != BL_JSON_ARRAY) {
            BL_TRY(list_read_element(r, &element, depth));
            continue;
        }
        if (r->depth && r->depth <= depth)
            return bl_error_set(r->e, BL_EDATA, "step %" PRId64 ": a list where others have a number", r->step);
        if (depth == DEPTH_MAX)
            return bl_error_set(r->e, BL_EDATA, "step %" PRId64 ": more than %d axes", r->step, BL_FIELD_RANK_MAX);
        BL_TRY(list_read_level(r, &element, depth + 1));
    }
    int64_t *size = &r->size[depth - 1];
    if (depth > 1 && !count)
        return bl_error_set(r->e, BL_EDATA, "step %" PRId64 ": an empty list", r->step);
    if (*size && *size != count)
        return bl_error_set(r->e, BL_EDATA, "step %" PRId64 ": a list of %" PRId64 ", others have %" PRId64, r->step,
                            count, *size);
    *size = count;
    return BL_OK;
}

int bl_own_list_read(struct bl_own_list *list, const char *text, size_t size, enum bl_dtype dtype, uint8_t *out,
                     struct bl_error *e)
{
    struct list_reading r = {.dtype = dtype, .out = out, .e = e};
    struct bl_json_value value;
    struct bl_json_fault fault = {0};
    *list = (struct bl_own_list){0};
    if (!bl_json_scan_value(text, size, &value, &fault))
        return bl_error_set(e, BL_EDATA, "no JSON list at byte %zu: %s", fault.at, fault.what);
    if (value.type != BL_JSON_ARRAY)
        return bl_error_set(e, BL_EDATA, "%s, not a list", bl_json_type_name(value.type));
    BL_TRY(list_read_level(&r, &value, 1));
    list->steps = r.size[0];
    list->rank = r.depth > 1 ? r.depth - 1 : 0;
    memcpy(list->shape, r.size + 1, sizeof list->shape);
    if (list->steps > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "%" PRId64 " steps: at most 2147483647 can be used", list->steps);
    return BL_OK;
}
