/* The plan of a dataset: from a table of lengths to blocks, the format of the shards and the draft of the manifest.
 *
 * A plan has four origins, which are tried in this order: DIR/.bload, where an earlier run or another task left it; a
 * view that is packed; a file that the user gave; and the planner. Plans of files are checked against the table and the
 * options, and their lower bound of blocks is computed again if the file does not have it. */
#include "run/plan.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/option.h"
#include "base/text.h"
#include "kind/isolated/isolation.h"
#include "kind/kind.h"
#include "kind/kinds.h"
#include "run/packing.h"
#include "plan/bundles.h"
#include "plan/capacity.h"
#include "plan/fill.h"
#include "plan/needs.h"
#include "plan/planner.h"
#include "plan/strategy.h"
#include "run/assembler.h"
#include "run/heartbeat.h"
#include "pool/pipeline.h"
#include "run/machine.h"
#include "run/options.h"
#include "run/state.h"
#include "store/format.h"
#include "store/index.h"
#include "store/plan_table.h"
#include "store/row_reader.h"

/* --- recorded options --------------------------------------------------------------------------------------------- */

int bl_recorded_plan_options(const struct bl_manifest *manifest, struct bl_plan_options *out, struct bl_error *e)
{
    struct bl_options options = {0};
    int code = bl_options_add(&options, "Planning", bl_plan_option_table, out, e);
    if (!code)
        code = bl_options_add(&options, "Strategy", bl_plan_strategy_table, out, e);
    for (struct bl_option_match m = {0}; !code && bl_options_next(&options, &m);) {
        const char *value = bl_manifest_option(manifest, m.option->name);
        code = *value ? bl_options_set(&options, m.option->name, value, BL_ORIGIN_FILE, e) : BL_OK;
    }
    bl_options_free(&options);
    return code;
}

/* --- checks of lengths -------------------------------------------------------------------------------------------- */

int bl_table_lengths_resolve(const struct bl_sequences *t, struct bl_plan_options *o, struct bl_error *e)
{
    if (!bl_plan_options_need_rate(o))
        return BL_OK;
    const struct bl_kind *kind = t->kind ? bl_kind_find(t->kind) : NULL;
    int64_t num, den;
    if (kind && bl_kind_rate(kind, t->sampling, &num, &den))
        return bl_plan_options_resolve(o, num, den, e);
    return bl_error_set(e, BL_EUSAGE,
                        "durations are for steps that have a rate: audio, or video scanned with --fps; here give a "
                        "number of steps");
}

/* Checks that no sequence alone has more of a column than --max-column allows for a block. */
static int table_lengths_check_columns(const struct bl_sequences *t, const struct bl_plan_options *o,
                                       struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_needs_over over;
    struct bl_error unread = {0};
    int code = BL_OK;
    if (bl_strategies[o->strategy]->is_clipped)
        return BL_OK;
    bl_needs_find_over(&over, t->length, t->count, o);
    bool is_read = over.count && bl_row_reader_read(t, over.first, &text, &unread) == BL_OK;
    if (is_read && over.column->is_field)
        code =
            bl_error_set(e, BL_EFAIL,
                         "%s (sequence %zu) alone has %.0f steps of the field %.*s, more than its capacity, %.0f (too "
                         "many: %zu): use a larger --capacity, or --oversize drop",
                         text.row.id, over.first, over.column->value[over.first],
                         bl_plan_column_field_size(over.column), over.column->name, over.column->max, over.count);
    else if (is_read)
        code = bl_error_set(e, BL_EUSAGE,
                            "%s (sequence %zu) alone has %.15g %s, more than --max-column %s=%.15g (too much: %zu)",
                            text.row.id, over.first, over.column->value[over.first], over.column->name,
                            over.column->name, over.column->max, over.count);
    bl_row_reader_free(&text);
    return code;
}

/* Checks that each bundle fits into a block, where --oversize neither splits nor drops it. */
static int table_lengths_check_bundles(const struct bl_sequences *t, const struct bl_plan_options *o,
                                       struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_bundles_over over;
    struct bl_buffer value = {0};
    struct bl_error unread = {0};
    if (o->strategy != BL_STRATEGY_BLOCK || o->oversize != BL_OVERSIZE_ERROR)
        return BL_OK;
    int code = bl_bundles_find_over(&over, t->length, t->count, o, e);
    if (!code && over.count && bl_row_reader_read(t, over.first, &text, &unread) == BL_OK &&
        bl_row_reader_value(&text, o->together_column, &value))
        code = bl_error_set(e, BL_EFAIL,
                            "%s \"%s\" has %.15g %s in %zu sequences, from %s (sequence %zu) on, more than %.15g (too "
                            "long: %zu): use a larger T, or --oversize split or drop",
                            o->together_column, value.data, over.has, over.what, over.sequences, text.row.id,
                            over.first, over.max, over.count);
    bl_row_reader_free(&text);
    bl_buffer_free(&value);
    return code;
}

int bl_table_lengths_check(const struct bl_sequences *t, const struct bl_plan_options *o, struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_plan_oversize over;
    struct bl_error unread = {
        0}; /* standard input cannot be read again: then the error of the planner has only the number */
    int code = BL_OK;
    BL_TRY(table_lengths_check_columns(t, o, e));
    bl_plan_find_uncuttable(&over, t->length, t->count, o, o->T);
    if (o->T && over.count && bl_row_reader_read(t, over.first, &text, &unread) == BL_OK)
        code = bl_error_set(e, BL_EFAIL,
                            "%s (sequence %zu) has %" PRId64 " steps, more than T = %" PRId64
                            ", and a field with steps of its own: it cannot be cut; use a larger T, or --oversize drop",
                            text.row.id, over.first, t->length[over.first], o->T);
    bl_row_reader_free(&text);
    if (code)
        return code;
    if (bl_strategies[o->strategy]->cut(o) != BL_CUT_NOTHING || o->oversize != BL_OVERSIZE_ERROR || o->T == 0 ||
        !t->offset)
        return BL_OK;
    bl_plan_find_oversize(&over, t->length, t->count, o, o->T);
    if (over.count && bl_row_reader_read(t, over.first, &text, &unread) == BL_OK)
        code = bl_error_set(e, BL_EFAIL,
                            "%s (sequence %zu) has %" PRId64 " steps, more than T = %" PRId64
                            " (too long: %zu, up to %" PRId64
                            " steps): use a larger T, or --oversize split, truncate or drop",
                            text.row.id, over.first, t->length[over.first], o->T, over.count, over.longest);
    bl_row_reader_free(&text);
    return !code && o->together ? table_lengths_check_bundles(t, o, e) : code;
}

/* --- given plan --------------------------------------------------------------------------------------------------- */

/* Finds the lower bound of the number of blocks of a given plan, by planning its pieces again. A text table of a plan
 * does not contain the bound. */
static int given_plan_prove_bound(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_plan_options *said = p->request.plan_options;
    struct bl_plan *plan = &p->plan;
    struct bl_plan_options o = {.strategy = BL_STRATEGY_BLOCK,
                                .T = plan->T,
                                .align = plan->align,
                                .max_sequences = said->max_sequences,
                                .effort = said->effort};
    struct bl_planner planner = {0};
    if (said->strategy != BL_STRATEGY_BLOCK || !bl_strategy_has_fill(said))
        return BL_OK;
    int64_t *length = malloc(plan->pieces * sizeof *length);
    for (size_t i = 0; length && i < plan->pieces; i++)
        length[i] = bl_plan_piece_length(plan, p->table.length, i);
    int code = length ? bl_planner_make(&planner, length, plan->pieces, &o, e) : bl_error_memory(e);
    int64_t bound = planner.counts.lower_bound;
    if (code)
        goto out;
    if (bound > plan->lower_bound && bound <= (int64_t)plan->blocks)
        plan->lower_bound = bound;
out:
    bl_planner_free(&planner);
    free(length);
    return code;
}

/* Copies the options that the file of the plan recorded. BL_EUSAGE: an option on the command line or in the YAML file
 * contradicts one of them. */
static int given_plan_adopt_info(const struct bl_options *given, int64_t overlap, struct bl_plan_info *plan_info,
                                 const struct bl_plan_info *its, const char *path, struct bl_error *e)
{
    const struct {
        const char *option;
        bool differs;
    } said[] = {{"strategy", strcmp(plan_info->strategy, its->strategy) != 0},
                {"fill", strcmp(plan_info->fill, its->fill) != 0},
                {"seed", plan_info->seed != its->seed && !its->seed_unknown},
                {"world-size", plan_info->world_size != its->world_size},
                {"batch-size", plan_info->batch_size != its->batch_size},
                {"overlap", overlap != its->overlap}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        if (said[i].differs && bl_options_origin(given, said[i].option) != BL_ORIGIN_DEFAULT)
            return bl_error_set(e, BL_EUSAGE, "%s was made with another --%s", path, said[i].option);
    }
    memcpy(plan_info->strategy, its->strategy, sizeof plan_info->strategy);
    memcpy(plan_info->fill, its->fill, sizeof plan_info->fill);
    plan_info->seed = its->seed;
    plan_info->seed_unknown = its->seed_unknown;
    plan_info->cp = plan_info->cp ? plan_info->cp : its->cp; /* the alignment is the same */
    plan_info->world_size = its->world_size;
    plan_info->batch_size = its->batch_size;
    plan_info->batches_per_rank = its->batches_per_rank;
    return BL_OK;
}

/* Reads the plan that the user gave: *.safetensors, which records its options (its.blocks is not 0), or a text table,
 * which has the pieces alone. */
static int given_plan_read(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    const struct bl_plan_options *options = p->request.plan_options;
    struct bl_plan_info its = {0};
    int64_t T;
    bool binary = bl_path_has_suffix(p->request.plan, ".safetensors");
    struct bl_plan_own own;
    bl_plan_own_set(&own, options);
    BL_TRY(bl_plan_T(&T, t->length, t->count, options, e));
    const int64_t align = bl_plan_options_align(options);
    BL_TRY(binary ? bl_index_load(&p->plan, p->request.plan, T, align, t->length, t->count, &own, &its, e)
                  : bl_plan_table_read(&p->plan, p->request.plan, T, align, options->overlap, &own, t->length, t->count,
                                       e));
    int code = BL_OK;
    if (!its.blocks) {
        p->plan.is_store = options->strategy == BL_STRATEGY_STORE;
        code = bl_plan_recount(&p->plan, t->length, t->count, e);
    }
    if (!code && !its.blocks)
        code = given_plan_prove_bound(p, e);
    if (code)
        return code;
    if (options->together && bl_plan_check_bundles(&p->plan, t->length, t->count, options, e)) {
        bl_error_prefix(e, "%s: --together %s", p->request.plan, options->together_column);
        return BL_EUSAGE;
    }
    bl_plan_info_make(&p->plan_info, &p->plan, options);
    if (its.blocks) {
        code = given_plan_adopt_info(p->request.given, options->overlap, &p->plan_info, &its, p->request.plan, e);
    } else { /* the file records no options: they come from the given options, or are unknown */
        p->plan_info.seed_unknown = bl_options_origin(p->request.given, "seed") == BL_ORIGIN_DEFAULT;
        if (bl_options_origin(p->request.given, "fill") == BL_ORIGIN_DEFAULT)
            p->plan_info.fill[0] = '\0';
    }
    BL_TRY(code);
    if (its.blocks && strcmp(its.together, p->plan_info.together) != 0)
        return bl_error_set(e, BL_EUSAGE, "%s was made %s%s: give the same --together, so that epochs keep the bundles",
                            p->request.plan, its.together[0] ? "with --together " : "without --together", its.together);
    const struct bl_plan_info *w = &p->plan_info;
    BL_TRY(bl_plan_options_check_cp(&(struct bl_plan_options){.cp = w->cp, .align = p->plan.align}, p->plan.T, e));
    if (p->request.plan_options->max_sequences && p->plan.max_sequences > p->request.plan_options->max_sequences)
        return bl_error_set(e, BL_EUSAGE, "%s has blocks of %" PRId64 " sequences: more than --max-sequences",
                            p->request.plan, p->plan.max_sequences);
    if (w->blocks % (w->world_size * w->batch_size))
        return bl_error_set(e, BL_EUSAGE,
                            "%s has %" PRId64 " blocks, which is no multiple of %" PRId64 " ranks times %" PRId64
                            " blocks",
                            p->request.plan, w->blocks, w->world_size, w->batch_size);
    return BL_OK;
}

/* --- attributes --------------------------------------------------------------------------------------------------- */

/* Finds which columns hold numbers, and reads their values. */

#define ATTRIBUTE_NAMES_MAX (BL_JSON_KEYS_MAX + 2 * BL_ATTRIBUTE_COLUMNS_MAX)

/* Sets the names of the columns that may become attributes and returns their number: first the *kept columns in which
 * the kind always has numbers, then those of lists of clips, then those of the table of attributes. Columns after the
 * first *kept become attributes only if all of their values are numbers. Columns that become own fields are none. */
static int attribute_names(const struct bl_input_set *set, const char *name[ATTRIBUTE_NAMES_MAX], int *kept)
{
    int count = 0;
    const char *number;
    while (set->kind && set->kind->scan && set->kind->scan->number && count < BL_JSON_KEYS_MAX &&
           (number = set->kind->scan->number(set->kind_config, count)))
        name[count++] = number;
    *kept = count;
    for (size_t c = 0; c < set->files.clips.count; c++) {
        if (!bl_own_uses_column(set->own, set->files.clips.name[c]))
            name[count++] = set->files.clips.name[c];
    }
    for (int c = 0; set->attributes && c < bl_attributes_count(set->attributes); c++) {
        if (!bl_own_uses_column(set->own, bl_attributes_name(set->attributes, c)))
            name[count++] = bl_attributes_name(set->attributes, c);
    }
    return count;
}

/* Appends "weight F64 (2 empty values are NaN)", or "split is text" for a column that does not become an attribute. */
static void attribute_describe(struct bl_packing *p, const char *name, const struct bl_column_type *sort)
{
    struct bl_buffer *out = &p->attributes_text;
    char a[32];
    bl_buffer_printf(out, "%s%s ", out->size ? ", " : "", name);
    if (sort->numeric)
        bl_buffer_text(out, bl_dtype_name(sort->dtype));
    else if (sort->row == SIZE_MAX)
        bl_buffer_text(out, "is empty, so it is in sequences.tsv alone");
    else
        bl_buffer_printf(out, "is text (row %zu), so it is in sequences.tsv alone", sort->row);
    if (sort->numeric && sort->empty)
        bl_buffer_printf(out, " (%s empty: NaN)", bl_text_count(a, sort->empty));
}

/* Adds an attribute to the format. BL_EUSAGE: there are too many. */
static int attribute_add(struct bl_format *format, const char *name, enum bl_dtype dtype, struct bl_error *e)
{
    if (format->attributes == BL_ATTRIBUTES_MAX)
        return bl_error_set(e, BL_EUSAGE,
                            "more than %d columns of numbers: choose some with --attributes-columns or --keep",
                            BL_ATTRIBUTES_MAX);
    struct bl_attribute *attribute = &format->attribute[format->attributes++];
    snprintf(attribute->name, sizeof attribute->name, "%s", name); /* the limit on its length: see scan/attributes.c */
    attribute->dtype = dtype;
    return BL_OK;
}

/* Fields that depend on files are not known yet; the check is repeated when they are. */
int bl_packing_check_cost(const struct bl_packing_request *request, struct bl_error *e)
{
    const struct bl_input_set *inputs = request->inputs;
    const struct bl_kind_env env = {.cancel = request->cancel, .simd = bl_simd_best(), .isolation = inputs->isolation};
    struct bl_format format = {0};
    struct bl_error undecided = {0};
    if (!request->plan_options || !request->plan_options->cost.fields || !inputs->kind ||
        inputs->kind->read->fields(inputs->kind_config, &env, NULL, &format.fields, &undecided) != BL_OK)
        return BL_OK;
    return bl_format_check_cost(&format, &request->plan_options->cost, e);
}

/* Fields that depend on files are not known yet; bl_format_check repeats the check. */
int bl_packing_check_attributes(const struct bl_packing_request *request, struct bl_error *e)
{
    const struct bl_input_set *inputs = request->inputs;
    const char *name[ATTRIBUTE_NAMES_MAX];
    int kept, count = attribute_names(inputs, name, &kept);
    const struct bl_kind *kind = inputs->kind;
    const struct bl_kind_env env = {
        .cancel = request->cancel, .simd = bl_simd_best(), .isolation = request->inputs->isolation};
    struct bl_format format = {0};
    struct bl_error undecided = {0};
    if (!count)
        return BL_OK;
    int code = kind->read->fields(request->inputs->kind_config, &env, NULL, &format.fields, &undecided);
    if (code && code != BL_EDATA)
        return bl_error_pass(e, code, &undecided);
    if (code)
        format.fields.count = 0;
    for (int c = 0; c < count; c++) {
        bool listed = bl_clip_columns_find(&inputs->files.clips, name[c], strlen(name[c])) != SIZE_MAX;
        if (c < kept && bl_format_has(&format, name[c]))
            return bl_error_set(e, BL_EUSAGE,
                                "--keep: \"%s\" is the name of a tensor of the shards: give another one, as in "
                                "NAME=KEY:number",
                                name[c]);
        if (bl_format_has(&format, name[c]))
            return bl_error_set(e, BL_EUSAGE,
                                "%s: the column \"%s\" has the name of a tensor of the shards: rename it%s",
                                listed ? "a list of clips" : bl_attributes_path(inputs->attributes), name[c],
                                listed ? "" : ", or leave it out with --attributes-columns");
    }
    return BL_OK;
}

/* The table of attributes is no longer needed: its columns are in the table of sequences. */
static int attributes_set(struct bl_packing *p, struct bl_error *e)
{
    struct bl_input_set *inputs = p->request.inputs;
    const char *name[ATTRIBUTE_NAMES_MAX];
    struct bl_column_type sort[ATTRIBUTE_NAMES_MAX];
    int kept, count = attribute_names(inputs, name, &kept);
    if (!count)
        return BL_OK;
    int code = bl_column_type_detect(&p->table, name, count, sort, e);
    for (int c = 0; c < count && !code; c++) {
        if (c < kept) /* its type does not depend on the values */
            sort[c] = (struct bl_column_type){.numeric = true, .dtype = BL_F64, .empty = sort[c].empty};
        attribute_describe(p, name[c], &sort[c]);
        if (sort[c].numeric)
            code = attribute_add(&p->format, name[c], sort[c].dtype, e);
    }
    bl_attributes_close(inputs->attributes);
    inputs->attributes = NULL;
    if (code)
        return code;
    BL_TRY(bl_buffer_check(&p->attributes_text, e));
    return bl_attribute_values_read(&p->values, &p->table, &p->format, e);
}

/* --- plan --------------------------------------------------------------------------------------------------------- */

/* Decides the contents of the shards: the plan, the format, and the draft of the manifest, which records both. */

/* A block of a store has about STORE_BYTES of fields. If steps are large, it has more bytes, up to STORE_BYTES_MAX, to
 * reach STORE_FRAMES steps: decoding a block of frames starts at the keyframe before it, which short blocks would
 * repeat too often. It always has at least STORE_STEPS_MIN steps. */
#define STORE_BYTES (INT64_C(1) << 20)
#define STORE_BYTES_MAX (INT64_C(16) << 20)
#define STORE_FRAMES 64
#define STORE_STEPS_MIN 8

/* --- the fields ------------------------------------------------------------------------------------------------- */

/* Resolves the fields of the dataset, once. */
static int format_resolve_fields(struct bl_packing *p, struct bl_error *e)
{
    if (p->format.fields.count)
        return BL_OK;
    /* One check of all files is enough. The task that made the draft has done it for the other tasks; for a process
     * that only plans, the tasks that follow will do it. */
    bool agreed = p->repairing || p->request.plan_only;
    BL_TRY(p->request.task.set && !agreed ? bl_manifest_draft_find(&p->state, &agreed, e) : BL_OK);
    return bl_fields_resolve(&p->format.fields, &p->pack, agreed, e);
}

/* Sets T of a store if it was not given: by the bytes of a step, but at most the number of all steps. */
static int plan_set_store_T(struct bl_packing *p, struct bl_error *e)
{
    int64_t steps = 0;
    if (p->request.plan_options->T != BL_T_AUTO)
        return BL_OK;
    for (size_t i = 0; i < p->table.count && steps < BL_T_MAX; i++)
        steps += p->table.length[i];
    p->request.plan_options->T = 1;
    if (!steps)
        return BL_OK; /* the planner reports that there is nothing to plan */
    if (p->request.plan_only && !p->request.inputs->kind)
        return bl_error_set(e, BL_EUSAGE,
                            "-T auto needs the bytes of a step: give the YAML file of the scan, which names the "
                            "sources, or a number of steps");
    if (p->request.plan_only) { /* other processes start the decoders when they open the packing */
        p->env.isolation = p->request.inputs->isolation;
        BL_TRY(bl_isolation_start(p->env.isolation, e));
    }
    BL_TRY(format_resolve_fields(p, e));
    int64_t step_bytes = bl_format_step_bytes(&p->format), T = STORE_BYTES_MAX / step_bytes;
    T = T < STORE_FRAMES ? T : STORE_FRAMES;
    T = T > STORE_STEPS_MIN ? T : STORE_STEPS_MIN;
    T = T > STORE_BYTES / step_bytes ? T : STORE_BYTES / step_bytes;
    p->request.plan_options->T = steps < T ? steps : T;
    return BL_OK;
}

/* --- the plan --------------------------------------------------------------------------------------------------- */

/* The work of the background task: makes the plan and its plan_info. */
static int plan_compute(void *packing, struct bl_error *e)
{
    struct bl_packing *p = packing;
    const struct bl_sequences *t = &p->table;
    BL_TRY(bl_capacities_find(p->request.plan_options, t->length, t->count, e));
    BL_TRY(bl_plan_make(&p->plan, t->length, t->count, p->request.plan_options, e));
    int code = bl_plan_recount(&p->plan, t->length, t->count, e);
    if (!code && p->request.plan_options->together)
        code = bl_plan_check_bundles(&p->plan, t->length, t->count, p->request.plan_options, e);
    bl_plan_info_make(&p->plan_info, &p->plan, p->request.plan_options);
    return code;
}

/* Resolves the options that depend on the table, and sets *T to the number of steps of a block. */
static int plan_resolve_T(struct bl_packing *p, int64_t *T, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    struct bl_plan_options *options = p->request.plan_options;
    bl_plan_columns_set(options, t->group, t->number);
    options->together = t->together;
    BL_TRY(bl_table_lengths_resolve(t, options, e));
    BL_TRY(plan_set_store_T(p, e));
    if (!p->request.plan)
        BL_TRY(bl_table_lengths_check(t, options, e));
    return bl_plan_T(T, t->length, t->count, options, e);
}

/* Shows progress only if planning is slow; most plans are instant. */
static void packing_tick(void *packing)
{
    struct bl_packing *p = packing;
    if (bl_progress_seconds(&p->progress) >= BL_PROGRESS_LATE)
        bl_packing_progress_tick(p);
}

/* Gets the plan from the view, from the file that the user gave, or from the planner. */
static int plan_make(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_background background = {plan_compute, p, packing_tick, p, p->request.cancel};
    if (p->request.view)
        return bl_packing_read_view_plan(p, e);
    if (p->request.plan)
        return given_plan_read(p, e);
    bl_packing_progress_begin(p, "plan", "plans", NULL, 0);
    int code = bl_background_run(&background, e);
    bl_packing_progress_end(p);
    bl_heartbeat_set_phase(&p->heartbeat, "plan"); /* what follows reports no progress, and may take long */
    return code;
}

/* Sets T and S. S is that of the view if the view was made with --sequence-slots. */
static int format_set_sizes(struct bl_packing *p, struct bl_error *e)
{
    const char *of_view = p->request.view ? bl_manifest_option(&p->request.view->manifest, "sequence-slots") : "";
    int64_t slots = p->request.options->sequence_slots;
    if (bl_text_to_int(of_view, strlen(of_view), 1, BL_T_MAX, &slots))
        slots = p->request.view->manifest.format.S;
    p->format.T = p->plan.T;
    return bl_format_set_S(&p->format, p->plan.max_sequences, slots, e);
}

/* Gets the plan. *found: it was in DIR/.bload. Tasks and a process that only plans leave it there for others.
 * p->complete is set if the plan would drop all that is new (--extend). */
static int plan_get(struct bl_packing *p, bool *found, struct bl_error *e)
{
    const struct bl_sequences *t = &p->table;
    int64_t T = p->request.view ? p->request.view->manifest.format.T : 0;
    BL_TRY(p->request.view ? bl_table_lengths_resolve(t, p->request.plan_options, e) : plan_resolve_T(p, &T, e));
    if (!p->request.plan && bl_packing_is_rest_dropped(p, T))
        return bl_packing_end_held(p, e);
    /* A plan in DIR/.bload was made from this table with these options. */
    struct bl_plan_own own;
    bl_plan_own_set(&own, p->request.plan_options);
    BL_TRY(bl_saved_plan_load(&p->state, &p->plan, &p->plan_info, T, t->length, t->count, p->request.view ? NULL : &own,
                              found, e));
    if (*found)
        return BL_OK;
    int code = plan_make(p, e);
    if (!code)
        code = format_set_sizes(p, e); /* before others take the plan */
    if (code || (!p->request.task.set && !p->request.plan_only))
        return code;
    return bl_saved_plan_publish(&p->state, &p->plan, t->length, t->count, &p->plan_info, e);
}

/* --- the format ------------------------------------------------------------------------------------------------- */

/* Sets the encoding of every field that supports it. */
static int format_set_encoding(struct bl_packing *p, struct bl_error *e)
{
    const struct bl_fields *fields = &p->format.fields;
    enum bl_encoding_kind kind = p->request.options->encode.kind;
    struct bl_buffer names = {0};
    bool any = kind == BL_ENCODING_RAW;
    if (p->request.view) {
        memcpy(p->format.encoding, p->request.view->manifest.format.encoding, sizeof p->format.encoding);
        return BL_OK;
    }
    for (int f = 0; f < fields->count; f++) {
        bool takes = bl_encoding_takes(kind, &fields->field[f]);
        if (takes && fields->field[f].own && kind != BL_ENCODING_RAW) {
            bl_buffer_free(&names);
            return bl_error_set(e, BL_EUSAGE,
                                "--encode: the field \"%s\" has steps of its own, which cannot be encoded",
                                fields->field[f].name);
        }
        any |= takes;
        if (takes)
            p->format.encoding[f] = p->request.options->encode;
        bl_buffer_printf(&names, "%s%s", f ? ", " : "", fields->field[f].name);
    }
    int code = bl_buffer_check(&names, e);
    if (!code && !any)
        code = bl_error_set(
            e, BL_EUSAGE,
            "--encode is for pictures, U8 [n,T,H,W,3] or grey frames of 8 bits%s: there is no such field among: %s",
            kind == BL_ENCODING_JPEG ? " with sides up to 65535 (indices: --encode delta)" : "", names.data);
    bl_buffer_free(&names);
    return code;
}

/* Sets the capacities of own fields to those of the plan, and the bytes of flat fields. BL_EUSAGE: the plan has other
 * own fields. */
static int format_set_own(struct bl_packing *p, struct bl_error *e)
{
    struct bl_fields *fields = &p->format.fields;
    const struct bl_plan_own *own = &p->plan.own;
    int k = 0;
    for (int f = 0; f < fields->count; f++) {
        struct bl_field *field = &fields->field[f];
        if (!field->own)
            continue;
        if (k == own->count || strcmp(own->field[k].name, field->name) != 0)
            return bl_error_set(e, BL_EUSAGE,
                                "the plan does not place the steps of the field \"%s\": plan with its "
                                "--capacity",
                                field->name);
        field->capacity = own->field[k].capacity;
        p->format.flat_bytes += field->flat ? own->field[k].steps * (int64_t)bl_field_step_bytes(field) : 0;
        k++;
    }
    return k == own->count ? BL_OK
                           : bl_error_set(e, BL_EUSAGE, "the plan places steps of \"%s\", which is no such field here",
                                          own->field[k].name);
}

/* Sets the format of the shards by the plan and the options, and divides the blocks into shards. */
static int format_make(struct bl_packing *p, struct bl_error *e)
{
    BL_TRY(format_resolve_fields(p, e));
    BL_TRY(format_set_sizes(p, e));
    p->format.blocks = (int64_t)p->plan.blocks;
    p->format.has_source_start |= bl_plan_has_parts(&p->plan);
    p->format.has_segment_ids = p->request.options->segment_ids;
    p->format.padded_to = p->plan_info.cp ? p->plan.align : 0;
    p->format.pad_repeat = p->request.options->pad == BL_PAD_REPEAT;
    p->format.compressed = p->request.options->compress.on;
    p->format.level = p->request.options->compress.level;
    if (p->format.compressed)
        p->format.frame_size = (size_t)p->request.options->frame_size;
    BL_TRY(format_set_own(p, e));
    BL_TRY(format_set_encoding(p, e));
    BL_TRY(p->request.view ? bl_packing_view_attributes(p, e) : attributes_set(p, e));
    BL_TRY(bl_format_check_overlap(&p->format, p->plan.overlap, e));
    BL_TRY(p->request.view ? BL_OK : bl_format_check_cost(&p->format, &p->request.plan_options->cost, e));
    BL_TRY(bl_plan_digest(&p->plan, p->table.length, p->format.plan_digest, e));
    return bl_layout_divide(&p->format, p->request.options->shard_size, e);
}

/* --- the step --------------------------------------------------------------------------------------------------- */

int bl_packing_plan(struct bl_packing *p, struct bl_error *e)
{
    bool found = false;
    /* The table of tasks names the kind, so that a process which only plans finds it after it opened the directory. */
    p->pack.kind = p->request.inputs->kind;
    p->pack.config = p->request.inputs->kind_config;
    p->pack.base = p->request.inputs->base;
    if (p->request.plan_only) {
        /* The tasks that will pack must have the same options. */
        BL_TRY(bl_state_agree(&p->state, BL_STATE_PLAN, p->identity.data, e));
        BL_TRY(plan_get(p, &found, e));
        if (found)
            bl_packing_message(p, false, "%s already has its plan: nothing to do", p->request.output);
        p->complete |= found;
        return BL_OK;
    }
    bl_heartbeat_set_phase(&p->heartbeat, "plan");
    BL_TRY(plan_get(p, &found, e));
    if (p->complete)
        return BL_OK;
    BL_TRY(format_make(p, e));
    int64_t reader = p->request.view ? bl_copier_memory(p->request.view) : p->request.inputs->kind->read->memory;
    p->pack.share.run_blocks = p->env.isolation ? 1 : INT_MAX;
    BL_TRY(bl_memory_resolve(&p->pack, p->request.options->memory, reader, p->needed, e));
    const char *simd = p->request.view ? p->request.view->manifest.simd : bl_simd_name(p->env.simd);
    BL_TRY(bl_manifest_draft_make(&p->manifest, &p->pack, &p->plan_info, p->identity.data, simd, e));
    if (p->repairing)
        BL_TRY(bl_packing_compare_draft(p, e));
    return bl_manifest_draft_publish(&p->state, &p->manifest, !p->request.task.set && !p->request.mirror, e);
}

/* --- comparison of strategies ------------------------------------------------------------------------------------- */

void bl_compare_row_set(int i, struct bl_plan_options *options)
{
    options->strategy = i < BL_STRATEGY_BLOCK ? (enum bl_strategy)i : BL_STRATEGY_BLOCK;
    options->fill = i < BL_STRATEGY_BLOCK ? BL_FILL_OPTIMAL : (enum bl_fill)(BL_COMPARE_ROWS - 1 - i);
}

int bl_compare_row_make(struct bl_plan_info *row, const int64_t *length, size_t count,
                        const struct bl_plan_options *given, struct bl_plan *kept, struct bl_error *e)
{
    struct bl_plan_options options = *given;
    /* Options that the row does not support are dropped: a random fill keeps no order, and a single clip cannot be
     * spread. */
    bool packed = bl_strategies[options.strategy]->is_packed;
    if (!packed && options.remainder == BL_REMAINDER_SPREAD)
        options.remainder = BL_REMAINDER_PAD;
    if (!packed) { /* each sequence has a block of its own */
        options.together = NULL;
        options.together_column = NULL;
    }
    if (packed && bl_fills[options.fill]->is_random)
        options.order = BL_KEEP_NOTHING;
    struct bl_planner planner;
    struct bl_plan plan = {0};
    double begun = bl_seconds_now();
    int code = bl_planner_make(&planner, length, count, &options, e);
    if (!code)
        code = bl_planner_draw(&planner, options.seed, 0, false, &plan, e);
    if (code) {
        bl_error_prefix(e, "%s", bl_strategy_names[options.strategy]);
        goto out;
    }
    code = plan.own.count ? bl_plan_count_own(&plan, count, e) : BL_OK;
    if (code)
        goto out;
    bl_plan_info_make(row, &plan, &options);
    row->seconds = bl_seconds_now() - begun;
    code = bl_planner_measure_pair_repeat(&planner, &plan, &row->pair_repeat, e);
    if (!code && kept) {
        *kept = plan;
        plan = (struct bl_plan){0};
    }
out:
    bl_plan_free(&plan);
    bl_planner_free(&planner);
    return code;
}
