#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define FRESH 0xA5 /* what is in memory that nobody wrote yet */

struct block {
    struct block *next;
    uint8_t *at;
    size_t bytes;
    CUcontext context;
    enum fake_kind kind;
    bool closed;
};

static struct block *blocks;
static int64_t taken[FAKE_GPUS_MAX];

/* The link to the block that has this byte. */
static struct block **find(const void *memory)
{
    struct block **link = &blocks;
    const uint8_t *byte = memory;
    while (*link && (byte < (*link)->at || byte >= (*link)->at + (*link)->bytes))
        link = &(*link)->next;
    return link;
}

CUresult fake_memory_reserve(CUcontext context, int64_t bytes)
{
    int64_t *of_device = &taken[context->device], room = fake_option("FAKE_MEMORY", (int64_t)16 << 30);
    if (bytes > room - *of_device)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *of_device += bytes;
    fake_count(FAKE_MEMORY, bytes);
    return CUDA_SUCCESS;
}

CUresult fake_memory_take(CUcontext context, enum fake_kind kind, size_t bytes, void **memory)
{
    if (!bytes || !memory)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "memory of %zu bytes is asked for", bytes);
    CUresult result = kind == FAKE_DEVICE ? fake_memory_reserve(context, (int64_t)bytes) : CUDA_SUCCESS;
    if (result)
        return result;
    struct block *block = calloc(1, sizeof *block);
    uint8_t *at = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!block || !at)
        abort();
    memset(at, FRESH, bytes);
    *block = (struct block){.next = blocks, .at = at, .bytes = bytes, .context = context, .kind = kind};
    blocks = block;
    if (kind == FAKE_HOST)
        fake_count(FAKE_PINNED, (int64_t)bytes);
    *memory = at;
    return CUDA_SUCCESS;
}

/* As the driver does, it waits for all that is under way, which may use the memory. */
CUresult fake_memory_drop(CUcontext context, enum fake_kind kind, void *memory)
{
    fake_streams_drain(context);
    struct block **link = find(memory), *block = *link;
    if (!block || block->at != memory || block->kind != kind)
        return fake_wrong(CUDA_ERROR_INVALID_VALUE, "memory is freed that was not taken");
    if (kind == FAKE_DEVICE)
        (void)fake_memory_reserve(block->context, -(int64_t)block->bytes);
    if (kind == FAKE_HOST)
        fake_count(FAKE_PINNED, -(int64_t)block->bytes);
    *link = block->next;
    free(block->at);
    free(block);
    return CUDA_SUCCESS;
}

void fake_memory_close(const void *memory, bool closed)
{
    struct block *block = *find(memory);
    if (block)
        block->closed = closed;
}

bool fake_memory_holds(CUcontext context, const void *from, size_t bytes)
{
    const struct block *block = *find(from);
    return block && block->kind != FAKE_HOST && !block->closed && block->context->alive &&
           block->context->device == context->device &&
           bytes <= (size_t)(block->at + block->bytes - (const uint8_t *)from);
}

bool fake_memory_pinned(const void *from, size_t bytes)
{
    const struct block *block = *find(from);
    return block && block->kind == FAKE_HOST && bytes <= (size_t)(block->at + block->bytes - (const uint8_t *)from);
}
