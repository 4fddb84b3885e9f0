/* Verification of datasets and views, except the contents of shards (verify_shard.c).
 *
 * A check that fails reports its fault, and the checks that do not depend on it go on. Members such as has_plan say
 * what was read and is sound, so that one fault is not reported again by every check that needs its subject. */
#include "store/verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "store/dataset.h"
#include "store/dataset_file.h"
#include "store/epochs.h"
#include "store/plan_info.h"
#include "store/row_reader.h"
#include "store/view.h"

/* --- faults ------------------------------------------------------------------------------------------------------- */

/* The receiver of faults. */
struct bl_fault_sink {
    bl_fault *fault;
    void *context;
    struct bl_error *failure; /* the first one of a store, whose words it has */
};

static BL_PRINTF(3, 4) void fault_report(const struct bl_fault_sink *sink, const char *file, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sink->fault(sink->context, file, text);
}

/* Keeps an error of the store, which says nothing about the file. Returns whether it is one. */
static bool fault_is_of_store(const struct bl_fault_sink *sink, const struct bl_error *e)
{
    if (bl_far_failed() && !sink->failure->code)
        bl_error_pass(sink->failure, e->code, e);
    return bl_far_failed() != BL_OK;
}

/* Checks that a file exists with the size and checksum in the manifest, and reports a difference. Returns false if the
 * file is missing or truncated. */
static bool fault_check_file(const struct bl_fault_sink *sink, const char *dir, const struct bl_manifest_file *file)
{
    struct bl_error e = {0};
    int64_t bytes = 0;
    uint64_t checksum = 0;
    char *path = bl_path_join(dir, file->name);
    bool is_lost = false; /* there is no such object */
    int code = path ? BL_OK : bl_error_memory(&e);
    if (!code && bl_far_is(path)) {
        code = bl_input_file_exists(path, &is_lost, &e);
        is_lost = !code && !is_lost;
    }
    if (!code && !is_lost)
        code = bl_dataset_file_checksum(path, &bytes, &checksum, &e);
    if (is_lost)
        fault_report(sink, file->name, "is missing");
    else if (code && !fault_is_of_store(sink, &e))
        fault_report(sink, file->name, "%s", e.text);
    else if (code)
        bytes = file->bytes; /* it is not known to be truncated */
    else if (bytes != file->bytes)
        fault_report(sink, file->name, "has %" PRId64 " bytes, the manifest says %" PRId64, bytes, file->bytes);
    else if (checksum != file->checksum)
        fault_report(sink, file->name, "checksum %016" PRIx64 ", the manifest says %016" PRIx64, checksum,
                     file->checksum);
    free(path);
    return !is_lost && !code && bytes >= file->bytes;
}

/* --- plans of epochs ---------------------------------------------------------------------------------------------- */

/* Returns the sum of the checksums of all pieces. Two plans with the same pieces in different order have the same sum,
 * so that comparing the pieces needs no sorting. */
static uint64_t plan_sum_pieces(const struct bl_plan *plan)
{
    uint64_t sum = 0;
    for (size_t p = 0; p < plan->pieces; p++) {
        int64_t piece[3 + BL_PLAN_COLUMNS_MAX] = {plan->sequence[p], plan->length[p], plan->source_start[p]};
        for (int f = 0; f < plan->own.count; f++)
            piece[3 + f] = bl_plan_own_length(plan, f, p);
        sum += bl_checksum(piece, (size_t)(3 + plan->own.count) * sizeof *piece);
    }
    return sum;
}

/* Reports that a folder cannot be read: why is in errno, or was said by a store. */
static void verify_report_folder(const struct bl_fault_sink *r, const char *folder, const char *path)
{
    struct bl_error e = {0};
    int error = errno;
    if (bl_far_failed())
        (void)bl_opener_fail("cannot list", path, BL_EFAIL, &e);
    if (!fault_is_of_store(r, &e))
        fault_report(r, folder, "cannot be read: %s", strerror(error));
}

/* Reports files in plans/ that the manifest does not list, unless a store lists none. Uses dir and manifest only. */
static void verify_epoch_strays(const struct bl_verify *v, const struct bl_fault_sink *r, bl_fault *remark)
{
    char *path = bl_path_join(v->dir, BL_EPOCHS_DIR);
    struct bl_input_folder folder = {.directory = NULL};
    if (path && bl_input_folder_open(&folder, path) && errno != ENOENT && bl_far_failed() != BL_EUSAGE)
        verify_report_folder(r, BL_EPOCHS_DIR, path);
    while (bl_input_folder_next(&folder) == 0 && folder.name) {
        char *name = bl_path_join(BL_EPOCHS_DIR, folder.name);
        if (!name || strcmp(folder.name, ".") == 0 || strcmp(folder.name, "..") == 0 ||
            bl_manifest_find_file(&v->manifest, name)) {
            free(name);
            continue;
        }
        if (bl_epochs_is_leftover(&v->manifest, folder.name))
            remark(r->context, name, "left by an interrupted bload plan --dataset: ignored; the next one removes it");
        else
            fault_report(r, name, "belongs to no epoch of the dataset");
        free(name);
    }
    bl_input_folder_close(&folder);
    free(path);
}

/* Reads and checks all plans of epochs that the manifest lists: each must consist of the stored pieces, in as many
 * blocks as the shards have. bl_verify_files has reported those that are missing. */
static void verify_epochs(const struct bl_verify *v, const struct bl_fault_sink *r, bl_fault *remark)
{
    const struct bl_manifest *m = &v->manifest;
    for (size_t i = 0; i < m->files && v->has_sequences; i++) {
        const char *name = m->file[i].name;
        struct bl_error e = {0};
        struct bl_index index = {.fd = -1};
        struct bl_plan plan = {0};
        if (!bl_epochs_number(name) || bl_cancelled(v->cancel))
            continue;
        char *path = bl_path_join(v->dir, name);
        bool exists = false;
        int code = path ? bl_input_file_exists(path, &exists, &e) : bl_error_memory(&e);
        if (!code && !exists) {
            free(path);
            continue;
        }
        if (!code)
            code = bl_index_open_plan(&index, path, &e);
        if (!code)
            code = bl_index_read_plan(&index, m->format.T, m->align, &plan, &e);
        plan.overlap = m->plan_info.overlap;
        if (!code)
            code = bl_plan_check(&plan, v->sequences.length, v->sequences.count, &e);
        if (!code && v->has_plan && (plan.blocks != v->plan.blocks || plan.max_sequences > m->format.S))
            code = bl_error_set(&e, BL_EDATA,
                                "has %zu blocks of up to %" PRId64
                                " sequences, but the dataset has %zu blocks of up to %" PRId64 " sequences",
                                plan.blocks, plan.max_sequences, v->plan.blocks, m->format.S);
        if (!code && v->has_plan &&
            (plan.pieces != v->plan.pieces || plan_sum_pieces(&plan) != plan_sum_pieces(&v->plan)))
            code = bl_error_set(&e, BL_EDATA, "its pieces differ from the stored ones");
        if (code && !fault_is_of_store(r, &e))
            fault_report(r, name, "%s", e.text);
        bl_plan_free(&plan);
        bl_index_close(&index);
        free(path);
    }
    verify_epoch_strays(v, r, remark);
}

/* --- files and sequences ------------------------------------------------------------------------------------------ */

/* The files besides shards that a dataset must have. */
static const char *const needed[] = {BL_SEQUENCES_FILE, BL_SHARDS_FILE, BL_INDEX_FILE};

/* Returns the bit of a file in bl_verify.cut; 0: the file is not one of the needed ones. */
static unsigned verify_bit(const char *name)
{
    for (size_t n = 0; n < sizeof needed / sizeof *needed; n++) {
        if (strcmp(needed[n], name) == 0)
            return 1u << n;
    }
    return 0;
}

/* Reports that a file cannot be read, unless the file was already reported as missing or truncated. */
static void verify_report_unread(const struct bl_verify *v, const struct bl_fault_sink *r, const char *file,
                                 const struct bl_error *e)
{
    if (!(v->cut & verify_bit(file)) && !fault_is_of_store(r, e))
        fault_report(r, file, "%s", e->text);
}

/* Reads sequences.tsv and its attributes, and reports what cannot be read. The lengths of failed and dropped rows,
 * which are 0 in the table in memory, are set to those that the plan was made from, and the failed rows are marked. */
static void verify_read_sequences(struct bl_verify *v, const struct bl_fault_sink *r)
{
    struct bl_sequences *t = &v->sequences;
    struct bl_row_reader text = {0};
    struct bl_error e = {0};
    const struct bl_fields *fields = &v->manifest.format.fields;
    char own[BL_FIELDS_MAX][BL_TENSOR_NAME_MAX]; /* columns with the steps of own fields */
    struct bl_sequences_columns columns = {.numbers = 0};
    for (int f = 0; f < fields->count; f++) {
        if (!fields->field[f].own)
            continue;
        snprintf(own[columns.numbers], sizeof *own, "%s" BL_PLAN_OWN_SUFFIX, fields->field[f].name);
        columns.number[columns.numbers].option = "capacity";
        columns.number[columns.numbers].name = own[columns.numbers];
        columns.numbers++;
    }
    int code = bl_sequences_open_dataset(t, v->dir, columns.numbers ? &columns : NULL, &e);
    if (!code && !(v->failed = calloc(t->count + 1, 1)))
        code = bl_error_memory(&e);
    int64_t left = t->by_status[BL_ROW_FAILED] + t->by_status[BL_ROW_DROPPED];
    for (size_t i = 0; i < t->count && left && !code; i++) {
        if (t->length[i])
            continue;
        code = bl_row_reader_read(t, i, &text, &e);
        if (code || text.row.status == BL_ROW_SKIPPED)
            continue;
        v->failed[i] = text.row.status == BL_ROW_FAILED;
        t->length[i] = text.row.length;
        for (int k = 0; k < columns.numbers; k++)
            t->number[k][i] = (double)bl_row_get_number(&text.row, own[k]);
        left--;
    }
    bl_row_reader_free(&text);
    v->has_sequences = !code;
    if (code)
        verify_report_unread(v, r, BL_SEQUENCES_FILE, &e);
    else if (bl_attribute_values_read(&v->values, t, &v->manifest.format, &e))
        fault_report(r, BL_SEQUENCES_FILE, "%s", e.text);
    else
        v->has_values = true;
}

/* --- the plan ----------------------------------------------------------------------------------------------------- */

/* Compares the counts of the manifest with those of the plan, which are counted again from index and sequences. */
static void verify_plan_info(const struct bl_verify *v, const struct bl_fault_sink *r)
{
    const struct bl_plan_info *w = &v->manifest.plan_info;
    const struct bl_plan *plan = &v->plan;
    const struct {
        const char *name;
        int64_t counted, listed;
    } counts[] = {
        {"sequences", plan->sequences, w->sequences},
        {"steps", plan->steps, w->steps},
        {"longest", plan->longest, w->longest},
        {"padding", plan->padding, w->padding},
        {"deleted", plan->deleted, w->deleted},
        {"repeated", plan->repeated, w->repeated},
        {"cut", plan->cut, w->cut},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i].counted != counts[i].listed)
            fault_report(r, BL_MANIFEST_FILE, "\"%s\" is %" PRId64 ", the plan has %" PRId64, counts[i].name,
                         counts[i].listed, counts[i].counted);
    }
    if (w->lower_bound > w->blocks)
        fault_report(r, BL_MANIFEST_FILE, "\"lower_bound\" is %" PRId64 " but %" PRId64 " blocks are enough",
                     w->lower_bound, w->blocks);
    double wrong = w->efficiency - bl_plan_efficiency(plan);
    if (wrong > 1e-9 || wrong < -1e-9)
        fault_report(r, BL_MANIFEST_FILE, "\"efficiency\" is %.12g, the plan's is %.12g", w->efficiency,
                     bl_plan_efficiency(plan));
    if (plan->max_sequences > v->manifest.format.S)
        fault_report(r, BL_MANIFEST_FILE, "\"S\" is %" PRId64 ", but a block has %" PRId64 " sequences",
                     v->manifest.format.S, plan->max_sequences);
    if (bl_plan_has_parts(plan) && !v->manifest.format.has_source_start)
        fault_report(r, BL_MANIFEST_FILE, "\"source_start\" is false, but the plan has parts of sequences");
}

/* Opens the index, and reports that it cannot be read. */
static void verify_open_index(struct bl_verify *v, const struct bl_fault_sink *r)
{
    struct bl_error e = {0};
    const struct bl_fields *fields = &v->manifest.format.fields;
    v->has_index = !bl_index_open(&v->index, v->dir, v->manifest.format.blocks, fields->count, &e) &&
                   !bl_index_check_own(&v->index, fields, &e);
    if (!v->has_index)
        verify_report_unread(v, r, BL_INDEX_FILE, &e);
}

/* Reads the plan, and checks it against the manifest and the sequences. */
static void verify_plan(struct bl_verify *v, const struct bl_fault_sink *r)
{
    const struct bl_format *format = &v->manifest.format;
    struct bl_error e = {0};
    char digest[BL_DIGEST_SIZE];
    if (!v->has_index)
        return;
    int code = bl_index_plan_digest(&v->index, format->T, digest, &e);
    if (!code && strcmp(digest, format->plan_digest) != 0)
        fault_report(r, BL_INDEX_FILE, "plan digest %s, the manifest says %s", digest, format->plan_digest);
    if (!code)
        code = bl_index_read_plan(&v->index, format->T, v->manifest.align, &v->plan, &e);
    v->plan.is_store = bl_plan_info_is_store(&v->manifest.plan_info);
    v->plan.overlap = v->manifest.plan_info.overlap;
    for (int f = 0; f < v->plan.own.count && !code && v->has_sequences; f++)
        v->plan.own.field[f].length = v->sequences.number[f];
    if (!code && v->has_sequences)
        code = bl_plan_check(&v->plan, v->sequences.length, v->sequences.count, &e);
    if (code)
        fault_report(r, BL_INDEX_FILE, "%s", e.text);
    if (code || !v->has_sequences)
        return;
    int64_t dropped = v->sequences.by_status[BL_ROW_DROPPED] - v->sequences.excluded;
    if (v->plan.dropped != dropped)
        fault_report(r, BL_SEQUENCES_FILE, "has %" PRId64 " dropped rows, the plan leaves %" PRId64 " out", dropped,
                     v->plan.dropped);
    verify_plan_info(v, r);
    /* A plan with more pieces in a block than S cannot be compared with the tables. */
    v->has_plan = v->plan.max_sequences <= format->S;
}

/* Reads the blocks of shards first to end - 1 of the plan. The blocks must fit the tables, and the pieces must refer to
 * rows of sequences.tsv. bl_verify_files, which reads the complete plan, checks that it is a plan of these sequences.
 */
static void verify_read_part(struct bl_verify *v, int64_t first, int64_t end, const struct bl_fault_sink *r)
{
    const struct bl_format *format = &v->manifest.format;
    const struct bl_plan *plan = &v->plan;
    struct bl_error e = {0};
    if (!v->has_index)
        return;
    v->first_block = first * format->blocks_per_shard;
    int64_t last = end * format->blocks_per_shard;
    if (bl_index_read_part(&v->index, format->T, v->manifest.align, v->first_block,
                           last < format->blocks ? last : format->blocks, &v->plan, &e)) {
        fault_report(r, BL_INDEX_FILE, "%s", e.text);
        return;
    }
    v->has_plan = true;
    for (size_t b = 0; b < plan->blocks; b++)
        v->has_plan &= plan->block_ptr[b + 1] - plan->block_ptr[b] <= format->S;
    for (size_t p = 0; p < plan->pieces && v->has_sequences; p++)
        v->has_plan &= plan->sequence[p] < v->sequences.count;
    if (!v->has_plan)
        fault_report(
            r, BL_INDEX_FILE,
            "has blocks with more sequences than the manifest says, or sequences that are not in " BL_SEQUENCES_FILE);
}

/* --- shards ------------------------------------------------------------------------------------------------------- */

/* Checks the files of DIR/shards, or of a folder in it (inner): each must have the name of a shard of the format. */
static void verify_folder(const struct bl_verify *v, const char *name, bool inner, bl_fault *remark,
                          const struct bl_fault_sink *r)
{
    char *path = bl_path_join(v->dir, name);
    struct bl_input_folder folder = {.directory = NULL};
    int opened = path ? bl_input_folder_open(&folder, path) : -1;
    if (opened && bl_far_failed() == BL_EUSAGE)
        remark(r->context, name, "is not listed, so files that belong to no shard are not found");
    else if (opened && !(errno == ENOENT && bl_input_folder_is_far(path))) /* shards of an empty folder are missing */
        verify_report_folder(r, name, path);
    while (!opened && bl_input_folder_next(&folder) == 0 && folder.name) {
        const struct bl_format *format = &v->manifest.format;
        char its[BL_SHARD_NAME_MAX];
        int64_t shard;
        struct stat status;
        if (strcmp(folder.name, ".") == 0 || strcmp(folder.name, "..") == 0)
            continue;
        char *file = bl_path_join(name, folder.name);
        bool is_shard = file && sscanf(file, "shards/%*5d/shard-%8" SCNd64, &shard) == 1 && shard >= 0 &&
                        shard < bl_format_shards(format) && strcmp(bl_format_shard_name(format, shard, its), file) == 0;
        if (file && !inner && bl_input_folder_stat(&folder, &status) == 0 && S_ISDIR(status.st_mode))
            verify_folder(v, file, true, remark, r);
        else if (file && !is_shard)
            fault_report(r, file, "belongs to no shard of the dataset");
        free(file);
    }
    bl_input_folder_close(&folder);
    free(path);
}

/* Checks the names of all files in DIR/shards, or at a URL, where a list has no folders, in the folders of shards. */
static void verify_folders(const struct bl_verify *v, bl_fault *remark, const struct bl_fault_sink *r)
{
    char name[BL_SHARD_NAME_MAX], last[BL_SHARD_NAME_MAX] = "";
    if (!bl_input_folder_is_far(v->dir)) {
        verify_folder(v, "shards", false, remark, r);
        return;
    }
    for (int64_t shard = 0; shard < bl_format_shards(&v->manifest.format) && !v->failure.code; shard++) {
        bl_format_shard_name(&v->manifest.format, shard, name);
        *strrchr(name, '/') = '\0';
        if (strcmp(name, last) == 0)
            continue;
        verify_folder(v, name, true, remark, r);
        memcpy(last, name, sizeof last);
    }
}

/* Reads shards.tsv, and reports that it cannot be read. */
static void verify_read_shard_table(struct bl_verify *v, const struct bl_fault_sink *r)
{
    struct bl_error e = {0};
    if (bl_shard_table_read(v->dir, &v->manifest.format, &v->shards, &e))
        verify_report_unread(v, r, BL_SHARDS_FILE, &e);
}

/* --- interface ---------------------------------------------------------------------------------------------------- */

int bl_verify_open(struct bl_verify *v, const char *dir, const struct bl_cancel *cancel, bl_fault *fault, void *context,
                   struct bl_error *e)
{
    const struct bl_fault_sink r = {fault, context, &v->failure};
    *v = (struct bl_verify){.dir = dir, .cancel = cancel, .index.fd = -1};
    struct bl_error why = {0};
    bool sound = false;
    int code = bl_manifest_inspect(&v->manifest, dir, &sound, &why);
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &why);
    if (code || !sound)
        fault_report(&r, BL_MANIFEST_FILE, "%s", code ? why.text : "wrong checksum: the file is damaged or was edited");
    if (code)
        return BL_OK;
    v->has_manifest = true;
    return BL_OK;
}

/* The manifest must list all needed files, and each listed file must have its size and checksum. */
int bl_verify_files(struct bl_verify *v, bl_fault *fault, bl_fault *remark, void *context)
{
    const struct bl_fault_sink r = {fault, context, &v->failure};
    const struct bl_manifest *m = &v->manifest;
    if (!v->has_manifest)
        return BL_OK;
    for (size_t n = 0; n < sizeof needed / sizeof *needed; n++) {
        if (!bl_manifest_find_file(m, needed[n]))
            fault_report(&r, BL_MANIFEST_FILE, "does not list %s", needed[n]);
    }
    for (size_t i = 0; i < m->files && !v->failure.code; i++) {
        if (!fault_check_file(&r, v->dir, &m->file[i]))
            v->cut |= verify_bit(m->file[i].name);
    }
    if (bl_cancelled(v->cancel) || v->failure.code)
        return bl_cancelled(v->cancel) ? BL_ECANCEL : v->failure.code;
    verify_read_sequences(v, &r);
    /* Rows and manifest count the same inputs. */
    const int64_t *by_status = v->sequences.by_status;
    if (v->has_sequences && (by_status[BL_ROW_SKIPPED] != m->skipped || by_status[BL_ROW_FAILED] != m->failed))
        fault_report(&r, BL_SEQUENCES_FILE,
                     "has %" PRId64 " skipped and %" PRId64 " failed rows, the manifest says %" PRId64 " and %" PRId64,
                     by_status[BL_ROW_SKIPPED], by_status[BL_ROW_FAILED], m->skipped, m->failed);
    verify_open_index(v, &r);
    verify_plan(v, &r);
    verify_epochs(v, &r, remark);
    verify_read_shard_table(v, &r);
    verify_folders(v, remark, &r);
    return bl_cancelled(v->cancel) ? BL_ECANCEL : v->failure.code;
}

/* The index holds everything that the tables of shards are compared with, except failed sequences and attributes, for
 * which sequences.tsv is read. */
int bl_verify_prepare_part(struct bl_verify *v, int64_t first, int64_t end, bl_fault *fault, void *context)
{
    const struct bl_fault_sink r = {fault, context, &v->failure};
    if (!v->has_manifest || first == end)
        return BL_OK;
    bool needs_sequences = v->manifest.failed || v->manifest.format.attributes;
    if (needs_sequences)
        verify_read_sequences(v, &r);
    verify_open_index(v, &r);
    if (v->has_sequences || !needs_sequences)
        verify_read_part(v, first, end, &r);
    verify_read_shard_table(v, &r);
    return bl_cancelled(v->cancel) ? BL_ECANCEL : v->failure.code;
}

int64_t bl_verify_shards(const struct bl_verify *v)
{
    return v->has_manifest ? bl_format_shards(&v->manifest.format) : 0;
}

void bl_verify_finish(const struct bl_verify *v, int64_t failed_steps, bl_fault *fault, void *context)
{
    const struct bl_fault_sink r = {fault, context, NULL};
    if (v->has_plan && failed_steps != v->manifest.failed_steps)
        fault_report(&r, BL_MANIFEST_FILE, "\"failed_steps\" is %" PRId64 ", the shards have %" PRId64,
                     v->manifest.failed_steps, failed_steps);
}

void bl_verify_close(struct bl_verify *v)
{
    bl_index_close(&v->index);
    bl_plan_free(&v->plan);
    bl_sequences_close(&v->sequences);
    free(v->failed);
    bl_attribute_values_free(&v->values);
    free(v->shards);
    bl_manifest_free(&v->manifest);
    *v = (struct bl_verify){.index.fd = -1};
}

/* --- report as JSON ----------------------------------------------------------------------------------------------- */

void bl_verify_report_add(struct bl_verify_report *report, const char *source, const char *file, const char *text)
{
    if (!report->faults && !report->failed)
        report->faults = json_array();
    bl_jansson_push(&report->faults,
                    json_pack("{s:o, s:o, s:o}", "source", source ? bl_jansson_escaped(source) : json_null(), "file",
                              bl_jansson_escaped(file), "text", bl_jansson_escaped(text)));
    report->failed |= !report->faults;
}

int bl_verify_report_json(struct bl_verify_report *report, struct json_t *run, struct bl_buffer *out,
                          struct bl_error *e)
{
    if (report->failed) {
        json_decref(run);
        return bl_error_memory(e);
    }
    json_t *object = json_pack("{s:o, s:s}", "path", bl_jansson_escaped(report->dir), "kind", report->kind);
    bl_jansson_set(&object, "against", report->against ? bl_jansson_escaped(report->against) : json_null());
    bl_jansson_set(&object, "task",
                   report->tasks
                       ? json_pack("{s:I, s:I}", "index", (json_int_t)report->task, "tasks", (json_int_t)report->tasks)
                       : json_null());
    bl_jansson_set(&object, "verified", json_boolean(!report->faults));
    bl_jansson_set(&object, strcmp(report->kind, "export") == 0 ? "files" : "shards", json_integer(report->files));
    bl_jansson_set(&object, "bytes", json_integer(report->bytes));
    bl_jansson_set(&object, "faults", report->faults ? report->faults : json_array());
    report->faults = NULL;
    bl_jansson_set(&object, "run", run);
    return bl_jansson_append(object, out, e);
}

void bl_verify_report_free(struct bl_verify_report *report)
{
    json_decref(report->faults);
    report->faults = NULL;
}

/* --- views -------------------------------------------------------------------------------------------------------- */

struct view_check {
    struct bl_view view;
    struct bl_fault_sink sink;
    int64_t most; /* maximum number of sequences in a block over all plans */
};

/* Returns true if two tables are equal, or if both are missing. */
static bool table_is_same(const void *a, const void *b, int64_t count, size_t size)
{
    return a && b ? memcmp(a, b, (size_t)count * size) == 0 : !a && !b;
}

/* Returns true if both have the same places of own steps; made->parts are those of both. */
static bool owns_are_same(const struct bl_places *made, const struct bl_places *its)
{
    bool same = made->owns == its->owns;
    for (int k = 0; k < made->owns && same; k++)
        same = table_is_same(made->own_length[k], its->own_length[k], made->parts, 4) &&
               table_is_same(made->own_start[k], its->own_start[k], made->parts, 4);
    return same;
}

/* Compares the places of the view with those collected from the indexes of the sources. */
static int check_places(const struct view_check *c, struct bl_error *e)
{
    const struct bl_manifest *m = &c->view.manifest;
    const struct bl_places *its = &c->view.places;
    struct bl_places made = {0};
    struct bl_index *index = calloc(m->sources, sizeof *index);
    int64_t *first_row = calloc(m->sources + 1, sizeof *first_row);
    int code = index && first_row ? BL_OK : bl_error_memory(e);
    for (size_t s = 0; s < m->sources && !code; s++) {
        index[s] = c->view.source[s].index;
        first_row[s] = m->source[s].first_row;
        first_row[s + 1] = first_row[s] + m->source[s].rows;
    }
    if (!code)
        code = bl_places_collect(&made, index, first_row, m->sources, &c->view.index.own, e);
    if (code == BL_EDATA) {
        fault_report(&c->sink, BL_PLACES_FILE, "%s", e->text);
        bl_error_clear(e);
        code = BL_OK;
    } else if (!code && !(made.parts == its->parts && table_is_same(made.block, its->block, made.parts, 8) &&
                          table_is_same(made.start, its->start, made.parts, 4) &&
                          table_is_same(made.length, its->length, made.parts, 4) &&
                          table_is_same(made.source_start, its->source_start, made.parts, 8) &&
                          table_is_same(made.row_ptr, its->row_ptr, made.rows + 1, 8) && owns_are_same(&made, its))) {
        fault_report(&c->sink, BL_PLACES_FILE, "differs from what the indexes of the sources say");
    }
    bl_places_free(&made);
    free(index);
    free(first_row);
    return code;
}

/* Checks the plan of an epoch; 0 is the first plan, whose digest and counts are compared with the manifest. Each piece
 * must be stored; only the first one that is not is reported. A plan that cannot be read is a fault, too: only a
 * failing system returns an error. */
static int check_plan(struct view_check *c, int64_t epoch, const char *file, struct bl_error *e)
{
    const struct bl_manifest *m = &c->view.manifest;
    const struct bl_places *places = &c->view.places;
    struct bl_plan plan = {0};
    char digest[BL_DIGEST_SIZE];
    bool is_counted = !epoch;
    int64_t placed = 0, sum = 0;
    int code = bl_view_set_epoch(&c->view, epoch, e);
    if (!code)
        code = bl_index_read_plan(&c->view.index, m->format.T, m->align, &plan, e);
    if (!code && !epoch)
        code = bl_index_plan_digest(&c->view.index, m->format.T, digest, e);
    if (code)
        goto out;
    if (!epoch && strcmp(digest, m->format.plan_digest) != 0)
        fault_report(&c->sink, file, "plan digest %s, the manifest says %s", digest, m->format.plan_digest);
    for (size_t p = 0; p < plan.pieces; p++) {
        int64_t row = plan.sequence[p], first = plan.source_start ? plan.source_start[p] : 0;
        int64_t begin = bl_places_begin(places, row), steps = bl_places_steps(places, row);
        if (!steps || first < begin || plan.length[p] > begin + steps - first) {
            fault_report(&c->sink, file,
                         "piece %zu: steps %" PRId64 " to %" PRId64 " of sequence %" PRId64 " are not stored", p, first,
                         first + plan.length[p], row);
            is_counted = false;
            break;
        }
        placed += plan.length[p];
    }
    for (size_t s = 0; s < m->sources && is_counted; s++)
        sum += m->source[s].steps;
    const int64_t listed = bl_plan_info_placed(&m->plan_info), padding = (int64_t)plan.blocks * plan.T - placed;
    if (is_counted && (listed != placed || sum != placed))
        fault_report(&c->sink, BL_MANIFEST_FILE,
                     "says %" PRId64 " steps, but its sources say %" PRId64 ", and the plan has %" PRId64, listed, sum,
                     placed);
    if (is_counted && m->plan_info.padding != padding)
        fault_report(&c->sink, BL_MANIFEST_FILE, "\"padding\" is %" PRId64 ", the plan has %" PRId64,
                     m->plan_info.padding, padding);
    for (size_t b = 0; b < plan.blocks; b++) {
        int64_t n = plan.block_ptr[b + 1] - plan.block_ptr[b];
        c->most = n > c->most ? n : c->most;
    }
out:
    bl_plan_free(&plan);
    if (code == BL_EDATA || code == BL_EUSAGE) {
        fault_report(&c->sink, file, "%s", e->text);
        bl_error_clear(e);
        return BL_OK;
    }
    return code;
}

int bl_verify_view(const char *dir, const struct bl_cancel *cancel, bl_fault *fault, bl_fault *remark, void *context,
                   struct bl_error *e)
{
    struct bl_error why = {0}, failure = {0};
    struct view_check c = {.view.index.fd = -1, .sink = {fault, context, &failure}};
    struct bl_manifest m;
    bool sound = false;
    BL_TRY(bl_manifest_inspect(&m, dir, &sound, e));
    for (size_t i = 0; i < m.files && !bl_cancelled(cancel) && !failure.code; i++)
        fault_check_file(&c.sink, dir, &m.file[i]);
    bl_manifest_free(&m);
    int code = failure.code ? failure.code : bl_view_open(&c.view, dir, &why);
    if (failure.code || (code && fault_is_of_store(&c.sink, &why)))
        return bl_error_pass(e, failure.code, &failure);
    if (code) {
        fault_report(&c.sink, BL_MANIFEST_FILE, "%s", why.text);
        return BL_OK;
    }
    code = check_places(&c, e);
    const struct bl_manifest *its = &c.view.manifest;
    if (!code)
        code = check_plan(&c, 0, BL_INDEX_FILE, e);
    for (size_t i = 0; i < its->files && !code; i++) {
        int64_t epoch = bl_epochs_number(its->file[i].name);
        if (bl_cancelled(cancel))
            code = BL_ECANCEL;
        else if (epoch)
            code = check_plan(&c, epoch, its->file[i].name, e);
    }
    if (!code && c.most > its->format.S)
        fault_report(&c.sink, BL_MANIFEST_FILE, "\"S\" is %" PRId64 ", but a block has %" PRId64 " sequences",
                     its->format.S, c.most);
    const struct bl_verify strays = {.dir = dir, .manifest = *its};
    if (!code)
        verify_epoch_strays(&strays, &c.sink, remark);
    bl_view_close(&c.view);
    return code || !failure.code ? code : bl_error_pass(e, failure.code, &failure);
}
