/* Tone mapping: what the recommendations say, computed here from their formulas, in double. */
#include "kind/video/tonemap.h"

#include <libavutil/mastering_display_metadata.h>
#include <math.h>

#include "kind/media/compat.h"
#include "kind/video/decode.h"
#include "unit.h"

UNIT_SCRATCH

#define SIDE 16

/* --- the formulas ------------------------------------------------------------------------------------------------- */

/* SMPTE ST 2084: a signal of 0 to 1 in cd/m2. */
static double pq_light(double signal)
{
    const double m1 = 0.1593017578125, m2 = 78.84375, c1 = 0.8359375, c2 = 18.8515625, c3 = 18.6875;
    double x = pow(signal, 1 / m2);
    return 10000 * pow(fmax(x - c1, 0) / (c2 - c3 * x), 1 / m1);
}

static double pq_signal(double light)
{
    double low = 0, high = 1; /* by bisection: the inverse is not what is tested against itself */
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (pq_light(middle) < light)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* BT.2100, table 5: HLG on a display of 1000 cd/m2, whose gamma is 1.2. */
static void hlg_light(const double signal[3], double light[3])
{
    const double a = 0.17883277, b = 1 - 4 * a, c = 0.5 - a * log(4 * a);
    double scene[3];
    for (int i = 0; i < 3; i++)
        scene[i] = signal[i] <= 0.5 ? signal[i] * signal[i] / 3 : (exp((signal[i] - c) / a) + b) / 12;
    double y = 0.2627 * scene[0] + 0.6780 * scene[1] + 0.0593 * scene[2];
    for (int i = 0; i < 3; i++)
        light[i] = 1000 * pow(y, 0.2) * scene[i];
}

/* BT.2390-10, 5.4.1. */
static double mapped(double light, double peak)
{
    double source = pq_signal(peak), e1 = pq_signal(light) / source, most = pq_signal(203) / source;
    double knee = 1.5 * most - 0.5;
    if (peak <= 203 || e1 < knee)
        return light;
    double t = (fmin(e1, 1) - knee) / (1 - knee);
    double e2 = (2 * pow(t, 3) - 3 * pow(t, 2) + 1) * knee + (pow(t, 3) - 2 * pow(t, 2) + t) * (1 - knee) +
                (-2 * pow(t, 3) + 3 * pow(t, 2)) * most;
    return pq_light(e2 * source);
}

/* From light in BT.2020's primaries to BT.709's, then through the inverse of BT.1886. */
static void shown(const double light[3], double peak, double rgb[3])
{
    static const double to_709[3][3] = {
        {1.6605, -0.5876, -0.0728}, {-0.1246, 1.1329, -0.0083}, {-0.0182, -0.1006, 1.1187}};
    double greatest = fmax(light[0], fmax(light[1], light[2]));
    double factor = greatest > 0 ? mapped(greatest, peak) / greatest : 1;
    for (int i = 0; i < 3; i++) {
        double value = 0;
        for (int k = 0; k < 3; k++)
            value += to_709[i][k] * light[k] * factor / 203;
        rgb[i] = 255 * pow(fmin(fmax(value, 0), 1), 1 / 2.4);
    }
}

/* --- pictures ----------------------------------------------------------------------------------------------------- */

static AVFrame *frame_of(enum AVColorTransferCharacteristic transfer)
{
    AVFrame *frame = av_frame_alloc();
    ck_assert_ptr_nonnull(frame);
    frame->color_trc = transfer;
    frame->colorspace = AVCOL_SPC_RGB;
    return frame;
}

static void frame_set_level(AVFrame *frame, unsigned nits)
{
    AVContentLightMetadata *level = av_content_light_metadata_create_side_data(frame);
    ck_assert_ptr_nonnull(level);
    level->MaxCLL = nits;
}

static void frame_set_display(AVFrame *frame, int nits)
{
    AVMasteringDisplayMetadata *display = av_mastering_display_metadata_create_side_data(frame);
    ck_assert_ptr_nonnull(display);
    display->has_luminance = 1;
    display->max_luminance = (AVRational){nits * 10000, 10000};
}

/* A picture of one colour, its signals 0 to 1. */
static void map_colour(const AVFrame *frame, enum bl_simd simd, const double signal[3], uint8_t rgb[3])
{
    static const struct bl_pixels pixels = {.family = BL_FAMILY_RGB, .planes = 3, .depth = 16};
    struct bl_tonemap *t;
    struct bl_error e = {0};
    uint16_t words[3][SIDE];
    uint8_t out[SIDE * SIDE * 3], luma[SIDE * SIDE * 2];
    const struct bl_pixel_writer writer = {.origin = out, .step_x = 3, .step_y = (ptrdiff_t)SIDE * 3};
    const struct bl_pixel_writer grey = {
        .channels = BL_CHANNELS_GRAY, .origin = luma, .step_x = 2, .step_y = (ptrdiff_t)SIDE * 2};
    const uint16_t *const plane[3] = {words[0], words[1], words[2]};
    for (int c = 0; c < 3; c++) {
        for (int x = 0; x < SIDE; x++)
            words[c][x] = (uint16_t)lrint(signal[c] * 65535);
    }
    ck_assert_int_eq(bl_tonemap_open(&t, simd, &e), 0);
    ck_assert_msg(bl_tonemap_begin(t, frame, &pixels, SIDE, SIDE, &e) == 0, "%s", e.text);
    for (int y = 0; y < SIDE; y++) {
        bl_tonemap_put(t, plane, 0, y, 5);
        const uint16_t *const rest[3] = {words[0] + 5, words[1] + 5, words[2] + 5};
        bl_tonemap_put(t, rest, 5, y, SIDE - 5);
    }
    ck_assert_int_eq(bl_tonemap_finish(t, &writer, &e), 0);
    for (int i = 3; i < SIDE * SIDE * 3; i++)
        ck_assert_int_eq(out[i], out[i % 3]);
    ck_assert_int_eq(bl_tonemap_finish(t, &grey, &e), 0);
    for (int i = 0; i < SIDE * SIDE; i++)
        ck_assert_int_eq(luma[2 * i], (19595 * out[0] + 38470 * out[1] + 7471 * out[2] + 32768) / 65536);
    memcpy(rgb, out, 3);
    bl_tonemap_close(t);
}

static void assert_shown(const AVFrame *frame, const double signal[3], const double light[3], double peak)
{
    double expected[3];
    uint8_t rgb[3];
    shown(light, peak, expected);
    for (enum bl_simd simd = BL_SIMD_NONE; simd <= bl_simd_best(); simd++) {
        map_colour(frame, simd, signal, rgb);
        for (int c = 0; c < 3; c++)
            ck_assert_msg(fabs(rgb[c] - expected[c]) <= 1, "%s: %g %g %g: component %d is %d, expected %.2f",
                          bl_simd_name(simd), signal[0], signal[1], signal[2], c, rgb[c], expected[c]);
    }
}

static const double colours[][3] = {{0, 0, 0},          {0.1, 0.1, 0.1},    {0.3, 0.3, 0.3},  {0.5, 0.5, 0.5},
                                    {0.58, 0.58, 0.58}, {0.65, 0.65, 0.65}, {0.7, 0.7, 0.7},  {0.75, 0.75, 0.75},
                                    {1, 1, 1},          {0.7, 0.5, 0.4},    {0.4, 0.6, 0.45}, {0.3, 0.3, 0.6},
                                    {0.74, 0.7, 0.65},  {0.2, 0.75, 0.2}};

#define COLOURS COUNT(colours)

UNIT_TEST(pq_by_its_formulas)
{
    static const int peaks[] = {0, 203, 400, 1000, 4000};
    for (size_t i = 0; i < COLOURS * 5; i++) {
        const double *signal = colours[i % COLOURS];
        int peak = peaks[i / COLOURS];
        OWNED(av_frame_free) AVFrame *frame = frame_of(AVCOL_TRC_SMPTE2084);
        if (peak)
            frame_set_level(frame, (unsigned)peak);
        const double light[3] = {pq_light(signal[0]), pq_light(signal[1]), pq_light(signal[2])};
        assert_shown(frame, signal, light, peak ? peak : 1000);
    }
}

UNIT_TEST(hlg_by_its_formulas)
{
    for (size_t i = 0; i < COLOURS; i++) {
        OWNED(av_frame_free) AVFrame *frame = frame_of(AVCOL_TRC_ARIB_STD_B67);
        double light[3];
        frame_set_level(frame, 4000); /* says nothing of HLG */
        hlg_light(colours[i], light);
        assert_shown(frame, colours[i], light, 1000);
    }
}

UNIT_TEST(the_peak_by_what_is_told)
{
    OWNED(av_frame_free) AVFrame *frame = frame_of(AVCOL_TRC_SMPTE2084);
    ck_assert_double_eq(bl_tonemap_peak(frame), 1000);
    frame_set_display(frame, 4000);
    ck_assert_double_eq(bl_tonemap_peak(frame), 4000);
    frame_set_level(frame, 0); /* not known */
    ck_assert_double_eq(bl_tonemap_peak(frame), 4000);
    av_frame_remove_side_data(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL);
    frame_set_level(frame, 650);
    ck_assert_double_eq(bl_tonemap_peak(frame), 650);
    frame->color_trc = AVCOL_TRC_ARIB_STD_B67;
    ck_assert_double_eq(bl_tonemap_peak(frame), 1000);
    av_frame_free(&frame);
    frame = frame_of(AVCOL_TRC_SMPTE2084);
    frame_set_display(frame, 100000);
    ck_assert_double_eq(bl_tonemap_peak(frame), 10000);
}

UNIT_TEST(curves)
{
    ck_assert(bl_tonemap_is_hdr(AVCOL_TRC_SMPTE2084));
    ck_assert(bl_tonemap_is_hdr(AVCOL_TRC_ARIB_STD_B67));
    ck_assert(!bl_tonemap_is_hdr(AVCOL_TRC_BT2020_10));
    ck_assert(!bl_tonemap_is_hdr(AVCOL_TRC_UNSPECIFIED));
}

/* A picture after another of another size and curve is as by itself. */
UNIT_TEST(history_does_not_matter)
{
    static const struct bl_pixels pixels = {.family = BL_FAMILY_GREY, .planes = 1, .depth = 10};
    struct bl_tonemap *t;
    uint16_t words[40];
    uint8_t out[2][3 * 40 * 9], last[3 * 40 * 9];
    for (int x = 0; x < 40; x++)
        words[x] = (uint16_t)(x * 1500);
    const uint16_t *const plane[3] = {words};
    OWNED(av_frame_free) AVFrame *dim = frame_of(AVCOL_TRC_SMPTE2084), *bright = frame_of(AVCOL_TRC_SMPTE2084);
    frame_set_level(dim, 400);
    frame_set_level(bright, 4000);
    ck_assert_int_eq(bl_tonemap_open(&t, bl_simd_best(), &e), 0);
    const AVFrame *const frames[] = {dim, bright, dim};
    const int heights[] = {9, 5, 9};
    uint8_t *const to[] = {out[0], out[1], last};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(bl_tonemap_begin(t, frames[i], &pixels, 40, heights[i], &e), 0);
        for (int y = 0; y < heights[i]; y++)
            bl_tonemap_put(t, plane, 0, y, 40);
        const struct bl_pixel_writer writer = {.origin = to[i], .step_x = 3, .step_y = 3 * 40};
        ck_assert_int_eq(bl_tonemap_finish(t, &writer, &e), 0);
    }
    ck_assert_int_eq(memcmp(out[0], last, sizeof last), 0);
    ck_assert_int_ne(memcmp(out[0], out[1], sizeof out[1] / 9 * 5), 0);
    bl_tonemap_close(t);
    bl_tonemap_close(NULL);
}

/* Writes a video of one raw frame, PQ by its header, of which only the container says how bright it is. */
static void write_bright(const char *path, unsigned nits)
{
    AVFormatContext *format = NULL;
    OWNED(av_packet_free) AVPacket *packet = av_packet_alloc();
    ck_assert_int_ge(avformat_alloc_output_context2(&format, NULL, "matroska", path), 0);
    AVStream *stream = avformat_new_stream(format, NULL);
    ck_assert(packet && stream);
    AVCodecParameters *p = stream->codecpar;
    p->codec_type = AVMEDIA_TYPE_VIDEO;
    p->codec_id = AV_CODEC_ID_RAWVIDEO;
    p->format = AV_PIX_FMT_YUV420P;
    p->codec_tag = MKTAG('I', '4', '2', '0');
    p->width = p->height = SIDE;
    p->color_trc = AVCOL_TRC_SMPTE2084;
    size_t size;
    AVContentLightMetadata *level = av_content_light_metadata_alloc(&size);
    ck_assert_ptr_nonnull(level);
    level->MaxCLL = nits;
    level->MaxFALL = 100;
    ck_assert_int_ge(bl_compat_add_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, (uint8_t *)level, size), 0);
    ck_assert_int_ge(avio_open(&format->pb, path, AVIO_FLAG_WRITE), 0);
    ck_assert_int_ge(avformat_write_header(format, NULL), 0);
    ck_assert_int_ge(av_new_packet(packet, SIDE * SIDE * 3 / 2), 0);
    memset(packet->data, 128, (size_t)packet->size);
    packet->pts = packet->dts = 0;
    packet->flags = AV_PKT_FLAG_KEY;
    ck_assert_int_ge(av_write_frame(format, packet), 0);
    ck_assert_int_ge(av_write_trailer(format), 0);
    avio_closep(&format->pb);
    avformat_free_context(format);
}

UNIT_TEST(the_peak_by_the_container)
{
    struct bl_cancel cancel = {0};
    const struct bl_kind_env env = {.cancel = &cancel};
    OWNED(bl_decode_close) struct bl_decode d;
    OWNED(av_frame_free) AVFrame *frame = av_frame_alloc();
    bool got;
    write_bright("bright.mkv", 2500);
    ck_assert_msg(bl_decode_open(&d, "bright.mkv", -1, -1, BL_DEMUX_DECODE, &env, &e) == 0, "%s", e.text);
    ck_assert_int_eq(bl_decode_next(&d, frame, &got, &e), 0);
    ck_assert(got);
    ck_assert_int_eq(frame->color_trc, AVCOL_TRC_SMPTE2084);
    ck_assert_double_eq(bl_tonemap_peak(frame), 2500);
}
