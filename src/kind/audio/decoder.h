/* The decoded samples of an audio stream, frame by frame, from the first to the last that is meant to be heard.
 *
 * Where the container says to the sample what is to be heard (extent.h), only that is given. Otherwise libav removes an
 * encoder's delay, and its padding where the container tells it by packet; the padding after the end of a QuickTime
 * track is removed here, by the track's duration. Samples that are NaN or infinite are counted and set
 * to 0: one of them would spoil its neighbours in every filter. Where timestamps count (marks.h), gaps are filled
 * with zeros, and overlaps cut. More than two channels have a layout only where the file states one: one that follows
 * from their number alone is removed. */
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
    AVFrame *queue[BL_AUDIO_DECODER_QUEUE]; /* decoded frames in order, the first `queued` of them */
    int queued;
    bool draining, ended;
    struct bl_extent extent; /* what is heard; scale 0: what libav gives */
    int64_t passed;          /* samples of the extent's clock that were decoded */
    int64_t skipped;         /* of them before the extent */
    int64_t packets;
    int64_t decoded;   /* samples of each channel */
    int rate;          /* of the frame before; 0: none yet */
    bool rate_changed; /* the rate was another before */
    int64_t errors;    /* packets or calls to which the decoder answered with an error */
    int64_t corrupt;   /* frames that the decoder marked as damaged */
    bool broken_off;   /* packets ended by a fault in the container */
    int64_t origin;    /* time stamp of the first frame */
    struct bl_gaps gaps;
    int64_t silence;   /* samples that are missing before the first queued frame; -1: its place is not known yet */
    int64_t nonfinite; /* samples, of any channel, that were NaN or infinite */
    int64_t loud;      /* samples, of any channel, beyond +-1, of a codec that stores floats without loss */
    double peak;       /* the greatest of them, without its sign */
    bool has_rest;     /* the last packet ended with less than a sample: an error, unless it is padding at the end */
};

/* gap: the limit of bl_gaps. Other arguments and errors as bl_demux_open's; BL_EDATA also where there is no
 * decoder. After a failure there is nothing to close. */
int bl_audio_decoder_open(struct bl_audio_decoder *s, const char *path, int64_t bytes, int stream,
                          struct bl_rational gap, const struct bl_kind_env *env, struct bl_error *e);
void bl_audio_decoder_close(struct bl_audio_decoder *s);

/* Whether decoding may begin anywhere and gives the same samples as from the beginning. True of PCM, and of FLAC, whose
 * frames do not depend on each other, in files with time stamps to the sample. To be asked after the first frame. */
bool bl_audio_decoder_can_seek(const struct bl_audio_decoder *s);

/* Seeks the frame that holds a sample; *at is the number of the first sample that comes next, not after the one asked
 * for. *found false: that failed, and the file must be opened again. BL_EFAIL, BL_ECANCEL. `decoded` no longer says how
 * many samples the stream has. */
int bl_audio_decoder_seek(struct bl_audio_decoder *s, int64_t sample, int64_t *at, bool *found, struct bl_error *e);

/* Goes to the frame that begins with the point's sample, by decoding from some packets before it on. Whether the same
 * samples come as from the beginning, bl_sound_point_matches tells. Otherwise as bl_audio_decoder_seek. */
int bl_audio_decoder_resume(struct bl_audio_decoder *s, const struct bl_sound_point *point, bool *found,
                            struct bl_error *e);

/* The next frame, the caller's to unref; *got is false at the end. Packets that do not decode are counted and skipped.
 * BL_EFAIL, BL_ECANCEL; BL_EDATA for a rate or number of channels out of bounds, and for a frame that needs more
 * memory than the limit. */
int bl_audio_decoder_next(struct bl_audio_decoder *s, AVFrame *frame, bool *got, struct bl_error *e);

#endif
