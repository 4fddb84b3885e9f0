/* Runs a graph of three filters (the source of frames, bwdif, and the sink) for pictures of one size and format.
 *
 * The graph is made anew where pictures change; the frame that came with the change waits until the old graph has given
 * its last frame. Formats that bwdif does not take are not converted: such frames pass if they need no deinterlacing.
 *
 * The types of libavfilter are not needed: each function takes and returns pointers that are only passed on. */
#include "kind/video/deinterlace.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <libavcodec/avcodec.h>
#include <libavutil/avutil.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "kind/media/compat.h"

/* --- libavfilter -------------------------------------------------------------------------------------------------- */

#define MAJOR (LIBAVCODEC_VERSION_MAJOR - 51) /* in each release of FFmpeg, libavfilter's number is that much lower */
#define CONVERT_NONE UINT_MAX                 /* AVFILTER_AUTO_CONVERT_NONE */

/* The functions that are used, as libavfilter's headers declare them; void stands for its own types. */
struct filter_functions {
    void *library;
    unsigned (*version)(void);
    void *(*graph_alloc)(void);
    void (*graph_free)(void **graph);
    const void *(*by_name)(const char *name);
    int (*create)(void **filter, const void *kind, const char *name, const char *arguments, void *opaque, void *graph);
    void (*set_auto_convert)(void *graph, unsigned flags);
    int (*link)(void *from, unsigned from_pad, void *to, unsigned to_pad);
    int (*configure)(void *graph, void *log);
    int (*add_frame)(void *source, AVFrame *frame, int flags);
    int (*get_frame)(void *sink, AVFrame *frame);
};

/* Finds the functions in the library. Returns the name of one that is missing, or NULL. */
static const char *functions_find(struct filter_functions *f)
{
    const struct {
        const char *name;
        void *place; /* of the pointer to the function */
    } wanted[] = {{"avfilter_version", &f->version},
                  {"avfilter_graph_alloc", &f->graph_alloc},
                  {"avfilter_graph_free", &f->graph_free},
                  {"avfilter_get_by_name", &f->by_name},
                  {"avfilter_graph_create_filter", &f->create},
                  {"avfilter_graph_set_auto_convert", &f->set_auto_convert},
                  {"avfilter_link", &f->link},
                  {"avfilter_graph_config", &f->configure},
                  {"av_buffersrc_add_frame_flags", &f->add_frame},
                  {"av_buffersink_get_frame", &f->get_frame}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(f->library, wanted[i].name);
        if (!found)
            return wanted[i].name;
        *(void **)wanted[i].place = found;
    }
    return NULL;
}

/* Opens the library, which stays loaded. A library that is loaded already is found without opening a file. */
static int functions_open(struct filter_functions *f, struct bl_error *e)
{
    char name[32];
    *f = (struct filter_functions){0};
    snprintf(name, sizeof name, "libavfilter.so.%d", MAJOR);
    f->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!f->library)
        return bl_error_set(e, BL_EUSAGE,
                            "--deinterlace needs %s of FFmpeg, which is not installed (Debian: libavfilter%d): %s",
                            name, MAJOR, dlerror());
    /* The frames of one FFmpeg cannot be given to another one. */
    if (dlsym(f->library, "avutil_version") != (void *)(uintptr_t)avutil_version)
        return bl_error_set(e, BL_EUSAGE,
                            "--deinterlace needs the FFmpeg of the system: this build decodes with another one");
    const char *missing = functions_find(f);
    return missing ? bl_error_set(e, BL_EUSAGE, "--deinterlace: %s has no function %s", name, missing) : BL_OK;
}

int bl_deinterlace_load(struct bl_error *e)
{
    struct filter_functions functions;
    return functions_open(&functions, e);
}

unsigned bl_deinterlace_version(void)
{
    char name[32];
    snprintf(name, sizeof name, "libavfilter.so.%d", MAJOR);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    unsigned (*version)(void) = NULL;
    if (library)
        *(void **)&version = dlsym(library, "avfilter_version");
    unsigned number = version ? version() : 0;
    if (library)
        (void)dlclose(library);
    return number;
}

/* --- the filter --------------------------------------------------------------------------------------------------- */

#define WAITING_MAX 8 /* frames in the graph; bwdif holds two */

/* The times of a frame in the graph. */
struct frame_times {
    int64_t pts, dts, best, duration;
};

struct bl_deinterlace {
    struct filter_functions functions;
    enum bl_deinterlace_mode mode;
    void *graph, *source, *sink; /* NULL: none is open; the graph owns the other two */
    int width, height, format;   /* of the graph, or of the frames that pass */
    bool passing;                /* the graph cannot be made for such frames */
    bool ended;
    int64_t pushed; /* frames, into this graph */
    struct frame_times waiting[WAITING_MAX];
    int waits;
    AVFrame *later; /* the first frame of the next graph, or empty; owned */
    AVFrame *ready; /* a frame that passed, or empty; owned */
};

int bl_deinterlace_open(struct bl_deinterlace **out, enum bl_deinterlace_mode mode, struct bl_error *e)
{
    struct bl_deinterlace *d = calloc(1, sizeof *d);
    if (!d)
        return bl_error_memory(e);
    d->mode = mode;
    d->later = av_frame_alloc();
    d->ready = av_frame_alloc();
    int code = d->later && d->ready ? functions_open(&d->functions, e) : bl_error_memory(e);
    if (code)
        bl_deinterlace_close(d);
    else
        *out = d;
    return code;
}

/* Closes the graph, with the frames in it. */
static void deinterlace_close_graph(struct bl_deinterlace *d)
{
    if (d->graph)
        d->functions.graph_free(&d->graph);
    d->source = d->sink = NULL;
    d->width = d->height = 0;
    d->passing = false;
    d->pushed = 0;
    d->waits = 0;
}

void bl_deinterlace_reset(struct bl_deinterlace *d)
{
    deinterlace_close_graph(d);
    av_frame_unref(d->later);
    av_frame_unref(d->ready);
    d->ended = false;
}

void bl_deinterlace_close(struct bl_deinterlace *d)
{
    if (!d)
        return;
    deinterlace_close_graph(d);
    av_frame_free(&d->later);
    av_frame_free(&d->ready);
    free(d);
}

bool bl_deinterlace_ended(const struct bl_deinterlace *d)
{
    return d->ended;
}

/* --- graph ------------------------------------------------------------------------------------------------------ */

/* Makes the three filters and links them. Returns libav's code. */
static int graph_make(struct bl_deinterlace *d, const AVFrame *frame)
{
    const struct filter_functions *f = &d->functions;
    const AVRational aspect = frame->sample_aspect_ratio;
    char source[160], filter[64];
    void *bwdif;
    d->graph = f->graph_alloc();
    if (!d->graph)
        return AVERROR(ENOMEM);
    f->set_auto_convert(d->graph, CONVERT_NONE);
    snprintf(source, sizeof source, "video_size=%dx%d:pix_fmt=%d:time_base=1/25:pixel_aspect=%d/%d", frame->width,
             frame->height, frame->format, aspect.num, aspect.den > 0 ? aspect.den : 1);
    snprintf(filter, sizeof filter, "mode=send_frame:parity=auto:deint=%s",
             d->mode == BL_DEINTERLACE_ALL ? "all" : "interlaced");
    int code = av_opt_set_int(d->graph, "threads", 1, 0);
    if (code >= 0)
        code = f->create(&d->source, f->by_name("buffer"), "in", source, NULL, d->graph);
    if (code >= 0)
        code = f->create(&bwdif, f->by_name("bwdif"), "bwdif", filter, NULL, d->graph);
    if (code >= 0)
        code = f->create(&d->sink, f->by_name("buffersink"), "out", NULL, NULL, d->graph);
    if (code >= 0)
        code = f->link(d->source, 0, bwdif, 0);
    if (code >= 0)
        code = f->link(bwdif, 0, d->sink, 0);
    return code < 0 ? code : f->configure(d->graph, NULL);
}

/* Opens a graph for such frames. If bwdif does not take them, they pass. */
static int deinterlace_open_graph(struct bl_deinterlace *d, const AVFrame *frame, struct bl_error *e)
{
    deinterlace_close_graph(d);
    int code = graph_make(d, frame);
    if (code < 0)
        deinterlace_close_graph(d);
    if (code == AVERROR(ENOMEM))
        return bl_error_memory(e);
    d->passing = code < 0;
    d->width = frame->width;
    d->height = frame->height;
    d->format = frame->format;
    return BL_OK;
}

/* Moves the frame into the graph, which is that of its size and format, or lets it pass. */
static int deinterlace_send(struct bl_deinterlace *d, AVFrame *frame, struct bl_error *e)
{
    if (d->passing && (d->mode == BL_DEINTERLACE_ALL || bl_compat_is_interlaced(frame))) {
        const char *format = av_get_pix_fmt_name((enum AVPixelFormat)frame->format);
        return bl_error_set(e, BL_EDATA, "frames of %dx%d in the pixel format %s cannot be deinterlaced", frame->width,
                            frame->height, format ? format : "?");
    }
    if (d->passing) {
        av_frame_move_ref(d->ready, frame);
        return BL_OK;
    }
    if (d->waits == WAITING_MAX)
        return bl_error_set(e, BL_EFAIL, "bwdif gives no frames");
    d->waiting[d->waits++] = (struct frame_times){.pts = frame->pts,
                                                  .dts = frame->pkt_dts,
                                                  .best = frame->best_effort_timestamp,
                                                  .duration = bl_compat_duration(frame)};
    frame->pts = d->pushed++;
    int code = d->functions.add_frame(d->source, frame, 0);
    return code < 0 ? bl_error_memory(e) : BL_OK; /* it fails in no other way, for frames of its graph */
}

int bl_deinterlace_push(struct bl_deinterlace *d, AVFrame *frame, struct bl_error *e)
{
    bool open = d->graph || d->passing;
    bool other = frame && (frame->width != d->width || frame->height != d->height || frame->format != d->format);
    d->ended = !frame;
    if (d->graph && (other || !frame)) { /* the end of this graph */
        if (other)
            av_frame_move_ref(d->later, frame);
        return d->functions.add_frame(d->source, NULL, 0) < 0 ? bl_error_memory(e) : BL_OK;
    }
    if (!frame)
        return BL_OK;
    if (!open || other) {
        BL_TRY(deinterlace_open_graph(d, frame, e));
    }
    return deinterlace_send(d, frame, e);
}

int bl_deinterlace_take(struct bl_deinterlace *d, AVFrame *frame, bool *got, struct bl_error *e)
{
    *got = false;
    if (d->graph) {
        int code = d->functions.get_frame(d->sink, frame);
        if (code >= 0 && d->waits) {
            const struct frame_times times = d->waiting[0];
            for (int i = 1; i < d->waits; i++)
                d->waiting[i - 1] = d->waiting[i];
            d->waits--;
            frame->pts = times.pts;
            frame->pkt_dts = times.dts;
            frame->best_effort_timestamp = times.best;
            bl_compat_set_duration(frame, times.duration);
            *got = true;
            return BL_OK;
        }
        if (code == AVERROR(EAGAIN))
            return BL_OK;
        if (code != AVERROR_EOF)
            return code == AVERROR(ENOMEM) ? bl_error_memory(e) : bl_error_set(e, BL_EDATA, "bwdif fails");
        deinterlace_close_graph(d);
        if (!d->later->buf[0])
            return BL_OK;
        BL_TRY(deinterlace_open_graph(d, d->later, e));
        BL_TRY(deinterlace_send(d, d->later, e));
    }
    *got = d->ready->buf[0] != NULL;
    if (*got)
        av_frame_move_ref(frame, d->ready);
    return BL_OK;
}
