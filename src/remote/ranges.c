/* Reads objects by ranges, through windows that hold what was fetched. */
#include "remote/ranges.h"

#include <stdlib.h>
#include <string.h>

#define WINDOWS 8                 /* of an object: its header, its index, and tracks that lie apart */
#define LEAST ((int64_t)8 << 10)  /* bytes that are fetched after a jump */
#define FIRST ((int64_t)64 << 10) /* bytes that are fetched at the beginning of an input */
#define GROWTH 4                  /* so many times more are fetched where reading goes on, */
#define MOST ((int64_t)2 << 20)   /* up to these: what a connection carries in some 20 ms */
#define RESTING_MAX 4096          /* objects that rest: all of them are looked through at each open */
#define KEPT ((int64_t)256 << 20) /* bytes of all windows, beyond which those that were read are given up */

/* Bytes of an object that are there. */
struct window {
    uint8_t *data; /* NULL: the window is not used */
    int64_t begin, end;
    int64_t seen;  /* the reader has not got the bytes from here on */
    uint64_t used; /* when it was last read, as a count of reads */
};

struct bl_far {
    struct bl_ranges *ranges;
    struct bl_remote *remote;
    const struct bl_remote_object *object;
    struct bl_far *next; /* while it rests */
    struct window window[WINDOWS];
    uint64_t reads;
};

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

/* Frees a window. Bytes that nobody has read were not needed. */
static void window_free(struct bl_far *far, struct window *window)
{
    if (window->data)
        bl_remote_count_unused(far->remote, window->end - window->seen);
    atomic_fetch_sub(&far->ranges->bytes, window->end - window->begin);
    free(window->data);
    *window = (struct window){0};
}

/* Returns the window that holds the byte, or NULL. */
static struct window *far_find_window(struct bl_far *far, int64_t offset)
{
    for (int i = 0; i < WINDOWS; i++) {
        struct window *window = &far->window[i];
        if (window->data && offset >= window->begin && offset < window->end)
            return window;
    }
    return NULL;
}

/* Chooses the window that bytes are fetched into, and sets how many: more than before where reading goes on, or jumps
 * over less than was fetched. begin: of the input. */
static struct window *far_choose_window(struct bl_far *far, int64_t offset, int64_t begin, int64_t *ahead)
{
    bool is_full = atomic_load(&far->ranges->bytes) > KEPT;
    struct window *chosen = &far->window[0];
    *ahead = offset == begin ? FIRST : LEAST;
    /* The window that was not read for longest. */
    for (int i = 1; i < WINDOWS; i++)
        chosen = far->window[i].used < chosen->used ? &far->window[i] : chosen;
    for (int i = 0; i < WINDOWS; i++) {
        struct window *window = &far->window[i];
        bool goes_on = window->data && offset >= window->end && offset - window->end < window->end - window->begin;
        int64_t more = goes_on ? least_of(GROWTH * (window->end - window->begin), MOST) : 0;
        chosen = goes_on && is_full ? window : chosen;
        *ahead = more > *ahead ? more : *ahead;
    }
    return chosen;
}

/* Fetches bytes from the offset on, at least one. begin and end are those of the input. */
static int far_fetch(struct bl_far *far, int64_t offset, int64_t size, int64_t begin, int64_t end,
                     struct window **fetched, struct bl_error *e)
{
    int64_t ahead, from = offset;
    struct window *window = far_choose_window(far, offset, begin, &ahead);
    int64_t bytes = least_of(size > ahead ? size : ahead, end - offset);
    /* A small input is fetched as a whole. */
    if (end - begin <= FIRST) {
        from = begin;
        bytes = end - begin;
    }
    /* What another window holds is not fetched again. */
    for (int i = 0; i < WINDOWS && from == offset; i++) {
        if (far->window[i].data && far->window[i].begin > offset)
            bytes = least_of(bytes, far->window[i].begin - offset);
    }
    uint8_t *data = malloc((size_t)bytes);
    if (!data)
        return bl_error_memory(e);
    int code = bl_remote_read(far->remote, far->object, from, (size_t)bytes, data, e);
    if (code) {
        free(data);
        return code;
    }
    window_free(far, window);
    atomic_fetch_add(&far->ranges->bytes, bytes);
    *window = (struct window){.data = data, .begin = from, .end = from + bytes, .seen = from};
    *fetched = window;
    return BL_OK;
}

int bl_ranges_read(struct bl_far *far, void *data, size_t size, int64_t offset, int64_t begin, int64_t end,
                   struct bl_error *e)
{
    char *to = data;
    while (size) {
        struct window *window = far_find_window(far, offset);
        /* Nothing is gained by a copy of many bytes. */
        if (!window && (int64_t)size >= MOST)
            return bl_remote_read(far->remote, far->object, offset, size, to, e);
        if (!window)
            BL_TRY(far_fetch(far, offset, (int64_t)size, begin, end, &window, e));
        size_t part = (size_t)least_of((int64_t)size, window->end - offset);
        memcpy(to, window->data + (offset - window->begin), part);
        window->used = ++far->reads;
        to += part;
        offset += (int64_t)part;
        size -= part;
        window->seen = offset > window->seen ? offset : window->seen;
    }
    return BL_OK;
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

static void far_free(struct bl_far *far)
{
    for (int i = 0; i < WINDOWS; i++)
        window_free(far, &far->window[i]);
    free(far);
}

int bl_ranges_init(struct bl_ranges *ranges, struct bl_error *e)
{
    *ranges = (struct bl_ranges){.resting = NULL};
    return pthread_mutex_init(&ranges->lock, NULL) == 0 ? BL_OK : bl_error_memory(e);
}

void bl_ranges_free(struct bl_ranges *ranges)
{
    while (ranges->resting) {
        struct bl_far *far = ranges->resting;
        ranges->resting = far->next;
        far_free(far);
    }
    (void)pthread_mutex_destroy(&ranges->lock);
}

int bl_ranges_open(struct bl_ranges *ranges, struct bl_remote *remote, const struct bl_remote_object *object,
                   int64_t begin, struct bl_far **out, struct bl_error *e)
{
    struct bl_far **place, *far;
    (void)pthread_mutex_lock(&ranges->lock);
    for (place = &ranges->resting; *place && ((*place)->object != object || !far_find_window(*place, begin));)
        place = &(*place)->next;
    far = *place;
    if (far) {
        *place = far->next;
        ranges->count--;
    }
    (void)pthread_mutex_unlock(&ranges->lock);
    if (!far) {
        far = calloc(1, sizeof *far);
        if (!far)
            return bl_error_memory(e);
        *far = (struct bl_far){.ranges = ranges, .remote = remote, .object = object};
    }
    *out = far;
    return BL_OK;
}

/* Puts the object in front of those that rest. Beyond the limits, the half of them that rest for longest are freed, so
 * that the list is walked rarely. */
void bl_ranges_close(struct bl_far *far)
{
    struct bl_ranges *ranges = far->ranges;
    struct bl_far *last = NULL;
    (void)pthread_mutex_lock(&ranges->lock);
    far->next = ranges->resting;
    ranges->resting = far;
    ranges->count++;
    if (ranges->count > RESTING_MAX || atomic_load(&ranges->bytes) > KEPT) {
        struct bl_far *middle = far, *end = far;
        while (end && end->next) {
            middle = middle->next;
            end = end->next->next;
        }
        last = middle->next;
        middle->next = NULL;
    }
    (void)pthread_mutex_unlock(&ranges->lock);
    int freed = 0;
    for (struct bl_far *next; last; last = next, freed++) {
        next = last->next;
        far_free(last);
    }
    (void)pthread_mutex_lock(&ranges->lock);
    ranges->count -= freed;
    (void)pthread_mutex_unlock(&ranges->lock);
}
