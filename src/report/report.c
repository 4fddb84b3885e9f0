#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "kind/kinds.h"
#include "report/rows.h"
#include "plan/options.h"
#include "store/index.h"
#include "store/view_source.h"

void bl_report_free(struct bl_report *report)
{
    bl_info_free(&report->info);
    bl_rank_table_free(&report->ranks);
    bl_tally_free(&report->reasons);
    bl_tally_free(&report->folders);
    bl_tally_free(&report->sources);
    bl_tally_free(&report->made);
    *report = (struct bl_report){0};
}

/* --- fill of blocks --------------------------------------------------------------------------------------------- */

static void report_count_fill(struct bl_report *r, int64_t steps, int64_t T)
{
    r->fill[steps * BL_REPORT_FILLS / T]++;
}

static void report_fill_of_plan(struct bl_report *r, const struct bl_plan *plan, const int64_t *length)
{
    for (size_t b = 0; b < plan->blocks; b++) {
        int64_t steps = 0, squares = 0;
        for (int64_t p = plan->block_ptr[b]; p < plan->block_ptr[b + 1]; p++) {
            int64_t piece = bl_plan_piece_length(plan, length, (size_t)p);
            steps += piece;
            squares += piece * piece;
        }
        report_count_fill(r, steps, plan->T);
        if (r->ranks.rank)
            bl_rank_table_add(&r->ranks, plan->block_ptr[b + 1] - plan->block_ptr[b], steps, squares);
    }
}

/* Reads the stored plan, some blocks at a time. */
static int report_fill_of_index(struct bl_report *r, const int64_t *length, struct bl_error *e)
{
    enum { BLOCKS = 4096 };
    const struct bl_manifest *m = &r->info.manifest;
    struct bl_index index = {.fd = -1};
    int code = m->plan_info.world_size > 1
                   ? bl_rank_table_open(&r->ranks, m->plan_info.world_size, m->plan_info.batch_size, e)
                   : BL_OK;
    if (code)
        return code;
    code = bl_index_open(&index, r->path, m->format.blocks, bl_manifest_index_fields(m), e);
    for (int64_t first = 0; !code && first < index.blocks; first += BLOCKS) {
        int64_t end = first + BLOCKS < index.blocks ? first + BLOCKS : index.blocks;
        struct bl_plan part = {0};
        code = bl_index_read_part(&index, m->format.T, bl_manifest_align(m), first, end, &part, e);
        if (!code)
            report_fill_of_plan(r, &part, length);
        bl_plan_free(&part);
    }
    bl_index_close(&index);
    return code;
}

/* --- the paper's strategies ------------------------------------------------------------------------------------- */

/* The options by which a dataset's sequences are compared: those of its plan. Sequences over T are handled as there, or
 * split where its strategy cuts in another way. */
static struct bl_plan_options report_options(const struct bl_report *r, const struct bl_sequences *t)
{
    const struct bl_plan_info *w = &r->info.manifest.plan_info;
    struct bl_plan_options o = {.T = w->T, .seed = w->seed, .world_size = w->world_size, .batch_size = w->batch_size};
    struct bl_plan_oversize over;
    bool is_clip = strcmp(w->strategy, "sample") == 0 || strcmp(w->strategy, "mix") == 0;
    if (r->is_table || is_clip || bl_plan_info_is_store(w))
        o.T = 0;
    o.clip = is_clip ? w->T : 0;
    bl_plan_find_oversize(&over, t->length, t->count, &o, o.T ? o.T : BL_T_MAX);
    const char *given = r->is_table ? "" : bl_manifest_option(&r->info.manifest, "oversize");
    for (int i = 0; over.count && bl_oversize_names[i]; i++)
        o.oversize = strcmp(bl_oversize_names[i], given) == 0 ? (enum bl_oversize)i : o.oversize;
    if (over.count && o.oversize == BL_OVERSIZE_ERROR)
        o.oversize = BL_OVERSIZE_SPLIT;
    o.overlap = o.oversize == BL_OVERSIZE_SPLIT ? w->overlap : 0;
    return o;
}

/* Makes a row for each strategy; a dataset that block made has the last one already. A table's plan is the last one. */
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

static int report_open_rows(const struct bl_report *r, struct bl_sequences *table, struct bl_error *e)
{
    const struct bl_manifest *m = &r->info.manifest;
    const struct bl_sequences_columns columns = {.may_repeat = true};
    if (r->is_table)
        return bl_sequences_open(table, &r->path, 1, false, e);
    if (!bl_manifest_is_view(m))
        return bl_sequences_open_dataset(table, r->path, NULL, e);
    char **path = bl_view_source_tables(m, r->path);
    int code = path ? bl_sequences_open_columns(table, (const char *const *)path, (int)m->sources, &columns, e)
                    : bl_error_memory(e);
    bl_path_free_all(path, m->sources);
    return code;
}

double bl_report_hours(const struct bl_sequences *t)
{
    const struct bl_kind *kind = t->kind ? bl_kind_find(t->kind) : NULL;
    int64_t num, den;
    if (!kind || !bl_kind_rate(kind, t->sampling, &num, &den))
        return 0;
    return (double)t->steps * (double)den / (double)num / 3600;
}

/* Sets of info what a table tells. The histogram is that of bl_info_read. */
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
    info->hours = bl_report_hours(t);
    info->bar_width = (w->longest - 1) / BL_INFO_BARS + 1;
    info->bars = (int)((w->longest - 1) / info->bar_width + 1);
    for (size_t i = 0; i < t->count; i++) {
        if (t->length[i])
            info->bar[(t->length[i] - 1) / info->bar_width]++;
    }
}

static int report_read_table(struct bl_report *r, const struct bl_sequences *t, struct bl_error *e)
{
    r->rows = (int64_t)t->count;
    r->empty = t->empty;
    memcpy(r->by_status, t->by_status, sizeof r->by_status);
    int code = bl_report_read_rows(r, t, e);
    if (!code && t->steps && !bl_manifest_is_view(&r->info.manifest))
        code = report_compare(r, t, e);
    if (!code && r->is_table)
        report_describe_table(r, t);
    else if (!code)
        code = report_fill_of_index(r, t->length, e);
    return code;
}

int bl_report_read(struct bl_report *report, const char *path, bool is_table, struct bl_error *e)
{
    struct bl_sequences table = {0};
    *report = (struct bl_report){.path = path, .is_table = is_table};
    int code = is_table ? BL_OK : bl_info_read(&report->info, path, e);
    if (code)
        return code;
    code = report_open_rows(report, &table, e);
    if (code)
        return code;
    code = report_read_table(report, &table, e);
    bl_sequences_close(&table);
    return code;
}
