/* A set of small numbers that only shrinks and can be walked in both directions: which lengths are still there.
 *
 * Bits, and above every 64 words of bits a word that says which of them are not zero, as often as it takes: a step
 * costs a few words however thin the set has become. */
#ifndef BL_MARKS_H
#define BL_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_MARKS_LEVELS 6
#define BL_MARKS_NONE SIZE_MAX

struct bl_marks {
    uint64_t *level[BL_MARKS_LEVELS]; /* [0] the bits themselves; all in one allocation */
    size_t size[BL_MARKS_LEVELS];     /* bits of each level */
    int levels;
};

/* The empty set of numbers below size. Errors: BL_EFAIL, no memory; then *m is empty. */
int bl_marks_make(struct bl_marks *m, size_t size, struct bl_error *e);
void bl_marks_free(struct bl_marks *m);
void bl_marks_add(struct bl_marks *m, size_t i);
void bl_marks_remove(struct bl_marks *m, size_t i);

/* The smallest member from i on, the largest up to i, or BL_MARKS_NONE. */
size_t bl_marks_next(const struct bl_marks *m, size_t i);
size_t bl_marks_previous(const struct bl_marks *m, size_t i);

#endif
