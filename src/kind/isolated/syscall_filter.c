#include "kind/isolated/syscall_filter.h"

#include <errno.h>
#include <seccomp.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* What decoding takes: files that are open, memory, the clock, the end; the names of files are no secret (stat). By
 * name, as not every processor has all of them. */
static const char *const allowed[] = {
    /* descriptors */
    "read", "readv", "pread64", "preadv", "preadv2", "write", "lseek", "_llseek", "close", "fcntl", "fcntl64",
    "getdents64", "sendmsg", "recvmsg", "sendto", "recvfrom", "send", "recv", "poll", "ppoll", "fadvise64", "readahead",
    /* names */
    "stat", "stat64", "lstat", "lstat64", "fstat", "fstat64", "newfstatat", "fstatat64", "statx", "access", "faccessat",
    "faccessat2",
    /* memory */
    "brk", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise",
    /* the process itself */
    "futex", "futex_time64", "sched_yield", "sched_getaffinity", "getcpu", "membarrier", "rseq", "set_robust_list",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigreturn", "sigaltstack", "restart_syscall", "getpid", "gettid",
    "getppid", "getuid", "geteuid", "getgid", "getegid", "getrusage", "getrlimit", "times", "uname", "sysinfo",
    "tgkill", "exit", "exit_group",
    /* the clock, random numbers */
    "clock_gettime", "clock_gettime64", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
    "getrandom"};

bool bl_syscall_filter_install(void)
{
    if (SANITIZED)
        return false;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    bool good = filter;
    /* Kernels before 5.16 would also switch off speculation, which costs a tenth of the speed. */
    if (good)
        (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed && good; i++) {
        int number = seccomp_syscall_resolve_name(allowed[i]);
        good = number == __NR_SCMP_ERROR || seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0) == 0;
    }
    good = good && seccomp_load(filter) == 0;
    if (filter)
        seccomp_release(filter);
    return good;
}
