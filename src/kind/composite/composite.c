#include "kind/composite/composite.h"

bool bl_composite_accepts(const struct bl_kind *kind)
{
    return !kind->scan->chunk_bytes && !kind->spool;
}

bool bl_composite_needs_times(const struct bl_composite *composite, int p)
{
    const struct bl_composite_part *part = &composite->part[p];
    if (!part->kind->follow)
        return false;
    enum bl_follow_needs needs = part->kind->follow->needs(part->config);
    bool numbers = composite->part[0].kind->read->times == BL_TIMES_NUMBERS;
    return needs == BL_FOLLOW_TIMES || (needs == BL_FOLLOW_NUMBERS && numbers);
}
