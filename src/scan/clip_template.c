/* Reads the templates of --columns, part by part. */
#include "scan/clip_template.h"

#include <string.h>

#include "base/text.h"

#define DIGITS_MAX 99

bool bl_clip_template_is(struct bl_clip_name column)
{
    return memchr(column.text, '{', column.size) || memchr(column.text, '}', column.size);
}

/* Splits what is within braces: the name, and perhaps ":0" and a number of digits, with or without the "d" of Python's
 * formats. A name may have a colon: only what looks like such an end is one. */
static struct bl_clip_part template_split(struct bl_clip_name inside)
{
    struct bl_clip_part part = {.name = inside, .is_column = true};
    size_t digits = inside.size - (inside.size && inside.text[inside.size - 1] == 'd'), end = digits;
    int64_t number;
    while (digits && inside.text[digits - 1] >= '0' && inside.text[digits - 1] <= '9')
        digits--;
    size_t count = end - digits;
    if (digits < 2 || inside.text[digits - 1] != ':' || count < 2 || inside.text[digits] != '0' ||
        !bl_text_to_int(inside.text + digits + 1, count - 1, 1, DIGITS_MAX, &number))
        return part;
    part.name.size = digits - 1;
    part.digits = (int)number;
    return part;
}

bool bl_clip_template_next(struct bl_clip_name *rest, struct bl_clip_part *part)
{
    const char *brace = rest->size ? memchr(rest->text, '{', rest->size) : NULL;
    size_t before = brace ? (size_t)(brace - rest->text) : rest->size, used = before;
    if (!rest->size)
        return false;
    if (before) {
        *part = (struct bl_clip_part){.name = {rest->text, before}};
    } else {
        const char *end = memchr(brace, '}', rest->size);
        size_t size = end ? (size_t)(end - brace) : rest->size; /* the end is there if the template was checked */
        *part = template_split((struct bl_clip_name){brace + 1, size - 1});
        used = end ? size + 1 : size;
    }
    *rest = (struct bl_clip_name){rest->text + used, rest->size - used};
    return true;
}

bool bl_clip_template_has(struct bl_clip_name rest, const char *column, size_t size)
{
    struct bl_clip_part part;
    while (bl_clip_template_next(&rest, &part)) {
        if (part.is_column && part.name.size == size && memcmp(part.name.text, column, size) == 0)
            return true;
    }
    return false;
}

int bl_clip_template_check(struct bl_clip_name column, struct bl_error *e)
{
    bool inside = false, sound = true;
    size_t name = 0;
    for (size_t i = 0; i < column.size && sound; i++) {
        char byte = column.text[i];
        if (byte == '{' || byte == '}') {
            /* Braces alternate, and have a name between them. */
            sound = inside == (byte == '}') && (byte == '{' || name);
            inside = byte == '{';
            name = 0;
        } else {
            name += inside;
        }
    }
    if (sound && !inside)
        return BL_OK;
    return bl_error_set(e, BL_EUSAGE,
                        "--columns: \"%.*s\" is no template: columns stand in braces, such as "
                        "videos/{id}_{start:06}.mp4",
                        (int)column.size, column.text);
}

bool bl_clip_part_append(const struct bl_clip_part *part, const char *value, size_t size, struct bl_buffer *out)
{
    if (part->digits) {
        /* pandas writes 50.0 in a column in which some values are empty. */
        size_t digits = 0, zeros;
        while (digits < size && value[digits] >= '0' && value[digits] <= '9')
            digits++;
        for (zeros = digits + 1; zeros < size && value[zeros] == '0'; zeros++) {
        }
        if (!digits || (digits < size && (value[digits] != '.' || zeros == digits + 1 || zeros < size)))
            return false;
        for (size_t i = digits; i < (size_t)part->digits; i++)
            bl_buffer_byte(out, '0');
        size = digits;
    }
    bl_buffer_append(out, value, size);
    return true;
}
