/* Makes views. A view that is one level, or has one source, is planned by the planner; a view of several sources with
 * weights by a blend, if each block has one source, or by a mixture, if sources share blocks.
 *
 * Example: a dataset stores steps 100 to 199 of a sequence of 1,000 steps. The view plans 100 steps, and source_start
 * in its plan counts from 100, since readers of a view count from the beginning of the sequence. */
#include "run/view_make.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/output.h"
#include "base/text.h"
#include "run/plan.h"
#include "plan/capacity.h"
#include "plan/cost.h"
#include "plan/fill.h"
#include "plan/strategy.h"
#include "run/heartbeat.h"
#include "pool/pipeline.h"
#include "store/epochs.h"
#include "store/row_reader.h"
#include "store/view.h"

/* Returns whether each block holds sequences of one source only. */
static bool view_is_blended(const struct bl_view_request *r)
{
    return r->count > 1 && r->mix == BL_BLEND_BATCH;
}

/* Returns whether the view is one level: only sequences in a range of lengths are in it. */
static bool view_is_level(const struct bl_view_request *r)
{
    return r->longer_than || r->up_to;
}

/* Returns whether sequences of all sources are drawn by weight and share blocks. */
static bool view_is_mixture(const struct bl_view_request *r)
{
    return r->mix == BL_BLEND_RANDOM && r->weight[0] > 0;
}

/* --- sequences -------------------------------------------------------------------------------------------------- */

/* Returns whether one of the rows from row to end - 1 has steps that can be planned. */
static bool rows_have_steps(const struct bl_sequences *t, int64_t row, int64_t end)
{
    while (row < end && !t->length[row])
        row++;
    return row < end;
}

/* Sets the length of each row to its stored steps, since only those can be planned. A message reports missing steps. */
static void lengths_set_stored(struct bl_view_job *job)
{
    struct bl_sequences *t = &job->table;
    int64_t missing = 0, steps = 0;
    char a[BL_PLURAL_SIZE], b[32];
    for (size_t row = 0; row < t->count; row++) {
        int64_t stored = t->length[row] ? bl_places_steps(&job->places, (int64_t)row) : 0;
        job->begins_late |= stored && job->places.source_start && bl_places_begin(&job->places, (int64_t)row) > 0;
        missing += stored < t->length[row];
        steps += t->length[row] - stored;
        t->length[row] = stored;
    }
    if (missing)
        bl_view_job_message(job, "%s not stored as a whole: %s steps of them are missing from the sources",
                            bl_text_plural(a, missing, "sequence is|sequences are"), bl_text_count(b, steps));
}

/* Shows the progress of choosing the subset, if it takes long. */
static void view_on_choice(void *view_job, int64_t row, int64_t rows)
{
    struct bl_view_job *job = view_job;
    if (!row)
        bl_progress_start(&job->progress, "choose", "sequences", NULL, rows);
    job->progress.done = row;
    if (job->request->tick && bl_progress_seconds(&job->progress) >= BL_PROGRESS_LATE)
        job->request->tick(job->request->sink, &job->progress);
}

/* Opens the tables of the sources as one table, with the rows of the subset. */
static int view_open_table(struct bl_view_job *job, struct bl_error *e)
{
    const struct bl_view_request *r = job->request;
    struct bl_plan_options without = *r->options;
    without.capacity.count = 0; /* the own steps that are stored come from the indexes of the sources */
    struct bl_sequences_columns columns = bl_plan_columns_wanted(r->group_by, &without);
    struct bl_subset subset = {.options = r->subset, .exclusion = r->exclusion, .tick = view_on_choice, .sink = job};
    size_t count = (size_t)r->count;
    columns.may_repeat = true;
    char **path = calloc(count, sizeof *path);
    const char **name = calloc(count, sizeof *name);
    int code = path && name ? BL_OK : bl_error_memory(e);
    subset.source = count > 1 ? name : NULL; /* a view adds the name of the source to an id that several sources have */
    for (size_t s = 0; s < count && !code; s++) {
        name[s] = job->manifest->source[s].name;
        path[s] = bl_path_join(r->dir[s], BL_SEQUENCES_FILE);
        code = path[s] ? BL_OK : bl_error_memory(e);
    }
    if (!code)
        code = bl_subset_open(&subset, &job->table, (const char *const *)path, r->count, &columns, e);
    if (!code && r->left_out)
        r->left_out(r->sink, &subset);
    struct bl_buffer unused = {0}; /* ids of --exclude that no sequence has */
    if (!code && r->exclusion)
        bl_exclusion_append_unused(r->exclusion, &unused);
    if (unused.size && !unused.failed)
        bl_view_job_message(job, "%s", unused.data);
    bl_buffer_free(&unused);
    bl_subset_free(&subset);
    bl_path_free_all(path, count);
    free(name);
    return code;
}

/* Sets the stored own steps of each row, and the capacities of the fields: what the user gave, or `auto`. */
static int own_lengths_set(struct bl_view_job *job, struct bl_error *e)
{
    for (int k = 0; k < job->own.count; k++) {
        job->own_length[k] = calloc(job->table.count + 1, sizeof **job->own_length);
        if (!job->own_length[k])
            return bl_error_memory(e);
        for (size_t row = 0; row < job->table.count; row++)
            job->own_length[k][row] = job->table.length[row] ? bl_places_own(&job->places, (int64_t)row, k).length : 0;
    }
    struct bl_plan_options *o = job->request->options;
    BL_TRY(bl_plan_capacity_complete(&o->capacity, &job->own, e));
    return bl_cost_check_fields(&o->cost, &o->capacity, e);
}

/* Reads the table of all sources and finds where each sequence is stored. */
static int sequences_read(struct bl_view_job *job, struct bl_error *e)
{
    const struct bl_view_request *r = job->request;
    struct bl_manifest *m = job->manifest;
    BL_TRY(view_open_table(job, e));
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
    int code = bl_places_collect(&job->places, index, job->first_row, (size_t)r->count, &job->own, e);
    free(index);
    if (!code)
        lengths_set_stored(job);
    if (!code)
        code = own_lengths_set(job, e);
    if (!code && job->begins_late && r->options->overlap)
        code = bl_error_set(
            e, BL_EUSAGE,
            "--overlap needs sequences that are stored from their first step on, but some sources store clips");
    if (!code)
        code = bl_format_check_overlap(&m->format, r->options->overlap, e);
    if (!code)
        code = bl_format_check_cost(&m->format, &r->options->cost, e);
    struct bl_sequences *t = &job->table;
    /* A length of 0 leaves out the sequences that belong to the views of other levels. */
    for (size_t row = 0; row < t->count && !code && view_is_level(r); row++) {
        if (t->length[row] <= r->longer_than || (r->up_to && t->length[row] > r->up_to))
            t->length[row] = 0;
    }
    return code ? code : bl_attribute_values_read(&job->values, &job->table, &m->format, e);
}

/* --- plans ------------------------------------------------------------------------------------------------------ */

/* Reports how many plans are made. */
static void plans_tick(struct bl_view_job *job, int64_t done)
{
    job->progress.done = done;
    if (job->request->tick)
        job->request->tick(job->request->sink, &job->progress);
}

/* Sets source[0] to source[*count - 1] to the sources to draw from, and which[] to their indices in the request. A
 * level may have no sequence of a source; then the weights of the others keep their ratios. In other views this is
 * BL_EFAIL. */
static int sources_choose(struct bl_view_job *job, struct bl_blend_source *source, int *which, size_t *count,
                          struct bl_error *e)
{
    const struct bl_view_request *r = job->request;
    for (int s = 0; s < r->count; s++) {
        int64_t first = job->first_row[s], end = job->first_row[s + 1];
        bool is_empty = r->weight[s] > 0 && !rows_have_steps(&job->table, first, end);
        if (is_empty && !view_is_level(r))
            return bl_error_set(e, BL_EFAIL, "no sequence of the source %s is left: make the view without it",
                                r->dir[s]);
        if (is_empty) {
            bl_view_job_message(job, "%s has no sequence of such a length for %s", r->dir[s], r->output);
            continue;
        }
        which[*count] = s;
        source[(*count)++] = (struct bl_blend_source){(size_t)first, (size_t)(end - first), r->weight[s]};
    }
    return BL_OK;
}

/* Makes the blend or the mixture of the sources. */
static int sources_plan(struct bl_view_job *job, struct bl_error *e)
{
    const struct bl_view_request *r = job->request;
    const struct bl_sequences *t = &job->table;
    const struct bl_blend_options given = {r->epoch_steps, r->repeat_max, r->epochs};
    struct bl_blend_source *source = calloc((size_t)r->count, sizeof *source);
    int *which = calloc((size_t)r->count, sizeof *which);
    size_t at, count = 0;
    int code = source && which ? sources_choose(job, source, which, &count, e) : bl_error_memory(e);
    if (code)
        goto out;
    if (view_is_mixture(r))
        code = bl_mixture_make(&job->mixture, t->length, t->count, source, count, r->options, &given, &at, e);
    else
        code = bl_blend_make(&job->blend, t->length, t->count, source, count, r->options, &given, &at, e);
    if (code && at < count)
        bl_error_prefix(e, "the source %s", r->dir[which[at]]);
out:
    free(source);
    free(which);
    return code;
}

/* Finds the capacities that the user leaves open. Where each block has one source, plans of the search keep the sources
 * apart as groups. */
static int capacities_find(struct bl_view_job *job, struct bl_error *e)
{
    struct bl_plan_options *o = job->request->options;
    const struct bl_sequences *t = &job->table;
    uint32_t *group = NULL;
    const uint32_t *own = o->group;
    if (view_is_blended(job->request) && !own && job->own.count) {
        group = malloc((t->count + 1) * sizeof *group);
        if (!group)
            return bl_error_memory(e);
        for (int s = 0; s < job->request->count; s++) {
            for (int64_t row = job->first_row[s]; row < job->first_row[s + 1]; row++)
                group[row] = (uint32_t)s;
        }
        o->group = group;
    }
    int code = bl_capacities_find(o, t->length, t->count, e);
    o->group = own;
    free(group);
    return code;
}

/* Numbers the bundles of each source on their own: equal values of two sources are different bundles. The number is the
 * first row of the bundle. BL_EFAIL: out of memory. */
static int bundles_number(struct bl_view_job *job, struct bl_error *e)
{
    const struct bl_sequences *t = &job->table;
    int64_t *first = malloc((t->count + 1) * sizeof *first); /* by bundle: its first row in the latest source with it */
    if (!first)
        return bl_error_memory(e);
    for (size_t i = 0; i < t->count; i++)
        first[i] = -1;
    for (int s = 0; s < job->request->count; s++) {
        for (int64_t row = job->first_row[s]; row < job->first_row[s + 1]; row++) {
            uint32_t bundle = t->together[row];
            if (bundle == BL_ALONE)
                continue;
            if (first[bundle] < job->first_row[s])
                first[bundle] = row;
            t->together[row] = (uint32_t)first[bundle];
        }
    }
    free(first);
    return BL_OK;
}

/* The work of the background task: makes the planner, the blend or the mixture. */
static int planner_make(void *view_job, struct bl_error *e)
{
    struct bl_view_job *job = view_job;
    const struct bl_view_request *r = job->request;
    const struct bl_sequences *t = &job->table;
    struct bl_plan_options *o = r->options;
    /* The columns of the table come first, then the own steps. */
    double *number[BL_SEQUENCES_NUMBERS_MAX];
    int numbers = (o->cost.column != NULL) + o->max_column.count;
    memcpy(number, t->number, (size_t)numbers * sizeof *number);
    memcpy(number + numbers, job->own_length, (size_t)job->own.count * sizeof *number);
    bl_plan_columns_set(o, t->group, number);
    o->together = t->together;
    if (t->together && r->count > 1)
        BL_TRY(bundles_number(job, e));
    BL_TRY(bl_table_lengths_resolve(t, o, e));
    BL_TRY(bl_table_lengths_check(t, o, e));
    BL_TRY(capacities_find(job, e));
    return view_is_blended(r) || view_is_mixture(r) ? sources_plan(job, e)
                                                    : bl_planner_make(&job->planner, t->length, t->count, o, e);
}

/* Shows progress only if the search is slow; most searches are instant. */
static void planner_tick(void *view_job)
{
    struct bl_view_job *job = view_job;
    if (bl_progress_seconds(&job->progress) >= BL_PROGRESS_LATE)
        plans_tick(job, 0);
}

/* Draws the plan of an epoch into job->plan. least: the least number of blocks. */
static int plan_draw(struct bl_view_job *job, int64_t epoch, size_t least, struct bl_error *e)
{
    const struct bl_sequences *t = &job->table;
    bl_plan_free(&job->plan);
    if (view_is_blended(job->request) || view_is_mixture(job->request)) {
        BL_TRY(view_is_blended(job->request) ? bl_blend_draw(&job->blend, &job->plan, e)
                                             : bl_mixture_draw(&job->mixture, &job->plan, e));
        bl_plan_own_set(&job->plan.own, job->request->options);
        return bl_plan_count_own(&job->plan, t->count, e);
    }
    BL_TRY(bl_planner_draw(&job->planner, job->request->options->seed + (uint64_t)epoch, least, false, &job->plan, e));
    return bl_plan_recount(&job->plan, t->length, t->count, e);
}

/* Makes source_start count from the beginning of the sequence, also for rows whose stored steps begin later. */
static int view_shift_plan(struct bl_view_job *job, struct bl_error *e)
{
    struct bl_plan *plan = &job->plan;
    bool any = false;
    /* Look only if some row begins late, which is rare: pieces are in random order, so each look is a cache miss. */
    for (size_t p = 0; job->begins_late && p < plan->pieces && !any; p++)
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

/* Counts the sequences and steps of each source in the plan. */
static int sources_count(struct bl_view_job *job, struct bl_error *e)
{
    struct bl_manifest *m = job->manifest;
    const struct bl_plan *plan = &job->plan;
    int64_t steps = 0;
    if (m->sources == 1 && !view_is_mixture(job->request)) { /* the plan has these counts already */
        m->source[0].sequences = plan->sequences - plan->dropped;
        m->source[0].steps = bl_plan_placed(plan);
        m->source[0].share = m->source[0].steps > 0;
        return BL_OK;
    }
    uint8_t *seen = calloc(job->table.count / 8 + 1, 1);
    if (!seen)
        return bl_error_memory(e);
    for (size_t p = 0; p < plan->pieces; p++) {
        uint32_t row = plan->sequence[p];
        bl_plan_prefetch_length(plan, job->table.length, p);
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

/* Writes the plan of an epoch to the file `name` and adds the file to the manifest. */
static int view_write_plan(struct bl_view_job *job, const char *name, int64_t epoch, struct bl_error *e)
{
    const struct bl_sequences *t = &job->table;
    struct bl_output out = {0};
    struct bl_plan_info info;
    char *path = bl_path_join(job->request->output, name);
    int code = path ? view_shift_plan(job, e) : bl_error_memory(e);
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
        struct bl_format *format = &job->manifest->format;
        struct bl_index index;
        /* Writing the file has computed the digest. */
        code = bl_index_open(&index, job->request->output, format->blocks, 0, e);
        if (!code) {
            memcpy(format->plan_digest, index.plan_digest, sizeof format->plan_digest);
            bl_index_close(&index);
        }
    }
out:
    bl_output_abort(&out);
    free(path);
    return code;
}

/* Sets *most to the largest number of blocks of any epoch if a random fill makes the numbers differ, else to 0. All
 * epochs get this number of blocks, since the manifest records only one. */
static int plans_most_blocks(struct bl_view_job *job, size_t *most, struct bl_error *e)
{
    const struct bl_plan_options *o = job->request->options;
    bool vary = !view_is_blended(job->request) && !view_is_mixture(job->request) && job->request->epochs > 1 &&
                bl_strategies[o->strategy]->is_packed && bl_fills[o->fill]->is_random;
    int code = BL_OK;
    *most = 0;
    for (int64_t k = 0; vary && k < job->request->epochs && !code; k++) {
        code = plan_draw(job, k, 0, e);
        *most = job->plan.blocks > *most ? job->plan.blocks : *most;
    }
    return code;
}

/* Draws and writes the plans of all epochs, and completes the format of the view. */
static int plans_write(struct bl_view_job *job, struct bl_view_made *made, struct bl_error *e)
{
    struct bl_format *format = &job->manifest->format;
    char name[BL_EPOCHS_NAME_MAX] = BL_INDEX_FILE;
    size_t least = 0;
    int code = plans_most_blocks(job, &least, e);
    job->planner.taken = job->request->epochs > 1 ? &job->taken : NULL;
    int64_t most = 1, slots = job->request->sequence_slots;
    format->has_source_start = false;
    for (int64_t k = 0; k < job->request->epochs && !code; k++) {
        plans_tick(job, k);
        if (k > 0)
            bl_epochs_name(k, name);
        if (k ==
            1) { /* the folder of further epochs, now that the first plan is written: a failed plan leaves no folder */
            char *path = bl_path_join(job->request->output, BL_EPOCHS_DIR);
            code = path ? bl_fs_mkdirs(path, e) : bl_error_memory(e);
            free(path);
        }
        if (!code)
            code = plan_draw(job, k, least, e);
        made->repeated += job->planner.is_repeated || job->blend.is_repeated || job->mixture.is_repeated;
        if (!code && k == 0) {
            made->plan = job->plan;
            format->T = job->plan.T;
            format->blocks = (int64_t)job->plan.blocks;
            for (int f = 0; f < format->fields.count; f++) {
                if (format->fields.field[f].own)
                    format->fields.field[f].capacity =
                        job->plan.own.field[bl_fields_own_number(&format->fields, f)].capacity;
            }
            code = sources_count(job, e);
        }
        most = job->plan.max_sequences > most ? job->plan.max_sequences : most;
        /* If there are too few slots, the other plans are drawn as well, only to report how many slots they need. */
        if (!code && (!slots || most <= slots))
            code = view_write_plan(job, name, k, e);
    }
    if (!code)
        code = bl_format_set_S(format, most, slots, e);
    if (!code)
        plans_tick(job, job->request->epochs);
    return code;
}

/* --- all of it -------------------------------------------------------------------------------------------------- */

/* Writes the files of the view; the manifest is last. */
static int view_write(struct bl_view_job *job, struct bl_view_made *made, struct bl_error *e)
{
    const char *dir = job->request->output;
    struct bl_manifest *m = job->manifest;
    for (int s = 0; s < job->request->count; s++)
        BL_TRY(bl_view_source_make_path(dir, job->request->dir[s], &m->source[s].path, e));
    BL_TRY(plans_write(job, made, e));
    BL_TRY(bl_places_write(&job->places, dir, &m->format, &job->values, job->table.repeated, job->table.repeats, e));
    BL_TRY(bl_manifest_add_file(m, dir, BL_PLACES_FILE, e));
    BL_TRY(bl_manifest_configure(m, job->identity.data, e));
    return bl_manifest_write(m, dir, e);
}

/* Removes the files of a view that cannot be made. A run with other options could not use them. */
static void view_remove(const struct bl_view_job *job)
{
    static const char *const names[] = {BL_INDEX_FILE, BL_PLACES_FILE};
    const struct bl_manifest none = {0};
    struct bl_error unimportant = {0};
    if (job->lock < 0)
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlinkat(job->lock, names[i], 0);
    bl_epochs_sweep(job->request->output, job->lock, &none, &unimportant);
}

/* A failed run removes what it made in a new directory, and leaves an older directory as it is: its files are those of
 * an interrupted run, which the next run replaces. */
int bl_view_make(const struct bl_view_request *request, struct bl_view_made *made, struct bl_error *e)
{
    struct bl_view_job job = {.request = request, .manifest = &made->manifest, .lock = -1};
    struct bl_plan_options *options = request->options;
    const struct bl_plan_columns capacity = options->capacity, max_column = options->max_column;
    *made = (struct bl_view_made){.existed = false};
    int code = bl_view_job_open_sources(&job, e);
    if (!code)
        code = bl_view_job_open_output(&job, &made->existed, e);
    if (code || made->existed)
        goto out;
    code = sequences_read(&job, e);
    made->empty = !code && view_is_level(request) && !rows_have_steps(&job.table, 0, (int64_t)job.table.count);
    if (code || made->empty)
        goto out;
    /* The search for plans may take long, so it is a background task. Drawing the plans afterwards is fast. A signal
     * ends the process at once, so nothing cancels the task. */
    struct bl_cancel none = {0};
    const struct bl_background background = {planner_make, &job, planner_tick, &job, &none};
    bl_progress_start(&job.progress, "plan", "plans", NULL, request->epochs);
    code = bl_background_run(&background, e);
    if (!code)
        code = view_write(&job, made, e);
out:
    /* The next view with these options finds its own fields itself: the columns point to lengths that are freed below.
     */
    options->capacity = capacity;
    options->max_column = max_column;
    bl_view_close_sources(job.source, (size_t)request->count);
    bl_buffer_free(&job.identity);
    bl_sequences_close(&job.table);
    bl_places_free(&job.places);
    bl_attribute_values_free(&job.values);
    bl_planner_free(&job.planner);
    bl_partitions_free(&job.taken);
    bl_blend_free(&job.blend);
    bl_mixture_free(&job.mixture);
    bl_plan_free(&job.plan);
    free(job.first_row);
    for (int k = 0; k < job.own.count; k++)
        free(job.own_length[k]);
    made->plan.block_ptr = NULL; /* bl_plan_free(&job.plan) has freed the tables; the counts remain */
    made->plan.sequence = NULL;
    made->plan.length = made->plan.source_start = NULL;
    if (code && job.is_new)
        view_remove(&job);
    if (job.lock >= 0)
        close(job.lock);
    if ((code || made->empty) && job.is_new)
        rmdir(request->output);
    if (code)
        bl_view_made_free(made);
    return code;
}

void bl_view_made_free(struct bl_view_made *made)
{
    bl_manifest_free(&made->manifest);
    *made = (struct bl_view_made){.existed = false};
}
