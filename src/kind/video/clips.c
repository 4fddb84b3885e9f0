/* Counts clips, and finds for each the frames between its ends and the seek point from which they can be decoded.
 *
 * The cache of source videos holds 256 videos, or 64 MiB of timestamps; an hour of video takes about 2 MiB. Lists
 * usually name the clips of a video one after the other, so that even a small cache answers nearly all of them. */
#include "kind/video/clips.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/input_stat.h"
#include "kind/list.h"
#include "kind/video/options.h"
#include "kind/video/piece.h"

#define BL_CACHED_SOURCES_MAX 256

/* The videos that a worker used last. Start from {0}. */
struct bl_source_cache {
    struct bl_cached_source file[BL_CACHED_SOURCES_MAX];
    uint64_t clock; /* the number of look-ups so far */
    size_t memory;  /* bytes of the arrays of all entries */
};

/* --- source cache ------------------------------------------------------------------------------------------------- */

#define MEMORY_MAX ((size_t)64 << 20) /* bytes of all entries; the entry in use may exceed it alone */

#define TIE 1e-9 /* seconds: two different times in a table of decimals are further apart */

/* Empties an entry. */
static void cached_source_clear(struct bl_source_cache *cache, struct bl_cached_source *f)
{
    cache->memory -= f->memory;
    free(f->path);
    free(f->fault);
    free(f->found.times);
    bl_timeline_free(&f->timeline);
    *f = (struct bl_cached_source){0};
}

/* Returns when a frame is shown, in ticks from the file's first frame; behind the last frame, when that ends. */
static int64_t cached_source_ticks(const struct bl_cached_source *f, int64_t frame)
{
    if (frame >= f->found.length)
        return f->found.end;
    return llrint(f->found.times[frame] / av_q2d(f->found.tick));
}

/* Counts all frames of the file, chooses its decoder, and makes the timeline of an undamaged file; a damaged file is
 * decoded from its beginning. */
static int cached_source_count(struct bl_cached_source *f, const struct bl_video_config *config,
                               const struct bl_kind_env *env, const struct bl_input *input, struct bl_error *e)
{
    struct bl_video_config all = *config;
    struct bl_demux d;
    if (bl_sampling_is_by_time(config))
        all.fps = (struct bl_rational){0};
    all.stride = 1;
    BL_TRY(bl_video_count(&all, env, input, NULL, true, &f->found, e));
    BL_TRY(
        bl_backend_choose(config, env, input->path, input->bytes, f->found.stream, *f->found.reason, &f->backend, e));
    if (*f->found.reason || !f->found.times)
        return BL_OK;
    BL_TRY(bl_demux_open(&d, input->path, f->bytes, f->found.stream, BL_DEMUX_COUNT, env, e));
    int code = bl_timeline_make(&f->timeline, &d, false, e);
    bl_demux_close(&d);
    const struct bl_timestamps *shown = &f->timeline.shown;
    bool exact = f->timeline.exact && (int64_t)shown->count == f->found.length;
    /* Where libav derives times from the data, decoding must give the frames at the times that the packets have. */
    for (size_t i = 0; exact && f->timeline.derived && i < shown->count; i++)
        exact = cached_source_ticks(f, (int64_t)i) == shown->time[i] - shown->time[0];
    f->timeline.exact = exact;
    return code;
}

/* Fills in an empty entry. A file that cannot be used is an entry, too: its code is BL_EDATA. */
static int cached_source_load(struct bl_cached_source *f, const struct bl_video_config *config,
                              const struct bl_kind_env *env, const char *path, struct bl_error *e)
{
    struct bl_error fault = {0};
    struct bl_input input = {.path = path};
    const char *unusable;
    f->found.stream = -1;
    BL_TRY(bl_input_stat_content(NULL, &input, &unusable, e));
    f->bytes = input.bytes;
    f->content = input.content;
    f->code =
        unusable ? bl_error_set(&fault, BL_EDATA, "%s", unusable) : cached_source_count(f, config, env, &input, &fault);
    if (f->code && f->code != BL_EDATA)
        return bl_error_pass(e, f->code, &fault);
    if (!unusable) {
        BL_TRY(bl_input_recheck(NULL, &input, e));
    }
    f->fault = f->code ? strdup(fault.text) : NULL;
    if (f->code && !f->fault)
        return bl_error_memory(e);
    f->ordered = true;
    for (int64_t i = 1; f->found.times && i < f->found.length; i++)
        f->ordered &= f->found.times[i] >= f->found.times[i - 1];
    f->memory = (f->found.times ? (size_t)f->found.length * sizeof *f->found.times : 0) +
                f->timeline.shown.capacity * sizeof *f->timeline.shown.time +
                f->timeline.access_point_capacity * sizeof *f->timeline.access_point;
    f->path = strdup(path);
    return f->path ? BL_OK : bl_error_memory(e);
}

/* Finds the file at path, and counts it if the cache does not have it. *source is valid until the next call. BL_EFAIL,
 * BL_ECANCEL. */
static int cached_source_look_up(struct bl_source_cache *cache, const struct bl_video_config *config,
                                 const struct bl_kind_env *env, const char *path,
                                 const struct bl_cached_source **source, struct bl_error *e)
{
    struct bl_cached_source *f = &cache->file[0]; /* the least recently used entry, or a free one */
    cache->clock++;
    for (int i = 0; i < BL_CACHED_SOURCES_MAX; i++) {
        struct bl_cached_source *known = &cache->file[i];
        if (known->path && strcmp(known->path, path) == 0) {
            known->used = cache->clock;
            *source = known;
            return BL_OK;
        }
        f = known->used < f->used ? known : f;
    }
    cached_source_clear(cache, f);
    int code = cached_source_load(f, config, env, path, e);
    if (code) {
        f->memory = 0; /* the cache's sum does not have it yet */
        cached_source_clear(cache, f);
        return code;
    }
    f->used = cache->clock;
    cache->memory += f->memory;
    for (int i = 0; i < BL_CACHED_SOURCES_MAX && cache->memory > MEMORY_MAX; i++) {
        struct bl_cached_source *oldest = NULL;
        for (int k = 0; k < BL_CACHED_SOURCES_MAX; k++) {
            struct bl_cached_source *other = &cache->file[k];
            if (other != f && other->path && (!oldest || other->used < oldest->used))
                oldest = other;
        }
        if (!oldest)
            break;
        cached_source_clear(cache, oldest);
    }
    *source = f;
    return BL_OK;
}

double bl_cached_source_end(const struct bl_cached_source *f)
{
    double last = f->found.times[f->found.length - 1];
    double end = f->found.end == AV_NOPTS_VALUE ? last : (double)f->found.end * av_q2d(f->found.tick);
    return end > last ? end : last;
}

int64_t bl_cached_source_nearest(const struct bl_cached_source *f, double seconds)
{
    const double *times = f->found.times;
    int64_t low = 0, high = f->found.length, best = f->found.length;
    if (!f->ordered) {
        /* Times go back in some damaged files: all of them are compared. */
        double least = fabs(bl_cached_source_end(f) - seconds);
        for (int64_t i = f->found.length - 1; i >= 0; i--) {
            double distance = fabs(times[i] - seconds);
            if (distance < least - TIE) {
                best = i;
                least = distance;
            }
        }
        return best;
    }
    while (low < high) { /* finds the first frame at that time or after it */
        int64_t middle = low + (high - low) / 2;
        if (times[middle] < seconds)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    double next = low < f->found.length ? times[low] : bl_cached_source_end(f);
    return seconds - times[low - 1] < next - seconds - TIE ? low - 1 : low;
}

int bl_cached_source_steps(const struct bl_cached_source *f, const struct bl_video_config *config, int64_t begin,
                           int64_t end, int64_t *steps, struct bl_frame_list *list, struct bl_error *e)
{
    struct bl_pick pick;
    AVRational tick = f->found.tick;
    *list = (struct bl_frame_list){0};
    if (bl_sampling_has_list(config)) {
        BL_TRY(bl_sampling_make_list(config, begin, end - begin, f->found.rate, list, e));
        *steps = list->count;
        return BL_OK;
    }
    if (!bl_sampling_is_by_time(config)) {
        *steps = (end - begin + config->stride - 1) / config->stride;
        return BL_OK;
    }
    if (!f->found.times)
        return bl_error_set(e, BL_EDATA, "its frames have no timestamps, which --fps needs");
    if (!bl_pick_init(&pick, config->fps.num, config->fps.den, config->stride, tick.num, tick.den))
        return bl_error_set(e, BL_EDATA, "a time base of %d/%d s, which --fps cannot use", tick.num, tick.den);
    for (int64_t frame = begin; frame < end; frame++)
        bl_pick_push(&pick, cached_source_ticks(f, frame));
    bl_pick_end(&pick, cached_source_ticks(f, end));
    *steps = pick.taken;
    if (*steps == 0)
        return bl_error_set(e, BL_EDATA, "too short: --fps takes none of its frames");
    if (*steps > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "its timestamps are too far apart: --fps would make %lld frames of it",
                            (long long)*steps);
    return BL_OK;
}

/* --- clips -------------------------------------------------------------------------------------------------------- */

/* A counter of one worker. */
struct clip_counter {
    struct bl_list_counter list;
    const struct bl_video_config *config;
    struct bl_source_cache source;
};

/* Fills in the members of a clip's row that come from its file, for struct bl_list_counter: its frames, the number of
 * steps that they give, and the seek point. */
static int clip_fill_row(struct bl_list_counter *counter, struct bl_row *row, struct bl_error *e)
{
    const double tolerance = 0.025; /* seconds, or a frame if that is longer: times in lists are rounded */
    struct clip_counter *c = (struct clip_counter *)counter;
    const struct bl_clip *clip = &counter->clip;
    const struct bl_cached_source *f;
    BL_TRY(cached_source_look_up(&c->source, c->config, counter->env, counter->path.open_path.data, &f, e));
    row->bytes = f->bytes;
    row->content = f->content;
    row->stream = f->found.stream;
    if (f->code)
        return bl_error_set(e, BL_EDATA, "%s", f->fault);
    if (clip->by_time && !f->found.times)
        return bl_error_set(e, BL_EDATA, "its frames have no timestamps: give start_frame and end_frame");
    int64_t length = f->found.length, begin, end;
    if (clip->by_time) {
        double seconds = bl_cached_source_end(f), last = seconds - f->found.times[length - 1];
        begin = clip->start < 0 ? 0 : bl_cached_source_nearest(f, clip->start);
        end = clip->end < 0 ? length : bl_cached_source_nearest(f, clip->end);
        if (begin >= length)
            return bl_error_set(e, BL_EDATA, "begins at %.3f s, and the video ends at %.3f s", clip->start, seconds);
        if (clip->end > seconds + (last > tolerance ? last : tolerance))
            BL_LIST_REASON(counter, "ends %.3f s behind the video's end at %.3f s: so much is missing",
                           clip->end - seconds, seconds);
    } else {
        begin = clip->first < 0 ? 0 : clip->first;
        end = clip->behind < 0 || clip->behind > length ? length : clip->behind;
        if (begin >= length)
            return bl_error_set(e, BL_EDATA, "begins with frame %" PRId64 ", and the video has %" PRId64, begin,
                                length);
        if (clip->behind > length)
            BL_LIST_REASON(counter, "ends %" PRId64 " frames behind the video's end: so many are missing",
                           clip->behind - length);
    }
    if (end <= begin)
        return bl_error_set(e, BL_EDATA, "no frame lies between its start and its end");
    struct bl_frame_list list;
    BL_TRY(bl_cached_source_steps(f, c->config, begin, end, &row->length, &list, e));
    bool whole = bl_clip_is_whole(clip); /* such a clip is read in the same way as a file that no list names */
    if (*f->found.reason)
        BL_LIST_REASON(counter, "%s%s", whole ? "" : "the video: ", f->found.reason);
    if (!whole) {
        struct bl_seek_point point = {0};
        row->clip_begin = begin;
        row->clip_end = end;
        if (f->timeline.exact && !*f->found.reason)
            bl_seek_point_make(&point, &f->timeline, begin, end, c->config->deinterlace != BL_DEINTERLACE_OFF);
        bl_seek_point_format(&point, &counter->seek);
    }
    if (c->config->decoder != BL_DECODER_CPU)
        bl_buffer_text(&counter->extra, f->backend == BL_BACKEND_CPU ? "\tcpu" : "\tnvdec");
    bl_video_list_columns(&list, &counter->extra);
    return BL_OK;
}

static void clips_counter_close(struct bl_counter *counter)
{
    struct clip_counter *c = (struct clip_counter *)counter;
    for (int i = 0; i < BL_CACHED_SOURCES_MAX; i++)
        cached_source_clear(&c->source, &c->source.file[i]);
    bl_list_counter_free(&c->list);
    free(c);
}

int bl_clips_counter_open(const void *config, const struct bl_kind_env *env, struct bl_counter **counter,
                          struct bl_error *e)
{
    struct clip_counter *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->config = config;
    bool gpu = c->config->decoder != BL_DECODER_CPU, chosen = bl_sampling_has_list(config);
    c->list = (struct bl_list_counter){.base.close = clips_counter_close,
                                       .env = env,
                                       .fill_clip = clip_fill_row,
                                       .unusable = gpu && chosen ? "\t\t\t"
                                                   : chosen      ? "\t\t"
                                                   : gpu         ? "\t"
                                                                 : ""};
    *counter = &c->list.base;
    return BL_OK;
}
