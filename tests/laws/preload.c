/* A library to be preloaded, which has the system die, fail, dawdle or shuffle at a chosen moment.
 * (tests/fault/inject.c fails the program's own calls one by one; here it is whole files, the libraries' memory, and
 * the moment between two calls.)
 *
 * What it does is said by the environment; without that it only passes calls on. A "step" is a call that changes
 * something on disk: open to create, write to a file, fallocate, fsync, rename, link, unlink, mkdir, rmdir; all threads
 * count together, from 1, and all processes that are forked.
 *
 *   LAWS_COUNT=FILE     writes there, at the end: steps, allocations, reads
 *   LAWS_KILL=N         dies by SIGKILL before step N; of a write, the first half is done
 *   LAWS_DO=COMMAND     is run by the shell, once, right after a rename to a name that ends in LAWS_AFTER
 *   LAWS_PATH=PART      reads of files whose path holds PART are counted, and
 *   LAWS_SLOW=MS          take so many milliseconds
 *   LAWS_READ=N           the Nth fails with EIO; LAWS_FROM=1: and all after it
 *   LAWS_FLIP=N           the Nth gets a turned bit, in its middle
 *   LAWS_NOW=1            only of files that have the path now: a number of a file that is gone is given again
 *   LAWS_ALLOC=N        the Nth allocation, by whomever, fails; LAWS_FROM=1: and all after it. Not those of the dynamic
 * linker and of the constructors of a hundred libraries while the media module is loaded: some of these do not bear it
 *   LAWS_SHUFFLE=SEED   directories are read in an order that depends on SEED */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    long kill, read, flip, alloc, slow;
    bool from, shuffle, now;
    uint64_t seed;
    const char *count, *path, *command, *after;
} want;

#define FILES 64

/* In memory that processes share once they are forked. */
static struct shared {
    atomic_long steps, reads, allocations;
    atomic_bool done;
    atomic_int files;
    ino_t file[FILES]; /* that LAWS_PATH names: a process may have no right to ask for the name of what it reads */
} own, *shared = &own;
static atomic_bool ready;

static long number(const char *name)
{
    const char *text = getenv(name);
    return text ? atol(text) : 0;
}

__attribute__((constructor)) static void begin(void)
{
    want.kill = number("LAWS_KILL");
    want.read = number("LAWS_READ");
    want.flip = number("LAWS_FLIP");
    want.alloc = number("LAWS_ALLOC");
    want.slow = number("LAWS_SLOW");
    want.now = number("LAWS_NOW");
    want.from = number("LAWS_FROM");
    want.shuffle = getenv("LAWS_SHUFFLE") != NULL;
    want.seed = (uint64_t)number("LAWS_SHUFFLE");
    want.count = getenv("LAWS_COUNT");
    want.path = getenv("LAWS_PATH");
    want.command = getenv("LAWS_DO");
    want.after = getenv("LAWS_AFTER");
    void *memory = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = memory == MAP_FAILED ? &own : memory;
    ready = true;
}

__attribute__((destructor)) static void end(void)
{
    char text[100];
    int size = snprintf(text, sizeof text, "%ld %ld %ld\n", shared->steps, shared->allocations, shared->reads);
    int fd = want.count ? (int)syscall(SYS_openat, AT_FDCWD, want.count, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (fd >= 0) {
        syscall(SYS_write, fd, text, size);
        syscall(SYS_close, fd);
    }
}

/* The next definition of a function after this library's. */
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static bool hits(long at, long wanted)
{
    return wanted && (want.from ? at >= wanted : at == wanted);
}

/* --- files that are read ---------------------------------------------------------------------------------------- */

static bool is_named(int fd)
{
    char link[64], target[4096];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = want.path ? readlink(link, target, sizeof target - 1) : -1;
    errno = before;
    if (size < 0)
        return false;
    target[size] = '\0';
    return strstr(target, want.path);
}

/* Notes a file that was opened. */
static int opened(int fd)
{
    struct stat status;
    if (fd < 0 || !is_named(fd) || fstat(fd, &status) != 0)
        return fd;
    for (int i = 0; i < shared->files && i < FILES; i++) {
        if (shared->file[i] == status.st_ino)
            return fd;
    }
    int at = shared->files++;
    if (at < FILES)
        shared->file[at] = status.st_ino;
    return fd;
}

static bool is_noted(int fd)
{
    struct stat status;
    bool noted = false;
    if (!want.path || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return false;
    for (int i = 0; i < shared->files && i < FILES; i++)
        noted |= shared->file[i] == status.st_ino;
    return noted;
}

/* --- steps ------------------------------------------------------------------------------------------------------ */

/* offset: of a pwrite; -1 of a write; data NULL for steps that cannot be half done. */
static void step(int fd, const void *data, size_t size, off_t offset)
{
    if (++shared->steps != want.kill)
        return;
    if (data && offset < 0)
        syscall(SYS_write, fd, data, size / 2);
    else if (data)
        syscall(SYS_pwrite64, fd, data, size / 2, offset);
    syscall(SYS_kill, getpid(), SIGKILL);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (flags & O_CREAT)
        step(-1, NULL, 0, 0);
    return opened(NEXT(open)(path, flags, mode));
}

/* What a compiler that checks makes of open and openat without O_CREAT. */
int __open_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);

int __open_2(const char *path, int flags)
{
    return opened(NEXT(open)(path, flags));
}

int __openat_2(int folder, const char *path, int flags)
{
    return opened(NEXT(openat)(folder, path, flags));
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (flags & O_CREAT)
        step(-1, NULL, 0, 0);
    return opened(NEXT(openat)(folder, path, flags, mode));
}

ssize_t write(int fd, const void *data, size_t size)
{
    struct stat status;
    if (fd > STDERR_FILENO && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        step(fd, data, size, -1);
    return NEXT(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    step(fd, data, size, offset);
    return NEXT(pwrite)(fd, data, size, offset);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    step(-1, NULL, 0, 0);
    return NEXT(fallocate)(fd, mode, offset, size);
}

int fsync(int fd)
{
    step(-1, NULL, 0, 0);
    return NEXT(fsync)(fd);
}

static bool ends_in(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

/* The name that a file has in an open folder, as a path. */
static const char *path_in(int folder, const char *name, char path[PATH_MAX])
{
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t size = readlink(link, path, PATH_MAX - NAME_MAX - 2);
    size = size < 0 ? 0 : size;
    snprintf(path + size, PATH_MAX - (size_t)size, "/%s", name);
    return path;
}

int renameat(int here, const char *from, int there, const char *to)
{
    step(-1, NULL, 0, 0);
    int result = NEXT(renameat)(here, from, there, to);
    bool not_yet = false;
    char path[PATH_MAX];
    if (want.command && want.after && ends_in(path_in(there, to, path), want.after) &&
        atomic_compare_exchange_strong(&shared->done, &not_yet, true) && system(want.command) != 0)
        fprintf(stderr, "laws: cannot do %s\n", want.command);
    return result;
}

int linkat(int here, const char *from, int there, const char *to, int flags)
{
    step(-1, NULL, 0, 0);
    return NEXT(linkat)(here, from, there, to, flags);
}

int unlink(const char *path)
{
    step(-1, NULL, 0, 0);
    return NEXT(unlink)(path);
}

int unlinkat(int fd, const char *path, int flags)
{
    step(-1, NULL, 0, 0);
    return NEXT(unlinkat)(fd, path, flags);
}

int mkdirat(int folder, const char *path, mode_t mode)
{
    step(-1, NULL, 0, 0);
    return NEXT(mkdirat)(folder, path, mode);
}

int mkdir(const char *path, mode_t mode)
{
    step(-1, NULL, 0, 0);
    return NEXT(mkdir)(path, mode);
}

int rmdir(const char *path)
{
    step(-1, NULL, 0, 0);
    return NEXT(rmdir)(path);
}

/* --- reading ---------------------------------------------------------------------------------------------------- */

/* *flips: a bit of what is read is to be turned. */
static bool read_fails(int fd, bool *flips)
{
    *flips = false;
    if (!is_named(fd) && (want.now || !is_noted(fd)))
        return false;
    if (want.slow)
        usleep((useconds_t)want.slow * 1000);
    long read = ++shared->reads;
    *flips = hits(read, want.flip);
    if (!hits(read, want.read))
        return false;
    errno = EIO;
    return true;
}

static ssize_t flipped(bool flips, uint8_t *data, ssize_t size)
{
    if (flips && size > 0)
        data[size / 2] ^= 4;
    return size;
}

ssize_t read(int fd, void *data, size_t size)
{
    bool flips;
    return read_fails(fd, &flips) ? -1 : flipped(flips, data, NEXT(read)(fd, data, size));
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    bool flips;
    return read_fails(fd, &flips) ? -1 : flipped(flips, data, NEXT(pread)(fd, data, size, offset));
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

static _Thread_local bool loads;

void *dlopen(const char *path, int flags)
{
    loads = true;
    void *library = NEXT(dlopen)(path, flags);
    loads = false;
    return library;
}

static bool alloc_fails(void)
{
    if (!ready || loads || !hits(++shared->allocations, want.alloc))
        return false;
    errno = ENOMEM;
    return true;
}

/* The next definitions, not the C library's own names, so that a sanitizer's allocator keeps its place. They are looked
 * up at the first allocation, while there is one thread; until dlsym, which may allocate itself, has answered, there is
 * no memory. */
static struct {
    __typeof__(&malloc) malloc;
    __typeof__(&calloc) calloc;
    __typeof__(&realloc) realloc;
    __typeof__(&posix_memalign) posix_memalign;
    __typeof__(&aligned_alloc) aligned_alloc;
} next;

static bool there_is_memory(void)
{
    static bool asked;
    if (!asked) {
        asked = true;
        next.malloc = NEXT(malloc);
        next.calloc = NEXT(calloc);
        next.realloc = NEXT(realloc);
        next.posix_memalign = NEXT(posix_memalign);
        next.aligned_alloc = NEXT(aligned_alloc);
    }
    return next.aligned_alloc && !alloc_fails();
}

void *malloc(size_t size)
{
    return there_is_memory() ? next.malloc(size) : NULL;
}

void *calloc(size_t count, size_t size)
{
    return there_is_memory() ? next.calloc(count, size) : NULL;
}

void *realloc(void *memory, size_t size)
{
    return there_is_memory() ? next.realloc(memory, size) : NULL;
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    return there_is_memory() ? next.posix_memalign(memory, alignment, size) : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return there_is_memory() ? next.aligned_alloc(alignment, size) : NULL;
}

/* --- directories ------------------------------------------------------------------------------------------------ */

/* A directory that is read in another order: all its entries at once, sorted by a hash of seed and name. */
struct listing {
    DIR *directory; /* NULL once it is closed */
    struct dirent *entry;
    size_t count, next;
    struct listing *older;
};

static struct listing *listings; /* the tool reads directories on one thread */

static uint64_t hash(const char *name)
{
    uint64_t value = want.seed * 0x9e3779b97f4a7c15u + 0xcbf29ce484222325u;
    for (; *name; name++)
        value = (value ^ (unsigned char)*name) * 0x100000001b3u;
    return value ^ value >> 29;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = hash(((const struct dirent *)a)->d_name), y = hash(((const struct dirent *)b)->d_name);
    return x < y ? -1 : x > y;
}

static struct listing *list(DIR *directory)
{
    for (struct listing *l = listings; l; l = l->older) {
        if (l->directory == directory)
            return l;
    }
    struct listing *l = calloc(1, sizeof *l);
    struct dirent *entry;
    while (l && (entry = NEXT(readdir)(directory))) {
        struct dirent *grown = realloc(l->entry, (l->count + 1) * sizeof *grown);
        if (!grown)
            return NULL;
        l->entry = grown;
        memcpy(&l->entry[l->count++], entry, entry->d_reclen);
    }
    if (!l)
        return NULL;
    l->directory = directory;
    qsort(l->entry, l->count, sizeof *l->entry, compare);
    l->older = listings;
    return listings = l;
}

struct dirent *readdir(DIR *directory)
{
    if (!want.shuffle)
        return NEXT(readdir)(directory);
    struct listing *l = list(directory);
    errno = l ? 0 : ENOMEM;
    return l && l->next < l->count ? &l->entry[l->next++] : NULL;
}

int closedir(DIR *directory)
{
    for (struct listing *l = listings; l; l = l->older) {
        if (l->directory == directory)
            l->directory = NULL;
    }
    return NEXT(closedir)(directory);
}
