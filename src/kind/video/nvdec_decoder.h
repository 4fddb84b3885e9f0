/* Decodes streams on one GPU, one after another, with the parser and the decoders of NVIDIA's video library.
 *
 * The library's parser (cuvidParseVideoData) reads packets, calls back for each header and each coded picture, and
 * orders pictures for display. A hardware decoder is not bound to a parser: creating one takes as long as decoding
 * hundreds of frames, so decoders are kept, and reconfigured (cuvidReconfigureDecoder) for streams of another size.
 * FFmpeg's hwaccel, which has the same parts, creates and destroys a hardware decoder for each codec context. */
#ifndef BL_NVDEC_DECODER_H
#define BL_NVDEC_DECODER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/video/gpu.h"
#include "kind/video/nvdec_driver.h"

struct bl_nvdec_decoder;

/* Opens a decoder whose surfaces are for work on this CUDA stream. device, caps and stream must outlive it; one thread
 * at a time uses it. The other functions are those of struct bl_gpu_functions with the same names. */
int bl_nvdec_decoder_open(struct bl_nvdec_decoder **decoder, const struct bl_device *device, struct bl_caps *caps,
                          CUstream stream, struct bl_error *e);
void bl_nvdec_decoder_close(struct bl_nvdec_decoder *decoder); /* NULL is fine; release all frames first */

int bl_nvdec_decoder_begin(struct bl_nvdec_decoder *decoder, const AVCodecParameters *parameters, struct bl_error *e);
int bl_nvdec_decoder_send(struct bl_nvdec_decoder *decoder, const AVPacket *packet, int *refused, struct bl_error *e);
bool bl_nvdec_decoder_receive(struct bl_nvdec_decoder *decoder, AVFrame *frame, struct bl_gpu_picture *picture);
void bl_nvdec_decoder_end(struct bl_nvdec_decoder *decoder);
int bl_nvdec_decoder_evict(struct bl_nvdec_decoder *decoder);

#endif
