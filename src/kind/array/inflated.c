/* Inflated copies of deflated arrays, which all workers of a run share.
 *
 * A deflated array can only be read from its beginning. If 100 pieces of one are read in any order, half of the array
 * is inflated for each piece on average; a copy costs inflating it once, and disk space. The first request for an array
 * makes no copy, because most arrays are read once and in order. States of an entry:
 *
 *     (none) -- first request --> REQUESTED -- second --> BEING_MADE -- copied --> MADE
 *                                     ^------- failed ---------' */
#include "kind/array/inflated.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/io.h"
#include "base/output.h"
#include "kind/array/npz.h"

#define CHUNK ((int64_t)64 << 10) /* bytes that are copied at once: a multiple of BL_ARRAY_COPY_UNIT */
#define INFLATED_WHAT "the inflated arrays (--spool: another place)" /* for messages */

enum state { REQUESTED, BEING_MADE, MADE };

/* An array that was requested at least once. */
struct inflated_entry {
    char *path; /* with bytes: whose copy it is */
    int64_t bytes;
    enum state state;
    struct bl_array_copy copy; /* written without the lock by the worker that made the state BEING_MADE */
};

struct bl_inflated {
    pthread_mutex_t lock; /* for all that follows, but copies that are being made */
    pthread_cond_t made;  /* an entry is no longer being made */
    int fd;               /* -1: not made yet */
    int64_t end;          /* of the last copy's place in the file */
    /* Entries are allocated one by one, since copies in use must not move when the list grows. */
    struct inflated_entry **entry; /* each on its own: copies in use do not move */
    size_t entries, capacity;
    struct bl_hash by_path;
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
    for (size_t i = 0; i < all->entries; i++) {
        free(all->entry[i]->path);
        free(all->entry[i]->copy.checksum);
        free(all->entry[i]);
    }
    free(all->entry);
    bl_hash_free(&all->by_path);
    if (all->fd >= 0)
        close(all->fd); /* the file has no name: it goes, too */
    pthread_cond_destroy(&all->made);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* --- entries ---------------------------------------------------------------------------------------------------- */

/* The caller of these functions holds the lock. */

/* Finds the array's entry. The first request adds one and sets *found to NULL. An array is identified by its path and
 * the size of its file. */
static int inflated_request(struct bl_inflated *all, const struct bl_array_file *f, struct inflated_entry **found,
                            struct bl_error *e)
{
    uint64_t hash = XXH3_64bits(f->path, strlen(f->path));
    size_t i;
    for (struct bl_hash_probe probe = bl_hash_begin(&all->by_path, hash); bl_hash_next(&all->by_path, &probe, &i);) {
        *found = all->entry[i];
        if ((*found)->bytes == f->bytes && strcmp((*found)->path, f->path) == 0)
            return BL_OK;
    }
    *found = NULL;
    BL_TRY(BL_ARRAY_RESERVE(all->entry, all->capacity, all->entries + 1, e));
    struct inflated_entry *entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->path = strdup(f->path))) {
        free(entry);
        return bl_error_memory(e);
    }
    entry->bytes = f->bytes;
    all->entry[all->entries] = entry;
    /* If this fails, the entry belongs to the list already and is freed with it. */
    return bl_hash_add(&all->by_path, hash, all->entries++, e);
}

/* Reserves the copy's place at the end of the file, which the first copy creates. The file may have holes after a copy
 * that failed. */
static int inflated_reserve(struct bl_inflated *all, struct inflated_entry *entry, int64_t bytes, const char *dir,
                            struct bl_error *e)
{
    if (all->fd < 0) {
        int fd = bl_temporary_open(dir, e);
        if (fd < 0)
            return fd;
        all->fd = fd;
    }
    free(entry->copy.checksum); /* of an attempt that failed */
    entry->copy = (struct bl_array_copy){
        .fd = all->fd,
        .begin = all->end,
        .checksum = calloc((size_t)(bytes / BL_ARRAY_COPY_UNIT + 1), sizeof *entry->copy.checksum),
    };
    if (!entry->copy.checksum)
        return bl_error_memory(e);
    all->end += bytes;
    return BL_OK;
}

/* --- making a copy ------------------------------------------------------------------------------------------------ */

/* Copies the elements up to the first damage, which is no failure here: the reader finds the damage again when it reads
 * what lies behind, and reports it for its piece. `sound` says that there was none. */
static int copy_fill(struct bl_array_copy *copy, struct bl_array_file *f, struct bl_error *e)
{
    uint8_t chunk[CHUNK];
    struct bl_error damage = {0};
    int code = BL_OK;
    while (copy->bytes < f->npy.bytes) {
        int64_t left = f->npy.bytes - copy->bytes, size = left < CHUNK ? left : CHUNK;
        code = bl_array_file_read(f, chunk, (size_t)size, copy->bytes, &damage);
        if (code)
            break;
        BL_TRY(bl_array_copy_put(copy, chunk, size, INFLATED_WHAT, e));
    }
    if (!code)
        code = bl_array_file_verify(f, &damage);
    copy->sound = !code;
    if (code == BL_EDATA)
        return bl_array_file_rewind(f, e);
    return bl_error_pass(e, code, &damage);
}

int bl_inflated_find(struct bl_inflated *all, struct bl_array_file *f, const char *dir,
                     const struct bl_array_copy **copy, struct bl_error *e)
{
    struct inflated_entry *entry;
    *copy = NULL;
    pthread_mutex_lock(&all->lock);
    int code = inflated_request(all, f, &entry, e);
    if (code || !entry)
        goto out;
    /* This wait needs no cancel flag: the worker that makes the copy tests the flag at every chunk, and wakes the
     * others when it gives up. */
    while (entry->state == BEING_MADE)
        pthread_cond_wait(&all->made, &all->lock);
    if (entry->state == REQUESTED) {
        code = inflated_reserve(all, entry, f->npy.bytes, dir, e);
        if (code)
            goto out;
        entry->state = BEING_MADE;
        pthread_mutex_unlock(&all->lock);
        /* Copying takes long and needs no lock: no other worker touches an entry that is being made. */
        code = copy_fill(&entry->copy, f, e);
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
