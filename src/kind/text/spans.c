#include "kind/text/spans.h"

#include <stdlib.h>

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
