/* The table of functions that the media module gives to the tool, and the SIMD level of its libraries. */
#include <libavutil/cpu.h>
#include <zimg.h>

#include "bload.h"
#include "kind/audio/read.h"
#include "kind/frames/pictures.h"
#include "kind/frames/read.h"
#include "kind/media/allowlist.h"
#include "kind/media/module.h"
#include "kind/video/deinterlace.h"
#include "kind/video/gpu.h"
#include "kind/video/gpu_pool.h"
#include "kind/video/read.h"

/* --- table of functions ------------------------------------------------------------------------------------------- */

__attribute__((visibility("default"))) const struct bl_media bl_media_functions = {
    .version = BLOAD_VERSION,
    .size = sizeof(struct bl_media),
    .video = {.open_counter = bl_clips_counter_open,
              .count = bl_video_decoding_count,
              .size = bl_video_read_size,
              .open_reader = bl_video_read_open,
              .versions = bl_video_decoding_versions},
    .frames = {.open_counter = bl_frames_clips_open,
               .count = bl_frames_decoding_count,
               .size = bl_frames_read_size,
               .open_reader = bl_frames_read_open},
    .images = {.open_counter = bl_pictures_counter_open,
               .count = bl_pictures_decoding_count,
               .open_reader = bl_pictures_read_open},
    .audio = {.open_counter = bl_cuts_counter_open,
              .count = bl_audio_decoding_count,
              .open_reader = bl_audio_reader_open,
              .versions = bl_audio_decoding_versions},
    .count_sound = bl_audio_count_file,
    .set_simd = bl_simd_apply,
    .set_opener = bl_opener_set,
    .set_far = bl_far_set,
    .usual_decoder = bl_usual_decoder,
    .png_open = bl_png_encoder_open,
    .png_encode = bl_png_encoder_encode,
    .png_close = bl_png_encoder_close,
    .load_deinterlace = bl_deinterlace_load,
    .open_gpu = bl_video_decoding_open_gpu,
    .close_gpu = bl_video_decoding_close_gpu,
    .gpu_times = bl_video_decoding_gpu_times,
    .gpu_version = bl_nvdec_version,
    .gpu_open = bl_nvdec_open,
    .gpu_close = bl_nvdec_close,
    .gpu_append_codecs = bl_gpu_append_codecs,
};

/* --- SIMD level --------------------------------------------------------------------------------------------------- */

/* The flag sets are spelt out rather than masked from what the machine has, so that flags which only describe a model
 * (slow shuffles, slow gathers) cannot choose other code on one machine than on another. */

#define FLAGS_SSE2 (AV_CPU_FLAG_MMX | AV_CPU_FLAG_MMXEXT | AV_CPU_FLAG_SSE | AV_CPU_FLAG_SSE2 | AV_CPU_FLAG_CMOV)
#define FLAGS_AVX2                                                                                                     \
    (FLAGS_SSE2 | AV_CPU_FLAG_SSE3 | AV_CPU_FLAG_SSSE3 | AV_CPU_FLAG_SSE4 | AV_CPU_FLAG_SSE42 | AV_CPU_FLAG_AVX |      \
     AV_CPU_FLAG_AVX2 | AV_CPU_FLAG_FMA3 | AV_CPU_FLAG_BMI1 | AV_CPU_FLAG_BMI2)
#define FLAGS_NEON (AV_CPU_FLAG_ARMV8 | AV_CPU_FLAG_VFP | AV_CPU_FLAG_NEON)

int bl_simd_apply(enum bl_simd level, struct bl_error *e)
{
    static const int flags[] = {
        [BL_SIMD_NONE] = 0, [BL_SIMD_SSE2] = FLAGS_SSE2, [BL_SIMD_AVX2] = FLAGS_AVX2, [BL_SIMD_NEON] = FLAGS_NEON};
    int code = bl_simd_check(level, e);
    if (!code)
        av_force_cpu_flags(flags[level]);
    return code;
}

int bl_simd_zimg(enum bl_simd level)
{
#if defined(__x86_64__)
    if (level == BL_SIMD_AVX2)
        return ZIMG_CPU_X86_AVX2;
    if (level == BL_SIMD_SSE2)
        return ZIMG_CPU_X86_SSE2;
#elif defined(__aarch64__)
    if (level == BL_SIMD_NEON)
        return ZIMG_CPU_ARM_NEON_VFPv4;
#endif
    (void)level;
    return ZIMG_CPU_NONE;
}
