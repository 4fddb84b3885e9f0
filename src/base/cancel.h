/* The flag that stops work early. A signal or another job's fatal error sets it, once. Every loop that can take long
 * tests it and returns BL_ECANCEL. */
#ifndef BL_CANCEL_H
#define BL_CANCEL_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The signal that is sent to a thread, by pthread_kill, to end its waiting in a system call, so that it looks at the
 * flag. bload has a handler for it (cmd/signals.c); without one it does nothing. */
#define BL_CANCEL_ROUSE SIGURG

struct bl_cancel {
    atomic_int requested; /* 0, the number of a signal, or -1 after a fatal error; the first one stays */
    atomic_ullong *beats; /* counts packets, frames and images, for the process that watches this one; or NULL */
};

/* Returns whether work must stop. Cheap enough for every turn of a loop. */
static inline bool bl_cancelled(const struct bl_cancel *cancel)
{
    return atomic_load_explicit(&cancel->requested, memory_order_relaxed) != 0;
}

/* Reports progress: a packet, a frame or an image was read. */
static inline void bl_cancel_beat(const struct bl_cancel *cancel)
{
    if (cancel->beats)
        atomic_fetch_add_explicit(cancel->beats, 1, memory_order_relaxed);
}

#endif
