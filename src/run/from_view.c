/* Packs a view: the table from the tables of the sources, the plan and the attributes from the files of the view, and
 * the steps by the copier of run/assembler.c.
 *
 * Example: a view of two datasets with 100 and 50 rows has a table of 150 rows, in the order of the sources. Its extra
 * columns are those of the first source and then those that only the second one has; a row has an empty value in a
 * column that its source does not have. */
#include "run/from_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/output.h"
#include "base/text.h"
#include "kind/kinds.h"
#include "run/job.h"
#include "run/plan.h"
#include "scan/extend.h"
#include "store/epochs.h"
#include "store/row_reader.h"
#include "store/shard_reader.h"

/* --- the kind --------------------------------------------------------------------------------------------------- */

/* The following functions are those of bl_view_kind; config is the struct bl_view. This one returns the word for steps
 * in messages, by the kind that made the first field. */
static const char *view_steps(const void *config)
{
    const struct bl_view *view = config;
    const struct bl_kind *kind = bl_kind_find(view->manifest.format.fields.field[0].kind);
    return kind ? kind->steps : "steps";
}

/* The fields are those of the view; no row is needed to know them. */
static int view_fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row,
                       struct bl_fields *fields, struct bl_error *e)
{
    (void)env;
    (void)row;
    (void)e;
    *fields = ((const struct bl_view *)config)->manifest.format.fields;
    return BL_OK;
}

/* Appends how the field was made, as the sources recorded it. */
static void view_describe(const void *config, const struct bl_field *field, struct bl_buffer *out)
{
    const struct bl_manifest *m = &((const struct bl_view *)config)->manifest;
    for (int f = 0; f < m->format.fields.count; f++) {
        if (strcmp(m->format.fields.field[f].name, field->name) == 0)
            bl_buffer_text(out, m->made[f]);
    }
}

/* A reader of stored steps, used only by external bucketing (run/bucketing.h), which reads in the order of the rows. */
struct view_reader {
    struct bl_reader base;
    struct bl_view view;
};

static int view_reader_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                             struct bl_error *e)
{
    struct view_reader *r = (struct view_reader *)reader;
    int64_t step = bl_places_begin(&r->view.places, request->sequence) + request->source_start;
    int code = BL_OK;
    (void)note;
    for (int f = 0; f < r->view.manifest.format.fields.count && !code; f++)
        code = bl_view_copy_steps(&r->view, request->sequence, step, request->steps, f, request->out[f], e);
    return code;
}

static void view_reader_close(struct bl_reader *reader)
{
    bl_view_close(&((struct view_reader *)reader)->view);
    free(reader);
}

static int view_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                            struct bl_reader **reader, struct bl_error *e)
{
    struct view_reader *r = calloc(1, sizeof *r);
    (void)env;
    (void)fields;
    if (!r)
        return bl_error_memory(e);
    r->base = (struct bl_reader){view_reader_piece, view_reader_close};
    int code = bl_view_open(&r->view, ((const struct bl_view *)config)->dir, e);
    if (code)
        free(r);
    else
        *reader = &r->base;
    return code;
}

/* Emits the libraries that the view recorded, without zstd: if this run compresses, the version of the running zstd is
 * recorded instead. */
static int view_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                         struct bl_error *e)
{
    (void)env, (void)e;
    const struct bl_manifest_pairs *libraries = &((const struct bl_view *)config)->manifest.libraries;
    for (size_t i = 0; i < libraries->count; i++) {
        if (strcmp(libraries->pair[i].name, "zstd") != 0)
            emit(sink, libraries->pair[i].name, libraries->pair[i].value);
    }
    return BL_OK;
}

const struct bl_kind bl_view_kind = {
    .name = "view",
    .title = "View",
    .steps = "steps",
    .extensions = (const char *const[]){NULL},
    .steps_of = view_steps,
    .scan = &(const struct bl_kind_scan){.chunk_bytes = 0},
    .read =
        &(const struct bl_kind_read){
            .fields = view_fields, .open = view_reader_open, .describe = view_describe, .versions = view_versions},
};

/* --- opening ---------------------------------------------------------------------------------------------------- */

int bl_from_view_open(struct bl_view *view, const char *dir, bool *found, struct bl_error *e)
{
    bool has_places = false;
    *found = false;
    int code = bl_fs_find(dir, BL_MANIFEST_FILE, found, e);
    if (!code)
        code = bl_fs_find(dir, BL_PLACES_FILE, &has_places, e);
    *found = !code && *found && has_places;
    if (code || !*found)
        return code;
    code = bl_view_open(view, dir, e);
    *found = !code && bl_manifest_is_view(&view->manifest);
    if (!code && !*found)
        bl_view_close(view);
    if (*found && bl_manifest_is_blend(&view->manifest)) {
        code = bl_error_set(e, BL_EUSAGE,
                            "a view with weights cannot be packed: its sequences may repeat, and a dataset has each "
                            "step once: %s",
                            dir);
        bl_view_close(view);
    }
    return code;
}

/* The options that decide bytes of a view that is packed. */
static const char *const deciding[] = {"shard-size", "compress", "frame-size", "encode", "segment-ids", "about", NULL};

/* The options that may be given and do not decide bytes. */
static const char *const allowed[] = {"output",   "parents",    "memory", "task",  "repair",       "config",
                                      "jobs",     "quiet",      "help",   "spool", "print-config", "dry-run",
                                      "progress", "skipped-ok", "json",   NULL};

/* Returns whether the list, which NULL ends, has the name. */
static bool name_is_listed(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0)
        list++;
    return *list;
}

int bl_from_view_check(const struct bl_view *view, const struct bl_options *given, struct bl_pack_options *options,
                       struct bl_plan_options *plan_options, struct bl_error *e)
{
    const struct bl_format *format = &view->manifest.format;
    for (struct bl_option_match m = {0}; bl_options_next(given, &m);) {
        const char *name = m.option->name;
        bool is_taken =
            name_is_listed(allowed, name) || (name_is_listed(deciding, name) && strcmp(name, "encode") != 0);
        if (!is_taken && bl_options_origin(given, name) != BL_ORIGIN_DEFAULT)
            return bl_error_set(e, BL_EUSAGE,
                                "%s%s: it has no effect on %s, a view, whose sources and plan decide this: leave it "
                                "out",
                                strlen(name) > 1 ? "--" : "-", name, view->dir);
    }
    for (int f = 0; f < format->fields.count; f++) {
        if (format->encoding[f].kind != BL_ENCODING_RAW)
            options->encode = format->encoding[f];
    }
    if (format->pad_repeat)
        options->pad = BL_PAD_REPEAT;
    if (options->encode.kind == BL_ENCODING_JPEG && options->compress.on)
        return bl_error_set(e, BL_EUSAGE, "--compress: %s has JPEG files, which do not get smaller by it: leave it out",
                            view->dir);
    if (options->encode.kind == BL_ENCODING_DELTA && !options->compress.on)
        return bl_error_set(e, BL_EUSAGE, "%s has differences of frames, as large as the frames: give --compress zstd",
                            view->dir);
    BL_TRY(bl_recorded_plan_options(&view->manifest, plan_options, e));
    plan_options->capacity.count = 0; /* the plan of the view has the capacities and the own steps */
    return BL_OK;
}

/* Appends the line of --about: the one that is given, or else that of the sources. BL_EUSAGE: the sources differ. */
static int identify_about(const struct bl_packing_request *request, const struct bl_option_match *given,
                          struct bl_buffer *lines, struct bl_error *e)
{
    const struct bl_view *view = request->view;
    const char *found = "";
    if (request->options->about) {
        bl_option_identity(given->group, given->option, lines);
        return BL_OK;
    }
    for (size_t s = 0; s < view->sources; s++) {
        const char *about = bl_manifest_option(&view->source[s].manifest, "about");
        if (*found && *about && strcmp(found, about) != 0)
            return bl_error_set(e, BL_EUSAGE, "the sources of %s have different --about: give that of the new dataset",
                                view->dir);
        if (*about)
            found = about;
    }
    if (*found)
        bl_buffer_printf(lines, "about: %s\n", found);
    return BL_OK;
}

int bl_packing_identify_view(const struct bl_packing_request *request, struct bl_buffer *lines, struct bl_error *e)
{
    struct bl_option_match match;
    bool whole_frames = request->options->frame_size == (int64_t)BL_FRAME_MAX;
    int code = bl_identity_of_manifest(&request->view->manifest, lines, e);
    bl_buffer_text(lines, "view: true\n");
    for (int i = 0; deciding[i] && !code; i++) {
        bool is_default = whole_frames && strcmp(deciding[i], "frame-size") == 0;
        if (is_default || !bl_options_find(request->given, deciding[i], strlen(deciding[i]), &match))
            continue;
        if (strcmp(deciding[i], "about") == 0)
            code = identify_about(request, &match, lines, e);
        else
            bl_option_identity(match.group, match.option, lines);
    }
    return code ? code : bl_buffer_check(lines, e);
}

/* --- the table -------------------------------------------------------------------------------------------------- */

/* Writes the table: the rows of the sources, with the number of stored steps as their length. */
struct rows_writer {
    struct bl_packing *p;
    struct bl_view *view;
    struct bl_buffer columns; /* names of the extra columns of all sources, with a tab before each */
    int64_t parts, missing;   /* number of sequences that are stored only in part, and their missing steps */
    struct bl_buffer line, extra, value;
    /* Used if --extend left out rows of a source: the sequences that the sources hold, and a row as its source has it.
     */
    bool is_extended;
    struct bl_extend held;
    struct bl_row_reader own;
};

/* Sets w->columns to the extra columns of all sources, each once, in the order of the sources. */
static int columns_collect(struct rows_writer *w, struct bl_error *e)
{
    struct bl_buffer name = {0};
    bl_buffer_text(&w->columns, "");
    int code = bl_buffer_check(&w->columns, e);
    for (size_t s = 0; s < w->view->sources && !code; s++) {
        const struct bl_sequences *table;
        code = bl_dataset_sequences(&w->view->source[s], &table, e);
        if (code)
            break;
        w->is_extended |= table->left_out.by[BL_LEFT_OUT_EXTEND] > 0;
        /* The names in extra have a tab before each. */
        for (const char *extra = table->file[0].columns.extra; *extra && !code;) {
            size_t size = strcspn(++extra, "\t");
            bl_buffer_clear(&name);
            bl_buffer_append(&name, extra, size);
            code = bl_buffer_check(&name, e);
            if (!code && bl_columns_find(w->columns.data, name.data) < 0)
                bl_buffer_printf(&w->columns, "\t%s", name.data);
            extra += size;
        }
        code = code ? code : bl_buffer_check(&w->columns, e);
    }
    bl_buffer_free(&name);
    return code;
}

/* Marks a row that --extend left out of its source, if another source of the view holds the sequence: then the reason
 * says that the sequence is not lost. */
static int row_find_held(struct rows_writer *w, int64_t i, struct bl_row *row, struct bl_error *e)
{
    const struct bl_view_source *source = bl_view_source_of_row(w->view->manifest.source, w->view->sources, i);
    struct bl_left_out_counts by = {0};
    const struct bl_sequences *table;
    int dataset = -1;
    if (row->status == BL_ROW_DROPPED)
        bl_left_out_count(&by, row->reason);
    if (!by.by[BL_LEFT_OUT_EXTEND])
        return BL_OK;
    BL_TRY(bl_dataset_sequences(&w->view->source[source - w->view->manifest.source], &table, e));
    BL_TRY(bl_row_reader_read(table, (size_t)(i - source->first_row), &w->own, e));
    w->own.row.status = BL_ROW_OK;
    int code = bl_extend_find(&w->held, &w->own.row, &dataset, e);
    if (dataset >= 0)
        row->reason = BL_REASON_HELD;
    return code;
}

/* Returns the number of the own field whose steps the column has, among the own fields of the view, or -1. */
static int column_find_own(const struct rows_writer *w, const char *name)
{
    const struct bl_fields *fields = &w->view->manifest.format.fields;
    for (int f = 0; f < fields->count; f++) {
        const char *own = fields->field[f].name;
        if (fields->field[f].own && strncmp(name, own, strlen(own)) == 0 &&
            strcmp(name + strlen(own), BL_PLAN_OWN_SUFFIX) == 0)
            return bl_fields_own_number(fields, f);
    }
    return -1;
}

/* Sets row->extra to the values of row i in the columns of all sources; a column that its source does not have is
 * empty. The own steps are those that are stored. */
static void row_set_extra(struct rows_writer *w, int64_t i, struct bl_row *row)
{
    struct bl_buffer name = {0};
    bool own = bl_fields_count_own(&w->view->manifest.format.fields) > 0;
    if (!*w->columns.data || (row->columns && strcmp(row->columns, w->columns.data) == 0 && !own))
        return;
    bl_buffer_clear(&w->extra);
    for (const char *at = w->columns.data; *at;) {
        size_t size = strcspn(++at, "\t");
        bl_buffer_clear(&name);
        bl_buffer_append(&name, at, size);
        bl_buffer_clear(&w->value);
        bl_buffer_byte(&w->extra, '\t');
        const int k = name.failed ? -1 : column_find_own(w, name.data);
        if (k >= 0)
            bl_buffer_printf(&w->extra, "%" PRId32, bl_places_own(&w->view->places, i, k).length);
        else if (!name.failed && bl_row_get_value(row, name.data, &w->value))
            bl_text_escape(&w->extra, w->value.data, w->value.size);
        w->extra.failed |= name.failed | w->value.failed;
        at += size;
    }
    row->extra = w->extra.data;
    bl_buffer_free(&name);
}

/* Writes a row that changes: its columns, its length or its status. */
static int source_write_row(struct rows_writer *w, int64_t i, struct bl_output *out, struct bl_error *e)
{
    const struct bl_row *there;
    BL_TRY(bl_view_row(w->view, i, &there, e));
    struct bl_row row = *there;
    bl_buffer_clear(&w->line);
    row_set_extra(w, i, &row);
    /* A row that failed in its source becomes a skipped row. A row of which nothing is stored was left out of its
     * source, and becomes a dropped row. */
    int64_t stored = row.status == BL_ROW_OK ? bl_places_steps(&w->view->places, i) : 0;
    if (row.status == BL_ROW_OK) {
        w->parts += stored < row.length;
        w->missing += row.length - stored;
    }
    row.length = stored;
    if (row.status == BL_ROW_OK && !stored) {
        row.status = BL_ROW_DROPPED;
        row.reason = "not stored";
    } else if (row.status == BL_ROW_FAILED) {
        row.status = BL_ROW_SKIPPED;
    }
    BL_TRY(row_find_held(w, i, &row, e));
    bl_row_format(&row, &w->line);
    w->line.failed |= w->extra.failed;
    BL_TRY(bl_buffer_check(&w->line, e));
    return bl_output_write(out, w->line.data, w->line.size, e);
}

/* Writes the rows of source s. A row that is stored as a whole is copied as a line, without parsing, if all columns are
 * those of this source in the usual order. */
static int source_write(struct rows_writer *w, size_t s, struct bl_output *out, struct bl_error *e)
{
    const struct bl_view_source *source = &w->view->manifest.source[s];
    const struct bl_sequences *table;
    struct bl_row_reader text = {0};
    BL_TRY(bl_dataset_sequences(&w->view->source[s], &table, e));
    const struct bl_columns *columns = &table->file[0].columns;
    bool is_copy = bl_columns_are_ordered(columns) && strcmp(columns->extra, w->columns.data) == 0 &&
                   !w->view->places.renamed_count && (int64_t)table->count == source->rows;
    int code = BL_OK;
    for (int64_t i = source->first_row; i < source->first_row + source->rows && !code; i++) {
        size_t row = (size_t)(i - source->first_row);
        if (bl_cancelled(w->p->request.cancel))
            code = BL_ECANCEL;
        else if (!is_copy || !table->length[row] || table->length[row] != bl_places_steps(&w->view->places, i))
            code = source_write_row(w, i, out, e);
        else if (!(code = bl_row_reader_line(table, row, &text, e)))
            code = bl_output_write(out, text.line.data, text.line.size, e);
    }
    bl_row_reader_free(&text);
    return code;
}

static int source_write_rows(struct rows_writer *w, struct bl_output *out, struct bl_error *e)
{
    BL_TRY(columns_collect(w, e));
    if (w->is_extended) {
        char **path = bl_view_source_tables(&w->view->manifest, w->view->dir);
        int code = path ? bl_extend_open_tables(&w->held, (const char *const *)path, (int)w->view->sources,
                                                w->p->request.cancel, e)
                        : bl_error_memory(e);
        bl_path_free_all(path, w->view->sources);
        BL_TRY(code);
    }
    bl_buffer_printf(&w->line, BL_SEQUENCES_COLUMNS "%s\n", w->columns.data);
    int code = bl_buffer_check(&w->line, e);
    if (!code)
        code = bl_output_write(out, w->line.data, w->line.size, e);
    for (size_t s = 0; s < w->view->sources && !code; s++)
        code = source_write(w, s, out, e);
    return code;
}

int bl_packing_fill_view_table(struct bl_packing *p, struct bl_output *out, struct bl_error *e)
{
    struct rows_writer w = {.p = p, .view = p->request.view};
    char a[BL_PLURAL_SIZE], b[32];
    int code = source_write_rows(&w, out, e);
    if (!code && w.parts)
        bl_packing_message(p, false, "%s not stored as a whole: %s steps of them are missing from the sources",
                           bl_text_plural(a, w.parts, "sequence is|sequences are"), bl_text_count(b, w.missing));
    bl_buffer_free(&w.columns);
    bl_buffer_free(&w.line);
    bl_buffer_free(&w.extra);
    bl_buffer_free(&w.value);
    bl_extend_close(&w.held);
    bl_row_reader_free(&w.own);
    return code;
}

/* --- the plan --------------------------------------------------------------------------------------------------- */

int bl_packing_read_view_plan(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_view *view = p->request.view;
    const struct bl_manifest *m = &view->manifest;
    struct bl_plan *plan = &p->plan;
    BL_TRY(bl_index_read_plan(&view->index, m->format.T, m->align, plan, e));
    /* In a view, source_start counts from the beginning of the sequence. A row of the table of this dataset begins with
     * the first stored step. */
    for (size_t i = 0; i < plan->pieces && view->places.source_start; i++)
        plan->source_start[i] -= bl_places_begin(&view->places, plan->sequence[i]);
    plan->is_store = bl_plan_info_is_store(&m->plan_info);
    plan->overlap = m->plan_info.overlap;
    int code = bl_plan_check(plan, p->table.length, p->table.count, e);
    if (code)
        return bl_error_prefix(e, "%s", view->index.path), code;
    /* The table also has the rows that the subset of the view left out. They count as left out by the plan. */
    p->plan_info = m->plan_info;
    p->plan_info.sequences = plan->sequences;
    p->plan_info.steps = plan->steps;
    p->plan_info.longest = plan->longest;
    p->plan_info.deleted = plan->deleted;
    p->plan_info.repeated = plan->repeated;
    p->plan_info.cut = plan->cut;
    if (m->plan_info.lower_bound > plan->lower_bound && m->plan_info.lower_bound <= (int64_t)plan->blocks)
        plan->lower_bound = m->plan_info.lower_bound;
    plan->balance = m->plan_info.balance;
    if (bl_epochs_count(m))
        bl_packing_message(p, false,
                           "%s has plans of %" PRId64 " epochs: the first is packed (bload plan --dataset %s "
                           "--epochs N makes further ones)",
                           view->dir, bl_epochs_count(m) + 1, p->request.output);
    return BL_OK;
}

/* --- attributes ------------------------------------------------------------------------------------------------- */

int bl_packing_view_attributes(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_view *view = p->request.view;
    const struct bl_format *format = &view->manifest.format;
    struct bl_attribute_values *values = &p->values;
    size_t rows = (size_t)view->manifest.rows;
    if (rows != p->table.count)
        return bl_error_set(e, BL_EFAIL, "%s has %zu rows, and %s has %zu now", p->state.sequences, p->table.count,
                            view->dir, rows);
    p->format.attributes = format->attributes;
    memcpy(p->format.attribute, format->attribute, sizeof format->attribute);
    if (!format->attributes)
        return BL_OK;
    values->count = format->attributes;
    values->value = calloc(rows, (size_t)values->count * sizeof *values->value);
    if (!values->value)
        return bl_error_memory(e);
    for (int a = 0; a < values->count; a++) {
        for (size_t row = 0; row < rows; row++)
            values->value[row * (size_t)values->count + (size_t)a] = view->places.attribute[a][row];
    }
    return BL_OK;
}

/* --- writing ---------------------------------------------------------------------------------------------------- */

/* A stored frame is decompressed for each piece that is copied from it. If more pieces share a frame, it is cheaper to
 * read in stored order and to put the pieces into buckets. */
#define PIECES_OF_A_FRAME 4

/* Example: a frame holds 1,000 steps and a piece has 20 on average. Then 50 pieces share a frame, and copying them one
 * by one would decompress it 50 times. */
bool bl_packing_view_needs_buckets(const struct bl_packing *p)
{
    const struct bl_view *view = p->request.view;
    const struct bl_fields *fields = &p->format.fields;
    int64_t pieces = (int64_t)p->plan.pieces, mean = pieces ? bl_plan_placed(&p->plan) / pieces + 1 : 1;
    bool needs_buckets = false;
    for (size_t s = 0; s < view->sources; s++) {
        const struct bl_format *stored = &view->source[s].manifest.format;
        for (int f = 0; f < fields->count && stored->compressed; f++) {
            int64_t step = (int64_t)bl_field_step_bytes(&fields->field[f]);
            int64_t block = (int64_t)bl_format_block_bytes(stored, f), frame = (int64_t)bl_format_frame_size(stored);
            frame = block < frame ? block : frame;
            needs_buckets |= frame / step > PIECES_OF_A_FRAME * mean;
        }
    }
    return needs_buckets;
}
