#include "kind/video/clips.h"

#include <inttypes.h>
#include <stdlib.h>

#include "kind/clip.h"
#include "kind/list.h"
#include "kind/video/config.h"
#include "kind/video/footage.h"
#include "kind/video/sampling.h"
#include "kind/video/seek_point.h"

/* Seconds by which a clip may end after its file without being reported, beside a frame: times in lists are rounded. */
#define END_TOLERANCE 0.025

struct bl_counter {
    const struct bl_video_config *config;
    const struct bl_kind_env *env;
    struct bl_footage_cache footage;
    struct bl_clip clip;
    struct bl_list_path path;
    struct bl_buffer extra, seek;
    char reason[1024];
};

#define ADD_REASON(c, ...) bl_row_append_reason((c)->reason, sizeof(c)->reason, __VA_ARGS__)

int bl_clips_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                          struct bl_error *e)
{
    struct bl_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->config = config;
    c->env = env;
    *counter = c;
    return BL_OK;
}

void bl_clips_counter_close(struct bl_counter *c)
{
    bl_footage_close(&c->footage);
    bl_clip_free(&c->clip);
    bl_list_path_free(&c->path);
    bl_buffer_free(&c->extra);
    bl_buffer_free(&c->seek);
    free(c);
}

/* The frames that lie between two times. */
static int clip_resolve_times(struct bl_counter *c, const struct bl_footage *f, int64_t *begin, int64_t *end,
                              struct bl_error *e)
{
    const struct bl_clip *clip = &c->clip;
    if (!f->found.times)
        return bl_error_set(e, BL_EDATA, "its frames have no timestamps: give start_frame and end_frame");
    double seconds = bl_footage_end(f), last = seconds - f->found.times[f->found.length - 1];
    *begin = clip->start < 0 ? 0 : bl_footage_nearest(f, clip->start);
    *end = clip->end < 0 ? f->found.length : bl_footage_nearest(f, clip->end);
    if (*begin >= f->found.length)
        return bl_error_set(e, BL_EDATA, "begins at %.3f s, and the video ends at %.3f s", clip->start, seconds);
    if (clip->end > seconds + (last > END_TOLERANCE ? last : END_TOLERANCE))
        ADD_REASON(c, "ends %.3f s behind the video's end at %.3f s: so much is missing", clip->end - seconds, seconds);
    return BL_OK;
}

static int clip_resolve_frames(struct bl_counter *c, const struct bl_footage *f, int64_t *begin, int64_t *end,
                               struct bl_error *e)
{
    const struct bl_clip *clip = &c->clip;
    int64_t length = f->found.length;
    *begin = clip->first < 0 ? 0 : clip->first;
    *end = clip->behind < 0 || clip->behind > length ? length : clip->behind;
    if (*begin >= length)
        return bl_error_set(e, BL_EDATA, "begins with frame %" PRId64 ", and the video has %" PRId64, *begin, length);
    if (clip->behind > length)
        ADD_REASON(c, "ends %" PRId64 " frames behind the video's end: so many are missing", clip->behind - length);
    return BL_OK;
}

/* Fills in which frames the clip has, and how many steps they give. */
static int clip_fill_frames(struct bl_counter *c, const struct bl_footage *f, struct bl_row *row, struct bl_error *e)
{
    int64_t begin = 0, end = 0;
    int code = c->clip.by_time ? clip_resolve_times(c, f, &begin, &end, e) : clip_resolve_frames(c, f, &begin, &end, e);
    if (code)
        return code;
    if (end <= begin)
        return bl_error_set(e, BL_EDATA, "no frame lies between its start and its end");
    code = bl_footage_steps(f, c->config, begin, end, &row->length, e);
    if (code)
        return code;
    bool whole = bl_clip_is_whole(&c->clip);
    if (*f->found.reason)
        ADD_REASON(c, "%s%s", whole ? "" : "the video: ", f->found.reason);
    if (whole) /* it is read as a file is that no list names */
        return BL_OK;
    row->clip_begin = begin;
    row->clip_end = end;
    struct bl_seek_point point = {0};
    if (f->timeline.exact && !*f->found.reason)
        bl_seek_point_make(&point, &f->timeline, begin, end);
    bl_seek_point_format(&point, &c->seek);
    return BL_OK;
}

/* Fills in what the row has from its file. */
static int clip_fill_row(struct bl_counter *c, struct bl_row *row, const struct bl_footage **footage,
                         struct bl_error *e)
{
    int code = bl_footage_find(&c->footage, c->config, c->env, c->path.open_path.data, footage, e);
    if (code)
        return code;
    const struct bl_footage *f = *footage;
    row->bytes = f->bytes;
    row->content = f->content;
    row->stream = f->found.stream;
    if (f->code)
        return bl_error_set(e, BL_EDATA, "%s", f->fault);
    return clip_fill_frames(c, f, row, e);
}

/* Fills in the row of a line. BL_EDATA: unusable. */
static int clips_fill(void *counter, const struct bl_chunk *chunk, const struct bl_line *line, struct bl_row *row,
                      struct bl_error *e)
{
    struct bl_counter *c = counter;
    const struct bl_footage *footage = NULL;
    if (bl_sampling_from_start(c->config))
        return bl_error_set(e, BL_EUSAGE, "--fps-origin zero: the frames of a clip count from its first one");
    int code = bl_clip_parse(&c->clip, line->text, line->size, e);
    if (code && code != BL_EDATA)
        return code;
    bl_buffer_clear(&c->extra);
    bl_buffer_clear(&c->seek);
    bl_buffer_text(&c->seek, "");
    row->id = *c->clip.path ? c->clip.id.data : NULL;
    if (!code) {
        code = bl_list_path_set(&c->path, chunk, c->clip.path, true, e);
        row->path = code ? NULL : c->path.path.data;
    }
    if (!code)
        code = clip_fill_row(c, row, &footage, e);
    if (code && code != BL_EDATA)
        return code;
    if (c->config->decoder != BL_DECODER_CPU)
        bl_buffer_text(&c->extra, code ? "\t" : footage->backend == BL_BACKEND_CPU ? "\tcpu" : "\tnvdec");
    bl_clip_append_columns(&c->extra, row->clip_begin, row->clip_end, c->seek.data);
    bl_buffer_text(&c->extra, c->clip.further.data);
    int failed = bl_buffer_check(&c->extra, e);
    row->extra = c->extra.data;
    return failed ? failed : code;
}

int bl_clips_count(const struct bl_kind_env *env, struct bl_counter *c, const struct bl_chunk *chunk, bl_row_emit *emit,
                   void *sink, struct bl_error *e)
{
    const struct bl_list_counting counting = {.fill = clips_fill, .counter = c, .reason = c->reason};
    return bl_list_count(&counting, env, chunk, emit, sink, e);
}
