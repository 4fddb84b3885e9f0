#include "kind/media/demux.h"

#include <libavutil/intreadwrite.h>
#include <string.h>

#include "base/input_file.h"
#include "kind/media/extent.h"

#define BOXES_MAX (1 << 20) /* of a file: a day in fragments of a second has fewer */

/* Reads an EBML number (RFC 8794, 4): its leading zero bits count the bytes that follow. Returns its length in bytes,
 * at most 8; 0 if there is none, or its value is "unknown". */
static int ebml_read(const uint8_t *at, int64_t *value)
{
    int length = at[0] ? __builtin_clz(at[0]) - 23 : 0;
    uint64_t number = length ? at[0] & (0xff >> length) : 0;
    for (int i = 1; i < length; i++)
        number = number << 8 | at[i];
    *value = (int64_t)number;
    return length && number == (UINT64_C(1) << 7 * length) - 1 ? 0 : length;
}

/* The end of the element with this four-byte identifier at an offset; 0 if its size is unknown, or it lies beyond the
 * file's head. */
static int64_t ebml_end(const struct bl_demux *d, int64_t offset, const char *identifier)
{
    if (offset < 0 || offset > (int64_t)sizeof d->file.head - 12 || memcmp(d->file.head + offset, identifier, 4) != 0)
        return 0;
    int64_t size;
    int length = ebml_read(d->file.head + offset + 4, &size);
    return length ? offset + 4 + length + size : 0;
}

#define EBML_HEADER "\x1a\x45\xdf\xa3"

/* The EBML header comes first, then the segment with everything else. Its end, or 0: it does not tell. */
static int64_t matroska_end(const struct bl_demux *d)
{
    int64_t segment = ebml_end(d, 0, EBML_HEADER);
    return segment > 0 ? ebml_end(d, segment, "\x18\x53\x80\x67") : 0;
}

bool bl_truncation_is_joined(const struct bl_demux *d)
{
    uint8_t next[4];
    int64_t end = bl_demux_is_matroska(d) ? matroska_end(d) : 0;
    return end > 0 && end < d->file.bytes && bl_media_file_read(&d->file, next, sizeof next, end) == sizeof next &&
           !memcmp(next, EBML_HEADER, sizeof next);
}

/* A second moov that has neither a type nor media of its own is what a program left behind that moved the first. */
static int mov_find_second(const struct bl_demux *d, int64_t *second, struct bl_error *e)
{
    const struct bl_media_file *file = &d->file;
    struct bl_window window = {.file = &file->input, .path = file->path, .size = file->bytes, .e = e};
    struct bl_mov_box box;
    int heads = 0, types = 0, media = 0;
    int64_t at = 0;
    for (int i = 0; i < BOXES_MAX && bl_mov_box_read(&window, at, file->bytes, &box); i++) {
        types += box.name == MKBETAG('f', 't', 'y', 'p');
        media += box.name == MKBETAG('m', 'd', 'a', 't');
        if (box.name == MKBETAG('m', 'o', 'o', 'v') && ++heads == 2)
            *second = at;
        at = box.after;
    }
    if (types < 2 && media < 2)
        *second = 0;
    return window.code;
}

/* The end of a file that is one chunk of the size that it begins with; 0: it is not, or does not tell. */
static int64_t chunk_end(const struct bl_demux *d)
{
    const uint8_t *head = d->file.head;
    int64_t size = 0;
    if (memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WAVE", 4) == 0)
        size = 8 + (int64_t)AV_RL32(head + 4);
    else if (memcmp(head, "FORM", 4) == 0 && memcmp(head + 8, "AIF", 3) == 0)
        size = 8 + (int64_t)AV_RB32(head + 4);
    else if (memcmp(head, "riff\x2e\x91\xcf\x11", 8) == 0)
        size = AV_RL64(head + 16) < INT64_MAX ? (int64_t)AV_RL64(head + 16) : 0;
    return size;
}

int bl_truncation_find_second(const struct bl_demux *d, int64_t *at, struct bl_error *e)
{
    uint8_t next[8];
    *at = 0;
    if (bl_demux_is_mov(d))
        return mov_find_second(d, at, e);
    int64_t end = chunk_end(d);
    if (end <= 8 || end >= d->file.bytes)
        return BL_OK;
    end += d->file.head[0] == 'r' ? -end & 7 : end & 1;
    if (bl_media_file_read(&d->file, next, sizeof next, end) == sizeof next && memcmp(next, d->file.head, 4) == 0)
        *at = end;
    return BL_OK;
}

bool bl_truncation_detect(const struct bl_demux *d)
{
    /* Programs that cannot seek back write 2^32 - 1 as the size of an AVI file's RIFF chunk. */
    uint32_t riff = AV_RL32(d->file.head + 4);
    if (strcmp(d->format->iformat->name, "avi") == 0 && riff != UINT32_MAX && (int64_t)riff + 8 > d->file.bytes)
        return true;
    if (bl_demux_is_matroska(d) && matroska_end(d) > d->file.bytes)
        return true;
    int entries = avformat_index_get_entries_count(d->stream);
    for (int i = 0; i < entries; i++) {
        const AVIndexEntry *entry = avformat_index_get_entry(d->stream, i);
        if (entry && entry->pos > d->file.bytes - entry->size)
            return true;
    }
    return false;
}
