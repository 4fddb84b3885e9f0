/* Handlers of the signals that end a run, and of SIGUSR2, which asks for the progress.
 *
 * Work tests the flag at every frame. Some work cannot: compressing a large frame, planning ten million lengths,
 * waiting for a file server, or for a reader of the output that has stopped. So the first signal also sets a timer.
 * When it expires, the signal ends the process at once. Files get their names last, so nothing is lost. */
#include "cmd/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE 600000 /* microseconds; including the time to exit, a signal ends the tool within a second */

/* A handler takes no argument, so these globals are unavoidable. */
static struct bl_cancel *target; /* the flag that the first signal sets */
static atomic_int first;         /* the number of the first signal; 0: none came */
static atomic_bool is_asked;     /* SIGUSR2 came, and nobody has taken it yet */

/* Every function below is async-signal-safe on Linux. POSIX does not list setitimer, but on Linux it is only a system
 * call. */

/* Ends the process by the signal, after a message where one can be written without waiting. */
static void signal_die(int signal_number)
{
    static const char text[] = "bload: ended by a signal in the middle of work that cannot be interrupted\n";
    struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
    /* The blocked reader of stderr may be the reason for the wait. */
    if (poll(&out, 1, 0) == 1 && out.revents & POLLOUT && write(STDERR_FILENO, text, sizeof text - 1) < 0)
        out.revents = 0; /* the message cannot be shown */
    bl_signals_reraise(signal_number);
}

/* The handler of the timer: the work did not end in time. */
static void signal_time_out(int signal_number)
{
    (void)signal_number;
    signal_die(atomic_load(&first));
}

/* The handler of signals that end the run: sets the flag and the timer, or ends the process at the second signal. */
static void signal_handle(int signal_number)
{
    int none = 0, not_requested = 0, kept = errno; /* errno is kept for the interrupted code */
    if (!atomic_compare_exchange_strong(&first, &none, signal_number))
        signal_die(signal_number); /* a second signal: stop at once */
    /* The flag may have a value already: another job has failed. It stays then, since the run ends anyway. */
    atomic_compare_exchange_strong(&target->requested, &not_requested, signal_number);
    static const struct itimerval patience = {.it_value = {.tv_usec = PATIENCE}};
    setitimer(ITIMER_REAL, &patience, NULL);
    errno = kept;
}

/* The handler of BL_CANCEL_ROUSE. That it runs ends the waiting of a thread. */
static void signal_rouse(int signal_number)
{
    (void)signal_number;
}

/* The handler of SIGUSR2. */
static void signal_ask(int signal_number)
{
    (void)signal_number;
    atomic_store(&is_asked, true); /* lock-free, therefore safe here */
}

bool bl_signals_take_question(void)
{
    return atomic_load_explicit(&is_asked, memory_order_relaxed) && atomic_exchange(&is_asked, false);
}

/* Installs a handler unless the signal is ignored. Shells that start background jobs, and nohup, start a process with
 * signals ignored, and those stay so. */
static void signal_catch(int signal_number, const struct sigaction *action)
{
    struct sigaction before;
    if (sigaction(signal_number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(signal_number, action, NULL);
}

void bl_signals_install_question(void)
{
    struct sigaction ask = {.sa_handler = signal_ask, .sa_flags = SA_RESTART}; /* system calls go on */
    sigemptyset(&ask.sa_mask);
    signal_catch(SIGUSR2, &ask);
}

void bl_signals_install(struct bl_cancel *cancel)
{
    target = cancel;
    struct sigaction action = {.sa_handler = signal_handle};
    sigemptyset(&action.sa_mask);
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        signal_catch(caught[i], &action);
    bl_signals_install_question();
    /* The timer and SIGPIPE belong to the tool, so their earlier actions do not matter. */
    action.sa_handler = signal_time_out;
    sigaction(SIGALRM, &action, NULL);
    struct sigaction rouse = {.sa_handler = signal_rouse, .sa_flags = SA_RESTART};
    sigemptyset(&rouse.sa_mask);
    sigaction(BL_CANCEL_ROUSE, &rouse, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
}

int bl_signals_caught(const struct bl_cancel *cancel)
{
    int requested = atomic_load(&cancel->requested);
    return requested > 0 ? requested : 0;
}

void bl_signals_reraise(int signal_number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
    sigset_t itself = action.sa_mask;
    sigaddset(&itself, signal_number);
    pthread_sigmask(SIG_UNBLOCK, &itself, NULL); /* the signal's own handler may be the caller */
    raise(signal_number);
    _exit(128 + signal_number);
}
