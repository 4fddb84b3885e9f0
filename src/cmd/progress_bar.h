/* Progress on stderr: a bar on a terminal, otherwise a plain line now and then, or JSON; nothing with --quiet. SIGUSR2
 * shows the present state at once, in any case. */
#ifndef BL_PROGRESS_BAR_H
#define BL_PROGRESS_BAR_H

#include <stdbool.h>

#include "cmd/cmd.h"
#include "run/bottleneck.h"
#include "run/heartbeat.h"

struct bl_progress_bar {
    bool quiet;         /* no messages either */
    int form;           /* enum bl_progress_form, resolved */
    bool drawn;         /* the bar is on the terminal */
    bool begun;         /* a stage is under way */
    double shown;       /* seconds since its start when it was shown last; negative: not yet */
    double shown_share; /* of the total, then */
    double sampled;     /* seconds, when the estimates got their last sample */
    struct bl_progress now;
    struct bl_estimate left;
    struct bl_rate rate, byte_rate;
};

/* Returns a bar by --progress, --quiet, and what stderr is. */
struct bl_progress_bar bl_progress_bar_make(const struct bl_common *common);

/* Shows the present state when it is due. */
void bl_progress_bar_tick(struct bl_progress_bar *bar, const struct bl_progress *progress);

/* Clears the bar from the terminal, so that a message can be printed. The next tick may draw it again. */
void bl_progress_bar_clear(struct bl_progress_bar *bar);

/* Ends a stage: clears the bar; the last state is shown as JSON. */
void bl_progress_bar_end(struct bl_progress_bar *bar);

/* Whether a plain line is due at that many seconds and that share of the work, after the one at shown: every ten
 * seconds in the first minute, then with every tenth of the work, but at least every minute. */
bool bl_progress_bar_plain_is_due(double seconds, double share, double shown, double shown_share);

#endif
