/* Writes an export: the configuration, the division into parts, the pipeline that makes parts, and the run.
 *
 * Workers own whole parts, so that a file is written from its beginning to its end. A part is written as
 * DIR/.bload/shard-00000007.data, gets its name in DIR, and last its record DIR/.bload/shard-00000007.record: a run
 * that is killed anywhere in between writes at most one part per worker again. */
#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "export/part.h"
#include "pool/pipeline.h"
#include "run/state.h"
#include "store/manifest.h"

/* --- configuration ------------------------------------------------------------------------------------------------ */

/* Appends the lines of a job:
 *
 *     to: mds
 *     source: 8f14e45fceea167a
 *     shard-size: 67108864
 *     compress: zstd:3
 *
 * The lines are compared with those of an existing export, so a new option needs a line, but only where it is given. */
static int export_configuration_append(const struct bl_export_job *job, struct bl_buffer *lines, struct bl_error *e)
{
    bl_buffer_printf(lines, "to: %s\nsource: %s\nshard-size: %" PRId64 "\n", job->format->name,
                     bl_blocks_manifest(job->blocks)->digest, job->shard_size);
    if (job->compress.on)
        bl_buffer_printf(lines, "compress: zstd:%d\n", job->compress.level);
    if (job->field)
        bl_buffer_printf(lines, "field: %s\n", job->field);
    if (job->ids)
        bl_buffer_text(lines, "ids: true\n");
    return bl_buffer_check(lines, e);
}

/* Copies the value of the line `name` to out; "" if the line is missing. Returns false if the value is too long. */
static bool line_value(const char *lines, const char *name, char *out, size_t size)
{
    size_t length = 0;
    const char *value = bl_identity_value(lines, name, strlen(name), &length);
    snprintf(out, size, "%.*s", (int)length, value ? value : "");
    return length < size;
}

/* A missing line is the default: exports of earlier versions have fewer lines. A value that is too long is one that
 * this version does not know. */
int bl_export_configuration_parse(struct bl_export_configuration *c, const char *lines, struct bl_error *e)
{
    char to[32], size[32], compress[32], ids[8];
    *c = (struct bl_export_configuration){.format = NULL};
    bool known = line_value(lines, "to", to, sizeof to) && line_value(lines, "shard-size", size, sizeof size) &&
                 line_value(lines, "compress", compress, sizeof compress) &&
                 line_value(lines, "field", c->field, sizeof c->field) && line_value(lines, "ids", ids, sizeof ids) &&
                 line_value(lines, "source", c->source, sizeof c->source);
    for (int f = 0; bl_export_format_names[f]; f++) {
        if (strcmp(bl_export_format_names[f], to) == 0)
            c->format = bl_export_formats[f];
    }
    c->ids = *ids;
    if (!known || !c->format || !bl_text_to_int(size, strlen(size), 1, INT64_MAX, &c->shard_size) ||
        (*compress && !bl_option_compress.parse(NULL, compress, &c->compress)))
        return bl_error_set(e, BL_EDATA, "this version does not know its configuration");
    return BL_OK;
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

int64_t bl_export_first_block(const struct bl_export_job *job, int64_t part)
{
    return part * job->blocks_per_part;
}

int64_t bl_export_blocks_of(const struct bl_export_job *job, int64_t part)
{
    int64_t left = job->arrays.format.blocks - bl_export_first_block(job, part);
    return left < job->blocks_per_part ? left : job->blocks_per_part;
}

int bl_export_part_path(const struct bl_export_job *job, int64_t part, struct bl_buffer *path, struct bl_error *e)
{
    char name[BL_EXPORT_NAME_MAX];
    job->format->name_part(job, part, name);
    bl_buffer_clear(path);
    bl_buffer_printf(path, "%s/%s", job->output, name);
    return bl_buffer_check(path, e);
}

/* Divides the blocks into parts of the maximum size, and makes the records of the parts. The number of blocks of a part
 * is found by bisection, since only the format knows the bytes of a file with so many blocks. BL_EUSAGE: a single block
 * is too large for a file of the format. */
static int job_divide(struct bl_export_job *job, struct bl_error *e)
{
    int64_t blocks = job->arrays.format.blocks, low = 1, high = blocks;
    int64_t most = job->shard_size < job->format->most ? job->shard_size : job->format->most;
    if (job->format->bytes(job, 1) > job->format->most)
        return bl_error_set(e, BL_EUSAGE, "a block has %zu bytes, but a file of %s has at most %" PRId64,
                            job->arrays.bytes, job->format->name, job->format->most);
    if (high > most / (int64_t)job->arrays.bytes + 1)
        high = most / (int64_t)job->arrays.bytes + 1; /* more blocks are too large, and their size might overflow */
    while (low < high) {
        int64_t middle = high - (high - low) / 2;
        if (job->format->bytes(job, middle) <= most)
            low = middle;
        else
            high = middle - 1;
    }
    job->blocks_per_part = low;
    job->parts = (blocks + low - 1) / low;
    job->record = calloc((size_t)job->parts, sizeof *job->record);
    return job->record ? BL_OK : bl_error_memory(e);
}

int bl_export_job_set(struct bl_export_job *job, struct bl_blocks *blocks, struct bl_error *e)
{
    const struct bl_export_format *format = job->format;
    job->blocks = blocks;
    job->shard_size = job->shard_size ? job->shard_size : format->shard_size;
    if (job->compress.on && !format->compresses)
        return bl_error_set(e, BL_EUSAGE, "--compress: readers of %s take plain files only", format->name);
    if (job->field && format != &bl_export_megatron)
        return bl_error_set(e, BL_EUSAGE, "--field is for --to megatron; %s has all fields", format->name);
    if (job->ids && !format->has_ids)
        return bl_error_set(e, BL_EUSAGE, "--ids: files of %s have tokens alone, and no place for ids", format->name);
    const struct bl_fields *fields = &bl_blocks_format(blocks)->fields;
    for (int f = 0; f < fields->count && !format->has_own; f++) {
        if (fields->field[f].own)
            return bl_error_set(
                e, BL_EUSAGE,
                "--to %s: the field \"%s\" has steps of its own, which these files cannot hold (--to mds "
                "or webdataset)",
                format->name, fields->field[f].name);
    }
    size_t ids = 0;
    BL_TRY(job->ids ? bl_export_ids_size(blocks, job->cancel, &ids, e) : BL_OK);
    BL_TRY(bl_export_arrays_set(&job->arrays, blocks, ids, e));
    if (format->check)
        BL_TRY(format->check(job, e));
    return job_divide(job, e);
}

void bl_export_job_free(struct bl_export_job *job)
{
    free(job->record);
    job->record = NULL;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* The state of bl_export_parts_run, which all workers share. */
struct going {
    const struct bl_export_parts *parts;
    int64_t next;
    _Atomic int64_t done; /* blocks that all workers have done */
    int64_t reported;     /* blocks that were passed to tick */
};

/* The state of a worker: its own open dataset, and a block in memory. */
struct exporter {
    struct bl_blocks blocks;
    struct bl_export_block block;
};

/* Frees a worker, also one whose dataset could not be opened. */
static void exporter_close(void *worker)
{
    struct exporter *exporter = worker;
    bl_blocks_close(&exporter->blocks);
    bl_export_block_free(&exporter->block);
    free(exporter);
}

/* Opens a worker. It uses the rows that the job has read, so that sequences.tsv is in memory only once. */
static int exporter_open(void *context, void **worker, struct bl_error *e)
{
    const struct bl_export_parts *parts = ((const struct going *)context)->parts;
    struct exporter *exporter = calloc(1, sizeof *exporter);
    if (!exporter)
        return bl_error_memory(e);
    int code = bl_export_block_make(&exporter->block, &parts->job->arrays, e);
    if (!code)
        code = bl_blocks_open(&exporter->blocks, parts->dir, e);
    if (!code)
        bl_blocks_lend_rows(parts->job->blocks, &exporter->blocks);
    if (code)
        exporter_close(exporter);
    else
        *worker = exporter;
    return code;
}

/* Pipeline stage: a worker makes one part. close is called in any case, and decides whether an error ends the run. */
static int parts_work(void *context, void *worker, void *number_, struct bl_error *e)
{
    struct going *going = context;
    const struct bl_export_parts *parts = going->parts;
    int64_t number = *(const int64_t *)number_;
    struct bl_export_part part = BL_EXPORT_PART_NONE;
    struct exporter *exporter = worker;
    const struct bl_export_job *job = parts->job;
    int64_t first = bl_export_first_block(job, number), blocks = bl_export_blocks_of(job, number);
    int code = parts->open(parts->context, number, &part, e);
    if (!code && job->format->begin)
        code = job->format->begin(job, blocks, &part, e);
    for (int64_t b = first; b < first + blocks && !code; b++) {
        if (bl_cancelled(parts->cancel)) {
            code = BL_ECANCEL;
            break;
        }
        code = bl_export_block_read(&exporter->block, &job->arrays, &exporter->blocks, b, e);
        if (!code)
            code = job->format->block(job, b, &exporter->block, &part, e);
        going->done++;
    }
    if (!code && job->format->end)
        code = job->format->end(job, &part, e);
    code = parts->close(parts->context, number, &part, code, e);
    bl_export_part_abort(&part);
    return code;
}

/* Pipeline stage: produces the number of the next part that is not skipped; *job stays NULL after the last one. */
static int parts_produce(void *context, void **job, struct bl_error *e)
{
    struct going *going = context;
    const struct bl_export_parts *parts = going->parts;
    while (parts->skip && going->next < parts->end && parts->skip[going->next])
        going->next++;
    if (going->next >= parts->end)
        return BL_OK;
    int64_t *number = malloc(sizeof *number);
    if (!number)
        return bl_error_memory(e);
    *number = going->next++;
    *job = number;
    return BL_OK;
}

/* Pipeline stage: a part is complete when its worker has done it, so there is nothing left to do in order. */
static void parts_discard(void *context, void *job)
{
    (void)context;
    free(job);
}

/* Passes the number of blocks done since the last call to the caller. */
static void parts_tick(void *context)
{
    struct going *going = context;
    int64_t done = going->done;
    going->parts->tick(going->parts->context, done - going->reported);
    going->reported = done;
}

int bl_export_parts_run(const struct bl_export_parts *parts, struct bl_error *e)
{
    static const struct bl_stages stages = {.produce = parts_produce,
                                            .open = exporter_open,
                                            .close = exporter_close,
                                            .work = parts_work,
                                            .discard = parts_discard,
                                            .tick = parts_tick};
    struct going going = {.parts = parts, .next = parts->begin};
    return bl_pipeline_run(&stages, &going, parts->workers, 2 * parts->workers, parts->cancel, e);
}

/* --- exports ------------------------------------------------------------------------------------------------------ */

#define RECORD_MAX ((size_t)256) /* bytes of a record, which is a line of four numbers */

/* The state of a run. */
struct exporting {
    const struct bl_export_request *request;
    struct bl_export_job job;
    struct bl_blocks blocks; /* for planning the parts, and for the files beside them; workers have their own */
    struct bl_buffer identity;
    struct bl_state state;
    struct bl_progress progress;
    uint8_t *done; /* [parts] */
};

/* --- names ------------------------------------------------------------------------------------------------------ */

/* Sets path to the path of a part's record, or of its file while the file is written, as the suffix says. */
static int part_work_path(const struct exporting *x, int64_t part, const char *suffix, struct bl_buffer *path,
                          struct bl_error *e)
{
    bl_buffer_clear(path);
    bl_buffer_printf(path, "%s/shard-%08" PRId64 "%s", x->state.folder, part, suffix);
    return bl_buffer_check(path, e);
}

/* --- the parts -------------------------------------------------------------------------------------------------- */

/* Renames the finished file of a part, and then writes its record. If the process dies between both, the part has no
 * record and is written again. */
static int part_give_name(const struct exporting *x, int64_t number, const struct bl_export_record *record,
                          const char *from, struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    int code = bl_export_part_path(&x->job, number, &path, e);
    if (!code)
        code = bl_fs_rename(from, path.data, e);
    if (!code)
        code = bl_fs_sync_parent(path.data, e);
    bl_export_record_format(record, &text);
    if (!code)
        code = part_work_path(x, number, ".record", &path, e);
    if (!code)
        code = bl_buffer_check(&text, e);
    if (!code)
        code = bl_output_replace(path.data, text.data, text.size, e);
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}

/* Opens the file of a part under a temporary name in DIR/.bload. */
static int part_open_written(void *context, int64_t number, struct bl_export_part *part, struct bl_error *e)
{
    const struct exporting *x = context;
    const struct bl_export_job *job = &x->job;
    struct bl_buffer path = {0};
    int code = part_work_path(x, number, ".data", &path, e);
    if (!code)
        code = bl_export_part_open(part, path.data, &job->compress,
                                   job->format->bytes(job, bl_export_blocks_of(job, number)), e);
    bl_buffer_free(&path);
    return code;
}

/* Commits the file of a part and renames it. Every error is fatal for the run. */
static int part_close_written(void *context, int64_t number, struct bl_export_part *part, int code, struct bl_error *e)
{
    struct exporting *x = context;
    struct bl_buffer path = {0};
    if (!code)
        code = bl_export_part_commit(part, e);
    if (!code)
        code = part_work_path(x, number, ".data", &path, e);
    if (!code)
        code = part_give_name(x, number, &part->record, path.data, e);
    x->job.record[number] = part->record;
    bl_buffer_free(&path);
    return code;
}

/* Adds the blocks to the progress, and shows it. */
static void export_tick(void *context, int64_t blocks)
{
    struct exporting *x = context;
    x->progress.done += blocks;
    x->progress.bytes += blocks * (int64_t)x->job.arrays.bytes;
    if (x->request->tick)
        x->request->tick(x->request->sink, &x->progress);
}

/* Writes the unfinished parts in the range of this task. */
static int parts_write(struct exporting *x, struct bl_error *e)
{
    struct bl_export_parts parts = {.job = &x->job,
                                    .dir = x->request->dir,
                                    .skip = x->done,
                                    .workers = x->request->workers,
                                    .cancel = x->request->cancel,
                                    .open = part_open_written,
                                    .close = part_close_written,
                                    .tick = export_tick,
                                    .context = x};
    int64_t total = 0;
    bl_task_range(&x->request->task, x->job.parts, &parts.begin, &parts.end);
    for (int64_t part = parts.begin; part < parts.end; part++)
        total += x->done[part] ? 0 : bl_export_blocks_of(&x->job, part);
    bl_progress_start(&x->progress, "export", "blocks", NULL, total);
    return bl_export_parts_run(&parts, e);
}

/* --- what is there ---------------------------------------------------------------------------------------------- */

/* Reads the record of a part, if it has one. *found is false if there is none, or if it is damaged: then the part is
 * written again. */
static int part_read_record(const struct exporting *x, int64_t number, bool *found, struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    bool exists = false;
    *found = false;
    int code = part_work_path(x, number, ".record", &path, e);
    if (!code)
        code = bl_io_read_existing(path.data, RECORD_MAX, &text, &exists, e);
    if (!code && exists)
        code = bl_buffer_check(&text, e);
    *found = !code && exists && bl_export_record_parse(&x->job.record[number], text.data);
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}

/* Sets x->done of each part, and *missing to the number of unfinished ones. A part is finished if it has a record, or
 * if export.json lists it, and if its file exists with the recorded size. */
static int parts_find_done(struct exporting *x, int64_t *missing, struct bl_error *e)
{
    struct bl_buffer path = {0};
    struct stat status;
    int code = BL_OK;
    *missing = 0;
    for (int64_t part = 0; part < x->job.parts && !code; part++) {
        bool found = false;
        if (x->state.folder)
            code = part_read_record(x, part, &found, e);
        if (!code)
            code = bl_export_part_path(&x->job, part, &path, e);
        x->done[part] = !code && (found || x->job.record[part].bytes) && stat(path.data, &status) == 0 &&
                        status.st_size == bl_export_file_bytes(&x->job.record[part]);
        *missing += !x->done[part];
    }
    bl_buffer_free(&path);
    return code;
}

/* Compares the configuration with that of the finished export in the output directory, and copies its records.
 * BL_EUSAGE: the directory holds another export. */
static int export_compare(struct exporting *x, struct bl_error *e)
{
    struct bl_export_description there;
    struct bl_buffer what = {0};
    BL_TRY(bl_export_description_read(&there, x->request->output, e));
    bl_buffer_printf(&what, "%s holds an export", x->request->output);
    int code = bl_buffer_check(&what, e);
    if (!code)
        code = bl_identity_compare(there.configuration, x->identity.data, what.data, e);
    if (!code && there.parts != x->job.parts)
        code = bl_error_set(e, BL_EDATA, "%s/" BL_EXPORT_FILE ": it lists %" PRId64 " files, not %" PRId64,
                            x->request->output, there.parts, x->job.parts);
    for (int64_t part = 0; part < x->job.parts && !code; part++)
        x->job.record[part] = there.record[part];
    bl_buffer_free(&what);
    bl_export_description_free(&there);
    return code;
}

/* Sets *found to true if the output directory holds this export, finished and with all its files. */
static int export_find(struct exporting *x, bool *found, struct bl_error *e)
{
    const char *dir = x->request->output;
    int64_t missing = 0;
    int code = bl_fs_find(dir, BL_MANIFEST_FILE, found, e);
    if (!code && *found)
        return bl_error_set(e, BL_EUSAGE, "%s holds a dataset or a view: give another -o", dir);
    if (!code)
        code = bl_fs_find(dir, BL_EXPORT_FILE, found, e);
    if (code || !*found)
        return code;
    code = export_compare(x, e);
    if (!code)
        code = parts_find_done(x, &missing, e);
    *found = !code && !missing;
    return code || missing ? code : bl_state_remove_leftovers(dir, e);
}

/* --- all of it -------------------------------------------------------------------------------------------------- */

/* Opens DIR/.bload of the output. Without tasks the run locks it; tasks share it, and must have the same configuration.
 * BL_EUSAGE: another export has begun there. */
static int export_open_state(struct exporting *x, struct bl_error *e)
{
    const struct bl_export_request *r = x->request;
    bool again;
    int code = bl_fs_find(r->output, BL_EXPORT_FILE, &again, e);
    BL_TRY(code);
    if (again) { /* a finished export that lost files: only these are written again, which needs the folder that a new
                    export is given */
        char *folder = bl_path_join(r->output, BL_WORK_FOLDER);
        code = folder ? bl_folders_make(folder, e) : bl_error_memory(e);
        free(folder);
        BL_TRY(code);
    }
    if (!r->task.set)
        return bl_state_open(&x->state, r->output, x->identity.data, e);
    BL_TRY(bl_state_share(&x->state, r->output, e));
    return bl_state_agree(&x->state, BL_STATE_CONFIGURATION, x->identity.data, e);
}

/* Writes the missing parts. Without tasks, it also writes the files beside the parts and export.json, and removes
 * DIR/.bload. */
static int export_write(struct exporting *x, struct bl_export_made *made, struct bl_error *e)
{
    BL_TRY(parts_find_done(x, &made->missing, e));
    if (made->missing)
        BL_TRY(parts_write(x, e));
    BL_TRY(parts_find_done(x, &made->missing, e));
    if (x->request->task.set)
        return BL_OK;
    if (made->missing)
        return bl_error_set(e, BL_EFAIL, "%" PRId64 " files of %s disappeared while others were written", made->missing,
                            x->request->output);
    BL_TRY(x->job.format->finish ? x->job.format->finish(&x->job, e) : BL_OK);
    BL_TRY(bl_export_description_write(&x->job, x->identity.data, x->request->dir, x->request->tool, e));
    return bl_state_remove(&x->state, e);
}

int bl_export_run(const struct bl_export_request *request, struct bl_export_made *made, struct bl_error *e)
{
    struct exporting x = {.request = request, .state = BL_STATE_NONE};
    *made = (struct bl_export_made){.existed = false};
    x.job = (struct bl_export_job){.format = request->format,
                                   .compress = request->compress,
                                   .output = request->output,
                                   .field = request->field,
                                   .ids = request->ids,
                                   .cancel = request->cancel,
                                   .shard_size = request->shard_size};
    int code = bl_blocks_open(&x.blocks, request->dir, e);
    if (!code)
        code = bl_export_job_set(&x.job, &x.blocks, e);
    if (!code)
        code = export_configuration_append(&x.job, &x.identity, e);
    x.done = code ? NULL : calloc((size_t)x.job.parts, 1);
    if (!code && !x.done)
        code = bl_error_memory(e);
    /* Name the fields and attributes that the files do not hold. */
    int only = !code && x.job.format->only ? x.job.format->only(&x.job) : -1;
    for (int a = 0; only >= 0 && a < x.job.arrays.count; a++) {
        const struct bl_export_array *array = &x.job.arrays.array[a];
        if (a != only && (array->field >= 0 || array->table >= BL_TABLES))
            bl_buffer_printf(&made->left_out, "%s%s", made->left_out.size ? ", " : "", array->name);
    }
    if (!code)
        code = bl_buffer_check(&made->left_out, e);
    if (!code)
        code = export_find(&x, &made->existed, e);
    if (code || made->existed)
        goto out;
    code = export_open_state(&x, e);
    if (!code)
        code = export_write(&x, made, e);
out:
    made->parts = x.job.parts;
    made->blocks = x.job.arrays.format.blocks;
    for (int64_t part = 0; part < x.job.parts && !code; part++)
        made->bytes += bl_export_file_bytes(&x.job.record[part]);
    bl_state_close(&x.state);
    bl_blocks_close(&x.blocks);
    bl_buffer_free(&x.identity);
    bl_export_job_free(&x.job);
    free(x.done);
    return code;
}
