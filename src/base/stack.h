/* The limit of the stack (ulimit -s): beyond it a process ends by SIGSEGV, which tells nobody why. */
#ifndef BL_STACK_H
#define BL_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the program has the stack that it needs. Where the limit may be raised it is, and the program begins again.
 * *limit: what it may have, in bytes. Call it first, with main's argv. */
bool bl_stack_ensure(char **argv, int64_t *limit);

#endif
