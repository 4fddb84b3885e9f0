#include "run/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "run/pipeline.h"
#include "store/row_reader.h"

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
