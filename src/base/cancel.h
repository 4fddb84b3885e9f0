/* The flag that stops work early. A signal or another job's fatal error raises it, once. Every loop that can take long
 * tests it and returns BL_ECANCEL. */
#ifndef BL_CANCEL_H
#define BL_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>

struct bl_cancel {
    atomic_int raised;
};

static inline bool bl_cancelled(const struct bl_cancel *cancel)
{
    return atomic_load_explicit(&cancel->raised, memory_order_relaxed) != 0;
}

#endif
