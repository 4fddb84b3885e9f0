#include <libavcodec/vorbis_parser.h>

#include "base/input_file.h"
#include "kind/media/extent.h"

#define HEAD 27                 /* bytes of a page before the lengths of its segments */
#define HEADERS 3               /* packets before those of sound */
#define SAMPLES_MAX (1LL << 40) /* so that nothing overflows at any rate */
#define FIRST 2                 /* flag of a page that begins a stream */
#define LAST 4                  /* of one that ends it */

struct page {
    int64_t at, after; /* where it and the next one begin */
    int flags, segments;
    int64_t granule; /* samples up to the end of the last packet that ends in it; -1: none does */
    uint32_t serial; /* of its stream */
};

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

/* A packet gives what overlaps with the one before it: the first one nothing. */
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

/* Notes that a stream begins. */
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
        .window = {.fd = file->input.fd, .begin = file->input.begin, .path = file->path, .size = file->bytes, .e = e},
        .head = -1,
        .position = -1};
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
