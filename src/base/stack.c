#include "base/stack.h"

#include <sys/resource.h>
#include <unistd.h>

#define NEEDED ((rlim_t)1 << 20)
#define USUAL ((rlim_t)8 << 20)

bool bl_stack_ensure(char **argv, int64_t *limit)
{
    struct rlimit stack;
    *limit = 0;
    if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= NEEDED)
        return true;
    *limit = (int64_t)stack.rlim_max;
    if (stack.rlim_max < NEEDED)
        return false;
    stack.rlim_cur = stack.rlim_max < USUAL ? stack.rlim_max : USUAL;
    /* Threads get the limit that there was at the beginning. */
    if (setrlimit(RLIMIT_STACK, &stack) == 0)
        (void)execv("/proc/self/exe", argv);
    return true;
}
