/* The memory that a worker reserves for the input that it decodes, beyond the share of each reader. A reservation
 * decides when an input is decoded, and never with which result. */
#ifndef BL_RESERVATION_H
#define BL_RESERVATION_H

#include <stdbool.h>

#include "pool/memory_budget.h"

/* The state of one worker. Initialize the first four members; the others begin as 0. */
struct bl_reservation {
    struct bl_memory_budget *budget; /* NULL: nothing is limited, and needs are only noted */
    const struct bl_cancel *cancel;
    int64_t included; /* bytes that the reader may take without a reservation */
    bool strict;      /* inputs that exceed the whole budget are refused; otherwise such an input gets all of it */
    int64_t needed;   /* bytes that the input needs, as far as that is known */
    int64_t held;     /* bytes that were taken from the budget */
    /* For a process without the budget: requests memory from the process that has it. NULL: this process has it. */
    int (*ask)(void *sink, int64_t bytes, bool grows, struct bl_error *e);
    void *sink;
};

/* Reserves `bytes` in all before an input is decoded, and waits until the run has them. The worker gives back what it
 * held while it waits. reservation may be NULL: nothing is limited. BL_ECANCEL; BL_EFAIL; BL_EUSAGE: the input is
 * refused, and the message says by how much --memory is too small. */
int bl_reservation_need(struct bl_reservation *reservation, int64_t bytes, struct bl_error *e);

/* Does the same, and refuses what exceeds the whole budget even if the reservation is not strict. */
int bl_reservation_require(struct bl_reservation *reservation, int64_t bytes, struct bl_error *e);

/* Reserves `bytes` in all while the input is being decoded. The call does not wait; other workers do. */
int bl_reservation_grow(struct bl_reservation *reservation, int64_t bytes, struct bl_error *e);

/* Gives everything back: nothing is decoded any more. */
void bl_reservation_release(struct bl_reservation *reservation);

#endif
