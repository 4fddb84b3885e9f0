/* Work on a thread of its own, while the caller's shows that it goes on. */
#ifndef BL_ASIDE_H
#define BL_ASIDE_H

#include "base/cancel.h"
#include "base/error.h"

struct bl_aside {
    int (*work)(void *context, struct bl_error *e);
    void *context;
    void (*tick)(void *sink); /* called several times a second, on the caller's thread */
    void *sink;
    struct bl_cancel *cancel;
};

/* Returns what the work does, with its error. It is waited for in any case: BL_ECANCEL comes after its end. */
int bl_aside_run(const struct bl_aside *aside, struct bl_error *e);

#endif
