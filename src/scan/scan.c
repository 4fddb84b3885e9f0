#include "scan/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "run/pipeline.h"
#include "store/sequences.h"

/* Files per worker under way: small ones are done in half a millisecond, so a few keep everybody busy. */
#define SLOTS_PER_WORKER 16

struct fault {
    enum bl_row_status status;
    int64_t length;
    char *id, *reason;
};

/* One file and what came of it. */
struct job {
    const struct bl_file *file;
    const char *sampling;
    int64_t bytes;
    int64_t steps;
    struct bl_buffer rows; /* lines of the table */
    struct fault *fault;
    size_t faults;
};

struct scanning {
    const struct bl_scan *scan;
    struct bl_output *out;
    size_t next, done;
    int64_t steps;
    struct bl_buffer sampling[8]; /* of each kind */
};

static void discard(void *context, void *job_)
{
    (void)context;
    struct job *job = job_;
    for (size_t f = 0; f < job->faults; f++) {
        free(job->fault[f].id);
        free(job->fault[f].reason);
    }
    free(job->fault);
    bl_buffer_free(&job->rows);
    free(job);
}

static int kind_index(const struct bl_kind *kind)
{
    int k = 0;
    while (bl_kinds[k] != kind)
        k++;
    return k;
}

static int produce(void *context, void **job_, struct bl_error *e)
{
    struct scanning *s = context;
    if (s->next == s->scan->files->count)
        return 0;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    job->file = &s->scan->files->file[s->next++];
    job->sampling = s->sampling[kind_index(job->file->kind)].data;
    *job_ = job;
    return 1;
}

static int add_fault(struct job *job, const struct bl_row *row, struct bl_error *e)
{
    struct fault *fault = realloc(job->fault, (job->faults + 1) * sizeof *fault);
    if (!fault)
        return bl_error_memory(e);
    job->fault = fault;
    struct fault *last = &job->fault[job->faults];
    *last = (struct fault){row->status, row->length, strdup(row->id), strdup(row->reason)};
    job->faults++;
    return last->id && last->reason ? BL_OK : bl_error_memory(e);
}

/* Takes a row from the kind and says the rest of it. */
static int emit(void *sink, const struct bl_row *given, struct bl_error *e)
{
    struct job *job = sink;
    struct bl_row row = *given;
    row.id = job->file->id;
    row.path = job->file->path;
    row.kind = job->file->kind->name;
    row.bytes = job->bytes;
    row.sampling = job->sampling;
    if (!row.reason)
        row.reason = "";
    bl_sequences_format(&row, &job->rows);
    if (row.status == BL_ROW_OK)
        job->steps += row.length;
    if (row.status != BL_ROW_OK || *row.reason) {
        int code = add_fault(job, &row, e);
        if (code)
            return code;
    }
    return bl_buffer_check(&job->rows, e);
}

static int emit_skipped(struct job *job, const char *reason, struct bl_error *e)
{
    struct bl_row row = {.status = BL_ROW_SKIPPED, .reason = reason, .stream = -1};
    return emit(job, &row, e);
}

static int count_file(const struct bl_scan *scan, struct job *job, const char *open_path, struct bl_error *e)
{
    struct stat status;
    if (stat(open_path, &status) != 0) {
        if (bl_errno_is_system(errno))
            return bl_error_errno(e, BL_EFAIL, "cannot look at %s", job->file->path);
        return emit_skipped(job, errno == ENOENT ? "dangling link, or no such file" : strerror(errno), e);
    }
    if (!S_ISREG(status.st_mode))
        return emit_skipped(job, "not a regular file", e);
    job->bytes = status.st_size;
    struct bl_input input = {open_path, status.st_size};
    const struct bl_kind *kind = job->file->kind;
    bl_error_memory_watch();
    int code = kind->count(scan->kind_config[kind_index(kind)], scan->env, &input, emit, job, e);
    if (bl_error_memory_seen() && code != BL_ECANCEL) {
        code = bl_error_memory(e);
        bl_error_prefix(e, "%s", job->file->path);
    }
    return code;
}

static int work(void *context, void *worker, void *job_, struct bl_error *e)
{
    (void)worker;
    struct scanning *s = context;
    struct job *job = job_;
    char *open_path = bl_source_open_path(s->scan->base, job->file->path);
    if (!open_path)
        return bl_error_memory(e);
    int code = count_file(s->scan, job, open_path, e);
    free(open_path);
    return code;
}

static int consume(void *context, void *job_, struct bl_error *e)
{
    struct scanning *s = context;
    struct job *job = job_;
    int code = bl_output_write(s->out, job->rows.data, job->rows.size, e);
    for (size_t f = 0; f < job->faults && !code; f++) {
        const struct fault *fault = &job->fault[f];
        struct bl_row row = {.id = fault->id,
                             .length = fault->length,
                             .path = job->file->path,
                             .kind = job->file->kind->name,
                             .status = fault->status,
                             .reason = fault->reason};
        code = s->scan->fault(s->scan->sink, &row, e);
    }
    s->done++;
    s->steps += job->steps;
    discard(NULL, job);
    return code;
}

static void tick(void *context)
{
    struct scanning *s = context;
    if (s->scan->tick)
        s->scan->tick(s->scan->sink, s->done, s->steps);
}

int bl_scan_run(const struct bl_scan *scan, struct bl_output *out, struct bl_error *e)
{
    struct scanning s = {.scan = scan, .out = out};
    static const struct bl_stages stages = {
        .produce = produce, .work = work, .consume = consume, .discard = discard, .tick = tick};
    int code = bl_output_write(out, BL_SEQUENCES_HEADER, strlen(BL_SEQUENCES_HEADER), e);
    for (int k = 0; bl_kinds[k] && !code; k++) {
        bl_kinds[k]->sampling(scan->kind_config[k], &s.sampling[k]);
        code = bl_buffer_check(&s.sampling[k], e);
    }
    if (!code)
        code = bl_pipeline_run(&stages, &s, scan->workers, scan->workers * SLOTS_PER_WORKER, scan->env->cancel, e);
    for (int k = 0; k < 8; k++)
        bl_buffer_free(&s.sampling[k]);
    return code;
}
