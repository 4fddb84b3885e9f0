#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keeps a message on one line, whatever file name or library text went into it. */
static void flatten(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
    }
}

int bl_error_set(struct bl_error *e, int code, const char *format, ...)
{
    if (!e || e->code)
        return code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    flatten(e->text);
    e->code = code;
    return code;
}

int bl_error_errno(struct bl_error *e, int code, const char *format, ...)
{
    const char *reason = strerror(errno);
    if (!e || e->code)
        return code;
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(e->text, sizeof e->text, format, arguments);
    va_end(arguments);
    size_t used = written < 0 ? 0 : (size_t)written;
    if (used < sizeof e->text)
        snprintf(e->text + used, sizeof e->text - used, ": %s", reason);
    flatten(e->text);
    e->code = code;
    return code;
}

void bl_error_prefix(struct bl_error *e, const char *format, ...)
{
    if (!e || !e->code)
        return;
    char text[sizeof e->text];
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t used = written < 0 ? 0 : (size_t)written;
    if (used < sizeof text)
        snprintf(text + used, sizeof text - used, ": %.*s", (int)(sizeof text - used), e->text);
    memcpy(e->text, text, sizeof text);
    flatten(e->text);
}

void bl_error_clear(struct bl_error *e)
{
    e->code = BL_OK;
    e->text[0] = '\0';
}

int bl_error_memory(struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "out of memory");
}

void bl_error_memory_watch(void)
{
    errno = 0;
}

/* More than glibc ever takes from its heap: each such allocation asks the system. */
#define ASKING_THE_SYSTEM ((size_t)48 << 20)

/* Whether memory that can be had leaves ENOMEM as well: glibc does that when it looked for pages of another size first
 * (GLIBC_TUNABLES=glibc.malloc.hugetlb=2) or for an arena. Then errno proves nothing. */
static bool memory_is_there_all_the_same(void)
{
    errno = 0;
    void *volatile memory = malloc(ASKING_THE_SYSTEM);
    bool there = memory && errno == ENOMEM;
    free(memory);
    errno = ENOMEM;
    return there;
}

bool bl_error_memory_seen(void)
{
    return errno == ENOMEM && !memory_is_there_all_the_same();
}

int bl_errno_is_system(int error_number)
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
        return 1;
    default:
        return 0;
    }
}
