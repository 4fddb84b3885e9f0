#include "base/descriptors.h"

#include <sys/resource.h>

#define USUAL 1024

int64_t bl_descriptors_raise(void)
{
    struct rlimit limit, most;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return USUAL;
    most = (struct rlimit){limit.rlim_max, limit.rlim_max};
    if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &most) == 0)
        limit = most;
    return limit.rlim_cur < INT32_MAX ? (int64_t)limit.rlim_cur : INT32_MAX;
}
