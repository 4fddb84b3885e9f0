#include "kind/media/mov_claims.h"

#include <libavutil/intreadwrite.h>
#include <math.h>
#include <stdbool.h>

#include "base/window.h"
#include "kind/media/mov_box.h"

#define DEPTH_MAX 16
#define BOXES_MAX (1 << 20) /* of a file: a day in fragments of a second has fewer */
#define RUNS_MAX 4096       /* of a table that says how many samples a chunk has: further ones count as the largest */
#define SOUND_PACKET 1024   /* samples that are indexed together, of sound without compression */
#define ENTRIES_MAX                                                                                                    \
    (1 << 20)         /* of the tables that edits are weighed by: with more, an edit counts as the whole track */
#define SEARCHED 4096 /* samples that are passed, to find an edit, in the time that indexing one takes */
#define PER_SAMPLE_FLAGS 0xf00u /* a fragment's run has an entry for each sample */

/* The track that is being read. A table that occurs twice counts by its larger number. */
struct track {
    bool sound;
    bool unit_steps;            /* every sample lasts one tick: samples of sound, indexed in packets */
    int64_t equal;              /* samples of one size */
    int64_t chunks;             /* parts of the file with samples */
    int64_t chunk_longest;      /* samples of the longest */
    int64_t samples;            /* all of them */
    int64_t scale;              /* ticks of a second */
    int64_t times, keys, edits; /* where tables are: of the samples' lengths, of key frames, of edits; or 0 */
};

struct claims {
    struct bl_window window;
    struct track track;
    int64_t scale; /* of all tracks: ticks of a second, in which edits are measured */
    int64_t count;
    int boxes;
};

static int64_t claims_add(int64_t a, int64_t b)
{
    return b > INT64_MAX / 128 - a ? INT64_MAX / 128 : a + b;
}

static int64_t claims_read(struct claims *c, int64_t at)
{
    return bl_mov_read(&c->window, at);
}

/* Reads the head of a table: its number of entries, or -1 if they are too many. */
static int64_t claims_read_entries(struct claims *c, int64_t table)
{
    int64_t entries = table ? claims_read(c, table + 4) : 0;
    return entries > ENTRIES_MAX ? -1 : entries;
}

/* The shortest time that a sample lasts, in ticks; 0: none. */
static int64_t track_step_shortest(struct claims *c)
{
    int64_t entries = claims_read_entries(c, c->track.times), shortest = INT64_MAX;
    for (int64_t i = 0; i < entries; i++) {
        int64_t ticks = claims_read(c, c->track.times + 12 + 8 * i);
        shortest = ticks < shortest ? ticks : shortest;
    }
    return entries > 0 ? shortest : 0;
}

/* The most samples from one key frame to the next. Without a table each is one, with an empty one only the first. */
static int64_t track_distance_longest(struct claims *c)
{
    int64_t entries = claims_read_entries(c, c->track.keys), longest = 1, last = 1;
    if (c->track.keys && entries <= 0)
        return c->track.samples;
    for (int64_t i = 0; i < entries; i++) {
        int64_t sample = claims_read(c, c->track.keys + 8 + 4 * i);
        longest = sample - last > longest ? sample - last : longest;
        last = sample;
    }
    return entries && c->track.samples - last > longest ? c->track.samples - last : longest;
}

/* How many samples an edit shows, at the most, for the ticks that it lasts. */
static int64_t edit_length(const struct claims *c, uint64_t ticks, int64_t shortest)
{
    double scale = (double)(c->track.scale ? c->track.scale : 1) / (double)(c->scale ? c->scale : 1);
    double steps = shortest ? (double)ticks * scale / (double)shortest : INFINITY;
    return steps < (double)c->track.samples ? (int64_t)steps + 1 : c->track.samples;
}

/* Counts the samples that a list of edits shows more often than once: libavformat indexes each time, from the key frame
 * before the edit to the second one behind it, and passes all samples to find the first. */
static void track_count_edits(struct claims *c)
{
    const struct track *t = &c->track;
    int64_t entries = t->edits ? claims_read(c, t->edits + 4) : 0, sum = 0;
    if (entries < 2 || t->samples < 1)
        return;
    bool wide = claims_read(c, t->edits) >> 24 == 1;
    int64_t size = wide ? 20 : 12, there = (c->window.size - t->edits - 8) / size;
    int64_t shortest = track_step_shortest(c), distance = track_distance_longest(c);
    for (int64_t i = 0; i < entries && i < there; i++) {
        int64_t at = t->edits + 8 + size * i;
        uint64_t ticks = (uint64_t)claims_read(c, at);
        if (wide)
            ticks = ticks << 32 | (uint64_t)claims_read(c, at + 4);
        int64_t shown = claims_add(edit_length(c, ticks, shortest), 3 * distance);
        sum = claims_add(sum, (shown < t->samples ? shown : t->samples) + t->samples / SEARCHED);
    }
    if (sum > t->samples)
        c->count = claims_add(c->count, sum - t->samples);
}

static void track_end(struct claims *c)
{
    struct track *t = &c->track;
    int64_t packets = t->chunk_longest / SOUND_PACKET + 1; /* both factors are below 2^32 */
    if (t->sound && t->unit_steps) {
        t->samples = t->chunks > INT32_MAX ? INT64_MAX / 128 : t->chunks * packets;
        c->count = claims_add(c->count, t->samples);
    } else {
        c->count = claims_add(c->count, t->equal);
    }
    track_count_edits(c);
    c->track = (struct track){0};
}

/* Sizes that are written one by one are as many as there is room for. */
static void track_read_sizes(struct claims *c, int64_t at)
{
    struct track *t = &c->track;
    int64_t samples = claims_read(c, at + 8), there = (c->window.size - at) / 4;
    bool equal = claims_read(c, at + 4);
    if (equal && samples > t->equal)
        t->equal = samples;
    if (!equal && samples > there)
        samples = there;
    if (samples > t->samples)
        t->samples = samples;
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
    case MKBETAG('m', 'v', 'h', 'd'):
        c->scale = bl_mov_read_scale(&c->window, at);
        break;
    case MKBETAG('m', 'd', 'h', 'd'):
        t->scale = bl_mov_read_scale(&c->window, at);
        break;
    case MKBETAG('e', 'l', 's', 't'):
        t->edits = at;
        break;
    case MKBETAG('s', 't', 's', 's'):
        t->keys = at;
        break;
    case MKBETAG('s', 't', 't', 's'):
        t->times = at;
        t->unit_steps = claims_read(c, at + 4) == 1 && claims_read(c, at + 12) == 1;
        break;
    case MKBETAG('s', 't', 's', 'z'):
        track_read_sizes(c, at);
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
    struct bl_mov_box box;
    while (c->boxes++ < BOXES_MAX && bl_mov_box_read(&c->window, at, end, &box)) {
        if (box_has_boxes(box.name) && depth < DEPTH_MAX)
            claims_read_boxes(c, box.inside, box.after, depth + 1);
        else
            claims_read_table(c, box.name, box.inside);
        if (box.name == MKBETAG('t', 'r', 'a', 'k'))
            track_end(c);
        at = box.after;
    }
}

int bl_mov_claims_count(const struct bl_media_file *file, int64_t *count, struct bl_error *e)
{
    struct claims c = {
        .window = {.fd = file->input.fd, .begin = file->input.begin, .path = file->path, .size = file->bytes, .e = e}};
    claims_read_boxes(&c, 0, file->bytes, 0);
    track_end(&c);
    *count = c.count;
    return c.window.code;
}
