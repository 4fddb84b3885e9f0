/* The memory of the run that a worker has reserved for the input that it decodes, beyond what each reader may take. It
 * decides when an input is decoded, never what comes of it. */
#ifndef BL_RESERVATION_H
#define BL_RESERVATION_H

#include <stdbool.h>

#include "pool/memory_budget.h"

/* Initialize with the first four. */
struct bl_reservation {
    struct bl_memory_budget *budget; /* NULL: there is nothing to wait for; what is needed is only noted */
    const struct bl_cancel *cancel;
    int64_t included; /* bytes that need no reservation */
    bool strict;      /* what the whole budget has no room for is refused; else it gets all of it */
    int64_t needed;   /* all that the input needs, as far as it is known */
    int64_t held;     /* of the budget */
    /* For a process that has no budget: asks the one that has. NULL: this is the one. */
    int (*ask)(void *sink, int64_t bytes, bool grows, struct bl_error *e);
    void *sink;
};

/* An input needs so many bytes to be decoded, which begins after this: waits until the run has them. What was needed
 * before no longer is. reservation may be NULL: nothing is limited. BL_ECANCEL; BL_EFAIL; BL_EUSAGE: it is refused,
 * with what is lacking. */
int bl_reservation_need(struct bl_reservation *reservation, int64_t bytes, struct bl_error *e);

/* The same, but what the whole budget has no room for is refused even if the reservation is not strict. */
int bl_reservation_require(struct bl_reservation *reservation, int64_t bytes, struct bl_error *e);

/* The input that is being decoded turns out to need so many: does not wait, but others must. */
int bl_reservation_grow(struct bl_reservation *reservation, int64_t bytes, struct bl_error *e);

/* Nothing is being decoded any more. */
void bl_reservation_release(struct bl_reservation *reservation);

#endif
