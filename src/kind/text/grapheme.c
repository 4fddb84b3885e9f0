#include "kind/text/grapheme.h"

#include <stdbool.h>

#include "base/utf8.h"
#include "kind/text/grapheme_table.h"

/* What rules of more than two characters need to know of those before. */
struct cluster {
    unsigned regionals;     /* regional indicators right before */
    bool pictograph;        /* a pictograph, then only Extend */
    bool consonant, linked; /* a consonant, then only Extend and linkers, and at least one of these */
    unsigned before;        /* the class of the last character */
};

static bool hangul_joins(unsigned a, unsigned b)
{
    if (a == BL_BREAK_L)
        return b == BL_BREAK_L || b == BL_BREAK_V || b == BL_BREAK_LV || b == BL_BREAK_LVT;
    if (a == BL_BREAK_LV || a == BL_BREAK_V)
        return b == BL_BREAK_V || b == BL_BREAK_T;
    return (a == BL_BREAK_LVT || a == BL_BREAK_T) && b == BL_BREAK_T;
}

static bool is_control(unsigned value)
{
    return value == BL_BREAK_CR || value == BL_BREAK_LF || value == BL_BREAK_CONTROL;
}

/* Whether the next character belongs to the cluster: rules GB3 to GB999. */
static bool cluster_joins(const struct cluster *cluster, unsigned class)
{
    unsigned a = cluster->before & BL_BREAK_MASK, b = class & BL_BREAK_MASK;
    if (a == BL_BREAK_CR && b == BL_BREAK_LF)
        return true;
    if (is_control(a) || is_control(b))
        return false;
    if (hangul_joins(a, b) || b == BL_BREAK_EXTEND || b == BL_BREAK_ZWJ || b == BL_BREAK_SPACING ||
        a == BL_BREAK_PREPEND)
        return true;
    if (class & BL_CONSONANT && cluster->linked)
        return true;
    if (a == BL_BREAK_ZWJ && cluster->pictograph && class & BL_PICTOGRAPH)
        return true;
    return a == BL_BREAK_REGIONAL && b == BL_BREAK_REGIONAL && cluster->regionals % 2;
}

static void cluster_add(struct cluster *cluster, unsigned class)
{
    unsigned value = class & BL_BREAK_MASK;
    bool extends = value == BL_BREAK_EXTEND || value == BL_BREAK_ZWJ;
    cluster->regionals = value == BL_BREAK_REGIONAL ? cluster->regionals + 1 : 0;
    cluster->pictograph = class & BL_PICTOGRAPH || (cluster->pictograph && extends);
    cluster->consonant = class & BL_CONSONANT || (cluster->consonant && extends);
    cluster->linked = cluster->consonant && !(class & BL_CONSONANT) && (cluster->linked || class & BL_LINKER);
    cluster->before = class;
}

size_t bl_grapheme_size(const char *text, size_t size)
{
    struct cluster cluster = {0};
    uint32_t point;
    size_t at = bl_utf8_decode(text, &point), next;
    cluster_add(&cluster, bl_grapheme_class(point));
    for (; at < size; at = next) {
        next = at + bl_utf8_decode(text + at, &point);
        unsigned class = bl_grapheme_class(point);
        if (!cluster_joins(&cluster, class))
            break;
        cluster_add(&cluster, class);
    }
    return at;
}
