/* Parses, formats and compares choices of channels. */
#include "kind/audio/channels.h"

#include <string.h>

#include "base/text.h"

/* Parses the whole number in a part of a text, which may have blanks around it and a fraction of zeros. */
static bool channels_parse_number(const char *text, size_t size, int max, int64_t *number)
{
    bl_text_trim(&text, &size, " \t");
    const char *point = memchr(text, '.', size);
    size_t digits = point ? (size_t)(point - text) : size;
    for (size_t i = digits + 1; i < size; i++) {
        if (text[i] != '0')
            return false;
    }
    bool is_open = point && digits + 1 == size; /* "4." */
    return !is_open && bl_text_to_int(text, digits, 0, max, number);
}

bool bl_channel_list_parse(const char *text, size_t size, int max, struct bl_channel_list *channels)
{
    *channels = (struct bl_channel_list){0};
    if (!size)
        return true;
    bl_text_trim(&text, &size, " \t");
    if (size >= 2 && *text == '[' && text[size - 1] == ']') {
        text++;
        size -= 2;
    }
    for (bool more = true; more;) {
        const char *comma = memchr(text, ',', size);
        size_t part = comma ? (size_t)(comma - text) : size;
        int64_t number;
        if (channels->count == BL_CHANNEL_LIST_MAX || !channels_parse_number(text, part, max, &number))
            return false;
        for (int c = 0; c < channels->count; c++) {
            if (channels->number[c] == number)
                return false;
        }
        channels->number[channels->count++] = (uint16_t)number;
        more = comma != NULL;
        text += part + more;
        size -= part + more;
    }
    return true;
}

void bl_channel_list_format(const struct bl_channel_list *channels, struct bl_buffer *out)
{
    for (int c = 0; c < channels->count; c++)
        bl_buffer_printf(out, "%s%d", c ? "," : "", channels->number[c]);
}

bool bl_channel_list_are_same(const struct bl_channel_list *a, const struct bl_channel_list *b)
{
    return a->count == b->count && memcmp(a->number, b->number, (size_t)a->count * sizeof *a->number) == 0;
}

int bl_channel_list_highest(const struct bl_channel_list *channels)
{
    int highest = -1;
    for (int c = 0; c < channels->count; c++)
        highest = channels->number[c] > highest ? channels->number[c] : highest;
    return highest;
}
