#include "kind/audio/decoding.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libswresample/swresample.h>
#include <soxr.h>
#include <stdio.h>
#include <string.h>

#include "kind/audio/count.h"

int bl_audio_decoding_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)
{
    if (chunk->list)
        return bl_cuts_count(env, counter, chunk, emit, sink, e);
    const struct bl_input *input = chunk->input;
    struct bl_error fault = {0};
    struct bl_audio_info info;
    struct bl_row row = {.bytes = input->bytes, .reason = info.reason, .offset = -1};
    int code = bl_audio_count_file(config, env, input->path, chunk->meter, &info, &fault);
    if (!code)
        code = bl_audio_count_steps(config, info.samples, &row.length, &fault);
    row.stream = info.stream;
    return bl_chunk_emit_row(emit, sink, &row, code, &fault, e);
}

static void libav_version_emit(bl_version_emit *emit, void *sink, const char *name, unsigned version)
{
    char text[64];
    snprintf(text, sizeof text, "%u.%u.%u", AV_VERSION_MAJOR(version), AV_VERSION_MINOR(version),
             AV_VERSION_MICRO(version));
    emit(sink, name, text);
}

void bl_audio_decoding_versions(const void *config, bl_version_emit *emit, void *sink)
{
    (void)config;
    const char *soxr = strchr(soxr_version(), '-');
    emit(sink, "ffmpeg", av_version_info());
    libav_version_emit(emit, sink, "libavformat", avformat_version());
    libav_version_emit(emit, sink, "libavcodec", avcodec_version());
    libav_version_emit(emit, sink, "libswresample", swresample_version());
    emit(sink, "libsoxr", soxr ? soxr + 1 : soxr_version());
}
