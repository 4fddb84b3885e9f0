/* How far somebody has come within one thing of many, for who looks on: told as it goes, added up over all workers. */
#ifndef BL_METER_H
#define BL_METER_H

#include <stdatomic.h>
#include <stdint.h>

struct bl_meter {
    atomic_llong *sum;        /* of the weights of what is done, and of what is done of those under way */
    int64_t whole;            /* the thing's size; 0: not known, then it counts when it is done */
    int64_t weight;           /* in sum */
    int64_t told;             /* of weight */
    void (*tick)(void *sink); /* or NULL: called where the worker is the only thread, so that nobody else looks on */
    void *sink;
};

/* So much of the whole is done. Cheap enough to be said of every frame. NULL: nobody looks on. */
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
    if (pace->tick)
        pace->tick(pace->sink);
}

/* All of it is done. */
static inline void bl_meter_end(struct bl_meter *pace)
{
    atomic_fetch_add_explicit(pace->sum, pace->weight - pace->told, memory_order_relaxed);
    pace->told = pace->weight;
}

#endif
