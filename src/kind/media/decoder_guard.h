/* A guard of the memory that a decoder takes: streams may become larger in their midst than their headers say,
 * and may hold more pictures than they should. Whenever the decoder wants a picture, or room for samples, what it holds
 * by then is worked out anew (decoder_memory.h), with those pictures that are still in use, here or there; and pictures
 * whose area alone does not fit are refused before FFmpeg makes tables for them. */
#ifndef BL_DECODER_GUARD_H
#define BL_DECODER_GUARD_H

#include <libavcodec/avcodec.h>
#include <stdbool.h>
#include <stdint.h>

#include "kind/env.h"
#include "kind/reservation.h"

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
