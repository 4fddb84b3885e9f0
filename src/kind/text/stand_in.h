/* Stand-ins: PCRE2 has the version of Unicode that the system's library was built with (14 in Debian 12), the released
 * tokenizers have Unicode 16 (tokenizers 0.23: Oniguruma 6.9.10; tiktoken 0.14: Rust's regex crates). So PCRE2 does not
 * see a code point that came with Unicode 15 or 16, but an older one of the same properties in its place, of as many
 * bytes. Where the matches are is the same. Nor does a newer PCRE2 see what came after Unicode 16, but noncharacters.
 *
 * A code point that a pattern has itself, or the limit of one of its ranges, tells points apart that have the same
 * properties: what stands for a point lies on the same side of each. A few points have none like them of the same
 * script; only patterns with the name of that script see it. */
#ifndef BL_STAND_IN_H
#define BL_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* The code points that a pattern has in its own text, in no order. newer: PCRE2 has a later Unicode than 16. Start from
 * {0}. */
struct bl_pattern_points {
    uint32_t *point;
    size_t count, capacity;
    bool newer;
};

/* Collects those of a pattern in PCRE2's syntax, as bl_regex_translate makes it. */
int bl_pattern_points_read(struct bl_pattern_points *points, const char *pattern, size_t size, struct bl_error *e);
void bl_pattern_points_free(struct bl_pattern_points *points);

/* What PCRE2 is to see of a text (valid UTF-8): *seen is the text itself, or a copy of the same size in the buffer. */
int bl_stand_in_apply(const struct bl_pattern_points *points, const char *text, size_t size, struct bl_buffer *copy,
                      const char **seen, struct bl_error *e);

#endif
