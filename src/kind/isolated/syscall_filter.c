/* The filter is written out: libseccomp compiles it for each process, and never returns if memory runs out meanwhile.
 */
#include "kind/isolated/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

#if defined(IS_SANITIZED)
#define ARCHITECTURE 0
#elif defined(__x86_64__) && defined(__LP64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))

/* What decoding takes: files that are open, memory, the clock, the end. The names and sizes of files are no secret. */
static struct sock_filter instructions[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    /* descriptors */
    ALLOW(__NR_recvmsg),
    ALLOW(__NR_sendmsg),
    ALLOW(__NR_recvfrom),
    ALLOW(__NR_sendto),
    ALLOW(__NR_pread64),
    ALLOW(__NR_read),
    ALLOW(__NR_write),
    ALLOW(__NR_lseek),
    ALLOW(__NR_close),
    ALLOW(__NR_getdents64),
    /* names and sizes */
    ALLOW(__NR_newfstatat),
    ALLOW(__NR_fstat),
    ALLOW(__NR_statx),
    ALLOW(__NR_faccessat),
    ALLOW(__NR_faccessat2),
#if defined(__NR_stat)
    ALLOW(__NR_stat),
    ALLOW(__NR_lstat),
    ALLOW(__NR_access),
#endif
    /* memory */
    ALLOW(__NR_mmap),
    ALLOW(__NR_munmap),
    ALLOW(__NR_brk),
    ALLOW(__NR_mremap),
    ALLOW(__NR_mprotect),
    ALLOW(__NR_madvise),
    /* the process itself */
    ALLOW(__NR_futex),
    ALLOW(__NR_sched_yield),
    ALLOW(__NR_sched_getaffinity),
    ALLOW(__NR_rt_sigaction),
    ALLOW(__NR_rt_sigprocmask),
    ALLOW(__NR_rt_sigreturn),
    ALLOW(__NR_sigaltstack),
    ALLOW(__NR_restart_syscall),
    ALLOW(__NR_getpid),
    ALLOW(__NR_gettid),
    ALLOW(__NR_getrusage),
    ALLOW(__NR_sysinfo),
    ALLOW(__NR_uname),
    ALLOW(__NR_exit),
    ALLOW(__NR_exit_group),
    /* the clock, random numbers */
    ALLOW(__NR_clock_gettime),
    ALLOW(__NR_clock_getres),
    ALLOW(__NR_clock_nanosleep),
    ALLOW(__NR_nanosleep),
    ALLOW(__NR_gettimeofday),
    ALLOW(__NR_getrandom),
    /* flags of descriptors; not whom the kernel signals for them (F_SETOWN, F_SETSIG) */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_fcntl, 0, 7),
    LOAD(args[1]),
    ALLOW(F_GETFD),
    ALLOW(F_SETFD),
    ALLOW(F_GETFL),
    /* abort: signals to the process itself, which has this number. What was loaded is none, where it was fcntl. */
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_tgkill, 0, 3),
    LOAD(args[0]),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

#define OWN (sizeof instructions / sizeof *instructions - 3) /* the comparison with the process's number */

/* A kernel that would take a filter looks for it first. */
bool bl_syscall_filter_is_available(void)
{
    return ARCHITECTURE && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != 0 && errno == EFAULT;
}

bool bl_syscall_filter_install(void)
{
    instructions[OWN].k = (uint32_t)getpid();
    struct sock_fprog program = {.len = sizeof instructions / sizeof *instructions, .filter = instructions};
    if (!ARCHITECTURE || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return false;
    /* Kernels before 5.16 would also switch off speculation, which costs a tenth of the speed. */
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0 ||
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}
