/* The limit that packing is measured against: decodes every frame of the files named, drops them, and prints one line,
 * "frames wall_seconds cpu_seconds". A file per thread, one thread per decoder, all processors busy, as in bload pack,
 * but no frame is looked at and nothing is written. With a size each frame is converted too, by the tool's converter:
 * what packing takes beyond that is assembling, hashing and writing.
 *
 *     decode THREADS [WxH] FILE... */
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "kind/video/convert.h"

#define THREADS_MAX 256

struct work {
    int width, height; /* of what is converted to; 0: nothing is */
    char **file;
    int files;
    atomic_int next;
    atomic_llong frames;
    atomic_int failed;
};

/* One file, as it is decoded. */
struct clip {
    AVFormatContext *format;
    AVCodecContext *codec;
    AVPacket *packet;
    AVFrame *frame;
    int stream;
    struct bl_convert *convert; /* NULL: frames are dropped as they are */
    struct bl_geometry geometry;
    uint8_t *rgb;
};

static int clip_open(struct clip *c, const char *path)
{
    const AVCodec *decoder = NULL;
    int rc = avformat_open_input(&c->format, path, NULL, NULL);
    if (rc < 0)
        return rc;
    c->stream = av_find_best_stream(c->format, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0);
    if (c->stream < 0)
        return c->stream;
    AVStream *stream = c->format->streams[c->stream];
    /* Containers that say all that the decoder needs are not probed: it would count as decoding what is none. */
    if (stream->codecpar->width <= 0 && (rc = avformat_find_stream_info(c->format, NULL)) < 0)
        return rc;
    for (unsigned i = 0; i < c->format->nb_streams; i++)
        c->format->streams[i]->discard = (int)i == c->stream ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
    c->codec = avcodec_alloc_context3(decoder);
    c->packet = av_packet_alloc();
    c->frame = av_frame_alloc();
    if (!c->codec || !c->packet || !c->frame)
        return AVERROR(ENOMEM);
    rc = avcodec_parameters_to_context(c->codec, stream->codecpar);
    if (rc < 0)
        return rc;
    c->codec->thread_count = 1;
    return avcodec_open2(c->codec, decoder, NULL);
}

static int clip_convert_to(struct clip *c, int width, int height)
{
    struct bl_convert_options options = {.simd = bl_simd_best()};
    struct bl_geometry_input in = {.coded_width = c->codec->width,
                                   .coded_height = c->codec->height,
                                   .target_width = width,
                                   .target_height = height};
    struct bl_error e = {0};
    c->rgb = malloc((size_t)width * (size_t)height * 3);
    return c->rgb && !bl_geometry_make(&c->geometry, &in, &e) && !bl_convert_open(&c->convert, &options, &e)
               ? 0
               : AVERROR(ENOMEM);
}

static void clip_close(struct clip *c)
{
    bl_convert_close(c->convert);
    free(c->rgb);
    avcodec_free_context(&c->codec);
    av_packet_free(&c->packet);
    av_frame_free(&c->frame);
    avformat_close_input(&c->format);
}

/* Takes what frames the decoder has ready. */
static int clip_drain(struct clip *c, long long *frames)
{
    struct bl_error e = {0};
    int rc;
    while ((rc = avcodec_receive_frame(c->codec, c->frame)) >= 0) {
        ++*frames;
        if (c->convert && bl_convert_frame(c->convert, c->frame, &c->geometry, c->rgb, &e))
            return AVERROR_EXTERNAL;
    }
    return rc == AVERROR(EAGAIN) || rc == AVERROR_EOF ? 0 : rc;
}

static int clip_decode(struct clip *c, long long *frames)
{
    int rc;
    while ((rc = av_read_frame(c->format, c->packet)) >= 0) {
        int ours = c->packet->stream_index == c->stream;
        rc = ours ? avcodec_send_packet(c->codec, c->packet) : 0;
        av_packet_unref(c->packet);
        if (rc >= 0 && ours)
            rc = clip_drain(c, frames);
        if (rc < 0)
            return rc;
    }
    if (rc != AVERROR_EOF)
        return rc;
    rc = avcodec_send_packet(c->codec, NULL);
    return rc < 0 ? rc : clip_drain(c, frames);
}

static void *run(void *argument)
{
    struct work *work = argument;
    int i;
    while ((i = atomic_fetch_add(&work->next, 1)) < work->files) {
        struct clip clip = {0};
        long long frames = 0;
        int rc = clip_open(&clip, work->file[i]);
        if (rc >= 0 && work->width)
            rc = clip_convert_to(&clip, work->width, work->height);
        if (rc >= 0)
            rc = clip_decode(&clip, &frames);
        clip_close(&clip);
        atomic_fetch_add(&work->frames, frames);
        if (rc < 0) {
            fprintf(stderr, "decode: %s: %s\n", work->file[i], av_err2str(rc));
            atomic_store(&work->failed, 1);
        }
    }
    return NULL;
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: decode THREADS [WxH] FILE...\n");
        return 2;
    }
    av_log_set_level(AV_LOG_QUIET);
    struct work work = {0};
    int sized = sscanf(argv[2], "%dx%d", &work.width, &work.height) == 2;
    work.file = argv + 2 + sized;
    work.files = argc - 2 - sized;
    pthread_t thread[THREADS_MAX];
    double start = seconds(CLOCK_MONOTONIC);
    int started = 0;
    while (started < threads && pthread_create(&thread[started], NULL, run, &work) == 0)
        started++;
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    printf("%lld %.4f %.4f\n", (long long)work.frames, seconds(CLOCK_MONOTONIC) - start,
           seconds(CLOCK_PROCESS_CPUTIME_ID));
    return work.failed || started < threads;
}
