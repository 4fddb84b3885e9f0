#include "kind/video/needed.h"

#include <stdlib.h>

/* Marks a frame if some of the `times` steps that it fills, from *seen on, are wanted. */
static void needed_mark(struct bl_needed *n, size_t frame, int64_t times, int64_t *seen, int64_t first, int64_t steps)
{
    if (times > 0 && first + steps > *seen && *seen + times > first)
        n->frame[frame] = true;
    *seen += times;
}

/* The frames that are taken. Of the last one only its end tells; it is marked by to_end. */
static void needed_mark_taken(struct bl_needed *n, struct bl_pick *pick, int64_t first, int64_t steps)
{
    const struct bl_timestamps *shown = &n->timeline->shown;
    int64_t seen = 0;
    for (size_t i = 0; i < shown->count; i++) {
        int64_t times = bl_pick_push(pick, shown->time[i]);
        if (i > 0)
            needed_mark(n, i - 1, times, &seen, first, steps);
    }
}

/* Marks what the marked frames may refer to: all from the earliest packet that one of them needs, without what nothing
 * refers to. */
static void needed_mark_references(struct bl_needed *n)
{
    const struct bl_timeline *t = n->timeline;
    int64_t from = INT64_MAX;
    for (size_t i = t->shown.count; i-- > 0;) {
        const struct bl_coded *coded = &t->coded[i];
        bool *marked = &n->frame[coded->frame];
        *marked = *marked || (coded->packet >= from && !coded->disposable);
        if (*marked && coded->needs < from)
            from = coded->needs;
    }
}

static void needed_find_ends(struct bl_needed *n)
{
    const struct bl_timeline *t = n->timeline;
    for (size_t i = 0; i < t->shown.count; i++) {
        size_t frame = t->coded[i].frame;
        if (!n->frame[frame]) {
            n->left_out++;
            continue;
        }
        n->final = t->shown.time[frame];
        n->last = frame > n->last ? frame : n->last;
    }
}

int bl_needed_make(struct bl_needed *needed, const struct bl_timeline *timeline, struct bl_pick pick, int64_t first,
                   int64_t steps, bool to_end, struct bl_error *e)
{
    size_t count = timeline->shown.count;
    *needed = (struct bl_needed){.timeline = timeline, .frame = calloc(count ? count : 1, sizeof *needed->frame)};
    if (!needed->frame)
        return bl_error_memory(e);
    needed_mark_taken(needed, &pick, first, steps);
    if (count > 0) {
        needed->frame[timeline->coded[0].frame] = true; /* decoders learn from it which encoder made the stream */
        needed->frame[count - 1] = needed->frame[count - 1] || to_end;
    }
    needed_mark_references(needed);
    needed_find_ends(needed);
    return BL_OK;
}

void bl_needed_free(struct bl_needed *needed)
{
    free(needed->frame);
    *needed = (struct bl_needed){0};
}

bool bl_needed_has(const struct bl_needed *needed, int64_t time)
{
    size_t frame;
    return !bl_timestamps_find(&needed->timeline->shown, time, &frame) || needed->frame[frame];
}
