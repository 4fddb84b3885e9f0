#include "packing/view_make.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/identity_lines.h"
#include "base/output.h"
#include "base/path.h"
#include "base/text.h"
#include "packing/identity.h"
#include "packing/table_lengths.h"
#include "plan/fill.h"
#include "plan/strategy.h"
#include "store/dataset.h"
#include "store/epochs.h"
#include "store/places.h"
#include "store/plan_columns.h"
#include "store/sequences.h"
#include "store/view.h"

struct view_job {
    const struct bl_view_request *request;
    struct bl_manifest *manifest;
    struct bl_dataset *source; /* [request->count] */
    struct bl_buffer identity;
    struct bl_sequences table; /* of all sources; its lengths become the stored ones */
    int64_t *first_row;        /* [count + 1] */
    struct bl_places places;
    struct bl_attribute_values values;
    struct bl_planner planner; /* one of these two */
    struct bl_blend blend;
    struct bl_plan plan; /* of the present epoch */
    bool is_new;         /* this run made the directory */
    int lock;
};

static void view_message(const struct view_job *job, const char *format, ...) BL_PRINTF(2, 3);

static void view_message(const struct view_job *job, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (job->request->message)
        job->request->message(job->request->sink, text);
}

/* Whether blocks hold sequences of one source each. */
static bool view_is_blended(const struct bl_view_request *r)
{
    return r->count > 1 && r->mix == BL_BLEND_BATCH;
}

/* --- sources ---------------------------------------------------------------------------------------------------- */

/* The name of a source: the last component of its path, or all of it where another source has the same. */
static int source_name(const struct bl_view_request *r, int s, char **name, struct bl_error *e)
{
    char *path = realpath(r->dir[s], NULL), *other;
    if (!path)
        return bl_error_errno(e, BL_EFAIL, "cannot resolve %s", r->dir[s]);
    bool unique = true;
    for (int k = 0; k < r->count && unique; k++) {
        other = k == s ? NULL : realpath(r->dir[k], NULL);
        unique = !other || strcmp(bl_path_name(other), bl_path_name(path)) != 0;
        free(other);
    }
    *name = strdup(unique ? bl_path_name(path) : r->dir[s]);
    free(path);
    return *name ? BL_OK : bl_error_memory(e);
}

/* A view of a view would be read through both plans; its sources do as well. */
static int source_refuse_view(const struct bl_manifest *m, const char *dir, struct bl_error *e)
{
    struct bl_buffer names = {0};
    for (size_t s = 0; s < m->sources; s++)
        bl_buffer_printf(&names, "%s%s", s ? ", " : "", m->source[s].path);
    int code = bl_buffer_check(&names, e);
    if (!code)
        code = bl_error_set(e, BL_EUSAGE, "%s is a view itself: name its sources instead (from there: %s)", dir,
                            names.data);
    bl_buffer_free(&names);
    return code;
}

static int source_open(struct view_job *job, int s, struct bl_error *e)
{
    const char *dir = job->request->dir[s];
    struct bl_manifest m;
    int code = bl_manifest_read(&m, dir, e);
    if (code)
        return code;
    if (bl_manifest_is_view(&m))
        code = source_refuse_view(&m, dir, e);
    bl_manifest_free(&m);
    if (!code)
        code = bl_dataset_open(&job->source[s], dir, e);
    if (code)
        return code;
    struct bl_view_source *source = bl_manifest_append_source(job->manifest, e);
    if (!source)
        return BL_EFAIL;
    source->weight = job->request->weight[s];
    code = bl_view_source_identify(source, &job->source[s].manifest, e);
    if (code)
        return bl_error_prefix(e, "%s", dir), code;
    return source_name(job->request, s, &source->name, e);
}

/* "video U8 [224, 224, 3], kept as jpeg" */
static void field_describe(const struct bl_format *format, int f, struct bl_buffer *out)
{
    static const char *const kept[] = {
        [BL_ENCODING_RAW] = "", [BL_ENCODING_JPEG] = " kept as JPEG", [BL_ENCODING_DELTA] = " kept as differences"};
    const struct bl_field *field = &format->fields.field[f];
    bl_buffer_printf(out, "%s %s [", field->name, bl_dtype_name(field->dtype));
    for (int i = 0; i < field->rank; i++)
        bl_buffer_printf(out, "%s%" PRId64, i ? ", " : "", field->shape[i]);
    bl_buffer_printf(out, "]%s", kept[format->encoding[f].kind]);
}

static void fields_describe(const struct bl_format *format, struct bl_buffer *out)
{
    for (int f = 0; f < format->fields.count; f++) {
        bl_buffer_text(out, f ? ", " : "");
        field_describe(format, f, out);
    }
}

/* The fields of two sources must agree in number, order, name, type, shape and kind of encoding. */
static int fields_compare(const struct view_job *job, int s, struct bl_error *e)
{
    struct bl_buffer one = {0}, two = {0};
    fields_describe(&job->source[0].manifest.format, &one);
    fields_describe(&job->source[s].manifest.format, &two);
    int code = bl_buffer_check(&one, e);
    if (!code)
        code = bl_buffer_check(&two, e);
    if (!code && strcmp(one.data, two.data) != 0)
        code = bl_error_set(e, BL_EUSAGE, "the fields of the sources differ: %s has %s; %s has %s",
                            job->request->dir[0], one.data, job->request->dir[s], two.data);
    bl_buffer_free(&one);
    bl_buffer_free(&two);
    return code;
}

/* The type of an attribute in all sources; false: one of them lacks it. Integers and other numbers become F64. */
static bool attribute_agree(const struct view_job *job, struct bl_attribute *attribute)
{
    bool everywhere = true;
    for (int s = 1; s < job->request->count && everywhere; s++) {
        const struct bl_format *other = &job->source[s].manifest.format;
        everywhere = false;
        for (int a = 0; a < other->attributes && !everywhere; a++) {
            everywhere = strcmp(other->attribute[a].name, attribute->name) == 0;
            if (everywhere && other->attribute[a].dtype == BL_F64)
                attribute->dtype = BL_F64;
        }
    }
    return everywhere;
}

/* Attributes that some source lacks are left out, and named. */
static void attributes_choose(struct view_job *job)
{
    struct bl_format *format = &job->manifest->format;
    struct bl_buffer left = {0};
    format->attributes = 0;
    for (int s = 0; s < job->request->count; s++) {
        const struct bl_format *own = &job->source[s].manifest.format;
        for (int a = 0; a < own->attributes; a++) {
            struct bl_attribute attribute = own->attribute[a];
            bool common = attribute_agree(job, &attribute);
            if (s == 0 && common)
                format->attribute[format->attributes++] = attribute;
            else if (s == 0)
                bl_buffer_printf(&left, "%s%s", left.size ? ", " : "", attribute.name);
        }
    }
    if (left.size && !left.failed)
        view_message(job, "attributes that not all sources have are left out: %s", left.data);
    bl_buffer_free(&left);
}

/* The fields, libraries and so on of the first source are the view's. */
static int view_adopt(struct view_job *job, struct bl_error *e)
{
    const struct bl_manifest *first = &job->source[0].manifest;
    struct bl_manifest *m = job->manifest;
    m->format = first->format;
    m->format.compressed = false;
    m->format.frame_size = 0;
    int code = bl_manifest_text(&m->tool, job->request->tool, e);
    if (!code)
        code = bl_manifest_text(&m->simd, first->simd, e);
    for (int f = 0; f < first->format.fields.count && !code; f++)
        code = bl_manifest_text(&m->made[f], first->made[f], e);
    for (size_t i = 0; i < first->libraries.count && !code; i++)
        code = bl_manifest_pair(&m->libraries, first->libraries.pair[i].name, first->libraries.pair[i].value, e);
    for (int s = 1; s < job->request->count && !code; s++) {
        m->format.has_segment_ids &= job->source[s].manifest.format.has_segment_ids;
        code = fields_compare(job, s, e);
    }
    if (!code)
        attributes_choose(job);
    return code;
}

static int sources_open(struct view_job *job, struct bl_error *e)
{
    int count = job->request->count;
    job->source = calloc((size_t)count, sizeof *job->source);
    job->first_row = calloc((size_t)count + 1, sizeof *job->first_row);
    for (int s = 0; job->source && s < count; s++)
        job->source[s] = (struct bl_dataset){.shard = -1, .index.fd = -1, .file.fd = -1};
    int code = job->source && job->first_row ? BL_OK : bl_error_memory(e);
    for (int s = 0; s < count && !code; s++)
        code = source_open(job, s, e);
    return code ? code : view_adopt(job, e);
}

/* --- identity --------------------------------------------------------------------------------------------------- */

/* What decides the view: the options, the padding, and what the sources are. */
static int view_identify(struct view_job *job, struct bl_error *e)
{
    struct bl_buffer *lines = &job->identity;
    const struct bl_manifest *m = job->manifest;
    const char *pad = bl_manifest_option(&job->source[0].manifest, "pad");
    bl_options_identity(job->request->given, lines);
    if (*pad)
        bl_buffer_printf(lines, "pad: %s\n", pad);
    for (size_t s = 0; s < m->sources; s++) {
        bl_buffer_printf(lines, "source %zu: ", s + 1);
        bl_text_escape(lines, m->source[s].name, strlen(m->source[s].name));
        for (int f = 0; f < BL_VIEW_SOURCE_FILES; f++)
            bl_buffer_printf(lines, " %016" PRIx64, m->source[s].checksum[f]);
        if (m->source[s].weight > 0)
            bl_buffer_printf(lines, " weight %.17g", m->source[s].weight);
        bl_buffer_byte(lines, '\n');
    }
    return bl_buffer_check(lines, e);
}

/* --- the directory ---------------------------------------------------------------------------------------------- */

/* Whether an entry of the directory may be left by an earlier run of the same kind. */
static bool entry_is_ours(const char *entry)
{
    static const char *const names[] = {BL_INDEX_FILE, BL_PLACES_FILE, BL_MANIFEST_FILE, BL_EPOCHS_DIR};
    const char *part = strstr(entry, ".part-");
    size_t size = part ? (size_t)(part - entry) : strlen(entry);
    if (strcmp(entry, ".") == 0 || strcmp(entry, "..") == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == size && strncmp(entry, names[i], size) == 0)
            return true;
    }
    return false;
}

/* Refuses a directory that has other files, and removes what an interrupted run was writing. */
static int output_check_entries(const char *dir, struct bl_error *e)
{
    DIR *entries = opendir(dir);
    if (!entries)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    int code = BL_OK;
    const struct dirent *entry;
    while (!code && (entry = readdir(entries))) {
        if (!entry_is_ours(entry->d_name))
            code = bl_error_set(e, BL_EUSAGE, "%s holds no view, but %s: give another -o", dir, entry->d_name);
        else if (strstr(entry->d_name, ".part-") && unlinkat(dirfd(entries), entry->d_name, 0) != 0 && errno != ENOENT)
            code = bl_error_errno(e, BL_EFAIL, "cannot remove %s from %s", entry->d_name, dir);
    }
    closedir(entries);
    return code;
}

/* Removes the plans of an interrupted run, which may have had more epochs. */
static int output_sweep_plans(const char *dir, struct bl_error *e)
{
    const struct bl_manifest none = {0};
    DIR *entries = NULL;
    char *path = bl_path_join(dir, BL_EPOCHS_DIR);
    int code = path ? bl_fs_opendir(path, &entries, e) : bl_error_memory(e);
    const struct dirent *entry;
    while (!code && entries && (entry = readdir(entries))) {
        if (bl_epochs_is_leftover(&none, entry->d_name) && unlinkat(dirfd(entries), entry->d_name, 0) != 0 &&
            errno != ENOENT)
            code = bl_error_errno(e, BL_EFAIL, "cannot remove %s from %s", entry->d_name, path);
    }
    if (entries)
        closedir(entries);
    free(path);
    return code;
}

/* The same view, complete, is left as it is. */
static int output_compare(struct view_job *job, bool *same, struct bl_error *e)
{
    const char *dir = job->request->output;
    struct bl_manifest there;
    struct bl_buffer lines = {0}, what = {0};
    int code = bl_manifest_read(&there, dir, e);
    if (code)
        return code;
    if (!bl_manifest_is_view(&there))
        code = bl_error_set(e, BL_EUSAGE, "%s holds a dataset: give another -o", dir);
    if (!code)
        code = bl_identity_of_manifest(&there, &lines, e);
    bl_buffer_printf(&what, "%s holds a view", dir);
    if (!code)
        code = bl_buffer_check(&what, e);
    if (!code)
        code = bl_identity_compare(lines.data, job->identity.data, what.data, e);
    *same = !code;
    bl_buffer_free(&lines);
    bl_buffer_free(&what);
    if (code) {
        bl_manifest_free(&there);
        return code;
    }
    bl_manifest_free(job->manifest);
    *job->manifest = there;
    return BL_OK;
}

/* Only one process at a time makes a view. On a file system without locks that protection is missing. */
static int output_lock(struct view_job *job, struct bl_error *e)
{
    const char *dir = job->request->output;
    job->lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (job->lock < 0)
        return bl_error_errno(e, errno == ENOTDIR ? BL_EUSAGE : BL_EFAIL, "cannot open %s", dir);
    if (flock(job->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return bl_error_set(e, BL_EFAIL, "%s: another bload view is running there", dir);
    return BL_OK;
}

static int output_open(struct view_job *job, bool *same, struct bl_error *e)
{
    const char *dir = job->request->output;
    bool there;
    *same = false;
    job->is_new = access(dir, F_OK) != 0;
    int code = job->is_new ? bl_fs_mkdirs(dir, e) : BL_OK;
    if (!code)
        code = output_lock(job, e);
    if (!code)
        code = bl_fs_find(dir, BL_MANIFEST_FILE, &there, e);
    if (code)
        return code;
    if (there)
        return output_compare(job, same, e);
    code = output_check_entries(dir, e);
    return code ? code : output_sweep_plans(dir, e);
}

/* --- sequences -------------------------------------------------------------------------------------------------- */

/* Leaves out what belongs to the views of other levels. */
static void lengths_limit(struct view_job *job)
{
    const struct bl_view_request *r = job->request;
    struct bl_sequences *t = &job->table;
    for (size_t row = 0; row < t->count; row++) {
        if (t->length[row] <= r->longer_than || (r->up_to && t->length[row] > r->up_to))
            t->length[row] = 0;
    }
}

/* Only what is stored can be planned. Says so where that is less than the table has. */
static void lengths_set_stored(struct view_job *job)
{
    struct bl_sequences *t = &job->table;
    int64_t missing = 0, steps = 0;
    char a[BL_PLURAL_SIZE], b[32];
    for (size_t row = 0; row < t->count; row++) {
        int64_t stored = t->length[row] ? bl_places_steps(&job->places, (int64_t)row) : 0;
        missing += stored < t->length[row];
        steps += t->length[row] - stored;
        t->length[row] = stored;
    }
    if (missing)
        view_message(job, "%s %s not stored as a whole: %s steps are missing from the sources",
                     bl_text_plural(a, missing, "sequence"), missing == 1 ? "is" : "are", bl_text_count(b, steps));
}

/* Opens the tables of the sources as one, whose rows are those of the subset. */
static int table_open(struct view_job *job, struct bl_error *e)
{
    const struct bl_view_request *r = job->request;
    struct bl_sequences_columns columns = bl_plan_columns_wanted(r->group_by, r->options);
    struct bl_subset subset = {.options = r->subset};
    size_t count = (size_t)r->count;
    columns.may_repeat = true;
    char **path = calloc(count, sizeof *path);
    int code = path ? BL_OK : bl_error_memory(e);
    for (size_t s = 0; s < count && !code; s++) {
        path[s] = bl_path_join(r->dir[s], BL_SEQUENCES_FILE);
        code = path[s] ? BL_OK : bl_error_memory(e);
    }
    if (!code)
        code = bl_subset_open(&subset, &job->table, (const char *const *)path, r->count, &columns, e);
    if (!code && r->left_out)
        r->left_out(r->sink, &subset);
    bl_subset_free(&subset);
    bl_path_free_all(path, count);
    return code;
}

static int sequences_read(struct view_job *job, struct bl_error *e)
{
    const struct bl_view_request *r = job->request;
    struct bl_manifest *m = job->manifest;
    int code = table_open(job, e);
    if (code)
        return code;
    struct bl_index *index = calloc((size_t)r->count, sizeof *index);
    if (!index)
        return bl_error_memory(e);
    m->rows = job->first_row[r->count] = (int64_t)job->table.count;
    for (int s = 0; s < r->count; s++) {
        job->first_row[s] = (int64_t)job->table.file[s].first;
        index[s] = job->source[s].index;
    }
    for (int s = 0; s < r->count; s++) {
        m->source[s].first_row = job->first_row[s];
        m->source[s].rows = job->first_row[s + 1] - job->first_row[s];
    }
    code = bl_places_collect(&job->places, index, job->first_row, (size_t)r->count, e);
    free(index);
    if (!code)
        lengths_set_stored(job);
    if (!code && (r->longer_than || r->up_to))
        lengths_limit(job);
    return code ? code : bl_attribute_values_read(&job->values, &job->table, &m->format, e);
}

/* --- plans ------------------------------------------------------------------------------------------------------ */

static int planner_prepare(struct view_job *job, struct bl_error *e)
{
    const struct bl_view_request *r = job->request;
    const struct bl_sequences *t = &job->table;
    struct bl_plan_options *o = r->options;
    const struct bl_blend_options given = {r->epoch_steps, r->repeat_max, r->epochs};
    size_t at = 0;
    bl_plan_columns_set(o, t->group, t->number);
    int code = bl_table_lengths_resolve(t, o, e);
    if (!code)
        code = bl_table_lengths_check(t, o, e);
    if (code || !view_is_blended(r))
        return code ? code : bl_planner_make(&job->planner, t->length, t->count, o, e);
    struct bl_blend_source *source = calloc((size_t)r->count, sizeof *source);
    if (!source)
        return bl_error_memory(e);
    for (int s = 0; s < r->count; s++)
        source[s] = (struct bl_blend_source){(size_t)job->first_row[s],
                                             (size_t)(job->first_row[s + 1] - job->first_row[s]), r->weight[s]};
    code = bl_blend_make(&job->blend, t->length, t->count, source, (size_t)r->count, o, &given, &at, e);
    if (code && code != BL_EUSAGE)
        bl_error_prefix(e, "the source %s", r->dir[at]);
    free(source);
    return code;
}

static int plan_draw(struct view_job *job, int64_t epoch, size_t least, struct bl_error *e)
{
    const struct bl_sequences *t = &job->table;
    bl_plan_free(&job->plan);
    if (view_is_blended(job->request))
        return bl_blend_draw(&job->blend, &job->plan, e);
    int code =
        bl_planner_draw(&job->planner, job->request->options->seed + (uint64_t)epoch, least, false, &job->plan, e);
    return code ? code : bl_plan_recount(&job->plan, t->length, t->count, e);
}

/* Rows whose stored steps do not begin with the first: source_start counts from the beginning of the sequence. */
static int plan_shift(struct view_job *job, struct bl_error *e)
{
    struct bl_plan *plan = &job->plan;
    bool any = false;
    for (size_t p = 0; job->places.source_start && p < plan->pieces && !any; p++)
        any = bl_places_begin(&job->places, plan->sequence[p]) > 0;
    if (any && !plan->source_start)
        plan->source_start = calloc(plan->pieces + 1, sizeof *plan->source_start);
    if (any && !plan->source_start)
        return bl_error_memory(e);
    for (size_t p = 0; any && p < plan->pieces; p++)
        plan->source_start[p] += bl_places_begin(&job->places, plan->sequence[p]);
    job->manifest->format.has_source_start |= any || plan->cut > 0;
    return BL_OK;
}

/* Counts what the plan has of each source. */
static int sources_count(struct view_job *job, struct bl_error *e)
{
    struct bl_manifest *m = job->manifest;
    const struct bl_plan *plan = &job->plan;
    int64_t steps = 0;
    uint8_t *seen = calloc(job->table.count / 8 + 1, 1);
    if (!seen)
        return bl_error_memory(e);
    for (size_t p = 0; p < plan->pieces; p++) {
        uint32_t row = plan->sequence[p];
        struct bl_view_source *source = &m->source[bl_view_source_of_row(m->source, m->sources, row) - m->source];
        int64_t length = bl_plan_piece_length(plan, job->table.length, p);
        source->sequences += !(seen[row / 8] >> row % 8 & 1);
        seen[row / 8] |= (uint8_t)(1 << row % 8);
        source->steps += length;
        steps += length;
    }
    for (size_t s = 0; s < m->sources; s++)
        m->source[s].share = steps ? (double)m->source[s].steps / (double)steps : 0;
    free(seen);
    return BL_OK;
}

/* Writing the plan has computed its digest. */
static int plan_take_digest(const struct view_job *job, struct bl_error *e)
{
    struct bl_format *format = &job->manifest->format;
    struct bl_index index;
    int code = bl_index_open(&index, job->request->output, format->blocks, 0, e);
    if (code)
        return code;
    memcpy(format->plan_digest, index.plan_digest, sizeof format->plan_digest);
    bl_index_close(&index);
    return BL_OK;
}

static int plan_write(struct view_job *job, const char *name, int64_t epoch, struct bl_error *e)
{
    const struct bl_sequences *t = &job->table;
    struct bl_output out = {0};
    struct bl_plan_info info;
    char *path = bl_path_join(job->request->output, name);
    int code = path ? plan_shift(job, e) : bl_error_memory(e);
    if (code)
        goto out;
    bl_plan_info_make(&info, &job->plan, job->request->options);
    info.seed += (uint64_t)epoch;
    code = bl_output_own(&out, path, e);
    if (!code)
        code = bl_index_write(&out, &job->plan, t->length, t->count, &info, e);
    if (!code)
        code = bl_output_commit(&out, e);
    if (!code)
        code = bl_manifest_add_file(job->manifest, job->request->output, name, e);
    if (!code && epoch == 0) {
        job->manifest->plan_info = info;
        code = plan_take_digest(job, e);
    }
out:
    bl_output_abort(&out);
    free(path);
    return code;
}

/* The most blocks of any epoch, where a random fill gives each a different number. */
static int plans_most_blocks(struct view_job *job, size_t *most, struct bl_error *e)
{
    const struct bl_plan_options *o = job->request->options;
    bool vary = !view_is_blended(job->request) && job->request->epochs > 1 && bl_strategies[o->strategy]->is_packed &&
                bl_fills[o->fill]->is_random;
    int code = BL_OK;
    *most = 0;
    for (int64_t k = 0; vary && k < job->request->epochs && !code; k++) {
        code = plan_draw(job, k, 0, e);
        *most = job->plan.blocks > *most ? job->plan.blocks : *most;
    }
    return code;
}

static int plans_write(struct view_job *job, struct bl_view_made *made, struct bl_error *e)
{
    struct bl_format *format = &job->manifest->format;
    char name[BL_EPOCHS_NAME_MAX] = BL_INDEX_FILE;
    size_t least = 0;
    int code = plans_most_blocks(job, &least, e);
    format->S = 1;
    format->has_source_start = false;
    for (int64_t k = 0; k < job->request->epochs && !code; k++) {
        if (k > 0)
            bl_epochs_name(k, name);
        code = plan_draw(job, k, least, e);
        if (!code && k == 0) {
            made->plan = job->plan;
            format->T = job->plan.T;
            format->blocks = (int64_t)job->plan.blocks;
            code = sources_count(job, e);
        }
        if (!code)
            code = plan_write(job, name, k, e);
        format->S = job->plan.max_sequences > format->S ? job->plan.max_sequences : format->S;
    }
    return code;
}

/* --- all of it -------------------------------------------------------------------------------------------------- */

static int sources_set_paths(struct view_job *job, struct bl_error *e)
{
    int code = BL_OK;
    for (int s = 0; s < job->request->count && !code; s++)
        code = bl_view_source_make_path(job->request->output, job->request->dir[s], &job->manifest->source[s].path, e);
    return code;
}

static int view_write(struct view_job *job, struct bl_view_made *made, struct bl_error *e)
{
    const char *dir = job->request->output;
    struct bl_manifest *m = job->manifest;
    char *plans = job->request->epochs > 1 ? bl_path_join(dir, BL_EPOCHS_DIR) : NULL;
    int code = sources_set_paths(job, e);
    if (!code && job->request->epochs > 1)
        code = plans ? bl_fs_mkdirs(plans, e) : bl_error_memory(e);
    free(plans);
    if (!code)
        code = plans_write(job, made, e);
    if (!code)
        code = bl_places_write(&job->places, dir, &m->format, &job->values, job->table.repeated, job->table.repeats, e);
    if (!code)
        code = bl_manifest_add_file(m, dir, BL_PLACES_FILE, e);
    if (!code)
        code = bl_manifest_configure(m, job->identity.data, e);
    return code ? code : bl_manifest_write(m, dir, e);
}

int bl_view_make(const struct bl_view_request *request, struct bl_view_made *made, struct bl_error *e)
{
    struct view_job job = {.request = request, .manifest = &made->manifest, .lock = -1};
    *made = (struct bl_view_made){.existed = false};
    int code = sources_open(&job, e);
    if (!code)
        code = view_identify(&job, e);
    if (!code)
        code = output_open(&job, &made->existed, e);
    if (code || made->existed)
        goto out;
    code = sequences_read(&job, e);
    if (!code)
        code = planner_prepare(&job, e);
    if (!code)
        code = view_write(&job, made, e);
out:
    bl_view_close_sources(job.source, (size_t)request->count);
    bl_buffer_free(&job.identity);
    bl_sequences_close(&job.table);
    bl_places_free(&job.places);
    bl_attribute_values_free(&job.values);
    bl_planner_free(&job.planner);
    bl_blend_free(&job.blend);
    bl_plan_free(&job.plan);
    free(job.first_row);
    made->plan.block_ptr = NULL; /* only its counts are of use */
    made->plan.sequence = NULL;
    made->plan.length = made->plan.source_start = NULL;
    if (job.lock >= 0)
        close(job.lock);
    if (code && job.is_new)
        rmdir(request->output); /* unless something was written, with which the next run goes on */
    if (code)
        bl_view_made_free(made);
    return code;
}

void bl_view_made_free(struct bl_view_made *made)
{
    bl_manifest_free(&made->manifest);
    *made = (struct bl_view_made){.existed = false};
}
