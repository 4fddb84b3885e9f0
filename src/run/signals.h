/* Signals: SIGINT, SIGTERM, SIGHUP and SIGUSR1, by which batch systems warn of a job's end, raise a cancel flag; the
 * run unwinds, and the signal is raised again at the end. */
#ifndef BL_SIGNALS_H
#define BL_SIGNALS_H

#include "kind/kind.h"

/* From now on a signal stores its number in cancel->raised (once; the first one stays). A second signal ends the
 * process at once, and so does the first when the work has not ended within a second. SIGPIPE is ignored: writing to a
 * closed pipe is an error like any other. cancel must outlive the process's work. */
void bl_signals_install(struct bl_cancel *cancel);

/* The signal that was caught, or 0. */
int bl_signals_caught(const struct bl_cancel *cancel);

/* Ends the process by the signal, as whoever waits for it expects. */
_Noreturn void bl_signals_reraise(int signal_number);

#endif
