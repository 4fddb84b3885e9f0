#include "run/machine.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define GROUPS_MAX (64 << 10)

/* Reads a limit of one group; INT64_MAX if the file does not exist or sets none. folder: of the group. */
typedef int64_t limit_read(const char *folder);

/* Reads up to two numbers from a file and returns how many there are ("max" is not a number). */
static int cgroup_read_numbers(const char *folder, const char *name, int64_t *a, int64_t *b)
{
    char path[4096];
    struct bl_error e = {0};
    struct bl_buffer text = {0};
    long long first = 0, second = 0;
    int found = 0;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && access(path, R_OK) == 0 &&
        !bl_io_read_file(path, 4096, &text, &e))
        found = sscanf(text.data ? text.data : "", "%lld %lld", &first, &second);
    bl_buffer_free(&text);
    *a = first;
    *b = second;
    return found;
}

static int64_t cgroup_read_memory(const char *folder)
{
    int64_t limit, unused;
    if (cgroup_read_numbers(folder, "memory.max", &limit, &unused) < 1 &&
        cgroup_read_numbers(folder, "memory.limit_in_bytes", &limit, &unused) < 1)
        return INT64_MAX;
    return limit > 0 ? limit : INT64_MAX;
}

/* The file has a quota and a period, in microseconds. */
static int64_t cgroup_read_processors(const char *folder)
{
    int64_t quota, period, unused;
    if (cgroup_read_numbers(folder, "cpu.max", &quota, &period) < 2 &&
        (cgroup_read_numbers(folder, "cpu.cfs_quota_us", &quota, &unused) < 1 ||
         cgroup_read_numbers(folder, "cpu.cfs_period_us", &period, &unused) < 1))
        return INT64_MAX;
    return quota > 0 && period > 0 && quota < INT64_MAX / 1000 ? quota * 1000 / period : INT64_MAX;
}

/* Returns the lowest limit of a group and its parents. path: of the group below the hierarchy's mount; it is modified.
 * Inside a container, path may be the outer one, which does not exist; then the root of the mount is the container's
 * group. */
static int64_t cgroup_min_upwards(const char *root, const char *mount, char *path, limit_read *read)
{
    int64_t lowest = INT64_MAX;
    for (;;) {
        char folder[2048];
        int64_t limit = INT64_MAX;
        if (snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, mount, path) < (int)sizeof folder)
            limit = read(folder);
        lowest = limit < lowest ? limit : lowest;
        char *slash = strrchr(path, '/');
        if (!slash)
            return lowest;
        *slash = 0;
    }
}

/* Whether a list separated by commas contains the word. */
static bool cgroup_list_has(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL) {
        if (strncmp(list, word, size) == 0 && (list[size] == 0 || list[size] == ','))
            return true;
    }
    return false;
}

/* Parses /proc/self/cgroup: lines "number:controllers:path"; in version 2 the controllers are empty. */
static int64_t cgroup_min(const char *root, const char *controller, limit_read *read)
{
    char name[2048], mount[64];
    struct bl_error e = {0};
    struct bl_buffer text = {0};
    int64_t lowest = INT64_MAX;
    snprintf(mount, sizeof mount, "/%s", controller);
    char *next = NULL;
    if (snprintf(name, sizeof name, "%s/proc/self/cgroup", root) < (int)sizeof name && access(name, R_OK) == 0 &&
        !bl_io_read_file(name, GROUPS_MAX, &text, &e))
        next = text.data;
    while (next && *next) {
        char *line = strsep(&next, "\n");
        strsep(&line, ":");
        char *controllers = strsep(&line, ":");
        if (!line || !(*controllers == 0 || cgroup_list_has(controllers, controller)))
            continue;
        int64_t limit = cgroup_min_upwards(root, *controllers ? mount : "", line, read);
        lowest = limit < lowest ? limit : lowest;
    }
    bl_buffer_free(&text);
    return lowest;
}

int64_t bl_machine_group_memory(const char *root)
{
    return cgroup_min(root, "memory", cgroup_read_memory);
}

int64_t bl_machine_group_processors(const char *root)
{
    return cgroup_min(root, "cpu", cgroup_read_processors);
}

int bl_machine_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1; /* more than 1,024 processors: the user must give -j */
    int count = CPU_COUNT(&set);
    int64_t allowed = bl_machine_group_processors("");
    if (allowed / 1000 < count)
        count = (int)((allowed + 999) / 1000);
    return count > 0 ? count : 1;
}

int64_t bl_machine_memory(void)
{
    int64_t physical = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    int64_t allowed = bl_machine_group_memory("");
    return allowed < physical ? allowed : physical;
}
