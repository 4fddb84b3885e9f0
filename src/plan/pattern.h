/* Patterns: how to fill blocks, without regard to which sequence goes where.
 *
 * A pattern is a multiset of lengths that together fit into a block, and the number of blocks filled that way. Every
 * fill makes patterns from a histogram; a draft turns them into blocks. The memory is bounded by the number of
 * sequences: every entry stands for at least one. */
#ifndef BL_PATTERN_H
#define BL_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"

struct bl_patterns {
    size_t count;
    uint32_t *use;    /* [count] number of blocks with this pattern, at least 1 */
    uint32_t *first;  /* [count+1] first entry of each; the last is the number of entries */
    uint32_t *bucket; /* [entries] lengths, as buckets of the histogram, repeated if used several times */
    size_t blocks;    /* sum of use */
    size_t entries;   /* including those of the unfinished pattern */
    size_t capacity, entry_capacity;
};

/* Makes a pattern: push its lengths one by one, then close it. BL_EFAIL: out of memory. */
int bl_patterns_push(struct bl_patterns *p, uint32_t bucket, struct bl_error *e);
int bl_patterns_close(struct bl_patterns *p, uint32_t use, struct bl_error *e);

/* Adds the patterns `first` to end - 1 of another set. as: maps its buckets to those of *p; NULL: they are the same. */
int bl_patterns_append(struct bl_patterns *p, const struct bl_patterns *from, size_t first, size_t end,
                       const uint32_t *as, struct bl_error *e);

/* Removes the patterns from `count` on, and the unfinished one. */
void bl_patterns_truncate(struct bl_patterns *p, size_t count);

/* Keeps in *best the set with fewer blocks and frees the other; a set without patterns does not count. */
void bl_patterns_keep_fewer(struct bl_patterns *best, struct bl_patterns *other);

/* Returns the most entries in any pattern. */
uint32_t bl_patterns_widest(const struct bl_patterns *p);
void bl_patterns_free(struct bl_patterns *p);

#endif
