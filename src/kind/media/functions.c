/* The table of functions that the media module gives to the tool. */
#include "bload.h"
#include "kind/audio/read.h"
#include "kind/frames/decoding.h"
#include "kind/frames/png_encoder.h"
#include "kind/media/module.h"
#include "kind/media/usual_decoders.h"
#include "kind/simd_libraries.h"
#include "kind/video/gpu_pool.h"
#include "kind/video/nvdec.h"
#include "kind/video/read.h"

__attribute__((visibility("default"))) const struct bl_media bl_media_functions = {
    .version = BLOAD_VERSION,
    .size = sizeof(struct bl_media),
    .video = BL_VIDEO_DECODING,
    .frames = BL_FRAMES_DECODING,
    .audio = BL_AUDIO_DECODING,
    .count_sound = bl_audio_count_file,
    .set_simd = bl_simd_apply,
    .set_opener = bl_opener_set,
    .usual_decoder = bl_usual_decoder,
    .png_open = bl_png_encoder_open,
    .png_encode = bl_png_encoder_encode,
    .png_close = bl_png_encoder_close,
    .open_gpu = bl_video_decoding_open_gpu,
    .close_gpu = bl_video_decoding_close_gpu,
    .gpu_version = bl_nvdec_version,
    .gpu_open = bl_nvdec_open,
    .gpu_close = bl_nvdec_close,
    .gpu_append_codecs = bl_gpu_append_codecs,
};
