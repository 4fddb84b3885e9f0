/* A dataset that exists in the output directory: compares it with the request, restores a lost manifest, and finds the
 * shards that must be made again.
 *
 * Nothing here writes into a finished dataset. What is missing is put into struct bl_packing.missing, and the usual
 * steps of packing (run/packing.h) then make it: the same table, the same plan, and only the missing shards. Example:
 * shards/00000007 was deleted; the user runs the same bload pack again, and shard 7 alone is written. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/output.h"
#include "base/text.h"
#include "run/job.h"
#include "run/shards.h"
#include "store/dataset.h"
#include "store/folders.h"
#include "store/index.h"
#include "store/row_reader.h"
#include "store/shard_writer.h"

/* --- nothing new -------------------------------------------------------------------------------------------------- */

/* "Nothing new" means that the datasets of --extend hold all sequences that could be packed. Then no dataset is made.
 */

bool bl_packing_is_all_held(const struct bl_packing *p)
{
    return !p->repairing && !p->table.by_status[BL_ROW_OK] && p->table.left_out.by[BL_LEFT_OUT_EXTEND];
}

bool bl_packing_is_rest_dropped(const struct bl_packing *p, int64_t T)
{
    const struct bl_plan_options *o = p->request.plan_options;
    int64_t longest = o->max_length ? o->max_length : INT64_MAX;
    if (p->repairing || !p->table.left_out.by[BL_LEFT_OUT_EXTEND])
        return false;
    if (o->oversize == BL_OVERSIZE_DROP && T < longest)
        longest = T;
    for (size_t i = 0; i < p->table.count; i++) {
        int64_t length = p->table.length[i];
        if (length > 0 && length >= o->min_length && length <= longest)
            return false;
    }
    return true;
}

int bl_packing_end_held(struct bl_packing *p, struct bl_error *e)
{
    bool shared = p->request.task.set || p->request.plan_only;
    p->complete = true;
    p->partial = !bl_sequences_is_clean(&p->table);
    bl_packing_message(p, false, "nothing new: %s is not written%s", p->request.output,
                       shared ? " (bload finish removes what the tasks left there)" : "");
    if (p->request.dry_run)
        return BL_OK; /* there is only its temporary folder */
    if (shared) {
        /* A note for bload finish, which removes the directory when no task uses it any more. */
        struct bl_buffer text = {0};
        bl_buffer_text(&text, "nothing new\n");
        int code = bl_buffer_check(&text, e);
        if (!code)
            code = bl_state_publish(&p->state, BL_STATE_NOTHING_NEW, &text, e);
        bl_buffer_free(&text);
        return code;
    }
    const struct bl_input_set *inputs = p->request.inputs;
    int code = BL_OK;
    if (inputs->kind && inputs->kind->spool)
        code = inputs->kind->spool->remove(inputs->kind_config, &p->env, e);
    bl_sequences_close_files(&p->table);
    if (!code)
        code = bl_state_discard(&p->state, e);
    return code || !p->request.mirror ? code : bl_mirror_remove_state(p->request.mirror, e);
}

/* --- datasets without a manifest ---------------------------------------------------------------------------------- */

/* Repairs a finished dataset that lost its manifest: adopts its shards by means of the files beside them and finishes
 * it again.
 *
 * shards.tsv and the index contain what the records of the shards said, except for failures and notes. So shards with
 * such sequences are made again. The first of the adoptable shards is made again too, since only this proves that the
 * same options and versions made them. Every shard that is made must match shards.tsv. */

struct reclaiming {
    struct bl_packing *p;
    struct bl_index index;
    uint8_t *odd;  /* [rows of the table] not 0: packing added a failure or a note */
    uint8_t *take; /* [shards] not 0: the shard can be adopted */
    int64_t count;
};

/* Marks rows that differ between the finished table and the scan's. */
static int reclaim_compare_tables(struct reclaiming *r, const struct bl_sequences *finished, struct bl_error *e)
{
    const struct bl_sequences *scanned = &r->p->table;
    struct bl_row_reader a = {0}, b = {0};
    int code = BL_OK;
    for (size_t i = 0; i < scanned->count && !code; i++) {
        code = bl_row_reader_read(scanned, i, &a, e);
        if (!code)
            code = bl_row_reader_read(finished, i, &b, e);
        if (code)
            break;
        if (strcmp(a.row.id, b.row.id) != 0 || a.row.length != b.row.length)
            code = bl_error_set(e, BL_EFAIL, "%s/" BL_SEQUENCES_FILE " has %s where %s is now: the inputs changed",
                                r->p->request.output, b.row.id, a.row.id);
        r->odd[i] =
            b.row.status != BL_ROW_DROPPED && (a.row.status != b.row.status || strcmp(a.row.reason, b.row.reason) != 0);
    }
    bl_row_reader_free(&a);
    bl_row_reader_free(&b);
    return code;
}

/* Opens the table of the dataset, compares it with the table of the scan, and sets r->odd. BL_EFAIL: the inputs
 * changed. */
static int reclaim_read_table(struct reclaiming *r, struct bl_error *e)
{
    const char *dir = r->p->request.output;
    struct bl_sequences finished;
    int code = bl_sequences_open_dataset(&finished, dir, NULL, e);
    if (!code && finished.count != r->p->table.count)
        code = bl_error_set(e, BL_EFAIL, "%s/" BL_SEQUENCES_FILE " has %zu inputs, and there are %zu now: they changed",
                            dir, finished.count, r->p->table.count);
    else if (!code)
        code = reclaim_compare_tables(r, &finished, e);
    bl_sequences_close(&finished);
    return code;
}

/* Opens the index of the dataset and checks that it holds the same plan. BL_EUSAGE: it holds another plan. */
static int reclaim_read_index(struct reclaiming *r, struct bl_error *e)
{
    const struct bl_format *format = &r->p->format;
    char digest[BL_DIGEST_SIZE];
    BL_TRY(bl_index_open(&r->index, r->p->request.output, format->blocks, format->fields.count, e));
    BL_TRY(bl_index_plan_digest(&r->index, format->T, digest, e));
    if (strcmp(digest, format->plan_digest) != 0)
        return bl_error_set(e, BL_EUSAGE, "%s holds shards of another plan than these inputs and options give",
                            r->p->request.output);
    return BL_OK;
}

/* Returns whether the shard has a piece of a marked row. */
static bool reclaim_shard_differs(const struct reclaiming *r, int64_t shard)
{
    const struct bl_plan *plan = &r->p->plan;
    int64_t block = bl_format_first_block(&r->p->format, shard), odd = 0;
    int64_t end = plan->block_ptr[block + bl_format_blocks_of(&r->p->format, shard)];
    for (int64_t p = plan->block_ptr[block]; p < end; p++)
        odd += r->odd[plan->sequence[p]];
    return odd > 0;
}

/* Chooses shards without a record that have their old size and no marked rows. */
static int reclaim_choose(struct reclaiming *r, struct bl_error *e)
{
    const struct bl_pack *pack = &r->p->pack;
    int code = BL_OK;
    for (int64_t i = pack->shard_begin; i < pack->shard_end && !code; i++) {
        struct bl_shard_record record = {0};
        struct bl_buffer path = {0};
        struct stat status;
        bool found = false;
        code = bl_shard_find(pack->format, pack->dir, i, &record, &found, e);
        bl_shard_record_free(&record);
        bl_buffer_printf(&path, "%s/%s", pack->dir, r->p->missing.row[i].file);
        code = code ? code : bl_buffer_check(&path, e);
        r->take[i] = !code && !found && stat(path.data, &status) == 0 && status.st_size == r->p->missing.row[i].bytes &&
                     !reclaim_shard_differs(r, i);
        r->count += r->take[i];
        bl_buffer_free(&path);
    }
    return code;
}

/* Adopts a shard: writes its record again, from shards.tsv and the index. */
static int reclaim_shard(struct reclaiming *r, int64_t shard, struct bl_error *e)
{
    const struct bl_format *format = r->p->pack.format;
    const struct bl_shard_row *row = &r->p->missing.row[shard];
    int64_t fields = format->fields.count;
    struct bl_shard_record record = {.shard = shard,
                                     .first_block = row->first_block,
                                     .blocks = row->blocks,
                                     .bytes = row->bytes,
                                     .checksum = row->checksum};
    record.block_checksum = calloc((size_t)(row->blocks * fields), sizeof *record.block_checksum);
    record.user_data = calloc(1, 1);
    int code = record.block_checksum && record.user_data ? BL_OK : bl_error_memory(e);
    if (!code)
        code = bl_index_read(&r->index, BL_INDEX_BLOCK_CHECKSUM, row->first_block * fields, row->blocks * fields,
                             record.block_checksum, e);
    if (!code)
        code = bl_shard_record_write(&record, format, r->p->pack.dir, e);
    bl_shard_record_free(&record);
    return code;
}

int bl_packing_reclaim(struct bl_packing *p, struct bl_error *e)
{
    struct reclaiming r = {.p = p, .index.fd = -1};
    char a[BL_PLURAL_SIZE];
    bool found = false, table = false, index = false;
    BL_TRY(p->repairing ? BL_OK : bl_fs_find(p->request.output, BL_SHARDS_FILE, &found, e));
    if (!found)
        return BL_OK;
    BL_TRY(bl_shard_table_read(p->request.output, &p->format, &p->missing.row, e));
    p->pack.missing = &p->missing;
    r.odd = calloc(p->table.count + 1, 1);
    r.take = calloc((size_t)bl_format_shards(&p->format), 1);
    int code = r.odd && r.take ? BL_OK : bl_error_memory(e);
    /* If the table or the index is missing, no shard can be adopted, but all can be made again. */
    if (!code)
        code = bl_fs_find(p->request.output, BL_SEQUENCES_FILE, &table, e);
    if (!code)
        code = bl_fs_find(p->request.output, BL_INDEX_FILE, &index, e);
    if (code || !table || !index)
        goto out;
    code = reclaim_read_table(&r, e);
    if (!code)
        code = reclaim_read_index(&r, e);
    if (!code)
        code = reclaim_choose(&r, e);
    if (code || !r.count)
        goto out;
    bl_packing_message(p, false, "%s lost its manifest: %s kept if the first of them, made again, has the same bytes",
                       p->request.output, bl_text_plural(a, r.count, "shard is|shards are"));
    /* The first adoptable shard is made again, as the proof; then the others are adopted. */
    struct bl_pack first = p->pack;
    while (!r.take[first.shard_begin])
        first.shard_begin++;
    first.shard_end = first.shard_begin + 1;
    code = bl_shards_write(&first, e);
    for (int64_t i = first.shard_end; i < p->pack.shard_end && !code; i++)
        code = r.take[i] ? reclaim_shard(&r, i, e) : BL_OK;
out:
    bl_index_close(&r.index);
    free(r.odd);
    free(r.take);
    return code;
}

/* --- repair ------------------------------------------------------------------------------------------------------- */

/* Makes missing shards of a finished dataset again: lost and truncated ones, and with --repair also damaged ones.
 * Nothing else changes, so the dataset is complete as soon as they exist. */

struct checking {
    struct bl_packing *p;
    bool files_damaged; /* a file other than a shard is damaged */
};

/* The verification found that a file beside the shards is damaged. context: struct checking, as in the following
 * functions, which all run on the thread of the caller. */
static void repair_on_fault(void *context, const char *file, const char *text)
{
    struct checking *c = context;
    c->files_damaged = true;
    bl_packing_message(c->p, true, "%s: %s", file, text);
}

/* Only the first fault of a shard is reported. */
static void repair_on_shard_fault(void *context, int64_t shard, const char *file, const char *text)
{
    struct bl_packing *p = ((struct checking *)context)->p;
    if (p->missing.is_missing[shard])
        return;
    bl_packing_message(p, true, "%s: %s: it is made again", file, text);
    bl_missing_add(&p->missing, shard);
}

static void repair_on_shard(void *context, int64_t shard, int64_t failed_steps)
{
    (void)shard;
    (void)failed_steps;
    ((struct checking *)context)->p->progress.done++;
}

static void repair_tick(void *context)
{
    bl_packing_progress_tick(((struct checking *)context)->p);
}

/* Reads the shards that exist, in parallel, and adds the damaged ones to p->missing. */
static int repair_verify_shards(struct checking *c, const struct bl_verify *dataset, struct bl_error *e)
{
    struct bl_packing *p = c->p;
    struct bl_verify_shards verify = {.dataset = dataset,
                                      .begin = p->pack.shard_begin,
                                      .end = p->pack.shard_end,
                                      .skip = p->missing.is_missing,
                                      .workers = p->pack.share.workers,
                                      .cancel = p->request.cancel,
                                      .fault = repair_on_shard_fault,
                                      .done = repair_on_shard,
                                      .tick = repair_tick,
                                      .sink = c,
                                      .work = &p->request.times->verify};
    bl_packing_progress_begin(p, "verify", "shards", NULL, p->pack.shard_end - p->pack.shard_begin);
    int code = bl_verify_shards_run(&verify, e);
    bl_packing_progress_end(p);
    return code;
}

/* Reads and checks the shards, as bload verify does. */
static int repair_verify(struct bl_packing *p, struct bl_error *e)
{
    struct checking c = {.p = p};
    struct bl_verify dataset = {.index.fd = -1};
    int code = bl_verify_open(&dataset, p->request.output, p->request.cancel, repair_on_fault, &c, e);
    if (code)
        goto out;
    code = bl_verify_prepare_part(&dataset, p->pack.shard_begin, p->pack.shard_end, repair_on_fault, &c);
    if (code)
        goto out;
    if (c.files_damaged)
        code = bl_error_set(e, BL_EFAIL,
                            "%s: files beside the shards are damaged, so the correct content of the shards is unknown",
                            p->request.output);
    else
        code = repair_verify_shards(&c, &dataset, e);
out:
    bl_verify_close(&dataset);
    return code;
}

/* Finds the shards of this run that are lost or truncated, and with --repair the damaged ones, and sets p->missing and
 * p->repairing. m: the manifest of the dataset. BL_EFAIL: another file of the dataset is lost or damaged, by which a
 * shard could be checked. */
static int repair_find_missing(struct bl_packing *p, const struct bl_manifest *m, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bl_task_range(&p->request.task, bl_format_shards(&m->format), &p->pack.shard_begin, &p->pack.shard_end);
    BL_TRY(bl_missing_check_files(p->request.output, m, e));
    if (p->request.mirror)
        return bl_mirror_check_shards(p->request.mirror, &m->format, e);
    BL_TRY(bl_missing_find(&p->missing, p->request.output, m, p->pack.shard_begin, p->pack.shard_end, e));
    int code = BL_OK;
    if (p->request.repair)
        code = repair_verify(p, e);
    p->repairing = !code && p->missing.count > 0;
    if (!p->repairing)
        return code;
    bl_missing_describe(&text, p->request.output, &m->format, p->missing.count, p->pack.shard_end - p->pack.shard_begin,
                        p->missing.first);
    if (!text.failed)
        bl_packing_message(p, false, "%s: only these are made again", text.data);
    bl_buffer_free(&text);
    return BL_OK;
}

/* Copies the rows of the finished table to out, as they were after the scan, since planning and reading need them so.
 */
static int repair_copy_rows(const struct bl_sequences *table, struct bl_output *out, struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_buffer line = {0};
    bl_buffer_printf(&line, BL_SEQUENCES_COLUMNS "%s\n", table->file[0].columns.extra);
    int code = bl_buffer_check(&line, e);
    if (!code)
        code = bl_output_write(out, line.data, line.size, e);
    for (size_t i = 0; i < table->count && !code; i++) {
        code = bl_row_reader_read(table, i, &text, e);
        if (code)
            break;
        /* Packing set these statuses; the scan had found the rows to be ok. */
        if (text.row.status == BL_ROW_FAILED || (text.row.status == BL_ROW_DROPPED && text.row.length)) {
            text.row.status = BL_ROW_OK;
            text.row.reason = "";
        }
        bl_buffer_clear(&line);
        bl_row_format(&text.row, &line);
        code = bl_buffer_check(&line, e);
        if (!code)
            code = bl_output_write(out, line.data, line.size, e);
    }
    bl_row_reader_free(&text);
    bl_buffer_free(&line);
    return code;
}

int bl_packing_restore_table(const struct bl_packing *p, struct bl_output *out, struct bl_error *e)
{
    struct bl_sequences table;
    int code = bl_sequences_open_dataset(&table, p->request.output, NULL, e);
    if (!code)
        code = repair_copy_rows(&table, out, e);
    bl_sequences_close(&table);
    return code;
}

/* Reports that a version differs. what: "bload", or the name of a library; there and here: its versions in the dataset
 * and in this process. */
static int repair_version_error(const struct bl_packing *p, const char *what, const char *there, const char *here,
                                struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL,
                        "%s was made with %s %s, but this is %s, which may make other shards: use the recorded version",
                        p->request.output, what, there, here);
}

/* Compares the versions of bload and of all libraries that the dataset recorded: another version may decode or compress
 * to other bytes. */
static int repair_compare_versions(const struct bl_packing *p, const struct bl_manifest *there, struct bl_error *e)
{
    const struct bl_manifest *here = &p->manifest;
    if (strcmp(there->tool, here->tool) != 0)
        return repair_version_error(p, "bload", there->tool, here->tool, e);
    for (size_t i = 0; i < there->libraries.count; i++) {
        const struct bl_manifest_pair *pair = &there->libraries.pair[i];
        const char *version = "(none)";
        for (size_t k = here->libraries.count; k-- > 0;) /* the first of equal names counts */
            version = strcmp(here->libraries.pair[k].name, pair->name) == 0 ? here->libraries.pair[k].value : version;
        if (strcmp(pair->value, version) != 0)
            return repair_version_error(p, pair->name, pair->value, version, e);
    }
    return BL_OK;
}

int bl_packing_compare_draft(const struct bl_packing *p, struct bl_error *e)
{
    struct bl_manifest there = {0}, here = p->manifest;
    struct bl_buffer text = {0};
    int code = bl_manifest_read(&there, p->request.output, e);
    if (code)
        goto out;
    code = repair_compare_versions(p, &there, e);
    if (code)
        goto out;
    if (strcmp(there.format.plan_digest, here.format.plan_digest) != 0) {
        code = bl_error_set(e, BL_EFAIL, "%s was made with another plan than that of these inputs and options",
                            p->request.output);
        goto out;
    }
    /* The texts contain everything known before packing; the results of packing remain unchanged. */
    here.skipped = there.skipped;
    here.failed = there.failed;
    here.failed_steps = there.failed_steps;
    here.counts = there.counts;
    here.untrained = there.untrained;
    here.notes = there.notes;
    here.note = there.note;
    here.files = there.files;
    here.file = there.file;
    code = bl_manifest_format(&here, false, &text, e);
    /* Manifests of earlier builds have the names that drafts still have. */
    if (!code && strcmp(here.digest, there.digest) != 0)
        code = bl_manifest_format(&here, true, &text, e);
    if (!code && strcmp(here.digest, there.digest) != 0)
        code = bl_error_set(e, BL_EFAIL,
                            "%s/" BL_MANIFEST_FILE
                            " does not match these inputs and options, which would make other shards",
                            p->request.output);
out:
    bl_buffer_free(&text);
    bl_manifest_free(&there);
    return code;
}

/* --- finished datasets -------------------------------------------------------------------------------------------- */

/* Compares a finished dataset in the directory with the request. */

/* Compares the configuration and the inputs of the dataset with the request, and finds out whether it is complete, or
 * shards must be made again. what: the beginning of messages, "DIR holds a dataset". */
static int dataset_compare(struct bl_packing *p, const char *what, struct bl_error *e)
{
    struct bl_buffer lines = {0}, digest = {0}; /* digest: of standard input, from the configuration */
    struct bl_error other = {0};
    struct bl_manifest m = {0};
    struct bl_sequences table = {0};
    int code = bl_manifest_read(&m, p->request.output, e);
    if (code)
        goto out;
    code = bl_identity_of_manifest(&m, &lines, e);
    if (code)
        goto out;
    bl_packing_extract_stdin(&lines, &digest);
    code = bl_identity_compare(lines.data, p->identity.data, what, e);
    if (code)
        goto out;
    code = bl_sequences_open_dataset(&table, p->request.output, NULL, e);
    if (code)
        goto out;
    code = bl_packing_compare_inputs(p, &table, &other);
    if (code == BL_EDATA)
        code = bl_error_set(e, BL_EUSAGE, "%s holds a dataset of other inputs: %s (use the same inputs, or another -o)",
                            p->request.output, other.text);
    else
        code = bl_error_pass(e, code, &other);
    if (code)
        goto out;
    code = repair_find_missing(p, &m, e);
    if (code)
        goto out;
    /* Standard input can be read only once. If shards are missing, it is compared while it is read for them. */
    if (bl_packing_reads_stdin(p))
        code = p->repairing ? bl_packing_add_stdin(p, digest.data, e) : bl_packing_compare_stdin(p, &digest, what, e);
    if (code)
        goto out;
    p->complete = !p->repairing;
    p->partial = !bl_sequences_is_clean(&table);
    p->existing = bl_fault_counts_of(&table);
    if (p->complete && !p->request.task.set && !p->request.dry_run)
        code = bl_state_remove_leftovers(p->request.output, e);
    if (!code && p->complete && !p->request.task.set && !p->request.dry_run && p->request.mirror)
        code = bl_mirror_remove_leftovers(p->request.mirror, e);
out:
    bl_sequences_close(&table);
    bl_manifest_free(&m);
    bl_buffer_free(&lines);
    bl_buffer_free(&digest);
    return code;
}

int bl_packing_find_dataset(struct bl_packing *p, struct bl_error *e)
{
    struct bl_buffer what = {0};
    bool found;
    BL_TRY(bl_fs_find(p->request.output, BL_MANIFEST_FILE, &found, e));
    if (!found)
        return BL_OK;
    bl_buffer_printf(&what, "%s holds a dataset", p->request.output);
    int code = bl_buffer_check(&what, e);
    if (!code)
        code = dataset_compare(p, what.data, e);
    bl_buffer_free(&what);
    return code;
}
