/* Raw frames through the tool's own converter: what `ffmpeg -f rawvideo` gives on stdin, packed RGB on stdout.
 *
 *     convert_raw PIX_FMT WxH [name=value...] < raw > rgb
 *
 * matrix=, range=, chroma=, transfer= take FFmpeg's names (bt709, tv, left, smpte2084; unsaid where not given);
 * size=WxH, fit=stretch|crop|pad, sar=N:D, matrix9=a,b,u,c,d,v,x,y,w (the display matrix) make the geometry;
 * hdr=clip|tonemap, simd=LEVEL, align=N (alignment of the rows, 1: as they lie in the input) the rest; kernel=loop does
 * it by the GPU's kernel as compiled for the processor, for nv12, p010le,
 * p016le, yuv444p and yuv444p16le. Exit status as the tool's. */
#include <errno.h>
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kind/media/module.h"
#include "kind/video/convert.h"
#include "kind/video/readback.h"

struct job {
    AVFrame *frame;
    struct bl_geometry_input input;
    struct bl_convert_options options;
    int32_t matrix[9];
    int align;
    int loop; /* by the kernel */
    struct bl_nv12 filters;
};

static int size_parse(const char *text, int *width, int *height)
{
    return sscanf(text, "%dx%d", width, height) == 2 ? 0 : -1;
}

static int fit_parse(const char *text, enum bl_fit *fit)
{
    *fit = !strcmp(text, "crop") ? BL_FIT_CROP : !strcmp(text, "pad") ? BL_FIT_PAD : BL_FIT_STRETCH;
    return *fit == BL_FIT_STRETCH && strcmp(text, "stretch") ? -1 : 0;
}

static int matrix_parse(struct job *job, const char *text)
{
    char *end;
    for (int i = 0; i < 9; i++, text = end + 1) {
        job->matrix[i] = (int32_t)strtol(text, &end, 10);
        if (end == text || *end != (i < 8 ? ',' : 0))
            return -1;
    }
    job->input.matrix = job->matrix;
    return 0;
}

static int colour_parse(AVFrame *frame, const char *name, const char *value)
{
    int number = -1;
    if (!strcmp(name, "matrix"))
        frame->colorspace = (enum AVColorSpace)(number = av_color_space_from_name(value));
    if (!strcmp(name, "range"))
        frame->color_range = (enum AVColorRange)(number = av_color_range_from_name(value));
    if (!strcmp(name, "chroma"))
        frame->chroma_location = (enum AVChromaLocation)(number = av_chroma_location_from_name(value));
    if (!strcmp(name, "transfer"))
        frame->color_trc = (enum AVColorTransferCharacteristic)(number = av_color_transfer_from_name(value));
    return number < 0 ? -1 : 0;
}

/* One name=value. */
static int option_parse(struct job *job, char *text, struct bl_error *e)
{
    char *value = strchr(text, '=');
    if (!value)
        return bl_error_set(e, BL_EUSAGE, "'%s' is no name=value", text);
    *value++ = 0;
    if (!strcmp(text, "simd"))
        return bl_simd_parse(value, &job->options.simd, e);
    int rc = -1;
    if (!strcmp(text, "size"))
        rc = size_parse(value, &job->input.target_width, &job->input.target_height);
    else if (!strcmp(text, "fit"))
        rc = fit_parse(value, &job->input.fit);
    else if (!strcmp(text, "sar"))
        rc = sscanf(value, "%d:%d", &job->input.sar_num, &job->input.sar_den) == 2 ? 0 : -1;
    else if (!strcmp(text, "matrix9"))
        rc = matrix_parse(job, value);
    else if (!strcmp(text, "hdr"))
        rc = (job->options.hdr_clip = !strcmp(value, "clip")) || (job->options.hdr_tonemap = !strcmp(value, "tonemap"))
                 ? 0
                 : -1;
    else if (!strcmp(text, "kernel"))
        rc = (job->loop = !strcmp(value, "loop")) ? 0 : -1;
    else if (!strcmp(text, "align"))
        rc = (job->align = atoi(value)) > 0 ? 0 : -1;
    else
        rc = colour_parse(job->frame, text, value);
    return rc ? bl_error_set(e, BL_EUSAGE, "cannot make anything of %s=%s", text, value) : 0;
}

static int job_parse(struct job *job, int argc, char **argv, struct bl_error *e)
{
    if (argc < 3)
        return bl_error_set(e, BL_EUSAGE, "usage: convert_raw PIX_FMT WxH [name=value...]");
    job->frame->format = av_get_pix_fmt(argv[1]);
    if (job->frame->format == AV_PIX_FMT_NONE)
        return bl_error_set(e, BL_EUSAGE, "'%s' is no pixel format", argv[1]);
    int rc = size_parse(argv[2], &job->frame->width, &job->frame->height);
    if (rc)
        return bl_error_set(e, BL_EUSAGE, "'%s' is no size", argv[2]);
    for (int i = 3; i < argc && !rc; i++)
        rc = option_parse(job, argv[i], e);
    job->input.coded_width = job->frame->width;
    job->input.coded_height = job->frame->height;
    return rc;
}

/* Reads one frame's bytes; 1 at the end of the input. */
static int frame_read(uint8_t *raw, size_t bytes, struct bl_error *e)
{
    size_t got = fread(raw, 1, bytes, stdin);
    if (ferror(stdin))
        return bl_error_errno(e, BL_EFAIL, "cannot read");
    if (got && got < bytes)
        return bl_error_set(e, BL_EDATA, "the last frame has %zu of %zu bytes", got, bytes);
    return got == 0;
}

/* Lays the raw bytes out as a frame: in place when rows may lie as they come, else in rows of the given alignment. */
static int frame_fill(struct job *job, uint8_t *raw, struct bl_error *e)
{
    AVFrame *frame = job->frame;
    if (job->align == 1)
        return av_image_fill_arrays(frame->data, frame->linesize, raw, (enum AVPixelFormat)frame->format, frame->width,
                                    frame->height, 1) < 0
                   ? bl_error_set(e, BL_EFAIL, "cannot lay out the frame")
                   : 0;
    uint8_t *data[4];
    int linesize[4];
    if (av_image_fill_arrays(data, linesize, raw, (enum AVPixelFormat)frame->format, frame->width, frame->height, 1) <
            0 ||
        (!frame->buf[0] && av_frame_get_buffer(frame, job->align) < 0))
        return bl_error_memory(e);
    av_image_copy(frame->data, frame->linesize, (const uint8_t **)data, linesize, (enum AVPixelFormat)frame->format,
                  frame->width, frame->height);
    return 0;
}

/* What readback.c does on a GPU. */
static int loop_convert(struct job *job, const struct bl_geometry *geometry, uint8_t *rgb, struct bl_error *e)
{
    struct bl_nv12_rgb picture = {0};
    ptrdiff_t origin;
    bool made;
    int rc = bl_nv12_prepare(&job->filters, geometry, (enum AVPixelFormat)job->frame->format,
                             job->frame->chroma_location, &made, e);
    if (!rc)
        rc = bl_nv12_describe(&picture, geometry, (enum AVPixelFormat)job->frame->format, job->frame, &origin, e);
    if (rc)
        return rc;
    for (int i = 0; i < 2; i++) {
        picture.across[i] = bl_nv12_axis(&job->filters.across[i]);
        picture.down[i] = bl_nv12_axis(&job->filters.down[i]);
    }
    bl_nv12_set_surface(&picture, job->frame);
    memset(rgb, 0, (size_t)geometry->width * (size_t)geometry->height * 3);
    picture.rgb = rgb + origin;
    bl_nv12_rgb_host(&picture);
    return 0;
}

static int frames_convert(struct job *job, struct bl_convert *convert, const struct bl_geometry *geometry, uint8_t *raw,
                          size_t raw_bytes, uint8_t *rgb, struct bl_error *e)
{
    size_t rgb_bytes = (size_t)geometry->width * (size_t)geometry->height * 3;
    for (;;) {
        int rc = frame_read(raw, raw_bytes, e);
        if (rc)
            return rc < 0 ? rc : 0;
        rc = frame_fill(job, raw, e);
        if (!rc)
            rc = job->loop ? loop_convert(job, geometry, rgb, e)
                           : bl_convert_frame(convert, job->frame, geometry, rgb, e);
        if (rc)
            return rc;
        if (fwrite(rgb, 1, rgb_bytes, stdout) != rgb_bytes)
            return bl_error_errno(e, BL_EFAIL, "cannot write");
    }
}

static int run(struct job *job, int argc, char **argv, struct bl_error *e)
{
    struct bl_geometry geometry;
    struct bl_convert *convert = NULL;
    uint8_t *raw = NULL, *rgb = NULL;
    int rc = job_parse(job, argc, argv, e);
    if (!rc)
        rc = bl_simd_apply(job->options.simd, e);
    if (!rc)
        rc = bl_geometry_make(&geometry, &job->input, e);
    if (!rc)
        rc = bl_convert_open(&convert, &job->options, e);
    if (rc)
        return rc;
    int bytes =
        av_image_get_buffer_size((enum AVPixelFormat)job->frame->format, job->frame->width, job->frame->height, 1);
    raw = bytes > 0 ? malloc((size_t)bytes) : NULL;
    rgb = malloc((size_t)geometry.width * (size_t)geometry.height * 3);
    rc = raw && rgb ? frames_convert(job, convert, &geometry, raw, (size_t)bytes, rgb, e) : bl_error_memory(e);
    free(raw);
    free(rgb);
    bl_nv12_free(&job->filters);
    bl_convert_close(convert);
    return rc;
}

int main(int argc, char **argv)
{
    struct bl_error e = {0};
    struct job job = {.frame = av_frame_alloc(), .options = {.simd = bl_simd_best()}, .align = 64};
    int rc = job.frame ? run(&job, argc, argv, &e) : bl_error_memory(&e);
    av_frame_free(&job.frame);
    if (!rc && fflush(stdout))
        rc = bl_error_errno(&e, BL_EFAIL, "cannot write");
    if (rc)
        fprintf(stderr, "convert_raw: %s\n", e.text);
    return -rc;
}
