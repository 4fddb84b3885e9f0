/* A page that a decoder process and its worker share: how far the process is. */
#ifndef BL_PROGRESS_PAGE_H
#define BL_PROGRESS_PAGE_H

#include <stdatomic.h>

struct bl_progress_page {
    atomic_ullong beats; /* packets, frames and images read (base/cancel.h) */
    atomic_llong done;   /* of the present request, in the units of its meter */
    atomic_int items;    /* inputs, or lines of a list, whose rows are made, of the present request */
    atomic_bool failed;  /* it ended itself, as memory ran out or a message was wrong: no decoder is to blame */
};

#endif
