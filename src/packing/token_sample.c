#include "packing/token_sample.h"

#include <stdlib.h>

#include "base/fs.h"
#include "scan/chunks.h"
#include "scan/scan.h"

#define PARTS 8
#define PART_BYTES ((int64_t)1 << 20) /* where an input may be counted in parts */

/* Seconds in which the parts are counted, or else those that are done by then must do; a long scan may have more. */
#define SECONDS 3.0
#define SECONDS_OF_SCAN 0.05

/* The scan of the parts. */
struct token_scan {
    struct bl_packing *p;
    struct bl_kind_scan ops; /* the kind's, with small parts */
    struct bl_kind kind;
    struct bl_cancel cancel; /* raised with the request's, and when the time is over */
    struct bl_kind_env env;
    double begun, prepared; /* seconds that all before it took */
    bool is_over;
};

static int tokens_on_fault(void *sink, const struct bl_row *row, struct bl_error *e)
{
    (void)sink;
    (void)row;
    (void)e;
    return BL_OK; /* the scan of all inputs reported it, or their table has it */
}

static void tokens_on_progress(void *sink, const struct bl_scan_progress *found)
{
    struct token_scan *s = sink;
    double seconds = bl_progress_now() - s->begun, most = SECONDS + SECONDS_OF_SCAN * s->prepared;
    s->is_over = seconds > most && found->rows;
    if (s->is_over || bl_cancelled(s->p->request.cancel))
        atomic_store(&s->cancel.raised, 1);
}

static int tokens_count_parts(struct token_scan *s, int64_t *parts, struct bl_error *e)
{
    const struct bl_input_set *inputs = s->p->request.inputs;
    struct bl_chunks chunks = {.files = &inputs->files,
                               .base = inputs->base,
                               .kind = &s->kind,
                               .config = inputs->kind_config,
                               .cancel = s->p->request.cancel};
    int code = BL_OK;
    bool found = true;
    for (*parts = 0; !code && found; *parts += found) {
        struct bl_chunk_files files;
        code = bl_cancelled(s->p->request.cancel) ? BL_ECANCEL : BL_OK;
        if (code)
            break;
        code = bl_chunks_next(&chunks, &files, &found, e);
        bl_chunk_files_free(&files);
    }
    bl_chunks_close(&chunks);
    return code;
}

static int tokens_scan(struct token_scan *s, int64_t parts, struct bl_output *out, struct bl_error *e)
{
    struct bl_input_set *inputs = s->p->request.inputs;
    struct bl_scan_progress found = {0};
    int64_t every = parts > PARTS ? parts / PARTS : 1;
    struct bl_scan scan = {.files = &inputs->files,
                           .base = inputs->base,
                           .kind = &s->kind,
                           .config = inputs->kind_config,
                           .workers = 1,
                           .env = &s->env,
                           .temporary = s->p->state.folder,
                           .task = every / 2,
                           .tasks = every,
                           .fault = tokens_on_fault,
                           .tick = tokens_on_progress,
                           .sink = s};
    s->begun = bl_progress_now();
    int code = bl_scan_run(&scan, out, &found, e);
    if (code == BL_ECANCEL && s->is_over && !bl_cancelled(s->p->request.cancel)) {
        bl_error_clear(e);
        return BL_OK;
    }
    return code;
}

static int tokens_write_table(struct token_scan *s, const char *path, struct bl_error *e)
{
    struct bl_output out = {0};
    int64_t parts = 0;
    int code = tokens_count_parts(s, &parts, e);
    if (!code)
        code = bl_output_open(&out, path, e);
    if (code)
        return code;
    code = tokens_scan(s, parts, &out, e);
    if (!code)
        code = bl_output_commit(&out, e);
    bl_output_abort(&out);
    return code;
}

/* Documents are spread over the blocks as in the plan of all: mixed, and cut where they are longer. */
static int tokens_plan(struct bl_token_sample *sample, const struct bl_packing *p, struct bl_error *e)
{
    const struct bl_plan_options options = {.strategy = BL_STRATEGY_BLOCK,
                                            .oversize = BL_OVERSIZE_SPLIT,
                                            .T = p->plan.T,
                                            .align = p->plan.align,
                                            .seed = p->request.plan_options->seed};
    if (!sample->table.by_status[BL_ROW_OK])
        return BL_OK; /* nothing can be said */
    return bl_plan_make(&sample->plan, sample->table.length, sample->table.count, &options, e);
}

int bl_token_sample_take(struct bl_token_sample *sample, struct bl_packing *p, const char *folder, struct bl_error *e)
{
    const struct bl_input_set *inputs = p->request.inputs;
    struct token_scan s = {.p = p,
                           .ops = *inputs->kind->scan,
                           .kind = *inputs->kind,
                           .env = p->env,
                           .prepared = bl_progress_seconds(&p->run)};
    *sample = (struct bl_token_sample){.folder = bl_path_join(folder, "tokens")};
    char *path = bl_path_join(folder, "tokens.tsv");
    int code = sample->folder && path ? bl_fs_mkdirs(sample->folder, e) : bl_error_memory(e);
    if (code)
        goto out;
    s.ops.chunk_bytes = s.ops.chunk_bytes_least = PART_BYTES;
    s.kind.scan = &s.ops;
    s.env.spool = sample->folder;
    s.env.cancel = &s.cancel;
    sample->env = p->env;
    sample->env.spool = sample->folder;
    code = tokens_write_table(&s, path, e);
    sample->seconds = bl_progress_now() - s.begun;
    if (code)
        goto out;
    code = bl_sequences_open(&sample->table, (const char *const[]){path}, 1, false, e);
    if (!code)
        code = tokens_plan(sample, p, e);
out:
    free(path);
    return code;
}

void bl_token_sample_free(struct bl_token_sample *sample)
{
    bl_plan_free(&sample->plan);
    bl_sequences_close(&sample->table);
    free(sample->folder);
}
