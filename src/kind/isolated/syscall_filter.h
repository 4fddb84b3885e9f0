/* A filter of system calls (seccomp): a process that has it can use what it has open, and its memory, and nothing else.
 */
#ifndef BL_SYSCALL_FILTER_H
#define BL_SYSCALL_FILTER_H

#include <stdbool.h>

/* Lets this process, which has one thread, for the rest of its life open no file, make no socket, start no program,
 * process or thread: such calls fail with EPERM. False: the kernel has no such filters, or the processor's system calls
 * are not known here; or a sanitizer, which needs these calls, is built in. */
bool bl_syscall_filter_install(void);

/* Whether that will succeed. */
bool bl_syscall_filter_is_available(void);

#endif
