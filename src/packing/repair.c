/* Makes the missing parts of a finished dataset again: shards that are lost or truncated, and with --repair damaged
 * ones. Nothing else changes, so the dataset is complete as soon as they exist. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "packing/internal.h"
#include "run/verify_shards.h"
#include "store/dataset.h"
#include "store/row_reader.h"

/* --- missing shards --------------------------------------------------------------------------------------------- */

struct checking {
    struct bl_packing *p;
    bool files_damaged; /* besides the shards */
};

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

static int repair_verify_shards(struct checking *c, const struct bl_verify *dataset, struct bl_error *e)
{
    struct bl_packing *p = c->p;
    struct bl_verify_shards verify = {.dataset = dataset,
                                      .begin = p->shard_begin,
                                      .end = p->shard_end,
                                      .skip = p->missing.is_missing,
                                      .workers = p->workers,
                                      .cancel = p->request.cancel,
                                      .fault = repair_on_shard_fault,
                                      .done = repair_on_shard,
                                      .tick = repair_tick,
                                      .sink = c,
                                      .work = &p->request.times->verify};
    bl_packing_progress_begin(p, "verify", "shards", NULL, p->shard_end - p->shard_begin);
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
    code = bl_verify_prepare_part(&dataset, p->shard_begin, p->shard_end, repair_on_fault, &c);
    if (code)
        goto out;
    if (c.files_damaged)
        code =
            bl_error_set(e, BL_EFAIL, "%s: files beside the shards are damaged: what the shards must be is not known",
                         p->request.output);
    else
        code = repair_verify_shards(&c, &dataset, e);
out:
    bl_verify_close(&dataset);
    return code;
}

int bl_packing_find_missing(struct bl_packing *p, const struct bl_manifest *m, struct bl_error *e)
{
    struct bl_buffer text = {0};
    bl_task_range(&p->request.task, bl_format_shards(&m->format), &p->shard_begin, &p->shard_end);
    int code = bl_missing_check_files(p->request.output, m, e);
    if (code)
        return code;
    code = bl_missing_find(&p->missing, p->request.output, m, p->shard_begin, p->shard_end, e);
    if (code)
        return code;
    if (p->request.repair)
        code = repair_verify(p, e);
    p->repairing = !code && p->missing.count > 0;
    if (!p->repairing)
        return code;
    bl_missing_describe(&text, p->request.output, &m->format, p->missing.count, p->shard_end - p->shard_begin,
                        p->missing.first);
    if (!text.failed)
        bl_packing_message(p, false, "%s: only these are made again", text.data);
    bl_buffer_free(&text);
    return BL_OK;
}

/* --- the scan's table ------------------------------------------------------------------------------------------- */

static int repair_copy_rows(const struct bl_sequences *table, struct bl_output *out, struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_buffer line = {0};
    bl_buffer_printf(&line, BL_SEQUENCES_COLUMNS "%s\n", table->file[0].columns.extra);
    int code = bl_buffer_check(&line, e);
    if (code)
        goto out;
    code = bl_output_write(out, line.data, line.size, e);
    if (code)
        goto out;
    for (size_t i = 0; i < table->count && !code; i++) {
        code = bl_row_reader_read(table, i, &text, e);
        if (code)
            break;
        /* Planning and reading need the row as it was after the scan. */
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
out:
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

static int repair_version_error(const struct bl_packing *p, const char *what, const char *there, const char *here,
                                struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL,
                        "%s was made with %s %s, and this is %s, which may not make the same shards: use the former",
                        p->request.output, what, there, here);
}

static const char *repair_find_version(const struct bl_manifest_pairs *libraries, const char *name)
{
    for (size_t i = 0; i < libraries->count; i++) {
        if (strcmp(libraries->pair[i].name, name) == 0)
            return libraries->pair[i].value;
    }
    return "(none)";
}

static int repair_compare_versions(const struct bl_packing *p, const struct bl_manifest *there, struct bl_error *e)
{
    const struct bl_manifest *here = &p->manifest;
    if (strcmp(there->tool, here->tool) != 0)
        return repair_version_error(p, "bload", there->tool, here->tool, e);
    for (size_t i = 0; i < there->libraries.count; i++) {
        const struct bl_manifest_pair *pair = &there->libraries.pair[i];
        const char *version = repair_find_version(&here->libraries, pair->name);
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
    code = bl_manifest_format(&here, &text, e);
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
