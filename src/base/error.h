/* Error objects: the one way in which a failure travels to the command that prints it.
 *
 * A function that can fail returns 0 or one of the negative codes below and records the detail once, in the
 * object that its caller handed in, at the place where the detail is known. Whoever passes the code on
 * may add context with bl_error_prefix, and does not print. Objects belong to one job; they need no lock. */
#ifndef BL_ERROR_H
#define BL_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum bl_code {
    BL_OK = 0,
    BL_EFAIL = -1,   /* the system failed, or the work cannot be done: exit status 1 */
    BL_EUSAGE = -2,  /* asked for wrongly: exit status 2 */
    BL_EDATA = -3,   /* this input's content cannot be used: costs the input, never the run (exit status 3) */
    BL_ECANCEL = -4, /* a signal, or another job's fatal error, asked us to stop */
};

struct bl_error {
    int code;        /* BL_OK while nothing is recorded */
    char text[1024]; /* one line that can be shown, NUL-terminated; long ones are cut in the middle */
};

#define BL_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Records code and text unless something is recorded already (the first cause is the one that matters).
 * e may be NULL. Returns code, so that "return bl_error_set(...)" is the idiom. */
int bl_error_set(struct bl_error *e, int code, const char *format, ...) BL_PRINTF(3, 4);

/* The same with ": <strerror(errno)>" at the end. */
int bl_error_errno(struct bl_error *e, int code, const char *format, ...) BL_PRINTF(3, 4);

/* Puts "<text>: " in front of what is recorded. */
void bl_error_prefix(struct bl_error *e, const char *format, ...) BL_PRINTF(2, 3);

/* Forgets what is recorded. */
void bl_error_clear(struct bl_error *e);

/* Memory that could not be had: BL_EFAIL, "out of memory". */
int bl_error_memory(struct bl_error *e);

/* Libraries make little of memory that could not be had: FFmpeg may take it for the end of a file, or for damage, and
 * say so. The C library tells it in errno, where nothing else puts ENOMEM: watch before, ask afterwards on the same
 * thread. Where allocations that succeed leave ENOMEM, too, the answer is no: then only what failed tells. */
void bl_error_memory_watch(void);
bool bl_error_memory_seen(void);

/* True for an errno that tells of a failing system (EIO, ESTALE, ENOMEM, ENOSPC...), not of bad content. */
int bl_errno_is_system(int error_number);

#endif
