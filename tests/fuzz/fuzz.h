/* What the fuzz targets share: what they demand, and the input as a file, for readers that take a path. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must not be, whatever the input: a condition, or a call that fails. */
static inline void never(bool happened)
{
    if (happened)
        abort();
}

/* Puts the bytes into a file in memory; path is its name. Close the descriptor that is returned. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    never(fd < 0 || write(fd, data, size) != (ssize_t)size);
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
