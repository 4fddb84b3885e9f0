/* Patterns: how to fill blocks, before anybody asks who goes where.
 *
 * A pattern is a multiset of lengths that fit into a block together, and the number of blocks to be filled so. Every
 * way of filling makes patterns from a histogram; a draft turns them into blocks. The room is bounded by
 * the sequences: every entry stands for at least one. */
#ifndef BL_PATTERN_H
#define BL_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plan/histogram.h"

struct bl_patterns {
    size_t count;
    uint32_t *use;    /* [count] blocks filled by this pattern, at least 1 */
    uint32_t *first;  /* [count+1] its first entry; the last is the number of entries */
    uint32_t *bucket; /* [entries] lengths, as buckets of the histogram; repeated where a length is taken again */
    size_t blocks;    /* sum of use */
    size_t entries;   /* including those of the pattern in the making */
    size_t capacity, entry_capacity;
};

/* A pattern is made by pushing its lengths one by one and closing it. Errors: BL_EFAIL, no memory. */
int bl_patterns_push(struct bl_patterns *p, uint32_t bucket, struct bl_error *e);
int bl_patterns_close(struct bl_patterns *p, uint32_t use, struct bl_error *e);

/* Adds the patterns of another, over the same buckets. */
int bl_patterns_append(struct bl_patterns *p, const struct bl_patterns *other, struct bl_error *e);

/* Keeps in *best the one with fewer blocks, and frees the other; one without patterns is none. */
void bl_patterns_keep_fewer(struct bl_patterns *best, struct bl_patterns *other);

/* The most entries in any pattern. */
uint32_t bl_patterns_widest(const struct bl_patterns *p);
void bl_patterns_free(struct bl_patterns *p);

#endif
