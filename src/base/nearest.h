/* What somebody may have meant who mistyped a word. */
#ifndef BL_NEAREST_H
#define BL_NEAREST_H

#include <stddef.h>

/* {.word, .size}, and then each word that there is by bl_nearest_offer. */
struct bl_nearest {
    const char *word; /* as given */
    size_t size;
    const char *best; /* of those offered; NULL: none is near */
    int edits;        /* between the two */
};

/* Takes the candidate for the best one if it is the nearest so far: a third of its letters at most are inserted,
 * deleted, replaced or swapped with the next, or it begins with the word. The candidate outlives *nearest. */
void bl_nearest_offer(struct bl_nearest *nearest, const char *candidate);

#endif
