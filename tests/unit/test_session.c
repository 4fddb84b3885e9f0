/* Sessions: which are kept, and that streams that follow on one another through one codec context give the frames that
 * each gives by itself; where they do, the hardware's decoder would have been made once. The contexts are those of the
 * GPU that is none (fake_gpu.h). */
#include "kind/video/gpu_pool.h"

#include <dirent.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <limits.h>
#include <zlib.h>

#include "clips.h"
#include "fake_gpu.h"
#include "kind/video/decode.h"

#define SOURCE "ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=128x96:r=25:d=2 "
#define OTHER SOURCE "-vf hflip,noise=alls=20:allf=t:all_seed=1 "

static void make_clips(void)
{
    if (!clips_enter())
        return;
    static const char *const recipes[][3] = {
        {"-c:v libx264 -pix_fmt yuv420p", "h264", "mp4"},
        {"-c:v libx264 -pix_fmt yuv420p -bf 8 -refs 8 -x264-params b-pyramid=normal:keyint=300", "deep", "mp4"},
        {"-c:v libx264 -pix_fmt yuv420p -tune zerolatency", "plain", "mkv"},
        {"-c:v libx264 -pix_fmt yuv420p", "loose", "ts"},
        {"-c:v libx264 -pix_fmt yuv420p -flags +ilme+ildct", "woven", "mp4"},
        {"-c:v libx264 -pix_fmt yuv420p -x264-params open-gop=1:keyint=20:b-adapt=0:bframes=3:scenecut=0", "open",
         "mkv"},
        {"-c:v libx264 -pix_fmt yuv420p -bsf:v filter_units=remove_types=6,h264_metadata=video_full_range_flag=1",
         "mute", "mp4"},
        {"-c:v libx265 -x265-params log-level=none -pix_fmt yuv420p10le", "hevc", "mkv"},
        {"-c:v libvpx -cpu-used 8 -deadline realtime", "vp8", "webm"},
        {"-c:v libvpx-vp9 -cpu-used 8 -deadline realtime", "vp9", "webm"},
        {"-c:v mpeg4 -bf 2", "mpeg4", "avi"},
        {"-c:v mpeg2video -bf 2", "mpeg2", "ts"},
    };
    for (size_t i = 0; i < COUNT(recipes); i++) {
        char command[512];
        snprintf(command, sizeof command, SOURCE "%s %s-1.%s", recipes[i][0], recipes[i][1], recipes[i][2]);
        shell(command);
        snprintf(command, sizeof command, OTHER "%s %s-2.%s", recipes[i][0], recipes[i][1], recipes[i][2]);
        shell(command);
    }
    shell("ffmpeg -v error -nostdin -y -i plain-2.mkv -c copy -color_trc smpte170m "
          "-colorspace smpte170m tags.mkv");
    shell("ffmpeg -v error -nostdin -y -i open-1.mkv -c copy -ss 1 middle.mkv");
    shell("head -c 20000 plain-1.mkv >cut.mkv; cp plain-1.mkv flipped.mkv; head -c 64 /dev/zero | "
          "dd of=flipped.mkv bs=1 seek=20000 conv=notrunc 2>/dev/null");
}

static void begin(struct bl_gpu *gpu, struct bl_session_pool *s)
{
    struct bl_gpu_queue *queue;
    fake_begin(gpu);
    ck_assert_int_eq(fake_functions.open(gpu, &queue, NULL), 0);
    bl_session_pool_begin(s, &fake_functions, queue);
}

static void end(struct bl_gpu *gpu, struct bl_session_pool *s)
{
    struct bl_gpu_queue *queue = s->queue;
    bl_session_pool_end(s);
    fake_functions.close(queue);
    fake_end(gpu);
}

/* --- sessions that are kept -----------------------------------------------------------------------------------------
 */

static AVCodecParameters *stream_of(int width, int header)
{
    AVCodecParameters *p = avcodec_parameters_alloc();
    p->codec_type = AVMEDIA_TYPE_VIDEO;
    p->codec_id = AV_CODEC_ID_RAWVIDEO;
    p->format = AV_PIX_FMT_NV12;
    p->width = width;
    p->height = 16;
    p->extradata = av_mallocz(4 + AV_INPUT_BUFFER_PADDING_SIZE);
    p->extradata_size = 4;
    p->extradata[0] = (uint8_t)header;
    return p;
}

/* Lends for a stream and takes back. */
static void use(struct bl_session_pool *s, int width, int header, bool clean)
{
    OWNED(avcodec_parameters_free) AVCodecParameters *p = stream_of(width, header);
    struct bl_session *session;
    struct bl_error e = {0};
    int code = bl_session_pool_acquire(s, p, &session, &e);
    ck_assert_msg(code == 0, "%s", e.text);
    ck_assert_int_eq(session->codec->width, width);
    bl_session_pool_release(s, &session, clean);
    ck_assert_ptr_null(session);
}

UNIT_TEST(sessions_are_lent_again_to_streams_that_are_alike)
{
    struct bl_gpu gpu;
    struct bl_session_pool s;
    begin(&gpu, &s);
    use(&s, 16, 1, true);
    use(&s, 16, 1, true);
    ck_assert_int_eq(gpu.opened, 1);
    ck_assert_int_eq(s.reused, 1);
    use(&s, 16, 2, true); /* another header */
    use(&s, 18, 1, true); /* another size, though it may be coded in as many blocks */
    ck_assert_int_eq(gpu.opened, 3);
    use(&s, 16, 2, true);
    use(&s, 16, 1, true);
    ck_assert_int_eq(gpu.opened, 3);
    ck_assert_int_eq(s.reused, 3);
    end(&gpu, &s);
}

UNIT_TEST(the_session_longest_unused_goes)
{
    struct bl_gpu gpu;
    struct bl_session_pool s;
    begin(&gpu, &s);
    for (int i = 0; i < BL_SESSION_POOL_MAX; i++)
        use(&s, 16, i, true);
    use(&s, 16, 0, true);  /* again: 1 is the oldest now */
    use(&s, 16, 99, true); /* in the place of 1 */
    ck_assert_int_eq(s.evicted, 1);
    ck_assert_int_eq(gpu.codecs, BL_SESSION_POOL_MAX);
    int opened = gpu.opened;
    use(&s, 16, 0, true);
    ck_assert_int_eq(gpu.opened, opened);
    use(&s, 16, 1, true);
    ck_assert_int_eq(gpu.opened, opened + 1);
    end(&gpu, &s);
}

UNIT_TEST(sessions_with_faults_are_not_kept)
{
    struct bl_gpu gpu;
    struct bl_session_pool s;
    begin(&gpu, &s);
    use(&s, 16, 1, false);
    ck_assert_int_eq(gpu.codecs, 0);
    use(&s, 16, 1, true);
    ck_assert_int_eq(s.reused, 0);
    end(&gpu, &s);
}

static int open_codec_when_alone(struct bl_gpu_queue *queue, const AVCodecParameters *parameters,
                                 AVCodecContext **codec, struct bl_error *e)
{
    return queue->gpu->codecs >= queue->gpu->can_decode ? BL_GPU_FULL : fake_open_codec(queue, parameters, codec, e);
}

UNIT_TEST(idle_sessions_make_room)
{
    struct bl_gpu gpu;
    struct bl_session_pool s;
    struct bl_session *session;
    struct bl_gpu_functions small = fake_functions;
    small.open_codec = open_codec_when_alone;
    begin(&gpu, &s);
    s.gpu = &small;
    gpu.can_decode = 2; /* decoders have room */
    use(&s, 16, 1, true);
    use(&s, 16, 2, true);
    use(&s, 16, 3, true);
    ck_assert_int_eq(s.evicted, 2);
    ck_assert_int_eq(gpu.codecs, 1);
    gpu.can_decode = 0;
    AVCodecParameters *p = stream_of(16, 4);
    FAILS_WITH(bl_session_pool_acquire(&s, p, &session, &e), BL_EFAIL, "memory is not enough");
    ck_assert_int_eq(gpu.codecs, 0);
    avcodec_parameters_free(&p);
    end(&gpu, &s);
}

UNIT_TEST(a_session_that_cannot_be_opened_leaves_nothing)
{
    struct bl_gpu gpu;
    struct bl_session_pool s;
    struct bl_session *session;
    AVCodecParameters *p = stream_of(16, 1);
    begin(&gpu, &s);
    gpu.fail = gpu.calls + 1;
    FAILS(bl_session_pool_acquire(&s, p, &session, &e), BL_EFAIL, "GPU 0 is lost");
    use(&s, 16, 1, true);
    avcodec_parameters_free(&p);
    end(&gpu, &s);
}

/* --- streams behind one another -------------------------------------------------------------------------------------
 */

/* What a stream gave. */
struct seen {
    int64_t frames, refused;
    bool cut;
    int64_t damaged; /* frames: what a decoder puts in the place of what is lost may be anything */
    uint32_t sum;    /* of all that is known of its frames */
    int fault;       /* in place of frames */
};

static uint32_t sum_picture(uint32_t sum, const AVFrame *frame)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get((enum AVPixelFormat)frame->format);
    for (int plane = 0; plane < av_pix_fmt_count_planes((enum AVPixelFormat)frame->format); plane++) {
        bool chroma = (plane == 1 || plane == 2) && !(desc->flags & AV_PIX_FMT_FLAG_RGB);
        int rows = chroma ? AV_CEIL_RSHIFT(frame->height, desc->log2_chroma_h) : frame->height;
        int bytes = av_image_get_linesize((enum AVPixelFormat)frame->format, frame->width, plane);
        for (int y = 0; y < rows; y++)
            sum = (uint32_t)crc32(sum, frame->data[plane] + (ptrdiff_t)y * frame->linesize[plane], (uInt)bytes);
    }
    return sum;
}

static uint32_t sum_frame(uint32_t sum, const struct bl_decode *f, const AVFrame *frame)
{
    const int64_t known[] = {bl_frame_time(frame),
                             bl_decode_time_end(f, frame),
                             frame->width,
                             frame->height,
                             frame->format,
                             frame->colorspace,
                             frame->color_range,
                             frame->color_trc,
                             frame->color_primaries,
                             frame->chroma_location,
                             frame->sample_aspect_ratio.num,
                             frame->sample_aspect_ratio.den,
                             bl_decode_is_damaged(frame)};
    sum = (uint32_t)crc32(sum, (const void *)known, sizeof known);
    return sum_picture(sum, frame);
}

/* Decodes the file, or `most` frames of it, by a session or by itself. */
static struct seen see(struct bl_session_pool *sessions, const char *path, int64_t most)
{
    struct seen seen = {0};
    struct bl_decode f;
    struct bl_cancel cancel = {0};
    const struct bl_kind_env env = {.cancel = &cancel};
    struct bl_error e = {0};
    int rc = bl_decode_open_gpu(&f, sessions, path, -1, -1, BL_DEMUX_TIMES, &env, &e);
    if (rc)
        return (struct seen){.fault = rc};
    OWNED(av_frame_free) AVFrame *frame = av_frame_alloc();
    while (seen.frames < most) {
        bool got;
        rc = bl_decode_next(&f, frame, &got, &e);
        if (rc || !got)
            break;
        seen.frames++;
        seen.damaged += bl_decode_is_damaged(frame);
        seen.sum = sum_frame(seen.sum, &f, frame);
        av_frame_unref(frame);
    }
    seen.refused = f.errors;
    seen.cut = f.truncated;
    seen.fault = rc;
    bl_decode_close(&f);
    return seen;
}

static void compare(struct bl_session_pool *sessions, const char *path, int64_t most)
{
    struct seen alone = see(NULL, path, most), seen = see(sessions, path, most);
    ck_assert_msg(alone.frames == seen.frames && alone.refused == seen.refused && alone.cut == seen.cut &&
                      alone.fault == seen.fault,
                  "%s: alone %d frames, %d refused, cut %d, fault %d; behind others %d, %d, %d, %d", path,
                  (int)alone.frames, (int)alone.refused, alone.cut, alone.fault, (int)seen.frames, (int)seen.refused,
                  seen.cut, seen.fault);
    ck_assert_msg(alone.damaged == seen.damaged, "%s: more damage behind others, or less", path);
    ck_assert_msg(alone.damaged || alone.sum == seen.sum, "%s: other frames behind others than alone", path);
}

/* The files one after the other, whole and in part: how many decoders the hardware had to make. */
static int decoders_for(const char *const *paths, bool parts)
{
    struct bl_gpu gpu;
    struct bl_session_pool s;
    begin(&gpu, &s);
    for (; *paths; paths++) {
        for (int most = 1; parts && most < 30; most += 7)
            compare(&s, *paths, most);
        compare(&s, *paths, INT64_MAX);
    }
    end(&gpu, &s);
    return gpu.decoders;
}

#define DECODERS(parts, ...) decoders_for((const char *const[]){__VA_ARGS__, NULL}, parts)

CLIPS_TEST(streams_that_begin_alike_share_a_decoder)
{
    ck_assert_int_eq(DECODERS(true, "h264-1.mp4", "h264-2.mp4", "h264-1.mp4"), 1);
    ck_assert_int_eq(DECODERS(true, "deep-1.mp4", "deep-2.mp4", "deep-1.mp4"), 1);
    ck_assert_int_eq(DECODERS(true, "plain-1.mkv", "plain-2.mkv"), 1);
    ck_assert_int_eq(DECODERS(true, "open-1.mkv", "open-2.mkv"), 1);
    ck_assert_int_eq(DECODERS(true, "mute-1.mp4", "mute-2.mp4"), 1);
    ck_assert_int_eq(DECODERS(true, "hevc-1.mkv", "hevc-2.mkv"), 1);
    ck_assert_int_eq(DECODERS(true, "vp8-1.webm", "vp8-2.webm"), 1);
    ck_assert_int_eq(DECODERS(true, "vp9-1.webm", "vp9-2.webm"), 1);
    ck_assert_int_eq(DECODERS(true, "mpeg4-1.avi", "mpeg4-2.avi"), 1);
    /* Three kinds in turns: each has its own. */
    ck_assert_int_eq(
        DECODERS(false, "h264-1.mp4", "vp9-1.webm", "hevc-1.mkv", "h264-2.mp4", "vp9-2.webm", "hevc-2.mkv"), 3);
}

CLIPS_TEST(others_get_their_own)
{
    ck_assert_int_eq(DECODERS(false, "h264-1.mp4", "mute-1.mp4"), 2); /* other colours */
    ck_assert_int_eq(DECODERS(false, "plain-1.mkv", "tags.mkv"), 2);  /* by the container */
    ck_assert_int_eq(DECODERS(false, "loose-1.ts", "loose-2.ts"), 2); /* headers among the pictures */
    ck_assert_int_eq(DECODERS(false, "woven-1.mp4", "woven-2.mp4"), 2);
    ck_assert_int_eq(DECODERS(false, "mpeg2-1.ts", "mpeg2-2.ts"), 2);
    ck_assert_int_eq(DECODERS(false, "plain-1.mkv", "flipped.mkv", "plain-1.mkv", "cut.mkv", "plain-1.mkv"), 2);
    ck_assert_int_ge(DECODERS(true, "open-1.mkv", "middle.mkv", "open-1.mkv"), 2); /* no instant refresh */
}

CLIPS_TEST(a_stream_that_changes_its_context_is_not_followed)
{
    struct bl_gpu gpu;
    struct bl_session_pool s;
    struct bl_decode f;
    struct bl_cancel cancel = {0};
    const struct bl_kind_env env = {.cancel = &cancel};
    begin(&gpu, &s);
    for (int changed = 0; changed < 2; changed++) {
        AVFrame *frame = av_frame_alloc();
        ck_assert_int_eq(bl_decode_open_gpu(&f, &s, "h264-1.mp4", -1, -1, BL_DEMUX_DECODE, &env, &e), 0);
        bool got = false;
        ck_assert_int_eq(bl_decode_next(&f, frame, &got, &e), 0);
        ck_assert(got);
        f.codec->has_b_frames += changed; /* as a decoder does that meets frames out of order */
        av_frame_free(&frame);
        bl_decode_close(&f);
        ck_assert_int_eq(gpu.codecs, !changed);
    }
    end(&gpu, &s);
}

/* Every real file behind itself and behind every other one. */
UNIT_TEST(real_files_show_nothing_of_one_another)
{
    struct bl_gpu gpu;
    struct bl_session_pool s;
    struct dirent **names;
    int count = *media_directory ? scandir(media_directory, &names, NULL, alphasort) : -1;
    bool brief = unit_times(8) < 8;
    if (count < 0) {
        unit_skip("no shared media");
        return;
    }
    begin(&gpu, &s);
    for (int i = 0; i < count; i++) {
        char path[2 * PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", media_directory, names[i]->d_name);
        if (strchr(names[i]->d_name, '.') && *names[i]->d_name != '.' && (i % 8 == 0 || !brief)) {
            compare(&s, path, brief ? 4 : 40);
            compare(&s, path, brief ? 8 : 100);
        }
        free(names[i]);
    }
    free(names);
    ck_assert_int_gt(s.reused, 0);
    end(&gpu, &s);
}

UNIT_ONCE(make_clips, clips_leave)
