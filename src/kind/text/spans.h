/* The spans of a text that a pre-tokenizer splits it into, in order. */
#ifndef BL_SPANS_H
#define BL_SPANS_H

#include <stddef.h>

#include "base/error.h"

struct bl_span {
    size_t begin, end; /* bytes */
};

/* Start from {0}; set count to 0 to use it again. */
struct bl_spans {
    struct bl_span *span;
    size_t count, capacity;
};

/* Appends a span, which may be empty. BL_EFAIL: out of memory. */
int bl_spans_add(struct bl_spans *spans, size_t begin, size_t end, struct bl_error *e);
void bl_spans_free(struct bl_spans *spans);

#endif
