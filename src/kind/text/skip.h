/* What the scanners of grammars share: steps past characters of some classes (unicode.h). */
#ifndef BL_SKIP_H
#define BL_SKIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kind/text/character.h"

/* Past the characters that have one of the classes. */
static inline const uint8_t *bl_skip_class(const uint8_t *p, const uint8_t *end, unsigned classes)
{
    size_t bytes;
    while (p < end && (bl_character_class(p, end, &bytes) & classes))
        p += bytes;
    return p;
}

/* Past the characters that have none of the classes. */
static inline const uint8_t *bl_skip_others(const uint8_t *p, const uint8_t *end, unsigned classes)
{
    size_t bytes;
    while (p < end && !(bl_character_class(p, end, &bytes) & classes))
        p += bytes;
    return p;
}

static inline const uint8_t *bl_skip_breaks(const uint8_t *p, const uint8_t *end, bool slash)
{
    while (p < end && (*p == '\r' || *p == '\n' || (slash && *p == '/')))
        p++;
    return p;
}

/* \s+(?!\S)|\s+ at blank space: all of it, but for the last character where a word follows and more is left. */
static inline const uint8_t *bl_skip_space(const uint8_t *p, const uint8_t *end)
{
    const uint8_t *last = p, *at = p;
    size_t bytes;
    while (at < end && (bl_character_class(at, end, &bytes) & BL_SPACE)) {
        last = at;
        at += bytes;
    }
    return at == end || last == p ? at : last;
}

/* The same after \s*[\r\n]+: up to the last line break in the blank space, if there is one. */
static inline const uint8_t *bl_skip_lines(const uint8_t *p, const uint8_t *end, bool whole_at_end)
{
    const uint8_t *at = p, *line = NULL;
    size_t bytes;
    while (at < end && (bl_character_class(at, end, &bytes) & BL_SPACE)) {
        if (*at == '\r' || *at == '\n')
            line = at + 1;
        at += bytes;
    }
    if (line && !(whole_at_end && at == end))
        return line;
    return bl_skip_space(p, end);
}

#endif
