/* The decoded frames of a video file, in order, to the last one. One thread, so that damaged streams too give the same
 * frames every time; or a GPU, whose frames are surfaces in its memory. */
#ifndef BL_DECODE_H
#define BL_DECODE_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/media/demux.h"
#include "kind/video/session_pool.h"
#include "kind/video/timeline.h"

struct bl_decode {
    struct bl_demux demux;
    struct bl_session_pool *sessions; /* that lend the codec, or NULL: it is our own */
    struct bl_session *session;       /* that they lent */
    AVCodecContext *codec;
    AVPacket *packet;
    bool at_end;      /* of the packets */
    bool draining;    /* the decoder knows */
    bool odd;         /* a frame was damaged, or of two fields */
    int64_t time_end; /* of the frame before, or AV_NOPTS_VALUE */
    int64_t dts_end;  /* of the packet before, or AV_NOPTS_VALUE */
    int64_t shift;    /* added to the packets' times, which are made to go on where recordings were joined */
    int64_t least;    /* bytes of a packet that is all there */
    int64_t refused;  /* packets or calls to which the decoder answered with an error */
    bool gpu_full;
    bool cut; /* the container ended by a fault, or a packet is not all there */
};

/* Arguments and errors as bl_demux_open's. After a failure there is nothing to close. */
int bl_decode_open(struct bl_decode *f, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                   const struct bl_cancel *cancel, struct bl_error *e);

/* The same on a GPU, by a codec context that the sessions lend until the frames are closed. */
int bl_decode_open_gpu(struct bl_decode *f, struct bl_session_pool *sessions, const char *path, int64_t bytes,
                       int stream, enum bl_demux_mode mode, const struct bl_cancel *cancel, struct bl_error *e);
void bl_decode_close(struct bl_decode *f);

/* Goes on at a restart, having read the first packet only (decoders learn from it what encoder made the stream). True
 * when the next packet is the restart's; else the object is of no more use. The frame of the first packet may still
 * come. */
int bl_decode_seek(struct bl_decode *f, const struct bl_restart *restart, bool *found, struct bl_error *e);

/* The next frame that is shown: 1, 0 at the end, or BL_EFAIL, BL_ECANCEL. What the decoder objects to is counted, and
 * decoding goes on. The frame is the caller's to unref. On a GPU also BL_EDATA, for what it cannot decode; and
 * f->gpu_full is set with BL_EFAIL where its memory did not suffice. */
int bl_decode_next(struct bl_decode *f, AVFrame *frame, struct bl_error *e);

/* Whether the decoder marked the frame as damaged (concealed, or with lost references). */
bool bl_decode_is_damaged(const AVFrame *frame);

/* When the frame is shown, in ticks of the stream's time base, or AV_NOPTS_VALUE; and when it is over. As in the ffmpeg
 * command, a frame without a time follows on the one before, one without a duration lasts as long as the stream's rate
 * has it, and in transport streams and their like leaps (back, or 10 s ahead) are taken out. */
int64_t bl_decode_time(const AVFrame *frame);
int64_t bl_decode_time_end(const struct bl_decode *f, const AVFrame *frame);

#endif
