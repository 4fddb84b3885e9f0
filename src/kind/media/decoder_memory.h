/* The memory that decoding one input may take: an upper bound by its headers, and a guard while it is decoded.
 *
 * The bound is the same on every machine, so that the same file is skipped everywhere, before it has filled any
 * memory. It is asked again for every picture, since a stream may state another size in its midst. */
#ifndef BL_DECODER_MEMORY_H
#define BL_DECODER_MEMORY_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/env.h"
#include "kind/reservation.h"

/* --- upper bound -------------------------------------------------------------------------------------------------- */

/* The bound follows from the headers, before anything is decoded, and holds for streams that keep to their headers. It
 * includes what the decoder holds (pictures to refer to, tables beside them), what waits to be taken, and what the
 * conversion holds of it. It does not include what the result is written to. A stream may say another thing in its
 * midst: the decoder guard is for that. */

/* Has FFmpeg refuse what alone is larger than the limit, as it refuses more than 2 GiB without one: tables that a
 * header claims, texts that were compressed. For the whole process, whose inputs have one limit. */
void bl_decoder_memory_limit_parts(int64_t limit);

/* A video stream, as far as it is known. */
struct bl_coded_video {
    enum AVCodecID codec;
    int width, height;
    enum AVPixelFormat format; /* NONE: not known */
    int level;                 /* of H.264 and H.265, as FFmpeg has it; 0 or less: not known */
    int64_t pictures;          /* that are known to be held, or 0 */
};

/* Bytes; 0 if the size is not known. */
int64_t bl_decoder_memory_video(const struct bl_coded_video *video);

/* The area, in pixels, of the largest picture that may be decoded within so many bytes, whatever its pixel format. */
int64_t bl_decoder_memory_area(enum AVCodecID codec, int64_t limit);

/* Audio of so many channels in frames of so many samples. */
int64_t bl_decoder_memory_audio(int channels, int64_t samples);

/* Decoding a stream, by what its container says; 0 if it does not say enough. */
int64_t bl_decoder_memory_stream(const AVCodecParameters *parameters);

/* BL_EDATA if what ("16384x16384") needs more bytes than the limit, with both figures and the option's name. limit
 * 0: there is none. */
int bl_decoder_memory_check(const char *what, int64_t needed, int64_t limit, struct bl_error *e);

/* The same for a picture of this size; BL_EDATA also for one that FFmpeg does not decode with any memory. */
int bl_decoder_memory_check_picture(int64_t width, int64_t height, int64_t needed, int64_t limit, struct bl_error *e);

/* BL_EDATA, as these, if the stream needs more than the limit by what its container says; what it does not say is left
 * to the guard. */
int bl_decoder_memory_check_stream(const AVCodecParameters *parameters, int64_t limit, struct bl_error *e);

/* --- decoder guard ------------------------------------------------------------------------------------------------ */

/* Streams may become larger in their midst than their headers say, and may hold more pictures than they should. So
 * whenever the decoder wants a picture, or room for samples, the guard computes the upper bound anew, with the pictures
 * that are still in use, here or there. It refuses pictures whose area alone does not fit before FFmpeg makes tables
 * for them. */

struct bl_decoder_guard {
    int64_t limit;                      /* bytes; 0: no limit, and nothing is guarded */
    struct bl_reservation *reservation; /* grows with what is needed; or NULL */
    AVBufferRef *live;                  /* int64_t: pictures in use. They may outlive the guard */
    char what[64];                      /* the picture or the frame that was refused */
    int64_t needed;                     /* bytes, with that; 0: nothing was refused */
};

/* Sets the guard on a codec that is not opened yet; it must stay where it is until the codec is freed. */
int bl_decoder_guard_open(struct bl_decoder_guard *guard, AVCodecContext *codec, const struct bl_kind_env *env,
                          struct bl_error *e);
void bl_decoder_guard_close(struct bl_decoder_guard *guard);

/* Finds out whether a packet was refused for its size, which decoders do not say. */
void bl_decoder_guard_examine(struct bl_decoder_guard *guard, const AVCodecParameters *parameters,
                              const AVPacket *packet);

/* BL_EDATA, with the figures, if a picture was refused. */
int bl_decoder_guard_check(const struct bl_decoder_guard *guard, struct bl_error *e);

#endif
