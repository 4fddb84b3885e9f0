/* Reads what containers state about samples: which samples of an audio stream are heard, and how many samples a
 * QuickTime file claims. */
#ifndef BL_EXTENT_H
#define BL_EXTENT_H

#include <libavcodec/codec_par.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/input_file.h"
#include "kind/media/media_file.h"

/* --- extents ------------------------------------------------------------------------------------------------------ */

/* An extent is the range of samples of an audio stream that are heard. Encoders add samples before the first and after
 * the last one, and the container tells which: QuickTime by edit lists and the length of the media, Ogg by the granule
 * positions of Vorbis. libav does not know these ranges exactly: it rounds QuickTime's to ticks of the movie, often
 * milliseconds, and loses the last packet of a short Ogg stream. */

/* A range in ticks, counted from the first sample of a decoder that removes none itself. */
struct bl_extent {
    int64_t scale;      /* ticks per second; 0: the container states no range, and libav's is used */
    int64_t begin, end; /* [begin, end) is heard; end INT64_MAX: up to the last sample */
    int64_t origin;     /* when the range begins by the container's clock, in ticks */
    bool steady;        /* Ogg: each page position equals the number of decoded samples, so nothing is missing */
    int blur;           /* Ogg: samples by which libav's timestamps within a page may be wrong */
};

/* Reads the edit lists of all audio tracks of a QuickTime file. *plain is true if at least one track has an edit list,
 * and each list shows exactly one part of its media, at normal speed: then an extent replaces libav's edit lists. Fills
 * in *extent for the track with this number (-1: for none). BL_EFAIL: the file cannot be read. */
int bl_extent_read_mov(const struct bl_media_file *file, int64_t track, bool *plain, struct bl_extent *extent,
                       struct bl_error *e);

/* Reads the granule positions of a Vorbis stream in an Ogg file; index counts the streams in the order in which they
 * begin, from 0. extent->scale is 0 if the file is damaged, if several streams follow each other, or if no page marks
 * the end of the stream. BL_EFAIL: out of memory, or the file cannot be read. Source: Vorbis I, A.2; libvorbis for the
 * samples that a single page cuts off. */
int bl_extent_read_ogg(const struct bl_media_file *file, int index, const AVCodecParameters *parameters,
                       struct bl_extent *extent, struct bl_error *e);

/* --- boxes of QuickTime files ------------------------------------------------------------------------------------- */

struct bl_mov_box {
    uint32_t name;         /* four characters, the first in the upper byte, as MKBETAG */
    int64_t inside, after; /* byte offsets of its contents and of the next box */
};

/* Reads the header of the box at byte offset `at`; `end` is where the enclosing box ends. Returns false if there is no
 * box. */
bool bl_mov_box_read(struct bl_window *window, int64_t at, int64_t end, struct bl_mov_box *box);

/* --- claimed samples ---------------------------------------------------------------------------------------------- */

/* The tables of a QuickTime file can claim any number of samples in a few bytes, for example "2^32 samples of one
 * size". libavformat builds an index of all samples before it reads the first, so a tiny file could fill the memory.
 * These claims are therefore counted before libavformat opens the file. */

#define BL_MOV_CLAIM_BYTES 64 /* the memory that libavformat's index and bload's lists take for a sample */

/* Sets *count to the number of samples that the tables claim without an entry for each; 0 for a file of another
 * container. BL_EFAIL: the file cannot be read. */
int bl_mov_claims_count(const struct bl_media_file *file, int64_t *count, struct bl_error *e);

#endif
