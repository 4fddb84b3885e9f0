/* Chooses whether the processor or a GPU decodes a video file, and decodes the file.
 *
 * The two do not give the same bytes: a GPU scales and converts pictures with other arithmetic than the processor. So
 * the scan chooses once, and all readers follow its choice. */
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
#include "kind/video/deinterlace.h"
#include "kind/video/gpu.h"
#include "kind/video/gpu_pool.h"
#include "kind/video/options.h"
#include "kind/video/timeline.h"

/* --- choice of the decoder ---------------------------------------------------------------------------------------- */

/* The scan records its choice in the row (column "decoder"). Every later run on any machine decodes in the same way, or
 * reports that it cannot. */

#define BL_BACKEND_COLUMN "decoder"

enum bl_backend { BL_BACKEND_CPU, BL_BACKEND_NVDEC };

/* Finds the properties that decide whether a GPU can decode the stream: feeds packets to a decoder until the decoder
 * knows the pixel format, and stops it before it decodes a picture. out->format is AV_PIX_FMT_NONE if no GPU decodes
 * the codec, or if the first packets do not determine the format. Errors: BL_EFAIL, BL_ECANCEL. */
int bl_backend_probe(const char *path, int64_t bytes, int stream, const struct bl_kind_env *env,
                     struct bl_gpu_stream *out, struct bl_error *e);

/* Chooses the decoder of a usable video. With --decoder auto the processor decodes damaged videos. BL_EDATA: --decoder
 * is nvdec, and the GPU cannot decode the video (e has the reason). */
int bl_backend_choose(const struct bl_video_config *config, const struct bl_kind_env *env, const char *path,
                      int64_t bytes, int stream, bool damaged, enum bl_backend *backend, struct bl_error *e);

/* Reads the choice from a row. BL_EFAIL: the scan chose a GPU, and this machine has no usable one. */
int bl_backend_from_row(const struct bl_video_config *config, const struct bl_row *row, enum bl_backend *backend,
                        struct bl_error *e);

/* Returns whether NVDEC has surfaces for this format, which nv12_rgb.h can draw: YUV 4:2:0 or 4:4:4 of 8, 10 or 12
 * bits. Planes of R, G and B are left to the processor. */
bool bl_backend_supports_format(enum AVPixelFormat format);

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* Decodes the frames of a file in display order, beginning with the first packet at which decoding can begin. The
 * processor decodes on one thread, so that a damaged stream gives the same frames every time. The frames of a GPU are
 * surfaces in its memory. */

/* Gives the frames of a GPU the times that libavcodec's best effort gives: the pts, or, where more pts than dts are out
 * of order, or a packet has no pts, the dts of the packet that brings the frame out of the decoder. */
#define BL_DECODE_DTS 64

struct bl_decode_times {
    int64_t dts[BL_DECODE_DTS];     /* of the last packets; packet n is in n % BL_DECODE_DTS */
    int64_t packets, frames;        /* sent and received so far */
    int64_t last_pts, last_dts;     /* of frames; INT64_MIN: none yet */
    int64_t faulty_pts, faulty_dts; /* how many were not later than the one before */
};

struct bl_decode {
    struct bl_demux demux;
    enum bl_demux_mode mode;
    struct bl_gpu_worker *gpu; /* decodes; NULL: the processor does */
    bool on_gpu;               /* the GPU has begun the stream */
    AVCodecContext *codec;     /* the processor's decoder, which for a GPU decodes the first picture of a sequence */
    struct bl_decoder_guard guard; /* limits the codec's memory */
    AVPacket *key[2];             /* the last packet sent to a GPU at which decoding can begin, and the one behind it */
    AVFrame *like;                /* for a GPU: the properties of the sequence's pictures; no pixels */
    int sequence;                 /* of like, or -1 */
    struct bl_decode_times times; /* of a GPU's frames */
    AVPacket *packet;
    AVPacket *opening;                  /* a reference to the first packet of the stream, or NULL before it is read */
    const struct bl_needed *needed;     /* the packets to decode; NULL: all of them */
    bool entered;                       /* the packets at which decoding cannot begin were skipped */
    bool no_entry;                      /* decoding can begin at no packet, so it began at the first one */
    bool at_end;                        /* there are no more packets to send */
    bool draining;                      /* the decoder has got the end, and outputs the frames that it still holds */
    struct bl_deinterlace *deinterlace; /* filters the frames, see bl_decode_deinterlace; or NULL; owned */
    int64_t time_end;                   /* when the previous frame ends, in ticks, or AV_NOPTS_VALUE */
    int64_t dts_end;                    /* when the previous packet ends, in ticks, or AV_NOPTS_VALUE */
    int64_t shift;                      /* ticks added to the times of packets to remove discontinuities */
    int64_t min_bytes;                  /* the least size of a complete packet: see bl_peek_min_bytes */
    int64_t errors;                     /* packets or calls that the decoder rejected */
    bool gpu_full;                      /* decoding failed because the GPU's memory is not enough */
    bool truncated;                     /* the container ended with an error, or a packet is incomplete */
};

/* Opens a file for decoding on the processor. The arguments and errors are those of bl_demux_open. A failed open needs
 * no close. */
int bl_decode_open(struct bl_decode *d, const char *path, int64_t bytes, int stream, enum bl_demux_mode mode,
                   const struct bl_kind_env *env, struct bl_error *e);

/* Opens a file for decoding by a GPU worker, which decodes no other file until bl_decode_close. All frames must be
 * released before that. With gpu NULL it is bl_decode_open. */
int bl_decode_open_gpu(struct bl_decode *d, struct bl_gpu_worker *gpu, const char *path, int64_t bytes, int stream,
                       enum bl_demux_mode mode, const struct bl_kind_env *env, struct bl_error *e);
void bl_decode_close(struct bl_decode *d);

/* Continues decoding at a random access point; a GPU can do so only before its first frame. The decoder state is reset,
 * and a decoder on the processor first gets the first packet of the stream: decoders read there which encoder made the
 * stream, and work around its bugs. So the next frames may be that packet's frame, and leading pictures of the random
 * access point; the caller skips frames that are shown before restart->time. *found is false if seeking did not reach
 * the expected packet; d can then only be closed. */
int bl_decode_seek(struct bl_decode *d, const struct bl_access_point *access_point, bool *found, struct bl_error *e);

/* Deinterlaces the frames from now on, unless the mode is off or they are deinterlaced already. Call it before the
 * first frame is decoded. After bl_decode_seek the first frame that is decoded, and only that, may be another one than
 * in the whole file. Errors as bl_deinterlace_open. */
int bl_decode_deinterlace(struct bl_decode *d, enum bl_deinterlace_mode mode, struct bl_error *e);

/* Decodes the next frame that is shown; the caller unreferences it. *got is false at the end. A packet that the decoder
 * rejects is counted in d->errors, and decoding continues. Errors: BL_ECANCEL; BL_EDATA if a picture needs more memory
 * than the limit, or if the GPU cannot decode the content; BL_EFAIL, with gpu_full if the GPU's memory is not enough.
 */
int bl_decode_next(struct bl_decode *d, AVFrame *frame, bool *got, struct bl_error *e);

/* Returns whether the decoder marked the frame as damaged: it concealed errors, or references were lost. */
bool bl_decode_is_damaged(const AVFrame *frame);

/* Returns when a decoded frame ends, in ticks, or AV_NOPTS_VALUE if bl_frame_time does not know its beginning. A frame
 * without a duration lasts 1 / frame rate. */
int64_t bl_decode_time_end(const struct bl_decode *d, const AVFrame *frame);

#endif
