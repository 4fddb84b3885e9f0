/* Error objects: they carry a failure to the command that prints it.
 *
 * A function that can fail returns 0 or one of the negative codes below. It records the detail once, where the detail
 * is known, in the object that its caller passed in. Callers may add context with bl_error_prefix, and do not print. An
 * object belongs to one job and needs no lock. */
#ifndef BL_ERROR_H
#define BL_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum bl_code {
    BL_OK = 0,
    BL_EFAIL = -1,   /* the system failed, or the work cannot be done: exit status 1 */
    BL_EUSAGE = -2,  /* wrong usage: exit status 2 */
    BL_EDATA = -3,   /* the content of an input is unusable: the run continues without it (exit status 3) */
    BL_ECANCEL = -4, /* a signal, or another job's fatal error, stopped the work */
};

struct bl_error {
    int code;        /* BL_OK while nothing is recorded */
    char text[1024]; /* one printable line, NUL-terminated; a long one is cut in the middle */
};

#define BL_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Records code and text, unless an error is recorded already: the first cause matters. e may be NULL. Returns code, for
 * "return bl_error_set(...)". */
int bl_error_set(struct bl_error *e, int code, const char *format, ...) BL_PRINTF(3, 4);

/* Records the text with ": <strerror(errno)>" at its end, as bl_error_set does. */
int bl_error_errno(struct bl_error *e, int code, const char *format, ...) BL_PRINTF(3, 4);

/* Records the text of another object with this code; code 0 records nothing. Returns code. */
int bl_error_pass(struct bl_error *e, int code, const struct bl_error *fault);

/* Prepends "<text>: " to the recorded text. */
void bl_error_prefix(struct bl_error *e, const char *format, ...) BL_PRINTF(2, 3);

/* Clears the object. */
void bl_error_clear(struct bl_error *e);

/* Records BL_EFAIL, "out of memory". */
int bl_error_memory(struct bl_error *e);

/* Some libraries hide that memory ran out: FFmpeg may report the end of a file, or damage. The C library sets errno to
 * ENOMEM, and nothing else does: call watch before, and seen afterwards on the same thread. Where successful
 * allocations leave ENOMEM, too, seen returns false, and only a failed call shows that memory ran out. */
void bl_error_memory_watch(void);
bool bl_error_memory_seen(void);

/* Returns from the function that calls it, with the code of a call that failed. It is for functions that own nothing
 * yet; a function that owns something goes to its label out instead. */
#define BL_TRY(call)                                                                                                   \
    do {                                                                                                               \
        int tried = (call);                                                                                            \
        if (tried)                                                                                                     \
            return tried;                                                                                              \
    } while (0)

/* True for an errno of a failing system (EIO, ESTALE, ENOMEM, ENOSPC...), false for bad content. */
bool bl_errno_is_system(int error_number);

#endif
