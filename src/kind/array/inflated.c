#include "kind/array/inflated.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/io.h"
#include "base/temporary.h"
#include "kind/array/stream.h"

#define BUCKETS 4096
#define CHUNK ((int64_t)64 << 10)
#define WHAT "the inflated arrays (--spool: another place)"

enum state { REQUESTED, BEING_MADE, MADE };

/* An array that was asked for. */
struct entry {
    struct entry *next; /* of its bucket */
    char *path;         /* with bytes: whose copy it is */
    int64_t bytes;
    enum state state;
    struct bl_array_copy copy; /* written without the lock by the worker that made the state BEING_MADE */
};

struct bl_inflated {
    pthread_mutex_t lock; /* for all that follows, but copies that are being made */
    pthread_cond_t made;  /* an entry is no longer being made */
    int fd;               /* -1: not made yet */
    int64_t end;          /* of the last copy's place in the file */
    struct entry *bucket[BUCKETS];
};

int bl_inflated_make(struct bl_inflated **inflated, struct bl_error *e)
{
    struct bl_inflated *all = calloc(1, sizeof *all);
    if (!all)
        return bl_error_memory(e);
    pthread_mutex_init(&all->lock, NULL); /* cannot fail on Linux, as the next */
    pthread_cond_init(&all->made, NULL);
    all->fd = -1;
    *inflated = all;
    return BL_OK;
}

void bl_inflated_free(struct bl_inflated *all)
{
    if (!all)
        return;
    for (int b = 0; b < BUCKETS; b++) {
        for (struct entry *entry = all->bucket[b], *next; entry; entry = next) {
            next = entry->next;
            free(entry->path);
            free(entry);
        }
    }
    if (all->fd >= 0)
        close(all->fd); /* the file has no name: it goes, too */
    pthread_cond_destroy(&all->made);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* --- entries, under the lock ------------------------------------------------------------------------------------ */

/* The array's entry; NULL for the first request, which adds it. */
static int inflated_request(struct bl_inflated *all, const struct bl_array_stream *s, struct entry **found,
                            struct bl_error *e)
{
    struct entry **bucket = &all->bucket[XXH3_64bits(s->path, strlen(s->path)) % BUCKETS], *entry = *bucket;
    while (entry && (entry->bytes != s->bytes || strcmp(entry->path, s->path) != 0))
        entry = entry->next;
    *found = entry;
    if (entry)
        return BL_OK;
    entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->path = strdup(s->path))) {
        free(entry);
        return bl_error_memory(e);
    }
    entry->bytes = s->bytes;
    entry->next = *bucket;
    *bucket = entry;
    return BL_OK;
}

/* Reserves the copy's place in the file, which the first one makes. */
static int inflated_reserve(struct bl_inflated *all, struct entry *entry, int64_t bytes, const char *dir,
                            struct bl_error *e)
{
    if (all->fd < 0) {
        int fd = bl_temporary_open(dir, e);
        if (fd < 0)
            return fd;
        all->fd = fd;
    }
    entry->copy = (struct bl_array_copy){.fd = all->fd, .begin = all->end};
    all->end += bytes;
    return BL_OK;
}

/* --- copies ----------------------------------------------------------------------------------------------------- */

/* Copies up to the first damage. The reader asks the stream for what lies behind it. */
static int copy_fill(struct bl_array_copy *copy, struct bl_array_stream *s, struct bl_error *e)
{
    uint8_t chunk[CHUNK];
    struct bl_error damage = {0};
    int code = BL_OK;
    while (copy->bytes < s->npy.bytes) {
        int64_t left = s->npy.bytes - copy->bytes, size = left < CHUNK ? left : CHUNK;
        code = bl_array_stream_read(s, chunk, (size_t)size, copy->bytes, &damage);
        if (code)
            break;
        code = bl_io_pwrite(copy->fd, chunk, (size_t)size, copy->begin + copy->bytes, WHAT, e);
        if (code)
            return code;
        copy->bytes += size;
    }
    if (!code)
        code = bl_array_stream_verify(s, &damage);
    copy->sound = !code;
    if (code == BL_EDATA)
        return bl_array_stream_rewind(s, e);
    return code ? bl_error_set(e, code, "%s", damage.text) : BL_OK;
}

int bl_inflated_find(struct bl_inflated *all, struct bl_array_stream *s, const char *dir,
                     const struct bl_array_copy **copy, struct bl_error *e)
{
    struct entry *entry;
    *copy = NULL;
    pthread_mutex_lock(&all->lock);
    int code = inflated_request(all, s, &entry, e);
    if (code || !entry)
        goto out;
    /* The worker that makes it tests the cancel flag at every chunk, and wakes the others when it gives up. */
    while (entry->state == BEING_MADE)
        pthread_cond_wait(&all->made, &all->lock);
    if (entry->state == REQUESTED) {
        code = inflated_reserve(all, entry, s->npy.bytes, dir, e);
        if (code)
            goto out;
        entry->state = BEING_MADE;
        pthread_mutex_unlock(&all->lock);
        code = copy_fill(&entry->copy, s, e);
        pthread_mutex_lock(&all->lock);
        entry->state = code ? REQUESTED : MADE;
        pthread_cond_broadcast(&all->made);
    }
    if (!code)
        *copy = &entry->copy;
out:
    pthread_mutex_unlock(&all->lock);
    return code;
}
