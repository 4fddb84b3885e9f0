/* Packing from the outside: what identifies a request, open, result, close. */
#include <stdlib.h>

#include "base/identity_lines.h"
#include "base/text.h"
#include "kind/isolated/isolation.h"
#include "kind/media/module.h"
#include "packing/identity.h"
#include "packing/internal.h"
#include "scan/extend.h"
#include "store/codec.h"

int bl_packing_identify(const struct bl_packing_request *request, struct bl_buffer *lines, struct bl_error *e)
{
    if (request->view)
        return bl_packing_identify_view(request, lines, e);
    bl_options_identity(request->given, lines);
    bl_identity_inputs(request->inputs, !request->sequences, lines);
    int code = bl_identity_file("sequences", request->sequences, lines, e);
    if (code)
        return code;
    if (!request->sequences)
        code = bl_identity_contents(request->inputs, lines, e);
    if (code)
        return code;
    code = bl_identity_tables(request->inputs, lines, e);
    if (code)
        return code;
    code = bl_extend_identify(request->subset, lines, e);
    if (code)
        return code;
    code = bl_identity_file("plan", request->plan, lines, e);
    return code ? code : bl_buffer_check(lines, e);
}

/* Configures the shared state. Another process may have begun the dataset meanwhile, on a machine with another SIMD
 * level; then that level holds. */
static int packing_configure(struct bl_packing *p, struct bl_error *e)
{
    int code = bl_state_configure(&p->state, p->identity.data, e);
    if (code != BL_EUSAGE)
        return code;
    const struct bl_error differs = *e;
    bool changed;
    bl_error_clear(e);
    code = bl_packing_follow_simd(p, &changed, e);
    if (code)
        return code;
    if (!changed) {
        *e = differs;
        return differs.code;
    }
    bl_buffer_clear(&p->identity);
    code = bl_packing_identify(&p->request, &p->identity, e);
    return code ? code : bl_state_configure(&p->state, p->identity.data, e);
}

/* Opens DIR/.bload, for this run alone or, with a task, to share it. */
static int packing_enter(struct bl_packing *p, struct bl_error *e)
{
    const char *dir = p->request.output;
    bool shared = p->request.task.set;
    int code = shared ? bl_state_share(&p->state, dir, e) : bl_state_open(&p->state, dir, p->identity.data, e);
    if (code)
        return code;
    bl_heartbeat_begin(&p->heartbeat, dir, "pack", &p->request.task);
    return shared ? packing_configure(p, e) : BL_OK;
}

static int packing_open_whole(struct bl_packing *p, struct bl_error *e)
{
    int code = p->request.view ? BL_OK : bl_packing_choose_simd(p, e);
    if (!code && !p->request.view)
        code = bl_packing_check_inputs(&p->request, e);
    if (code)
        return code;
    p->env.isolation = p->request.inputs->isolation;
    code = bl_packing_identify(&p->request, &p->identity, e);
    if (code)
        return code;
    code = bl_packing_find_dataset(p, e);
    if (code)
        return code;
    if (p->request.repair && !p->complete && !p->repairing)
        return bl_error_set(e, BL_EUSAGE,
                            "--repair: %s holds no finished dataset; without --repair, bload pack makes or resumes one",
                            p->request.output);
    if (p->complete || (p->repairing && p->request.dry_run))
        return BL_OK;
    code = bl_isolation_start(p->env.isolation, e);
    if (code)
        return code;
    return p->request.dry_run ? bl_packing_enter_scratch(p, e) : packing_enter(p, e);
}

/* Plans only in a directory that tasks have begun: a mistyped directory stays unchanged. */
static int packing_open_plan(struct bl_packing *p, struct bl_error *e)
{
    bl_options_identity_of(p->request.given, BL_AFFECTS_PLAN, &p->identity);
    int code = bl_buffer_check(&p->identity, e);
    if (code)
        return code;
    bool begun = false;
    code = bl_state_find(p->request.output, &begun, e);
    if (code)
        return code;
    code = bl_identity_find(p->request.output, p->identity.data, &p->complete, &p->partial, &p->existing, e);
    if (code)
        return code;
    if (p->complete)
        return BL_OK;
    if (!begun)
        return bl_error_set(e, BL_EUSAGE,
                            "%s holds no unfinished dataset: begin one with bload scan --task i/N -o %s ...; what is "
                            "in a folder of inputs, bload scan %s -o TABLE counts",
                            p->request.output, p->request.output, p->request.output);
    return bl_state_share(&p->state, p->request.output, e);
}

/* A dry run goes no further where a finished dataset lacks shards. */
static void packing_report_missing(struct bl_packing *p)
{
    char a[BL_PLURAL_SIZE], b[32];
    int64_t bytes = 0;
    for (int64_t i = p->shard_begin; i < p->shard_end; i++)
        bytes += p->missing.is_missing[i] ? p->missing.row[i].bytes : 0;
    bl_packing_message(p, false, "a run would make %s again, %s", bl_text_plural(a, p->missing.count, "shard"),
                       bl_text_size(b, bytes));
    p->complete = true;
}

/* Explains why the exit status is 3 again: some inputs were unusable. */
static void packing_report_complete(const struct bl_packing *p)
{
    struct bl_buffer faults = {0};
    bl_packing_message(p, false, "%s is already complete: nothing to do", p->request.output);
    bl_fault_counts_append(&faults, &p->existing);
    if (p->partial && faults.size && !faults.failed)
        bl_packing_message(p, false, "%s: see %s/sequences.tsv (exit status 3)", faults.data, p->request.output);
    bl_buffer_free(&faults);
}

int bl_packing_open(struct bl_packing **packing, const struct bl_packing_request *request, struct bl_error *e)
{
    struct bl_packing *p = calloc(1, sizeof *p);
    *packing = p;
    if (!p)
        return bl_error_memory(e);
    p->request = *request;
    if (!p->request.times)
        p->request.times = &p->times;
    p->state = (struct bl_state)BL_STATE_NONE;
    p->workers = request->workers;
    p->env.cancel = request->cancel;
    p->env.decoder_memory = request->inputs ? request->inputs->decoder_memory : 0;
    bl_progress_start(&p->run, "run", "runs", NULL, 0);
    bl_jpeg_forget_environment();
    bl_media_set_environment();
    int code = request->plan_only ? packing_open_plan(p, e) : packing_open_whole(p, e);
    if (!code && p->repairing && p->request.dry_run)
        packing_report_missing(p);
    else if (!code && p->complete)
        packing_report_complete(p);
    return code;
}

bool bl_packing_is_complete(const struct bl_packing *p)
{
    return p->complete;
}

struct bl_heartbeat *bl_packing_heartbeat(struct bl_packing *p)
{
    return p ? &p->heartbeat : NULL;
}

void bl_packing_close(struct bl_packing *p)
{
    if (!p)
        return;
    bl_heartbeat_free(&p->heartbeat);
    bl_state_close(&p->state);
    bl_packing_leave_scratch(p);
    bl_plan_free(&p->plan);
    bl_manifest_free(&p->manifest);
    bl_missing_free(&p->missing);
    bl_attribute_values_free(&p->values);
    bl_buffer_free(&p->attributes_text);
    bl_buffer_free(&p->unused);
    bl_sequences_close(&p->table);
    bl_buffer_free(&p->identity);
    bl_run_times_free(&p->times);
    free(p->failed);
    free(p);
}

void bl_packing_result(const struct bl_packing *p, struct bl_packing_result *result)
{
    double seconds = bl_progress_seconds(&p->run); /* of the whole run, since the scan tokenizes texts */
    *result = (struct bl_packing_result){.partial = p->partial,
                                         .table = &p->table,
                                         .plan = &p->plan,
                                         .plan_info = &p->plan_info,
                                         .format = &p->format,
                                         .finished = &p->finished,
                                         .shard_begin = p->shard_begin,
                                         .shard_end = p->shard_end,
                                         .repaired = p->repairing ? p->missing.count : 0,
                                         .suppressed = p->suppressed,
                                         .rate = seconds > 0 ? (double)p->steps / seconds : 0,
                                         .attributes = p->attributes_text.size ? p->attributes_text.data : NULL,
                                         .unused = p->unused.size ? p->unused.data : NULL};
}
