/* The plan: against its bound, beside the strategies of the paper, by block, by rank. */
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "report/chart.h"
#include "report/page.h"

enum { RANKS_SHOWN = 64 };

static void plan_append_efficiency(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_plan_info *w = &r->info.manifest.plan_info;
    char a[BL_PLURAL_SIZE], b[32];
    int64_t gap = w->blocks - w->lower_bound;
    bl_buffer_text(out, "<h2>Efficiency</h2>\n");
    if (r->is_table)
        bl_buffer_text(out, "<p>A plan with T = the longest sequence, made for this page.</p>\n");
    bl_page_begin_table(out, "The plan", "what|value");
    bl_page_fact(out, "strategy", "%s%s%s", w->strategy, *w->fill ? ", fill " : "", w->fill);
    if (!w->seed_unknown)
        bl_page_fact(out, "seed", "%" PRIu64, w->seed);
    bl_page_fact(out, "blocks", "%s of T = %s steps", bl_text_count(a, w->blocks), bl_text_count(b, w->T));
    bl_page_fact(out, "lower bound", "%s", bl_text_plural(a, w->lower_bound, "block"));
    bl_page_fact(out, "gap", gap ? "%s" : "0: the plan is optimal", bl_text_count(a, gap));
    bl_page_fact(out, "efficiency", "%.2f %%", 100 * w->efficiency);
    bl_page_fact(out, "padding", "%s", bl_text_plural(a, w->padding, "step"));
    bl_page_fact(out, "deleted", "%s", bl_text_plural(a, w->deleted, "step"));
    bl_page_fact(out, bl_info_is_split(&r->info) ? "split into parts" : "cut", "%s",
                 bl_text_plural(a, w->cut, "sequence"));
    if (w->overlap)
        bl_page_fact(out, "repeated", "%s, %s in each part but the first of a sequence",
                     bl_text_plural(a, w->repeated, "step"), bl_text_count(b, w->overlap));
    bl_page_fact(out, "dropped", "%s", bl_text_plural(a, r->info.dropped - r->info.excluded, "sequence"));
    bl_page_fact(out, "left out by request", "%s", bl_text_plural(a, r->info.excluded, "sequence"));
    for (int k = 0; k < w->columns; k++) {
        struct bl_buffer column = {0};
        bl_plan_info_column_describe(&w->column[k], &column);
        bl_page_fact(out, "column", "%s", column.data ? column.data : "");
        out->failed |= column.failed;
        bl_buffer_free(&column);
    }
    bl_page_end_table(out);
}

static void plan_append_row(const struct bl_plan_info *w, struct bl_buffer *out)
{
    char text[32];
    bl_buffer_printf(out, "<tr><th scope=\"row\">%s</th>", w->strategy);
    bl_page_number(out, w->T);
    bl_page_number(out, w->blocks);
    bl_page_number(out, w->padding);
    bl_page_number(out, w->deleted);
    bl_page_number(out, w->cut);
    snprintf(text, sizeof text, "%.2f %%", 100 * w->efficiency);
    bl_page_number_text(out, text);
    bl_buffer_text(out, "</tr>\n");
}

static void plan_append_strategies(const struct bl_report *r, struct bl_buffer *out)
{
    struct bl_chart_bar bar[BL_REPORT_ROWS] = {0};
    bl_buffer_text(out, "<h2>Strategies</h2>\n");
    if (!r->rows_compared) {
        bl_buffer_text(out, "<p>Not compared: a view may plan parts of its sources, or some sequences several "
                            "times.</p>\n");
        return;
    }
    for (int i = 0; i < r->rows_compared; i++) {
        snprintf(bar[i].label, sizeof bar[i].label, "%s", r->row[i].strategy);
        bar[i].value[0] = r->row[i].padding;
        bar[i].value[1] = r->row[i].deleted;
    }
    bl_buffer_text(out, "<p>The same lengths by the strategies of the paper:<span class=\"k k0\"></span>steps of "
                        "padding,<span class=\"k k1\"></span>steps deleted.</p>\n");
    bl_chart_append(out, "strategies", "Strategies", "Steps of padding and deleted steps together", bar,
                    r->rows_compared);
    bl_page_begin_table(out, "Strategies side by side", "strategy|#T|#blocks|#padding|#deleted|#cut|#efficiency");
    for (int i = 0; i < r->rows_compared; i++)
        plan_append_row(&r->row[i], out);
    bl_page_end_table(out);
}

static void plan_append_fill(const struct bl_report *r, struct bl_buffer *out)
{
    struct bl_chart_bar bar[BL_REPORT_FILLS + 1] = {0};
    int bars = 0;
    for (int i = BL_REPORT_FILLS; i >= 0; i--) {
        int percent = 100 / BL_REPORT_FILLS;
        if (i == BL_REPORT_FILLS)
            snprintf(bar[bars].label, sizeof bar[bars].label, "full");
        else
            snprintf(bar[bars].label, sizeof bar[bars].label, "%d–%d %%", i * percent, (i + 1) * percent);
        bar[bars].value[0] = r->fill[i];
        bars += r->fill[i] || i == BL_REPORT_FILLS;
    }
    bl_buffer_text(out, "<h2>Fill of blocks</h2>\n<p>Blocks by the part of T that holds steps of sequences; the upper "
                        "end of a range is not in it, and ranges without blocks are left out.</p>\n");
    bl_chart_append(out, "fill", "Fill of blocks", "Blocks by the part of T that holds steps", bar, bars);
}

static void plan_append_company(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_epochs_company *epochs = &r->info.company;
    const struct bl_company *c = epochs->epochs ? &epochs->highest : &r->info.manifest.plan_info.company;
    if (!c->pairs)
        return;
    if (epochs->epochs)
        bl_page_fact(out, "meet again", "%.2f %% of pairs, between plans %" PRId64 " and %" PRId64 " of %" PRId64,
                     100 * bl_company_share(c), epochs->plan[0], epochs->plan[1], epochs->epochs + 1);
    else
        bl_page_fact(out, "meet again", "%.2f %% of pairs, under the next seed", 100 * bl_company_share(c));
    bl_page_fact(out, "drawn at random", "%.2f %%", 100 * c->random);
}

static void plan_append_ranks(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_plan_info *w = &r->info.manifest.plan_info;
    const struct bl_plan_balance *b = &w->balance;
    char a[BL_PLURAL_SIZE];
    bl_buffer_text(out, "<h2>Ranks and company</h2>\n");
    bl_page_begin_table(out, "Ranks and company", "what|value");
    bl_page_fact(out, "ranks", "%s", bl_text_count(a, w->world_size));
    bl_page_fact(out, "blocks per rank and step", "%s", bl_text_count(a, w->batch_size));
    bl_page_fact(out, "steps of each rank", "%s", bl_text_count(a, w->batches_per_rank));
    if (b->is_measured) {
        bl_page_fact(out, "waiting costs", "%.2f %%, at least %.2f %%", 100 * b->lost, 100 * b->bound);
        bl_page_fact(out, "in random order", "%.2f %%", 100 * b->lost_before);
        bl_page_fact(out, "dearest block", "%.3f of the mean", b->highest);
        bl_page_fact(out, "steps differ from the whole by", "%.3f (drawn at random: %.3f)", b->apart, b->apart_drawn);
    }
    plan_append_company(r, out);
    bl_page_end_table(out);
}

/* "3 – 4.5 – 7": the least, the mean and the most. */
static void plan_append_range(const struct bl_rank_range *range, int64_t steps, struct bl_buffer *out)
{
    char a[32], b[32], text[96];
    snprintf(text, sizeof text, "%s – %.1f – %s", bl_text_count(a, range->least), range->sum / (double)steps,
             bl_text_count(b, range->most));
    bl_page_number_text(out, text);
}

static void plan_append_rank_table(const struct bl_rank_table *t, struct bl_buffer *out)
{
    char text[32];
    int64_t shown = t->world_size < RANKS_SHOWN ? t->world_size : RANKS_SHOWN;
    if (!t->steps)
        return;
    bl_page_begin_table(out, "Ranks by step of training: least, mean and most",
                        "rank|#sequences|#steps|#attention, of the mean|#dearest step, of the mean");
    double mean = t->costs / (double)t->steps;
    for (int64_t r = 0; r < shown; r++) {
        const struct bl_rank *rank = &t->rank[r];
        bl_buffer_printf(out, "<tr><th scope=\"row\">%" PRId64 "</th>", r);
        plan_append_range(&rank->sequences, t->steps, out);
        plan_append_range(&rank->steps, t->steps, out);
        snprintf(text, sizeof text, "%.3f", mean > 0 ? rank->cost.sum / (double)t->steps / mean : 0);
        bl_page_number_text(out, text);
        snprintf(text, sizeof text, "%.3f", mean > 0 ? (double)rank->cost.most / mean : 0);
        bl_page_number_text(out, text);
        bl_buffer_text(out, "</tr>\n");
    }
    bl_page_end_table(out);
    bl_buffer_printf(out,
                     "<p>Attention costs the sum of the squared lengths: the dearest rank of a step costs %.2f %% more "
                     "than the mean of the ranks",
                     100 * bl_rank_table_imbalance(t));
    if (t->world_size > shown)
        bl_buffer_printf(out, "; %" PRId64 " more ranks are not shown", t->world_size - shown);
    bl_buffer_text(out, ".</p>\n");
}

void bl_page_plan(const struct bl_report *r, struct bl_buffer *out)
{
    if (!r->info.manifest.plan_info.blocks)
        return;
    plan_append_efficiency(r, out);
    plan_append_strategies(r, out);
    plan_append_fill(r, out);
    plan_append_ranks(r, out);
    plan_append_rank_table(&r->ranks, out);
}
