/* Progress on stderr: a bar when it is a terminal, a plain line every few seconds when it is none, nothing when quiet.
 */
#ifndef BL_PROGRESS_BAR_H
#define BL_PROGRESS_BAR_H

#include <stdbool.h>

#include "run/progress.h"

struct bl_progress_bar {
    bool quiet;
    bool drawn;     /* the bar is on the terminal */
    double started; /* of what it showed last */
    double shown;   /* seconds after that start */
};

/* Shows the present state if it is time to. */
void bl_progress_bar_tick(struct bl_progress_bar *bar, const struct bl_progress *progress);

/* Takes the bar off the terminal, so that a message stands alone; the next tick may draw it again. */
void bl_progress_bar_clear(struct bl_progress_bar *bar);

#endif
