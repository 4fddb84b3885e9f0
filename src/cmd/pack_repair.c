/* What a finished dataset lacks is made again: shards that are gone or cut, and with --repair those that are damaged.
 * Nothing else of it is touched, so that it is complete as soon as they are there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/text.h"
#include "cmd/packing.h"
#include "run/pipeline.h"
#include "store/dataset.h"
#include "store/row_reader.h"
#include "store/verify.h"

/* --- damaged shards --------------------------------------------------------------------------------------------- */

struct checking {
    struct bl_packing *p;
    struct bl_verify dataset;
    int64_t next, end;
    bool beside; /* a fault of what lies beside the shards was told */
};

/* A shard, and what is wrong with it. */
struct job {
    int64_t shard;
    struct bl_buffer text;
};

static void repair_on_fault(void *context, const char *file, const char *text)
{
    struct checking *c = context;
    c->beside = true;
    bl_cmd_print("%s: %s", file, text);
}

static void repair_on_shard_fault(void *context, const char *file, const char *text)
{
    struct job *job = context;
    if (!job->text.size)
        bl_buffer_printf(&job->text, "%s: %s: it is made again", file, text);
}

static int repair_produce(void *context, void **out, struct bl_error *e)
{
    struct checking *c = context;
    if (c->next == c->end)
        return 0;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    job->shard = c->next++;
    *out = job;
    return 1;
}

static int repair_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    struct checking *c = context;
    struct job *job = job_;
    int64_t failed_steps;
    (void)worker;
    if (c->p->missing.is_missing[job->shard])
        return BL_OK;
    return bl_verify_shard(&c->dataset, job->shard, repair_on_shard_fault, job, &failed_steps, e);
}

static void repair_discard(void *context, void *job_)
{
    struct job *job = job_;
    (void)context;
    bl_buffer_free(&job->text);
    free(job);
}

static int repair_consume(void *context, void *job_, struct bl_error *e)
{
    struct checking *c = context;
    struct job *job = job_;
    int code = bl_buffer_check(&job->text, e);
    if (code)
        goto out;
    if (job->text.size) {
        bl_progress_clear(&c->p->progress);
        bl_cmd_print("%s", job->text.data);
        bl_missing_add(&c->p->missing, job->shard);
    }
out:
    c->p->progress.done++;
    repair_discard(c, job);
    return code;
}

static void repair_tick(void *context)
{
    bl_packing_tick(((struct checking *)context)->p);
}

/* Reads the shards through, as bload verify does. */
static int repair_verify(struct bl_cmd *cmd, struct bl_packing *p)
{
    static const struct bl_stages stages = {.produce = repair_produce,
                                            .work = repair_work,
                                            .consume = repair_consume,
                                            .discard = repair_discard,
                                            .tick = repair_tick};
    struct checking c = {.p = p, .dataset.index.fd = -1, .next = p->shard_begin, .end = p->shard_end};
    int code = bl_verify_open(&c.dataset, p->output, &cmd->cancel, repair_on_fault, &c, &cmd->error);
    if (code)
        goto out;
    code = bl_verify_prepare_part(&c.dataset, c.next, c.end, repair_on_fault, &c);
    if (code)
        goto out;
    if (c.beside)
        code = bl_error_set(&cmd->error, BL_EFAIL,
                            "%s: what lies beside the shards is damaged: what they must be cannot be told", p->output);
    if (code)
        goto out;
    bl_progress_start(&p->progress, cmd->common.quiet, "verify", "shards", NULL, c.end - c.next);
    code = bl_pipeline_run(&stages, &c, p->workers, 2 * p->workers, &cmd->cancel, &cmd->error);
    bl_progress_end(&p->progress);
out:
    bl_verify_close(&c.dataset);
    return code;
}

/* --- what lacks ------------------------------------------------------------------------------------------------- */

int bl_packing_find_missing(struct bl_cmd *cmd, struct bl_packing *p, const struct bl_manifest *m)
{
    struct bl_error *e = &cmd->error;
    bl_task_range(&p->task, bl_format_shards(&m->format), &p->shard_begin, &p->shard_end);
    int code = bl_missing_check_files(p->output, m, e);
    if (code)
        goto out;
    code = bl_missing_find(&p->missing, p->output, m, p->shard_begin, p->shard_end, e);
    if (code)
        goto out;
    if (p->repair)
        code = repair_verify(cmd, p);
out:
    p->repairing = !code && p->missing.count > 0;
    if (p->repairing && !cmd->common.quiet) {
        char a[32], b[32];
        bl_cmd_print("%s lacks %s of %s shards, the first is %s: just these are made again", p->output,
                     bl_text_count(a, p->missing.count), bl_text_count(b, p->shard_end - p->shard_begin),
                     p->missing.row[p->missing.first].file);
    }
    return code ? code : p->repairing;
}

/* --- as it was made --------------------------------------------------------------------------------------------- */

/* A row as the scan had it, for all that planning and reading need. */
static void repair_restore_row(struct bl_row *row)
{
    if (row->status != BL_ROW_FAILED && (row->status != BL_ROW_DROPPED || !row->length))
        return;
    row->status = BL_ROW_OK;
    row->reason = "";
}

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
        repair_restore_row(&text.row);
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
    struct bl_sequences table = {0};
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/" BL_SEQUENCES_FILE, p->output);
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    code = bl_sequences_open(&table, &(const char *){path.data}, 1, false, e);
    if (code)
        goto out;
    code = repair_copy_rows(&table, out, e);
out:
    bl_sequences_close(&table);
    bl_buffer_free(&path);
    return code;
}

static int repair_version_error(const struct bl_packing *p, const char *what, const char *there, const char *here,
                                struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL,
                        "%s was made with %s %s, and this is %s: with that its shards would not become what they were; "
                        "make them again with the former",
                        p->output, what, there, here);
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

int bl_packing_compare_made(const struct bl_packing *p, struct bl_error *e)
{
    struct bl_manifest there = {0}, here = p->manifest;
    struct bl_buffer text = {0};
    int code = bl_manifest_read(&there, p->output, e);
    if (!code)
        code = repair_compare_versions(p, &there, e);
    if (!code && strcmp(there.format.plan_digest, here.format.plan_digest) != 0)
        code = bl_error_set(e, BL_EFAIL, "%s was made of another plan than these inputs and options give", p->output);
    /* All else that is known before packing is in the text; what packing found out is as it was. */
    here.skipped = there.skipped;
    here.failed = there.failed;
    here.failed_steps = there.failed_steps;
    here.files = there.files;
    here.file = there.file;
    if (!code)
        code = bl_manifest_format(&here, &text, e);
    if (!code && strcmp(here.digest, there.digest) != 0)
        code = bl_error_set(e, BL_EFAIL,
                            "%s/" BL_MANIFEST_FILE " is not what these inputs and options give: the dataset was made "
                            "otherwise, and its shards would not become what they were",
                            p->output);
    bl_buffer_free(&text);
    bl_manifest_free(&there);
    return code;
}

void bl_packing_print_repaired(const struct bl_packing *p)
{
    char a[32];
    bl_cmd_print("%s: %s shard%s made again, with the same bytes; %s", p->output, bl_text_count(a, p->missing.count),
                 p->missing.count == 1 ? " was" : "s were",
                 p->task.set ? "when all tasks are done, bload finish ends it" : "it is complete");
}
