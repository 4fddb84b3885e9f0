/* Implements the memory budget by tickets, and shared memory by memfd_create.
 *
 * Each request takes a ticket and waits until its number is called and enough bytes are left. Example with 10 bytes
 * left: requests for 8, 6 and 1 arrive in this order; the first takes 8, the second waits for a release of 4, and the
 * third waits behind it, although 1 byte is left. */
#include "pool/memory_budget.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* --- memory budget ------------------------------------------------------------------------------------------------ */

#define POLL_NS 100000000 /* 0.1 s between two tests of the cancel flag: a user hardly notices the delay */

void bl_memory_budget_init(struct bl_memory_budget *b, int64_t total)
{
    pthread_condattr_t monotonic;
    *b = (struct bl_memory_budget){.total = total, .left = total > 0 ? total : 1};
    pthread_mutex_init(&b->lock, NULL); /* these cannot fail on Linux */
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&b->given, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void bl_memory_budget_free(struct bl_memory_budget *b)
{
    pthread_cond_destroy(&b->given);
    pthread_mutex_destroy(&b->lock);
}

/* The lock is held except while the request waits. */
int bl_memory_budget_take(struct bl_memory_budget *b, int64_t *bytes, const struct bl_cancel *cancel,
                          struct bl_error *e)
{
    pthread_mutex_lock(&b->lock);
    /* A request for more than the total would wait for ever. */
    int64_t most = b->total > 0 ? b->total : 1;
    if (*bytes > most)
        *bytes = most;
    uint64_t number = b->next_ticket++;
    while (!bl_cancelled(cancel) && (number != b->served_ticket || b->left < *bytes)) {
        /* Waits for a release, at most POLL_NS, and adds the time to b->waited. The limit is needed because a signal
         * handler sets the cancel flag, and a handler cannot signal a condition variable. */
        struct timespec until, since;
        clock_gettime(CLOCK_MONOTONIC, &until);
        since = until;
        until.tv_nsec += POLL_NS;
        if (until.tv_nsec >= 1000000000) {
            until.tv_nsec -= 1000000000;
            until.tv_sec++;
        }
        pthread_cond_timedwait(&b->given, &b->lock, &until);
        clock_gettime(CLOCK_MONOTONIC, &until);
        b->waited += (double)(until.tv_sec - since.tv_sec) + (double)(until.tv_nsec - since.tv_nsec) * 1e-9;
    }
    bool cancelled = bl_cancelled(cancel); /* then each waiting request fails in turn */
    if (!cancelled)
        b->left -= *bytes;
    /* The next ticket is called even after a cancellation, so that no request stays blocked. */
    b->served_ticket++;
    pthread_cond_broadcast(&b->given);
    pthread_mutex_unlock(&b->lock);
    return cancelled ? bl_error_set(e, BL_ECANCEL, "cancelled") : BL_OK;
}

/* No request is woken, as fewer bytes are left than before. */
void bl_memory_budget_charge(struct bl_memory_budget *b, int64_t bytes)
{
    pthread_mutex_lock(&b->lock);
    b->left -= bytes;
    pthread_mutex_unlock(&b->lock);
}

void bl_memory_budget_give(struct bl_memory_budget *b, int64_t bytes)
{
    pthread_mutex_lock(&b->lock);
    b->left += bytes;
    pthread_cond_broadcast(&b->given);
    pthread_mutex_unlock(&b->lock);
}

/* --- shared memory ------------------------------------------------------------------------------------------------ */

/* Maps fd and makes memory its owner, even if the mapping fails. flags: added to MAP_SHARED. */
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

/* MFD_CLOEXEC: a child that executes another program does not inherit the memory. */
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
    /* A struct that is {0} has descriptor 0 without owning it, so the size is tested first. */
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
