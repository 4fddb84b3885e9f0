/* Shares the decoders of the GPUs between the readers of a process.
 *
 * A session is a codec context that decodes one stream after another. A GPU worker has a queue, a pool of sessions and
 * a readback. All readers share one pool of GPU workers. Creating a decoder costs as much as decoding some dozen
 * frames, so sessions and workers are reused. */
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

/* Appends the names of the usual codecs that all of these GPUs can decode at 1920x1080, such as "H.264, HEVC". */
int bl_gpu_append_codecs(struct bl_gpu *gpu, struct bl_buffer *out, struct bl_error *e);

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* A session is a codec context that decodes one stream after another on a GPU, without a new hardware decoder for each.
 *
 * Most of FFmpeg's decoders keep the hardware decoder when they are flushed. The H.264 decoder does not, so H.264
 * streams are spliced instead. After the last packet of a stream the session sends the stream's first packet again,
 * marked as discarded, until the decoder has output all frames. The next stream begins with an IDR picture, as after
 * any splice.
 *
 * A session takes another stream only if the previous one cannot change its frames: both streams must have the same
 * parameters, and the context must end in the state in which it began. */

/* The properties of a codec context that a stream may change. Compared as bytes, so it has no padding. */
struct bl_session_state {
    int width, height, delay; /* the coded size in pixels; the reordering delay in frames */
    enum AVColorSpace space;
    enum AVColorRange range;
    enum AVColorTransferCharacteristic transfer;
    enum AVColorPrimaries primaries;
    enum AVChromaLocation location;
    AVRational aspect;
};

/* Counts the timestamps of a stream that are out of order, to choose between pts and dts. */
struct bl_session_times {
    int64_t last_pts, last_dts;     /* INT64_MIN: none yet */
    int64_t faulty_pts, faulty_dts; /* how many were not later than the one before */
};

struct bl_session {
    AVCodecContext *codec;           /* the pool opens and closes it */
    AVCodecParameters *parameters;   /* of the stream that the codec was opened for; owned */
    AVPacket *opening;               /* the current stream's first packet, if another stream may be spliced; owned */
    struct bl_session_state initial; /* the state after the first packet of the current stream */
    AVRational rate;                 /* frames per second in the stream's own header, or 0/1 */
    AVRational container_rate;       /* frames per second in the container, or 0/1 */
    int streams;                     /* streams so far */
    struct bl_session_times times;   /* of the current stream's frames */
    int resent;                      /* how often `opening` was sent again */
    bool started;                    /* a packet of the current stream was sent */

    bool lent;     /* the pool has lent it to a reader */
    uint64_t used; /* the pool's clock when it was last lent */
};

/* Prepares the session for the next stream. rate is the container's frame rate, 0/1 if it is unknown. */
void bl_session_ready(struct bl_session *session, AVRational time_base, AVRational rate);

/* Sends the next packet, or NULL after the last one. After NULL, *ended tells whether the decoder will output all
 * frames that it holds; if not, receive the frames and call it with NULL again. clean: the decoder reported nothing
 * unusual so far. Returns the codes of avcodec_send_packet. */
int bl_session_send(struct bl_session *session, AVPacket *packet, bool clean, bool *ended);

/* Sets the best effort timestamp of a frame by libavcodec's algorithm. Call it for each frame in output order.
 * libavcodec's own value depends on the streams before, because nothing resets its counters. */
void bl_session_guess_time(struct bl_session *session, AVFrame *frame);

/* --- session pools ------------------------------------------------------------------------------------------------ */

/* A session pool keeps a GPU worker's codec contexts between the files that it decodes.
 *
 * Creating a context costs as much as decoding some dozen frames, so a context is lent to the next file of the same
 * codec, size, colours and header. A full pool closes the least recently used session; if the GPU's memory is not
 * enough, it closes all idle sessions. A session is kept only after a file without any fault, so that no file can
 * change the frames of the next. */

#define BL_SESSION_POOL_MAX 3 /* sessions of a worker, including the one that is lent */

struct bl_session_pool {
    const struct bl_gpu_functions *gpu;
    struct bl_gpu_queue *queue;
    struct bl_session session[BL_SESSION_POOL_MAX]; /* codec NULL: the slot is free */
    uint64_t clock;
    int64_t opened, reused, evicted;
};

void bl_session_pool_begin(struct bl_session_pool *sessions, const struct bl_gpu_functions *gpu,
                           struct bl_gpu_queue *queue);
void bl_session_pool_end(struct bl_session_pool *sessions);

/* Lends a session for the stream: an idle one that fits, or a new one. A worker borrows one session at a time. Errors
 * as bl_gpu_functions.open_codec. */
int bl_session_pool_acquire(struct bl_session_pool *sessions, const AVCodecParameters *parameters,
                            struct bl_session **session, struct bl_error *e);

/* Returns the session to the pool, and sets *session to NULL; NULL is fine as input. clean: the decoder reported
 * nothing unusual. A session that no other stream may follow is closed. */
void bl_session_pool_release(struct bl_session_pool *sessions, struct bl_session **session, bool clean);

/* Closes the idle sessions to free the GPU's memory, and returns their number. */
int bl_session_pool_evict(struct bl_session_pool *sessions);

/* --- GPU workers -------------------------------------------------------------------------------------------------- */

/* A GPU worker decodes one piece at a time. It has a queue, sessions that decode on it, and a readback of pictures. */

struct bl_gpu_worker {
    const struct bl_gpu_functions *functions;
    struct bl_gpu_queue *queue;
    struct bl_session_pool sessions;
    struct bl_readback readback;
    struct bl_gpu_worker *next; /* belongs to the pool */
};

/* Opens a worker for pictures of this many bytes. Close it before the GPUs. */
int bl_gpu_worker_open(struct bl_gpu_worker **worker, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                       size_t bytes, struct bl_error *e);
void bl_gpu_worker_close(struct bl_gpu_worker *worker); /* NULL is fine */

/* --- pool of GPU workers ------------------------------------------------------------------------------------------ */

/* A reader takes a worker for a piece, and gives it back.
 *
 * An engine decodes one picture at a time. Two workers keep it busy: while the pictures of one are drawn and copied,
 * the engine decodes for the other. More workers gain nothing, and creating each takes 40 ms, one after the other (on
 * an H200). So the pool makes at most BL_GPU_WORKERS_PER_ENGINE workers for each engine, however many readers there
 * are, and only when a reader finds none idle. The pool is a stack: the worker that was given back last is the most
 * likely to have a session that fits, and the pool makes no more workers than run at the same time. */

#define BL_GPU_WORKERS_PER_ENGINE 2

struct bl_gpu_pool;

int bl_gpu_pool_open(struct bl_gpu_pool **pool, const struct bl_gpu_functions *functions, struct bl_gpu *gpu,
                     struct bl_error *e);
/* Closes all workers; each must have been given back. Close the pool before the GPUs. NULL is fine. */
void bl_gpu_pool_close(struct bl_gpu_pool *pool);

/* Registers a reader, and unregisters it. A reader that leaves closes one idle worker that the remaining readers cannot
 * need. Readers end at the same time, so their threads share the time that closing takes. */
void bl_gpu_pool_enter(struct bl_gpu_pool *pool);
void bl_gpu_pool_leave(struct bl_gpu_pool *pool);

/* Takes a worker for pictures of this many bytes; waits until one is given back if the largest number is in use. A
 * worker for pictures of another size is closed and made anew. */
int bl_gpu_pool_take(struct bl_gpu_pool *pool, size_t bytes, struct bl_gpu_worker **worker, struct bl_error *e);
void bl_gpu_pool_give(struct bl_gpu_pool *pool, struct bl_gpu_worker *worker);

#endif
