/* Error objects: recording a failure once, on one printable line.
 *
 * The first failure counts, because later ones often follow from it. Text from files and libraries goes through a mask
 * (base/utf8.h), so that a file name cannot send commands to a terminal or begin a second line of a log. Example of a
 * message that was completed on its way up:
 *
 *     bl_error_errno(e, BL_EFAIL, "cannot open %s", path);      cannot open a.npy: Permission denied
 *     bl_error_prefix(e, "%s:%d", list, line);                  clips.csv:12: cannot open a.npy: Permission denied */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define MESSAGE_MAX (3 * 4096) /* bytes: two paths of maximum length, and a message about them */

#define ELLIPSIS "..."

/* Records a message, of which e->text holds at most size - 1 bytes. A long message is cut in the middle, where the path
 * is: one third remains of its beginning, and two thirds of its end, which has the fault itself. */
static void error_record(struct bl_error *e, char *message)
{
    size_t size = bl_utf8_mask(message, strlen(message), ""), room = sizeof e->text - 1;
    if (size <= room) {
        memcpy(e->text, message, size + 1);
        return;
    }
    size_t head = (room - strlen(ELLIPSIS)) / 3, tail = size - (room - strlen(ELLIPSIS) - head);
    /* Neither cut may divide a character of UTF-8. */
    while (((unsigned char)message[head] & 0xc0) == 0x80)
        head--;
    while (((unsigned char)message[tail] & 0xc0) == 0x80)
        tail++;
    snprintf(e->text, sizeof e->text, "%.*s" ELLIPSIS "%s", (int)head, message, message + tail);
}

int bl_error_set(struct bl_error *e, int code, const char *format, ...)
{
    if (!e || e->code)
        return code;
    char message[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_record(e, message);
    e->code = code;
    return code;
}

int bl_error_errno(struct bl_error *e, int code, const char *format, ...)
{
    const char *reason = strerror(errno);
    if (!e || e->code)
        return code;
    char message[MESSAGE_MAX];
    /* Room for ": " and the reason, which must not be cut. */
    size_t room = sizeof message - strlen(reason) - 2;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, room, format, arguments);
    va_end(arguments);
    snprintf(message + strlen(message), sizeof message - strlen(message), ": %s", reason);
    error_record(e, message);
    e->code = code;
    return code;
}

void bl_error_prefix(struct bl_error *e, const char *format, ...)
{
    if (!e || !e->code)
        return;
    char message[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    /* The recorded text must fit behind the prefix. */
    vsnprintf(message, sizeof message - sizeof e->text - 2, format, arguments);
    va_end(arguments);
    snprintf(message + strlen(message), sizeof message - strlen(message), ": %s", e->text);
    error_record(e, message);
}

void bl_error_clear(struct bl_error *e)
{
    e->code = BL_OK;
    e->text[0] = '\0';
}

int bl_error_pass(struct bl_error *e, int code, const struct bl_error *fault)
{
    return code ? bl_error_set(e, code, "%s", fault->text) : BL_OK;
}

int bl_error_memory(struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "out of memory");
}

void bl_error_memory_watch(void)
{
    errno = 0;
}

/* Larger than glibc ever takes from its heap (M_MMAP_THRESHOLD_MAX is 32 MiB): every such allocation calls the system.
 */
#define MAPPED_SIZE ((size_t)48 << 20)

/* Even an allocation that succeeds may leave ENOMEM in errno. glibc does that after it first tried pages of another
 * size (GLIBC_TUNABLES=glibc.malloc.hugetlb=2) or another arena. Then errno proves nothing. An allocation that succeeds
 * here and sets ENOMEM shows that this is such a system. volatile keeps the compiler from removing the allocation. */
bool bl_error_memory_seen(void)
{
    if (errno != ENOMEM)
        return false;
    errno = 0;
    void *volatile memory = malloc(MAPPED_SIZE);
    bool is_always_set = memory && errno == ENOMEM;
    free(memory);
    errno = ENOMEM;
    return !is_always_set;
}

/* Other errors, such as EACCES and ENOENT, are about one file, which is skipped while the run goes on. ENXIO and ENODEV
 * mean that a device is gone, and ESTALE and ETIMEDOUT come from network file systems. */
bool bl_errno_is_system(int error_number)
{
    switch (error_number) {
    case EIO:
    case ESTALE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENXIO:
    case ENODEV:
    case ETIMEDOUT:
    case EREMOTEIO:
        return true;
    default:
        return false;
    }
}
