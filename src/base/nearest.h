/* Suggestions for mistyped words. */
#ifndef BL_NEAREST_H
#define BL_NEAREST_H

#include <stddef.h>

/* Start from {.word, .size}; then offer each valid word with bl_nearest_offer. */
struct bl_nearest {
    const char *word; /* as typed */
    size_t size;
    const char *best; /* the best match so far; NULL: none is near */
    int edits;        /* between the two */
};

/* Keeps the candidate if it is the best match so far. It matches if it begins with the word, or if at most a third of
 * its characters are inserted, deleted, replaced or swapped with a neighbour. The candidate must outlive *nearest. */
void bl_nearest_offer(struct bl_nearest *nearest, const char *candidate);

#endif
