/* What decodes on the GPUs of a process: sessions, each a codec context for one stream after another; GPU workers,
 * each with a queue, sessions and a readback; and the pool of these workers, which all readers share. */
#ifndef BL_GPU_POOL_H
#define BL_GPU_POOL_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/video/gpu.h"
#include "kind/video/readback.h"

/* --- codecs of the GPUs ------------------------------------------------------------------------------------------- */

struct bl_gpu;

/* Appends the usual codecs that all of these GPUs (gpu.h) report to decode at 1920x1080: "H.264, HEVC". */
int bl_gpu_append_codecs(struct bl_gpu *gpu, struct bl_buffer *out, struct bl_error *e);

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* A session is a codec context that decodes one stream after another on a GPU, without a new hardware decoder for each.
 *
 * Most of FFmpeg's decoders keep the hardware decoder when they are flushed. The one of H.264 does not, so its streams
 * are spliced: after the last packet of a stream its first packet is sent again, marked to be discarded, until all
 * frames are out; the next stream begins with an instant refresh, as after any splice.
 *
 * A stream may only follow if nothing of the previous one can show in it: both must begin alike,
 * and the context must end in the state in which it began. */

/* What a context says of itself that a stream may change. Compared as bytes: no padding. */
struct bl_session_state {
    int width, height, delay; /* as coded; in frames */
    enum AVColorSpace space;
    enum AVColorRange range;
    enum AVColorTransferCharacteristic transfer;
    enum AVColorPrimaries primaries;
    enum AVChromaLocation location;
    AVRational aspect;
};

/* Which of a stream's times were in order so far. */
struct bl_session_times {
    int64_t last_pts, last_dts;     /* INT64_MIN: none yet */
    int64_t faulty_pts, faulty_dts; /* that were not later than the one before */
};

struct bl_session {
    AVCodecContext *codec;           /* its owner opens and closes it */
    AVCodecParameters *parameters;   /* of the stream that it was made for; owned */
    AVPacket *opening;               /* first packet of a stream that another may be spliced to, or NULL; owned */
    struct bl_session_state initial; /* after the first packet of the current stream */
    AVRational rate;                 /* frames per second by the stream's own header, or 0/1 */
    AVRational container_rate;       /* the same by the container */
    int streams;                     /* so far */
    struct bl_session_times times;   /* of the current stream's frames */
    int resent;                      /* how often `opening` was sent again */
    bool started;                    /* a packet of the current stream was sent */

    bool lent;     /* these two belong to the pool */
    uint64_t used; /* the pool's clock when it was last lent */
};

/* Prepares for the next stream. rate: 0/1 if unknown. */
void bl_session_ready(struct bl_session *session, AVRational time_base, AVRational rate);

/* Sends the next packet, or NULL if there are no more. After NULL, *ended says whether that was all; if not, receive
 * all frames and call it with NULL again. clean: the decoder reported nothing unusual so far. Returns as
 * avcodec_send_packet. */
int bl_session_send(struct bl_session *session, AVPacket *packet, bool clean, bool *ended);

/* Sets the best effort timestamp of each frame in the order in which they come, as libavcodec does: its own knows the
 * streams before, of which it cannot be told to forget. */
void bl_session_guess_time(struct bl_session *session, AVFrame *frame);

/* --- session pools ------------------------------------------------------------------------------------------------ */

/* A pool has a worker's codec contexts that decode on a GPU, kept between the files that it reads.
 *
 * Creating one costs as much as decoding some dozen frames. So a context is lent to the next file of the same codec,
 * size, colours and header. If there are too many, the least recently used one is closed; if the GPU's memory is not
 * enough, all idle ones. A context is only kept after a file without any fault, so that no file shows in the next. */

#define BL_SESSION_POOL_MAX 3 /* of a worker, including the one that is lent */

struct bl_session_pool {
    const struct bl_gpu_functions *gpu;
    struct bl_gpu_queue *queue;
    struct bl_session session[BL_SESSION_POOL_MAX]; /* codec NULL: the place is free */
    uint64_t clock;
    int64_t opened, reused, evicted;
};

void bl_session_pool_begin(struct bl_session_pool *sessions, const struct bl_gpu_functions *gpu,
                           struct bl_gpu_queue *queue);
void bl_session_pool_end(struct bl_session_pool *sessions);

/* Lends a session for the stream, kept or new; one at a time. Errors as bl_gpu_functions.open_codec's. */
int bl_session_pool_acquire(struct bl_session_pool *sessions, const AVCodecParameters *parameters,
                            struct bl_session **session, struct bl_error *e);

/* Takes it back, and sets it to NULL (which is fine as input). clean: the decoder reported nothing unusual. */
void bl_session_pool_release(struct bl_session_pool *sessions, struct bl_session **session, bool clean);

/* Closes the idle sessions, to free memory of the GPU; returns how many. */
int bl_session_pool_evict(struct bl_session_pool *sessions);

/* --- GPU workers -------------------------------------------------------------------------------------------------- */

/* What decodes a piece on a GPU: a queue, the sessions that decode on it, and the readback of pictures. */

struct bl_gpu_worker {
    const struct bl_gpu_functions *functions;
    struct bl_gpu_queue *queue;
    struct bl_session_pool sessions;
    struct bl_readback readback;
    struct bl_gpu_worker *next; /* belongs to the pool */
};

/* bytes: of a picture. Close it before the GPUs. */
int bl_gpu_worker_open(struct bl_gpu_worker **worker, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                       size_t bytes, struct bl_error *e);
void bl_gpu_worker_close(struct bl_gpu_worker *worker); /* NULL is fine */

/* --- pool of GPU workers ------------------------------------------------------------------------------------------ */

/* Each reader takes a worker for a piece, and gives it back.
 *
 * An engine decodes one picture after the other, and two decoders keep it busy: while the pictures of one are drawn and
 * fetched, the other one's are decoded. Further ones make nothing faster, and each takes 40 ms to create, one after the
 * other (on an H200). So there are at most BL_GPU_WORKERS_PER_ENGINE for each engine, however many readers there are;
 * they are made as pieces come that find none idle. The last one given back is the next one taken: its decoders are of
 * use most likely, and where a few workers suffice no others are made. */

#define BL_GPU_WORKERS_PER_ENGINE 2

struct bl_gpu_pool;

int bl_gpu_pool_open(struct bl_gpu_pool **pool, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                     struct bl_error *e);
/* All workers were given back. Close it before the GPUs. NULL is fine. */
void bl_gpu_pool_close(struct bl_gpu_pool *pool);

/* Counts a reader that may take workers. When it leaves, it closes one that the others will not need: so the readers'
 * threads, which end together, share the time that this takes. */
void bl_gpu_pool_enter(struct bl_gpu_pool *pool);
void bl_gpu_pool_leave(struct bl_gpu_pool *pool);

/* Takes a worker for pictures of so many bytes; where as many as there may be are taken, waits for one. */
int bl_gpu_pool_take(struct bl_gpu_pool *pool, size_t bytes, struct bl_gpu_worker **worker, struct bl_error *e);
void bl_gpu_pool_give(struct bl_gpu_pool *pool, struct bl_gpu_worker *worker);

#endif
