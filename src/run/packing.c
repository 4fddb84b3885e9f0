/* The steps of packing: open, write and finish. The steps table and plan are in table.c and plan.c.
 *
 * A command calls them in this order, and may stop after each if bl_packing_is_complete:
 *
 *     bl_packing_open -> bl_packing_table -> bl_packing_plan -> bl_packing_write -> bl_packing_finish ->
 * bl_packing_close
 *
 * Opening has four outcomes: the dataset is complete; it is finished but has lost shards (p->repairing); an unfinished
 * one is resumed; or a new one begins. */
#include "run/packing.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/text.h"
#include "kind/isolated/isolation.h"
#include "kind/media/module.h"
#include "run/machine.h"
#include "plan/capacity.h"
#include "plan/cost.h"
#include "run/bucketing.h"
#include "run/mirror.h"
#include "run/shards.h"
#include "scan/extend.h"
#include "store/block.h"
#include "store/folders.h"

/* --- SIMD level --------------------------------------------------------------------------------------------------- */

/* The SIMD level of the run: given, or that of the dataset in the directory, or the best of this machine. */

/* Reads the level of the dataset in the directory, finished or not; *level stays unchanged if there is none. */
static int simd_recorded(const struct bl_packing *p, enum bl_simd *level, struct bl_error *e)
{
    struct bl_buffer name = {0};
    struct bl_manifest m = {0};
    struct bl_error none = {0};
    int code = BL_OK;
    if (bl_manifest_read(&m, p->request.output, &none) == BL_OK)
        bl_buffer_text(&name, m.simd);
    else
        code = bl_state_recorded(p->request.output, "simd", &name, e);
    if (!code && name.size)
        code = bl_simd_parse(name.data, level, e);
    bl_manifest_free(&m);
    bl_buffer_free(&name);
    return code;
}

/* The identity of the dataset contains the level, not how it was chosen. */
static int simd_use(struct bl_packing *p, enum bl_simd level, struct bl_error *e)
{
    p->env.simd = level;
    p->request.options->simd = (int)level + 1;
    return bl_media_set_simd(level, e);
}

/* --- folder of a dry run ------------------------------------------------------------------------------------------ */

/* The temporary folder of a dry run. It holds what a run keeps in DIR/.bload, and shards that are written to find out
 * how large encoded ones get, so that nothing is written where the dataset will be. */

#define DESCRIPTORS 16 /* of the walk that removes it */

/* Checks that a run with this request could begin or resume here, and opens the state in a new temporary folder. */
static int scratch_enter(struct bl_packing *p, struct bl_error *e)
{
    BL_TRY(bl_state_examine(p->request.output, p->identity.data, &p->begun, e));
    const char *dir = getenv("TMPDIR");
    struct bl_buffer path = {0};
    if (p->request.spool && access(p->request.spool, F_OK) == 0)
        dir = p->request.spool;
    bl_buffer_printf(&path, "%s/bload-dry-run-XXXXXX", dir && *dir ? dir : "/tmp");
    int code = bl_buffer_check(&path, e);
    if (!code && !mkdtemp(path.data))
        code = bl_error_errno(e, BL_EFAIL, "cannot make a temporary folder like %s (TMPDIR: another place)", path.data);
    if (code)
        bl_buffer_free(&path);
    p->scratch = path.data;
    BL_TRY(code);
    return bl_state_open(&p->state, p->scratch, p->identity.data, e);
}

/* Removes one entry during the walk: nftw visits a folder after its entries. */
static int scratch_remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

/* --- writing shards ----------------------------------------------------------------------------------------------- */

/* Reports the outcome of a piece. A sequence of which several pieces failed is reported once. */
static int write_on_outcome(void *sink, const struct bl_row *row, const struct bl_outcome *outcome, struct bl_error *e)
{
    struct bl_packing *p = sink;
    struct bl_row fault = *row;
    fault.reason = outcome->text;
    fault.status = outcome->failed ? BL_ROW_FAILED : BL_ROW_OK;
    p->partial |= p->request.task.set; /* a task reports the faults that it found itself */
    if (outcome->failed) {
        uint8_t *bits = &p->failed[outcome->row / 8], bit = (uint8_t)(1u << outcome->row % 8);
        if (*bits & bit)
            return BL_OK;
        *bits |= bit;
    }
    return bl_packing_fault(p, &fault, (int64_t)p->table.count, e);
}

static void write_on_progress(void *sink, const struct bl_pack_progress *progress)
{
    struct bl_packing *p = sink;
    p->progress.done = progress->blocks;
    p->progress.steps = p->steps = progress->steps;
    p->progress.steps_left = progress->steps_left;
    p->progress.steps_found = progress->steps_found;
    p->progress.bytes = progress->bytes;
    p->progress.file = progress->file;
    bl_packing_progress_tick(p);
}

static void write_on_bucketing_progress(void *sink, int64_t rows)
{
    struct bl_packing *p = sink;
    p->progress.done = rows;
    bl_packing_progress_tick(p);
}

/* Returns whether the steps of texts are in the store alone. */
static bool write_reads_store(const struct bl_packing *p)
{
    const struct bl_input_set *inputs = p->request.inputs;
    return p->env.spool_url && bl_kind_spools_steps(inputs->kind, inputs->kind_config);
}

/* Decides whether sequences are first put into buckets (run/bucketing.h), and says so: a spool that is larger than the
 * remaining memory would be read at random, and so would compressed sources of a view. Of a spool in the store, the
 * disk then holds what is packed here, and no more. */
static bool write_uses_buckets(struct bl_packing *p, const struct bl_pack *pack)
{
    char a[32], b[32];
    if (bl_fields_count_own(&p->format.fields)) /* buckets hold the common steps only */
        return false;
    if (p->request.view) {
        if (!bl_packing_view_needs_buckets(p))
            return false;
        bl_packing_message(p, false, "the sources are compressed: their sequences, %s, are first bucketed by shard",
                           bl_text_size(a, bl_bucketing_bytes(pack)));
        return true;
    }
    const struct bl_input_set *inputs = p->request.inputs;
    int64_t bytes = inputs->kind->spool ? bl_bucketing_bytes(pack) : 0;
    if (write_reads_store(p)) {
        bl_packing_message(p, false,
                           "the tokens in the store, %s for the shards that are made here, are first bucketed by shard",
                           bl_text_size(a, bytes));
        return true;
    }
    if (bytes <= p->pack.share.rest)
        return false;
    bl_packing_message(p, false, "the %s has %s, more than the remaining memory, %s: it is first bucketed by shard",
                       bl_kind_spools_steps(inputs->kind, inputs->kind_config) ? "spool" : "data to be packed",
                       bl_text_size(a, bytes), bl_text_size(b, p->pack.share.rest));
    return true;
}

/* Prepares the folders, checks the space on the disk, fills the buckets if they are needed, and writes the shards. */
static int write_shards(struct bl_packing *p, struct bl_error *e)
{
    struct bl_pack *pack = &p->pack;
    int64_t begin, end;
    BL_TRY(bl_folders_prepare(p->request.output, e));
    if (!p->request.task.set) { /* a task keeps incomplete files of earlier runs: other tasks may be writing them */
        BL_TRY(bl_folders_sweep(p->request.output, false, e));
        BL_TRY(bl_finish_sweep(p->request.output, e));
    }
    BL_TRY(bl_space_check(pack, e));
    if (write_uses_buckets(p, pack)) {
        const char *dir = p->request.view && !p->request.spool ? p->state.folder : p->env.spool;
        bl_packing_progress_begin(p, "bucketing", "sequences", NULL, (int64_t)p->table.count);
        int code =
            bl_bucketing_make(&pack->bucketing, pack, dir, p->pack.share.rest, write_on_bucketing_progress, p, e);
        bl_packing_progress_end(p);
        BL_TRY(code);
    } else if (write_reads_store(p)) {
        BL_TRY(bl_mirror_fetch_spool(p->request.mirror, e));
        p->env.spool_url = NULL;
    }
    bl_pack_block_range(pack, &begin, &end);
    bl_packing_progress_begin(p, "pack", "blocks", bl_kind_steps(pack->kind, pack->config), end - begin);
    int code = bl_packing_reclaim(p, e);
    if (!code)
        code = bl_shards_write(pack, e);
    bl_packing_progress_end(p);
    return code;
}

int bl_packing_write(struct bl_packing *p, struct bl_error *e)
{
    struct bl_pack *pack = &p->pack;
    pack->missing = p->repairing ? &p->missing : NULL;
    bl_task_range(&p->request.task, bl_format_shards(&p->format), &pack->shard_begin, &pack->shard_end);
    p->failed = calloc(p->table.count / 8 + 1, 1);
    int code = p->failed ? write_shards(p, e) : bl_error_memory(e);
    bl_bucketing_free(pack->bucketing);
    pack->bucketing = NULL;
    /* Remove the state of wrong inputs, so that the next run does not use it for the right ones. The error of the run
     * is the one to report. */
    struct bl_error none = {0};
    bool other_inputs = code == BL_EDATA || (code == BL_EFAIL && bl_packing_reads_stdin(p));
    if (p->repairing && !p->request.task.set && other_inputs)
        (void)bl_state_remove(&p->state, &none);
    return code;
}

/* --- finish ------------------------------------------------------------------------------------------------------- */

/* A dataset under repair has its index and its tables already, so only DIR/.bload is removed. */
int bl_packing_finish(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_input_set *inputs = p->request.inputs;
    struct bl_finish finish = {.dir = p->request.output,
                               .mirror = p->request.mirror,
                               .table = &p->table,
                               .table_checksum = p->table_checksum,
                               .plan = &p->plan,
                               .plan_options = p->request.plan_options,
                               .manifest = &p->manifest,
                               .cancel = p->request.cancel,
                               .kind = inputs->kind,
                               .config = inputs->kind_config};
    int code = BL_OK;
    if (p->request.task.set)
        return BL_OK;
    if (!p->repairing) {
        bl_heartbeat_set_phase(&p->heartbeat, "finish");
        code = bl_finish_run(&finish, &p->finished, e);
        p->partial = bl_finished_partial(&p->finished);
    }
    if (!code && p->request.mirror)
        code = bl_mirror_finish(p->request.mirror, e);
    if (!code && inputs->kind->spool)
        code = inputs->kind->spool->remove(inputs->kind_config, &p->env, e);
    bl_sequences_close_files(&p->table); /* some file systems keep files that are open */
    return code ? code : bl_state_remove(&p->state, e);
}

/* --- steps of packing --------------------------------------------------------------------------------------------- */

int bl_packing_identify(const struct bl_packing_request *request, struct bl_buffer *lines, struct bl_error *e)
{
    if (request->view)
        return bl_packing_identify_view(request, lines, e);
    bl_options_identity(request->given, lines);
    bl_identity_inputs(request->inputs, !request->sequences, lines);
    BL_TRY(bl_identity_file("sequences", request->sequences, lines, e));
    if (!request->sequences)
        BL_TRY(bl_identity_contents(request->inputs, lines, e));
    BL_TRY(bl_identity_tables(request->inputs, lines, e));
    BL_TRY(bl_extend_identify(request->subset, lines, e));
    BL_TRY(bl_identity_file("plan", request->plan, lines, e));
    return bl_buffer_check(lines, e);
}

/* Configures the shared state. Another process may have begun the dataset meanwhile, on a machine with another SIMD
 * level; then that level holds. */
static int packing_configure(struct bl_packing *p, struct bl_error *e)
{
    int code = bl_state_configure(&p->state, p->identity.data, e);
    if (code != BL_EUSAGE)
        return code;
    const struct bl_error differs = *e;
    enum bl_simd level = p->env.simd;
    bl_error_clear(e);
    if (p->simd_unset)
        BL_TRY(simd_recorded(p, &level, e));
    if (level == p->env.simd) {
        *e = differs;
        return differs.code;
    }
    BL_TRY(simd_use(p, level, e));
    bl_buffer_clear(&p->identity);
    BL_TRY(bl_packing_identify(&p->request, &p->identity, e));
    return bl_state_configure(&p->state, p->identity.data, e);
}

/* Opens for a run that packs: identifies the request, looks for a finished dataset, and enters DIR/.bload. */
static int packing_open_whole(struct bl_packing *p, struct bl_error *e)
{
    if (!p->request.view) {
        /* The given level. Otherwise that of the dataset in the directory, whose bytes depend on it, or the best of
         * this machine. */
        enum bl_simd level = bl_simd_best();
        p->simd_unset = !p->request.options->simd;
        if (p->simd_unset)
            BL_TRY(simd_recorded(p, &level, e));
        BL_TRY(simd_use(p, p->simd_unset ? level : (enum bl_simd)(p->request.options->simd - 1), e));
    }
    if (!p->request.view)
        BL_TRY(bl_packing_check_inputs(&p->request, e));
    p->env.isolation = p->request.inputs->isolation;
    BL_TRY(bl_packing_identify(&p->request, &p->identity, e));
    BL_TRY(bl_packing_find_dataset(p, e));
    if (p->request.repair && !p->complete && !p->repairing)
        return bl_error_set(e, BL_EUSAGE,
                            "--repair: %s holds no finished dataset; without --repair, bload pack makes or resumes one",
                            p->request.output);
    if (p->complete || (p->repairing && p->request.dry_run))
        return BL_OK;
    BL_TRY(bl_isolation_start(p->env.isolation, e));
    if (p->request.dry_run)
        return scratch_enter(p, e);
    const char *dir = p->request.output;
    bool shared = p->request.task.set || p->request.mirror;
    BL_TRY(shared ? bl_state_share(&p->state, dir, e) : bl_state_open(&p->state, dir, p->identity.data, e));
    p->state.mirror = p->request.mirror;
    bl_heartbeat_begin(&p->heartbeat, dir, p->request.mirror, "pack", &p->request.task);
    return shared ? packing_configure(p, e) : BL_OK;
}

/* Plans only in a directory that tasks have begun: a mistyped directory stays unchanged. */
static int packing_open_plan(struct bl_packing *p, struct bl_error *e)
{
    bl_options_identity_of(p->request.given, BL_AFFECTS_PLAN, &p->identity);
    BL_TRY(bl_buffer_check(&p->identity, e));
    bool begun = false;
    BL_TRY(bl_state_find(p->request.output, &begun, e));
    BL_TRY(bl_identity_find(p->request.output, p->identity.data, &p->complete, &p->partial, &p->existing, e));
    if (p->complete)
        return BL_OK;
    if (!begun)
        return bl_error_set(e, BL_EUSAGE,
                            "%s holds no unfinished dataset: begin one with bload scan --task i/N -o %s ...; if it is "
                            "a folder of inputs, bload scan %s -o TABLE lists them",
                            p->request.output, p->request.output, p->request.output);
    BL_TRY(bl_state_share(&p->state, p->request.output, e));
    p->state.mirror = p->request.mirror;
    return BL_OK;
}

/* A dry run goes no further where a finished dataset lacks shards. */
static void packing_report_missing(struct bl_packing *p)
{
    char a[BL_PLURAL_SIZE], b[32];
    int64_t bytes = 0;
    for (int64_t i = p->pack.shard_begin; i < p->pack.shard_end; i++)
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

/* Sets the capacities of the own fields of the inputs, where --capacity does not. */
static int packing_set_capacities(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_own *own = p->request.inputs->own;
    struct bl_plan_own fields = {.count = 0};
    if (p->request.view || !p->request.plan_options)
        return BL_OK;
    for (int f = 0; own && f < own->fields; f++) {
        struct bl_plan_own_field *field = &fields.field[fields.count++];
        field->capacity = own->field[f].capacity;
        snprintf(field->name, sizeof field->name, "%s", own->field[f].name);
    }
    /* A process that only plans may not know the sources; then the user's capacities name the fields. */
    struct bl_plan_options *o = p->request.plan_options;
    if (own || !p->request.plan_only)
        BL_TRY(bl_plan_capacity_complete(&o->capacity, &fields, e));
    return bl_cost_check_fields(&o->cost, &o->capacity, e);
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
    p->env.cancel = request->cancel;
    p->env.decoder_memory = request->inputs ? request->inputs->decoder_memory : 0;
    p->pack = (struct bl_pack){.dir = request->output,
                               .mirror = request->mirror,
                               .base = request->inputs->base,
                               .table = &p->table,
                               .plan = &p->plan,
                               .kind = request->inputs->kind,
                               .config = request->inputs->kind_config,
                               .format = &p->format,
                               .values = &p->values,
                               .share.workers = request->workers,
                               .view = request->view,
                               .env = &p->env,
                               .outcome = write_on_outcome,
                               .tick = write_on_progress,
                               .sink = p,
                               .work = &p->request.times->write};
    bl_progress_start(&p->run, "run", "runs", NULL, 0);
    bl_jpeg_forget_environment();
    bl_media_set_environment();
    int code = packing_set_capacities(p, e);
    if (!code)
        code = request->plan_only ? packing_open_plan(p, e) : packing_open_whole(p, e);
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
    if (p->scratch && nftw(p->scratch, scratch_remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0 &&
        errno != ENOENT)
        bl_packing_message(p, true, "cannot remove the temporary folder %s: %s", p->scratch, strerror(errno));
    free(p->scratch);
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

/* The rate counts the seconds of the whole run, since the scan tokenizes texts. */
void bl_packing_result(const struct bl_packing *p, struct bl_packing_result *result)
{
    double seconds = bl_progress_seconds(&p->run); /* of the whole run, since the scan tokenizes texts */
    *result = (struct bl_packing_result){.partial = p->partial,
                                         .table = &p->table,
                                         .plan = &p->plan,
                                         .plan_info = &p->plan_info,
                                         .format = &p->format,
                                         .finished = &p->finished,
                                         .shard_begin = p->pack.shard_begin,
                                         .shard_end = p->pack.shard_end,
                                         .repaired = p->repairing ? p->missing.count : 0,
                                         .suppressed = p->suppressed,
                                         .rate = seconds > 0 ? (double)p->steps / seconds : 0,
                                         .attributes = p->attributes_text.size ? p->attributes_text.data : NULL,
                                         .unused = p->unused.size ? p->unused.data : NULL};
}
