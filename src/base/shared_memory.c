#include "base/shared_memory.h"

#include <sys/mman.h>
#include <unistd.h>

static int shared_memory_map(struct bl_shared_memory *memory, int fd, size_t size, int flags, struct bl_error *e)
{
    *memory = (struct bl_shared_memory){.size = size, .fd = fd};
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);
    if (data == MAP_FAILED)
        return bl_error_errno(e, BL_EFAIL, "cannot map %zu bytes of shared memory", size);
    memory->data = data;
    return BL_OK;
}

int bl_shared_memory_map(struct bl_shared_memory *memory, int fd, size_t size, struct bl_error *e)
{
    return shared_memory_map(memory, fd, size, MAP_POPULATE, e);
}

int bl_shared_memory_make(struct bl_shared_memory *memory, size_t size, struct bl_error *e)
{
    *memory = (struct bl_shared_memory){0};
    int fd = memfd_create("bload", MFD_CLOEXEC);
    if (fd < 0)
        return bl_error_errno(e, BL_EFAIL, "cannot make shared memory");
    int code = ftruncate(fd, (off_t)size) == 0 ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot make shared memory");
    if (code) {
        close(fd);
        return code;
    }
    code = shared_memory_map(memory, fd, size, 0, e);
    if (code)
        bl_shared_memory_free(memory);
    return code;
}

void bl_shared_memory_close_fd(struct bl_shared_memory *memory)
{
    if (memory->size && memory->fd >= 0)
        close(memory->fd);
    memory->fd = -1;
}

void bl_shared_memory_free(struct bl_shared_memory *memory)
{
    if (memory->data)
        munmap(memory->data, memory->size);
    bl_shared_memory_close_fd(memory);
    *memory = (struct bl_shared_memory){0};
}
