/* Chooses whether the processor or a GPU decodes a video file, and decodes it. */
#ifndef BL_DECODE_H
#define BL_DECODE_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/env.h"
#include "kind/media/decoder_memory.h"
#include "kind/media/demux.h"
#include "kind/row.h"
#include "kind/video/gpu.h"
#include "kind/video/gpu_pool.h"
#include "kind/video/options.h"
#include "kind/video/timeline.h"

/* --- choice of the decoder ---------------------------------------------------------------------------------------- */

/* The scan decides whether the processor or a GPU decodes, and keeps it in the row (column "decoder"), so that every
 * later run on any machine does the same or reports that it cannot. */

#define BL_BACKEND_COLUMN "decoder"

enum bl_backend { BL_BACKEND_CPU, BL_BACKEND_NVDEC };

/* Finds out what a GPU would have to decode, by feeding packets to a decoder until it knows the format, without
 * decoding any. out->codec is AV_CODEC_ID_NONE if FFmpeg hands such a stream to no GPU, out->format AV_PIX_FMT_NONE if
 * there is no decoder or the format never shows. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_backend_probe(const char *path, int64_t bytes, int stream, const struct bl_kind_env *env,
                     struct bl_gpu_stream *out, struct bl_error *e);

/* Chooses who decodes a usable video. BL_EDATA: --decoder nvdec, and the GPU cannot (the reason is in e). */
int bl_backend_choose(const struct bl_video_config *config, const struct bl_kind_env *env, const char *path,
                      int64_t bytes, int stream, bool damaged, enum bl_backend *backend, struct bl_error *e);

/* Reads the choice from a row. BL_EFAIL: it is a GPU, and there is none here. */
int bl_backend_from_row(const struct bl_video_config *config, const struct bl_row *row, enum bl_backend *backend,
                        struct bl_error *e);

/* For AVCodecContext.get_format: fills in the stream, and returns whether FFmpeg offers to decode it on a GPU. */
bool bl_backend_describe(const AVCodecContext *context, const enum AVPixelFormat *formats, struct bl_gpu_stream *out);

/* Whether nv12_rgb.h can read surfaces of such pictures. */
bool bl_backend_supports_format(enum AVPixelFormat format);

/* FFmpeg's decoder of the codec that can use a GPU (not always its preferred one), or NULL. */
const AVCodec *bl_backend_find_decoder(enum AVCodecID codec);

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* Decodes all frames of a file, in display order, from the first that needs none before it. The processor decodes on
 * one thread, so that damaged streams give the same frames every time; a GPU gives frames that are surfaces in its
 * memory. */

struct bl_decode {
    struct bl_demux demux;
    enum bl_demux_mode mode;
    struct bl_session_pool *sessions; /* lends the codec, or NULL: it is our own */
    struct bl_session *session;       /* the one that was lent */
    AVCodecContext *codec;
    struct bl_decoder_guard guard; /* of our own codec */
    AVPacket *packet;
    AVPacket *opening;              /* a reference to the stream's first packet, once it was read */
    const struct bl_needed *needed; /* other packets are left out; NULL: none are */
    bool entered;                   /* packets from which decoding cannot begin are passed */
    bool no_entry;                  /* there are no others, so none was passed */
    bool at_end;                    /* there are no more packets */
    bool draining;                  /* and the decoder knows */
    bool unusual;                   /* a frame was damaged or interlaced */
    int64_t time_end;               /* of the previous frame, or AV_NOPTS_VALUE */
    int64_t dts_end;                /* of the previous packet, or AV_NOPTS_VALUE */
    int64_t shift;                  /* added to packet times to remove discontinuities */
    int64_t min_bytes;              /* of a complete packet */
    int64_t errors;                 /* packets or calls that the decoder rejected */
    bool gpu_full;
    bool truncated; /* the container ended with an error, or a packet is incomplete */
};

/* Arguments and errors as of bl_demux_open. Needs no close after a failure. */
int bl_decode_open(struct bl_decode *d, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                   const struct bl_kind_env *env, struct bl_error *e);

/* The same on a GPU, with a codec context that the pool lends until the close. */
int bl_decode_open_gpu(struct bl_decode *d, struct bl_session_pool *sessions, const char *path, int64_t bytes,
                       int stream, enum bl_demux_mode mode, const struct bl_kind_env *env, struct bl_error *e);
void bl_decode_close(struct bl_decode *d);

/* Continues at a restart, having decoded only the first packet, from which decoders learn which encoder made the
 * stream; its frame may still come, and leading pictures of the restart's, or what the decoder makes of them. What was
 * decoded before is forgotten; that is not possible on a GPU. *found: the next packet is the restart's; otherwise d can
 * only be closed. */
int bl_decode_seek(struct bl_decode *d, const struct bl_restart *restart, bool *found, struct bl_error *e);

/* Gives the next frame that is shown, to be unreferenced by the caller; *got is false at the end. Errors of the decoder
 * are counted, and decoding continues. BL_EFAIL, BL_ECANCEL; BL_EDATA for a picture that needs more memory than the
 * limit, and on a GPU for what it cannot decode; gpu_full is set with BL_EFAIL if its memory was not enough. */
int bl_decode_next(struct bl_decode *d, AVFrame *frame, bool *got, struct bl_error *e);

/* Whether the decoder marked the frame as damaged (concealed, or with lost references). */
bool bl_decode_is_damaged(const AVFrame *frame);

/* When a frame that was decoded ends, as of bl_frame_time. */
int64_t bl_decode_time_end(const struct bl_decode *d, const AVFrame *frame);

#endif
