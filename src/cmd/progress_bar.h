/* Progress on stderr: a bar on a terminal, otherwise a plain line every few seconds; nothing with --quiet. */
#ifndef BL_PROGRESS_BAR_H
#define BL_PROGRESS_BAR_H

#include <stdbool.h>

#include "run/progress.h"

struct bl_progress_bar {
    bool quiet;
    bool terminal;  /* stderr is one */
    bool drawn;     /* the bar is on the terminal */
    double started; /* start of the progress shown last */
    double shown;   /* seconds after that start */
};

/* Shows the present state when it is due. */
void bl_progress_bar_tick(struct bl_progress_bar *bar, const struct bl_progress *progress);

/* Clears the bar from the terminal, so that a message can be printed. The next tick may draw it again. */
void bl_progress_bar_clear(struct bl_progress_bar *bar);

#endif
