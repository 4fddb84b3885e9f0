/* The lengths to plan. */
#ifndef BL_PLAN_LENGTHS_H
#define BL_PLAN_LENGTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Those of length[0 .. count-1], or of length[index[0 .. count-1]], from shortest to longest;
 * others are skipped. 1 <= shortest <= longest <= BL_T_MAX, count <= BL_SEQUENCES_MAX. They are packed in units of
 * `unit` steps, rounded up, and at most cap units. */
struct bl_lengths {
    const int64_t *length;
    const uint32_t *index; /* or NULL: all lengths */
    size_t count;
    int64_t shortest;
    int64_t longest;
    int64_t unit; /* steps; at least 1 */
    int64_t cap;  /* units */
};

static inline size_t bl_lengths_id(const struct bl_lengths *l, size_t i)
{
    return l->index ? l->index[i] : i;
}

static inline bool bl_lengths_has(const struct bl_lengths *l, size_t i)
{
    int64_t length = l->length[bl_lengths_id(l, i)];
    return length >= l->shortest && length <= l->longest;
}

/* Returns the length of the sequence with this id, in units. */
static inline int64_t bl_lengths_units_of(const struct bl_lengths *l, size_t id)
{
    int64_t length = l->length[id];
    int64_t units = l->unit == 1 ? length : (length + l->unit - 1) / l->unit;
    return units < l->cap ? units : l->cap;
}

/* Returns one length in units. */
static inline int64_t bl_lengths_units(const struct bl_lengths *l, size_t i)
{
    return bl_lengths_units_of(l, bl_lengths_id(l, i));
}

#endif
