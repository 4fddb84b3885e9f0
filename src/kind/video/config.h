/* The options of videos, and of folders of images, as values. */
#ifndef BL_VIDEO_CONFIG_H
#define BL_VIDEO_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"

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
    struct bl_rational fps;    /* den 0: every frame */
    int fps_origin;            /* enum bl_fps_origin */
    int64_t stride;            /* every stride-th frame; 1: every frame */
    int count;                 /* enum bl_count */
    int stream;                /* as of bl_option_stream_number */
    struct bl_dimensions size; /* width 0: the videos' own */
    int fit;                   /* enum bl_fit */
    int resize;                /* enum bl_resize, or BL_RESIZE_AUTO until the options are prepared */
    int pixels;                /* enum bl_channels */
    bool ignore_sar;           /* pixels are taken for square */
    bool times;                /* a field of times, too */
    int hdr;                   /* enum bl_hdr */
    int decoder;               /* enum bl_decoder */
    const char *gpus;          /* which: "all", "0,1" */
    const char *images;        /* of folders: a pattern of names, or NULL: all */
    int jpeg_scale;            /* of folders: enum bl_jpeg_scale */

    /* Made ready of these: what --decoder may use, or NULL. */
    struct bl_gpu *gpu;
    const struct bl_gpu_functions *gpu_functions;
    struct bl_gpu_pool *gpu_pool;
    char gpu_none[256]; /* why --decoder auto has none, or "" */
};

#endif
