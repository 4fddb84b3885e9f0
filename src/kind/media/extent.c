#include "kind/media/extent.h"

#include <libavcodec/vorbis_parser.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mathematics.h>
#include <math.h>

/* --- boxes of QuickTime files ------------------------------------------------------------------------------------- */

/* A number of 4 bytes; beyond the end: 0. */
static int64_t mov_read(struct bl_window *window, int64_t at)
{
    return (int64_t)bl_window_number(window, at, 4, true);
}

/* The ticks of a second in a head (mvhd, mdhd): behind two times, which a later version has made wider. */
static int64_t mov_read_scale(struct bl_window *window, int64_t at)
{
    return mov_read(window, at + (mov_read(window, at) >> 24 == 1 ? 20 : 12));
}

bool bl_mov_box_read(struct bl_window *window, int64_t at, int64_t end, struct bl_mov_box *box)
{
    if (at >= end - 7)
        return false;
    uint64_t size = (uint64_t)mov_read(window, at);
    box->name = (uint32_t)mov_read(window, at + 4);
    box->inside = at + (size == 1 ? 16 : 8);
    if (size == 1)
        size = bl_window_number(window, at + 8, 8, true);
    box->after = size == 0 || size > (uint64_t)(end - at) ? end : at + (int64_t)size;
    return box->after >= box->inside;
}

/* --- claimed samples ---------------------------------------------------------------------------------------------- */

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

/* What the boxes of a file claim. count is an upper bound of the entries of libavformat's index. */
struct claims {
    struct bl_window window;
    struct track track;
    int64_t scale; /* of all tracks: ticks of a second, in which edits are measured */
    int64_t count;
    int boxes;
};

/* Adds numbers that a file claims, up to a limit that leaves room for 128 bytes each. */
static int64_t claims_add(int64_t a, int64_t b)
{
    return b > INT64_MAX / 128 - a ? INT64_MAX / 128 : a + b;
}

static int64_t claims_read(struct claims *c, int64_t at)
{
    return mov_read(&c->window, at);
}

/* Reads the head of a table: its number of entries, or -1 if they are too many. */
static int64_t claims_read_entries(struct claims *c, int64_t table)
{
    int64_t entries = table ? claims_read(c, table + 4) : 0;
    return entries > ENTRIES_MAX ? -1 : entries;
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
    int64_t steps = claims_read_entries(c, t->times), shortest = steps > 0 ? INT64_MAX : 0; /* ticks of a sample */
    for (int64_t i = 0; i < steps; i++) {
        int64_t ticks = claims_read(c, t->times + 12 + 8 * i);
        shortest = ticks < shortest ? ticks : shortest;
    }
    int64_t distance = track_distance_longest(c);
    const double scale = (double)(t->scale ? t->scale : 1) / (double)(c->scale ? c->scale : 1);
    for (int64_t i = 0; i < entries && i < there; i++) {
        int64_t at = t->edits + 8 + size * i;
        uint64_t ticks = (uint64_t)claims_read(c, at);
        if (wide)
            ticks = ticks << 32 | (uint64_t)claims_read(c, at + 4);
        double most = shortest ? (double)ticks * scale / (double)shortest : INFINITY; /* samples that the edit shows */
        int64_t shown = claims_add(most < (double)t->samples ? (int64_t)most + 1 : t->samples, 3 * distance);
        sum = claims_add(sum, (shown < t->samples ? shown : t->samples) + t->samples / SEARCHED);
    }
    if (sum > t->samples)
        c->count = claims_add(c->count, sum - t->samples);
}

/* Adds what the track claims to the count, after its last box. Sound of one tick a sample is indexed in packets. */
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

/* Reads the table stsc: runs of chunks with the same number of samples. */
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
        c->scale = mov_read_scale(&c->window, at);
        break;
    case MKBETAG('m', 'd', 'h', 'd'):
        t->scale = mov_read_scale(&c->window, at);
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

/* Reads the boxes between two offsets, and those within the boxes that libavformat looks into. */
/* NOLINTNEXTLINE(misc-no-recursion): at most DEPTH_MAX */
static void claims_read_boxes(struct claims *c, int64_t at, int64_t end, int depth)
{
    static const char names[][5] = {"moov", "trak", "mdia", "minf", "stbl", "moof",
                                    "traf", "mvex", "edts", "dinf", "wide"};
    struct bl_mov_box box;
    while (c->boxes++ < BOXES_MAX && bl_mov_box_read(&c->window, at, end, &box)) {
        bool has_boxes = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            has_boxes = has_boxes || AV_RB32(names[i]) == box.name;
        if (has_boxes && depth < DEPTH_MAX)
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
    struct claims c = {.window = {.file = &file->input, .path = file->path, .size = file->bytes, .e = e}};
    claims_read_boxes(&c, 0, file->bytes, 0);
    track_end(&c);
    *count = c.count;
    return c.window.code;
}

/* --- extents in QuickTime ----------------------------------------------------------------------------------------- */

#define EXTENT_BOXES_MAX (1 << 16) /* that are read, of a file */
#define EXTENT_DEPTH_MAX 8
#define EXTENT_RUNS_MAX (1 << 20) /* of the table of times */
#define EMPTY_MAX 16              /* edits without media, before the one that has some */
#define TICKS_MAX (1LL << 40)     /* of a length, so that nothing overflows at any rate */

struct film {
    struct bl_window window;
    int64_t scale;  /* ticks of a second, in which edits are measured */
    bool fragments; /* media come in parts behind the heads of tracks, which tell no length */
    int boxes;
};

/* What a extent_track says of itself. */
struct extent_track {
    int64_t number;
    int64_t scale, length; /* ticks of a second, and of all its samples */
    int64_t edits;         /* where their table is, or 0 */
    bool sound;
};

/* Reads the box at *at, and moves *at behind it. False: there is none before end, or too many were read. */
static bool film_next_box(struct film *f, int64_t *at, int64_t end, struct bl_mov_box *box)
{
    if (f->boxes++ > EXTENT_BOXES_MAX || f->window.code || !bl_mov_box_read(&f->window, *at, end, box))
        return false;
    *at = box->after;
    return true;
}

/* A number of 4 bytes, or of 8 in the later version of a table. */
static int64_t film_read_wide(struct film *f, int64_t at, bool wide)
{
    return (int64_t)bl_window_number(&f->window, at, wide ? 8 : 4, true);
}

/* Whether a table is of version 1, whose times have 8 bytes. */
static bool table_is_wide(struct film *f, int64_t at)
{
    return mov_read(&f->window, at) >> 24 == 1;
}

/* Adds up what the samples of the table last. (What the media's head says may be without an encoder's delay.) */
static void track_add_times(struct film *f, struct extent_track *t, int64_t at)
{
    int64_t runs = mov_read(&f->window, at + 4);
    for (int64_t i = 0; i < runs && t->length <= TICKS_MAX; i++) {
        int64_t samples = mov_read(&f->window, at + 8 + 8 * i), ticks = mov_read(&f->window, at + 12 + 8 * i);
        if (f->window.ended || i == EXTENT_RUNS_MAX || (samples && ticks > TICKS_MAX / samples))
            t->length = TICKS_MAX + 1; /* not to be understood */
        else
            t->length += samples * ticks;
    }
}

/* Reads the boxes of a track, and those within edts, mdia, minf and stbl. */
/* NOLINTNEXTLINE(misc-no-recursion): at most EXTENT_DEPTH_MAX */
static void track_read(struct film *f, struct extent_track *t, int64_t at, int64_t end, int depth)
{
    struct bl_mov_box box;
    while (film_next_box(f, &at, end, &box)) {
        bool wide = table_is_wide(f, box.inside);
        bool has_boxes = box.name == MKBETAG('e', 'd', 't', 's') || box.name == MKBETAG('m', 'd', 'i', 'a') ||
                         box.name == MKBETAG('m', 'i', 'n', 'f') || box.name == MKBETAG('s', 't', 'b', 'l');
        if (box.name == MKBETAG('t', 'k', 'h', 'd')) {
            t->number = mov_read(&f->window, box.inside + (wide ? 20 : 12));
        } else if (box.name == MKBETAG('m', 'd', 'h', 'd')) {
            t->scale = mov_read_scale(&f->window, box.inside);
        } else if (box.name == MKBETAG('s', 't', 't', 's')) {
            track_add_times(f, t, box.inside);
        } else if (box.name == MKBETAG('h', 'd', 'l', 'r')) {
            t->sound = t->sound || mov_read(&f->window, box.inside + 8) == MKBETAG('s', 'o', 'u', 'n');
        } else if (box.name == MKBETAG('e', 'l', 's', 't')) {
            t->edits = box.inside;
        } else if (has_boxes && depth < EXTENT_DEPTH_MAX) {
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
           mov_read(&f->window, at + (wide ? 16 : 8)) == 0x10000;
}

/* Where the shown part ends. Edits are measured in ticks of the film, which may be milliseconds: an edit that shows the
 * rest of the media but for such a tick shows all of it. Returns -1 for an edit of no length before more than
 * that: some mean everything by it. */
static int64_t track_find_end(const struct film *f, const struct extent_track *t, const struct edit *edit)
{
    int64_t shown = av_rescale(edit->shown, t->scale, f->scale), rest = t->length - edit->place;
    int64_t tick = t->scale / f->scale + 1;
    if (shown >= rest - tick)
        return t->length;
    return shown ? edit->place + shown : -1;
}

/* Sets the part of the track that its edits show: any number of empty ones, and one with media. In fragments, an edit
 * of no length shows all that follows. False: the track shows more than one part, or the edits do not say which. */
static bool track_find_extent(struct film *f, const struct extent_track *t, struct bl_extent *extent)
{
    bool wide = table_is_wide(f, t->edits);
    int64_t entries = mov_read(&f->window, t->edits + 4), empty = 0, size = wide ? 20 : 12;
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
    if (f->fragments && !empty) {
        *extent = (struct bl_extent){.scale = t->scale, .begin = edit.place, .end = INT64_MAX};
        return !edit.shown && !t->length;
    }
    if (f->fragments || edit.place >= t->length)
        return false;
    extent->scale = t->scale;
    extent->begin = edit.place;
    extent->end = track_find_end(f, t, &edit);
    extent->origin = av_rescale(empty, t->scale, f->scale);
    return extent->end > extent->begin;
}

/* Reads from moov what all tracks need: the ticks of a second, and whether fragments follow. */
static void film_read_head(struct film *f, int64_t at, int64_t end)
{
    struct bl_mov_box box;
    while (film_next_box(f, &at, end, &box)) {
        if (box.name == MKBETAG('m', 'v', 'h', 'd'))
            f->scale = mov_read_scale(&f->window, box.inside);
        f->fragments = f->fragments || box.name == MKBETAG('m', 'v', 'e', 'x');
    }
}

/* Reads the tracks of moov. *plain: some tracks of sound have edits, and each of them shows one part, which is all that
 * a reader needs to know. *extent: that of the track with this number. */
static void film_read_tracks(struct film *f, int64_t at, int64_t end, int64_t extent_track, bool *plain,
                             struct bl_extent *extent)
{
    struct bl_mov_box box;
    int parts = 0;
    while (film_next_box(f, &at, end, &box)) {
        struct extent_track t = {0};
        struct bl_extent own;
        if (box.name != MKBETAG('t', 'r', 'a', 'k'))
            continue;
        track_read(f, &t, box.inside, box.after, 0);
        if (!t.sound || !t.edits)
            continue;
        if (!track_find_extent(f, &t, &own))
            return;
        parts++;
        if (t.number == extent_track)
            *extent = own;
    }
    *plain = parts > 0;
}

int bl_extent_read_mov(const struct bl_media_file *file, int64_t extent_track, bool *plain, struct bl_extent *extent,
                       struct bl_error *e)
{
    struct film f = {.window = {.file = &file->input, .path = file->path, .size = file->bytes, .e = e}};
    struct bl_mov_box box;
    int64_t at = 0;
    *plain = false;
    *extent = (struct bl_extent){0};
    while (film_next_box(&f, &at, file->bytes, &box)) {
        if (box.name != MKBETAG('m', 'o', 'o', 'v'))
            continue;
        film_read_head(&f, box.inside, box.after);
        film_read_tracks(&f, box.inside, box.after, extent_track, plain, extent);
        break;
    }
    if (!*plain)
        *extent = (struct bl_extent){0};
    return f.window.code;
}

/* --- extents in Ogg ----------------------------------------------------------------------------------------------- */

#define HEAD 27                 /* bytes of a page before the lengths of its segments */
#define HEADERS 3               /* packets before those of sound */
#define SAMPLES_MAX (1LL << 40) /* so that nothing overflows at any rate */
#define FIRST 2                 /* flag of a page that begins a stream */
#define LAST 4                  /* of one that ends it */

/* The head of an Ogg page (RFC 3533, 6). */
struct page {
    int64_t at, after; /* where it and the next one begin */
    int flags, segments;
    int64_t granule; /* samples up to the end of the last packet that ends in it; -1: none does */
    uint32_t serial; /* of its stream */
};

/* The state of a walk over all pages of a file, of which one logical stream counts. */
struct pages {
    struct bl_window window;
    AVVorbisParseContext *parser;
    uint32_t serial; /* of the stream that is followed */
    int begun;       /* streams */
    bool found;      /* it is among those */
    int64_t packets; /* that ended */
    int head;        /* the first byte of the packet that is going on; -1: it has none yet */

    int64_t samples;    /* of all packets that ended */
    int64_t since;      /* of those behind the last granule position */
    int64_t position;   /* the last granule position; -1: none yet */
    int64_t skip, over; /* samples too many at the beginning and the end */
    int64_t origin;
    int longest; /* samples of a packet */
    bool ended, unsteady;
};

static uint32_t pages_byte(struct pages *p, int64_t at)
{
    return (uint32_t)bl_window_number(&p->window, at, 1, false);
}

/* Reads the head of a page. False: there is none. */
static bool page_read(struct pages *p, int64_t at, struct page *page)
{
    if (bl_window_number(&p->window, at, 5, true) != UINT64_C(0x4f67675300)) /* OggS, version 0 */
        return false;
    page->at = at;
    page->flags = (int)pages_byte(p, at + 5);
    page->granule = (int64_t)bl_window_number(&p->window, at + 6, 8, false);
    page->serial = (uint32_t)bl_window_number(&p->window, at + 14, 4, false);
    page->segments = (int)pages_byte(p, at + 26);
    page->after = at + HEAD + page->segments;
    for (int i = 0; i < page->segments; i++)
        page->after += pages_byte(p, at + HEAD + i);
    return page->after <= p->window.size;
}

/* Adds the samples of a packet that has ended. Blocks of Vorbis overlap: a packet gives the samples that overlap with
 * the one before it, so the first packet gives none. */
static void packet_end(struct pages *p)
{
    uint8_t head = (uint8_t)p->head;
    if (p->packets++ < HEADERS || p->head < 0)
        return;
    int samples = av_vorbis_parse_frame(p->parser, &head, 1);
    p->longest = samples > p->longest ? samples : p->longest;
    if (samples > 0 && p->packets > HEADERS + 1) {
        p->samples += samples;
        p->since += samples;
    }
}

/* Adds the packets that end in a page. Returns their number, without headers. */
static int64_t page_add_packets(struct pages *p, const struct page *page)
{
    int64_t at = page->at + HEAD + page->segments, before = p->packets;
    for (int i = 0; i < page->segments; i++) {
        uint32_t size = pages_byte(p, page->at + HEAD + i);
        if (size && p->head < 0)
            p->head = (int)pages_byte(p, at);
        at += size;
        if (size == 255)
            continue;
        packet_end(p);
        p->head = -1;
    }
    before = before < HEADERS ? HEADERS : before;
    return p->packets > before ? p->packets - before : 0;
}

/* The position says how many samples there are up to here. Less at first: so many at the beginning are not meant to be
 * heard; but at the end of the stream, be it at first or later: so many at the end. */
static void page_add_position(struct pages *p, const struct page *page)
{
    bool first = p->position < 0;
    int64_t reached = first ? p->samples : p->position + p->since;
    if (reached > page->granule && (page->flags & LAST))
        p->over = reached - page->granule;
    else if (reached > page->granule && first)
        p->skip = reached - page->granule;
    p->unsteady = p->unsteady || (!first && reached != page->granule && !p->over);
    if (first)
        p->origin = reached < page->granule ? page->granule - reached : 0;
    p->position = page->granule;
    p->since = 0;
}

/* Notes that a stream begins. It is the wanted one if it has the wanted index, and its first packet is a head of
 * Vorbis. */
static void pages_begin_stream(struct pages *p, const struct page *page, int index)
{
    static const char magic[] = "\x01vorbis";
    if (p->begun++ != index)
        return;
    p->serial = page->serial;
    p->found = true;
    for (int i = 0; i < (int)sizeof magic - 1; i++)
        p->found = p->found && pages_byte(p, page->at + HEAD + page->segments + i) == (uint8_t)magic[i];
}

/* Goes through the pages. False: there are others than of one stream with its end, beside other streams. */
static bool pages_follow(struct pages *p, int64_t at, int index)
{
    struct page page;
    for (; page_read(p, at, &page); at = page.after) {
        bool begins = page.flags & FIRST;
        if (begins && p->packets > 1)
            return false; /* behind this one */
        if (begins)
            pages_begin_stream(p, &page, index);
        if (!p->found || page.serial != p->serial)
            continue;
        if (p->ended)
            return false;
        bool packets = page_add_packets(p, &page) > 0;
        if (page.granule > SAMPLES_MAX || p->samples > SAMPLES_MAX)
            return false;
        if (packets && page.granule >= 0)
            page_add_position(p, &page);
        p->ended = page.flags & LAST;
    }
    return p->ended && p->position >= 0;
}

int bl_extent_read_ogg(const struct bl_media_file *file, int index, const AVCodecParameters *parameters,
                       struct bl_extent *extent, struct bl_error *e)
{
    struct pages p = {
        .window = {.file = &file->input, .path = file->path, .size = file->bytes, .e = e}, .head = -1, .position = -1};
    *extent = (struct bl_extent){0};
    if (parameters->codec_id != AV_CODEC_ID_VORBIS || parameters->sample_rate < 1 || parameters->extradata_size < 1)
        return BL_OK;
    p.parser = av_vorbis_parse_init(parameters->extradata, parameters->extradata_size);
    if (!p.parser)
        return BL_OK;
    bool whole = pages_follow(&p, file->tags, index);
    av_vorbis_parse_free(&p.parser);
    extent->blur = p.longest;
    if (p.window.code || !whole)
        return p.window.code;
    int64_t last = p.samples - p.over;
    *extent = (struct bl_extent){.scale = parameters->sample_rate,
                                 .begin = p.skip,
                                 .end = p.over ? (last > p.skip ? last : p.skip) : INT64_MAX,
                                 .origin = p.origin,
                                 .steady = !p.unsteady,
                                 .blur = p.longest};
    return BL_OK;
}
