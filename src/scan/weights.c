#include "scan/weights.h"

#include <math.h>
#include <stdlib.h>

#include "base/fs.h"
#include "base/meter.h"
#include "kind/input_stat.h"

#define OPENING ((int64_t)64 << 10) /* bytes that are read in the time in which a file is opened */
#define SAMPLE 4096                 /* files whose sizes are looked at, at most, */
#define SAMPLE_TIME 100             /* milliseconds, at most: on some file systems each takes one */
#define BYTES_MAX ((int64_t)1 << 50)

static int64_t weight_file_bytes(const struct bl_file *file, const struct bl_kind *kind, const char *base)
{
    struct bl_error ignored = {0};
    const char *unusable = NULL;
    struct bl_input input = {.path = bl_path_join(base, file->path), .fault = file->fault};
    int code = input.path ? bl_input_stat(kind, &input, &unusable, &ignored) : BL_EFAIL;
    free((char *)input.path);
    return code || unusable ? 0 : input.bytes < BYTES_MAX ? input.bytes : BYTES_MAX;
}

static int64_t numbers_gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Steps of about the golden section reach all files, and those reached first lie everywhere. */
static int64_t weights_stride(int64_t files)
{
    int64_t stride = (int64_t)((double)files * 0.6180339887498949);
    stride = stride > 1 ? stride : 1;
    while (numbers_gcd(stride, files) != 1)
        stride++;
    return stride;
}

void bl_weights_init(struct bl_weights *w, const struct bl_files *files, const struct bl_kind *kind, const char *base,
                     int64_t first, int64_t every)
{
    int64_t count = (int64_t)files->count;
    *w = (struct bl_weights){.files = count > first ? (count - first + every - 1) / every : 0};
    if (!w->files || kind->scan->stat_folder || bl_files_have_list(files, kind))
        return;
    int64_t stride = weights_stride(w->files), sampled = 0;
    long long begun = bl_meter_clock();
    double sum = 0;
    for (int64_t at = 0; sampled < w->files && sampled < SAMPLE; sampled++, at = (at + stride) % w->files) {
        if (sampled % 16 == 15 && bl_meter_clock() - begun > SAMPLE_TIME)
            break;
        sum += (double)(weight_file_bytes(&files->file[first + at * every], kind, base) + OPENING);
    }
    w->expected = sum / (double)sampled * (double)w->files;
}

int64_t bl_weights_of(const struct bl_weights *w, int64_t bytes, int64_t opens)
{
    return opens * OPENING + (w->expected > 0 ? bytes < BYTES_MAX ? bytes : BYTES_MAX : 0);
}

void bl_weights_begin(struct bl_weights *w, int64_t weight, int64_t files)
{
    atomic_fetch_add_explicit(&w->sum, weight, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->seen, files, memory_order_relaxed);
}

int64_t bl_weights_parts(const struct bl_weights *w, int64_t finished)
{
    int64_t seen = atomic_load_explicit(&w->seen, memory_order_relaxed);
    double sum = (double)atomic_load_explicit(&w->sum, memory_order_relaxed), all = sum;
    if (seen < w->files)
        all = fmax(w->expected, sum + (double)(w->files - seen) * (double)OPENING);
    return all > 0 ? (int64_t)(1000 * (double)w->files * fmin((double)finished / all, 1)) : 0;
}
