#include "kind/text/added_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kind/text/character.h"
#include "base/utf8.h"
#include "kind/text/word_table.h"

void bl_added_init(struct bl_added *added)
{
    *added = (struct bl_added){0};
    memset(added->first, 0xff, sizeof added->first);
}

static void added_set_prefix(struct bl_added *added, unsigned first, unsigned second)
{
    unsigned two = first << 8 | second;
    added->begins[two / 64] |= (uint64_t)1 << two % 64;
}

static bool added_has_prefix(const struct bl_added *added, unsigned first, unsigned second)
{
    unsigned two = first << 8 | second;
    return added->begins[two / 64] >> two % 64 & 1;
}

/* Links the last token into the list of those with the same first byte. */
static void added_link(struct bl_added *added)
{
    int32_t last = (int32_t)added->count - 1;
    struct bl_added_token *token = &added->token[last];
    int32_t *link = &added->first[(uint8_t)added->text.data[token->offset]];
    while (*link >= 0 && added->token[*link].size >= token->size)
        link = &added->token[*link].next;
    token->next = *link;
    *link = last;
}

int bl_added_add(struct bl_added *added, const char *text, size_t size, const struct bl_added_token *token,
                 struct bl_error *e)
{
    if (bl_added_find(added, text, size) >= 0)
        return bl_error_set(e, BL_EFAIL, "\"%.*s\" is added twice", (int)(size < 100 ? size : 100), text);
    int code = BL_ARRAY_RESERVE(added->token, added->capacity, added->count + 1, e);
    if (code)
        return code;
    struct bl_added_token *new = &added->token[added->count];
    *new = *token;
    new->offset = added->text.size;
    new->size = size;
    bl_buffer_append(&added->text, text, size);
    if (added->text.failed)
        return bl_error_memory(e);
    added->count++;
    added->wanted += !token->plain;
    added_link(added);
    for (unsigned i = 0; i < 256; i++) {
        if (size == 1 || (uint8_t)text[1] == i)
            added_set_prefix(added, (uint8_t)text[0], i);
    }
    return BL_OK;
}

int32_t bl_added_find(const struct bl_added *added, const char *text, size_t size)
{
    for (size_t i = 0; i < added->count; i++) {
        const struct bl_added_token *token = &added->token[i];
        if (token->size == size && !memcmp(added->text.data + token->offset, text, size))
            return token->id;
    }
    return -1;
}

/* The longest token that begins at text, or NULL. */
static const struct bl_added_token *added_longest(const struct bl_added *added, const uint8_t *text, size_t size)
{
    for (int32_t i = added->first[*text]; i >= 0; i = added->token[i].next) {
        const struct bl_added_token *token = &added->token[i];
        if (token->size <= size && !memcmp(added->text.data + token->offset, text, token->size))
            return token;
    }
    return NULL;
}

/* Whether the character at text (valid UTF-8) is a word character. */
static bool is_word_character(const uint8_t *text)
{
    uint32_t point;
    bl_utf8_decode((const char *)text, &point);
    return bl_is_word_character(point);
}

/* Whether [start, stop) of the text is not part of a longer word. */
static bool is_whole_word(const uint8_t *text, size_t size, size_t start, size_t stop)
{
    size_t before = start;
    while (before && (text[--before] & 0xc0) == 0x80)
        ;
    return !(start && is_word_character(text + before)) && !(stop < size && is_word_character(text + stop));
}

bool bl_added_next(const struct bl_added *added, const uint8_t *text, size_t size, size_t *at, size_t taken,
                   struct bl_added_match *match)
{
    if (!added->wanted)
        return false;
    for (size_t p = *at; p < size; p++) {
        if (!added_has_prefix(added, text[p], p + 1 < size ? text[p + 1] : 0) && p + 1 < size)
            continue;
        const struct bl_added_token *token = added_longest(added, text + p, size - p);
        if (!token)
            continue;
        *at = p + token->size;
        if (token->plain || (token->single_word && !is_whole_word(text, size, p, *at))) {
            p += token->size - 1;
            continue;
        }
        *match = (struct bl_added_match){p, p + token->size, token->id};
        if (token->lstrip) {
            size_t start = bl_character_trim(text, p);
            match->start = start > taken ? start : taken;
        }
        if (token->rstrip)
            match->stop += bl_character_space(text + match->stop, size - match->stop);
        /* White space that the match before includes may have held this one. */
        if (token->lstrip && match->stop <= taken) {
            p += token->size - 1;
            continue;
        }
        return true;
    }
    return false;
}

/* The byte that all plain tokens begin with, or -1. */
static int added_plain_byte(const struct bl_added *added)
{
    int first = -1;
    for (size_t i = 0; i < added->count; i++) {
        int byte = (uint8_t)added->text.data[added->token[i].offset];
        if (added->token[i].plain && first >= 0 && byte != first)
            return -1;
        first = added->token[i].plain ? byte : first;
    }
    return first;
}

int64_t bl_added_count_plain(const struct bl_added *added, const uint8_t *text, size_t size)
{
    int64_t count = 0;
    int byte = added->wanted < added->count ? added_plain_byte(added) : -1;
    for (size_t p = 0; p < size && added->wanted < added->count; p++) {
        const uint8_t *found = byte < 0 ? text + p : memchr(text + p, byte, size - p);
        if (!found)
            break;
        p = (size_t)(found - text);
        if (!added_has_prefix(added, text[p], p + 1 < size ? text[p + 1] : 0) && p + 1 < size)
            continue;
        const struct bl_added_token *token = added_longest(added, text + p, size - p);
        count += token && token->plain;
        p += token ? token->size - 1 : 0;
    }
    return count;
}

size_t bl_added_size_at(const struct bl_added *added, const uint8_t *text, size_t size)
{
    const struct bl_added_token *token = added_longest(added, text, size);
    return token ? token->size : 0;
}

void bl_added_free(struct bl_added *added)
{
    bl_buffer_free(&added->text);
    free(added->token);
    bl_added_init(added);
}
