#include "kind/text/sentencepiece_normalizer.h"

#include <string.h>

#include "base/utf8.h"
#include "kind/text/alphabet.h"

#define MARK_SIZE (sizeof BL_METASPACE - 1)

void bl_sentencepiece_finish(struct bl_sentencepiece *rule)
{
    for (int i = 0; i < 256; i++)
        rule->stops[i] = rule->kept.first[i] >= 0 || (rule->map && bl_precompiled_begins(rule->map, (uint8_t)i));
    /* A space that stays one, and where nothing else depends on it, is a character like others. */
    rule->stops[' '] = rule->stops[' '] || rule->trimmed || strcmp(rule->space, " ") != 0;
    if (rule->spaces)
        rule->stops[(uint8_t)BL_METASPACE[0]] = true;
}

void bl_sentencepiece_free(struct bl_sentencepiece *rule)
{
    bl_precompiled_close(rule->map);
    bl_added_free(&rule->kept);
}

/* What the beginning of a text becomes, and the bytes that it takes. */
static const char *prefix_find(const struct bl_sentencepiece *rule, const char *text, size_t size, size_t *taken,
                               size_t *with_size)
{
    size_t kept = bl_added_size_at(&rule->kept, (const uint8_t *)text, size);
    const char *with = kept || !rule->map ? NULL : bl_precompiled_longest(rule->map, text, size, taken);
    if (with) {
        *with_size = strlen(with);
        return with;
    }
    uint32_t point;
    *taken = *with_size = kept ? kept : bl_utf8_decode(text, &point);
    return text;
}

static void text_put(const struct bl_sentencepiece *rule, const char *text, size_t size, struct bl_buffer *out)
{
    for (size_t at = 0; at < size;) {
        bool mark = rule->spaces && size - at >= MARK_SIZE && !memcmp(text + at, BL_METASPACE, MARK_SIZE);
        if (mark)
            bl_buffer_byte(out, ' ');
        else if (text[at] == ' ')
            bl_buffer_text(out, rule->space);
        else
            bl_buffer_byte(out, text[at]);
        at += mark ? MARK_SIZE : 1;
    }
}

/* Removes spaces at the end of what was appended. */
static void text_trim(const struct bl_sentencepiece *rule, size_t begin, struct bl_buffer *out)
{
    size_t space = strlen(rule->space);
    while (out->size - begin >= space && !memcmp(out->data + out->size - space, rule->space, space))
        out->size -= space;
}

/* Skips what becomes just a space at the beginning. */
static size_t spaces_skip(const struct bl_sentencepiece *rule, const char *text, size_t size)
{
    size_t at = 0, taken, with_size;
    while (at < size) {
        const char *with = prefix_find(rule, text + at, size - at, &taken, &with_size);
        if (with_size != 1 || *with != ' ')
            break;
        at += taken;
    }
    return at;
}

int bl_sentencepiece_normalize(const struct bl_sentencepiece *rule, const char *text, size_t size,
                               struct bl_buffer *out)
{
    size_t begin = out->size, at = rule->trimmed ? spaces_skip(rule, text, size) : 0, taken, with_size;
    if (at == size)
        return BL_OK;
    if (rule->prefix)
        bl_buffer_text(out, rule->space);
    for (bool space = rule->trimmed; at < size && !out->failed; at += taken) {
        taken = 0;
        while (at + taken < size && !rule->stops[(uint8_t)text[at + taken]])
            taken++;
        if (taken) {
            bl_buffer_append(out, text + at, taken);
            space = false;
            continue;
        }
        const char *with = prefix_find(rule, text + at, size - at, &taken, &with_size);
        for (; space && with_size && *with == ' '; with++)
            with_size--;
        if (with_size) {
            text_put(rule, with, with_size, out);
            space = rule->trimmed && with[with_size - 1] == ' ';
        }
    }
    if (rule->trimmed && !out->failed)
        text_trim(rule, begin, out);
    if (rule->suffix)
        bl_buffer_text(out, rule->space);
    return out->failed ? BL_EFAIL : BL_OK;
}
