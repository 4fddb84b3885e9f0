#include "scan/braces.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

struct braces {
    int (*emit)(void *context, const char *name, struct bl_error *e);
    void *context;
    int names;
};

/* What stands in braces: a range of numbers, or words with commas between. */
struct group {
    const char *begin, *end; /* the braces */
    bool range;
    int64_t from, to;
    int digits; /* numbers have at least so many */
};

/* Reads "N" or "N..M" into the group. */
static bool group_read_range(struct group *g)
{
    const char *from = g->begin + 1, *dots = strstr(from, "..");
    if (!dots || dots > g->end)
        return false;
    size_t from_size = (size_t)(dots - from), to_size = (size_t)(g->end - dots) - 2;
    bool padded = (from_size > 1 && from[0] == '0') || (to_size > 1 && dots[2] == '0');
    g->digits = !padded ? 1 : from_size > to_size ? (int)from_size : (int)to_size;
    return from_size <= 18 && to_size <= 18 && bl_text_to_int(from, from_size, 0, INT64_MAX, &g->from) &&
           bl_text_to_int(dots + 2, to_size, 0, INT64_MAX, &g->to);
}

/* Finds the first group. Braces without a comma or a range are part of the name, as for shells. */
static bool group_find(const char *text, struct group *g)
{
    for (const char *at = text; (at = strchr(at, '{')); at++) {
        size_t inside = strcspn(at + 1, "{}");
        if (at[1 + inside] != '}')
            continue;
        *g = (struct group){.begin = at, .end = at + 1 + inside};
        g->range = group_read_range(g);
        if (g->range || memchr(at, ',', inside + 1))
            return true;
    }
    return false;
}

bool bl_braces_are_in(const char *text)
{
    struct group g;
    return group_find(text, &g);
}

static int braces_expand(struct braces *b, const char *text, struct bl_error *e);

/* Expands the text with the group replaced by a word. */
static int group_replace(struct braces *b, const char *text, const struct group *g, const char *word, size_t size,
                         struct bl_error *e)
{
    struct bl_buffer name = {0};
    bl_buffer_append(&name, text, (size_t)(g->begin - text));
    bl_buffer_append(&name, word, size);
    bl_buffer_text(&name, g->end + 1);
    int code = bl_buffer_check(&name, e);
    if (!code)
        code = braces_expand(b, name.data, e);
    bl_buffer_free(&name);
    return code;
}

static int group_expand_range(struct braces *b, const char *text, const struct group *g, struct bl_error *e)
{
    const int64_t step = g->from <= g->to ? 1 : -1;
    int code = BL_OK;
    for (int64_t n = g->from; !code; n += step) {
        struct bl_buffer word = {0};
        bl_buffer_printf(&word, "%0*" PRId64, g->digits, n);
        code = bl_buffer_check(&word, e);
        if (!code)
            code = group_replace(b, text, g, word.data, word.size, e);
        bl_buffer_free(&word);
        if (n == g->to)
            break;
    }
    return code;
}

static int braces_expand(struct braces *b, const char *text, struct bl_error *e)
{
    struct group g;
    int code = BL_OK;
    if (!group_find(text, &g)) {
        if (b->names++ == BL_BRACES_MAX)
            return bl_error_set(e, BL_EUSAGE, "a pattern of more than %d names", BL_BRACES_MAX);
        return b->emit(b->context, text, e);
    }
    if (g.range)
        return group_expand_range(b, text, &g, e);
    for (const char *word = g.begin + 1; word <= g.end && !code;) {
        size_t size = strcspn(word, ",}");
        code = group_replace(b, text, &g, word, size, e);
        word += size + 1;
    }
    return code;
}

int bl_braces_expand(const char *text, int (*emit)(void *context, const char *name, struct bl_error *e), void *context,
                     struct bl_error *e)
{
    struct braces b = {.emit = emit, .context = context};
    int code = braces_expand(&b, text, e);
    if (code == BL_EUSAGE && b.names > BL_BRACES_MAX)
        bl_error_prefix(e, "%s", text);
    return code;
}
