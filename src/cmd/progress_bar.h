/* The display of progress on stderr: the line that describes a stage, and the bar that decides when and how to show
 * it. */
#ifndef BL_PROGRESS_BAR_H
#define BL_PROGRESS_BAR_H

#include <stdbool.h>

#include "base/buffer.h"
#include "cmd/cmd.h"
#include "run/bottleneck.h"
#include "run/heartbeat.h"

/* --- text of the progress ----------------------------------------------------------------------------------------- */

/* Progress, and the estimates that follow from earlier samples of it. */
struct bl_progress_view {
    const struct bl_progress *progress;
    double seconds;   /* since the stage began */
    double left;      /* seconds; negative: unknown */
    double rate;      /* per second, of rate_of; 0: unknown */
    double byte_rate; /* the same of bytes */
};

/* Appends "pack [#####.....] 12 s left, 34 %, 12 of 34 blocks, ...": at most width - 1 columns, without a line end.
 * Fields without room are left out, the least important first. */
void bl_progress_line_bar(const struct bl_progress_view *view, int width, struct bl_buffer *out);

/* Appends one JSON object, as bload(1) describes it, without a line end. */
void bl_progress_line_json(const struct bl_progress_view *view, struct bl_buffer *out);

/* --- progress bar ------------------------------------------------------------------------------------------------- */

/* Progress on stderr: a bar on a terminal, otherwise a plain line now and then, or JSON; nothing with --quiet. SIGUSR2
 * shows the present state at once, in any case. */

struct bl_progress_bar {
    bool quiet;             /* no messages either */
    int form;               /* enum bl_progress_form, resolved */
    bool drawn;             /* the bar is on the terminal */
    bool begun;             /* a stage is under way */
    double shown;           /* seconds since its start when it was shown last; negative: not yet */
    double shown_share;     /* of the total, then */
    double sampled;         /* seconds, when the estimates got their last sample */
    struct bl_progress now; /* a copy of the counters at the last tick */
    struct bl_estimate left;
    struct bl_rate rate, byte_rate;
};

/* Returns a bar by --progress, --quiet, and what stderr is. */
struct bl_progress_bar bl_progress_bar_make(const struct bl_common *common);

/* Shows the present state if it is due, or if SIGUSR2 has asked for it. Call it several times a second, always from the
 * same thread. */
void bl_progress_bar_tick(struct bl_progress_bar *bar, const struct bl_progress *progress);

/* Shows the progress of choosing a subset (bl_subset.tick) at a row of rows, once it takes long. The caller owns
 * progress, and the call for row 0 initializes it. */
void bl_progress_bar_choose(struct bl_progress_bar *bar, struct bl_progress *progress, int64_t row, int64_t rows);

/* Clears the bar from the terminal, so that a message can be printed. The next tick may draw it again. */
void bl_progress_bar_clear(struct bl_progress_bar *bar);

/* Ends a stage: clears the bar, and prints the last state if the form is JSON. Does nothing if no stage has begun. */
void bl_progress_bar_end(struct bl_progress_bar *bar);

/* Returns whether a plain line is due at that many seconds and that share of the work, after the line at `shown`
 * seconds with the share shown_share: every ten seconds in the first minute, then with every tenth of the work, and at
 * least every minute. */
bool bl_progress_bar_plain_is_due(double seconds, double share, double shown, double shown_share);

#endif
