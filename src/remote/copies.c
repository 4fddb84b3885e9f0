/* Fetches copies of objects.
 *
 * One lock guards everything. A fetcher takes an extent, fetches it without the lock, and wakes the readers as bytes
 * arrive. Copies with extents to be fetched are in a queue, in the order in which they were announced; a copy that a
 * reader waits for is moved to the front. Copies that nobody needs are in a second queue, the oldest first. */
#include "remote/copies.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/io.h"
#include "base/output.h"

#define FETCHERS_MAX 32                 /* threads, each with connections of its own */
#define FETCHERS_OF_OBJECT 8            /* that fetch extents of one object */
#define PART ((int64_t)8 << 20)         /* bytes of an extent */
#define AHEAD_MAX ((int64_t)256 << 20)  /* bytes that no reader has reached */
#define OPEN_MAX 256                    /* copies that are open, before a fetch ahead opens another one */
#define DEMAND_LEAST ((int64_t)1 << 16) /* bytes of the first extent that a reader asks for without announcement */
#define KEPT_MAX 16                     /* copies that nobody needs */
#define KEPT_BYTES ((int64_t)1 << 30)   /* of these */
#define BUCKETS 4096

enum extent_state { EXTENT_MISSING, EXTENT_UNDER_WAY, EXTENT_THERE };

/* Bytes of an object that are fetched by one request. */
struct extent {
    int64_t begin, end;
    int64_t filled; /* bytes that are there, from begin on */
    enum extent_state state;
    bool is_urgent; /* it is missing, and a reader waits for it */
    bool is_ahead;  /* it counts as bytes that no reader has reached */
    bool is_read;   /* a reader has reached it */
};

/* A queue of copies; a copy is in one at most. */
struct copy_queue {
    struct bl_far_copy *first, *last;
};

struct bl_far_copy {
    struct bl_copies *copies;
    struct bl_remote_object object; /* its texts belong to the caller */
    int fd;                         /* -1: not open yet. Readers get further descriptors */
    struct extent *extent;          /* [capacity], sorted by offset */
    size_t extents, capacity;
    size_t begun; /* no extent before this one is missing */
    int missing;  /* extents that are */
    int urgent;   /* of these */
    int readers, announced, fetches;
    int64_t demand, demanded; /* bytes of the last extent that was asked for without announcement, and its end */
    bool is_ranged;           /* the server is known to send parts of the object */
    bool is_whole;            /* it does not, or the object is small: there is one extent */
    int code;                 /* of a fetch that failed */
    struct bl_error *error;
    struct bl_far_copy *same; /* the next one of the bucket */
    struct copy_queue *queue; /* NULL: in none */
    struct bl_far_copy *before, *after;
};

struct bl_copies {
    bl_copies_fetch *fetch;
    void *context;
    pthread_mutex_t lock; /* for all that follows */
    pthread_cond_t has_work, has_data;
    pthread_t fetcher[FETCHERS_MAX];
    int fetchers, idle;
    int waiting; /* readers */
    bool is_closing;
    struct copy_queue missing; /* copies with missing extents */
    struct copy_queue kept;    /* copies that nobody needs */
    int kept_count;
    int64_t kept_bytes;
    int open, open_max; /* copies with a descriptor */
    int urgent;         /* extents */
    int64_t ahead;      /* bytes */
    struct bl_far_copy *bucket[BUCKETS];
};

/* --- queues ------------------------------------------------------------------------------------------------------- */

static void queue_remove(struct bl_far_copy *copy)
{
    struct copy_queue *queue = copy->queue;
    if (!queue)
        return;
    *(copy->before ? &copy->before->after : &queue->first) = copy->after;
    *(copy->after ? &copy->after->before : &queue->last) = copy->before;
    copy->before = copy->after = NULL;
    copy->queue = NULL;
    if (queue == &copy->copies->kept) {
        copy->copies->kept_count--;
        copy->copies->kept_bytes -= copy->object.size;
    }
}

/* Adds a copy that is in no queue, at its front or end. */
static void queue_add(struct copy_queue *queue, struct bl_far_copy *copy, bool at_front)
{
    copy->queue = queue;
    copy->before = at_front ? NULL : queue->last;
    copy->after = at_front ? queue->first : NULL;
    *(copy->before ? &copy->before->after : &queue->first) = copy;
    *(copy->after ? &copy->after->before : &queue->last) = copy;
    if (queue == &copy->copies->kept) {
        copy->copies->kept_count++;
        copy->copies->kept_bytes += copy->object.size;
    }
}

/* --- extents ------------------------------------------------------------------------------------------------------ */

/* Returns the number of the first extent that ends after the offset. */
static size_t copy_find_extent(const struct bl_far_copy *copy, int64_t offset)
{
    size_t low = 0, high = copy->extents;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (copy->extent[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sets whether the extent counts as bytes that no reader has reached. */
static void extent_set_ahead(struct bl_copies *c, struct extent *extent, bool is_ahead)
{
    if (extent->is_ahead != is_ahead)
        c->ahead += is_ahead ? extent->end - extent->begin : extent->begin - extent->end;
    extent->is_ahead = is_ahead;
}

/* Inserts a missing extent before extent i. */
static int copy_insert_extent(struct bl_far_copy *copy, size_t i, int64_t begin, int64_t end, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(copy->extent, copy->capacity, copy->extents + 1, e));
    memmove(copy->extent + i + 1, copy->extent + i, (copy->extents - i) * sizeof *copy->extent);
    copy->extent[i] = (struct extent){.begin = begin, .end = end};
    copy->extents++;
    copy->missing++;
    copy->begun = i < copy->begun ? i : copy->begun;
    return BL_OK;
}

/* Makes the extent before i larger, from begin up to end or a whole part. Returns where it ends now. One that is being
 * fetched, or does not end at begin, stays as it is. */
static int64_t copy_extend_extent(struct bl_far_copy *copy, size_t i, int64_t begin, int64_t end)
{
    struct extent *last = i ? &copy->extent[i - 1] : NULL;
    if (!last || last->end != begin || last->state != EXTENT_MISSING || last->is_urgent)
        return begin;
    int64_t most = last->begin + PART;
    last->end = end < most ? end : most > begin ? most : begin;
    return last->end;
}

/* Adds missing extents for the bytes from begin to end that no extent has. */
static int copy_add_range(struct bl_far_copy *copy, int64_t begin, int64_t end, struct bl_error *e)
{
    int64_t part = copy->is_whole ? INT64_MAX : PART;
    end = copy->is_whole || end > copy->object.size ? copy->object.size : end;
    begin = copy->is_whole ? 0 : begin;
    for (size_t i = copy_find_extent(copy, begin); begin < end; i++) {
        int64_t next = i < copy->extents && copy->extent[i].begin < end ? copy->extent[i].begin : end;
        begin = copy_extend_extent(copy, i, begin, next);
        if (next > begin) {
            next = next - begin < part ? next : begin + part;
            BL_TRY(copy_insert_extent(copy, i, begin, next, e));
        }
        begin = i < copy->extents ? copy->extent[i].end : end;
    }
    return BL_OK;
}

/* Removes the extents that are missing. */
static void copy_drop_missing(struct bl_far_copy *copy)
{
    size_t kept = 0;
    for (size_t i = 0; i < copy->extents; i++) {
        if (copy->extent[i].state != EXTENT_MISSING)
            copy->extent[kept++] = copy->extent[i];
    }
    copy->copies->urgent -= copy->urgent;
    copy->extents = copy->begun = kept;
    copy->missing = copy->urgent = 0;
    if (copy->queue == &copy->copies->missing)
        queue_remove(copy);
}

/* Returns the extent to be fetched next, or NULL. */
static struct extent *copy_next_extent(struct bl_far_copy *copy)
{
    while (copy->begun < copy->extents && copy->extent[copy->begun].state != EXTENT_MISSING)
        copy->begun++;
    for (size_t i = copy->begun; i < copy->extents; i++) {
        struct extent *extent = &copy->extent[i];
        if (extent->state == EXTENT_MISSING && (!copy->urgent || extent->is_urgent))
            return extent;
    }
    return NULL;
}

/* --- copies ------------------------------------------------------------------------------------------------------- */

static struct bl_far_copy **copies_bucket(struct bl_copies *c, const char *url)
{
    return &c->bucket[(uintptr_t)url / 16 * 0x9e3779b97f4a7c15ull >> 52];
}

static struct bl_far_copy *copies_find(struct bl_copies *c, const struct bl_remote_object *object)
{
    struct bl_far_copy *copy = *copies_bucket(c, object->url);
    while (copy && copy->object.url != object->url)
        copy = copy->same;
    return copy;
}

/* Returns the copy of an object, which is new if there was none. NULL: memory ran out. */
static struct bl_far_copy *copies_need(struct bl_copies *c, const struct bl_remote_object *object)
{
    struct bl_far_copy *copy = copies_find(c, object), **bucket = copies_bucket(c, object->url);
    if (copy || !(copy = calloc(1, sizeof *copy)))
        return copy;
    *copy = (struct bl_far_copy){
        .copies = c, .object = *object, .fd = -1, .is_whole = object->size <= BL_REMOTE_WHOLE, .same = *bucket};
    *bucket = copy;
    return copy;
}

static void copy_free(struct bl_far_copy *copy)
{
    struct bl_far_copy **link = copies_bucket(copy->copies, copy->object.url);
    while (*link != copy)
        link = &(*link)->same;
    *link = copy->same;
    queue_remove(copy);
    if (copy->fd >= 0) {
        close(copy->fd);
        copy->copies->open--;
    }
    free(copy->extent);
    free(copy->error);
    free(copy);
}

/* Keeps a copy that nobody needs any more, and frees older ones that have no room beside it. */
static void copy_retire(struct bl_far_copy *copy)
{
    struct bl_copies *c = copy->copies;
    if (copy->readers || copy->announced)
        return;
    copy_drop_missing(copy);
    for (size_t i = 0; i < copy->extents; i++)
        extent_set_ahead(c, &copy->extent[i], false);
    if (copy->fetches || copy->queue)
        return;
    queue_add(&c->kept, copy, false);
    while (c->kept.first != copy && (c->kept_count > KEPT_MAX || c->kept_bytes > KEPT_BYTES))
        copy_free(c->kept.first);
}

/* Makes a copy one that is needed again. */
static void copy_revive(struct bl_far_copy *copy)
{
    if (copy->queue == &copy->copies->kept)
        queue_remove(copy);
}

static int copy_need_file(struct bl_far_copy *copy, struct bl_error *e)
{
    if (copy->fd >= 0)
        return BL_OK;
    copy->fd = bl_temporary_open(NULL, e);
    if (copy->fd < 0)
        return copy->fd;
    copy->copies->open++;
    return BL_OK;
}

/* Records that the object cannot be fetched, for all its readers. */
static void copy_fail(struct bl_far_copy *copy, int code, const struct bl_error *fault)
{
    copy_drop_missing(copy);
    if (copy->code)
        return;
    copy->code = code;
    copy->error = malloc(sizeof *copy->error);
    if (copy->error)
        *copy->error = *fault;
}

/* --- fetchers ----------------------------------------------------------------------------------------------------- */

/* Whether another extent of the copy may be fetched. The first one shows whether the server has ranges. */
static bool copy_takes_fetch(const struct bl_far_copy *copy)
{
    return copy->fetches < (copy->is_ranged ? FETCHERS_OF_OBJECT : 1);
}

/* Whether there is room to fetch an extent of the copy ahead of its readers. */
static bool copies_have_room(const struct bl_copies *c, const struct bl_far_copy *copy, const struct extent *extent)
{
    return c->ahead + (extent->end - extent->begin) <= AHEAD_MAX && (copy->fd >= 0 || c->open < c->open_max);
}

/* Returns the extent to be fetched next, with its copy, or NULL. */
static struct extent *copies_next_extent(struct bl_copies *c, struct bl_far_copy **of)
{
    bool is_full = false;
    for (struct bl_far_copy *copy = c->missing.first; copy && (!is_full || c->urgent); copy = copy->after) {
        struct extent *extent = copy_takes_fetch(copy) ? copy_next_extent(copy) : NULL;
        if (!extent)
            continue;
        /* Extents that were announced later wait for this one, so that it gets room first. */
        is_full = is_full || !copies_have_room(c, copy, extent);
        if (extent->is_urgent || !is_full) {
            *of = copy;
            return extent;
        }
    }
    return NULL;
}

/* Begins to fetch the next extent. *fetched: what it was then. False: there is none. */
static bool copies_take(struct bl_copies *c, struct bl_far_copy **of, struct extent *fetched)
{
    struct extent *extent;
    while ((extent = copies_next_extent(c, of))) {
        struct bl_far_copy *copy = *of;
        struct bl_error fault = {0};
        int code = copy_need_file(copy, &fault);
        if (code) {
            copy_fail(copy, code, &fault);
            pthread_cond_broadcast(&c->has_data);
            continue;
        }
        copy->urgent -= extent->is_urgent;
        c->urgent -= extent->is_urgent;
        extent->is_urgent = false;
        extent->state = EXTENT_UNDER_WAY;
        extent_set_ahead(c, extent, !extent->is_read);
        *fetched = *extent;
        copy->fetches++;
        if (!--copy->missing)
            queue_remove(copy);
        return true;
    }
    return false;
}

/* An extent that is being fetched. */
struct arrival {
    struct bl_far_copy *copy;
    int64_t begin, at;
};

/* Writes what came to the copy: a bl_remote_sink. */
static int arrival_take(void *context, const void *data, size_t size, struct bl_error *e)
{
    struct arrival *a = context;
    struct bl_copies *c = a->copy->copies;
    BL_TRY(bl_io_pwrite(a->copy->fd, data, size, a->at, "the copy of an object", e));
    a->at += (int64_t)size;
    pthread_mutex_lock(&c->lock);
    a->copy->extent[copy_find_extent(a->copy, a->begin)].filled = a->at - a->begin;
    if (c->waiting)
        pthread_cond_broadcast(&c->has_data);
    bool is_closing = c->is_closing;
    pthread_mutex_unlock(&c->lock);
    return is_closing ? bl_error_set(e, BL_ECANCEL, "stopped") : BL_OK;
}

/* Has the object fetched as a whole, since the server sends no parts of it. */
static int copy_make_whole(struct bl_far_copy *copy, struct bl_error *e)
{
    for (size_t i = 0; i < copy->extents; i++)
        extent_set_ahead(copy->copies, &copy->extent[i], false);
    copy_drop_missing(copy);
    copy->extents = copy->begun = 0;
    copy->is_whole = true;
    BL_TRY(copy_add_range(copy, 0, copy->object.size, e));
    queue_add(&copy->copies->missing, copy, true);
    return BL_OK;
}

/* Notes how a fetch ended. */
static void copies_end_fetch(struct bl_copies *c, struct arrival *a, int code, bool lacks_ranges,
                             struct bl_error *fault)
{
    struct bl_far_copy *copy = a->copy;
    copy->fetches--;
    if (code && lacks_ranges && !copy->is_ranged && !copy->is_whole) {
        bl_error_clear(fault);
        code = copy_make_whole(copy, fault);
    } else if (!code) {
        copy->is_ranged = true;
        copy->extent[copy_find_extent(copy, a->begin)].state = EXTENT_THERE;
    }
    if (code)
        copy_fail(copy, code, fault);
    copy_retire(copy);
    pthread_cond_broadcast(&c->has_data);
}

/* The thread of a fetcher. argument: the copies. */
static void *fetcher_main(void *argument)
{
    struct bl_copies *c = argument;
    struct extent extent;
    pthread_mutex_lock(&c->lock);
    while (!c->is_closing) {
        struct arrival a = {0};
        if (!copies_take(c, &a.copy, &extent)) {
            c->idle++;
            pthread_cond_wait(&c->has_work, &c->lock);
            c->idle--;
            continue;
        }
        /* There may be work for another one, too. */
        if (c->missing.first && c->idle)
            pthread_cond_signal(&c->has_work);
        bool is_whole = a.copy->is_whole, lacks_ranges = false;
        pthread_mutex_unlock(&c->lock);
        struct bl_error fault = {0};
        a.begin = a.at = extent.begin;
        int code = c->fetch(c->context, &a.copy->object, extent.begin, is_whole ? 0 : extent.end, arrival_take, &a,
                            &lacks_ranges, &fault);
        pthread_mutex_lock(&c->lock);
        copies_end_fetch(c, &a, code, lacks_ranges, &fault);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Has so many more extents fetched: wakes fetchers, or starts new ones. */
static void copies_wake(struct bl_copies *c, int extents)
{
    if (c->idle)
        pthread_cond_signal(&c->has_work);
    for (extents -= c->idle; extents > 0 && c->fetchers < FETCHERS_MAX; extents--) {
        if (pthread_create(&c->fetcher[c->fetchers], NULL, fetcher_main, c) != 0)
            break;
        c->fetchers++;
    }
}

/* --- announcements ------------------------------------------------------------------------------------------------ */

/* Puts a copy with missing extents into the queue, or at its front where a reader waits. */
static void copy_enqueue(struct bl_far_copy *copy, bool at_front)
{
    struct bl_copies *c = copy->copies;
    if (!copy->missing)
        return;
    if (at_front || !copy->queue) {
        queue_remove(copy);
        queue_add(&c->missing, copy, at_front);
    }
    copies_wake(c, copy->missing);
}

void bl_copies_announce(struct bl_copies *c, const struct bl_remote_object *object, int64_t begin, int64_t end)
{
    struct bl_error ignored = {0};
    pthread_mutex_lock(&c->lock);
    struct bl_far_copy *copy = copies_need(c, object);
    if (copy) {
        copy_revive(copy);
        copy->announced++;
        /* Readers ask for what has no extent. */
        if (!copy->code)
            (void)copy_add_range(copy, begin, end, &ignored);
        copy_enqueue(copy, false);
    }
    pthread_mutex_unlock(&c->lock);
}

void bl_copies_release(struct bl_copies *c, const struct bl_remote_object *object)
{
    pthread_mutex_lock(&c->lock);
    struct bl_far_copy *copy = copies_find(c, object);
    if (copy && copy->announced) {
        copy->announced--;
        copy_retire(copy);
        if (c->missing.first)
            copies_wake(c, 0);
    }
    pthread_mutex_unlock(&c->lock);
}

/* --- readers ------------------------------------------------------------------------------------------------------ */

/* Opens another descriptor of a copy, with a position of its own. */
static int copy_open(const struct bl_far_copy *copy, struct bl_error *e)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", copy->fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? bl_error_errno(e, BL_EFAIL, "%s: cannot open its copy", copy->object.url) : fd;
}

int bl_copies_follow(struct bl_copies *c, const struct bl_remote_object *object, struct bl_far_copy **out,
                     struct bl_error *e)
{
    int fd = BL_EFAIL;
    pthread_mutex_lock(&c->lock);
    struct bl_far_copy *copy = copies_need(c, object);
    int code = copy ? copy_need_file(copy, e) : bl_error_memory(e);
    if (!code)
        fd = copy_open(copy, e);
    if (!code && fd >= 0) {
        copy_revive(copy);
        copy->readers++;
        *out = copy;
    }
    pthread_mutex_unlock(&c->lock);
    return code ? code : fd;
}

void bl_copies_leave(struct bl_far_copy *copy)
{
    struct bl_copies *c = copy->copies;
    pthread_mutex_lock(&c->lock);
    copy->readers--;
    copy_retire(copy);
    pthread_mutex_unlock(&c->lock);
}

/* Has the extent fetched at once. */
static int copy_hurry(struct bl_far_copy *copy, struct extent *extent, struct bl_error *e)
{
    struct bl_copies *c = copy->copies;
    if (extent->state == EXTENT_MISSING && !extent->is_urgent) {
        extent->is_urgent = true;
        copy->urgent++;
        c->urgent++;
        copy_enqueue(copy, true);
    }
    return c->fetchers ? BL_OK : bl_error_set(e, BL_EFAIL, "cannot start a thread");
}

/* Returns the extent at an offset, which is new if there was none. NULL: memory ran out. */
static struct extent *copy_need_extent(struct bl_far_copy *copy, int64_t offset, struct bl_error *e)
{
    size_t i = copy_find_extent(copy, offset);
    if (i == copy->extents || copy->extent[i].begin > offset) {
        /* A reader that goes on gets more each time; one that only ends a document needs little. */
        bool is_next = offset && offset == copy->demanded;
        copy->demand = !is_next ? DEMAND_LEAST : copy->demand < PART ? 2 * copy->demand : PART;
        if (copy_add_range(copy, offset, offset + copy->demand, e))
            return NULL;
        i = copy_find_extent(copy, offset);
        copy->demanded = copy->extent[i].end;
    }
    return &copy->extent[i];
}

/* Does bl_copies_wait with the lock held. */
static int copy_wait(struct bl_far_copy *copy, int64_t offset, int64_t *ready, struct bl_error *e)
{
    struct bl_copies *c = copy->copies;
    for (*ready = 0; offset < copy->object.size;) {
        if (copy->code)
            return copy->error ? bl_error_pass(e, copy->code, copy->error) : bl_error_memory(e);
        struct extent *extent = copy_need_extent(copy, offset, e);
        if (!extent)
            return BL_EFAIL;
        bool was_ahead = extent->is_ahead;
        extent->is_read = true;
        extent_set_ahead(c, extent, false);
        if (was_ahead && c->missing.first)
            copies_wake(c, 0);
        *ready = extent->begin + extent->filled - offset;
        if (*ready > 0)
            return BL_OK;
        BL_TRY(copy_hurry(copy, extent, e));
        c->waiting++;
        pthread_cond_wait(&c->has_data, &c->lock);
        c->waiting--;
    }
    return BL_OK;
}

int bl_copies_wait(struct bl_far_copy *copy, int64_t offset, int64_t *ready, struct bl_error *e)
{
    pthread_mutex_lock(&copy->copies->lock);
    int code = copy_wait(copy, offset, ready, e);
    pthread_mutex_unlock(&copy->copies->lock);
    return code;
}

int bl_copies_get(struct bl_copies *c, const struct bl_remote_object *object, struct bl_error *e)
{
    struct bl_far_copy *copy;
    int fd = bl_copies_follow(c, object, &copy, e), code = BL_OK;
    if (fd < 0)
        return fd;
    bl_copies_announce(c, object, 0, object->size);
    for (int64_t at = 0, ready; !code && at < object->size; at += ready)
        code = bl_copies_wait(copy, at, &ready, e);
    bl_copies_release(c, object);
    bl_copies_leave(copy);
    if (code)
        close(fd);
    return code ? code : fd;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

int bl_copies_open(struct bl_copies **out, bl_copies_fetch *fetch, void *context, struct bl_error *e)
{
    struct rlimit limit;
    struct bl_copies *c = calloc(1, sizeof *c);
    if (!c || pthread_mutex_init(&c->lock, NULL) != 0) {
        free(c);
        return bl_error_memory(e);
    }
    (void)pthread_cond_init(&c->has_work, NULL);
    (void)pthread_cond_init(&c->has_data, NULL);
    c->fetch = fetch;
    c->context = context;
    /* Workers need descriptors, too. */
    c->open_max = OPEN_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < OPEN_MAX)
        c->open_max = (int)(limit.rlim_cur / 4);
    *out = c;
    return BL_OK;
}

void bl_copies_close(struct bl_copies *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->is_closing = true;
    pthread_cond_broadcast(&c->has_work);
    pthread_mutex_unlock(&c->lock);
    for (int i = 0; i < c->fetchers; i++)
        pthread_join(c->fetcher[i], NULL);
    for (size_t i = 0; i < BUCKETS; i++) {
        while (c->bucket[i])
            copy_free(c->bucket[i]);
    }
    (void)pthread_cond_destroy(&c->has_data);
    (void)pthread_cond_destroy(&c->has_work);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}
