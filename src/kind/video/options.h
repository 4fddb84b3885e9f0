/* The options of videos and of folders of images: their values, and the frames and pixels that they select. */
#ifndef BL_KIND_VIDEO_OPTIONS_H
#define BL_KIND_VIDEO_OPTIONS_H

#include <libavutil/rational.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "kind/kind.h"
#include "kind/media/demux.h"
#include "kind/video/frame_list.h"

/* --- option values ------------------------------------------------------------------------------------------------ */

enum bl_hdr { BL_HDR_SKIP, BL_HDR_CLIP, BL_HDR_TONEMAP };
enum bl_fps_origin { BL_FPS_FIRST, BL_FPS_ZERO };
enum bl_count { BL_COUNT_PACKETS, BL_COUNT_DECODE };
enum {
    BL_RESIZE_AUTO = 4
}; /* --filter auto, behind enum bl_resize: nearest for numbers (bl_channels_keep_numbers),
    otherwise bilinear */
enum bl_jpeg_scale { BL_JPEG_WHOLE, BL_JPEG_HALF, BL_JPEG_QUARTER, BL_JPEG_AUTO };
enum bl_decoder { BL_DECODER_CPU, BL_DECODER_NVDEC, BL_DECODER_AUTO };

/* The places of the fields in struct bl_fields. */
enum { BL_VIDEO_FRAMES, BL_VIDEO_TIMES };

struct bl_gpu;
struct bl_gpu_functions;

struct bl_video_config {
    struct bl_kind_config common;   /* stream */
    struct bl_rational fps;         /* den 0: every frame */
    int fps_origin;                 /* enum bl_fps_origin */
    int64_t stride;                 /* every stride-th frame; 1: every frame */
    int64_t frames;                 /* of each video; 0: as many as there are */
    int frames_at;                  /* enum bl_frame_form, up to BL_FRAMES_START */
    int frames_rule;                /* enum bl_frame_rule; its frames per second are fps, 2 if that is not set */
    int64_t min_frames;             /* of the rule */
    int64_t max_frames;             /* of the rule */
    int64_t frame_factor;           /* of the rule */
    int count;                      /* enum bl_count */
    struct bl_dimensions size;      /* of a frame, pixels; width 0: the videos' own */
    int fit;                        /* enum bl_fit */
    int resize;                     /* enum bl_resize, or BL_RESIZE_AUTO until the options are prepared */
    int pixels;                     /* enum bl_channels */
    struct bl_rational depth_scale; /* numbers of a depth map in a metre; den 0: not given */
    bool ignore_sar;                /* pixels count as square, whatever the file states */
    bool times;                     /* there is a field of times, too */
    int deinterlace;                /* enum bl_deinterlace_mode */
    int hdr;                        /* enum bl_hdr */
    int decoder;                    /* enum bl_decoder */
    const char *gpus;               /* for bl_gpu_list_parse: "all", "0,1" */
    const char *images;             /* of folders: a pattern of names; NULL: all images */
    int jpeg_scale;                 /* of folders: enum bl_jpeg_scale */

    /* The media module sets these when the options are prepared; NULL: no GPU is used. */
    struct bl_gpu *gpu;
    const struct bl_gpu_functions *gpu_functions;
    struct bl_gpu_pool *gpu_pool;
};

/* --- channels of a pixel ------------------------------------------------------------------------------------------ */

/* The values of a pixel (--pixels). */

enum bl_channels {
    BL_CHANNELS_RGB,    /* U8 [3] */
    BL_CHANNELS_GRAY,   /* U8 [1]: luma, 0 to 255 */
    BL_CHANNELS_GRAY16, /* U16 [1]: the numbers of the file, of grey pictures of 9 to 16 bits */
    BL_CHANNELS_INDEX,  /* U8 [1]: the numbers of the file, of palette and grey pictures of up to 8 bits */
    BL_CHANNELS_RGB16,  /* U16 [3]: the numbers of the file, of RGB pictures of 9 to 16 bits */
    BL_CHANNELS_RGBA,   /* U8 [4]: RGB and alpha, which is 255 where a picture has none */
    BL_CHANNELS_DEPTH,  /* F32 [1]: the numbers of BL_CHANNELS_GRAY16, divided by --depth-scale */
    BL_CHANNELS_FLOW,   /* F32 [2]: the vectors of .flo files */
};

extern const char *const bl_channels_choices[]; /* their names, ended by NULL */

/* Returns whether the values are the numbers of the file, of which scaling may mix none. */
bool bl_channels_keep_numbers(enum bl_channels channels);

/* Sets the type and shape of a field whose steps are pictures of this size, in pixels. */
void bl_channels_set_field(enum bl_channels channels, int width, int height, struct bl_field *field);

/* Returns the bytes of a pixel. */
int bl_channels_bytes(enum bl_channels channels);

/* Returns the luma of ITU-R BT.601-2 in 16-bit fixed point, as Pillow's convert("L") computes it, for components of up
 * to 16 bits. */
static inline uint32_t bl_channels_luma(uint32_t red, uint32_t green, uint32_t blue)
{
    return (19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16;
}

/* --- list of GPUs ------------------------------------------------------------------------------------------------- */

#define BL_GPUS_MAX 64

/* The GPUs that --gpu lists, by the driver's numbers. */
struct bl_gpu_list {
    int number[BL_GPUS_MAX];
    int count; /* 0: all GPUs */
};

/* Parses "all", or distinct numbers separated by commas. BL_EUSAGE. */
int bl_gpu_list_parse(struct bl_gpu_list *list, const char *text, struct bl_error *e);

/* --- frame picker ------------------------------------------------------------------------------------------------- */

/* A picker takes every frame, every N-th, or those that FFmpeg's fps filter gives. It needs timestamps alone.
 *
 * Frames are pushed in display order. Only the time of the next frame decides whether a frame is taken. So a push
 * returns how often the *previous* frame is taken, and bl_pick_end returns it for the last frame. The scan pushes the
 * sorted timestamps of packets, and a reader those of decoded frames; both get the same results.
 *
 * fps follows vf_fps of FFmpeg 5.1 with its defaults (round=near, eof_action=round). Output n is shown n / fps after
 * the origin, which is the first frame's time, or another one. A frame's time is rounded to the nearest output (halves
 * away from 0), and the frame fills the outputs from there to the next frame's, so that frames are dropped and
 * repeated. For example, at 10 fps frames at 0, 0.04, 0.08 and 0.12 s round to the outputs 0, 0, 1 and 1: the second
 * one fills output 0, and the fourth one output 1. The first frame taken also fills the outputs before it, as the
 * ffmpeg command does for image files, whose numbers count from the origin.
 *
 * A picker with a list takes the frames of the list, and those that repeat in it several times. */

struct bl_pick {
    struct bl_frame_list list; /* count 0: none */
    int64_t stride;            /* takes every stride-th frame; 0: picks by time */
    int64_t num, den;          /* a tick in outputs is num / den */
    int64_t origin;            /* the time of output 0, in ticks */
    bool origin_known;         /* the origin was set; otherwise it is the first frame's time */
    int64_t next;              /* by time: the output to be filled next */
    int64_t lead;              /* outputs before the first frame, until one is taken */
    int64_t pushed;            /* frames so far */
    int64_t taken;             /* outputs so far */
};

/* An unknown timestamp. */
#define BL_PICK_UNKNOWN INT64_MIN

/* Initializes a picker. fps_den 0: it takes every stride-th frame. The time base (seconds per tick) matters with fps
 * only. Returns false if the time base or the rate is out of bounds (FFmpeg's are at most 2^31). */
bool bl_pick_init(struct bl_pick *pick, int64_t fps_num, int64_t fps_den, int64_t stride, int64_t time_num,
                  int64_t time_den);

/* Sets the origin of a fresh picker, in ticks; it has an effect with fps only. */
void bl_pick_set_origin(struct bl_pick *pick, int64_t origin);

/* Makes a fresh picker take the frames of a list, whose numbers are those of the frames that will be pushed. */
void bl_pick_set_list(struct bl_pick *pick, const struct bl_frame_list *list);

/* Pushes the next frame, at `time` in ticks; BL_PICK_UNKNOWN: with fps, such a frame fills no output. Returns how often
 * the previous frame is taken. */
int64_t bl_pick_push(struct bl_pick *pick, int64_t time);

/* Ends the sequence, at the time when the last frame ends, in ticks. Returns how often the last frame is taken. */
int64_t bl_pick_end(struct bl_pick *pick, int64_t time);

/* --- sampling ----------------------------------------------------------------------------------------------------- */

/* These functions apply --fps, --stride, --frames and --frames-rule, for counting and reading alike. */

/* Returns whether frames are taken by their times: --fps, unless it belongs to a rule. */
bool bl_sampling_is_by_time(const struct bl_video_config *config);

/* Returns whether frames are taken by a list, which depends on their number. */
bool bl_sampling_has_list(const struct bl_video_config *config);

/* Returns whether some frames may not be taken. */
bool bl_sampling_is_partial(const struct bl_video_config *config);

/* Makes the list for `frames` frames, of which the first has the number `first` in its file. rate is that of the file
 * (avg_frame_rate); only rules use it. BL_EDATA: the rule cannot take any of them (e has the reason). */
int bl_sampling_make_list(const struct bl_video_config *config, int64_t first, int64_t frames, AVRational rate,
                          struct bl_frame_list *list, struct bl_error *e);

/* Makes the same list again from its length, `count`. */
void bl_sampling_restore_list(const struct bl_video_config *config, int64_t first, int64_t frames, int64_t count,
                              struct bl_frame_list *list);

/* Returns the mode for opening a file whose packets alone are read. */
enum bl_demux_mode bl_sampling_count_mode(const struct bl_video_config *config);

/* Returns the mode for opening a file that is decoded; times: the times of the frames are needed, too. */
enum bl_demux_mode bl_sampling_decode_mode(const struct bl_video_config *config, bool times);

/* Returns whether outputs count from the start of the file, and not from the first frame. */
bool bl_sampling_from_start(const struct bl_video_config *config);

/* Makes a picker for a stream. tick is the time base in seconds; start is the start of the file in ticks
 * (bl_demux_start), which matters only if outputs count from it. BL_EDATA: --fps cannot use such a time base. */
int bl_sampling_begin(const struct bl_video_config *config, AVRational tick, int64_t start, struct bl_pick *pick,
                      struct bl_error *e);

/* The columns of a list: how many frames the video or clip has, and how many entries of the list are repeated. */
#define BL_SOURCE_FRAMES_COLUMN "source_frames"
#define BL_REPEATED_FRAMES_COLUMN "repeated_frames"

/* Appends the values of these columns, a tab before each; nothing for an empty list. */
void bl_video_list_columns(const struct bl_frame_list *list, struct bl_buffer *out);

#endif
