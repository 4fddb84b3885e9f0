#include <libavutil/intreadwrite.h>
#include <libavutil/mathematics.h>

#include "base/window.h"
#include "kind/media/extent.h"
#include "kind/media/mov_box.h"

#define BOXES_MAX (1 << 16) /* that are read, of a file */
#define DEPTH_MAX 8
#define RUNS_MAX (1 << 20)    /* of the table of times */
#define EMPTY_MAX 16          /* edits without media, before the one that has some */
#define TICKS_MAX (1LL << 40) /* of a length, so that nothing overflows at any rate */

struct film {
    struct bl_window window;
    int64_t scale;  /* ticks of a second, in which edits are measured */
    bool fragments; /* media come in parts behind the heads of tracks, which tell no length */
    int boxes;
};

/* What a track says of itself. */
struct track {
    int64_t number;
    int64_t scale, length; /* ticks of a second, and of all its samples */
    int64_t edits;         /* where their table is, or 0 */
    bool sound;
};

static bool film_next_box(struct film *f, int64_t *at, int64_t end, struct bl_mov_box *box)
{
    if (f->boxes++ > BOXES_MAX || f->window.code || !bl_mov_box_read(&f->window, *at, end, box))
        return false;
    *at = box->after;
    return true;
}

/* A number of 4 bytes, or of 8 in the later version of a table. */
static int64_t film_read_wide(struct film *f, int64_t at, bool wide)
{
    return (int64_t)bl_window_number(&f->window, at, wide ? 8 : 4, true);
}

static bool table_is_wide(struct film *f, int64_t at)
{
    return bl_mov_read(&f->window, at) >> 24 == 1;
}

/* Adds up what the samples of the table last. (What the media's head says may be without an encoder's delay.) */
static void track_add_times(struct film *f, struct track *t, int64_t at)
{
    int64_t runs = bl_mov_read(&f->window, at + 4);
    for (int64_t i = 0; i < runs && t->length <= TICKS_MAX; i++) {
        int64_t samples = bl_mov_read(&f->window, at + 8 + 8 * i), ticks = bl_mov_read(&f->window, at + 12 + 8 * i);
        if (f->window.ended || i == RUNS_MAX || (samples && ticks > TICKS_MAX / samples))
            t->length = TICKS_MAX + 1; /* not to be understood */
        else
            t->length += samples * ticks;
    }
}

static bool box_has_boxes(uint32_t name)
{
    return name == MKBETAG('e', 'd', 't', 's') || name == MKBETAG('m', 'd', 'i', 'a') ||
           name == MKBETAG('m', 'i', 'n', 'f') || name == MKBETAG('s', 't', 'b', 'l');
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX */
static void track_read(struct film *f, struct track *t, int64_t at, int64_t end, int depth)
{
    struct bl_mov_box box;
    while (film_next_box(f, &at, end, &box)) {
        bool wide = table_is_wide(f, box.inside);
        if (box.name == MKBETAG('t', 'k', 'h', 'd')) {
            t->number = bl_mov_read(&f->window, box.inside + (wide ? 20 : 12));
        } else if (box.name == MKBETAG('m', 'd', 'h', 'd')) {
            t->scale = bl_mov_read_scale(&f->window, box.inside);
        } else if (box.name == MKBETAG('s', 't', 't', 's')) {
            track_add_times(f, t, box.inside);
        } else if (box.name == MKBETAG('h', 'd', 'l', 'r')) {
            t->sound = t->sound || bl_mov_read(&f->window, box.inside + 8) == MKBETAG('s', 'o', 'u', 'n');
        } else if (box.name == MKBETAG('e', 'l', 's', 't')) {
            t->edits = box.inside;
        } else if (box_has_boxes(box.name) && depth < DEPTH_MAX) {
            track_read(f, t, box.inside, box.after, depth + 1);
        }
    }
}

/* An edit shows so many ticks of the film from a place in the media on; place -1: nothing for so long. */
struct edit {
    int64_t shown, place;
};

/* Reads an edit. False: it is none at normal speed. */
static bool edit_read(struct film *f, int64_t at, bool wide, struct edit *edit)
{
    edit->shown = film_read_wide(f, at, wide);
    edit->place = film_read_wide(f, at + (wide ? 8 : 4), wide);
    if (!wide)
        edit->place = (int32_t)edit->place;
    return edit->shown >= 0 && edit->shown < TICKS_MAX && edit->place >= -1 && edit->place < TICKS_MAX &&
           bl_mov_read(&f->window, at + (wide ? 16 : 8)) == 0x10000;
}

/* Where the shown part ends. Edits are measured in ticks of the film, which may be milliseconds: an edit that shows the
 * rest of the media but for such a tick shows all of it. Returns -1 for an edit of no length before more than
 * that: some mean everything by it. */
static int64_t track_find_end(const struct film *f, const struct track *t, const struct edit *edit)
{
    int64_t shown = av_rescale(edit->shown, t->scale, f->scale), rest = t->length - edit->place;
    int64_t tick = t->scale / f->scale + 1;
    if (shown >= rest - tick)
        return t->length;
    return shown ? edit->place + shown : -1;
}

/* In fragments an edit of no length shows all that follows. */
static bool track_find_open_extent(const struct track *t, const struct edit *edit, struct bl_extent *extent)
{
    *extent = (struct bl_extent){.scale = t->scale, .begin = edit->place, .end = INT64_MAX};
    return !edit->shown && !t->length;
}

/* False: more than one part is shown, or it cannot be said which. */
static bool track_find_extent(struct film *f, const struct track *t, struct bl_extent *extent)
{
    bool wide = table_is_wide(f, t->edits);
    int64_t entries = bl_mov_read(&f->window, t->edits + 4), empty = 0, size = wide ? 20 : 12;
    struct edit edit = {0};
    *extent = (struct bl_extent){0};
    if (entries < 1 || entries > EMPTY_MAX || f->scale < 1 || t->scale < 1 || t->scale > INT32_MAX ||
        t->length > TICKS_MAX)
        return false;
    for (int64_t i = 0; i < entries; i++) {
        if (!edit_read(f, t->edits + 8 + i * size, wide, &edit) || (edit.place < 0) != (i < entries - 1))
            return false;
        empty += edit.place < 0 ? edit.shown : 0;
    }
    if (f->fragments && !empty)
        return track_find_open_extent(t, &edit, extent);
    if (f->fragments || edit.place >= t->length)
        return false;
    extent->scale = t->scale;
    extent->begin = edit.place;
    extent->end = track_find_end(f, t, &edit);
    extent->origin = av_rescale(empty, t->scale, f->scale);
    return extent->end > extent->begin;
}

static void film_read_head(struct film *f, int64_t at, int64_t end)
{
    struct bl_mov_box box;
    while (film_next_box(f, &at, end, &box)) {
        if (box.name == MKBETAG('m', 'v', 'h', 'd'))
            f->scale = bl_mov_read_scale(&f->window, box.inside);
        f->fragments = f->fragments || box.name == MKBETAG('m', 'v', 'e', 'x');
    }
}

static void film_read_tracks(struct film *f, int64_t at, int64_t end, int64_t track, bool *plain,
                             struct bl_extent *extent)
{
    struct bl_mov_box box;
    int parts = 0;
    while (film_next_box(f, &at, end, &box)) {
        struct track t = {0};
        struct bl_extent own;
        if (box.name != MKBETAG('t', 'r', 'a', 'k'))
            continue;
        track_read(f, &t, box.inside, box.after, 0);
        if (!t.sound || !t.edits)
            continue;
        if (!track_find_extent(f, &t, &own))
            return;
        parts++;
        if (t.number == track)
            *extent = own;
    }
    *plain = parts > 0;
}

int bl_extent_read_mov(const struct bl_media_file *file, int64_t track, bool *plain, struct bl_extent *extent,
                       struct bl_error *e)
{
    struct film f = {
        .window = {.fd = file->input.fd, .begin = file->input.begin, .path = file->path, .size = file->bytes, .e = e}};
    struct bl_mov_box box;
    int64_t at = 0;
    *plain = false;
    *extent = (struct bl_extent){0};
    while (film_next_box(&f, &at, file->bytes, &box)) {
        if (box.name != MKBETAG('m', 'o', 'o', 'v'))
            continue;
        film_read_head(&f, box.inside, box.after);
        film_read_tracks(&f, box.inside, box.after, track, plain, extent);
        break;
    }
    if (!*plain)
        *extent = (struct bl_extent){0};
    return f.window.code;
}
