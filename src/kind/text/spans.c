#include "kind/text/spans.h"

#include <stdlib.h>

int bl_spans_add(struct bl_spans *spans, size_t begin, size_t end, struct bl_error *e)
{
    if (spans->count == spans->capacity) {
        size_t capacity = spans->capacity * 2 + 64;
        struct bl_span *span = reallocarray(spans->span, capacity, sizeof *span);
        if (!span)
            return bl_error_memory(e);
        spans->span = span;
        spans->capacity = capacity;
    }
    spans->span[spans->count++] = (struct bl_span){begin, end};
    return 0;
}

void bl_spans_free(struct bl_spans *spans)
{
    free(spans->span);
    *spans = (struct bl_spans){0};
}
