/* Relieves the holders that keep others waiting: exchanges elements between holders, such as sequences between
 * micro-batches, or groups of sequences between ranks. */
#ifndef BL_RELIEF_H
#define BL_RELIEF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BL_RELIEF_NONE UINT32_MAX /* no element */

/* Elements that are together, the most expensive first; {0} is an empty holder. */
struct bl_holder {
    int64_t cost; /* the sum of the elements */
    uint32_t *element;
    uint32_t count, capacity;
};

/* Adds an element. BL_EFAIL: out of memory. */
int bl_holder_add(struct bl_holder *h, uint32_t element, const int64_t *cost, struct bl_error *e);
/* Frees the holders and their array; NULL is accepted. */
void bl_holders_free(struct bl_holder *holder, size_t holders);

/* The holders wait for each other in rows: holder h is in row h % rows. What is lost is the sum over the rows of the
 * highest cost of a holder. */
struct bl_relief {
    struct bl_holder *holder; /* [holders], a multiple of rows */
    size_t holders, rows;
    const int64_t *cost; /* [elements] */
    int64_t target;      /* the search ends when no more than this is lost */
    int64_t work;        /* comparisons until it ends anyway */
    /* Returns whether element x of holder `from` and element y of holder `to` can change places; y may be
     * BL_RELIEF_NONE. */
    bool (*fits)(void *context, size_t from, uint32_t x, size_t to, uint32_t y);
    /* Makes an exchange that fits in the tables of the caller; the holders are changed by bl_relief_run. */
    void (*exchange)(void *context, size_t from, uint32_t x, size_t to, uint32_t y);
    void *context;
};

/* Returns the sum over the rows of the highest cost of a holder. */
int64_t bl_relief_lost(const struct bl_relief *r);

/* Makes exchanges after which less is lost, until none is found. No row ever loses more than before. No holder becomes
 * empty. BL_EFAIL: out of memory. */
int bl_relief_run(struct bl_relief *r, struct bl_error *e);

#endif
