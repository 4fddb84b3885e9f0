/* A library to be preloaded, which makes one chosen call fail: the way to every error path that a healthy machine never
 * takes.
 *
 *     BLOAD_INJECT=KIND       malloc, libav (its allocations), open, read, write, fsync, close, rename, link, mkdir,
 * unlink, stat, thread or space (ftruncate, fallocate) BLOAD_INJECT_AT=N       the N-th call of that kind fails, from 1
 *     BLOAD_INJECT_ERRNO=E    with this errno; -1: a read or write does half of what it was asked to
 *     BLOAD_INJECT_MARK=FILE  made when the call was reached, so that whoever counts N up knows when to stop
 *
 * Only calls out of the program itself and of its media module count, told by the return address: libraries' own
 * allocations and files are left alone, and so are the calls of the C library's start and end. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Addresses of code: the program's, and its media module's once that is loaded. */
static struct {
    uintptr_t begin, end;
} code_of[2];
#define PROGRAM 0
#define MODULE 1
static const char module_name[] = "/libbload-media-";
static char kind[16];
static const char *mark;
static long at, error_number;
static atomic_long calls;

/* The first object is the program. */
static int find_code(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    int which = code_of[PROGRAM].end ? MODULE : PROGRAM;
    if (which == MODULE && !strstr(info->dlpi_name, module_name))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
            code_of[which].begin = info->dlpi_addr + segment->p_vaddr;
            code_of[which].end = code_of[which].begin + segment->p_memsz;
        }
    }
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("BLOAD_INJECT"), *number = getenv("BLOAD_INJECT_AT");
    const char *error_text = getenv("BLOAD_INJECT_ERRNO");
    if (!wanted || !number || strlen(wanted) >= sizeof kind)
        return;
    mark = getenv("BLOAD_INJECT_MARK");
    at = atol(number);
    error_number = error_text ? atol(error_text) : EIO;
    dl_iterate_phdr(find_code, NULL);
    strcpy(kind, wanted);
}

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* The module's libraries become visible to all, or NEXT would not find them. */
void *dlopen(const char *path, int flags)
{
    bool is_module = path && strstr(path, module_name);
    void *library = NEXT(dlopen)(path, is_module ? flags | RTLD_GLOBAL : flags);
    if (library && is_module)
        dl_iterate_phdr(find_code, NULL);
    return library;
}

static bool is_own(const void *caller)
{
    for (int i = 0; i < 2; i++) {
        if ((uintptr_t)caller >= code_of[i].begin && (uintptr_t)caller < code_of[i].end)
            return true;
    }
    return false;
}

/* Whether this call, made from caller, is the one. */
static bool strikes(const char *what, const void *caller)
{
    if (strcmp(kind, what) != 0 || !is_own(caller))
        return false;
    if (atomic_fetch_add(&calls, 1) + 1 != at)
        return false;
    int fd = mark ? NEXT(open)(mark, O_WRONLY | O_CREAT, 0666) : -1;
    if (fd >= 0)
        close(fd);
    errno = (int)error_number;
    return true;
}

#define STRIKES(what) strikes(what, __builtin_return_address(0))

/* --- memory ----------------------------------------------------------------------------------------------------- */

/* dlsym itself allocates: these names of the C library need no look-up. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
    return STRIKES("malloc") ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return STRIKES("malloc") ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return STRIKES("malloc") ? NULL : __libc_realloc(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    return STRIKES("malloc") ? ENOMEM : NEXT(posix_memalign)(memory, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return STRIKES("malloc") ? NULL : NEXT(aligned_alloc)(alignment, size);
}

char *strdup(const char *text)
{
    return STRIKES("malloc") ? NULL : NEXT(strdup)(text);
}

char *strndup(const char *text, size_t size)
{
    return STRIKES("malloc") ? NULL : NEXT(strndup)(text, size);
}

char *realpath(const char *path, char *resolved)
{
    return STRIKES("malloc") ? NULL : NEXT(realpath)(path, resolved);
}

/* Pointers are all that these give, and NULL is how they fail; no header is needed to say that. */
#define ALLOCATES(name, parameters, arguments)                                                                         \
    void *name parameters;                                                                                             \
    void *name parameters                                                                                              \
    {                                                                                                                  \
        return STRIKES("libav") ? NULL : NEXT(name) arguments;                                                         \
    }

ALLOCATES(av_malloc, (size_t size), (size))
ALLOCATES(av_mallocz, (size_t size), (size))
ALLOCATES(av_strdup, (const char *text), (text))
ALLOCATES(av_frame_alloc, (void), ())
ALLOCATES(av_packet_alloc, (void), ())
ALLOCATES(avcodec_alloc_context3, (const void *codec), (codec))
ALLOCATES(avformat_alloc_context, (void), ())
ALLOCATES(avio_alloc_context, (void *a, int b, int c, void *d, void *e, void *f, void *g), (a, b, c, d, e, f, g))
ALLOCATES(zimg_filter_graph_build, (const void *a, const void *b, const void *c), (a, b, c))

/* --- files ------------------------------------------------------------------------------------------------------ */

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return STRIKES("open") ? -1 : NEXT(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return STRIKES("open") ? -1 : NEXT(openat)(folder, path, flags, mode);
}

/* What a compiler that checks makes of the two above, without O_CREAT, and of realpath. */
int __open_2(const char *path, int flags);
int __openat_2(int folder, const char *path, int flags);
char *__realpath_chk(const char *path, char *resolved, size_t size);

int __open_2(const char *path, int flags)
{
    return STRIKES("open") ? -1 : NEXT(open)(path, flags);
}

int __openat_2(int folder, const char *path, int flags)
{
    return STRIKES("open") ? -1 : NEXT(openat)(folder, path, flags);
}

char *__realpath_chk(const char *path, char *resolved, size_t size)
{
    (void)size;
    return STRIKES("malloc") ? NULL : NEXT(realpath)(path, resolved);
}

FILE *fopen(const char *path, const char *mode)
{
    return STRIKES("open") ? NULL : NEXT(fopen)(path, mode);
}

DIR *opendir(const char *path)
{
    return STRIKES("open") ? NULL : NEXT(opendir)(path);
}

int stat(const char *path, struct stat *status)
{
    return STRIKES("stat") ? -1 : NEXT(stat)(path, status);
}

int fstat(int fd, struct stat *status)
{
    return STRIKES("stat") ? -1 : NEXT(fstat)(fd, status);
}

int lstat(const char *path, struct stat *status)
{
    return STRIKES("stat") ? -1 : NEXT(lstat)(path, status);
}

int access(const char *path, int mode)
{
    return STRIKES("stat") ? -1 : NEXT(access)(path, mode);
}

/* As the kernel has it: the descriptor is gone, whatever is returned. */
int close(int fd)
{
    bool struck = STRIKES("close");
    int code = NEXT(close)(fd);
    if (!struck)
        return code;
    errno = (int)error_number;
    return -1;
}

/* What a struck read or write does: fails, or takes half of the bytes, but at least one. */
static size_t half(size_t size)
{
    return size > 1 ? size / 2 : size;
}

ssize_t read(int fd, void *data, size_t size)
{
    bool struck = STRIKES("read");
    return struck && error_number >= 0 ? -1 : NEXT(read)(fd, data, struck ? half(size) : size);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    bool struck = STRIKES("read");
    return struck && error_number >= 0 ? -1 : NEXT(pread)(fd, data, struck ? half(size) : size, offset);
}

ssize_t write(int fd, const void *data, size_t size)
{
    bool struck = STRIKES("write");
    return struck && error_number >= 0 ? -1 : NEXT(write)(fd, data, struck ? half(size) : size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    bool struck = STRIKES("write");
    return struck && error_number >= 0 ? -1 : NEXT(pwrite)(fd, data, struck ? half(size) : size, offset);
}

int fsync(int fd)
{
    return STRIKES("fsync") ? -1 : NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
    return STRIKES("fsync") ? -1 : NEXT(fdatasync)(fd);
}

int rename(const char *from, const char *to)
{
    return STRIKES("rename") ? -1 : NEXT(rename)(from, to);
}

int renameat(int here, const char *from, int there, const char *to)
{
    return STRIKES("rename") ? -1 : NEXT(renameat)(here, from, there, to);
}

int mkdirat(int folder, const char *path, mode_t mode)
{
    return STRIKES("mkdir") ? -1 : NEXT(mkdirat)(folder, path, mode);
}

int linkat(int here, const char *from, int there, const char *to, int flags)
{
    return STRIKES("link") ? -1 : NEXT(linkat)(here, from, there, to, flags);
}

int unlinkat(int folder, const char *path, int flags)
{
    return STRIKES("unlink") ? -1 : NEXT(unlinkat)(folder, path, flags);
}

int mkdir(const char *path, mode_t mode)
{
    return STRIKES("mkdir") ? -1 : NEXT(mkdir)(path, mode);
}

int link(const char *from, const char *to)
{
    return STRIKES("link") ? -1 : NEXT(link)(from, to);
}

int unlink(const char *path)
{
    return STRIKES("unlink") ? -1 : NEXT(unlink)(path);
}

int ftruncate(int fd, off_t size)
{
    return STRIKES("space") ? -1 : NEXT(ftruncate)(fd, size);
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    return STRIKES("space") ? -1 : NEXT(fallocate)(fd, mode, offset, size);
}

int posix_fallocate(int fd, off_t offset, off_t size)
{
    return STRIKES("space") ? (int)error_number : NEXT(posix_fallocate)(fd, offset, size);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    return STRIKES("thread") ? (int)error_number : NEXT(pthread_create)(thread, attributes, start, argument);
}
