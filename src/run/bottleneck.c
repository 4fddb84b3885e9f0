#include "run/bottleneck.h"

#include <math.h>
#include <string.h>

#define SURE 0.7     /* of the work on a processor: then the rest need not be known to call it the limit */
#define HELD_UP 0.05 /* of the run: a file to which so much was lost is named */

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
    [BL_LIMIT_MEMORY] = {"memory", "waiting for memory to decode with"},
    [BL_LIMIT_FILE] = {"file", "waiting for single files"},
    [BL_LIMIT_BLOCK] = {"block", "waiting for single blocks"},
    [BL_LIMIT_DISK] = {"disk", "writing to the disk"},
    [BL_LIMIT_TABLE] = {"table", "tables"},
    [BL_LIMIT_SCATTER] = {"scatter", "scattering sequences by shards"},
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
    times->write_computes = decodes ? BL_LIMIT_DECODER : BL_LIMIT_PROCESSOR; /* of tokens that wait in the spool */
    times->on_gpu = may_decode && !decodes;
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

/* Takes what there is of it from *left. */
static double take(double *left, double seconds)
{
    double taken = fmin(fmax(seconds, 0), *left);
    *left -= taken;
    return taken;
}

/* Divides the time in which workers were at work, by what they did in it. */
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

/* Divides the time of a stage. order: what its main thread does alone; rest: what it does outside of the pipeline.
 * Returns the time in which workers were at work. */
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
    double write = limits_add_stage(sum, stage[BL_RUN_WRITING], &t->write, BL_LIMIT_DISK, BL_LIMIT_SCATTER);
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
