#include "kind/text/spool_files.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "kind/text/spool.h"

int bl_spool_files_add(struct bl_spool_files *f, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(f->descriptor, f->capacity, f->count + 1, e);
    if (code)
        return code;
    if (!f->count)
        atomic_init(&f->left, sysconf(_SC_OPEN_MAX) / 2);
    atomic_init(&f->descriptor[f->count++], -1);
    return BL_OK;
}

int bl_spool_files_get(struct bl_spool_files *f, size_t i, const char *dir, uint64_t key, bool *held,
                       struct bl_error *e)
{
    int none = -1, fd = atomic_load(&f->descriptor[i]);
    *held = true;
    if (fd >= 0)
        return fd;
    fd = bl_spool_open(dir, key, e);
    if (fd < 0)
        return fd;
    if (atomic_fetch_sub(&f->left, 1) <= 0) {
        atomic_fetch_add(&f->left, 1);
        *held = false;
        return fd;
    }
    if (atomic_compare_exchange_strong(&f->descriptor[i], &none, fd))
        return fd;
    close(fd); /* another thread was first */
    atomic_fetch_add(&f->left, 1);
    return none;
}

void bl_spool_files_close(struct bl_spool_files *f)
{
    for (size_t i = 0; i < f->count; i++) {
        int fd = atomic_exchange(&f->descriptor[i], -1);
        if (fd < 0)
            continue;
        close(fd);
        atomic_fetch_add(&f->left, 1);
    }
}

void bl_spool_files_free(struct bl_spool_files *f)
{
    bl_spool_files_close(f);
    free(f->descriptor);
    *f = (struct bl_spool_files){.descriptor = NULL};
}
