/* The video kind: its options and its table of functions.
 *
 * Everything that needs FFmpeg is in the media module, behind read.c, and is loaded with the first file. A frame passes
 * these files: demux reads packets, decode makes frames, the picker of options.h takes some of them, convert makes
 * pixels. read.c does all of that for a piece; count.c finds lengths. */
#include "kind/video/video.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/list.h"
#include "kind/media/module.h"
#include "kind/video/decode.h"
#include "kind/video/geometry.h"
#include "kind/video/options.h"

/* The endings of file names. */
static const char *const extensions[] = {"mp4",  "m4v",  "mov",  "qt",   "mkv", "webm", "avi", "divx",  "ts",   "mts",
                                         "m2ts", "m2t",  "mpg",  "mpeg", "m1v", "m2v",  "vob", "ogv",   "ogm",  "flv",
                                         "f4v",  "wmv",  "asf",  "3gp",  "3g2", "mxf",  "y4m", "gif",   "apng", "h264",
                                         "264",  "avc",  "hevc", "h265", "265", "ivf",  "obu", "mjpeg", "mjpg", "dv",
                                         "rm",   "rmvb", "nut",  "wtv",  "nsv", "dav",  NULL};

static const char *const count_choices[] = {"packets", "decode", NULL};
static const char *const fps_origin_choices[] = {"first", "zero", NULL};
static const char *const frames_at_choices[] = {"linspace", "linspace-round", "middle", "start", NULL};
static const char *const frames_rule_choices[] = {"none", "qwen-vl-utils", "qwen2-vl", "qwen3-vl", NULL};
static const char *const fit_choices[] = {"stretch", "crop", "pad", NULL};
static const char *const resize_choices[] = {"bilinear", "bicubic", "lanczos", "nearest", "auto", NULL};
static const char *const hdr_choices[] = {"skip", "clip", "tonemap", NULL};
static const char *const deinterlace_choices[] = {"off", "interlaced", "all", NULL};
static const char *const jpeg_scale_choices[] = {"1", "2", "4", "auto", NULL};
static const char *const decoder_choices[] = {"cpu", "nvdec", "auto", NULL};

const struct bl_option bl_video_options[] = {
    BL_OPTION_RATIONAL(
        "fps", struct bl_video_config, fps, BL_AFFECTS_LENGTHS,
        "take this many frames per second by their times, as ffmpeg's fps filter does; without it every frame"),
    BL_OPTION_CHOICE("fps-origin", struct bl_video_config, fps_origin, fps_origin_choices, BL_AFFECTS_LENGTHS,
                     "where --fps counts from: the first frame, or the start of the file (zero), as in the names of "
                     "images that ffmpeg extracted",
                     .initial = "first", .only = "fps"),
    BL_OPTION_INT("stride", struct bl_video_config, stride, BL_AFFECTS_LENGTHS, "take every N-th frame, from the first",
                  .initial = "1", .min = 1, .placeholder = "N"),
    BL_OPTION_INT("frames", struct bl_video_config, frames, BL_AFFECTS_LENGTHS,
                  "take N frames of each video or clip, spread over it; of shorter ones some repeatedly", .min = 1,
                  .max = 1 << 20, .placeholder = "N", .unlisted = true),
    BL_OPTION_CHOICE("frames-at", struct bl_video_config, frames_at, frames_at_choices, BL_AFFECTS_LENGTHS,
                     "which ones: those of numpy's linspace from the first to the last, truncated or rounded, or the "
                     "middle or the start of each of N parts",
                     .initial = "linspace", .only = "frames", .unlisted = true),
    BL_OPTION_CHOICE("frames-rule", struct bl_video_config, frames_rule, frames_rule_choices, BL_AFFECTS_LENGTHS,
                     "take the frames that this processor of Qwen's models takes, --fps of them per second (2)",
                     .initial = "none", .unlisted = true),
    BL_OPTION_INT("min-frames", struct bl_video_config, min_frames, BL_AFFECTS_LENGTHS,
                  "the fewest frames that the rule takes", .initial = "4", .min = 1, .max = 1 << 15, .placeholder = "N",
                  .only = "frames-rule=qwen-vl-utils|qwen2-vl|qwen3-vl", .unlisted = true),
    BL_OPTION_INT("max-frames", struct bl_video_config, max_frames, BL_AFFECTS_LENGTHS,
                  "the most frames that the rule takes", .initial = "768", .min = 1, .max = 1 << 15, .placeholder = "N",
                  .only = "frames-rule=qwen-vl-utils|qwen2-vl|qwen3-vl", .unlisted = true),
    BL_OPTION_INT("frame-factor", struct bl_video_config, frame_factor, BL_AFFECTS_LENGTHS,
                  "the number of frames is a multiple of this one", .initial = "2", .min = 1, .max = 1 << 10,
                  .placeholder = "N", .only = "frames-rule=qwen-vl-utils|qwen2-vl", .unlisted = true),
    BL_OPTION_CHOICE("count", struct bl_video_config, count, count_choices, BL_AFFECTS_LENGTHS,
                     "how to count frames: by packets, decoding only what looks suspicious, or by decoding everything",
                     .initial = "packets"),
    BL_OPTION_DIMENSIONS("size", struct bl_video_config, size, BL_AFFECTS_BYTES,
                         "scale frames to this size; without it all videos must have one size"),
    BL_OPTION_CHOICE("fit", struct bl_video_config, fit, fit_choices, BL_AFFECTS_BYTES,
                     "pictures of another shape than --size: stretch them, crop the edges, or pad with black",
                     .initial = "stretch", .only = "size"),
    BL_OPTION_CHOICE("filter", struct bl_video_config, resize, resize_choices, BL_AFFECTS_BYTES,
                     "how frames are scaled; all but nearest antialias when they shrink; auto: nearest for pixels "
                     "that are numbers, otherwise bilinear",
                     .initial = "auto"),
    BL_OPTION_CHOICE("pixels", struct bl_video_config, pixels, bl_channels_choices, BL_AFFECTS_LENGTHS,
                     "what frames become: RGB; grey; RGB and alpha; or numbers as files have them: 16-bit grey or RGB, "
                     "class indices of masks (index), depth in metres, optical flow of .flo files",
                     .initial = "rgb"),
    BL_OPTION_RATIONAL(
        "depth-scale", struct bl_video_config, depth_scale, BL_AFFECTS_BYTES,
        "numbers of a depth map in a metre: 1000 (millimetres), 5000 (TUM), 256 (KITTI); depth divides by "
        "it, gray16 notes it in the manifest",
        .placeholder = "N", .only = "pixels=gray16|depth", .unlisted = true),
    BL_OPTION_FLAG("ignore-sar", struct bl_video_config, ignore_sar, BL_AFFECTS_BYTES,
                   "treat pixels as square, whatever shape the file says"),
    BL_OPTION_FLAG("times", struct bl_video_config, times, BL_AFFECTS_BYTES,
                   "add a field times, F64 [n,T]: when each frame is shown, in seconds from the first"),
    BL_OPTION_CHOICE(
        "hdr", struct bl_video_config, hdr, hdr_choices, BL_AFFECTS_LENGTHS,
        "PQ and HLG video: skip it, map it to BT.709 (tonemap), or convert it as if it were not HDR (clip)",
        .initial = "skip"),
    BL_OPTION_CHOICE("deinterlace", struct bl_video_config, deinterlace, deinterlace_choices, BL_AFFECTS_LENGTHS,
                     "deinterlace by FFmpeg's filter bwdif: the frames that the stream marks as interlaced, or all",
                     .initial = "off", .unlisted = true),
    BL_OPTION_CHOICE(
        "decoder", struct bl_video_config, decoder, decoder_choices, BL_AFFECTS_LENGTHS,
        "decode on the processor, on the GPU's video engines (nvdec), or on these where they support the file (auto)",
        .initial = "cpu"),
    BL_OPTION_STRING("gpu", struct bl_video_config, gpus, BL_AFFECTS_NOTHING, "the GPUs to decode on", .initial = "all",
                     .placeholder = "0,1|all", .only = "decoder=nvdec|auto"),
    BL_OPTION_STRING("images", struct bl_video_config, images, BL_AFFECTS_LENGTHS,
                     "from folders of images, take only names that match this pattern, such as 'img_*'",
                     .placeholder = "PATTERN"),
    BL_OPTION_CHOICE("jpeg-scale", struct bl_video_config, jpeg_scale, jpeg_scale_choices, BL_AFFECTS_BYTES,
                     "decode the JPEG files of folders at 1 / N of their size, which is faster; auto: at the smallest "
                     "size that is not below --size",
                     .initial = "1"),
    {0},
};

int bl_video_check_pixels(const struct bl_video_config *config, struct bl_error *e)
{
    enum bl_channels channels = (enum bl_channels)config->pixels;
    bool is_depth = channels == BL_CHANNELS_GRAY16 || channels == BL_CHANNELS_DEPTH;
    if (channels == BL_CHANNELS_DEPTH && !config->depth_scale.den)
        return bl_error_set(
            e, BL_EUSAGE,
            "--pixels depth needs --depth-scale, the numbers in a metre: 1000 for millimetres, 5000 for "
            "TUM, 256 for KITTI");
    if (!bl_channels_keep_numbers(channels) || config->resize == BL_RESIZE_NEAREST || config->resize == BL_RESIZE_AUTO)
        return BL_OK;
    return bl_error_set(
        e, BL_EUSAGE,
        "--filter %s mixes neighbouring values, so %s become wrong: --pixels %s goes with nearest, its default",
        resize_choices[config->resize],
        is_depth                        ? "depths"
        : channels == BL_CHANNELS_INDEX ? "classes"
                                        : "numbers",
        bl_channels_choices[channels]);
}

void bl_video_prepare_pixels(struct bl_video_config *config)
{
    if (config->resize == BL_RESIZE_AUTO)
        config->resize =
            bl_channels_keep_numbers((enum bl_channels)config->pixels) ? BL_RESIZE_NEAREST : BL_RESIZE_BILINEAR;
}

/* Checks the options that choose frames by a list. BL_EUSAGE. */
static int video_check_list(const struct bl_video_config *config, struct bl_error *e)
{
    bool by_rule = config->frames_rule != BL_FRAME_RULE_NONE;
    if (config->frames && by_rule)
        return bl_error_set(e, BL_EUSAGE, "--frames and --frames-rule cannot be given together: the rule finds N");
    if (config->frames && config->fps.den)
        return bl_error_set(e, BL_EUSAGE, "--frames takes the same number of each video: leave --fps out");
    if (bl_sampling_has_list(config) && config->stride != 1)
        return bl_error_set(e, BL_EUSAGE, "--%s and --stride cannot be given together",
                            by_rule ? "frames-rule" : "frames");
    if (!by_rule)
        return BL_OK;
    if (config->fps_origin != BL_FPS_FIRST)
        return bl_error_set(e, BL_EUSAGE, "--fps-origin: --frames-rule takes frames by their numbers, not their times");
    if (config->min_frames > config->max_frames)
        return bl_error_set(e, BL_EUSAGE, "--min-frames %lld is more than --max-frames %lld",
                            (long long)config->min_frames, (long long)config->max_frames);
    if (config->frames_rule != BL_FRAME_RULE_QWEN3_VL && config->frame_factor > config->max_frames)
        return bl_error_set(e, BL_EUSAGE, "--frame-factor %lld is more than --max-frames %lld: no frame would be taken",
                            (long long)config->frame_factor, (long long)config->max_frames);
    return BL_OK;
}

/* Checks the options that need no file. BL_EUSAGE. */
static int video_check(const void *values, struct bl_error *e)
{
    const struct bl_video_config *config = values;
    BL_TRY(video_check_list(config, e));
    if (config->fps.den != 0 && config->stride != 1)
        return bl_error_set(e, BL_EUSAGE, "--fps and --stride cannot be given together");
    if (config->fps.den != 0 && (config->fps.num > INT32_MAX || config->fps.den > INT32_MAX))
        return bl_error_set(e, BL_EUSAGE, "--fps is out of bounds");
    if (config->images)
        return bl_error_set(e, BL_EUSAGE, "--images is for folders of images (--kind frames)");
    if (config->jpeg_scale)
        return bl_error_set(e, BL_EUSAGE, "--jpeg-scale is for folders of images (--kind frames)");
    if (config->hdr == BL_HDR_TONEMAP && config->decoder != BL_DECODER_CPU)
        return bl_error_set(e, BL_EUSAGE, "--hdr tonemap maps on the processor: it needs --decoder cpu");
    if (config->pixels != BL_CHANNELS_RGB && config->decoder != BL_DECODER_CPU)
        return bl_error_set(e, BL_EUSAGE, "--pixels %s is made on the processor: it needs --decoder cpu",
                            bl_channels_choices[config->pixels]);
    if (config->deinterlace && config->decoder != BL_DECODER_CPU)
        return bl_error_set(e, BL_EUSAGE, "--deinterlace works on the processor: it needs --decoder cpu");
    if (config->deinterlace && bl_channels_keep_numbers((enum bl_channels)config->pixels))
        return bl_error_set(e, BL_EUSAGE,
                            "--deinterlace makes lines of their neighbours: --pixels %s keeps numbers as they are",
                            bl_channels_choices[config->pixels]);
    if (config->pixels == BL_CHANNELS_FLOW)
        return bl_error_set(e, BL_EUSAGE, "--pixels flow is for folders of .flo files (--kind frames)");
    if (bl_channels_keep_numbers((enum bl_channels)config->pixels) && config->hdr != BL_HDR_SKIP)
        return bl_error_set(e, BL_EUSAGE, "--hdr %s: --pixels %s keeps numbers as they are, whatever they mean",
                            hdr_choices[config->hdr], bl_channels_choices[config->pixels]);
    if (config->pixels == BL_CHANNELS_RGBA && config->hdr == BL_HDR_TONEMAP)
        return bl_error_set(e, BL_EUSAGE,
                            "--hdr tonemap maps colours without alpha: it goes with --pixels rgb or gray");
    BL_TRY(bl_video_check_pixels(config, e));
    struct bl_gpu_list gpus;
    BL_TRY(bl_gpu_list_parse(&gpus, config->gpus, e));
    if (config->size.width == 0)
        return 0;
    struct bl_geometry geometry;
    struct bl_geometry_input input = {
        .coded_width = 1, .coded_height = 1, .target_width = config->size.width, .target_height = config->size.height};
    return bl_geometry_make(&geometry, &input, e);
}

/* Loads what deinterlaces, and opens the GPUs, if --decoder may use them. With --decoder auto no usable GPU is a
 * warning only. */
static int video_prepare(void *values, struct bl_buffer *warning, struct bl_error *e)
{
    struct bl_video_config *config = values;
    struct bl_error none = {0};
    bl_video_prepare_pixels(config);
    if (config->decoder == BL_DECODER_CPU && !config->deinterlace)
        return BL_OK;
    const struct bl_media *media;
    BL_TRY(bl_media_open(&media, e));
    if (config->deinterlace)
        return media->load_deinterlace(e);
    int code = media->open_gpu(config, &none);
    if (code == BL_EFAIL && config->decoder == BL_DECODER_AUTO) {
        bl_buffer_printf(warning, "--decoder auto: no GPU is used: %.200s", none.text);
        return BL_OK;
    }
    return code ? bl_error_set(e, code, "--decoder %s: %s", decoder_choices[config->decoder], none.text) : BL_OK;
}

/* Closes the GPUs, if video_prepare opened any. */
static void video_release(void *values)
{
    struct bl_video_config *config = values;
    if (config->gpu)
        bl_media_opened()->close_gpu(config);
}

/* Adds the name of the column that has the choice of the decoder. */
static void video_columns(const void *values, bool manifests, struct bl_buffer *out)
{
    (void)manifests;
    const struct bl_video_config *config = values;
    if (config->decoder != BL_DECODER_CPU)
        bl_buffer_text(out, "\t" BL_BACKEND_COLUMN);
    if (bl_sampling_has_list(config))
        bl_buffer_text(out, "\t" BL_SOURCE_FRAMES_COLUMN "\t" BL_REPEATED_FRAMES_COLUMN);
}

/* Appends the part of the identity that the frames of a list depend on. */
static void video_list_sampling(const struct bl_video_config *config, struct bl_buffer *out)
{
    if (config->frames) {
        bl_buffer_printf(out, "frames=%lld", (long long)config->frames);
        if (config->frames_at != BL_FRAMES_LINSPACE)
            bl_buffer_printf(out, " at=%s", frames_at_choices[config->frames_at]);
        return;
    }
    bl_buffer_printf(out, "rule=%s fps=", frames_rule_choices[config->frames_rule]);
    if (config->fps.den > 1)
        bl_buffer_printf(out, "%lld/%lld", (long long)config->fps.num, (long long)config->fps.den);
    else
        bl_buffer_printf(out, "%lld", config->fps.den ? (long long)config->fps.num : (long long)BL_FRAME_RULE_FPS);
    bl_buffer_printf(out, " min=%lld max=%lld", (long long)config->min_frames, (long long)config->max_frames);
    if (config->frames_rule != BL_FRAME_RULE_QWEN3_VL)
        bl_buffer_printf(out, " factor=%lld", (long long)config->frame_factor);
}

void bl_video_sampling(const void *values, struct bl_buffer *out)
{
    const struct bl_video_config *config = values;
    long long num = config->fps.num, den = config->fps.den;
    if (bl_sampling_has_list(config))
        video_list_sampling(config, out);
    else if (den == 1)
        bl_buffer_printf(out, "fps=%lld", num);
    else if (den != 0)
        bl_buffer_printf(out, "fps=%lld/%lld", num, den);
    else if (config->stride != 1)
        bl_buffer_printf(out, "stride=%lld", (long long)config->stride);
    else
        bl_buffer_text(out, "all");
    if (bl_sampling_from_start(config))
        bl_buffer_text(out, " origin=zero");
    if (config->common.stream)
        bl_buffer_printf(out, " stream=%d", config->common.stream - 1);
    if (config->images)
        bl_buffer_printf(out, " images=%s", config->images);
    if (bl_channels_keep_numbers((enum bl_channels)config->pixels)) /* which many files do not have */
        bl_buffer_printf(out, " pixels=%s", bl_channels_choices[config->pixels]);
    if (config->decoder != BL_DECODER_CPU)
        bl_buffer_printf(out, " decoder=%s", decoder_choices[config->decoder]);
}

/* Reads the rate of frames from the identity that bl_video_sampling writes, such as "fps=30000/1001"; false: each file
 * has its own. */
static bool video_rate(const char *sampling, int64_t *num, int64_t *den)
{
    size_t size = strncmp(sampling, "fps=", 4) == 0 ? strcspn(sampling + 4, "/ ") : 0;
    const char *rest = sampling + 4 + size;
    *den = 1;
    return size && bl_text_to_int(sampling + 4, size, 1, INT32_MAX, num) &&
           (*rest != '/' || bl_text_to_int(rest + 1, strcspn(rest + 1, " "), 1, INT32_MAX, den));
}

/* The fields of a sequence: frames, and their times with --times. BL_EDATA: neither --size nor row gives the size. */
static int video_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                        struct bl_fields *out, struct bl_error *e)
{
    const struct bl_video_config *config = values;
    struct bl_dimensions size = config->size;
    if (size.width == 0) {
        if (!row)
            return bl_error_set(e, BL_EDATA, "the size of frames is each video's own");
        BL_TRY(bl_video_forward_size(config, env, row, &size, e));
    }
    *out = (struct bl_fields){.count = config->times ? 2 : 1};
    out->field[BL_VIDEO_TIMES] = (struct bl_field){.name = "times", .kind = "video", .dtype = BL_F64};
    out->field[0] = (struct bl_field){.name = "frames", .kind = "video"};
    bl_channels_set_field((enum bl_channels)config->pixels, size.width, size.height, &out->field[0]);
    return 0;
}

void bl_video_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    const struct bl_video_config *config = values;
    if (field->rank == 0) {
        bl_buffer_text(out, "seconds from the first frame");
        return;
    }
    static const char *const made[] = {[BL_CHANNELS_RGB] = "RGB frames",
                                       [BL_CHANNELS_GRAY] = "grey frames (luma, 0 to 255)",
                                       [BL_CHANNELS_GRAY16] = "grey frames with the numbers of the files",
                                       [BL_CHANNELS_INDEX] = "indices with the numbers of the files",
                                       [BL_CHANNELS_RGB16] = "RGB frames with the numbers of the files",
                                       [BL_CHANNELS_RGBA] = "RGB frames with alpha (not premultiplied)",
                                       [BL_CHANNELS_DEPTH] = "depths in metres, 0 where the files have 0",
                                       [BL_CHANNELS_FLOW] = "optical flow (u, v) in pixels, as the files have it"};
    const struct bl_rational *scale = &config->depth_scale;
    bl_buffer_text(out, made[config->pixels]);
    if (scale->den == 1)
        bl_buffer_printf(out, ", %lld numbers a metre", (long long)scale->num);
    else if (scale->den)
        bl_buffer_printf(out, ", %lld/%lld numbers a metre", (long long)scale->num, (long long)scale->den);
    if (config->pixels == BL_CHANNELS_FLOW)
        return;
    bl_buffer_printf(out, ", scaled by zimg: %s%s", resize_choices[config->resize],
                     config->resize == BL_RESIZE_NEAREST ? "" : ", antialiased");
    if (config->decoder != BL_DECODER_CPU)
        bl_buffer_text(out, " (those that a GPU decoded, by the same filter on it)");
    if (config->size.width)
        bl_buffer_printf(out, ", %s", fit_choices[config->fit]);
    if (config->deinterlace)
        bl_buffer_printf(out, ", deinterlaced by bwdif (%s)",
                         config->deinterlace == BL_DEINTERLACE_ALL ? "all frames" : "frames marked as interlaced");
    if (config->hdr == BL_HDR_TONEMAP)
        bl_buffer_text(out, ", HDR mapped to BT.709 by BT.2390");
    if (config->jpeg_scale)
        bl_buffer_printf(out, ", JPEG files decoded at scale %s", jpeg_scale_choices[config->jpeg_scale]);
    if (config->ignore_sar)
        bl_buffer_text(out, ", pixels taken for square");
}

/* Returns whether decoder processes may do the work: a driver's threads and memory cannot be shared with them. */
static bool video_decodes(const void *values)
{
    const struct bl_video_config *config = values;
    return !config->gpu;
}

static void video_gpu_times(const void *values, struct bl_gpu_times *times)
{
    const struct bl_video_config *config = values;
    if (config->gpu)
        bl_media_opened()->gpu_times(config, times);
}

static const struct bl_total video_totals[] = {
    {.column = BL_REPEATED_FRAMES_COLUMN, .text = "repeated frames", .tells_rows = true}, {0}};

static const struct bl_kind_scan video_scan = {
    .sampling = bl_video_sampling,
    .rate = video_rate,
    .columns = video_columns,
    .totals = video_totals,
    .lists = &bl_clip_lists,
    .open = bl_video_forward_open_counter,
    .count = bl_video_forward_count,
};

static const struct bl_kind_read video_read = {
    /* Decoders hold reference pictures, scalers their rows. A run with one worker and small blocks peaked at 155 MiB on
     * 4K H.264 and HEVC, at 60 MiB on 1080p. */
    .memory = (int64_t)128 << 20,  .times = BL_TIMES_SECONDS,
    .fields = video_fields,        .open = bl_video_forward_open_reader,

    .describe = bl_video_describe, .versions = bl_video_forward_versions,
};

const struct bl_kind bl_kind_video = {
    .name = "video",
    .title = "Video",
    .steps = "frames",
    .extensions = extensions,
    .decodes = video_decodes,
    .gpu_times = video_gpu_times,
    .options = {.table = bl_video_options,
                .config_size = sizeof(struct bl_video_config),
                .has_streams = true,
                .check = video_check,
                .prepare = video_prepare,
                .release = video_release},
    .scan = &video_scan,
    .read = &video_read,
};
