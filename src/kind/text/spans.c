#include "kind/text/spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int bl_spans_add(struct bl_spans *spans, size_t begin, size_t end, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(spans->span, spans->capacity, spans->count + 1, e);
    if (code)
        return code;
    spans->span[spans->count++] = (struct bl_span){begin, end};
    return BL_OK;
}

void bl_spans_free(struct bl_spans *spans)
{
    free(spans->span);
    *spans = (struct bl_spans){0};
}

int bl_behavior_parse(const char *name, enum bl_behavior *behavior, struct bl_error *e)
{
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(name, names[i])) {
            *behavior = (enum bl_behavior)i;
            return BL_OK;
        }
    }
    return bl_error_set(e, BL_EFAIL, "the behavior \"%.80s\" is not supported", name);
}

int bl_splitting_add(struct bl_splitting *s, size_t begin, size_t end, bool match, struct bl_error *e)
{
    struct bl_spans *out = s->out;
    bool previous = s->previous, any = out->count > s->first;
    s->previous = match;
    switch (s->behavior) {
    case BL_BEHAVIOR_ISOLATED:
        break;
    case BL_BEHAVIOR_REMOVED:
        if (match)
            return BL_OK;
        break;
    case BL_BEHAVIOR_CONTIGUOUS:
    case BL_BEHAVIOR_MERGED_WITH_PREVIOUS:
        if (any && (s->behavior == BL_BEHAVIOR_CONTIGUOUS ? match == previous : match && !previous)) {
            out->span[out->count - 1].end = end;
            return BL_OK;
        }
        break;
    case BL_BEHAVIOR_MERGED_WITH_NEXT:
        if (any && previous && !match) {
            out->span[out->count - 1].end = end;
            return BL_OK;
        }
        break;
    }
    return bl_spans_add(out, begin, end, e);
}
