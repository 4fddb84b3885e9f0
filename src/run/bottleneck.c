/* Measures time in a run. The rate and the time left are for the display; the speed of the disk is for forecasts; the
 * bottleneck tells the user what to change.
 *
 * Example of the last: workers had jobs for 80 of 100 seconds, and spent three quarters of that on computing. Then
 * computing has 60 seconds and reading 20, and the limit is BL_LIMIT_DECODER if the inputs are videos. */
#include "run/bottleneck.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "plan/random.h"
#include "store/plan_info.h"

/* --- rate and time left ------------------------------------------------------------------------------------------- */

/* Limits of the decay time of the rate, in seconds: after this time the weight of work has fallen by a factor of e. The
 * decay time is a quarter of the run so far, so that differences between files average out, but at most minutes, so
 * that the display shows when the disk becomes slower. */
#define MEMORY_MIN 30.0
#define MEMORY_MAX 300.0

#define SETTLE 3.0        /* time constant in seconds with which the time left follows a new estimate */
#define FIRST 0.5         /* seconds from the start before which the time left is unknown */
#define CLIMB_FACTOR 1.1  /* the time left climbs if the estimate exceeds it by this factor */
#define CLIMB_SECONDS 2.0 /* and by these seconds in addition */

void bl_rate_add(struct bl_rate *r, double seconds, double done)
{
    if (done <= r->done || seconds <= r->at)
        return;
    double passed = seconds - r->at;
    double keep = exp(-passed / fmin(fmax(seconds / 4, MEMORY_MIN), MEMORY_MAX));
    r->span = r->span * keep + passed;
    r->work = r->work * keep + done - r->done;
    r->gap = fmax(passed, r->gap * 0.9);
    r->at = seconds;
    r->done = done;
}

/* A unit is overdue when twice the usual gap has passed. From then on the rate falls as if the unit ended now. */
double bl_rate_get(const struct bl_rate *r, double seconds)
{
    double overdue = fmax(seconds - r->at - 2 * r->gap, 0);
    return r->span > 0 ? r->work / (r->span + overdue) : 0;
}

void bl_estimate_add(struct bl_estimate *e, double seconds, double done, double left)
{
    bl_rate_add(&e->rate, seconds, done);
    /* guess: the unsmoothed estimate in seconds, negative if it is unknown. The time since the last sample with new
     * work is subtracted, at most the usual gap: during it, the next unit was in progress. */
    double passed = fmax(seconds - e->at, 0), rate = bl_rate_get(&e->rate, seconds), guess = -1;
    if (left >= 0 && seconds >= FIRST && rate > 0)
        guess = fmax(left / rate - fmin(seconds - e->rate.at, e->rate.gap), 0);
    double follow = 1 - exp(-passed / SETTLE), counted = fmax(e->left - passed, 0);
    e->at = seconds;
    bool known = e->known;
    e->known = guess >= 0;
    if (!known || !e->known)
        e->left = guess;
    else if (guess <= counted)
        e->left = counted + (guess - counted) * follow;
    else if (guess <= e->left * CLIMB_FACTOR + CLIMB_SECONDS)
        e->left = fmin(e->left, guess);
    else
        e->left += (guess - e->left) * follow;
    if (left == 0) { /* exact: left is a count of units */
        e->left = 0;
        e->known = true;
    }
}

double bl_estimate_left(const struct bl_estimate *e)
{
    return e->known ? e->left : -1;
}

/* --- speed of the disk -------------------------------------------------------------------------------------------- */

#define SECONDS 1.0 /* duration of the measurement */
#define CHUNK_MAX ((int64_t)8 << 20)
#define SYNC_CHUNKS 8 /* chunks between two syncs: without syncs the page cache could be measured */

/* Waits until the disk has all bytes of the file. path: for messages. */
static int rate_sync(int fd, const char *path, struct bl_error *e)
{
    return fsync(fd) == 0 ? BL_OK : bl_error_errno(e, BL_EFAIL, "cannot sync %s", path);
}

int bl_write_rate_measure(struct bl_write_rate *rate, int fd, int direct, int64_t room, const char *path,
                          const struct bl_cancel *cancel, struct bl_error *e)
{
    int code = BL_OK;
    int64_t chunk = room < CHUNK_MAX ? room / BL_DIRECT_PAGE * BL_DIRECT_PAGE : CHUNK_MAX;
    int64_t passes = room / chunk;
    uint8_t *data = aligned_alloc(BL_DIRECT_PAGE, (size_t)chunk);
    *rate = (struct bl_write_rate){0};
    if (!data)
        return bl_error_memory(e);
    /* Random bytes, since a compressing file system would make others smaller. */
    struct bl_random random;
    bl_random_seed(&random, 0, BL_STREAM_IDS);
    for (int64_t at = 0; at < chunk; at += (int64_t)sizeof(uint64_t)) {
        uint64_t word = bl_random_next(&random);
        memcpy(data + at, &word, sizeof word);
    }
    double begin = bl_seconds_now();
    for (int64_t i = 0; !code && rate->seconds < SECONDS; i++) {
        code = bl_cancelled(cancel) ? BL_ECANCEL
                                    : bl_direct_pwrite(direct, fd, data, (size_t)chunk, i % passes * chunk, path, e);
        if (!code && i % SYNC_CHUNKS == SYNC_CHUNKS - 1)
            code = rate_sync(fd, path, e);
        rate->bytes += chunk;
        rate->seconds = bl_seconds_now() - begin;
    }
    if (!code)
        code = rate_sync(fd, path, e);
    rate->seconds = bl_seconds_now() - begin;
    free(data);
    return code;
}

/* --- bottlenecks -------------------------------------------------------------------------------------------------- */

#define SURE 0.7 /* share of the work: if computing is known to take as much, it is the limit, whatever the rest is */
#define HELD_UP 0.05 /* share of the run: a file for which workers waited as long is named */

/* The names of the limits in JSON, and the same in words for the display. Programs read the names, so they never
 * change once a version is released. */
static const struct {
    const char *name, *text;
} limits[BL_LIMITS] = {
    [BL_LIMIT_NONE] = {NULL, "nothing"},
    [BL_LIMIT_LISTING] = {"listing", "listing the inputs"},
    [BL_LIMIT_READING] = {"reading", "reading"},
    [BL_LIMIT_DECODER] = {"decoder", "decoding"},
    [BL_LIMIT_TOKENIZER] = {"tokenizer", "tokenizing"},
    [BL_LIMIT_PROCESSOR] = {"processor", "computing"},
    [BL_LIMIT_INPUTS] = {"inputs", "reading and decoding"},
    [BL_LIMIT_ENCODER] = {"encoder", "encoding and compressing"},
    [BL_LIMIT_MEMORY] = {"memory", "waiting for memory for decoding"},
    [BL_LIMIT_FILE] = {"file", "waiting for single files"},
    [BL_LIMIT_BLOCK] = {"block", "waiting for single blocks"},
    [BL_LIMIT_DISK] = {"disk", "writing to the disk"},
    [BL_LIMIT_TABLE] = {"table", "tables"},
    [BL_LIMIT_BUCKETING] = {"bucketing", "bucketing sequences by shard"},
    [BL_LIMIT_PLANNING] = {"planning", "planning"},
    [BL_LIMIT_FINISHING] = {"finishing", "finishing"},
};

const char *bl_limit_name(enum bl_limit limit)
{
    return limits[limit].name;
}

const char *bl_limit_text(enum bl_limit limit)
{
    return limits[limit].text;
}

const char *bl_run_stage_name(enum bl_run_stage stage)
{
    static const char *const names[] = {"listing", "scanning", "planning", "writing", "finishing", "verifying"};
    return names[stage];
}

void bl_run_times_set_kind(struct bl_run_times *times, const struct bl_kind *kind, const void *config)
{
    bool may_decode = kind && kind->decodes, decodes = may_decode && kind->decodes(config);
    bool tokenizes = kind && strcmp(kind->name, "text") == 0;
    times->scan_computes = decodes ? BL_LIMIT_DECODER : tokenizes ? BL_LIMIT_TOKENIZER : BL_LIMIT_PROCESSOR;
    /* Not the tokenizer: the scan has put the tokens into the spool. */
    times->write_computes = decodes ? BL_LIMIT_DECODER : BL_LIMIT_PROCESSOR;
    times->on_gpu = may_decode && !decodes;
}

void bl_run_times_set_gpu(struct bl_run_times *times, const struct bl_kind *kind, const void *config)
{
    times->gpu = (struct bl_gpu_times){0};
    if (kind && kind->gpu_times)
        kind->gpu_times(config, &times->gpu);
}

double bl_run_times_all(const struct bl_run_times *times)
{
    double all = 0;
    for (int stage = 0; stage < BL_RUN_STAGES; stage++)
        all += times->stage[stage];
    return all;
}

void bl_run_times_free(struct bl_run_times *times)
{
    bl_work_free(&times->scan);
    bl_work_free(&times->write);
    bl_work_free(&times->verify);
}

/* Takes up to seconds from *left and returns the time taken. So measured parts never exceed their whole. */
static double take(double *left, double seconds)
{
    double taken = fmin(fmax(seconds, 0), *left);
    *left -= taken;
    return taken;
}

/* Divides the wall time `seconds`, in which workers had jobs, among causes in proportion to the times that the workers
 * measured: waiting for memory, encoding, computing, and the rest, which is reading. If the processor time of decoder
 * processes is known only in part, computing and reading cannot be told apart unless the known part is large. */
static void limits_add_work(double sum[BL_LIMITS], double seconds, const struct bl_work *w, enum bl_limit computes,
                            bool on_gpu)
{
    double left = w->worked, each = w->worked > 0 ? seconds / w->worked : 0;
    sum[BL_LIMIT_MEMORY] += each * take(&left, w->reserved);
    double encoded = take(&left, w->encoded), inputs = left;
    sum[BL_LIMIT_ENCODER] += each * encoded;
    double computed = take(&left, w->processor.run + w->processor.queued - encoded);
    if (on_gpu)
        sum[BL_LIMIT_DECODER] += each * inputs;
    else if (w->processor.is_partly)
        sum[computed >= SURE * inputs ? computes : BL_LIMIT_INPUTS] += each * inputs;
    else {
        sum[computes] += each * computed;
        sum[BL_LIMIT_READING] += each * left;
    }
}

/* Divides the time of a stage among causes. order: the cause for waits for the main thread, which produces and
 * consumes; rest: the cause for time outside of the pipeline. Returns the remaining time, in which workers had jobs. */
static double limits_add_stage(double sum[BL_LIMITS], double stage, const struct bl_work *w, enum bl_limit order,
                               enum bl_limit rest)
{
    double left = stage, wall = take(&left, w->wall);
    sum[rest] += left;
    sum[BL_LIMIT_FILE] += take(&wall, w->lost[BL_WAIT_JOB]);
    sum[BL_LIMIT_DISK] += take(&wall, w->lost[BL_WAIT_WRITE]);
    sum[order] += take(&wall, w->lost[BL_WAIT_ORDER]);
    return wall;
}

struct bl_bottleneck bl_bottleneck_find(const struct bl_run_times *t)
{
    double sum[BL_LIMITS] = {0}, all = bl_run_times_all(t);
    const double *stage = t->stage;
    struct bl_bottleneck found = {0};
    sum[BL_LIMIT_LISTING] = stage[BL_RUN_LISTING];
    sum[BL_LIMIT_PLANNING] = stage[BL_RUN_PLANNING];
    sum[BL_LIMIT_FINISHING] = stage[BL_RUN_FINISHING];
    double scan = limits_add_stage(sum, stage[BL_RUN_SCANNING], &t->scan, BL_LIMIT_TABLE, BL_LIMIT_TABLE);
    double write = limits_add_stage(sum, stage[BL_RUN_WRITING], &t->write, BL_LIMIT_DISK, BL_LIMIT_BUCKETING);
    double verify = limits_add_stage(sum, stage[BL_RUN_VERIFYING], &t->verify, BL_LIMIT_PROCESSOR, BL_LIMIT_TABLE);
    limits_add_work(sum, verify, &t->verify, BL_LIMIT_PROCESSOR, false);
    limits_add_work(sum, scan, &t->scan, t->scan_computes, t->on_gpu);
    limits_add_work(sum, write, &t->write, t->write_computes, t->on_gpu);
    for (int limit = BL_LIMIT_NONE + 1; limit < BL_LIMITS; limit++) {
        if (sum[limit] > sum[found.limit])
            found.limit = (enum bl_limit)limit;
    }
    found.share = all > 0 ? fmin(sum[found.limit] / all, 1) : 0;
    const struct bl_work *w = t->scan.slowest_held > t->write.slowest_held ? &t->scan : &t->write;
    if (w->slowest && w->slowest_held >= HELD_UP * all) {
        found.file = w->slowest;
        found.seconds = w->slowest_seconds;
    }
    if (found.limit == BL_LIMIT_FILE && !found.file)
        found.limit = BL_LIMIT_BLOCK;
    return found;
}

/* --- bottlenecks as JSON ------------------------------------------------------------------------------------------ */

/* Rounds to three decimal places, which are exact enough for seconds and shares. */
static json_t *json_short(double value)
{
    return json_real((double)(int64_t)(value * 1000 + 0.5) / 1000);
}

static json_t *json_opened(int64_t count, double seconds)
{
    return json_pack("{s:I, s:o}", "count", (json_int_t)count, "seconds", json_short(seconds));
}

static json_t *json_gpu(const struct bl_gpu_times *t)
{
    json_t *object = json_object();
    bl_jansson_set(&object, "devices", json_opened(t->devices, t->devices_seconds));
    bl_jansson_set(&object, "workers", json_opened(t->workers, t->workers_seconds));
    bl_jansson_set(&object, "decoders", json_opened(t->decoders, t->decoders_seconds));
    bl_jansson_set(&object, "reconfigured", json_integer(t->reconfigured));
    bl_jansson_set(&object, "reused", json_integer(t->reused));
    return object;
}

int bl_run_times_json(const struct bl_run_times *times, struct json_t **out, struct bl_error *e)
{
    const struct bl_bottleneck found = bl_bottleneck_find(times);
    const char *limit = bl_limit_name(found.limit);
    json_t *seconds = json_object(), *object = json_object();
    for (int stage = 0; stage < BL_RUN_STAGES; stage++)
        bl_jansson_set(&seconds, bl_run_stage_name((enum bl_run_stage)stage), json_short(times->stage[stage]));
    bl_jansson_set(&seconds, "all", json_short(bl_run_times_all(times)));
    bl_jansson_set(&object, "seconds", seconds);
    bl_jansson_set(&object, "limit", limit ? json_string(limit) : json_null());
    bl_jansson_set(&object, "limit_share", limit ? json_short(found.share) : json_null());
    bl_jansson_set(&object, "waited_for",
                   found.file ? json_pack("{s:o, s:o}", "file", bl_jansson_escaped(found.file), "seconds",
                                          json_short(found.seconds))
                              : json_null());
    if (times->gpu.devices)
        bl_jansson_set(&object, "gpu", json_gpu(&times->gpu));
    *out = object;
    return object ? BL_OK : bl_error_memory(e);
}
