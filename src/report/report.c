/* Reads a dataset or a table for a report: tallies of its rows, the fill of its blocks, and the strategies of the
 * paper.
 *
 * Rows are read once, in order, and only tallies are kept: a table of 10^8 rows needs no more memory than the limit
 * of keys allows. Datasets have a stored plan; a table gets one with T = the longest sequence. */
#include "report/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "kind/kinds.h"
#include "kind/row.h"
#include "plan/options.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/plan_info.h"
#include "store/row_reader.h"

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* The reading keeps the text of one row, and the path of the row before it: the rows of a file follow each other,
 * and its size counts once. */

struct rows_reading {
    struct bl_report *report;
    struct bl_row_reader text;
    struct bl_buffer key, last; /* last: path of the row before */
};

/* Appends a reason with "N" for each number, so that reasons that differ in numbers alone share an entry: "frame 17
 * of 300 is damaged" becomes "frame N of N is damaged". Digits in a name such as h264 stay, and so do the values of
 * options in "left out by --first 100", which are the same for all rows. */
static void rows_append_reason(struct bl_buffer *out, const char *reason)
{
    bool is_name = false;
    if (strncmp(reason, BL_LEFT_OUT, strlen(BL_LEFT_OUT)) == 0) {
        bl_buffer_text(out, reason);
        return;
    }
    /* last is the byte before the present one: a word begins after any byte that is no letter or digit. */
    for (char last = ' '; *reason; last = *reason++) {
        if (!isalnum((unsigned char)last))
            is_name = isalpha((unsigned char)*reason);
        if (is_name || !isdigit((unsigned char)*reason)) {
            bl_buffer_byte(out, *reason);
            continue;
        }
        /* A point or comma belongs to the number only if a digit follows: "1,234.5" is one number, "17." ends a
         * sentence. */
        while (isdigit((unsigned char)reason[1]) ||
               ((reason[1] == '.' || reason[1] == ',') && isdigit((unsigned char)reason[2])))
            reason++;
        bl_buffer_byte(out, 'N');
    }
}

/* Cuts a text to 400 bytes at the beginning of a UTF-8 character: one reason must not fill the page. */
static void rows_cut_text(struct bl_buffer *text)
{
    enum { BYTES_MAX = 400 };
    /* The bytes 10xxxxxx continue a character: the cut goes back to its first byte. */
    if (text->size <= BYTES_MAX)
        return;
    text->size = BYTES_MAX;
    while (text->size && (text->data[text->size] & 0xc0) == 0x80)
        text->size--;
    bl_buffer_text(text, "…");
}

/* Counts a row that was skipped, failed, dropped or damaged under its reason. A row that another dataset holds
 * (--extend) has no fault. */
static int rows_add_reason(struct rows_reading *r, const struct bl_row *row, struct bl_error *e)
{
    struct bl_tally_entry *entry;
    /* An ok row with a reason is damaged and used nevertheless. */
    if ((row->status == BL_ROW_OK && !*row->reason) || bl_row_is_held(row))
        return BL_OK;
    bl_buffer_clear(&r->key);
    bl_buffer_printf(&r->key, "%s\t", row->status == BL_ROW_OK ? "damaged" : bl_row_status_name(row->status));
    size_t begin = r->key.size;
    rows_append_reason(&r->key, row->reason);
    /* Without numbers, the example would only repeat the reason, so the id is enough. */
    bool has_numbers = !r->key.failed && strcmp(r->key.data + begin, row->reason) != 0;
    rows_cut_text(&r->key);
    int code = bl_buffer_check(&r->key, e);
    /* The entry may be the common one, which takes examples of any reason. */
    if (!code)
        code = bl_tally_add(&r->report->reasons, r->key.data, &entry, e);
    if (code || entry->examples == BL_TALLY_EXAMPLES)
        return code;
    bl_buffer_clear(&r->key);
    bl_buffer_printf(&r->key, "%s%s%s", row->id, has_numbers ? ": " : "", has_numbers ? row->reason : "");
    rows_cut_text(&r->key);
    BL_TRY(bl_buffer_check(&r->key, e));
    return bl_tally_add_example(entry, r->key.data, e);
}

/* Counts a row in a tally of folders or files. Only an ok row has steps that are used. */
static int rows_add_place(struct bl_tally *tally, const char *key, const struct bl_row *row, int64_t bytes,
                          struct bl_error *e)
{
    struct bl_tally_entry *entry;
    BL_TRY(bl_tally_add(tally, key, &entry, e));
    entry->steps += row->status == BL_ROW_OK ? row->length : 0;
    entry->bytes += bytes;
    return BL_OK;
}

/* Counts a row under its file and its folder. The folder of a member of a tar is the tar. A row without a path
 * counts under its id. */
static int rows_add_source(struct rows_reading *r, const struct bl_row *row, int64_t bytes, struct bl_error *e)
{
    const char *path = *row->path ? row->path : row->id;
    bl_buffer_clear(&r->key);
    bl_tally_append_folder(path, &r->key);
    int code = bl_buffer_check(&r->key, e);
    if (!code)
        code = rows_add_place(&r->report->folders, r->key.data, row, bytes, e);
    return code || !*row->path ? code : rows_add_place(&r->report->sources, path, row, bytes, e);
}

/* Counts an ok row under the kind, the sampling and the decoder that made its steps. Tables of older versions have
 * no decoder. */
static int rows_add_made(struct rows_reading *r, const struct bl_row *row, int64_t bytes, struct bl_error *e)
{
    struct bl_tally_entry *entry;
    /* The kind may be unknown to this version: its totals are then left out. */
    const struct bl_kind *kind = bl_kind_find(row->kind);
    if (row->status != BL_ROW_OK)
        return BL_OK;
    if (kind)
        bl_kind_add_totals(kind, row, false, &r->report->totals);
    bl_buffer_clear(&r->key);
    bl_buffer_printf(&r->key, "%s\t%s\t", *row->kind ? row->kind : "not known", row->sampling);
    if (row->extra && row->columns)
        bl_row_get_value(row, "decoder", &r->key);
    int code = bl_buffer_check(&r->key, e);
    if (!code)
        code = bl_tally_add(&r->report->made, r->key.data, &entry, e);
    if (code)
        return code;
    entry->steps += row->length;
    entry->bytes += bytes;
    return BL_OK;
}

/* Counts a row in all tallies. The bytes of a file count with the first of its rows. */
static int rows_count_row(struct rows_reading *r, const struct bl_row *row, struct bl_error *e)
{
    /* Rows without a path are new inputs each. Documents of one file follow each other, so comparing with the
     * previous path suffices. */
    bool is_new = !*row->path || !r->last.size || strcmp(r->last.data, row->path) != 0;
    int64_t bytes = is_new && row->bytes > 0 ? row->bytes : 0;
    if (is_new) {
        bl_buffer_clear(&r->last);
        bl_buffer_text(&r->last, row->path);
        r->report->files += *row->path != '\0';
        r->report->file_bytes += bytes;
    }
    BL_TRY(bl_buffer_check(&r->last, e));
    BL_TRY(rows_add_source(r, row, bytes, e));
    BL_TRY(rows_add_made(r, row, bytes, e));
    return rows_add_reason(r, row, e);
}

/* Reads all rows, and sets the number of files, their bytes and the tallies, which are sorted at the end. */
static int report_read_rows(struct bl_report *report, const struct bl_sequences *table, struct bl_error *e)
{
    struct rows_reading r = {.report = report};
    int code = BL_OK;
    /* A row is read from its file each time, as the table keeps no strings in memory. */
    for (size_t i = 0; i < table->count && !code; i++) {
        code = bl_row_reader_read(table, i, &r.text, e);
        if (!code)
            code = rows_count_row(&r, &r.text.row, e);
        if (!code)
            code = bl_card_add(&report->card, &r.text, bl_card_source(&report->info.manifest, i), e);
    }
    bl_card_finish(&report->card);
    bl_tally_sort(&report->reasons);
    bl_tally_sort(&report->folders);
    bl_tally_sort(&report->sources);
    bl_tally_sort(&report->made);
    bl_row_reader_free(&r.text);
    bl_buffer_free(&r.key);
    bl_buffer_free(&r.last);
    return code;
}

/* --- table of ranks ----------------------------------------------------------------------------------------------- */

/* Opens a table of world_size ranks. batch_size: the blocks of a rank in a step of training; 0 counts as 1. */
int bl_rank_table_open(struct bl_rank_table *t, int64_t world_size, int64_t batch_size, struct bl_error *e)
{
    *t = (struct bl_rank_table){.world_size = world_size, .batch_size = batch_size > 0 ? batch_size : 1};
    t->rank = calloc((size_t)world_size, sizeof *t->rank);
    return t->rank ? BL_OK : bl_error_memory(e);
}

void bl_rank_table_free(struct bl_rank_table *t)
{
    free(t->rank);
    *t = (struct bl_rank_table){0};
}

/* Adds a value to a range. first: the range has no value yet. */
static void rank_range_add(struct bl_rank_range *range, int64_t value, bool first)
{
    range->least = first || value < range->least ? value : range->least;
    range->most = first || value > range->most ? value : range->most;
    range->sum += (double)value;
}

/* Ends a step of training: each rank has its blocks. The most expensive rank decides how long the step takes, so the
 * sums of the maxima and of the means give the imbalance. */
static void rank_table_end_step(struct bl_rank_table *t)
{
    int64_t max_cost = 0;
    double all = 0;
    for (int64_t r = 0; r < t->world_size; r++) {
        struct bl_rank *rank = &t->rank[r];
        /* present[] has the sums of the step that is complete now, in the same order. */
        struct bl_rank_range *range[] = {&rank->sequences, &rank->steps, &rank->cost};
        max_cost = rank->present[2] > max_cost ? rank->present[2] : max_cost;
        all += (double)rank->present[2];
        for (int k = 0; k < 3; k++) {
            rank_range_add(range[k], rank->present[k], !t->steps);
            rank->present[k] = 0;
        }
    }
    t->steps++;
    t->max_cost += (double)max_cost;
    t->costs += all / (double)t->world_size;
}

void bl_rank_table_add(struct bl_rank_table *t, int64_t sequences, int64_t steps, int64_t cost)
{
    /* Block b belongs to rank b modulo the world size, as the samplers of the readers divide them. */
    struct bl_rank *rank = &t->rank[t->blocks++ % t->world_size];
    rank->present[0] += sequences;
    rank->present[1] += steps;
    rank->present[2] += cost;
    /* All ranks have batch_size blocks: the step of training is complete. A last incomplete step is left out. */
    if (t->blocks % (t->world_size * t->batch_size) == 0)
        rank_table_end_step(t);
}

double bl_rank_table_imbalance(const struct bl_rank_table *t)
{
    return t->costs > 0 ? t->max_cost / t->costs - 1 : 0;
}

/* --- reports ------------------------------------------------------------------------------------------------------ */

void bl_report_free(struct bl_report *report)
{
    bl_info_free(&report->info);
    bl_rank_table_free(&report->ranks);
    bl_tally_free(&report->reasons);
    bl_tally_free(&report->folders);
    bl_tally_free(&report->sources);
    bl_tally_free(&report->made);
    bl_card_free(&report->card);
    *report = (struct bl_report){0};
}

/* --- fill of blocks --------------------------------------------------------------------------------------------- */

/* Counts the blocks of a plan by their fill, and by rank. The cost of a block is the sum of the squared lengths,
 * that of attention within sequences. */
static void report_fill_of_plan(struct bl_report *r, const struct bl_plan *plan, const int64_t *length)
{
    for (size_t b = 0; b < plan->blocks; b++) {
        int64_t steps = 0, squares = 0;
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++) {
            int64_t piece = bl_plan_piece_length(plan, length, (size_t)p);
            /* A piece has at most T steps, so that the square of its length fits 64 bits. */
            steps += piece;
            squares += piece * piece;
        }
        /* A full block has the index BL_REPORT_FILLS, the last entry. */
        r->fill[steps * BL_REPORT_FILLS / plan->T]++;
        if (r->ranks.rank)
            bl_rank_table_add(&r->ranks, plan->block_ptr[b + 1] - plan->block_ptr[b], steps, squares);
    }
}

/* Counts the blocks of the stored plan, 4096 at a time: an index of 10^8 pieces does not fit in memory as a plan. */
static int report_fill_of_index(struct bl_report *r, const int64_t *length, struct bl_error *e)
{
    enum { BLOCKS = 4096 };
    const struct bl_manifest *m = &r->info.manifest;
    struct bl_index index = {.fd = -1};
    /* The index is read by ranges of blocks; each part is a plan whose first block has the number 0. */
    BL_TRY(m->plan_info.world_size > 1
               ? bl_rank_table_open(&r->ranks, m->plan_info.world_size, m->plan_info.batch_size, e)
               : BL_OK);
    int code = bl_index_open(&index, r->path, m->format.blocks, bl_manifest_index_fields(m), e);
    for (int64_t first = 0; !code && first < index.blocks; first += BLOCKS) {
        int64_t end = first + BLOCKS < index.blocks ? first + BLOCKS : index.blocks;
        struct bl_plan part = {0};
        code = bl_index_read_part(&index, m->format.T, m->align, first, end, &part, e);
        if (!code)
            report_fill_of_plan(r, &part, length);
        bl_plan_free(&part);
    }
    bl_index_close(&index);
    return code;
}

/* --- the paper's strategies ------------------------------------------------------------------------------------- */

/* Returns the options under which the strategies are compared: those of the dataset's plan. Sequences longer than T
 * are handled as in the dataset, or split where its strategy cuts sequences in another way (sample, mix). T = 0 lets
 * the planner take the longest sequence. */
static struct bl_plan_options report_options(const struct bl_report *r, const struct bl_sequences *t)
{
    const struct bl_plan_info *w = &r->info.manifest.plan_info;
    struct bl_plan_options o = {.T = w->T, .seed = w->seed, .world_size = w->world_size, .batch_size = w->batch_size};
    struct bl_plan_oversize over;
    bool is_clip = strcmp(w->strategy, "sample") == 0 || strcmp(w->strategy, "mix") == 0;
    /* A store has no T, and a clip has the T of its strategy as the length of clips. */
    if (r->is_table || is_clip || bl_plan_info_is_store(w))
        o.T = 0;
    o.clip = is_clip ? w->T : 0;
    bl_plan_find_oversize(&over, t->length, t->count, &o, o.T ? o.T : BL_T_MAX);
    const char *given = r->is_table ? "" : bl_manifest_option(&r->info.manifest, "oversize");
    /* The names are in the order of the enumeration. A value that is unknown leaves the default. */
    for (int i = 0; over.count && bl_oversize_names[i]; i++)
        o.oversize = strcmp(bl_oversize_names[i], given) == 0 ? (enum bl_oversize)i : o.oversize;
    if (over.count && o.oversize == BL_OVERSIZE_ERROR)
        o.oversize = BL_OVERSIZE_SPLIT;
    o.overlap = o.oversize == BL_OVERSIZE_SPLIT ? w->overlap : 0;
    return o;
}

/* Makes a row for each strategy of the paper. A dataset that was packed by "block" has its own row already; for a
 * table, the plan of "block" is also the plan of the report. */
static int report_compare(struct bl_report *r, const struct bl_sequences *t, struct bl_error *e)
{
    struct bl_plan_info *w = &r->info.manifest.plan_info;
    struct bl_plan_options options = report_options(r, t);
    int code = BL_OK;
    for (int i = 0; i < BL_REPORT_ROWS && !code; i++) {
        bool is_block = i == BL_STRATEGY_BLOCK;
        struct bl_plan plan = {0};
        bl_compare_row_set(is_block ? BL_COMPARE_ROWS - 1 : i, &options);
        if (is_block && !r->is_table && strcmp(w->strategy, "block") == 0) {
            r->row[r->rows_compared++] = *w;
            continue;
        }
        code = bl_compare_row_make(&r->row[r->rows_compared], t->length, t->count, &options,
                                   is_block && r->is_table ? &plan : NULL, e);
        r->rows_compared += !code;
        if (!code && is_block && r->is_table) {
            *w = r->row[i];
            report_fill_of_plan(r, &plan, t->length);
        }
        bl_plan_free(&plan);
    }
    return code;
}

/* --- all together ----------------------------------------------------------------------------------------------- */

int bl_report_open_rows(const char *dir, const struct bl_manifest *m, struct bl_sequences *table, struct bl_error *e)
{
    const struct bl_sequences_columns columns = {.may_repeat = true};
    if (!bl_manifest_is_view(m))
        return bl_sequences_open_dataset(table, dir, NULL, e);
    /* The tables of a view's sources are read as one table. */
    char **path = bl_view_source_tables(m, dir);
    int code = path ? bl_sequences_open_columns(table, (const char *const *)path, (int)m->sources, &columns, e)
                    : bl_error_memory(e);
    bl_path_free_all(path, m->sources);
    return code;
}

/* Returns the duration of the ok rows in hours, or 0 if the kind has no rate. */
static double report_hours(const struct bl_sequences *t)
{
    const struct bl_kind *kind = t->kind ? bl_kind_find(t->kind) : NULL;
    int64_t num, den;
    if (!kind || !bl_kind_rate(kind, t->sampling, &num, &den))
        return 0;
    return (double)t->steps * (double)den / (double)num / 3600;
}

/* Sets the members of info that bl_info_read sets for a dataset, with the same histogram of lengths. */
static void report_describe_table(struct bl_report *r, const struct bl_sequences *t)
{
    struct bl_info *info = &r->info;
    const struct bl_plan_info *w = &info->manifest.plan_info;
    info->damaged = t->damaged;
    info->dropped = bl_sequences_dropped(t);
    info->excluded = t->excluded - t->held;
    info->fault_count = bl_sequences_unusable(t) + t->damaged;
    info->manifest.skipped = t->by_status[BL_ROW_SKIPPED] - t->empty;
    info->manifest.failed = t->by_status[BL_ROW_FAILED];
    if (!w->blocks)
        return;
    info->hours = report_hours(t);
    /* The widths are whole numbers, rounded up: the longest sequence lies in the last bar. */
    info->bar_width = (w->longest - 1) / BL_INFO_BARS + 1;
    /* The longest sequence decides the width: BL_INFO_BARS bars cover 1 to longest. */
    info->bars = (int)((w->longest - 1) / info->bar_width + 1);
    for (size_t i = 0; i < t->count; i++) {
        if (t->length[i])
            info->bar[(t->length[i] - 1) / info->bar_width]++;
    }
}

int bl_report_read(struct bl_report *report, const char *path, bool is_table, struct bl_error *e)
{
    struct bl_sequences table = {0};
    *report = (struct bl_report){.path = path, .is_table = is_table};
    BL_TRY(is_table ? BL_OK : bl_info_read(&report->info, path, e));
    BL_TRY(is_table ? bl_sequences_open(&table, &path, 1, false, e)
                    : bl_report_open_rows(path, &report->info.manifest, &table, e));
    report->rows = (int64_t)table.count;
    report->empty = table.empty;
    memcpy(report->by_status, table.by_status, sizeof report->by_status);
    int code = report_read_rows(report, &table, e);
    /* A view may plan parts of its sources or repeat some, so that the same lengths would not be compared. */
    if (!code && table.steps && !bl_manifest_is_view(&report->info.manifest))
        code = report_compare(report, &table, e);
    if (!code && report->is_table)
        code = bl_quantiles(table.length, table.count, report->info.quantile, e);
    if (!code && report->is_table)
        report_describe_table(report, &table);
    else if (!code)
        code = report_fill_of_index(report, table.length, e);
    bl_sequences_close(&table);
    return code;
}

/* --- table as JSON ------------------------------------------------------------------------------------------------ */

/* Returns an object for a reason, with the id of its first rows. The common entry of all further reasons has no key:
 * status and reason are null. */
static json_t *reason_json(const struct bl_tally_entry *entry)
{
    json_t *first = json_array(), *status = NULL, *reason = NULL;
    /* A status is at most 15 bytes long; a longer word would be invalid and becomes empty. */
    char word[16] = "";
    if (entry->key) {
        size_t size = strcspn(entry->key, "\t");
        memcpy(word, entry->key, size < sizeof word ? size : 0);
        status = json_string(word);
        reason = bl_jansson_escaped(entry->key + size + 1);
    }
    for (int i = 0; i < entry->examples; i++)
        bl_jansson_push(&first, bl_jansson_escaped(entry->example[i]));
    return json_pack("{s:o, s:o, s:I, s:o}", "status", entry->key ? status : json_null(), "reason",
                     entry->key ? reason : json_null(), "rows", (json_int_t)entry->rows, "first", first);
}

/* Returns the reasons as an array, the common entry last. */
static json_t *reasons_json(const struct bl_tally *reasons)
{
    json_t *list = json_array();
    for (size_t i = 0; i < reasons->count; i++)
        bl_jansson_push(&list, reason_json(&reasons->entry[i]));
    if (reasons->rest.rows)
        bl_jansson_push(&list, reason_json(&reasons->rest));
    return list;
}

struct json_t *bl_totals_json(const struct bl_totals *totals)
{
    json_t *object = json_object();
    /* The list of totals ends with an entry without a column. Sums of 0 say nothing and are left out. */
    for (int t = 0; totals->total && totals->total[t].column; t++) {
        const struct bl_total *total = &totals->total[t];
        if (totals->sum[t])
            bl_jansson_set(
                &object, total->name ? total->name : total->column,
                json_pack("{s:I, s:I}", "sum", (json_int_t)totals->sum[t], "rows", (json_int_t)totals->rows[t]));
    }
    return object;
}

/* Appends the JSON of a table. Takes ownership of run. */
static int table_json(const struct bl_report *r, const struct bl_sequences *t, json_t *run, struct bl_buffer *out,
                      struct bl_error *e)
{
    json_t *object = json_object();
    int64_t longest = 0;
    double hours = report_hours(t);
    for (size_t i = 0; i < t->count; i++)
        longest = t->length[i] > longest ? t->length[i] : longest;
    bl_jansson_set(&object, "table", bl_jansson_escaped(r->path));
    bl_jansson_set(&object, "kind", t->kind && *t->kind ? bl_jansson_escaped(t->kind) : json_null());
    bl_jansson_set(&object, "files", json_integer(r->files));
    bl_jansson_set(&object, "bytes", json_integer(r->file_bytes));
    bl_jansson_set(&object, "sequences", json_integer(t->by_status[BL_ROW_OK]));
    bl_jansson_set(&object, "steps", json_integer(t->steps));
    bl_jansson_set(&object, "longest", json_integer(longest));
    bl_jansson_set(&object, "hours", hours > 0 ? json_real(hours) : json_null());
    bl_jansson_set(&object, "skipped", json_integer(t->by_status[BL_ROW_SKIPPED]));
    bl_jansson_set(&object, "empty", json_integer(t->empty));
    bl_jansson_set(&object, "failed", json_integer(t->by_status[BL_ROW_FAILED]));
    bl_jansson_set(&object, "damaged", json_integer(t->damaged));
    bl_jansson_set(&object, "dropped", json_integer(bl_sequences_dropped(t)));
    bl_jansson_set(&object, "fault_count", json_integer(bl_sequences_unusable(t) + t->damaged));
    bl_jansson_set(&object, "totals", bl_totals_json(&r->totals));
    bl_jansson_set(&object, "reasons", reasons_json(&r->reasons));
    bl_jansson_set(&object, "run", run);
    return bl_jansson_append(object, out, e);
}

int bl_table_json(const char *path, struct json_t *run, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_report report = {.path = path, .is_table = true};
    struct bl_sequences table = {0};
    int code = bl_sequences_open(&table, &path, 1, false, e);
    if (code) {
        json_decref(run);
        return code;
    }
    code = report_read_rows(&report, &table, e);
    if (code)
        json_decref(run);
    else
        code = table_json(&report, &table, run, out, e);
    bl_sequences_close(&table);
    bl_report_free(&report);
    return code;
}
