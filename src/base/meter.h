/* The progress within one of many items, for a progress display, summed over all workers. */
#ifndef BL_METER_H
#define BL_METER_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

struct bl_meter {
    atomic_llong *sum;        /* weights of finished items and finished shares of the others, of all workers */
    int64_t whole;            /* the item's size; 0: unknown, so the item counts only when it is finished */
    int64_t weight;           /* the item's share of sum */
    int64_t told;             /* the part of weight already in sum */
    void (*tick)(void *sink); /* or NULL: called by a worker that is the only thread */
    void *sink;
};

/* Reports that done of whole is finished. Cheap enough to call for every frame. pace NULL: progress is not shown. */
static inline void bl_meter_report(struct bl_meter *pace, int64_t done)
{
    if (!pace)
        return;
    int64_t part = pace->whole <= 0     ? 0
                   : done < pace->whole ? (int64_t)((double)pace->weight * (double)done / (double)pace->whole)
                                        : pace->weight;
    if (part > pace->told) {
        atomic_fetch_add_explicit(pace->sum, part - pace->told, memory_order_relaxed);
        pace->told = part;
    }
    if (pace->tick) {
        int before = errno; /* by which readers recognize a lack of memory (bl_error_memory_watch) */
        pace->tick(pace->sink);
        errno = before;
    }
}

/* Reports that the item is finished. */
static inline void bl_meter_end(struct bl_meter *pace)
{
    atomic_fetch_add_explicit(pace->sum, pace->weight - pace->told, memory_order_relaxed);
    pace->told = pace->weight;
}

#endif
