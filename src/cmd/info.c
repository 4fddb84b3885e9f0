/* bload info describes a dataset, a view or an export, for people or (--json) for programs.
 *
 * store/info.h reads the manifest, the tables and the plans; this file prints them as lines of a label and a text:
 *
 *     strategy    block, fill optimal, seed 0
 *     blocks      1,204 of T = 64 steps, S = 12 at most; lower bound 1,204, so the plan is optimal
 *     padding     312 steps, efficiency 99.60 %
 *
 * Lines that would say nothing are left out. Programs read the JSON, whose members the manual page promises. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/remote.h"
#include "cmd/signals.h"
#include "run/packing.h"
#include "report/report.h"
#include "report/statistics.h"
#include "store/info.h"
#include "store/plan_info.h"

#define BAR_WIDTH 40       /* characters of the longest bar */
#define CHANNELS_SHOWN 128 /* for people; of more channels the range is shown */
#define CARD_SHOWN 5       /* values of a column for people; the others are summed up */

/* The state of the command, or of another command that describes the dataset it has made. */
struct informing {
    bool json, statistics;            /* options */
    int64_t sample;                   /* option: blocks that statistics read; 0: all */
    const struct bl_cancel *cancel;   /* of the command; NULL without statistics */
    const struct bl_run_times *times; /* of the run that made the dataset, for JSON; or NULL */
    const struct bl_totals *totals;   /* of that run; set if times is */
    struct bl_info info;              /* owned by the command, as the members below */
    struct bl_card card;
    struct bl_statistics numbers;
    struct bl_cmd_remote remote; /* options of URLs */
};

/* A number of blocks, at least 1; or "all", which is 0. */
static bool sample_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    *(int64_t *)value = 0;
    return strcmp(text, "all") == 0 || bl_text_to_int(text, strlen(text), 1, INT64_MAX, value);
}

static void sample_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const int64_t *blocks = value;
    (void)option;
    if (*blocks)
        bl_buffer_int(out, *blocks);
    else
        bl_buffer_text(out, "all");
}

static const struct bl_option_type sample_type = {"N|all", sample_parse, sample_format,
                                                  "a number of blocks from 1, or all"};

static void info_free(struct informing *i)
{
    bl_info_free(&i->info);
    bl_card_free(&i->card);
    bl_statistics_free(&i->numbers);
}

static const struct bl_option table[] = {
    BL_OPTION_FLAG("json", struct informing, json, BL_AFFECTS_NOTHING, "print JSON"),
    BL_OPTION_FLAG("statistics", struct informing, statistics, BL_AFFECTS_NOTHING,
                   "read some blocks, and show mean, standard deviation, minimum and maximum of each channel"),
    BL_OPTION_CUSTOM("sample", &sample_type, int64_t, struct informing, sample, BL_AFFECTS_NOTHING,
                     "blocks that --statistics reads, drawn by the seed of the plan", .initial = "128",
                     .only = "statistics"),
    {0},
};

/* --- plan --------------------------------------------------------------------------------------------------------- */

/* Appends "left out    3 sequences by request: --extend 1, --where 2". */
static void info_format_left_out(const struct bl_info *info, struct bl_buffer *out)
{
    const char *before = ": ";
    char a[BL_PLURAL_SIZE];
    if (!info->excluded)
        return;
    bl_buffer_printf(out, "left out    %s by request", bl_text_plural(a, info->excluded, "sequence"));
    for (int by = 0; by < BL_LEFT_OUT_OPTIONS; by++) {
        if (!info->left_out.by[by])
            continue;
        bl_buffer_printf(out, "%s--%s %s", before, bl_left_out_option((enum bl_left_out)by),
                         bl_text_count(a, info->left_out.by[by]));
        before = ", ";
    }
    bl_buffer_byte(out, '\n');
}

/* Appends "split       71 sequences are in parts; 142 steps are repeated, the first 2 of every part but the first". */
static void info_format_split(const struct bl_info *info, struct bl_buffer *out)
{
    const struct bl_plan_info *w = &info->manifest.plan_info;
    char a[BL_PLURAL_SIZE], b[32];
    if (!bl_info_is_split(info))
        return;
    bl_buffer_printf(out, "split       %s in parts", bl_text_plural(a, w->cut, "sequence is|sequences are"));
    if (w->overlap)
        bl_buffer_printf(out, "; %s, the first %s of every part but the first",
                         bl_text_plural(a, w->repeated, "step is repeated|steps are repeated"),
                         bl_text_count(b, w->overlap));
    bl_buffer_byte(out, '\n');
}

/* Appends "together    300 bundles by pair, 2 of them split". */
static void info_format_together(const struct bl_info *info, struct bl_buffer *out)
{
    const struct bl_plan_info *w = &info->manifest.plan_info;
    char a[BL_PLURAL_SIZE], b[32];
    if (!w->together[0])
        return;
    bl_buffer_printf(out, "together    %s by %s", bl_text_plural(a, w->bundles, "bundle"), w->together);
    if (w->bundles_split)
        bl_buffer_printf(out, ", %s of them split", bl_text_count(b, w->bundles_split));
    bl_buffer_byte(out, '\n');
}

/* Appends the numbers of steps and sequences that are in no block: "lost        12 steps deleted, 1 sequence cut". A
 * sequence that is split is in blocks, so "cut" counts as lost only otherwise. */
static void info_format_lost(const struct bl_info *info, struct bl_buffer *out)
{
    const struct bl_plan_info *w = &info->manifest.plan_info;
    /* A noun is the singular and, after "|", the plural. */
    const struct {
        int64_t count;
        const char *noun;
    } lost[] = {{w->deleted, "step deleted|steps deleted"},
                {bl_info_is_split(info) ? 0 : w->cut, "sequence cut|sequences cut"},
                {info->dropped - info->excluded, "sequence dropped|sequences dropped"}};
    const char *before = "lost        ";
    char a[BL_PLURAL_SIZE];
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        if (!lost[i].count)
            continue;
        bl_buffer_printf(out, "%s%s", before, bl_text_plural(a, lost[i].count, lost[i].noun));
        before = ", ";
    }
    if (*before == ',') /* at least one number was appended */
        bl_buffer_byte(out, '\n');
}

/* Appends "the stored plan", or "epoch 3" for the plan of another epoch. */
static void info_format_epoch(int64_t epoch, struct bl_buffer *out)
{
    if (epoch)
        bl_buffer_printf(out, "epoch %" PRId64, epoch);
    else
        bl_buffer_text(out, "the stored plan");
}

/* Appends how many pairs of sequences that share a block in one epoch share one in another epoch, too: the highest
 * share of all pairs of plans, and the share that random plans would have. */
static void info_format_pair_repeat(const struct bl_epochs_pair_repeat *pair_repeat, struct bl_buffer *out)
{
    const struct bl_pair_repeat *highest = &pair_repeat->highest;
    char plans[BL_PLURAL_SIZE];
    if (!pair_repeat->epochs)
        return;
    bl_text_plural(plans, pair_repeat->epochs + 1, "plan");
    if (!highest->pairs) {
        bl_buffer_printf(out, "pairs       %s, no block of which holds two sequences\n", plans);
        return;
    }
    bl_buffer_printf(out, "pairs       repeat rate %.2f %% at most (", 100 * bl_pair_repeat_share(highest));
    info_format_epoch(pair_repeat->plan[0], out);
    bl_buffer_text(out, " and ");
    info_format_epoch(pair_repeat->plan[1], out);
    bl_buffer_printf(out, "; random blocks: %.2f %%), ", 100 * highest->random);
    bl_buffer_printf(out,
                     pair_repeat->each_pair ? "between any two of %s\n"
                                            : "between each of %s and the next, and the stored one\n",
                     plans);
}

/* Appends the lines about lengths, blocks and padding. */
static void info_format_plan(const struct bl_info *info, struct bl_buffer *out)
{
    const struct bl_plan_info *w = &info->manifest.plan_info;
    char a[32], b[32], c[32], d[32], most[BL_PLURAL_SIZE];
    int64_t gap = w->blocks - w->lower_bound;
    bl_buffer_printf(out, "strategy    %s%s%s, ", w->strategy, w->fill[0] ? ", fill " : "", w->fill);
    /* A plan that was made elsewhere has no seed that bload knows. */
    bl_buffer_printf(out, w->seed_unknown ? "seed not known: the plan was given\n" : "seed %" PRIu64 "\n", w->seed);
    bl_buffer_printf(out, "sequences   %s of %s steps, longest %s\n", bl_text_count(a, w->sequences),
                     bl_text_count(b, w->steps), bl_text_count(c, w->longest));
    if (info->hours > 0)
        bl_buffer_printf(out, "duration    %.3f hours\n", info->hours);
    bl_buffer_printf(out, "blocks      %s of T = %s steps, S = %s at most; lower bound %s, ",
                     bl_text_count(a, w->blocks), bl_text_count(b, w->T),
                     bl_text_plural(most, info->manifest.format.S, "sequence"), bl_text_count(d, w->lower_bound));
    bl_buffer_printf(out, gap ? "gap %s\n" : "so the plan is optimal\n", bl_text_count(a, gap));
    bl_buffer_printf(out, "padding     %s steps, efficiency %.2f %%", bl_text_count(a, w->padding),
                     100 * w->efficiency);
    if (info->naive_padding >= 0)
        bl_buffer_printf(out, "; naive padding would cost %s", bl_text_count(a, info->naive_padding));
    bl_buffer_byte(out, '\n');
    if (w->cp)
        bl_buffer_printf(out, "cp          %s: every sequence is padded to a multiple of %s steps\n",
                         bl_text_plural(most, w->cp, "rank"), bl_text_count(a, info->manifest.align));
    info_format_together(info, out);
    info_format_lost(info, out);
    info_format_split(info, out);
    if (info->manifest.untrained.pieces || info->manifest.untrained.blocks) {
        bl_buffer_text(out, "untrained   ");
        bl_untrained_describe(&info->manifest.untrained, out);
        bl_buffer_byte(out, '\n');
    }
    info_format_left_out(info, out);
    for (int k = 0; k < w->columns; k++) {
        bl_buffer_text(out, w->column[k].is_field ? "capacity    " : "column      ");
        bl_plan_info_column_describe(&w->column[k], out);
        bl_buffer_byte(out, '\n');
    }
    if (w->balance.is_measured && *bl_manifest_option(&info->manifest, "cost")) {
        bl_buffer_printf(out, "imbalance   %.2f %% by the given cost (proven minimum: %.2f %%)", 100 * w->balance.lost,
                         100 * w->balance.bound);
        bl_buffer_text(out, w->balance.points ? "; " : "");
        bl_plan_info_points_describe(&w->balance, false, out);
        bl_buffer_byte(out, '\n');
    }
    info_format_pair_repeat(&info->pair_repeat, out);
}

/* --- contents ----------------------------------------------------------------------------------------------------- */

/* Appends a line for each field, "field       frames u8 [64, 224, 224, 3] per block, from video: H.264, ...", and the
 * line "attributes  score f32, label i64". */
static void info_format_fields(const struct bl_info *info, struct bl_buffer *out)
{
    const struct bl_format *format = &info->manifest.format;
    char encoding[BL_ENCODING_NAME_MAX];
    for (int f = 0; f < format->fields.count; f++) {
        const struct bl_field *field = &format->fields.field[f];
        bl_buffer_printf(out, "field       %s %s [%" PRId64, field->name, bl_dtype_name(field->dtype),
                         bl_format_steps(format, f));
        for (int i = 0; i < field->rank; i++)
            bl_buffer_printf(out, ", %" PRId64, field->shape[i]);
        bl_buffer_printf(out, "] per block, %sfrom %s: ",
                         !field->own   ? ""
                         : field->flat ? "steps of its own, stored flat, "
                                       : "steps of its own, padded, ",
                         field->kind);
        bl_text_append_masked(out, info->manifest.made[f]);
        if (format->encoding[f].kind != BL_ENCODING_RAW)
            bl_buffer_printf(out, "; kept as %s", bl_encoding_name(&format->encoding[f], encoding));
        bl_buffer_byte(out, '\n');
    }
    for (int a = 0; a < format->attributes; a++) {
        bl_buffer_text(out, a ? ", " : "attributes  ");
        bl_text_append_masked(out, format->attribute[a].name);
        bl_buffer_printf(out, " %s%s", bl_dtype_name(format->attribute[a].dtype),
                         a + 1 == format->attributes ? "\n" : "");
    }
}

/* Appends a line for each dataset of a view:
 * "source      english (../english): 990 sequences of 123,456 steps, 75.00 % of the plan, weight 3". */
static void info_format_sources(const struct bl_manifest *m, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE], b[32];
    for (size_t s = 0; s < m->sources; s++) {
        const struct bl_view_source *source = &m->source[s];
        bl_buffer_text(out, "source      ");
        bl_text_append_masked(out, source->name);
        bl_buffer_text(out, " (");
        bl_text_append_masked(out, source->path);
        bl_buffer_printf(out, "): %s of %s steps, %.2f %% of the plan",
                         bl_text_plural(a, source->sequences, "sequence"), bl_text_count(b, source->steps),
                         100 * source->share);
        if (source->weight > 0)
            bl_buffer_printf(out, ", weight %.10g", source->weight);
        bl_buffer_byte(out, '\n');
    }
}

/* Appends where the steps are stored, and what made the dataset. */
static void info_format_files(const struct bl_info *info, struct bl_buffer *out)
{
    const struct bl_manifest *m = &info->manifest;
    const struct bl_format *format = &m->format;
    char a[32], b[32], c[32];
    if (bl_manifest_is_view(m)) {
        info_format_sources(m, out);
    } else {
        bl_buffer_printf(out, "shards      %s of %s blocks at most, %s in all, ", bl_text_count(a, info->shards),
                         bl_text_count(b, format->blocks_per_shard), bl_text_size(c, info->bytes));
        bl_buffer_printf(out, format->compressed ? "zstd level %d" : "not compressed", format->level);
        if (format->frame_size)
            bl_buffer_printf(out, ", frames of %s at most", bl_text_size(c, (int64_t)format->frame_size));
        bl_buffer_byte(out, '\n');
    }
    for (size_t i = 0; i < m->counts.count; i++) {
        bl_buffer_text(out, i ? ", " : "counts      ");
        bl_text_append_masked(out, m->counts.pair[i].name);
        bl_buffer_printf(out, " %s", m->counts.pair[i].value);
    }
    bl_buffer_text(out, m->counts.count ? "\n" : "");
    bl_buffer_printf(out, "plan        %s\nmade by     bload %s, SIMD level %s", format->plan_digest, m->tool, m->simd);
    for (size_t i = 0; i < m->libraries.count; i++)
        bl_buffer_printf(out, ", %s %s", m->libraries.pair[i].name, m->libraries.pair[i].value);
    bl_buffer_byte(out, '\n');
    for (size_t i = 0; i < m->notes; i++) /* what the machines of the run were missing, such as the filter */
        bl_cmd_append_line(out, i ? "" : "note", m->note[i]);
}

/* Appends the numbers of skipped, failed and damaged sequences, and a line for each of the first ones. */
static void info_format_faults(const struct bl_info *info, struct bl_buffer *out)
{
    const struct bl_manifest *m = &info->manifest;
    if (!info->fault_count)
        return;
    bl_buffer_text(out, "faults      ");
    bl_fault_counts_append(out, &(struct bl_fault_counts){.skipped = m->skipped,
                                                          .failed = m->failed,
                                                          .damaged = info->damaged,
                                                          .failed_steps = m->failed_steps});
    bl_buffer_byte(out, '\n');
    for (int i = 0; i < info->faults; i++) {
        bl_buffer_text(out, "            ");
        bl_text_append_masked(out, info->fault[i].id);
        /* The reasons of damaged inputs contain the word "damaged". */
        bl_buffer_printf(out, strcmp(info->fault[i].status, "damaged") == 0 ? ": " : ": %s: ", info->fault[i].status);
        bl_text_append_masked(out, info->fault[i].reason);
        bl_buffer_byte(out, '\n');
    }
    if (info->fault_count > info->faults)
        bl_buffer_printf(out, "            and %" PRId64 " more: see sequences.tsv%s\n",
                         info->fault_count - info->faults, bl_manifest_is_view(m) ? " of the sources" : "");
}

/* Appends a bar for each range of lengths. The longest bar has BAR_WIDTH characters, the others are in proportion. */
static void info_format_histogram(const struct bl_info *info, struct bl_buffer *out)
{
    char number[32];
    int64_t most = 1; /* not 0, since it divides */
    for (int i = 0; i < info->bars; i++)
        most = info->bar[i] > most ? info->bar[i] : most;
    bl_buffer_text(out, "lengths     ");
    for (int q = 0; q < BL_QUANTILES; q++)
        bl_buffer_printf(out, "%s%s %s", q ? ", " : "", bl_quantile_names[q], bl_text_count(number, info->quantile[q]));
    bl_buffer_text(out, " steps\n            steps: sequences\n");
    for (int i = 0; i < info->bars; i++) {
        char bar[BAR_WIDTH + 1], count[32];
        int width = (int)((double)info->bar[i] / (double)most * BAR_WIDTH + 0.5);
        memset(bar, '#', sizeof bar);
        bar[width] = '\0';
        bl_buffer_printf(out, "%12" PRId64 " - %-8" PRId64 " %-*s %s\n", i * info->bar_width + 1,
                         (i + 1) * info->bar_width, BAR_WIDTH, bar, bl_text_count(count, info->bar[i]));
    }
}

/* --- card --------------------------------------------------------------------------------------------------------- */

/* Appends a line for each column that tells labels, languages, codecs, resolutions or rates:
 * "labels      dog 66.67 %, cat 30.00 %, 12 others 3.33 %", by their shares of the steps. */
static void info_format_card(const struct bl_card *card, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE];
    for (int way = BL_CARD_LABELS; way < BL_CARD_WAYS; way++) {
        const struct bl_tally *tally = &card->count[way];
        size_t shown = tally->count < CARD_SHOWN ? tally->count : CARD_SHOWN;
        int64_t values;
        struct bl_tally_entry others = bl_card_others(tally, shown, &values);
        double all = card->all.steps > 0 ? (double)card->all.steps : 1;
        if (!card->by[way])
            continue;
        bl_buffer_printf(out, "%-12s", bl_card_names[way]);
        for (size_t i = 0; i < shown; i++) {
            bl_buffer_text(out, i ? ", " : "");
            bl_text_append_masked(out, *tally->entry[i].key ? tally->entry[i].key : "not given");
            bl_buffer_printf(out, " %.2f %%", 100 * (double)tally->entry[i].steps / all);
        }
        if (others.rows)
            bl_buffer_printf(out, "%s%s %.2f %%", shown ? ", " : "",
                             values < 0 ? "others" : bl_text_plural(a, values, "other"),
                             100 * (double)others.steps / all);
        bl_buffer_text(out, shown || others.rows ? " of the steps\n" : "none\n");
    }
}

/* --- statistics --------------------------------------------------------------------------------------------------- */

/* Appends "            mean [0.485, 0.456, 0.406]", which can be copied into a program. Many channels get a range. */
static void statistics_append_line(const struct bl_field_statistics *field, const char *name, size_t offset,
                                   struct bl_buffer *out)
{
    double low = NAN, high = NAN;
    bl_buffer_printf(out, "            %-4s ", name);
    for (int64_t c = 0; c < field->channels; c++) {
        const struct bl_channel_numbers numbers = bl_channel_numbers(field, c);
        const double number = *(const double *)(const void *)((const char *)&numbers + offset);
        low = fmin(low, number); /* fmin ignores NAN */
        high = fmax(high, number);
        if (field->channels <= CHANNELS_SHOWN)
            bl_buffer_printf(out, "%s%.6g", c ? ", " : "[", number);
    }
    if (field->channels <= CHANNELS_SHOWN)
        bl_buffer_text(out, "]\n");
    else
        bl_buffer_printf(out, "%.6g to %.6g (--json has each channel)\n", low, high);
}

static void statistics_format_field(const struct bl_field_statistics *field, const char *name, struct bl_buffer *out)
{
    static const struct {
        const char *name;
        size_t offset;
    } line[] = {{"mean", offsetof(struct bl_channel_numbers, mean)},
                {"std", offsetof(struct bl_channel_numbers, std)},
                {"min", offsetof(struct bl_channel_numbers, least)},
                {"max", offsetof(struct bl_channel_numbers, most)}};
    int64_t values = 0, not_finite = 0;
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE];
    for (int64_t c = 0; c < field->channels; c++) {
        values += field->channel[c].count;
        not_finite += field->channel[c].not_finite;
    }
    bl_buffer_printf(out, "            %s, %s", name, field->of);
    if (field->scale > 1)
        bl_buffer_printf(out, " divided by %g", field->scale);
    bl_buffer_printf(out, ": %s in %s", bl_text_plural(a, values, "value"),
                     bl_text_plural(b, field->channels, "channel"));
    if (not_finite)
        bl_buffer_printf(out, ", and %s that are not finite and do not count", bl_text_count(a, not_finite));
    bl_buffer_byte(out, '\n');
    for (size_t l = 0; l < sizeof line / sizeof *line; l++)
        statistics_append_line(field, line[l].name, line[l].offset, out);
}

/* Appends what was read, and the numbers of each field. */
static void info_format_statistics(const struct informing *i, struct bl_buffer *out)
{
    const struct bl_statistics *s = &i->numbers;
    const struct bl_field *field = i->info.manifest.format.fields.field;
    char a[BL_PLURAL_SIZE], b[BL_PLURAL_SIZE], c[BL_PLURAL_SIZE];
    bl_buffer_printf(out, "statistics  %s of %s, ", bl_text_count(a, s->blocks),
                     bl_text_plural(b, s->all_blocks, "block"));
    bl_buffer_printf(out, "with %s of %s without padding", bl_text_plural(a, s->steps, "step"),
                     bl_text_plural(c, s->sequences, "sequence"));
    if (s->failed)
        bl_buffer_printf(out, "; %s while packing", bl_text_plural(a, s->failed, "sequence failed|sequences failed"));
    for (int f = 0; f < s->left; f++)
        bl_buffer_printf(out, "%s%s", f ? ", " : "; not of ", field[s->left_out[f]].name);
    bl_buffer_byte(out, '\n');
    for (int f = 0; f < s->fields; f++)
        statistics_format_field(&s->field[f], field[s->field[f].field].name, out);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

/* Reads the rows of the tables for the card. For people, it shows only what columns say, so tables without such columns
 * are not read again. */
static int info_read_card(struct informing *i, const char *dir, struct bl_error *e)
{
    struct bl_sequences rows;
    BL_TRY(bl_report_open_rows(dir, &i->info.manifest, &rows, e));
    int code = i->json || bl_card_has_columns(&rows) ? bl_card_read(&i->card, &rows, &i->info.manifest, e) : BL_OK;
    bl_sequences_close(&rows);
    return code;
}

/* Appends the JSON. bload pack --json and others add "run"; bload info has no run of its own. */
static int info_format_json(const struct informing *i, struct bl_buffer *text, struct bl_error *e)
{
    struct json_t *run = NULL, *more = json_object();
    if (i->times) {
        int code = bl_run_times_json(i->times, &run, e);
        if (code) {
            json_decref(more);
            return code;
        }
        bl_jansson_set(&run, "totals", bl_totals_json(i->totals)); /* the manifest does not have them */
    }
    bl_jansson_set(&more, "card", bl_card_json(&i->card));
    if (i->statistics)
        bl_jansson_set(&more, "statistics", bl_statistics_json(&i->numbers, &i->info.manifest.format));
    if (run)
        bl_jansson_set(&more, "run", run);
    return bl_info_json(&i->info, more, text, e);
}

/* Appends the description of the dataset in dir to text. Sets i->info and i->card. */
static int info_format(struct informing *i, const char *dir, struct bl_buffer *text, struct bl_error *e)
{
    struct bl_error why = {0};
    int code = bl_info_read(&i->info, dir, &why);
    if (code) /* a directory without a dataset is a failure, not wrong usage */
        return bl_error_pass(e, BL_EFAIL, &why);
    BL_TRY(info_read_card(i, dir, e));
    if (i->statistics)
        BL_TRY(bl_statistics_read(&i->numbers, dir, i->sample, i->cancel, e));
    if (i->json)
        return info_format_json(i, text, e);
    info_format_plan(&i->info, text);
    info_format_card(&i->card, text);
    if (i->statistics)
        info_format_statistics(i, text);
    info_format_fields(&i->info, text);
    info_format_files(&i->info, text);
    info_format_faults(&i->info, text);
    info_format_histogram(&i->info, text);
    return BL_OK;
}

int bl_cmd_append_info(const char *dir, struct bl_buffer *out, struct bl_error *e)
{
    struct informing i = {.json = true};
    int code = info_format(&i, dir, out, e);
    info_free(&i);
    return code;
}

/* A command that made a dataset prints it in this way, so that a program needs no second command. */
int bl_cmd_write_info(const char *dir, const struct bl_run_times *times, const struct bl_totals *totals,
                      struct bl_error *e)
{
    struct informing i = {.json = true, .times = times, .totals = totals};
    struct bl_buffer text = {0};
    char *manifest = bl_path_join(dir, BL_MANIFEST_FILE);
    int code = manifest ? BL_OK : bl_error_memory(e);
    if (!code && access(manifest, F_OK) != 0)
        bl_buffer_text(&text, "null\n");
    else if (!code)
        code = info_format(&i, dir, &text, e);
    free(manifest);
    info_free(&i);
    return bl_cmd_answer(NULL, &text, false, code, e);
}

/* A directory with an export has no dataset in it, so exports are tried first. */
int bl_cmd_info(int argc, char **argv)
{
    struct informing i = {0};
    struct bl_cmd cmd = {
        .name = "info",
        .usage =
            "[options] DIR\n"
            "\n"
            "Shows the plan and its padding, what the plans of epochs repeat, the fields, the shards, skipped, failed\n"
            "and dropped sequences, and a histogram of lengths. Reads the manifest, the tables and the plans, not\n"
            "the shards, except with --statistics. For an export, shows its format, its dataset and its sizes.",
        .usual = "json statistics sample h help",
        .examples = "--json dataset\n"
                    "--statistics --sample all dataset",
        .operands = "directories"};
    const struct bl_option_group groups[] = {{"Output", table, &i},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &i.remote},
                                             {"General", bl_common_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    struct bl_buffer text = {0};
    const char *dir;
    if (code || cmd.common.help)
        goto out;
    code = bl_options_check(&cmd.options, &cmd.error);
    if (!code)
        code = bl_cmd_remote_directory(&i.remote, &cmd, &dir);
    if (!code)
        code = bl_cmd_export_info(dir, i.json, &text, &cmd.error);
    if (!code && text.size && i.statistics)
        code = bl_error_set(&cmd.error, BL_EUSAGE,
                            "--statistics reads a dataset, and %s is an export: name its dataset", dir);
    i.cancel = &cmd.cancel;
    if (!code && i.statistics)
        bl_signals_install(&cmd.cancel);
    if (!code && !text.size) /* not an export */
        code = info_format(&i, dir, &text, &cmd.error);
    code = bl_cmd_answer(NULL, &text, !i.json, code, &cmd.error);
out:
    info_free(&i);
    bl_cmd_remote_close(&i.remote);
    return bl_cmd_end(&cmd, code, false);
}
