#include "kind/array/inflated.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/io.h"
#include "base/temporary.h"
#include "kind/array/stream.h"

#define BUCKETS 4096
#define CHUNK ((int64_t)64 << 10)
#define WHAT "the inflated arrays (--spool: another place)"

enum state { ASKED, BEING_MADE, MADE };

/* An array that was asked for. Entries are added in front of their bucket's, and stay. */
struct entry {
    struct entry *next;
    char *path; /* with bytes: whose copy it is */
    int64_t bytes;
    atomic_int state;             /* enum state; whoever sees MADE sees the copy */
    struct bl_inflated_copy copy; /* of whoever made the state BEING_MADE */
};

struct bl_inflated {
    atomic_int fd;    /* -1: not made yet */
    atomic_llong end; /* of what was given to copies */
    _Atomic(struct entry *) bucket[BUCKETS];
};

int bl_inflated_make(struct bl_inflated **inflated, struct bl_error *e)
{
    struct bl_inflated *all = malloc(sizeof *all);
    if (!all)
        return bl_error_memory(e);
    atomic_init(&all->fd, -1);
    atomic_init(&all->end, 0);
    for (int b = 0; b < BUCKETS; b++)
        atomic_init(&all->bucket[b], NULL);
    *inflated = all;
    return BL_OK;
}

static void inflated_entry_free(struct entry *entry)
{
    free(entry->path);
    free(entry);
}

void bl_inflated_free(struct bl_inflated *all)
{
    if (!all)
        return;
    for (int b = 0; b < BUCKETS; b++) {
        for (struct entry *entry = atomic_load(&all->bucket[b]), *next; entry; entry = next) {
            next = entry->next;
            inflated_entry_free(entry);
        }
    }
    if (atomic_load(&all->fd) >= 0)
        close(atomic_load(&all->fd)); /* it goes with it */
    free(all);
}

/* --- entries ---------------------------------------------------------------------------------------------------- */

static struct entry *inflated_entry_find(struct entry *entry, const struct bl_array_stream *s)
{
    while (entry && (entry->bytes != s->bytes || strcmp(entry->path, s->path) != 0))
        entry = entry->next;
    return entry;
}

/* The array's entry, or NULL: it was asked for by nobody, and has one from now on. */
static int inflated_request(struct bl_inflated *all, const struct bl_array_stream *s, struct entry **found,
                            struct bl_error *e)
{
    _Atomic(struct entry *) *bucket = &all->bucket[XXH3_64bits(s->path, strlen(s->path)) % BUCKETS];
    struct entry *head = atomic_load(bucket), *entry;
    *found = inflated_entry_find(head, s);
    if (*found)
        return BL_OK;
    entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->path = strdup(s->path))) {
        free(entry);
        return bl_error_memory(e);
    }
    entry->bytes = s->bytes;
    atomic_init(&entry->state, ASKED);
    do {
        entry->next = head;
    } while (!atomic_compare_exchange_weak(bucket, &head, entry) && !(*found = inflated_entry_find(head, s)));
    if (*found)
        inflated_entry_free(entry);
    return BL_OK;
}

/* --- copies ----------------------------------------------------------------------------------------------------- */

/* The file, by whoever needs it first. */
static int inflated_open_file(struct bl_inflated *all, const char *dir, struct bl_error *e)
{
    int fd = atomic_load(&all->fd), none = -1;
    if (fd >= 0)
        return fd;
    fd = bl_temporary_open(dir, e);
    if (fd < 0 || atomic_compare_exchange_strong(&all->fd, &none, fd))
        return fd;
    close(fd); /* another worker was first */
    return none;
}

/* What lies behind some damage is left to whoever asks for it. */
static int inflated_copy_fill(struct bl_inflated_copy *copy, struct bl_array_stream *s, struct bl_error *e)
{
    uint8_t chunk[CHUNK];
    struct bl_error damage = {0};
    int code = BL_OK;
    while (!code && copy->bytes < s->npy.bytes) {
        int64_t left = s->npy.bytes - copy->bytes, size = left < CHUNK ? left : CHUNK;
        code = bl_array_stream_read(s, chunk, (size_t)size, copy->bytes, &damage);
        if (!code && (code = bl_io_pwrite(copy->fd, chunk, (size_t)size, copy->begin + copy->bytes, WHAT, e)))
            return code;
        copy->bytes += code ? 0 : size;
    }
    if (!code)
        code = bl_array_stream_verify(s, &damage);
    copy->sound = !code;
    if (code == BL_EDATA)
        return bl_array_stream_rewind(s, e);
    return code ? bl_error_set(e, code, "%s", damage.text) : BL_OK;
}

static int inflated_copy_make(struct bl_inflated *all, struct entry *entry, struct bl_array_stream *s, const char *dir,
                              struct bl_error *e)
{
    int fd = inflated_open_file(all, dir, e);
    if (fd < 0)
        return fd;
    entry->copy = (struct bl_inflated_copy){.fd = fd, .begin = atomic_fetch_add(&all->end, s->npy.bytes)};
    return inflated_copy_fill(&entry->copy, s, e);
}

int bl_inflated_find(struct bl_inflated *all, struct bl_array_stream *s, const char *dir,
                     const struct bl_inflated_copy **copy, struct bl_error *e)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    struct entry *entry;
    int code = inflated_request(all, s, &entry, e);
    *copy = NULL;
    while (!code && entry && !*copy) {
        int state = ASKED;
        if (atomic_compare_exchange_strong(&entry->state, &state, BEING_MADE)) {
            code = inflated_copy_make(all, entry, s, dir, e);
            atomic_store(&entry->state, code ? ASKED : MADE);
        } else if (state == MADE) {
            *copy = &entry->copy;
        } else if (bl_cancelled(s->cancel)) {
            code = bl_error_set(e, BL_ECANCEL, "cancelled");
        } else {
            nanosleep(&moment, NULL);
        }
    }
    return code;
}
