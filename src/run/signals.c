#include "run/signals.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* A handler has no argument of its own: this pointer is the one global that the tool cannot do without. */
static struct bl_cancel *target;

static void handle(int signal_number)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&target->raised, &none, signal_number) && none != -1)
        _exit(128 + signal_number); /* asked twice: whoever asks no longer wants to wait */
}

void bl_signals_install(struct bl_cancel *cancel)
{
    target = cancel;
    struct sigaction action = {.sa_handler = handle};
    sigemptyset(&action.sa_mask);
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        struct sigaction before;
        /* nohup and shells that start background jobs have signals ignored: leave those so. */
        if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(caught[i], &action, NULL);
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
}

int bl_signals_caught(const struct bl_cancel *cancel)
{
    int raised = atomic_load(&cancel->raised);
    return raised > 0 ? raised : 0;
}

void bl_signals_reraise(int signal_number)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigemptyset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
    raise(signal_number);
    _exit(128 + signal_number);
}
