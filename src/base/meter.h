/* The progress within one of many items, for a progress display, summed over all workers.
 *
 * Each item, such as a file, has a weight in the sum. A worker adds the part of the weight that is done, and only when
 * that part grows, so that reports for every frame cost little. The display divides the sum by all weights. */
#ifndef BL_METER_H
#define BL_METER_H

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The item on which a worker is. The name must live as long as the display may read it. */
struct bl_meter_item {
    _Atomic(const char *) name; /* or NULL */
    atomic_llong since;         /* when the worker began it: milliseconds of bl_meter_clock */
};

/* Milliseconds of a monotonic clock. */
static inline long long bl_meter_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct bl_meter {
    atomic_llong *sum;          /* weights of finished items and finished shares of the others, of all workers */
    int64_t whole;              /* the item's size; 0: unknown, so the item counts only when it is finished */
    int64_t weight;             /* the item's share of sum */
    int64_t reported;           /* the part of weight already in sum */
    struct bl_meter_item *item; /* or NULL: the display shows no items */
    void (*tick)(void *sink);   /* or NULL: called by a worker that is the only thread */
    void *sink;
};

/* Reports that `done` of meter->whole is finished. Cheap enough to call for every frame. meter may be NULL: nothing is
 * shown. */
static inline void bl_meter_report(struct bl_meter *meter, int64_t done)
{
    if (!meter)
        return;
    int64_t part = meter->whole <= 0     ? 0
                   : done < meter->whole ? (int64_t)((double)meter->weight * (double)done / (double)meter->whole)
                                         : meter->weight;
    if (part > meter->reported) {
        atomic_fetch_add_explicit(meter->sum, part - meter->reported, memory_order_relaxed);
        meter->reported = part;
    }
    if (meter->tick) {
        int before = errno; /* readers recognize by it that memory ran out (bl_error_memory_watch) */
        meter->tick(meter->sink);
        errno = before;
    }
}

/* Reports that the item is finished. */
static inline void bl_meter_end(struct bl_meter *meter)
{
    atomic_fetch_add_explicit(meter->sum, meter->weight - meter->reported, memory_order_relaxed);
    meter->reported = meter->weight;
    if (meter->item)
        atomic_store(&meter->item->name, NULL);
}

#endif
