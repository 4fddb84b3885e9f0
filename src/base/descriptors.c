#include "base/descriptors.h"

#include <dirent.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

#define USUAL 1024
#define BLIND_MAX 65536 /* descriptors that are closed one by one where nothing tells which are open */

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

void bl_descriptors_close_each(int first, int last)
{
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        for (int fd = first; fd <= last && fd < BLIND_MAX; fd++)
            close(fd);
        return;
    }
    const struct dirent *entry;
    while ((entry = readdir(folder))) {
        int64_t fd;
        if (bl_text_to_int(entry->d_name, strlen(entry->d_name), first, last, &fd) && fd != dirfd(folder))
            close((int)fd);
    }
    closedir(folder);
}

void bl_descriptors_close(int first, int last)
{
    if (first > last)
        return;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, last, 0) == 0)
        return;
#endif
    bl_descriptors_close_each(first, last);
}
