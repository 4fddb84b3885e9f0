#include "kind/video/decoding.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <stdio.h>
#include <stdlib.h>
#include <zimg.h>

#include "kind/video/backend.h"
#include "kind/video/count.h"
#include "kind/video/gpu_pool.h"
#include "kind/video/nvdec.h"

int bl_video_decoding_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    if (chunk->list)
        return bl_clips_count(env, counter, chunk, emit, sink, e);
    const struct bl_input *input = chunk->input;
    const struct bl_video_config *values = config;
    struct bl_error fault = {0};
    struct bl_count_result result;
    enum bl_backend backend = BL_BACKEND_CPU;
    int code = bl_video_count(values, env, input, chunk->meter, chunk->times, &result, &fault);
    if (!code)
        code =
            bl_backend_choose(values, env, input->path, input->bytes, result.stream, *result.reason, &backend, &fault);
    struct bl_row row = {.bytes = input->bytes,
                         .length = result.length,
                         .stream = result.stream,
                         .reason = result.reason,
                         .offset = -1,
                         .origin = result.origin,
                         .times = result.times};
    if (values->decoder != BL_DECODER_CPU)
        row.extra = backend == BL_BACKEND_CPU ? "\tcpu" : "\tnvdec";
    code = bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
    free(result.times);
    return code;
}

void bl_video_decoding_versions(const void *config, bl_version_emit *emit, void *sink)
{
    const struct bl_video_config *values = config;
    char text[64];
    unsigned codec = avcodec_version(), format = avformat_version();
    emit(sink, "ffmpeg", av_version_info());
    snprintf(text, sizeof text, "%u.%u.%u", AV_VERSION_MAJOR(format), AV_VERSION_MINOR(format),
             AV_VERSION_MICRO(format));
    emit(sink, "libavformat", text);
    snprintf(text, sizeof text, "%u.%u.%u", AV_VERSION_MAJOR(codec), AV_VERSION_MINOR(codec), AV_VERSION_MICRO(codec));
    emit(sink, "libavcodec", text);
    unsigned major = 0, minor = 0, micro = 0;
    zimg_get_version_info(&major, &minor, &micro);
    snprintf(text, sizeof text, "%u.%u.%u", major, minor, micro);
    emit(sink, "zimg", text);
    int cuda = values->decoder == BL_DECODER_CPU ? 0 : bl_nvdec_version();
    snprintf(text, sizeof text, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    if (cuda)
        emit(sink, "cuda", text);
}

int bl_video_decoding_open_gpu(struct bl_video_config *config, struct bl_error *e)
{
    config->gpu_functions = &bl_nvdec_functions;
    int code = bl_nvdec_open(&config->gpu, config->gpus, e);
    if (code)
        return code;
    code = bl_gpu_pool_open(&config->gpu_pool, config->gpu_functions, config->gpu, e);
    if (code)
        bl_video_decoding_close_gpu(config);
    return code;
}

void bl_video_decoding_close_gpu(struct bl_video_config *config)
{
    bl_gpu_pool_close(config->gpu_pool);
    config->gpu_pool = NULL;
    bl_nvdec_close(config->gpu);
    config->gpu = NULL;
}
