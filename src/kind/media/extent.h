/* What containers say of samples: which samples of a stream of sound are to be heard, and how many samples a QuickTime
 * file claims. */
#ifndef BL_EXTENT_H
#define BL_EXTENT_H

#include <libavcodec/codec_par.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/input_file.h"
#include "kind/media/media_file.h"

/* --- extents ------------------------------------------------------------------------------------------------------ */

/* Which samples of a stream of sound are to be heard, by what the container says to the sample: QuickTime's list of
 * edits and the length of its media, and Ogg's granule positions of Vorbis. libav rounds QuickTime's to the ticks of a
 * film, and loses the last packet of a short Ogg stream. */

/* In ticks from the first sample that the decoder gives, when it removes nothing itself. */
struct bl_extent {
    int64_t scale;      /* ticks of a second; 0: nothing is known, and libav's answer counts */
    int64_t begin, end; /* [begin, end) is heard; end INT64_MAX: up to the last */
    int64_t origin;     /* when it begins, by the container's clock */
    bool steady;        /* the positions of its pages follow from its packets: nothing is missing within */
    int blur;           /* samples by which libav's timestamps may be wrong within a page */
};

/* Reads the edits of all tracks of sound of a QuickTime file. *plain: each has at most one part that is shown, at
 * normal speed, and one has such a part, so that extents say all. track: the number of the one to fill extent for, or
 * -1. BL_EFAIL: the file cannot be read. */
int bl_extent_read_mov(const struct bl_media_file *file, int64_t track, bool *plain, struct bl_extent *extent,
                       struct bl_error *e);

/* Reads the granule positions of a stream of Vorbis: the index-th to begin in an Ogg file. extent->scale is 0 where the
 * file is damaged, several streams follow each other, or it ends before its end is marked. BL_EFAIL: memory, or the
 * file cannot be read. Source: Vorbis I, A.2; libvorbis for what a single page cuts off. */
int bl_extent_read_ogg(const struct bl_media_file *file, int index, const AVCodecParameters *parameters,
                       struct bl_extent *extent, struct bl_error *e);

/* --- boxes of QuickTime files ------------------------------------------------------------------------------------- */

struct bl_mov_box {
    uint32_t name;
    int64_t inside, after; /* where its contents and what follows it begin */
};

/* Reads the box at an offset, within one that ends there. False: there is none. */
bool bl_mov_box_read(struct bl_window *window, int64_t at, int64_t end, struct bl_mov_box *box);

/* --- claimed samples ---------------------------------------------------------------------------------------------- */

/* How many samples the tables of a QuickTime file claim without having an entry for each: libavformat makes an index of
 * all of them before it reads any, so that a few bytes could fill any memory. */

#define BL_MOV_CLAIM_BYTES 64 /* that an index and our lists take for a sample */

/* Their number; 0 for a file that is none of QuickTime's. BL_EFAIL: the file cannot be read. */
int bl_mov_claims_count(const struct bl_media_file *file, int64_t *count, struct bl_error *e);

#endif
