/* What a GPU's video engines give one process of libavcodec, as the measure of what bload makes of them:
 *
 *     hwdecode THREADS FILE...     frames a second: one device context, a thread for each of so many files at a time
 *     hwdecode repeat N IN OUT     OUT is IN, N times one after the other, as long videos for it
 *
 * Frames stay in the GPU's memory and are thrown away. Each file has a codec context of its own, and so a new hardware
 * decoder: on long files the engines are the limit, on short ones this is what FFmpeg's hwaccel costs. It prints
 *
 *     FILES FRAMES SECONDS START RATE
 *
 * START is until the first frame of all. RATE is frames a second from when each thread has one until no further file
 * is left for one of them, or 0. */
#include <ffnvcodec/dynlink_cuda.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS 256

struct moment {
    double time;
    long long frames;
};

struct work {
    AVBufferRef *device;
    char **paths;
    int count;
    atomic_int next;
    atomic_llong frames, first_us; /* first_us: when the first frame came, or 0 */
    int threads;
    atomic_int started;      /* threads that have a frame */
    struct moment full, end; /* all have started; the first one has no further file */
    atomic_bool ended;
    double began;
};

static void fail(const char *what, const char *path)
{
    fprintf(stderr, "hwdecode: %s: %s\n", path, what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct moment moment_now(struct work *work)
{
    return (struct moment){now(), atomic_load(&work->frames)};
}

static AVFormatContext *file_open(const char *path, AVStream **stream)
{
    AVFormatContext *in = NULL;
    if (avformat_open_input(&in, path, NULL, NULL) < 0 || avformat_find_stream_info(in, NULL) < 0)
        fail("cannot be read", path);
    int number = av_find_best_stream(in, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
    if (number < 0)
        fail("has no video", path);
    *stream = in->streams[number];
    return in;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

static enum AVPixelFormat choose_format(AVCodecContext *codec, const enum AVPixelFormat *formats)
{
    (void)codec;
    while (*formats != AV_PIX_FMT_NONE && *formats != AV_PIX_FMT_CUDA)
        formats++;
    return *formats;
}

/* The first decoder of those for this codec that hands it to a GPU. */
static const AVCodec *find_decoder(enum AVCodecID id)
{
    const AVCodec *codec;
    const AVCodecHWConfig *config;
    void *at = NULL;
    while ((codec = av_codec_iterate(&at))) {
        if (codec->id != id || !av_codec_is_decoder(codec) || codec->capabilities & AV_CODEC_CAP_HARDWARE)
            continue;
        for (int i = 0; (config = avcodec_get_hw_config(codec, i)); i++) {
            if (config->pix_fmt == AV_PIX_FMT_CUDA)
                return codec;
        }
    }
    return NULL;
}

static AVCodecContext *codec_open(const struct work *work, const AVStream *stream, const char *path)
{
    const AVCodec *decoder = find_decoder(stream->codecpar->codec_id);
    AVCodecContext *codec = avcodec_alloc_context3(decoder);
    if (!decoder || !codec || avcodec_parameters_to_context(codec, stream->codecpar) < 0)
        fail("no decoder hands it to a GPU", path);
    codec->hw_device_ctx = av_buffer_ref(work->device);
    codec->get_format = choose_format;
    codec->thread_count = 1;
    codec->extra_hw_frames = 4;
    if (avcodec_open2(codec, decoder, NULL) < 0)
        fail("the decoder cannot be opened", path);
    return codec;
}

static void count_frames(struct work *work, AVCodecContext *codec, AVFrame *frame, bool *started)
{
    while (avcodec_receive_frame(codec, frame) >= 0) {
        if (frame->format != AV_PIX_FMT_CUDA)
            fail("the GPU does not decode it", "a frame");
        long long none = 0;
        atomic_fetch_add(&work->frames, 1);
        (void)atomic_compare_exchange_strong(&work->first_us, &none, (long long)((now() - work->began) * 1e6));
        if (!*started && atomic_fetch_add(&work->started, 1) == work->threads - 1)
            work->full = moment_now(work);
        *started = true;
        av_frame_unref(frame);
    }
}

static void decode(struct work *work, const char *path, AVPacket *packet, AVFrame *frame, bool *started)
{
    AVStream *stream;
    AVFormatContext *in = file_open(path, &stream);
    AVCodecContext *codec = codec_open(work, stream, path);
    while (av_read_frame(in, packet) >= 0) {
        if (packet->stream_index == stream->index && avcodec_send_packet(codec, packet) < 0)
            fail("a packet does not decode", path);
        av_packet_unref(packet);
        count_frames(work, codec, frame, started);
    }
    (void)avcodec_send_packet(codec, NULL);
    count_frames(work, codec, frame, started);
    avcodec_free_context(&codec);
    avformat_close_input(&in);
}

static void *decode_all(void *data)
{
    struct work *work = data;
    AVPacket *packet = av_packet_alloc();
    AVFrame *frame = av_frame_alloc();
    bool started = false;
    int i;
    while ((i = atomic_fetch_add(&work->next, 1)) < work->count)
        decode(work, work->paths[i], packet, frame, &started);
    if (!atomic_exchange(&work->ended, true))
        work->end = moment_now(work);
    av_packet_free(&packet);
    av_frame_free(&frame);
    return NULL;
}

static int measure(int threads, char **paths, int count)
{
    static pthread_t thread[THREADS];
    struct work work = {.paths = paths, .count = count, .threads = threads, .began = now()};
    if (threads < 1 || threads > THREADS)
        fail("is no number of threads from 1 to 256", "THREADS");
    if (av_hwdevice_ctx_create(&work.device, AV_HWDEVICE_TYPE_CUDA, NULL, NULL, AV_CUDA_USE_PRIMARY_CONTEXT) < 0)
        fail("cannot be opened", "the GPU");
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, decode_all, &work))
            fail("cannot be made", "a thread");
    }
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    av_buffer_unref(&work.device);
    double seconds = work.full.time > 0 ? work.end.time - work.full.time : 0;
    printf("%d %lld %.3f %.3f %.0f\n", count, (long long)work.frames, now() - work.began, (double)work.first_us / 1e6,
           seconds > 0 ? (double)(work.end.frames - work.full.frames) / seconds : 0);
    return 0;
}

/* --- long videos -------------------------------------------------------------------------------------------------- */

/* Writes the video's packets, later by `shift`, and returns when the next copy begins. */
static int64_t copy_packets(AVFormatContext *in, const AVStream *from, AVFormatContext *out, int64_t shift)
{
    AVPacket *packet = av_packet_alloc();
    int64_t first = AV_NOPTS_VALUE, end = shift;
    while (av_read_frame(in, packet) >= 0) {
        if (packet->stream_index == from->index) {
            first = first == AV_NOPTS_VALUE ? packet->dts : first;
            packet->stream_index = 0;
            packet->pts += shift;
            packet->dts += shift;
            end = packet->dts - first + packet->duration;
            av_packet_rescale_ts(packet, from->time_base, out->streams[0]->time_base);
            if (av_interleaved_write_frame(out, packet) < 0)
                fail("cannot be written", out->url);
        }
        av_packet_unref(packet);
    }
    av_packet_free(&packet);
    return end;
}

static int repeat(int times, const char *from, const char *to)
{
    AVFormatContext *out = NULL;
    AVStream *stream;
    int64_t shift = 0;
    if (avformat_alloc_output_context2(&out, NULL, NULL, to) < 0 || avio_open(&out->pb, to, AVIO_FLAG_WRITE) < 0)
        fail("cannot be written", to);
    for (int i = 0; i < times; i++) {
        AVFormatContext *in = file_open(from, &stream);
        if (!i) {
            AVStream *copy = avformat_new_stream(out, NULL);
            if (!copy || avcodec_parameters_copy(copy->codecpar, stream->codecpar) < 0)
                fail("cannot be written", to);
            copy->codecpar->codec_tag = 0;
            copy->time_base = stream->time_base;
            copy->avg_frame_rate = stream->avg_frame_rate;
            if (avformat_write_header(out, NULL) < 0)
                fail("cannot be written", to);
        }
        shift = copy_packets(in, stream, out, shift);
        avformat_close_input(&in);
    }
    if (av_write_trailer(out) < 0 || avio_closep(&out->pb) < 0)
        fail("cannot be written", to);
    avformat_free_context(out);
    return 0;
}

int main(int argc, char **argv)
{
    av_log_set_level(AV_LOG_ERROR);
    if (argc == 5 && !strcmp(argv[1], "repeat"))
        return repeat(atoi(argv[2]), argv[3], argv[4]);
    if (argc > 2)
        return measure(atoi(argv[1]), argv + 2, argc - 2);
    fprintf(stderr, "usage: hwdecode THREADS FILE... | repeat N IN OUT\n");
    return 2;
}
