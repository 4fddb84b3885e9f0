/* Reads finished exports: the summary and the verification of an export, and the summary of packed Parquet.
 *
 * Verification has two forms. By checksums, it reads each file once and compares it with export.json. Against the
 * dataset, it makes every part again by the functions of the format, and compares the bytes with the file instead of
 * writing them (job.compares), so that a format has no second description. */
#include "export/finished.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/io.h"
#include "store/plan_info.h"

/* --- summary ------------------------------------------------------------------------------------------------------ */

int bl_export_info_read(struct bl_export_info *info, const char *dir, struct bl_error *e)
{
    struct bl_export_description *d = &info->description;
    *info = (struct bl_export_info){.configuration = {.format = NULL}};
    BL_TRY(bl_export_description_read(d, dir, e));
    int code = bl_export_configuration_parse(&info->configuration, d->configuration, e);
    if (code)
        bl_error_prefix(e, "%s/" BL_EXPORT_FILE, dir);
    return code;
}

void bl_export_info_free(struct bl_export_info *info)
{
    bl_export_description_free(&info->description);
}

int bl_export_info_json(const struct bl_export_info *info, struct bl_buffer *out, struct bl_error *e)
{
    const struct bl_export_description *d = &info->description;
    const struct bl_export_configuration *c = &info->configuration;
    json_t *object = json_object();
    bl_jansson_set(&object, "export", json_string(c->format->name));
    bl_jansson_set(&object, "dataset", bl_jansson_escaped(d->dataset));
    bl_jansson_set(&object, "dataset_checksum", json_string(c->source));
    bl_jansson_set(&object, "blocks", json_integer(d->blocks));
    bl_jansson_set(&object, "files", json_integer(d->parts));
    bl_jansson_set(&object, "bytes", json_integer(d->bytes));
    bl_jansson_set(&object, "file_bytes", json_integer(d->file_bytes));
    bl_jansson_set(&object, "compress_level", c->compress.on ? json_integer(c->compress.level) : json_null());
    bl_jansson_set(&object, "field", *c->field ? bl_jansson_escaped(c->field) : json_null());
    bl_jansson_set(&object, "ids", json_boolean(c->ids));
    bl_jansson_set(&object, "reader", json_string(c->format->reader));
    bl_jansson_set(&object, "bload", json_string(d->tool));
    return bl_jansson_append(object, out, e);
}

/* --- packed Parquet ----------------------------------------------------------------------------------------------- */

#define RECORD "bload.json"
#define METADATA "metadata.json"

#define JSON_MAX ((size_t)1 << 20) /* bytes of each of the two files, which have a few lines */

/* Parses the file DIR/name, which the message of an error names. The caller owns *value. */
static int json_read(const char *dir, const char *name, json_t **value, struct bl_error *e)
{
    struct bl_buffer text = {0};
    char *path = bl_path_join(dir, name);
    int code = path ? bl_regular_check(path, e) : bl_error_memory(e);
    if (!code)
        code = bl_io_read_file(path, JSON_MAX, &text, e);
    if (!code && (code = bl_jansson_parse(text.data ? text.data : "", text.size, 0, value, e)))
        bl_error_prefix(e, "%s", path);
    bl_buffer_free(&text);
    free(path);
    return code;
}

/* Takes the members that a summary needs. metadata is a list of an object for each split; the first one is enough. */
static int packed_parse(struct bl_packed_parquet *p, const json_t *record, const json_t *metadata, struct bl_error *e)
{
    const char *dataset, *field;
    BL_TRY(bl_jansson_get_text(record, "dataset", &dataset, e));
    BL_TRY(bl_jansson_get_text(record, "field", &field, e));
    BL_TRY(bl_jansson_get_integer(json_array_get(metadata, 0), "pack_size", 1, INT64_MAX, &p->T, e));
    p->dataset = strdup(dataset);
    p->field = strdup(field);
    return p->dataset && p->field ? BL_OK : bl_error_memory(e);
}

/* Counts the Parquet files of the folder, and their bytes. */
static int packed_count_files(struct bl_packed_parquet *p, const char *dir, struct bl_error *e)
{
    DIR *folder = opendir(dir);
    if (!folder)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    const struct dirent *entry;
    struct stat status;
    int code = BL_OK;
    while (!code && (errno = 0, entry = readdir(folder))) {
        if (!bl_path_has_suffix(entry->d_name, ".parquet"))
            continue;
        if (fstatat(dirfd(folder), entry->d_name, &status, 0) != 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot stat %s/%s", dir, entry->d_name);
        p->files++;
        p->bytes += code ? 0 : (int64_t)status.st_size;
    }
    if (!code && errno)
        code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    closedir(folder);
    return code;
}

int bl_packed_parquet_read(struct bl_packed_parquet *p, const char *dir, bool *found, struct bl_error *e)
{
    json_t *record = NULL, *metadata = NULL;
    bool has_metadata = false;
    *p = (struct bl_packed_parquet){0};
    int code = bl_fs_find(dir, RECORD, found, e);
    if (!code)
        code = bl_fs_find(dir, METADATA, &has_metadata, e);
    *found &= has_metadata;
    if (code || !*found)
        return code;
    code = json_read(dir, RECORD, &record, e);
    if (!code)
        code = json_read(dir, METADATA, &metadata, e);
    if (!code && (code = packed_parse(p, record, metadata, e)))
        bl_error_prefix(e, "%s: " RECORD " or " METADATA, dir);
    if (!code)
        code = packed_count_files(p, dir, e);
    json_decref(record);
    json_decref(metadata);
    return code;
}

void bl_packed_parquet_free(struct bl_packed_parquet *p)
{
    free(p->dataset);
    free(p->field);
    *p = (struct bl_packed_parquet){0};
}

int bl_packed_parquet_json(const struct bl_packed_parquet *p, struct bl_buffer *out, struct bl_error *e)
{
    json_t *object = json_object();
    bl_jansson_set(&object, "export", json_string("packed-parquet"));
    bl_jansson_set(&object, "dataset_checksum", bl_jansson_escaped(p->dataset));
    bl_jansson_set(&object, "T", json_integer(p->T));
    bl_jansson_set(&object, "files", json_integer(p->files));
    bl_jansson_set(&object, "file_bytes", json_integer(p->bytes));
    bl_jansson_set(&object, "field", bl_jansson_escaped(p->field));
    bl_jansson_set(&object, "reader", json_string(BL_PACKED_PARQUET_READER));
    return bl_jansson_append(object, out, e);
}

/* --- verification ------------------------------------------------------------------------------------------------- */

/* The state of a verification. */
struct verifying {
    struct bl_export_verify *request;
    struct bl_export_description there;
    struct bl_export_configuration configuration;
    struct bl_export_job job;
    struct bl_blocks blocks;
    struct bl_progress progress;
    char **fault; /* [parts] of each part, or NULL */
};

/* --- by checksums ----------------------------------------------------------------------------------------------- */

/* Compares the files of all parts with their sizes and checksums in export.json, one after the other. */
static int parts_check(struct verifying *v, struct bl_error *e)
{
    int code = BL_OK;
    bl_progress_start(&v->progress, "verify", "files", NULL, v->there.parts);
    for (int64_t part = 0; part < v->there.parts && !code; part++) {
        const struct bl_export_record *record = &v->there.record[part];
        struct bl_error why = {0};
        int64_t bytes = 0;
        uint64_t checksum = 0;
        char *path = bl_path_join(v->request->dir, v->there.name[part]);
        code = bl_cancelled(v->request->cancel) ? BL_ECANCEL : path ? BL_OK : bl_error_memory(e);
        if (!code && bl_checksum_file(path, &bytes, &checksum, &why))
            v->request->fault(v->request->sink, v->there.name[part], why.text);
        else if (!code && (bytes != bl_export_file_bytes(record) || checksum != bl_export_file_checksum(record)))
            v->request->fault(v->request->sink, v->there.name[part], "wrong checksum: the file is damaged");
        free(path);
        v->progress.done++;
        v->progress.bytes += bl_export_file_bytes(&v->there.record[part]);
        v->request->tick(v->request->sink, &v->progress);
    }
    return code;
}

/* --- against the dataset ---------------------------------------------------------------------------------------- */

/* Opens the file of a part for comparison. A file that cannot be read is a fault: BL_EDATA. */
static int part_open_compared(void *context, int64_t number, struct bl_export_part *part, struct bl_error *e)
{
    const struct verifying *v = context;
    struct bl_buffer path = {0};
    int code = bl_export_part_path(&v->job, number, &path, e);
    if (!code)
        code = bl_export_part_compare(part, path.data, e) ? BL_EDATA : BL_OK;
    bl_buffer_free(&path);
    return code;
}

/* Turns an error in a part into a fault, so that the verification continues with the other parts. Errors other than
 * BL_EDATA end it: the system failed, or the dataset cannot be read. This runs on the thread of a worker, and each part
 * has its own place in v->fault. */
static int part_close_compared(void *context, int64_t number, struct bl_export_part *part, int code, struct bl_error *e)
{
    struct verifying *v = context;
    if (!code)
        code = bl_export_part_commit(part, e);
    if (!code && (part->record.bytes != v->there.record[number].bytes ||
                  part->record.checksum != v->there.record[number].checksum))
        code = bl_error_set(e, BL_EDATA, "it is not as " BL_EXPORT_FILE " says");
    if (code != BL_EDATA)
        return code;
    v->fault[number] = strdup(e->text);
    bl_error_clear(e);
    return v->fault[number] ? BL_OK : bl_error_memory(e);
}

/* Adds the blocks to the progress, and shows it. */
static void compared_tick(void *context, int64_t blocks)
{
    struct verifying *v = context;
    v->progress.done += blocks;
    v->progress.bytes += blocks * (int64_t)v->job.arrays.bytes;
    v->request->tick(v->request->sink, &v->progress);
}

/* Opens the dataset and sets the job as the export had it. BL_EUSAGE: the export was made from another dataset. */
static int job_open(struct verifying *v, struct bl_error *e)
{
    const char *source = v->configuration.source;
    const struct bl_export_configuration *c = &v->configuration;
    int code = bl_export_configuration_parse(&v->configuration, v->there.configuration, e);
    if (code) {
        bl_error_prefix(e, BL_EXPORT_FILE);
        return code;
    }
    v->job = (struct bl_export_job){.format = c->format,
                                    .compress = c->compress,
                                    .shard_size = c->shard_size,
                                    .output = v->request->dir,
                                    .field = *c->field ? c->field : NULL,
                                    .ids = c->ids,
                                    .compares = true,
                                    .cancel = v->request->cancel};
    BL_TRY(bl_blocks_open(&v->blocks, v->request->against, e));
    if (strcmp(source, bl_blocks_manifest(&v->blocks)->digest) != 0)
        return bl_error_set(e, BL_EUSAGE,
                            "%s was not made of %s as it is now: the digest of its manifest is %s, not %s",
                            v->request->dir, v->request->against, bl_blocks_manifest(&v->blocks)->digest, source);
    BL_TRY(bl_export_job_set(&v->job, &v->blocks, e));
    if (v->there.parts != v->job.parts)
        return bl_error_set(e, BL_EDATA, BL_EXPORT_FILE ": it lists %" PRId64 " files, not %" PRId64, v->there.parts,
                            v->job.parts);
    return BL_OK;
}

/* Makes all parts from the dataset again, and compares them with the files. Workers store their faults by part, so that
 * faults are reported in the order of the parts. */
static int parts_compare(struct verifying *v, struct bl_error *e)
{
    struct bl_export_parts parts = {.job = &v->job,
                                    .dir = v->request->against,
                                    .end = v->job.parts,
                                    .workers = v->request->workers,
                                    .cancel = v->request->cancel,
                                    .open = part_open_compared,
                                    .close = part_close_compared,
                                    .tick = compared_tick,
                                    .context = v};
    v->fault = calloc((size_t)v->job.parts, sizeof *v->fault);
    if (!v->fault)
        return bl_error_memory(e);
    bl_progress_start(&v->progress, "verify", "blocks", NULL, v->job.arrays.format.blocks);
    int code = bl_export_parts_run(&parts, e);
    for (int64_t part = 0; part < v->job.parts && !code; part++) {
        if (v->fault[part])
            v->request->fault(v->request->sink, v->there.name[part], v->fault[part]);
    }
    BL_TRY(code);
    /* The files beside the parts. The records are those of export.json, with which the parts have been compared. */
    for (int64_t part = 0; part < v->job.parts; part++)
        v->job.record[part] = v->there.record[part];
    code = v->job.format->finish ? v->job.format->finish(&v->job, e) : BL_OK;
    if (code != BL_EDATA)
        return code;
    v->request->fault(v->request->sink, v->request->dir, e->text);
    bl_error_clear(e);
    return BL_OK;
}

int bl_export_verify_run(struct bl_export_verify *request, struct bl_error *e)
{
    struct verifying v = {.request = request};
    int code = bl_export_description_read(&v.there, request->dir, e);
    if (!code && request->against)
        code = job_open(&v, e);
    if (!code)
        code = request->against ? parts_compare(&v, e) : parts_check(&v, e);
    request->files = v.there.parts;
    request->bytes = v.there.file_bytes;
    for (int64_t part = 0; v.fault && part < v.job.parts; part++)
        free(v.fault[part]);
    free(v.fault);
    bl_export_job_free(&v.job);
    bl_blocks_close(&v.blocks);
    bl_export_description_free(&v.there);
    return code;
}
