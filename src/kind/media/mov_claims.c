#include "kind/media/mov_claims.h"

#include <libavutil/intreadwrite.h>
#include <stdbool.h>

#include "base/window.h"

#define DEPTH_MAX 16
#define BOXES_MAX (1 << 20) /* of a file: a day in fragments of a second has fewer */
#define RUNS_MAX 4096       /* of a table that says how many samples a chunk has: further ones count as the largest */
#define SOUND_PACKET 1024   /* samples that are indexed together, of sound without compression */
#define PER_SAMPLE_FLAGS 0xf00u /* a fragment's run has an entry for each sample */

/* The track that is being read. A table that occurs twice counts by its larger number. */
struct track {
    bool sound;
    bool unit_steps;       /* every sample lasts one tick: samples of sound, indexed in packets */
    int64_t equal;         /* samples of one size */
    int64_t chunks;        /* parts of the file with samples */
    int64_t chunk_longest; /* samples of the longest */
};

struct claims {
    struct bl_window window;
    struct track track;
    int64_t count;
    int boxes;
};

static int64_t claims_add(int64_t a, int64_t b)
{
    return b > INT64_MAX / 128 - a ? INT64_MAX / 128 : a + b;
}

/* Reads a number of 4 bytes; beyond the end: 0. */
static int64_t claims_read(struct claims *c, int64_t at)
{
    return (int64_t)bl_window_number(&c->window, at, 4, true);
}

static void track_end(struct claims *c)
{
    const struct track *t = &c->track;
    int64_t packets = t->chunk_longest / SOUND_PACKET + 1; /* both factors are below 2^32 */
    if (t->sound && t->unit_steps)
        c->count = claims_add(c->count, t->chunks > INT32_MAX ? INT64_MAX / 128 : t->chunks * packets);
    else
        c->count = claims_add(c->count, t->equal);
    c->track = (struct track){0};
}

static void track_read_chunk_lengths(struct claims *c, int64_t at)
{
    int64_t runs = claims_read(c, at + 4);
    for (int64_t i = 0; i < runs && i < RUNS_MAX; i++) {
        int64_t samples = claims_read(c, at + 12 + 12 * i);
        if (samples > c->track.chunk_longest)
            c->track.chunk_longest = samples;
    }
}

/* The tables, by their names; at: behind the box's header. */
static void claims_read_table(struct claims *c, uint32_t name, int64_t at)
{
    struct track *t = &c->track;
    switch (name) {
    case MKBETAG('h', 'd', 'l', 'r'):
        t->sound = t->sound || claims_read(c, at + 8) == MKBETAG('s', 'o', 'u', 'n');
        break;
    case MKBETAG('s', 't', 't', 's'):
        t->unit_steps = claims_read(c, at + 4) == 1 && claims_read(c, at + 12) == 1;
        break;
    case MKBETAG('s', 't', 's', 'z'):
        if (claims_read(c, at + 4) && claims_read(c, at + 8) > t->equal)
            t->equal = claims_read(c, at + 8);
        break;
    case MKBETAG('s', 't', 's', 'c'):
        track_read_chunk_lengths(c, at);
        break;
    case MKBETAG('s', 't', 'c', 'o'):
    case MKBETAG('c', 'o', '6', '4'):
        if (claims_read(c, at + 4) > t->chunks)
            t->chunks = claims_read(c, at + 4);
        break;
    case MKBETAG('t', 'r', 'u', 'n'):
        if (!(claims_read(c, at) & PER_SAMPLE_FLAGS))
            c->count = claims_add(c->count, claims_read(c, at + 4));
        break;
    default:
        break;
    }
}

/* What libavformat looks into. */
static bool box_has_boxes(uint32_t name)
{
    static const char names[][5] = {"moov", "trak", "mdia", "minf", "stbl", "moof",
                                    "traf", "mvex", "edts", "dinf", "wide"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (AV_RB32(names[i]) == name)
            return true;
    }
    return false;
}

/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX */
static void claims_read_boxes(struct claims *c, int64_t at, int64_t end, int depth)
{
    while (at < end - 7 && c->boxes++ < BOXES_MAX) {
        uint64_t size = (uint64_t)claims_read(c, at);
        uint32_t name = (uint32_t)claims_read(c, at + 4);
        int64_t inside = at + (size == 1 ? 16 : 8);
        if (size == 1)
            size = bl_window_number(&c->window, at + 8, 8, true);
        int64_t after = size == 0 || size > (uint64_t)(end - at) ? end : at + (int64_t)size;
        if (after < inside)
            return;
        if (box_has_boxes(name) && depth < DEPTH_MAX)
            claims_read_boxes(c, inside, after, depth + 1);
        else
            claims_read_table(c, name, inside);
        if (name == MKBETAG('t', 'r', 'a', 'k'))
            track_end(c);
        at = after;
    }
}

int bl_mov_claims_count(const struct bl_media_file *file, int64_t *count, struct bl_error *e)
{
    struct claims c = {.window = {.fd = file->fd, .path = file->path, .size = file->bytes, .e = e}};
    claims_read_boxes(&c, 0, file->bytes, 0);
    track_end(&c);
    *count = c.count;
    return c.window.code;
}
