/* Signals: SIGINT, SIGTERM, SIGHUP and SIGUSR1 (a batch system's warning that a job will end) set a cancel flag. The
 * run unwinds and then sends the signal to itself again. SIGUSR2 asks for the progress, and ends nothing. */
#ifndef BL_SIGNALS_H
#define BL_SIGNALS_H

#include <stdbool.h>

#include "base/cancel.h"

/* Installs handlers that store the signal's number in cancel->requested (only the first one). A second signal ends the
 * process at once; so does the first if the work has not ended within a second. SIGPIPE is ignored, so that writing to
 * a closed pipe is an ordinary error. cancel must live until the process ends. */
void bl_signals_install(struct bl_cancel *cancel);

/* Returns the number of the signal that stopped the work, or 0: no signal came, or something else set the flag first.
 */
int bl_signals_caught(const struct bl_cancel *cancel);

/* Installs only the handler of SIGUSR2: for a command that may end at once by all other signals. */
void bl_signals_install_question(void);

/* Returns whether SIGUSR2 came since the last call: the user asks for the present progress. Its handler only sets a
 * flag, and system calls go on. */
bool bl_signals_take_question(void);

/* Ends the process by the signal, so that its parent sees the signal in the exit status. */
_Noreturn void bl_signals_reraise(int signal_number);

#endif
