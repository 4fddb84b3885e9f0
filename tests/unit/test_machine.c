/* Limits of control groups, read from folders laid out as the kernel does it: version 1, version 2, inside a container.
 */
#include "run/machine.h"
#include "base/fs.h"
#include "base/output.h"
#include "unit.h"

UNIT_SCRATCH

static void put(const char *path, const char *text)
{
    struct bl_error e = {0};
    char folder[256];
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    ck_assert_int_eq(bl_fs_mkdirs(folder, &e), 0);
    ck_assert_int_eq(bl_output_replace(path, text, strlen(text), &e), 0);
}

UNIT_TEST(no_groups_no_limit)
{
    ck_assert(bl_machine_group_memory(unit_scratch) == INT64_MAX);
    ck_assert(bl_machine_group_processors(unit_scratch) == INT64_MAX);
    ck_assert_int_ge(bl_machine_processors(), 1);
    ck_assert(bl_machine_memory() > 0 && bl_machine_memory() < INT64_MAX);
}

UNIT_TEST(the_least_of_a_group_and_those_above)
{
    put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
    put("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
    put("sys/fs/cgroup/slurm/job_7/memory.max", "1073741824\n");
    put("sys/fs/cgroup/slurm/memory.max", "8589934592\n");
    put("sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "150000 100000\n");
    put("sys/fs/cgroup/slurm/cpu.max", "max 100000\n");
    ck_assert_int_eq(bl_machine_group_memory(unit_scratch), 1073741824);
    ck_assert_int_eq(bl_machine_group_processors(unit_scratch), 1500);
}

UNIT_TEST(version_one_has_a_folder_for_each_controller)
{
    put("proc/self/cgroup", "9:name=systemd:/other\n4:memory:/a/b\n3:cpu,cpuacct:/c\n");
    put("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2000000000\n");
    put("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(bl_machine_group_memory(unit_scratch), 2000000000);
    ck_assert(bl_machine_group_processors(unit_scratch) == INT64_MAX);
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    ck_assert_int_eq(bl_machine_group_processors(unit_scratch), 500);
}

UNIT_TEST(a_container_sees_its_group_as_the_root)
{
    put("proc/self/cgroup", "0::/docker/0123456789abcdef\n");
    put("sys/fs/cgroup/memory.max", "536870912\n");
    put("sys/fs/cgroup/cpu.max", "200000 100000\n");
    ck_assert_int_eq(bl_machine_group_memory(unit_scratch), 536870912);
    ck_assert_int_eq(bl_machine_group_processors(unit_scratch), 2000);
}
