/* Limits the memory that decoding one input may take: an upper bound computed from its headers, and a guard that checks
 * the bound again while the input is decoded.
 *
 * The bound does not depend on the machine, so every machine skips the same files, before they take any memory. The
 * guard is needed because a stream may change the size of its pictures after the header. */
#ifndef BL_DECODER_MEMORY_H
#define BL_DECODER_MEMORY_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/env.h"
#include "kind/reservation.h"

/* --- upper bound -------------------------------------------------------------------------------------------------- */

/* The bound is computed before anything is decoded. It covers the decoder's reference pictures and tables, frames that
 * were decoded and not taken yet, and the buffers of the conversion, but not the block to which the result is written.
 */

/* Limits each single allocation of FFmpeg in this process to `limit` bytes, but no less than 64 MiB (0: 2 GiB). A
 * damaged header may claim a huge table, and a compressed text may expand without bound. */
void bl_decoder_memory_limit_parts(int64_t limit);

/* The known properties of a video stream. */
struct bl_coded_video {
    enum AVCodecID codec;
    int width, height;         /* pixels */
    enum AVPixelFormat format; /* AV_PIX_FMT_NONE: unknown */
    int level;                 /* of H.264 and H.265, in FFmpeg's units; 0 or less: unknown */
    int64_t pictures;          /* pictures in use, if the guard has counted them; else 0 */
};

/* Returns the bytes that decoding the video takes at most, or 0 if its size is unknown. */
int64_t bl_decoder_memory_video(const struct bl_coded_video *video);

/* Returns the largest area of a picture, in pixels, that can be decoded within `limit` bytes in the narrowest pixel
 * format. A larger picture never fits. */
int64_t bl_decoder_memory_area(enum AVCodecID codec, int64_t limit);

/* Returns the bytes that decoding audio takes at most, for frames of `samples` samples in each channel. */
int64_t bl_decoder_memory_audio(int channels, int64_t samples);

/* Returns the bytes that decoding a stream takes at most, or 0 if the container's header does not determine them. */
int64_t bl_decoder_memory_stream(const AVCodecParameters *parameters);

/* Returns BL_EDATA if `what` (such as "16384x16384") needs more bytes than the limit. The message has both figures and
 * the option's name. limit 0: there is no limit. */
int bl_decoder_memory_check(const char *what, int64_t needed, int64_t limit, struct bl_error *e);

/* Checks a picture of this size in the same way. It also returns BL_EDATA for a size that FFmpeg never decodes. */
int bl_decoder_memory_check_picture(int64_t width, int64_t height, int64_t needed, int64_t limit, struct bl_error *e);

/* Checks a stream in the same way, by its container's header. A header that says too little passes, and the guard
 * checks the stream later. */
int bl_decoder_memory_check_stream(const AVCodecParameters *parameters, int64_t limit, struct bl_error *e);

/* --- decoder guard ------------------------------------------------------------------------------------------------ */

/* A stream may switch to larger pictures, or keep more of them than its header says. So the guard computes the bound
 * anew whenever the decoder allocates a picture or a frame of samples, with the number of pictures in use, whether the
 * decoder or the caller holds them. It also sets the decoder's max_pixels, so that FFmpeg rejects a picture that can
 * never fit before it allocates tables for it. */

struct bl_decoder_guard {
    int64_t limit;                      /* bytes; 0: no limit, and the guard does nothing */
    struct bl_reservation *reservation; /* grows to the bytes that are needed; or NULL */
    AVBufferRef *live;                  /* an int64_t, the pictures in use; shared with them, as they may outlive it */
    char what[64];                      /* the picture or the frame that was refused, for the message */
    int64_t needed;                     /* the bytes that it would have needed; 0: nothing was refused */
};

/* Installs the guard in a codec context that is not open yet. The context points to the guard, so the guard must not
 * move until the context is freed. */
int bl_decoder_guard_open(struct bl_decoder_guard *guard, AVCodecContext *codec, const struct bl_kind_env *env,
                          struct bl_error *e);
void bl_decoder_guard_close(struct bl_decoder_guard *guard);

/* Parses a packet that the decoder has rejected, to find out whether its pictures are too large: decoders return the
 * same error for that as for damage. */
void bl_decoder_guard_examine(struct bl_decoder_guard *guard, const AVCodecParameters *parameters,
                              const AVPacket *packet);

/* Returns BL_EDATA, with both figures in the message, if a picture or a frame was refused. */
int bl_decoder_guard_check(const struct bl_decoder_guard *guard, struct bl_error *e);

#endif
