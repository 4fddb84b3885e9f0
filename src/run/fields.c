#include "run/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "bload.h"
#include "run/pipeline.h"
#include "store/codec.h"
#include "store/row_reader.h"
#include "store/seekable.h"

/* --- fields ------------------------------------------------------------------------------------------------------- */

struct row_job {
    size_t row;
    struct bl_error fault; /* why the file could not be read, or none */
    struct bl_fields fields;
};

struct fields_query {
    const struct bl_kind *kind;
    const void *config;
    const struct bl_kind_env *env;
    const struct bl_sequences *table;
    const char *base;
    bool first_file_decides;
    size_t next;
    struct bl_fields *fields; /* of the first readable row */
    size_t first, other;      /* that row, and the first row that differs; SIZE_MAX: none yet */
    int64_t others;           /* number of rows that differ */
    struct bl_error fault;    /* of the first row whose file could not be read */
    size_t faulty;            /* that row */
};

static int fields_produce(void *context, void **job_, struct bl_error *e)
{
    struct fields_query *q = context;
    if (q->first_file_decides && q->first != SIZE_MAX)
        return BL_OK;
    while (q->next < q->table->count && !q->table->length[q->next])
        q->next++;
    if (q->next == q->table->count)
        return BL_OK;
    struct row_job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    job->row = q->next++;
    *job_ = job;
    return BL_OK;
}

/* A file that cannot be read is no error here: job->fault says why. */
static int fields_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    (void)worker;
    const struct fields_query *q = context;
    struct row_job *job = job_;
    struct bl_row_reader row = {0};
    char *path = NULL;
    int code = bl_row_reader_read(q->table, job->row, &row, e);
    if (code)
        goto out;
    path = bl_path_join(q->base, row.row.path);
    if (!path) {
        code = bl_error_memory(e);
        goto out;
    }
    row.row.path = path;
    bl_error_memory_watch();
    code = q->kind->read->fields(q->config, q->env, &row.row, &job->fields, &job->fault);
    if (bl_error_memory_seen() && code != BL_ECANCEL)
        code = bl_error_memory(e);
    else if (code)
        code = code == BL_EDATA ? BL_OK : bl_error_set(e, code, "%s", job->fault.text);
out:
    free(path);
    bl_row_reader_free(&row);
    return code;
}

static bool fields_are_equal(const struct bl_fields *a, const struct bl_fields *b)
{
    if (a->count != b->count)
        return false;
    for (int f = 0; f < a->count; f++) {
        const struct bl_field *x = &a->field[f], *y = &b->field[f];
        if (strcmp(x->name, y->name) != 0 || x->dtype != y->dtype || x->rank != y->rank ||
            memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) != 0)
            return false;
    }
    return true;
}

static int fields_consume(void *context, void *job_, struct bl_error *e)
{
    (void)e;
    struct fields_query *q = context;
    struct row_job *job = job_;
    if (job->fault.code) {
        if (!q->fault.code) {
            q->fault = job->fault;
            q->faulty = job->row;
        }
    } else if (q->first == SIZE_MAX) {
        *q->fields = job->fields;
        q->first = job->row;
    } else if (!q->first_file_decides && !fields_are_equal(q->fields, &job->fields)) {
        if (!q->others++)
            q->other = job->row;
    }
    free(job);
    return BL_OK;
}

static void fields_discard(void *context, void *job)
{
    (void)context;
    free(job);
}

/* Reports the first difference. */
static int fields_differ_error(const struct fields_query *q, struct bl_error *e)
{
    struct bl_row_reader first = {0}, other = {0};
    int code = bl_row_reader_read(q->table, q->first, &first, e);
    if (code)
        goto out;
    code = bl_row_reader_read(q->table, q->other, &other, e);
    if (code)
        goto out;
    code = bl_error_set(e, BL_EUSAGE,
                        "the frames have several sizes: %" PRId64 " input%s from %s, the first of them %s: "
                        "give --size WxH (with --fit stretch, crop or pad)",
                        q->others, q->others == 1 ? " differs" : "s differ", first.row.id, other.row.id);
out:
    bl_row_reader_free(&first);
    bl_row_reader_free(&other);
    return code;
}

/* Reports the first file that cannot be read, as none can. */
static int fields_unknown_error(const struct fields_query *q, struct bl_error *e)
{
    struct bl_row_reader row = {0};
    if (!q->fault.code)
        return bl_error_set(e, BL_EFAIL, "no sequence is usable, so the size and type of the fields are unknown");
    int code = bl_row_reader_read(q->table, q->faulty, &row, e);
    if (!code)
        code = bl_error_set(e, BL_EFAIL,
                            "no file can be read, so the size and type of the fields are unknown; the first is %s: %s",
                            row.row.path, q->fault.text);
    bl_row_reader_free(&row);
    return code;
}

int bl_fields_resolve(struct bl_fields *fields, const struct bl_kind *kind, const void *config,
                      const struct bl_kind_env *env, const struct bl_sequences *table, const char *base, bool agreed,
                      int workers, struct bl_error *e)
{
    struct bl_error why = {0};
    int code = kind->read->fields(config, env, NULL, fields, &why);
    if (code == BL_OK)
        return BL_OK;
    if (code != BL_EDATA) /* BL_EDATA: the options do not decide them */
        return bl_error_set(e, code, "%s", why.text);
    static const struct bl_stages stages = {
        .produce = fields_produce, .work = fields_work, .consume = fields_consume, .discard = fields_discard};
    struct fields_query q = {.kind = kind,
                             .config = config,
                             .env = env,
                             .table = table,
                             .base = base,
                             .first_file_decides = agreed || kind->read->first_file_decides,
                             .fields = fields,
                             .first = SIZE_MAX,
                             .other = SIZE_MAX};
    int slots = workers * 4;
    if (agreed)
        workers = slots = 1; /* one file decides, so do not read ahead */
    code = bl_pipeline_run(&stages, &q, workers, slots, env->cancel, e);
    if (code)
        return code;
    if (q.first == SIZE_MAX)
        return fields_unknown_error(&q, e);
    return q.others ? fields_differ_error(&q, e) : BL_OK;
}

/* --- manifest draft ----------------------------------------------------------------------------------------------- */

/* The draft: the parts of a manifest that are known before packing: the source, the options and the versions that
 * decide the bytes, and the shards. It lies in DIR/.bload. With it any process can finish the dataset, and no process
 * continues a dataset with another version of the tool or its libraries. */

struct version_sink {
    struct bl_manifest *manifest;
    struct bl_error *e;
    int code;
};

/* The fields of a composite kind may share libraries. */
static void draft_add_version(void *sink_, const char *name, const char *version)
{
    struct version_sink *sink = sink_;
    struct bl_manifest_pairs *known = &sink->manifest->libraries;
    for (size_t i = 0; i < known->count && !sink->code; i++) {
        if (strcmp(known->pair[i].name, name) == 0)
            return;
    }
    if (!sink->code)
        sink->code = bl_manifest_pair(known, name, version, sink->e);
}

static int draft_describe_field(const struct bl_manifest_draft *draft, int i, struct bl_manifest *m, struct bl_error *e)
{
    struct bl_buffer made = {0};
    draft->kind->read->describe(draft->config, &draft->format->fields.field[i], &made);
    int code = bl_buffer_check(&made, e);
    if (!code)
        code = bl_manifest_text(&m->made[i], made.data, e);
    bl_buffer_free(&made);
    return code;
}

static int draft_add_versions(const struct bl_manifest_draft *draft, struct bl_manifest *m, struct bl_error *e)
{
    struct version_sink sink = {m, e, BL_OK};
    if (draft->kind->read->versions) {
        int code = draft->kind->read->versions(draft->config, draft->env, draft_add_version, &sink, e);
        if (code)
            return code;
    }
    if (draft->format->compressed)
        draft_add_version(&sink, "zstd", bl_compressor_version());
    if (bl_format_encodes(draft->format, BL_ENCODING_JPEG))
        draft_add_version(&sink, "libjpeg-turbo", bl_jpeg_version());
    return sink.code;
}

int bl_manifest_draft_make(const struct bl_manifest_draft *draft, struct bl_manifest *m, struct bl_error *e)
{
    *m = (struct bl_manifest){.format = *draft->format, .plan_info = *draft->plan_info};
    int code = bl_manifest_text(&m->tool, BLOAD_VERSION, e);
    if (code)
        goto out;
    code = bl_manifest_text(&m->simd, draft->simd, e);
    for (int i = 0; i < draft->format->fields.count && !code; i++)
        code = draft_describe_field(draft, i, m, e);
    if (code)
        goto out;
    code = draft_add_versions(draft, m, e);
    if (code)
        goto out;
    code = bl_manifest_configure(m, draft->identity, e);
out:
    if (code)
        bl_manifest_free(m);
    return code;
}

int bl_manifest_draft_publish(const struct bl_state *state, struct bl_manifest *manifest, bool alone,
                              struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    bool begun = true;
    int code = bl_state_path(state, BL_STATE_DRAFT, &path, e);
    if (code)
        goto out;
    code = bl_manifest_format(manifest, &text, e);
    if (code)
        goto out;
    if (alone)
        code = bl_state_has_shards(state, &begun, e);
    if (code)
        goto out;
    if (!begun) {
        code = bl_output_replace(path.data, text.data, text.size, e);
        goto out;
    }
    code = bl_state_publish(state, BL_STATE_DRAFT, &text, e);
    if (code)
        bl_error_prefix(e, "%s was begun with other versions of bload or its libraries: use those, or another -o",
                        state->dir);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}

int bl_manifest_draft_find(const struct bl_state *state, bool *found, struct bl_error *e)
{
    struct bl_buffer path = {0};
    int code = bl_state_path(state, BL_STATE_DRAFT, &path, e);
    *found = false;
    if (!code)
        code = bl_fs_exists(path.data, found, e);
    bl_buffer_free(&path);
    return code;
}

int bl_manifest_draft_read(const struct bl_state *state, struct bl_manifest *manifest, struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    bool sound = false;
    *manifest = (struct bl_manifest){0};
    int code = bl_state_path(state, BL_STATE_DRAFT, &path, e);
    bool exists = false;
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (!code && !exists)
        code = bl_error_set(e, BL_EUSAGE, "%s: nothing has been packed there yet", state->dir);
    if (code)
        goto out;
    code = bl_regular_check(path.data, e);
    if (!code)
        code = bl_io_read_file(path.data, BL_MANIFEST_SIZE_MAX, &text, e);
    if (code)
        goto out;
    code = bl_manifest_parse(manifest, text.data ? text.data : "", text.size, &sound, e);
    if (code)
        goto out;
    if (!sound) {
        bl_manifest_free(manifest);
        code = bl_error_set(e, BL_EDATA, "its checksum is wrong: it is damaged, or was edited");
    }
out:
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", path.data);
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}
