/* A library to be preloaded, by which decoders do harm, as one does that a file has a hold of.
 *
 * A packet that holds the words "HOSTILE WHAT" has WHAT done to the process that decodes it, one that holds
 * "HOSTILE read WHAT" to the process that reads it; images and sounds are packets, too. So it is the file that decides.
 *
 *   segv abort fpe stack exit kill    the process ends
 *   loop sleep                        it never comes back, busily or idly
 *   slow                              it works for a fifth of a second
 *   allocate                          it takes memory until there is no more
 *   chatter, claim, answer, row       it sends nonsense to whomever it is connected with: no message, one that claims
 *                                     terabytes, an answer with nothing in it, a row that nobody asked for
 *   large                             it claims an answer of a GiB
 *   want                              it asks for files by every number and many names: how many of them hold "top
 * secret" forge                             it sends a row of another file, $HOSTILE_SECRET, as $HOSTILE_FORGE says,
 * and its end signal                            it kills the process $HOSTILE_VICTIM, in every way that it can doors it
 * opens a file, makes a socket, starts a process and a program; then all goes on
 *
 * HOSTILE_NO_FILTER=1: the kernel has no filter of system calls.
 *
 * HOSTILE_EVIDENCE=FILE: numbers of 32 bits, in memory that processes inherit: how often something was done, and how
 * often a file could be opened, a socket made, a process started. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kind/isolated/messages.h"

#define WORD "HOSTILE "
#define PIECE ((size_t)16 << 20)
#define PIECES 384 /* 6 GiB: whoever lets a decoder have these has no limit */

struct evidence {
    atomic_int done, files, sockets, processes;
};

static struct evidence none, *evidence = &none;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("HOSTILE_EVIDENCE");
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd >= 0 && ftruncate(fd, sizeof *evidence) == 0) {
        void *page = mmap(NULL, sizeof *evidence, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        evidence = page == MAP_FAILED ? &none : page;
    }
    if (fd >= 0)
        close(fd);
}

/* --- harm --------------------------------------------------------------------------------------------------------- */

static int harm_segv(void)
{
    volatile int *volatile nowhere = NULL;
    return *nowhere;
}

static int harm_abort(void)
{
    abort();
}

static int harm_fpe(void)
{
    volatile int one = 1, zero = 0;
    return one / zero;
}

/* The compiler must not see that it never ends. */
static int harm_stack(void)
{
    static int (*volatile again)(void) = harm_stack;
    volatile char page[1 << 16];
    page[0] = 1;
    return again() + page[0];
}

static int harm_exit(void)
{
    _exit(0);
}

static int harm_kill(void)
{
    raise(SIGKILL);
    return 0;
}

static int harm_loop(void)
{
    for (volatile int forever = 1; forever;)
        ;
    return 0;
}

static int harm_sleep(void)
{
    for (volatile int forever = 1; forever;)
        usleep(100000);
    return 0;
}

static int harm_slow(void)
{
    for (clock_t begin = clock(); clock() - begin < CLOCKS_PER_SEC / 5;)
        ;
    return 0;
}

static int harm_allocate(void)
{
    void *piece[PIECES];
    int pieces = 0;
    while (pieces < PIECES && (piece[pieces] = malloc(PIECE)))
        memset(piece[pieces++], 1, PIECE);
    for (int i = 0; i < pieces; i++)
        free(piece[i]);
    if (pieces < PIECES)
        errno = ENOMEM;
    return AVERROR(ENOMEM);
}

static void send_everywhere(const void *data, size_t size)
{
    for (int fd = 3; fd < 64; fd++) {
        if (send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            continue;
    }
}

static int harm_chatter(void)
{
    static const char noise[4096] = {0x55, 0x01, 0x7f};
    send_everywhere(noise, sizeof noise);
    return 0;
}

/* What begins a message of bload: src/kind/isolated/messages.c. */
struct header {
    int32_t type, fds;
    uint64_t size;
};

static int harm_claim(void)
{
    static const struct header header = {.type = BL_ISOLATED_DONE, .size = (uint64_t)1 << 42};
    send_everywhere(&header, sizeof header);
    return 0;
}

static int harm_answer(void)
{
    static const struct {
        struct header header;
        int64_t code, text, memory;
    } message = {.header = {.type = BL_ISOLATED_DONE, .size = 3 * sizeof(int64_t)}};
    send_everywhere(&message, sizeof message);
    return 0;
}

static int harm_row(void)
{
    static const struct {
        struct header header;
        int64_t item[19];
    } message = {.header = {.type = BL_ISOLATED_ROW, .size = 19 * sizeof(int64_t)}};
    send_everywhere(&message, sizeof message);
    return 0;
}

static int harm_large(void)
{
    static const struct header header = {.type = BL_ISOLATED_DONE, .size = (uint64_t)1 << 30};
    send_everywhere(&header, sizeof header);
    return 0;
}

/* The socket to the worker: the only descriptor that is one. */
static int find_channel(void)
{
    char byte;
    for (int fd = 3; fd < 64; fd++) {
        if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno == EAGAIN)
            return fd;
    }
    return -1;
}

/* Whether the worker's answer has a descriptor, and what it opens is the secret. */
static bool answer_is_secret(int channel)
{
    char data[256], text[64] = "";
    union {
        struct cmsghdr header;
        char space[256];
    } control;
    struct iovec part = {data, sizeof data};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
    int fd = -1;
    if (recvmsg(channel, &m, 0) <= 0)
        return false;
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    if (c && c->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
    bool secret = fd >= 0 && pread(fd, text, sizeof text - 1, 0) > 0 && strstr(text, "top secret");
    if (fd >= 0)
        close(fd);
    return secret;
}

static int harm_want(void)
{
    const char *secret = getenv("HOSTILE_SECRET");
    const char *const names[] = {"", secret, strrchr(secret, '/') + 1, "../secret", "..", ".", "../../secret"};
    int channel = find_channel();
    for (int64_t number = -2; number < 20; number++) {
        for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
            struct header header = {.type = BL_ISOLATED_WANT};
            const char *name = names[i / 2];
            int64_t size = (int64_t)strlen(name) + 1, folder = i % 2;
            char message[8192] = {0}, *at = message + sizeof header;
            at = mempcpy(at, &number, sizeof number);
            at = mempcpy(at, &size, sizeof size);
            memcpy(at, name, (size_t)size);
            at += (size + 7) / 8 * 8;
            at = mempcpy(at, &folder, sizeof folder);
            header.size = (uint64_t)(at - message) - sizeof header;
            memcpy(message, &header, sizeof header);
            if (send(channel, message, (size_t)(at - message), MSG_NOSIGNAL) > 0)
                evidence->files += answer_is_secret(channel);
        }
    }
    return 0;
}

static char *put_text(char *at, const char *text)
{
    int64_t size = text ? (int64_t)strlen(text) + 1 : 0;
    at = mempcpy(at, &size, sizeof size);
    if (text)
        memcpy(at, text, (size_t)size);
    return at + (size + 7) / 8 * 8;
}

/* As bl_isolated_put_row. */
static int harm_forge(void)
{
    static char message[1 << 16];
    const char *secret = getenv("HOSTILE_SECRET"), *how = getenv("HOSTILE_FORGE");
    char further[4096];
    snprintf(further, sizeof further, "\t\t\n%s\t10\tvideo\t%s\t11\tok\t\t\t0\t", secret, secret);
    const char *text[12] = {NULL};
    int64_t number[8] = {10, 11, 0, 0, 0, -1, 0, 0}, times = 0, done[3] = {0};
    double origin = 0;
    text[0] = strcmp(how, "id") == 0 ? secret : NULL;
    text[1] = strcmp(how, "kind") == 0 ? secret : NULL;
    text[2] = strcmp(how, "path") == 0 ? secret : NULL;
    text[9] = strcmp(how, "extra") == 0 ? further : NULL;
    number[5] = strcmp(how, "offset") == 0 ? 77 : -1;
    char *at = message + sizeof(struct header);
    for (int i = 0; i < 12; i++)
        at = put_text(at, text[i]);
    at = mempcpy(at, number, sizeof number);
    at = mempcpy(at, &origin, sizeof origin);
    at = mempcpy(at, &times, sizeof times);
    struct header header = {.type = BL_ISOLATED_ROW, .size = (uint64_t)(at - message) - sizeof header};
    memcpy(message, &header, sizeof header);
    header = (struct header){.type = BL_ISOLATED_DONE, .size = sizeof done};
    at = mempcpy(at, &header, sizeof header);
    at = mempcpy(at, done, sizeof done);
    evidence->files += send(find_channel(), message, (size_t)(at - message), MSG_NOSIGNAL) > 0;
    usleep(100000);
    _exit(0);
}

static int harm_signal(void)
{
    pid_t victim = atoi(getenv("HOSTILE_VICTIM"));
    int channel = find_channel();
    evidence->processes += syscall(SYS_tgkill, victim, victim, SIGKILL) == 0;
    evidence->processes += syscall(SYS_tkill, victim, SIGKILL) == 0;
    evidence->processes += kill(victim, SIGKILL) == 0;
    evidence->processes += fcntl(channel, F_SETOWN, victim) == 0;
    evidence->processes += fcntl(channel, F_SETSIG, SIGKILL) == 0;
    evidence->processes += fcntl(channel, F_SETFL, O_ASYNC) == 0;
    return 0;
}

static int harm_doors(void)
{
    static char name[] = "true", *const words[] = {name, NULL};
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    evidence->files += fd >= 0;
    if (fd >= 0)
        close(fd);
    fd = open("door", O_WRONLY | O_CREAT, 0666);
    evidence->files += fd >= 0;
    if (fd >= 0)
        close(fd);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    evidence->sockets += fd >= 0;
    if (fd >= 0)
        close(fd);
    pid_t pid = fork();
    if (pid == 0) {
        execv("/bin/true", words);
        _exit(0);
    }
    evidence->processes += pid > 0;
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return 0;
}

static const struct harm {
    const char *name;
    int (*function)(void);
} harms[] = {{"segv", harm_segv},     {"abort", harm_abort},       {"fpe", harm_fpe},         {"stack", harm_stack},
             {"exit", harm_exit},     {"kill", harm_kill},         {"loop", harm_loop},       {"sleep", harm_sleep},
             {"slow", harm_slow},     {"allocate", harm_allocate}, {"chatter", harm_chatter}, {"claim", harm_claim},
             {"answer", harm_answer}, {"row", harm_row},           {"doors", harm_doors},     {"large", harm_large},
             {"want", harm_want},     {"forge", harm_forge},       {"signal", harm_signal}};

/* Does what the packet wants to be done there: "" where it is decoded, "read " where it is read. */
static int packet_obey(const AVPacket *packet, const char *there)
{
    const char *word = packet && packet->data ? memmem(packet->data, (size_t)packet->size, WORD, strlen(WORD)) : NULL;
    if (!word)
        return 0;
    size_t left = (size_t)packet->size - (size_t)(word - (const char *)packet->data) - strlen(WORD);
    word += strlen(WORD);
    if (left < strlen(there) || memcmp(word, there, strlen(there)) != 0)
        return 0;
    word += strlen(there);
    left -= strlen(there);
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        size_t size = strlen(harms[i].name);
        if (left >= size && memcmp(word, harms[i].name, size) == 0) {
            evidence->done++;
            return harms[i].function();
        }
    }
    return 0;
}

/* --- what is called ----------------------------------------------------------------------------------------------- */

/* The next definition of a function after this library's. */
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* What the media module is linked with becomes visible to all, or NEXT would not find it. */
void *dlopen(const char *path, int flags)
{
    return NEXT(dlopen)(path, path && strstr(path, "/libbload-media-") ? flags | RTLD_GLOBAL : flags);
}

int avcodec_send_packet(AVCodecContext *context, const AVPacket *packet)
{
    int code = packet_obey(packet, "");
    return code < 0 ? code : NEXT(avcodec_send_packet)(context, packet);
}

long syscall(long call, ...)
{
    long argument[6];
    va_list arguments;
    if (call == SYS_seccomp && getenv("HOSTILE_NO_FILTER")) {
        errno = ENOSYS;
        return -1;
    }
    va_start(arguments, call);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(arguments, long);
    va_end(arguments);
    return NEXT(syscall)(call, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}

int av_read_frame(AVFormatContext *format, AVPacket *packet)
{
    int code = NEXT(av_read_frame)(format, packet);
    if (code >= 0)
        code = packet_obey(packet, "read ");
    return code;
}
