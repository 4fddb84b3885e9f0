#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/identity_lines.h"
#include "base/io.h"
#include "base/path.h"
#include "base/text.h"
#include "export/configuration.h"
#include "export/description.h"
#include "export/job.h"
#include "export/parts.h"
#include "run/state.h"

struct exporting {
    const struct bl_export_request *request;
    struct bl_export_job job;
    struct bl_blocks blocks; /* for what all parts have in common */
    struct bl_buffer identity;
    struct bl_state state;
    struct bl_progress progress;
    uint8_t *done; /* [parts] */
};

/* --- names ------------------------------------------------------------------------------------------------------ */

/* The path of a part's record, or of its file while it is written. */
static int part_work_path(const struct exporting *x, int64_t part, const char *suffix, struct bl_buffer *path,
                          struct bl_error *e)
{
    bl_buffer_clear(path);
    bl_buffer_printf(path, "%s/shard-%08" PRId64 "%s", x->state.folder, part, suffix);
    return bl_buffer_check(path, e);
}

/* --- the parts -------------------------------------------------------------------------------------------------- */

/* The file gets its name, and then the record, without which it is written again. */
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

static void export_tick(void *context, int64_t blocks)
{
    struct exporting *x = context;
    x->progress.done += blocks;
    x->progress.bytes += blocks * (int64_t)x->job.arrays.bytes;
    if (x->request->tick)
        x->request->tick(x->request->sink, &x->progress);
}

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

/* Reads the record of a part, if it has one. */
static int part_read_record(const struct exporting *x, int64_t number, bool *found, struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    bool exists = false;
    *found = false;
    int code = part_work_path(x, number, ".record", &path, e);
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (code || !exists)
        goto out;
    code = bl_io_read_file(path.data, 256, &text, e);
    if (!code)
        code = bl_buffer_check(&text, e);
    *found = !code && bl_export_record_parse(&x->job.record[number], text.data);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}

/* Notes which parts are finished: they have a record, or are listed by an export that has lost files since, and their
 * file is there with its size. */
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

/* Compares an export that was finished before; its records are taken over. BL_EUSAGE: it is another one. */
static int export_compare(struct exporting *x, struct bl_error *e)
{
    struct bl_export_description there;
    struct bl_buffer what = {0};
    int code = bl_export_description_read(&there, x->request->output, e);
    if (code)
        return code;
    bl_buffer_printf(&what, "%s holds an export", x->request->output);
    code = bl_buffer_check(&what, e);
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

/* Whether the export is complete: then all its files are there. */
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

static int export_prepare(struct exporting *x, struct bl_error *e)
{
    const struct bl_export_request *r = x->request;
    int code = bl_blocks_open(&x->blocks, r->dir, e);
    if (code)
        return code;
    x->job = (struct bl_export_job){.format = r->format,
                                    .compress = r->compress,
                                    .output = r->output,
                                    .field = r->field,
                                    .ids = r->ids,
                                    .cancel = r->cancel,
                                    .shard_size = r->shard_size};
    code = bl_export_job_set(&x->job, &x->blocks, e);
    if (!code)
        code = bl_export_configuration_append(&x->job, &x->identity, e);
    x->done = code ? NULL : calloc((size_t)x->job.parts, 1);
    return code || x->done ? code : bl_error_memory(e);
}

static int state_folder_make(const char *dir, struct bl_error *e)
{
    char *folder = bl_path_join(dir, BL_WORK_FOLDER);
    int code = folder ? bl_folders_make(folder, e) : bl_error_memory(e);
    free(folder);
    return code;
}

static int export_open_state(struct exporting *x, struct bl_error *e)
{
    const struct bl_export_request *r = x->request;
    bool again;
    int code = bl_fs_find(r->output, BL_EXPORT_FILE, &again, e);
    if (!code && again) /* it has lost files since, and only they are written again */
        code = state_folder_make(r->output, e);
    if (code)
        return code;
    if (!r->task.set)
        return bl_state_open(&x->state, r->output, x->identity.data, e);
    code = bl_state_share(&x->state, r->output, e);
    return code ? code : bl_state_agree(&x->state, BL_STATE_CONFIGURATION, x->identity.data, e);
}

static int export_write(struct exporting *x, struct bl_export_made *made, struct bl_error *e)
{
    int code = parts_find_done(x, &made->missing, e);
    if (!code && made->missing)
        code = parts_write(x, e);
    if (!code)
        code = parts_find_done(x, &made->missing, e);
    if (code || x->request->task.set)
        return code;
    if (made->missing)
        return bl_error_set(e, BL_EFAIL, "%" PRId64 " files of %s have gone while others were written", made->missing,
                            x->request->output);
    code = x->job.format->finish ? x->job.format->finish(&x->job, e) : BL_OK;
    if (!code)
        code = bl_export_description_write(&x->job, x->identity.data, x->request->dir, x->request->tool, e);
    return code ? code : bl_state_remove(&x->state, e);
}

/* Lists the fields and attributes that the files do not have. */
static int export_list_left_out(const struct bl_export_job *job, struct bl_buffer *out, struct bl_error *e)
{
    int only = job->format->only ? job->format->only(job) : -1;
    for (int a = 0; only >= 0 && a < job->arrays.count; a++) {
        const struct bl_export_array *array = &job->arrays.array[a];
        if (a != only && (array->field >= 0 || array->table >= BL_TABLES))
            bl_buffer_printf(out, "%s%s", out->size ? ", " : "", array->name);
    }
    return bl_buffer_check(out, e);
}

int bl_export_run(const struct bl_export_request *request, struct bl_export_made *made, struct bl_error *e)
{
    struct exporting x = {.request = request, .state = BL_STATE_NONE};
    *made = (struct bl_export_made){.existed = false};
    int code = export_prepare(&x, e);
    if (!code)
        code = export_list_left_out(&x.job, &made->left_out, e);
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
