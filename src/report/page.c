/* Writes the page of a report as HTML: what is in a dataset, its plan, some of its blocks, its sources, and how to
 * make it again.
 *
 * Each section has a function page_*, which bl_report_format calls in the order of the page. The page has no
 * scripts, so its charts are SVG with two classes of colours, v0 and v1, which the style of all pages defines
 * (show/html.c). */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/text.h"
#include "bload.h"
#include "run/packing.h"
#include "report/report.h"
#include "show/html.h"
#include "show/sheet.h"

/* A label is at most 17 characters long, and some of them have 3 bytes in UTF-8. */
#define BL_CHART_LABEL 64

/* A bar of a chart has two values, as padding and deleted steps stand behind each other; charts of one value leave
 * the second one 0. */
struct bl_chart_bar {
    char label[BL_CHART_LABEL]; /* of up to 17 characters, so that it has room */
    int64_t value[2];           /* drawn one after the other; at least 0 */
};

/* --- charts ------------------------------------------------------------------------------------------------------- */

/* Lengths are in units of the viewBox, which is about as wide as a phone, so that letters keep their size there.
 * Labels end at CHART_LEFT, bars begin there and are CHART_BAR wide at most, and the rest is for the number. */

enum { CHART_WIDTH = 360, CHART_LEFT = 120, CHART_BAR = 160, CHART_ROW = 20, CHART_HEIGHT = 14 };

/* Returns the width of a bar. A value above 0 gets one unit at least, so that it remains visible. most: at least 1. */
static double chart_width(int64_t value, int64_t most)
{
    double width = (double)value * CHART_BAR / (double)most;
    return value && width < 1 ? 1 : width;
}

/* Appends a row of the chart: the label, the two parts of the bar, and their sum. */
static void chart_append_bar(struct bl_buffer *out, const struct bl_chart_bar *bar, int64_t most, int y)
{
    char count[32];
    double x = CHART_LEFT;
    /* The text is 3 units above the lower edge of the bar, about the height of descenders. */
    bl_buffer_printf(out, "<text class=\"e\" x=\"%d\" y=\"%d\">%s</text>", CHART_LEFT - 6, y + CHART_HEIGHT - 3,
                     bar->label);
    for (int i = 0; i < 2; i++) {
        double width = chart_width(bar->value[i], most);
        if (bar->value[i])
            bl_buffer_printf(out, "<rect class=\"v%d\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>", i, x, y,
                             width, CHART_HEIGHT);
        x += width;
    }
    bl_buffer_printf(out, "<text x=\"%.2f\" y=\"%d\">%s</text>\n", x + 4, y + CHART_HEIGHT - 3,
                     bl_text_count(count, bar->value[0] + bar->value[1]));
}

/* Appends a chart as SVG. id: unique on the page. what: the meaning of a bar. Screen readers read the title and a
 * description with all values. */
static void chart_append(struct bl_buffer *out, const char *id, const char *title, const char *what,
                         const struct bl_chart_bar *bar, int bars)
{
    char count[32];
    /* The longest bar has the full width; 1 avoids a division by 0 where all bars are empty. */
    int64_t most = 1;
    for (int i = 0; i < bars; i++)
        most = bar[i].value[0] + bar[i].value[1] > most ? bar[i].value[0] + bar[i].value[1] : most;
    bl_buffer_printf(out,
                     "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"%s-title %s-desc\">\n"
                     "<title id=\"%s-title\">%s</title>\n<desc id=\"%s-desc\">%s:",
                     CHART_WIDTH, bars * CHART_ROW + 4, id, id, id, title, id, what);
    for (int i = 0; i < bars; i++)
        bl_buffer_printf(out, "%s %s: %s", i ? ";" : "", bar[i].label,
                         bl_text_count(count, bar[i].value[0] + bar[i].value[1]));
    bl_buffer_text(out, ".</desc>\n");
    for (int i = 0; i < bars; i++)
        chart_append_bar(out, &bar[i], most, i * CHART_ROW + 3);
    bl_buffer_text(out, "</svg>\n");
}

/* --- plan --------------------------------------------------------------------------------------------------------- */

/* The section shows the plan beside its lower bound and beside the strategies of the paper, then its blocks and
 * ranks. */

/* A job may have thousands of ranks: the first ones show how even they are. */
enum { RANKS_SHOWN = 64 };

/* Appends the facts of the plan. A gap of 0 proves that no plan has fewer blocks. */
static void plan_append_efficiency(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_plan_info *w = &r->info.manifest.plan_info;
    char a[BL_PLURAL_SIZE], b[32];
    /* The lower bound never exceeds the number of blocks. */
    int64_t gap = w->blocks - w->lower_bound;
    bl_buffer_text(out, "<h2>Efficiency</h2>\n");
    if (r->is_table)
        bl_buffer_text(out, "<p>A plan with T = the longest sequence, made for this page.</p>\n");
    bl_page_begin_facts(out, "The plan");
    bl_page_fact(out, "strategy", "%s%s%s", w->strategy, *w->fill ? ", fill " : "", w->fill);
    if (!w->seed_unknown)
        bl_page_fact(out, "seed", "%" PRIu64, w->seed);
    bl_page_fact(out, "blocks", "%s of T = %s steps", bl_text_count(a, w->blocks), bl_text_count(b, w->T));
    bl_page_fact(out, "lower bound", "%s", bl_text_plural(a, w->lower_bound, "block"));
    bl_page_fact(out, "gap", gap ? "%s" : "0: the plan is optimal", bl_text_count(a, gap));
    bl_page_fact(out, "efficiency", "%.2f %%", 100 * w->efficiency);
    bl_page_fact(out, "padding", "%s", bl_text_plural(a, w->padding, "step"));
    bl_page_fact(out, "deleted", "%s", bl_text_plural(a, w->deleted, "step"));
    /* Parts of a sequence that was split are all stored; the steps of a sequence that was cut may be deleted. */
    bl_page_fact(out, bl_info_is_split(&r->info) ? "split into parts" : "cut", "%s",
                 bl_text_plural(a, w->cut, "sequence"));
    if (w->overlap)
        bl_page_fact(out, "repeated", "%s, %s in each part but the first of a sequence",
                     bl_text_plural(a, w->repeated, "step"), bl_text_count(b, w->overlap));
    if (w->together[0])
        bl_page_fact(out, "together", "%s by %s, %s of them split", bl_text_plural(a, w->bundles, "bundle"),
                     w->together, bl_text_count(b, w->bundles_split));
    /* info.dropped includes the sequences that the user excluded. */
    bl_page_fact(out, "dropped", "%s", bl_text_plural(a, r->info.dropped - r->info.excluded, "sequence"));
    bl_page_fact(out, "left out by request", "%s", bl_text_plural(a, r->info.excluded, "sequence"));
    for (int k = 0; k < w->columns; k++) {
        struct bl_buffer column = {0};
        bl_plan_info_column_describe(&w->column[k], &column);
        bl_page_fact(out, w->column[k].is_field ? "capacity" : "column", "%s", column.data ? column.data : "");
        bl_buffer_free_part(&column, out);
    }
    bl_page_end_table(out);
}

/* Appends the row of a strategy in the table of strategies. */
static void plan_append_row(const struct bl_plan_info *w, struct bl_buffer *out)
{
    bl_page_begin_row(out, w->strategy);
    bl_page_number(out, w->T);
    bl_page_number(out, w->blocks);
    bl_page_number(out, w->padding);
    bl_page_number(out, w->deleted);
    bl_page_number(out, w->cut);
    bl_page_number_text(out, "%.2f %%", 100 * w->efficiency);
    bl_buffer_text(out, "</tr>\n");
}

/* Appends a chart and a table of the strategies. The chart adds deleted steps to padding, as both are steps that a
 * strategy wastes. */
static void plan_append_strategies(const struct bl_report *r, struct bl_buffer *out)
{
    struct bl_chart_bar bar[BL_REPORT_ROWS] = {0};
    /* The heading stands also where nothing is compared, so that all pages have the same sections. */
    bl_buffer_text(out, "<h2>Strategies</h2>\n");
    if (!r->rows_compared) {
        bl_buffer_text(out, "<p>Not compared: a view may plan parts of its sources, or some sequences several "
                            "times.</p>\n");
        return;
    }
    for (int i = 0; i < r->rows_compared; i++) {
        /* A dataset may have deleted steps in place of padding, so both are shown in different colours. */
        snprintf(bar[i].label, sizeof bar[i].label, "%s", r->row[i].strategy);
        bar[i].value[0] = r->row[i].padding;
        bar[i].value[1] = r->row[i].deleted;
    }
    bl_buffer_text(out, "<p>The same lengths by the strategies of the paper:<span class=\"k k0\"></span>steps of "
                        "padding,<span class=\"k k1\"></span>steps deleted.</p>\n");
    chart_append(out, "strategies", "Strategies", "Steps of padding and deleted steps together", bar, r->rows_compared);
    bl_page_begin_table(out, "Strategies side by side", "strategy|#T|#blocks|#padding|#deleted|#cut|#efficiency");
    for (int i = 0; i < r->rows_compared; i++)
        plan_append_row(&r->row[i], out);
    bl_page_end_table(out);
}

/* Appends a chart of the blocks by their share of T, the full ones first. Range i has the blocks from i * 5 % to
 * below (i + 1) * 5 %. */
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
        /* An empty range is overwritten by the next one, except the range of full blocks. */
        bars += r->fill[i] || i == BL_REPORT_FILLS;
    }
    bl_buffer_text(out, "<h2>Fill of blocks</h2>\n<p>Blocks by the part of T that holds steps of sequences; the upper "
                        "end of a range is not in it, and ranges without blocks are left out.</p>\n");
    chart_append(out, "fill", "Fill of blocks", "Blocks by the part of T that holds steps", bar, bars);
}

/* Appends the pair repeat rate: the highest of all pairs of stored plans, or the one that packing computed for the
 * next seed. */
static void plan_append_pair_repeat(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_epochs_pair_repeat *epochs = &r->info.pair_repeat;
    const struct bl_pair_repeat *c = epochs->epochs ? &epochs->highest : &r->info.manifest.plan_info.pair_repeat;
    if (!c->pairs)
        return;
    /* The rate of stored epochs is measured between the two plans with the highest one; a dataset without further
     * epochs has the rate under the next seed. */
    if (epochs->epochs)
        bl_page_fact(out, "pair repeat rate", "%.2f %%, between plans %" PRId64 " and %" PRId64 " of %" PRId64,
                     100 * bl_pair_repeat_share(c), epochs->plan[0], epochs->plan[1], epochs->epochs + 1);
    else
        bl_page_fact(out, "pair repeat rate", "%.2f %%, under the next seed", 100 * bl_pair_repeat_share(c));
    bl_page_fact(out, "pair repeat rate of random blocks", "%.2f %%", 100 * c->random);
}

/* Appends the facts about ranks. is_measured is false for a plan that was not balanced. */
static void plan_append_ranks(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_plan_info *w = &r->info.manifest.plan_info;
    const struct bl_plan_balance *b = &w->balance;
    char a[BL_PLURAL_SIZE];
    bl_buffer_text(out, "<h2>Ranks</h2>\n");
    bl_page_begin_facts(out, "Ranks");
    bl_page_fact(out, "ranks", "%s", bl_text_count(a, w->world_size));
    bl_page_fact(out, "blocks per rank and step", "%s", bl_text_count(a, w->batch_size));
    bl_page_fact(out, "steps of each rank", "%s", bl_text_count(a, w->batches_per_rank));
    /* The bound holds for any order of the blocks: no order has a lower imbalance. */
    if (b->is_measured) {
        bl_page_fact(out, "imbalance of costs", "%.2f %% (proven minimum: %.2f %%)", 100 * b->lost, 100 * b->bound);
        struct bl_buffer points = {0};
        bl_plan_info_points_describe(b, false, &points);
        if (points.size && !points.failed)
            bl_page_fact(out, "imbalance by field", "%s", points.data);
        bl_buffer_free(&points);
        bl_page_fact(out, "imbalance in random order", "%.2f %%", 100 * b->lost_before);
        bl_page_fact(out, "most expensive block", "%.3f times the mean cost", b->highest);
        bl_page_fact(out, "KS distance of a step's costs", "%.3f (in random order: %.3f)", b->apart, b->apart_drawn);
        bl_page_fact(out, "correlation of neighbouring blocks", "%.2f", b->neighbours);
    }
    plan_append_pair_repeat(r, out);
    bl_page_end_table(out);
}

/* Appends the cell "3 – 4.5 – 7": the minimum, the mean and the maximum over the steps of training. */
static void plan_append_range(const struct bl_rank_range *range, int64_t steps, struct bl_buffer *out)
{
    char a[32], b[32];
    bl_page_number_text(out, "%s – %.1f – %s", bl_text_count(a, range->least), range->sum / (double)steps,
                        bl_text_count(b, range->most));
}

/* Appends a row for each of the first ranks. Costs are relative to the mean cost of a rank in a step of training. */
static void plan_append_rank_table(const struct bl_rank_table *t, struct bl_buffer *out)
{
    int64_t shown = t->world_size < RANKS_SHOWN ? t->world_size : RANKS_SHOWN;
    if (!t->steps)
        return;
    bl_page_begin_table(out, "Ranks by step of training: least, mean and most",
                        "rank|#sequences|#steps|#attention, of the mean|#most expensive step, of the mean");
    /* The mean is over ranks and steps of training: a rank with 1.000 has the mean cost. */
    double mean = t->costs / (double)t->steps;
    for (int64_t r = 0; r < shown; r++) {
        const struct bl_rank *rank = &t->rank[r];
        bl_buffer_printf(out, "<tr><th scope=\"row\">%" PRId64 "</th>", r);
        plan_append_range(&rank->sequences, t->steps, out);
        plan_append_range(&rank->steps, t->steps, out);
        /* Costs of 0 have no ratio. */
        bl_page_number_text(out, "%.3f", mean > 0 ? rank->cost.sum / (double)t->steps / mean : 0);
        bl_page_number_text(out, "%.3f", mean > 0 ? (double)rank->cost.most / mean : 0);
        bl_buffer_text(out, "</tr>\n");
    }
    bl_page_end_table(out);
    bl_buffer_printf(out,
                     "<p>Attention costs the sum of the squared lengths: the most expensive rank of a step costs "
                     "%.2f %% more than the mean of the ranks",
                     100 * bl_rank_table_imbalance(t));
    if (t->world_size > shown)
        bl_buffer_printf(out, "; %" PRId64 " more ranks are not shown", t->world_size - shown);
    bl_buffer_text(out, ".</p>\n");
}

/* Appends all about the plan. A table without usable sequences has no plan. */
static void page_plan(const struct bl_report *r, struct bl_buffer *out)
{
    if (!r->info.manifest.plan_info.blocks)
        return;
    plan_append_efficiency(r, out);
    plan_append_strategies(r, out);
    plan_append_fill(r, out);
    plan_append_ranks(r, out);
    plan_append_rank_table(&r->ranks, out);
}

/* --- sources ------------------------------------------------------------------------------------------------------ */

/* The section shows where the sequences come from, and which inputs have faults. */

/* A page stays readable with 25 places; reasons matter more, and a scan rarely has more than 50. */
enum { SOURCES_SHOWN = 25, REASONS_SHOWN = 50 };

/* Appends how much of a tally the page does not show. Keys beyond the limit of a tally are one entry, so that their
 * number is unknown: "At least". */
static void sources_append_rest(const struct bl_tally *t, size_t shown, const char *noun, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE];
    int64_t rows = t->rest.rows;
    for (size_t i = shown; i < t->count; i++)
        rows += t->entry[i].rows;
    /* The rest is one unknown number of keys if the tally was full. */
    if (rows)
        bl_buffer_printf(out, "<p>%s%s more, with %s, not shown.</p>\n", t->rest.rows ? "At least " : "",
                         bl_text_plural(a, (int64_t)(t->count - shown) + (t->rest.rows > 0), noun),
                         bl_text_plural(b, rows, "row"));
}

/* Appends the three numbers that end a row. */
static void sources_append_entry(const struct bl_tally_entry *entry, struct bl_buffer *out)
{
    char size[32];
    bl_page_number(out, entry->rows);
    bl_page_number(out, entry->steps);
    bl_page_number_text(out, "%s", entry->bytes ? bl_text_size(size, entry->bytes) : "-"); /* a table may lack them */
    bl_buffer_text(out, "</tr>\n");
}

/* Appends the folders or the files with the most steps. A tally keeps the first BL_TALLY_KEYS keys only, so the
 * caption says "of the first N" where there are more. noun: "folder" or "file". */
static void sources_append_places(const struct bl_tally *t, const char *noun, struct bl_buffer *out)
{
    size_t shown = t->count < SOURCES_SHOWN ? t->count : SOURCES_SHOWN;
    char caption[96], head[64], first[32] = "", many[BL_PLURAL_SIZE];
    if (!shown)
        return;
    if (t->rest.rows)
        bl_text_count(first, (int64_t)t->count);
    bl_text_plural(many, 2, noun);
    /* The plural is "2 folders": the word follows the blank. */
    snprintf(caption, sizeof caption, "Most steps by %s%s%s%s%s", noun, *first ? ", of the first " : "", first,
             *first ? " " : "", *first ? strchr(many, ' ') + 1 : "");
    snprintf(head, sizeof head, "%s|#rows|#steps|#bytes", noun);
    bl_page_begin_table(out, caption, head);
    for (size_t i = 0; i < shown; i++) {
        bl_buffer_text(out, "<tr><th scope=\"row\" class=\"w\">");
        bl_xml_append_name(out, t->entry[i].key);
        bl_buffer_text(out, "</th>");
        sources_append_entry(&t->entry[i], out);
    }
    bl_page_end_table(out);
    sources_append_rest(t, shown, noun, out);
}

/* Appends a table of the ways in which steps were made. A key is "kind TAB sampling TAB decoder". */
static void sources_append_made(const struct bl_tally *t, struct bl_buffer *out)
{
    size_t shown = t->count < SOURCES_SHOWN ? t->count : SOURCES_SHOWN;
    if (!shown)
        return;
    bl_page_begin_table(out, "How steps were taken", "kind|sampling|decoder|#rows|#steps|#bytes");
    for (size_t i = 0; i < shown; i++) {
        const char *sampling = strchr(t->entry[i].key, '\t') + 1, *decoder = strrchr(t->entry[i].key, '\t') + 1;
        /* The buffer holds the kind, a NUL, and the sampling: the key has tabs where these strings need an end. */
        struct bl_buffer text = {0};
        bl_buffer_append(&text, t->entry[i].key, (size_t)(sampling - 1 - t->entry[i].key));
        bl_buffer_byte(&text, '\0');
        size_t at = text.size;
        bl_buffer_append(&text, sampling, decoder > sampling ? (size_t)(decoder - 1 - sampling) : 0);
        bl_buffer_text(out, "<tr><th scope=\"row\">");
        bl_xml_append_name(out, text.failed ? "" : text.data);
        bl_buffer_text(out, "</th><td class=\"w\">");
        bl_xml_append_name(out, text.failed ? "" : text.data + at);
        bl_buffer_text(out, "</td><td>");
        bl_xml_append_name(out, *decoder ? decoder : "-");
        bl_buffer_text(out, "</td>");
        sources_append_entry(&t->entry[i], out);
        bl_buffer_free_part(&text, out);
    }
    bl_page_end_table(out);
    sources_append_rest(t, shown, "way|ways", out);
}

/* Appends the datasets of a view, each with its share of the plan. A weight of 0 means that the user gave none. */
static void sources_append_view(const struct bl_manifest *m, struct bl_buffer *out)
{
    if (!m->sources)
        return;
    bl_page_begin_table(out, "Datasets of the view", "name|path|#sequences|#steps|#of the plan|#weight");
    for (size_t s = 0; s < m->sources; s++) {
        const struct bl_view_source *source = &m->source[s];
        bl_page_begin_row(out, source->name);
        bl_page_cell(out, source->path);
        bl_page_number(out, source->sequences);
        bl_page_number(out, source->steps);
        bl_page_number_text(out, "%.2f %%", 100 * source->share);
        bl_page_number_text(out, source->weight > 0 ? "%.10g" : "-", source->weight);
        bl_buffer_text(out, "</tr>\n");
    }
    bl_page_end_table(out);
}

/* Appends the reasons for which rows were left out. A key is "status TAB reason". */
static void sources_append_reasons(const struct bl_tally *t, struct bl_buffer *out)
{
    size_t shown = t->count < REASONS_SHOWN ? t->count : REASONS_SHOWN;
    if (!shown)
        return;
    bl_page_begin_table(out, "Reasons, with N for numbers", "what|reason|#rows|first of them");
    for (size_t i = 0; i < shown; i++) {
        const struct bl_tally_entry *entry = &t->entry[i];
        size_t status = strcspn(entry->key, "\t");
        bl_buffer_printf(out, "<tr><th scope=\"row\">%.*s</th>", (int)status, entry->key);
        bl_page_cell(out, entry->key[status + 1] ? entry->key + status + 1 : "no reason given");
        bl_page_number(out, entry->rows);
        bl_buffer_text(out, "<td class=\"w\">");
        for (int k = 0; k < entry->examples; k++) {
            bl_buffer_text(out, k ? "<br>" : "");
            bl_xml_append_text(out, entry->example[k]);
        }
        bl_buffer_text(out, "</td></tr>\n");
    }
    bl_page_end_table(out);
    sources_append_rest(t, shown, "reason", out);
}

/* Appends the sources and what was left out of them. */
static void page_sources(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_info *info = &r->info;
    bl_buffer_text(out, "<h2>Sources</h2>\n");
    sources_append_view(&info->manifest, out);
    sources_append_places(&r->folders, "folder", out);
    sources_append_places(&r->sources, "file", out);
    sources_append_made(&r->made, out);
    bl_buffer_text(out, "<h2>What was left out</h2>\n<p>");
    if (info->fault_count)
        bl_fault_counts_append(out, &(struct bl_fault_counts){.skipped = info->manifest.skipped,
                                                              .failed = info->manifest.failed,
                                                              .damaged = info->damaged,
                                                              .failed_steps = info->manifest.failed_steps});
    else
        bl_buffer_text(out, "No faults");
    bl_buffer_printf(out, "; %" PRId64 " dropped by request, %" PRId64 " empty.</p>\n", info->dropped, r->empty);
    /* Sequences without a trained token cost time in training and change no weight, so that the page shows them. */
    if (info->manifest.untrained.pieces || info->manifest.untrained.blocks) {
        bl_buffer_text(out, "<p>");
        bl_untrained_describe(&info->manifest.untrained, out);
        bl_buffer_text(out, ".</p>\n");
    }
    sources_append_reasons(&r->reasons, out);
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

/* The section shows the fields, attributes and lengths. */

static const char *contents_what(const struct bl_report *r)
{
    if (r->is_table)
        return "table of sequences";
    return bl_manifest_is_view(&r->info.manifest) ? "view" : "dataset";
}

/* Appends the fields with their types. The first axis of a shape is T, as in "[2048, 80]". */
static void contents_append_fields(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_manifest *m = &r->info.manifest;
    char encoding[BL_ENCODING_NAME_MAX];
    if (!m->format.fields.count)
        return;
    bl_page_begin_table(out, "Fields of a block", "name|type|shape|kind|stored as|made by");
    for (int f = 0; f < m->format.fields.count; f++) {
        const struct bl_field *field = &m->format.fields.field[f];
        bl_page_begin_row(out, field->name);
        /* The first dimension is T, as a block has T steps, or the capacity of a field with steps of its own; the
         * others are those of a step. */
        bl_buffer_printf(out, "<td>%s</td><td>[%" PRId64, bl_dtype_name(field->dtype), bl_format_steps(&m->format, f));
        for (int i = 0; i < field->rank; i++)
            bl_buffer_printf(out, ", %" PRId64, field->shape[i]);
        bl_buffer_text(out, "]</td><td>");
        bl_xml_append_text(out, field->kind);
        bl_buffer_printf(out, "</td><td>%s</td>",
                         !field->own   ? bl_encoding_name(&m->format.encoding[f], encoding)
                         : field->flat ? "steps of its own, flat"
                                       : "steps of its own, padded");
        bl_page_cell(out, m->made[f]);
        bl_buffer_text(out, "</tr>\n");
    }
    bl_page_end_table(out);
}

static void contents_append_attributes(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_format *format = &r->info.manifest.format;
    if (!format->attributes)
        return;
    bl_page_begin_table(out, "Attributes of a sequence", "name|type");
    for (int a = 0; a < format->attributes; a++) {
        bl_page_begin_row(out, format->attribute[a].name);
        bl_buffer_printf(out, "<td>%s</td></tr>\n", bl_dtype_name(format->attribute[a].dtype));
    }
    bl_page_end_table(out);
}

/* Appends the histogram of lengths. The bars have equal widths, such as 1–100, 101–200. */
static void contents_append_lengths(const struct bl_info *info, struct bl_buffer *out)
{
    struct bl_chart_bar bar[BL_INFO_BARS] = {0};
    char many[BL_PLURAL_SIZE];
    /* The last bar may end behind the longest sequence. */
    for (int i = 0; i < info->bars; i++) {
        char from[32], to[32];
        bl_text_count(from, i * info->bar_width + 1);
        bl_text_count(to, (i + 1) * info->bar_width);
        snprintf(bar[i].label, sizeof bar[i].label, info->bar_width > 1 ? "%s–%s" : "%s", from, to);
        if (strlen(from) + strlen(to) >= 17) /* there is no room for both */
            snprintf(bar[i].label, sizeof bar[i].label, "to %s", to);
        bar[i].value[0] = info->bar[i];
    }
    bl_buffer_text(out, "<h2>Lengths</h2>\n<p>Sequences by their number of steps.</p>\n");
    if (!info->bars)
        return;
    bl_page_begin_facts(out, "Percentiles");
    for (int q = 0; q < BL_QUANTILES; q++)
        bl_page_fact(out, bl_quantile_names[q], "%s", bl_text_plural(many, info->quantile[q], "step"));
    bl_page_end_table(out);
    chart_append(out, "lengths", "Lengths", "Sequences by their number of steps", bar, info->bars);
}

/* Appends the facts, fields, attributes and lengths. info->hours is 0 for kinds without a rate. */
static void page_contents(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_info *info = &r->info;
    const struct bl_plan_info *w = &info->manifest.plan_info;
    char a[BL_PLURAL_SIZE], b[32];
    bl_buffer_text(out, "<h2>Contents</h2>\n");
    bl_page_begin_facts(out, "In all");
    bl_page_fact(out, "what it is", "%s", contents_what(r));
    bl_page_fact(out, "sequences", "%s", bl_text_count(a, w->sequences));
    bl_page_fact(out, "steps", "%s", bl_text_count(a, w->steps));
    bl_page_fact(out, "longest", "%s", bl_text_plural(a, w->longest, "step"));
    if (info->hours > 0)
        bl_page_fact(out, "hours", "%.3f", info->hours);
    if (w->blocks && !r->is_table)
        bl_page_fact(out, "blocks", "%s of T = %s steps", bl_text_count(a, w->blocks), bl_text_count(b, w->T));
    bl_page_fact(out, "inputs", "%s", bl_text_plural(a, r->rows, "row"));
    if (r->files)
        bl_page_fact(out, "source files", "%s%s%s", bl_text_plural(a, r->files, "file"), r->file_bytes ? ", " : "",
                     r->file_bytes ? bl_text_size(b, r->file_bytes) : "");
    if (info->shards)
        bl_page_fact(out, "shards", "%s, %s", bl_text_plural(a, info->shards, "shard"), bl_text_size(b, info->bytes));
    bl_page_end_table(out);
    contents_append_fields(r, out);
    contents_append_attributes(r, out);
    contents_append_lengths(info, out);
}

/* Appends a line for each pair: the name, the separator, the value. */
static void origin_append_pairs(const struct bl_manifest_pairs *pairs, const char *separator, struct bl_buffer *out)
{
    for (size_t i = 0; i < pairs->count; i++) {
        bl_xml_append_text(out, pairs->pair[i].name);
        bl_buffer_text(out, separator);
        bl_xml_append_text(out, pairs->pair[i].value);
        bl_buffer_byte(out, '\n');
    }
}

/* Appends the configuration and the versions, by which the dataset can be made again, and the notes of the run. */
static void page_origin(const struct bl_report *r, struct bl_buffer *out)
{
    const struct bl_manifest *m = &r->info.manifest;
    bl_buffer_text(out, "<h2>How to make it again</h2>\n");
    /* sequences.tsv has rows only: the configuration is in the manifest of a dataset. */
    if (r->is_table) {
        bl_buffer_text(out,
                       "<p>A table does not say by which options it was made.</p>\n<p>This page: bload " BLOAD_VERSION
                       ".</p>\n");
        return;
    }
    bl_buffer_text(out, "<h3>Configuration</h3>\n<pre>");
    origin_append_pairs(&m->configuration, ": ", out);
    bl_buffer_text(out, "</pre>\n<h3>Versions</h3>\n<pre>bload ");
    bl_xml_append_text(out, m->tool);
    bl_buffer_text(out, "\nSIMD level ");
    bl_xml_append_text(out, m->simd);
    bl_buffer_byte(out, '\n');
    origin_append_pairs(&m->libraries, " ", out);
    /* The digests tell whether two datasets have the same plan and the same content. */
    bl_buffer_printf(out, "</pre>\n<p>Plan %s, manifest %s. This page: bload " BLOAD_VERSION ".</p>\n",
                     m->format.plan_digest, m->digest);
    if (m->notes)
        bl_buffer_text(out, "<h3>Notes of the run</h3>\n<ul>\n");
    for (size_t i = 0; i < m->notes; i++) {
        bl_buffer_text(out, "<li>");
        bl_xml_append_text(out, m->note[i]);
        bl_buffer_text(out, "</li>\n");
    }
    if (m->notes)
        bl_buffer_text(out, "</ul>\n");
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* The section shows some blocks as pictures. */

/* Appends the sheet of block b. Damage does not end the report: the first damage is kept in r->damage, and the page
 * shows the rest. */
static int blocks_append(struct bl_report *r, struct bl_view *view, int64_t b, const struct bl_cancel *cancel,
                         struct bl_buffer *out, struct bl_error *e)
{
    /* The pictures are small, as a page has several blocks. Long texts are left out, or cut (is_brief). */
    static const struct bl_sheet_look look = {
        .width = 960, .cell = 80, .pictures = 48, .lines = 2, .curve = 48, .map = 64, .strip = 16, .is_page = true};
    const struct bl_sheet_subject subject = {.block = b, .field = -1, .is_brief = true, .cancel = cancel};
    struct bl_sheet sheet;
    char id[48];
    snprintf(id, sizeof id, "block-%" PRId64, b);
    int code = bl_sheet_make(&sheet, view, &subject, &look, e);
    if (!code) {
        bl_buffer_printf(out, "<h3>Block %" PRId64 "</h3>\n", b);
        code = bl_sheet_append_section(&sheet, id, out, e);
    }
    if (!code && sheet.damage.code && !r->damage.code)
        r->damage = sheet.damage;
    bl_sheet_free(&sheet);
    return code;
}

/* Appends r->sheets blocks, evenly spread over the dataset. A table has no blocks. */
static int page_blocks(struct bl_report *r, const struct bl_cancel *cancel, struct bl_buffer *out, struct bl_error *e)
{
    const int64_t blocks = r->info.manifest.format.blocks, shown = r->sheets < blocks ? r->sheets : blocks;
    struct bl_view view;
    if (r->is_table || shown < 1)
        return BL_OK;
    int code = bl_view_open(&view, r->path, e);
    if (code)
        return code;
    bl_buffer_text(out, "<h2>Blocks</h2>\n<p>Some of them, as <code>bload show</code> draws them.</p>\n");
    /* The product in floating point cannot overflow, and its error does not matter here. */
    for (int64_t i = 0; i < shown && !code; i++)
        code = blocks_append(r, &view, (int64_t)((double)blocks / (double)shown * (double)i), cancel, out, e);
    bl_view_close(&view);
    return code;
}

/* --- page --------------------------------------------------------------------------------------------------------- */

/* Appends the page in one pass. A failure in the middle leaves a part of the page in out, which the caller discards. */
int bl_report_format(struct bl_report *report, const struct bl_cancel *cancel, struct bl_buffer *out,
                     struct bl_error *e)
{
    struct bl_buffer style = {0};
    /* The style of sheets is needed in the head of the page, before the sections that use it. */
    bl_sheet_append_style(&style);
    int code = bl_buffer_check(&style, e);
    if (!code)
        bl_page_begin(out, report->path, "bload report", style.data);
    bl_buffer_free(&style);
    if (code)
        return code;
    page_contents(report, out);
    page_plan(report, out);
    BL_TRY(page_blocks(report, cancel, out, e));
    page_sources(report, out);
    bl_card_append_page(&report->card, out);
    page_origin(report, out);
    bl_page_end(out);
    return bl_buffer_check(out, e);
}
