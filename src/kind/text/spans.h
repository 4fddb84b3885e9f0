/* The spans of a text that a pre-tokenizer splits it into, in order. */
#ifndef BL_SPANS_H
#define BL_SPANS_H

#include <stdbool.h>
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

/* What is done with the matches of a pattern, by the names of tokenizer.json and with their meaning. */
enum bl_behavior {
    BL_BEHAVIOR_REMOVED,
    BL_BEHAVIOR_ISOLATED,
    BL_BEHAVIOR_MERGED_WITH_PREVIOUS,
    BL_BEHAVIOR_MERGED_WITH_NEXT,
    BL_BEHAVIOR_CONTIGUOUS
};

/* From "Isolated" and so on. BL_EFAIL: there is no such behavior. */
int bl_behavior_parse(const char *name, enum bl_behavior *behavior, struct bl_error *e);

/* Splitting a text by matches: what the behavior makes of the pieces, which are added in order. */
struct bl_splitting {
    enum bl_behavior behavior;
    struct bl_spans *out;
    size_t first;  /* index in out of the first span of this text */
    bool previous; /* the last piece was a match */
};

/* Adds the next piece of the text, a match or what is before, between and after matches. BL_EFAIL: out of memory. */
int bl_splitting_add(struct bl_splitting *s, size_t begin, size_t end, bool match, struct bl_error *e);

#endif
