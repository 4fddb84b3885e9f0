/* Decodes an audio stream, frame by frame, from the first sample that is meant to be heard to the last.
 *
 * Encoders add samples at both ends (delay and padding). If the container states to the sample what is to be heard
 * (extent.h), only that is returned. Otherwise libav removes the delay, and the padding where the container states it
 * by packet; this file removes the padding after the end of a QuickTime track, by the track's duration. Samples that
 * are NaN or infinite are counted and set to 0, as one of them would spoil its neighbours in every filter. Where
 * timestamps count (marks.h), gaps are filled with zeros, and overlaps cut. More than two channels have a layout only
 * if the file states one: a layout that follows from their number alone is removed. */
#ifndef BL_DECODER_H
#define BL_DECODER_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/audio/marks.h"
#include "kind/media/decoder_memory.h"
#include "kind/media/demux.h"
#include "kind/media/extent.h"

#define BL_AUDIO_DECODER_QUEUE 3 /* frames that are decoded ahead: so many may be cut at the end */

#define BL_AUDIO_CHANNELS_MAX 64 /* of a file, and wanted: those that swresample takes */

#define BL_AUDIO_DECODER_RATE_MIN 100 /* Hz */
#define BL_AUDIO_DECODER_RATE_MAX 3072000

struct bl_audio_decoder {
    struct bl_demux demux;
    AVCodecContext *codec;
    struct bl_decoder_guard guard;
    AVPacket *packet;
    AVFrame *queue[BL_AUDIO_DECODER_QUEUE]; /* the first `queued` are decoded frames in order, the others empty */
    int queued;
    bool draining;           /* the last packet was sent, and the decoder outputs the frames that it still holds */
    bool ended;              /* the decoder has output its last frame */
    struct bl_extent extent; /* the samples to be heard; scale 0: all that libav outputs */
    int64_t passed;          /* samples of the extent's clock that were decoded */
    int64_t skipped;         /* those of them that lie before the extent */
    int64_t packets;         /* sent to the decoder */
    int64_t decoded;         /* samples of each channel */
    int rate;                /* Hz, of the previous frame; 0: there was none */
    bool rate_changed;       /* an earlier frame had another rate */
    int64_t errors;          /* packets or calls that the decoder rejected */
    int64_t corrupt;         /* frames that the decoder marked as damaged */
    bool broken_off;         /* the packets ended with a fault in the container */
    int64_t origin;          /* time stamp of the first frame, in ticks, or AV_NOPTS_VALUE */
    struct bl_gaps gaps;
    int64_t silence;   /* samples that are missing before the first queued frame; -1: its place is not known yet */
    int64_t nonfinite; /* samples, of any channel, that were NaN or infinite */
    int64_t loud;      /* samples, of any channel, beyond +-1, of a codec that stores floats without loss */
    double peak;       /* the greatest of them, without its sign */
    bool has_rest;     /* the last packet ended with less than a sample: an error, unless it is padding at the end */
};

/* Opens a file. gap is the limit of bl_gaps, in seconds. The other arguments and errors are those of bl_demux_open;
 * BL_EDATA also if there is no decoder. A failed open needs no close. */
int bl_audio_decoder_open(struct bl_audio_decoder *s, const char *path, int64_t bytes, int stream,
                          struct bl_rational gap, const struct bl_kind_env *env, struct bl_error *e);
void bl_audio_decoder_close(struct bl_audio_decoder *s);

/* Returns whether decoding may begin anywhere and gives the same samples as from the beginning. This holds for PCM, and
 * for FLAC, whose frames do not depend on each other, in files with time stamps to the sample. Call it after the first
 * frame. */
bool bl_audio_decoder_can_seek(const struct bl_audio_decoder *s);

/* Seeks the frame that holds a sample. *at is the number of the first sample of the next frame, which is not after the
 * requested one. *found is false if seeking failed; s can then only be closed. After a seek, s->decoded is no longer
 * the number of the stream's samples. BL_EFAIL, BL_ECANCEL. */
int bl_audio_decoder_seek(struct bl_audio_decoder *s, int64_t sample, int64_t *at, bool *found, struct bl_error *e);

/* Goes to the frame that begins with the point's sample, by decoding from some packets before it on. Use
 * bl_sound_point_matches to find whether the samples are the same as from the beginning. Otherwise it is like
 * bl_audio_decoder_seek. */
int bl_audio_decoder_resume(struct bl_audio_decoder *s, const struct bl_sound_point *point, bool *found,
                            struct bl_error *e);

/* Returns the next frame, which the caller unreferences; *got is false at the end. A packet that does not decode is
 * counted and skipped. BL_EFAIL, BL_ECANCEL; BL_EDATA for a rate or number of channels out of bounds, and for a frame
 * that needs more memory than the limit. */
int bl_audio_decoder_next(struct bl_audio_decoder *s, AVFrame *frame, bool *got, struct bl_error *e);

#endif
