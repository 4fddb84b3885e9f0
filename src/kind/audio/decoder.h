/* The decoded samples of an audio stream, a frame at a time, from the first to the last that is meant to be heard.
 *
 * libav takes away what encoders put in front (and behind, where the container says so by packet). What an encoder of
 * fixed frames left behind the end of a QuickTime track is taken away here: the track's duration tells. Samples that
 * are no finite numbers are counted, and are 0 from here on: one would spoil its neighbours in every filter. */
#ifndef BL_DECODER_H
#define BL_DECODER_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media/demux.h"

#define BL_AUDIO_DECODER_QUEUE 3 /* frames that are decoded before the first of them is given away */

#define BL_AUDIO_DECODER_RATE_MIN 100 /* Hz */
#define BL_AUDIO_DECODER_RATE_MAX 3072000
#define BL_AUDIO_DECODER_CHANNELS_MAX 64

struct bl_audio_decoder {
    struct bl_demux demux;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *queue[BL_AUDIO_DECODER_QUEUE]; /* in order, the first queued of them */
    int queued;
    bool draining, ended;
    int64_t packets;
    int64_t decoded;   /* samples of each channel, by the decoder */
    int64_t given;     /* samples of each channel, by bl_audio_decoder_next */
    int rate;          /* of the frame before; 0: none yet */
    bool changed;      /* the rate was another before */
    int64_t errors;    /* packets or calls to which the decoder answered with an error */
    int64_t corrupt;   /* frames that the decoder marked as damaged */
    bool cut;          /* the container ended by a fault */
    int64_t origin;    /* time stamp of the first frame */
    int64_t nonfinite; /* samples, of any channel, that are no finite numbers */
};

/* Arguments and errors as bl_demux_open's; BL_EDATA also where no decoder can be had. After a failure there is nothing
 * to close. */
int bl_audio_decoder_open(struct bl_audio_decoder *s, const char *path, int64_t bytes, int stream,
                          const struct bl_cancel *cancel, struct bl_error *e);
void bl_audio_decoder_close(struct bl_audio_decoder *s);

/* Whether decoding may begin anywhere, with the same samples as from the beginning: samples as they are, and FLAC,
 * whose frames do not depend on each other, in files that tell their places to the sample. After the first frame. */
bool bl_audio_decoder_can_seek(const struct bl_audio_decoder *s);

/* Goes to the frame that holds a sample: 1, and *at is the number of the sample that comes next, that one or one before
 * it. 0: that cannot be, and the sound must be opened again. BL_EFAIL, BL_ECANCEL. What was decoded before is counted
 * no more. */
int bl_audio_decoder_seek(struct bl_audio_decoder *s, int64_t sample, int64_t *at, struct bl_error *e);

/* The next frame: 1, 0 at the end, or BL_EFAIL, BL_ECANCEL; BL_EDATA for a rate or channels out of bounds. What the
 * decoder objects to is counted, and decoding goes on. The frame is the caller's to unref. */
int bl_audio_decoder_next(struct bl_audio_decoder *s, AVFrame *frame, struct bl_error *e);

#endif
