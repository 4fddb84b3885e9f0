#include "kind/video/footage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kind/input_stat.h"
#include "kind/video/pick.h"

#define MEMORY_MAX ((size_t)64 << 20) /* of all that is kept, beside the last file: hours of video, each of 2 MiB */

#define TIE 1e-9 /* seconds: two times of a table in decimals are not closer than that */

static void footage_clear(struct bl_footage_cache *cache, struct bl_footage *f)
{
    cache->memory -= f->memory;
    free(f->path);
    free(f->fault);
    free(f->found.times);
    bl_timeline_free(&f->timeline);
    *f = (struct bl_footage){0};
}

void bl_footage_close(struct bl_footage_cache *cache)
{
    for (int i = 0; i < BL_FOOTAGE_MAX; i++)
        footage_clear(cache, &cache->file[i]);
}

/* The entry that was not asked for the longest, or a free one. */
static struct bl_footage *cache_oldest(struct bl_footage_cache *cache)
{
    struct bl_footage *oldest = &cache->file[0];
    for (int i = 0; i < BL_FOOTAGE_MAX; i++) {
        if (cache->file[i].used < oldest->used)
            oldest = &cache->file[i];
    }
    return oldest;
}

/* --- a file ----------------------------------------------------------------------------------------------------- */

/* In ticks from the file's first frame; behind the last frame, its end. */
static int64_t footage_ticks(const struct bl_footage *f, int64_t frame)
{
    if (frame >= f->found.length)
        return f->found.end;
    return llrint(f->found.times[frame] / av_q2d(f->found.tick));
}

/* Whether decoding gave the frames at the times that the packets have. */
static bool footage_confirms(const struct bl_footage *f)
{
    const struct bl_timestamps *shown = &f->timeline.shown;
    for (size_t i = 0; i < shown->count; i++) {
        if (footage_ticks(f, (int64_t)i) != shown->time[i] - shown->time[0])
            return false;
    }
    return true;
}

/* Where decoding may begin. A damaged file is decoded from its beginning. */
static int footage_make_timeline(struct bl_footage *f, const struct bl_kind_env *env, const char *path,
                                 struct bl_error *e)
{
    struct bl_demux d;
    if (*f->found.reason || !f->found.times)
        return BL_OK;
    int code = bl_demux_open(&d, path, f->bytes, f->found.stream, BL_DEMUX_COUNT, env, e);
    if (code)
        return code;
    code = bl_timeline_make(&f->timeline, &d, false, e);
    bl_demux_close(&d);
    f->timeline.exact = f->timeline.exact && (int64_t)f->timeline.shown.count == f->found.length &&
                        (!f->timeline.derived || footage_confirms(f));
    return code;
}

static void footage_measure(struct bl_footage *f)
{
    f->ordered = true;
    for (int64_t i = 1; f->found.times && i < f->found.length; i++)
        f->ordered &= f->found.times[i] >= f->found.times[i - 1];
    f->memory = (f->found.times ? (size_t)f->found.length * sizeof *f->found.times : 0) +
                f->timeline.shown.capacity * sizeof *f->timeline.shown.time +
                f->timeline.restart_capacity * sizeof *f->timeline.restart;
}

/* Counts all frames of the file. */
static int footage_count(struct bl_footage *f, const struct bl_video_config *config, const struct bl_kind_env *env,
                         const struct bl_input *input, struct bl_error *e)
{
    struct bl_video_config all = *config;
    all.fps = (struct bl_rational){0};
    all.stride = 1;
    int code = bl_video_count(&all, env, input, NULL, true, &f->found, e);
    if (!code)
        code = bl_backend_choose(config, env, input->path, input->bytes, f->found.stream, *f->found.reason, &f->backend,
                                 e);
    if (!code)
        code = footage_make_timeline(f, env, input->path, e);
    return code;
}

static int footage_load(struct bl_footage *f, const struct bl_video_config *config, const struct bl_kind_env *env,
                        const char *path, struct bl_error *e)
{
    struct bl_error fault = {0};
    struct bl_input input = {.path = path};
    const char *unusable;
    f->found.stream = -1;
    int code = bl_input_stat_content(NULL, &input, &unusable, e);
    if (code)
        return code;
    f->bytes = input.bytes;
    f->content = input.content;
    f->code = unusable ? bl_error_set(&fault, BL_EDATA, "%s", unusable) : footage_count(f, config, env, &input, &fault);
    if (f->code && f->code != BL_EDATA)
        return bl_error_set(e, f->code, "%s", fault.text);
    code = unusable ? BL_OK : bl_input_recheck(NULL, &input, e);
    if (code)
        return code;
    f->fault = f->code ? strdup(fault.text) : NULL;
    if (f->code && !f->fault)
        return bl_error_memory(e);
    footage_measure(f);
    f->path = strdup(path);
    return f->path ? BL_OK : bl_error_memory(e);
}

int bl_footage_find(struct bl_footage_cache *cache, const struct bl_video_config *config, const struct bl_kind_env *env,
                    const char *path, const struct bl_footage **footage, struct bl_error *e)
{
    struct bl_footage *f;
    cache->clock++;
    for (int i = 0; i < BL_FOOTAGE_MAX; i++) {
        f = &cache->file[i];
        if (f->path && strcmp(f->path, path) == 0) {
            f->used = cache->clock;
            *footage = f;
            return BL_OK;
        }
    }
    f = cache_oldest(cache);
    footage_clear(cache, f);
    int code = footage_load(f, config, env, path, e);
    if (code) {
        f->memory = 0;
        footage_clear(cache, f);
        return code;
    }
    f->used = cache->clock;
    cache->memory += f->memory;
    for (int i = 0; i < BL_FOOTAGE_MAX && cache->memory > MEMORY_MAX; i++) {
        struct bl_footage *oldest = NULL;
        for (int k = 0; k < BL_FOOTAGE_MAX; k++) {
            struct bl_footage *other = &cache->file[k];
            if (other != f && other->path && (!oldest || other->used < oldest->used))
                oldest = other;
        }
        if (!oldest)
            break;
        footage_clear(cache, oldest);
    }
    *footage = f;
    return BL_OK;
}

/* --- frames ----------------------------------------------------------------------------------------------------- */

double bl_footage_end(const struct bl_footage *f)
{
    double last = f->found.times[f->found.length - 1];
    double end = f->found.end == AV_NOPTS_VALUE ? last : (double)f->found.end * av_q2d(f->found.tick);
    return end > last ? end : last;
}

/* The first frame at that time or after it; found.length: there is none. */
static int64_t footage_find(const struct bl_footage *f, double seconds)
{
    int64_t low = 0, high = f->found.length;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (f->found.times[middle] < seconds)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where times go back, as in some damaged files. */
static int64_t footage_search(const struct bl_footage *f, double seconds)
{
    int64_t best = f->found.length;
    double least = fabs(bl_footage_end(f) - seconds);
    for (int64_t i = f->found.length - 1; i >= 0; i--) {
        double distance = fabs(f->found.times[i] - seconds);
        if (distance < least - TIE) {
            best = i;
            least = distance;
        }
    }
    return best;
}

int64_t bl_footage_nearest(const struct bl_footage *f, double seconds)
{
    if (!f->ordered)
        return footage_search(f, seconds);
    int64_t after = footage_find(f, seconds), length = f->found.length;
    if (after == 0)
        return 0;
    double next = after < length ? f->found.times[after] : bl_footage_end(f);
    bool earlier = seconds - f->found.times[after - 1] < next - seconds - TIE;
    return earlier ? after - 1 : after;
}

int bl_footage_steps(const struct bl_footage *f, const struct bl_video_config *config, int64_t begin, int64_t end,
                     int64_t *steps, struct bl_error *e)
{
    struct bl_pick pick;
    AVRational tick = f->found.tick;
    if (!config->fps.den) {
        *steps = (end - begin + config->stride - 1) / config->stride;
        return BL_OK;
    }
    if (!f->found.times)
        return bl_error_set(e, BL_EDATA, "its frames have no timestamps, which --fps needs");
    if (!bl_pick_init(&pick, config->fps.num, config->fps.den, config->stride, tick.num, tick.den))
        return bl_error_set(e, BL_EDATA, "a time base of %d/%d s, which --fps cannot use", tick.num, tick.den);
    for (int64_t frame = begin; frame < end; frame++)
        bl_pick_push(&pick, footage_ticks(f, frame));
    bl_pick_end(&pick, footage_ticks(f, end));
    *steps = pick.taken;
    if (*steps == 0)
        return bl_error_set(e, BL_EDATA, "too short: --fps takes none of its frames");
    if (*steps > INT32_MAX)
        return bl_error_set(e, BL_EDATA, "its timestamps are too far apart: --fps would make %lld frames of it",
                            (long long)*steps);
    return BL_OK;
}
