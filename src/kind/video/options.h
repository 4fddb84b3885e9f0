/* The options of videos and of folders of images: their values, and which frames and pixels they select. */
#ifndef BL_KIND_VIDEO_OPTIONS_H
#define BL_KIND_VIDEO_OPTIONS_H

#include <libavutil/rational.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/option.h"
#include "kind/kind.h"
#include "kind/media/demux.h"

/* --- option values ------------------------------------------------------------------------------------------------ */

enum bl_hdr { BL_HDR_SKIP, BL_HDR_CLIP, BL_HDR_TONEMAP };
enum bl_fps_origin { BL_FPS_FIRST, BL_FPS_ZERO };
enum bl_count { BL_COUNT_PACKETS, BL_COUNT_DECODE };
enum { BL_RESIZE_AUTO = 4 }; /* --filter, behind those of enum bl_resize: nearest of 16-bit grey, else bilinear */
enum bl_jpeg_scale { BL_JPEG_WHOLE, BL_JPEG_HALF, BL_JPEG_QUARTER, BL_JPEG_AUTO };
enum bl_decoder { BL_DECODER_CPU, BL_DECODER_NVDEC, BL_DECODER_AUTO };

/* The fields, by their places. */
enum { BL_VIDEO_FRAMES, BL_VIDEO_TIMES };

struct bl_gpu;
struct bl_gpu_functions;

struct bl_video_config {
    struct bl_kind_config common; /* stream */
    struct bl_rational fps;       /* den 0: every frame */
    int fps_origin;               /* enum bl_fps_origin */
    int64_t stride;               /* every stride-th frame; 1: every frame */
    int count;                    /* enum bl_count */
    struct bl_dimensions size;    /* width 0: the videos' own */
    int fit;                      /* enum bl_fit */
    int resize;                   /* enum bl_resize, or BL_RESIZE_AUTO until the options are prepared */
    int pixels;                   /* enum bl_channels */
    bool ignore_sar;              /* pixels are taken for square */
    bool times;                   /* a field of times, too */
    int hdr;                      /* enum bl_hdr */
    int decoder;                  /* enum bl_decoder */
    const char *gpus;             /* which: "all", "0,1" */
    const char *images;           /* of folders: a pattern of names, or NULL: all */
    int jpeg_scale;               /* of folders: enum bl_jpeg_scale */

    /* Made ready of these: what --decoder may use, or NULL. */
    struct bl_gpu *gpu;
    const struct bl_gpu_functions *gpu_functions;
    struct bl_gpu_pool *gpu_pool;
};

/* --- channels of a pixel ------------------------------------------------------------------------------------------ */

/* What a pixel of the frames is made of (--pixels). */

enum bl_channels {
    BL_CHANNELS_RGB,    /* U8 [3] */
    BL_CHANNELS_GRAY,   /* U8 [1]: luma, 0 to 255 */
    BL_CHANNELS_GRAY16, /* U16 [1]: the numbers of the file, of grey pictures of 9 to 16 bits */
};

/* Sets type and shape of a field whose steps are pictures of this size. */
void bl_channels_set_field(enum bl_channels channels, int width, int height, struct bl_field *field);

/* Bytes of a pixel. */
int bl_channels_bytes(enum bl_channels channels);

/* The luma of ITU-R BT.601-2 in 16-bit fixed point, as Pillow's convert("L") has it; of components of up to 16 bits. */
static inline uint32_t bl_channels_luma(uint32_t red, uint32_t green, uint32_t blue)
{
    return (19595 * red + 38470 * green + 7471 * blue + 0x8000) >> 16;
}

/* --- list of GPUs ------------------------------------------------------------------------------------------------- */

/* The GPUs that --gpu lists. */

#define BL_GPUS_MAX 64

struct bl_gpu_list {
    int number[BL_GPUS_MAX];
    int count; /* 0: all */
};

/* Parses "all", or distinct numbers separated by commas. BL_EUSAGE. */
int bl_gpu_list_parse(struct bl_gpu_list *list, const char *text, struct bl_error *e);

/* --- frame picker ------------------------------------------------------------------------------------------------- */

/* Picks frames: every one, every N-th, or those that FFmpeg's fps filter gives. Pure arithmetic on timestamps.
 *
 * Frames are pushed in display order. Whether a frame is taken is known only with the time of the next one, so a push
 * returns how often the *previous* frame is taken; bl_pick_end returns it for the last frame. The scan pushes the
 * sorted timestamps of packets, reading those of decoded frames; both get the same results.
 *
 * fps follows vf_fps of FFmpeg 5.1 with its defaults (round=near, eof_action=round). Output n is shown n / fps after
 * the origin: the first frame's time, or another one. A frame's time is rounded to the nearest output (halves away from
 * 0), and the frame fills the outputs from there to the next frame's, so frames are dropped and repeated. The first
 * frame taken fills those before it, too, as the ffmpeg command has it for image files, whose numbers count from the
 * origin.
 */

struct bl_pick {
    int64_t stride;    /* every stride-th; 0: by time */
    int64_t num, den;  /* a tick in outputs is num / den */
    int64_t origin;    /* the time of output 0 */
    bool origin_known; /* otherwise it is the first frame's */
    int64_t next;      /* by time: the output to be filled next */
    int64_t lead;      /* outputs before the first frame, until one is taken */
    int64_t pushed;    /* frames so far */
    int64_t taken;     /* outputs so far */
};

/* An unknown timestamp. */
#define BL_PICK_UNKNOWN INT64_MIN

/* fps_den 0: every stride-th frame. The time base (seconds per tick) matters with fps only. False: time base or rate
 * out of bounds (FFmpeg's are at most 2^31). */
bool bl_pick_init(struct bl_pick *pick, int64_t fps_num, int64_t fps_den, int64_t stride, int64_t time_num,
                  int64_t time_den);

/* Sets the origin of a fresh picker, in ticks; with fps only. */
void bl_pick_set_origin(struct bl_pick *pick, int64_t origin);

/* Pushes the next frame, at time in ticks or BL_PICK_UNKNOWN (with fps, such a frame fills no output). Returns how
 * often the previous frame is taken. */
int64_t bl_pick_push(struct bl_pick *pick, int64_t time);

/* Ends the sequence, at the time when the last frame ends. Returns how often the last frame is taken. */
int64_t bl_pick_end(struct bl_pick *pick, int64_t time);

/* --- sampling ----------------------------------------------------------------------------------------------------- */

/* Which frames of a stream --fps and --stride take, for counting and reading alike. */

/* How a file is to be opened for packets alone. */
enum bl_demux_mode bl_sampling_count_mode(const struct bl_video_config *config);

/* How it is to be opened for decoding; times: of the frames, too. */
enum bl_demux_mode bl_sampling_decode_mode(const struct bl_video_config *config, bool times);

/* Whether outputs count from the start of the file, not from the first frame. */
bool bl_sampling_from_start(const struct bl_video_config *config);

/* Makes a picker for a stream; tick: seconds; start: of the file, in ticks (bl_demux_start), if outputs count from it.
 * BL_EDATA: --fps cannot use such a tick. */
int bl_sampling_begin(const struct bl_video_config *config, AVRational tick, int64_t start, struct bl_pick *pick,
                      struct bl_error *e);

#endif
