#include "kind/text/precompiled.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "kind/text/grapheme.h"

#define CLUSTER_MAX 5 /* bytes of a cluster that is replaced as a whole */

struct bl_precompiled {
    uint32_t *unit; /* of the trie */
    size_t units;
    char *text; /* what it leads to; ends with a zero byte */
    size_t size;
    bool changed[128]; /* whether the map has this character */
};

/* The fields of a unit, as Darts packs them. */
static uint32_t unit_offset(uint32_t unit)
{
    return (unit >> 10) << ((unit & 0x200) >> 6);
}

static bool unit_has_value(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint32_t unit_value(uint32_t unit)
{
    return unit & 0x7fffffff;
}

static uint32_t unit_label(uint32_t unit)
{
    return unit & 0x800000ff;
}

/* Goes on to the next text in the map that this one begins with, from *taken bytes on. NULL: there is none. */
static const char *map_next(const struct bl_precompiled *map, const char *text, size_t size, size_t *taken, size_t *at)
{
    for (size_t i = *taken; i < size && text[i]; i++) {
        *at ^= (uint8_t)text[i];
        if (*at >= map->units || unit_label(map->unit[*at]) != (uint8_t)text[i])
            return NULL;
        uint32_t unit = map->unit[*at];
        *at ^= unit_offset(unit);
        if (!unit_has_value(unit))
            continue;
        *taken = i + 1;
        uint32_t value = *at < map->units ? unit_value(map->unit[*at]) : UINT32_MAX;
        return value < map->size ? map->text + value : NULL;
    }
    return NULL;
}

/* What the shortest text in the map that this one begins with becomes, or NULL. */
static const char *map_find(const struct bl_precompiled *map, const char *text, size_t size)
{
    size_t taken = 0, at = unit_offset(map->unit[0]);
    return map_next(map, text, size, &taken, &at);
}

const char *bl_precompiled_longest(const struct bl_precompiled *map, const char *text, size_t size, size_t *taken)
{
    const char *with = NULL, *next;
    size_t done = 0, at = unit_offset(map->unit[0]);
    while ((next = map_next(map, text, size, &done, &at))) {
        with = next;
        *taken = done;
    }
    return with;
}

bool bl_precompiled_begins(const struct bl_precompiled *map, uint8_t byte)
{
    size_t at = unit_offset(map->unit[0]) ^ byte;
    return byte && at < map->units && unit_label(map->unit[at]) == byte;
}

int bl_precompiled_open(struct bl_precompiled **out, const void *data, size_t size, struct bl_error *e)
{
    uint32_t bytes;
    *out = NULL;
    if (size < sizeof bytes + sizeof bytes)
        return bl_error_set(e, BL_EFAIL, "the map of the normalizer has %zu bytes: it is damaged", size);
    memcpy(&bytes, data, sizeof bytes);
    bytes = le32toh(bytes);
    if (bytes < sizeof(uint32_t) || bytes % sizeof(uint32_t) || bytes > size - sizeof bytes)
        return bl_error_set(e, BL_EFAIL, "the map of the normalizer is damaged: a trie of %u bytes in %zu", bytes,
                            size);
    struct bl_precompiled *map = calloc(1, sizeof *map);
    if (!map)
        return bl_error_memory(e);
    map->units = bytes / sizeof(uint32_t);
    map->size = size - sizeof bytes - bytes;
    map->unit = malloc(bytes);
    map->text = malloc(map->size + 1);
    if (!map->unit || !map->text) {
        bl_precompiled_close(map);
        return bl_error_memory(e);
    }
    memcpy(map->unit, (const char *)data + sizeof bytes, bytes);
    for (size_t i = 0; i < map->units; i++)
        map->unit[i] = le32toh(map->unit[i]);
    memcpy(map->text, (const char *)data + sizeof bytes + bytes, map->size);
    map->text[map->size] = '\0';
    if (bl_utf8_valid(map->text, map->size) < map->size) {
        bl_precompiled_close(map);
        return bl_error_set(e, BL_EFAIL, "the map of the normalizer is damaged: what it leads to is not UTF-8");
    }
    for (int c = 1; c < 128; c++)
        map->changed[c] = map_find(map, &(char){(char)c}, 1) != NULL;
    map->changed['\r'] = true; /* with \n it is a cluster */
    *out = map;
    return BL_OK;
}

void bl_precompiled_close(struct bl_precompiled *map)
{
    if (!map)
        return;
    free(map->unit);
    free(map->text);
    free(map);
}

/* Text that changes: appends what was not copied before it, and what it becomes. */
static void change_put(const char *text, size_t begin, size_t end, const char *with, size_t *copied,
                       struct bl_buffer *out)
{
    bl_buffer_append(out, text + *copied, begin - *copied);
    bl_buffer_text(out, with);
    *copied = end;
}

int bl_precompiled_apply(const struct bl_precompiled *map, const char *text, size_t size, size_t *copied,
                         struct bl_buffer *out)
{
    for (size_t at = 0, next; at < size && !out->failed; at = next) {
        uint8_t c = (uint8_t)text[at];
        next = at + 1;
        /* ASCII before ASCII is a cluster alone. */
        if (c < 0x80 && !map->changed[c] && (next == size || (uint8_t)text[next] < 0x80))
            continue;
        next = at + bl_grapheme_size(text + at, size - at);
        const char *with = next - at <= CLUSTER_MAX ? map_find(map, text + at, next - at) : NULL;
        if (with) {
            change_put(text, at, next, with, copied, out);
            continue;
        }
        for (size_t i = at, bytes; i < next; i += bytes) {
            uint32_t point;
            bytes = bl_utf8_decode(text + i, &point);
            with = map_find(map, text + i, bytes);
            if (with)
                change_put(text, i, i + bytes, with, copied, out);
        }
    }
    return out->failed ? BL_EFAIL : BL_OK;
}
