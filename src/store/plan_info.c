/* Helpers for JSON by jansson, and the information about a plan as JSON.
 *
 * JSON is for programs of others: names of members stay as they are, new members are added, and readers of this file
 * accept texts of older versions, which lack the newer members. */
#include "store/plan_info.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/io.h"
#include "base/text.h"
#include "plan/options.h"

/* --- jansson ------------------------------------------------------------------------------------------------------ */

#define DIGITS 12 /* significant digits of a fraction: enough for one step in 10^12, and still readable */

void bl_jansson_push(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value)) {
        json_decref(*list);
        *list = NULL;
    }
}

void bl_jansson_set(json_t **object, const char *name, json_t *value)
{
    if (json_object_set_new(*object, name, value)) {
        json_decref(*object);
        *object = NULL;
    }
}

/* Receives text from jansson: out is a struct bl_buffer, which remembers a failure. */
static int json_write_buffer(const char *text, size_t size, void *out)
{
    bl_buffer_append(out, text, size);
    return 0;
}

/* Appends an object and the text `end`, and releases the object. A callback is used because json_dumps drops text
 * without an error when memory runs out. */
static int json_append(json_t *object, size_t flags, const char *end, struct bl_buffer *out, struct bl_error *e)
{
    int failed = json_dump_callback(object, json_write_buffer, out, flags);
    json_decref(object);
    bl_buffer_text(out, end);
    return failed ? bl_error_memory(e) : bl_buffer_check(out, e);
}

int bl_jansson_append_compact(json_t *object, struct bl_buffer *out, struct bl_error *e)
{
    return json_append(object, JSON_COMPACT, "", out, e);
}

int bl_jansson_append(json_t *object, struct bl_buffer *out, struct bl_error *e)
{
    return json_append(object, JSON_INDENT(2) | JSON_REAL_PRECISION(DIGITS), "\n", out, e);
}

json_t *bl_jansson_escaped(const char *text)
{
    struct bl_buffer escaped = {0};
    bl_text_escape(&escaped, text ? text : "", text ? strlen(text) : 0);
    json_t *value = escaped.failed ? NULL : json_stringn(escaped.data ? escaped.data : "", escaped.size);
    bl_buffer_free(&escaped);
    return value;
}

int bl_jansson_get_integer(const json_t *object, const char *name, int64_t min, int64_t max, int64_t *value,
                           struct bl_error *e)
{
    const json_t *member = json_object_get(object, name);
    if (!json_is_integer(member) || json_integer_value(member) < min || json_integer_value(member) > max)
        return bl_error_set(e, BL_EDATA, "\"%s\" is missing, not an integer, or out of range", name);
    *value = json_integer_value(member);
    return BL_OK;
}

int bl_jansson_get_text(const json_t *object, const char *name, const char **value, struct bl_error *e)
{
    *value = json_string_value(json_object_get(object, name));
    return *value ? BL_OK : bl_error_set(e, BL_EDATA, "\"%s\" is missing, or not a string", name);
}

int bl_jansson_get_checksum(const json_t *object, const char *name, uint64_t *value, struct bl_error *e)
{
    const char *text;
    BL_TRY(bl_jansson_get_text(object, name, &text, e));
    if (!bl_checksum_parse(text, value))
        return bl_error_set(e, BL_EDATA, "\"%s\" is not a checksum of 16 hexadecimal digits", name);
    return BL_OK;
}

int bl_jansson_unescaped(const json_t *value, char **out, struct bl_error *e)
{
    char *copy = strdup(json_string_value(value));
    int64_t size = copy ? bl_text_unescape(copy, strlen(copy)) : -1;
    if (size >= 0)
        copy[size] = '\0';
    else if (copy)
        strcpy(copy, json_string_value(value));
    free(*out);
    *out = copy;
    return copy ? BL_OK : bl_error_memory(e);
}

int bl_jansson_get_integers(const json_t *object, const struct bl_jansson_integer *member, size_t count,
                            struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; i < count && !code; i++)
        code = bl_jansson_get_integer(object, member[i].name, member[i].min, INT64_MAX, member[i].value, e);
    return code;
}

int bl_jansson_get_unescaped(const json_t *object, const char *name, char **value, struct bl_error *e)
{
    const char *text;
    BL_TRY(bl_jansson_get_text(object, name, &text, e));
    return bl_jansson_unescaped(json_object_get(object, name), value, e);
}

int bl_jansson_parse(const char *text, size_t size, size_t flags, json_t **object, struct bl_error *e)
{
    json_error_t why;
    *object = json_loadb(text, size, flags, &why);
    return *object ? BL_OK : bl_error_set(e, BL_EDATA, "line %d: %s", why.line, why.text);
}

/* --- plan information --------------------------------------------------------------------------------------------- */

bool bl_plan_info_is_store(const struct bl_plan_info *plan_info)
{
    return strcmp(plan_info->strategy, bl_strategy_names[BL_STRATEGY_STORE]) == 0;
}

void bl_plan_info_column_describe(const struct bl_plan_info_column *column, struct bl_buffer *out)
{
    bl_buffer_printf(out, "%s%s: at most %.10g of %.10g%s in a block, %.2f %% of it in the mean",
                     column->is_field ? "field " : "", column->name, column->filled.highest * column->max, column->max,
                     column->is_field ? " steps" : "", 100 * column->filled.mean);
}

void bl_plan_info_points_describe(const struct bl_plan_balance *b, bool is_idle, struct bl_buffer *out)
{
    for (int p = 0; p < b->points; p++) {
        const struct bl_plan_point *point = &b->point[p];
        bl_buffer_printf(out, "%s%s %.2f %% (minimum: %.2f %%)", p ? ", " : "", point->name,
                         100 * point->lost / (is_idle ? 1 + point->lost : 1),
                         100 * point->bound / (is_idle ? 1 + point->bound : 1));
    }
}

void bl_plan_info_own(const struct bl_plan_info *plan_info, struct bl_plan_own *own)
{
    own->count = 0;
    for (int c = 0; c < plan_info->columns; c++) {
        if (!plan_info->column[c].is_field)
            continue;
        struct bl_plan_own_field *field = &own->field[own->count++];
        *field = (struct bl_plan_own_field){.capacity = (int64_t)plan_info->column[c].max};
        snprintf(field->name, sizeof field->name, "%.*s", (int)sizeof field->name - 1, plan_info->column[c].name);
    }
}

void bl_plan_info_make(struct bl_plan_info *plan_info, const struct bl_plan *plan,
                       const struct bl_plan_options *options)
{
    *plan_info = (struct bl_plan_info){
        .T = plan->T,
        .seed = options->seed,
        .sequences = plan->sequences,
        .steps = plan->steps,
        .longest = plan->longest,
        .blocks = (int64_t)plan->blocks,
        .padding = plan->padding,
        .align_padding = plan->align_padding,
        .cp = options->strategy == BL_STRATEGY_BLOCK ? options->cp : 0,
        .deleted = plan->deleted,
        .overlap = plan->overlap,
        .repeated = plan->repeated,
        .cut = plan->cut,
        .bundles = plan->bundles,
        .bundles_split = plan->bundles_split,
        .bundle_pairs = plan->bundle_pairs,
        .efficiency = bl_plan_efficiency(plan),
        .lower_bound = plan->lower_bound,
    };
    snprintf(plan_info->strategy, sizeof plan_info->strategy, "%s", bl_strategy_names[options->strategy]);
    if (options->strategy == BL_STRATEGY_BLOCK)
        snprintf(plan_info->fill, sizeof plan_info->fill, "%s", bl_fill_names[options->fill]);
    if (options->together_column)
        snprintf(plan_info->together, sizeof plan_info->together, "%s", options->together_column);
    plan_info->balance = plan->balance;
    plan_info->cost_is_given = bl_plan_cost_is_given(&options->cost);
    for (int c = 0; c < options->max_column.count && !options->max_column.each[c].is_field; c++) {
        const struct bl_plan_column *column = &options->max_column.each[c];
        struct bl_plan_info_column *to = &plan_info->column[plan_info->columns++];
        *to = (struct bl_plan_info_column){.max = column->max, .filled = plan->filled[c]};
        memcpy(to->name, column->name, sizeof to->name);
    }
    for (int f = 0; f < plan->own.count && plan_info->columns < BL_PLAN_COLUMNS_MAX; f++) {
        const struct bl_plan_own_field *field = &plan->own.field[f];
        struct bl_plan_info_column *to = &plan_info->column[plan_info->columns++];
        double capacity = (double)field->capacity;
        *to = (struct bl_plan_info_column){.max = capacity, .is_field = true};
        to->filled.mean = (double)field->steps / ((double)plan->blocks * capacity);
        to->filled.highest = (double)field->highest / capacity;
        memcpy(to->name, field->name, sizeof field->name);
    }
    plan_info->world_size = options->world_size ? options->world_size : 1;
    plan_info->batch_size = options->batch_size ? options->batch_size : 1;
    plan_info->batches_per_rank = plan_info->blocks / plan_info->world_size / plan_info->batch_size;
}

/* --- plan information as JSON ------------------------------------------------------------------------------------- */

#define PLAN_INFO_MAX ((size_t)1 << 20) /* bytes: a limit in case another file has this name */

/* The members of a plan's balance in JSON. Files that only bload reads (the index of a view, the draft of a run) keep
 * the old names, so that their bytes stay; manifests of earlier builds have them, too. */
static const struct {
    const char *name, *old;
    size_t at; /* a double of struct bl_plan_balance */
} balance_members[] = {{"imbalance", "cost_lost", offsetof(struct bl_plan_balance, lost)},
                       {"imbalance_before", "cost_lost_before", offsetof(struct bl_plan_balance, lost_before)},
                       {"imbalance_bound", "cost_bound", offsetof(struct bl_plan_balance, bound)},
                       {"highest_block_cost", "cost_highest", offsetof(struct bl_plan_balance, highest)},
                       {"ks_distance", "cost_ks", offsetof(struct bl_plan_balance, apart)},
                       {"ks_distance_random", "cost_ks_random", offsetof(struct bl_plan_balance, apart_drawn)},
                       {"cost_correlation", "cost_neighbours", offsetof(struct bl_plan_balance, neighbours)}};

/* Number of entries in balance_members. */
#define BALANCE_MEMBERS (sizeof balance_members / sizeof *balance_members)

/* Adds the balance at each point, if there are several. */
static void plan_info_points_to_json(const struct bl_plan_balance *b, json_t **object)
{
    json_t *list = json_array();
    for (int p = 0; p < b->points; p++) {
        json_t *one = json_object();
        bl_jansson_set(&one, "field", bl_jansson_escaped(b->point[p].name));
        bl_jansson_set(&one, "imbalance", json_real(b->point[p].lost));
        bl_jansson_set(&one, "imbalance_before", json_real(b->point[p].lost_before));
        bl_jansson_set(&one, "imbalance_bound", json_real(b->point[p].bound));
        bl_jansson_push(&list, one);
    }
    if (b->points)
        bl_jansson_set(object, "imbalance_by_field", list);
    else
        json_decref(list);
}

/* Adds the columns with a maximum, or the fields with steps of their own, if there are any. */
static void plan_info_columns_to_json(const struct bl_plan_info *w, bool fields, json_t **object)
{
    json_t *list = json_array();
    size_t added = 0;
    for (int c = 0; c < w->columns; c++) {
        const struct bl_plan_info_column *column = &w->column[c];
        if (column->is_field != fields)
            continue;
        double steps = rint(column->filled.mean * column->max * (double)w->blocks);
        json_t *one = json_object();
        bl_jansson_set(&one, fields ? "field" : "column", bl_jansson_escaped(column->name));
        bl_jansson_set(&one, fields ? "capacity" : "max",
                       fields ? json_integer((json_int_t)column->max) : json_real(column->max));
        if (fields) {
            bl_jansson_set(&one, "steps", json_integer((json_int_t)steps));
            bl_jansson_set(&one, "padding", json_integer((json_int_t)(column->max * (double)w->blocks - steps)));
        }
        bl_jansson_set(&one, "filled", json_real(column->filled.mean));
        bl_jansson_set(&one, "filled_highest", json_real(column->filled.highest));
        bl_jansson_push(&list, one);
        added++;
    }
    if (added)
        bl_jansson_set(object, fields ? "capacities" : "max_column", list);
    else
        json_decref(list);
}

/* JSON readers support integers up to 2^63 - 1: a larger seed is kept exactly, as a string of digits. */
void bl_plan_info_to_json(const struct bl_plan_info *w, bool is_internal, json_t **object)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, w->seed);
    bl_jansson_set(object, "strategy", json_string(w->strategy));
    bl_jansson_set(object, "fill", w->fill[0] ? json_string(w->fill) : json_null());
    bl_jansson_set(object, "T", json_integer(w->T));
    bl_jansson_set(object, "seed",
                   w->seed_unknown        ? json_null()
                   : w->seed <= INT64_MAX ? json_integer((json_int_t)w->seed)
                                          : json_string(digits));
    bl_jansson_set(object, "sequences", json_integer(w->sequences));
    bl_jansson_set(object, "steps", json_integer(w->steps));
    bl_jansson_set(object, "longest", json_integer(w->longest));
    bl_jansson_set(object, "blocks", json_integer(w->blocks));
    bl_jansson_set(object, "padding", json_integer(w->padding));
    /* Members that only some options give are left out otherwise: readers of older versions expect no null. */
    if (w->align_padding > 0)
        bl_jansson_set(object, "align_padding", json_integer(w->align_padding));
    if (w->cp)
        bl_jansson_set(object, "cp", json_integer(w->cp));
    bl_jansson_set(object, "deleted", json_integer(w->deleted));
    if (w->overlap) {
        bl_jansson_set(object, "overlap", json_integer(w->overlap));
        bl_jansson_set(object, "repeated", json_integer(w->repeated));
    }
    bl_jansson_set(object, "cut", json_integer(w->cut));
    if (w->together[0]) {
        bl_jansson_set(object, "together", json_string(w->together));
        bl_jansson_set(object, "bundles", json_integer(w->bundles));
        bl_jansson_set(object, "bundles_split", json_integer(w->bundles_split));
        bl_jansson_set(object, "bundle_pairs", json_integer(w->bundle_pairs));
    }
    bl_jansson_set(object, "efficiency", json_real(w->efficiency));
    bl_jansson_set(object, "lower_bound", json_integer(w->lower_bound));
    bl_jansson_set(object, "gap", json_integer(w->blocks - w->lower_bound));
    bl_jansson_set(object, "optimal", json_boolean(w->blocks == w->lower_bound));
    bl_jansson_set(object, "world_size", json_integer(w->world_size));
    bl_jansson_set(object, "batch_size", json_integer(w->batch_size));
    bl_jansson_set(object, "batches_per_rank", json_integer(w->batches_per_rank));
    if (w->bytes > 0)
        bl_jansson_set(object, "bytes", json_integer(w->bytes));
    if (w->seconds > 0)
        bl_jansson_set(object, "seconds", json_real(w->seconds));
    const char *balance = (const char *)&w->balance;
    for (size_t i = 0; w->balance.is_measured && i < BALANCE_MEMBERS; i++)
        bl_jansson_set(object, is_internal ? balance_members[i].old : balance_members[i].name,
                       json_real(*(const double *)(const void *)(balance + balance_members[i].at)));
    plan_info_points_to_json(&w->balance, object);
    plan_info_columns_to_json(w, false, object);
    plan_info_columns_to_json(w, true, object);
    if (!w->pair_repeat.is_measured)
        return;
    bool any = w->pair_repeat.pairs > 0; /* there are pairs to compare */
    bl_jansson_set(object, "pair_repeat_rate", any ? json_real(bl_pair_repeat_share(&w->pair_repeat)) : json_null());
    bl_jansson_set(object, "pair_repeat_rate_random", any ? json_real(w->pair_repeat.random) : json_null());
}

/* Reads a word of at most 15 bytes; null becomes "" if may_be_null. */
static int plan_info_read_text(const json_t *object, const char *name, char out[16], bool may_be_null,
                               struct bl_error *e)
{
    const json_t *value = json_object_get(object, name);
    if (may_be_null && json_is_null(value)) {
        out[0] = '\0';
        return BL_OK;
    }
    const char *text = json_string_value(value);
    if (!text || strlen(text) > 15)
        return bl_error_set(e, BL_EDATA, "\"%s\" is missing, or not a word", name);
    strcpy(out, text);
    return BL_OK;
}

/* Reads the seed: an integer, a string of digits, or null if it is unknown. */
static int plan_info_read_seed(const json_t *object, uint64_t *seed, bool *unknown, struct bl_error *e)
{
    const json_t *value = json_object_get(object, "seed");
    *unknown = json_is_null(value);
    if (*unknown)
        return BL_OK;
    const char *text = json_string_value(value);
    char *end = NULL;
    if (text)
        *seed = strtoull(text, &end, 10);
    else
        *seed = (uint64_t)json_integer_value(value);
    bool good = text ? *text && !*end : json_is_integer(value) && json_integer_value(value) >= 0;
    return good ? BL_OK : bl_error_set(e, BL_EDATA, "\"seed\" is missing, or not a number");
}

/* Reads a list of columns with a maximum, or of fields. list: NULL if there are none. */
static void plan_info_columns_from_json(struct bl_plan_info *w, const json_t *list, bool fields)
{
    for (size_t i = 0; i < json_array_size(list) && w->columns < BL_PLAN_COLUMNS_MAX; i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(one, fields ? "field" : "column"));
        struct bl_plan_info_column *column = &w->column[w->columns++];
        column->is_field = fields;
        snprintf(column->name, sizeof column->name, "%s", name ? name : "");
        column->max = json_number_value(json_object_get(one, fields ? "capacity" : "max"));
        if (fields && !(column->max >= 1 && column->max <= (double)BL_T_MAX))
            column->max = 1;
        column->filled.mean = json_number_value(json_object_get(one, "filled"));
        column->filled.highest = json_number_value(json_object_get(one, "filled_highest"));
    }
}

/* Reads the balance at each point. list: NULL if there is one point. */
static void plan_info_points_from_json(struct bl_plan_balance *b, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list) && b->points < BL_COST_POINTS; i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(one, "field"));
        struct bl_plan_point *point = &b->point[b->points++];
        snprintf(point->name, sizeof point->name, "%s", name ? name : "");
        point->lost = json_number_value(json_object_get(one, "imbalance"));
        point->lost_before = json_number_value(json_object_get(one, "imbalance_before"));
        point->bound = json_number_value(json_object_get(one, "imbalance_bound"));
    }
}

/* The balance and the columns with a maximum are optional, and values of other types in them count as 0: they are only
 * shown. */
int bl_plan_info_from_json(struct bl_plan_info *w, const json_t *object, struct bl_error *e)
{
    const struct bl_jansson_integer numbers[] = {
        {"T", 1, &w->T},
        {"sequences", 1, &w->sequences},
        {"steps", 1, &w->steps},
        {"longest", 1, &w->longest},
        {"blocks", 1, &w->blocks},
        {"padding", 0, &w->padding},
        {"deleted", 0, &w->deleted},
        {"cut", 0, &w->cut},
        {"lower_bound", 0, &w->lower_bound},
        {"world_size", 1, &w->world_size},
        {"batch_size", 1, &w->batch_size},
        {"batches_per_rank", 0, &w->batches_per_rank},
    };
    *w = (struct bl_plan_info){0};
    BL_TRY(plan_info_read_text(object, "strategy", w->strategy, false, e));
    BL_TRY(plan_info_read_text(object, "fill", w->fill, true, e));
    BL_TRY(plan_info_read_seed(object, &w->seed, &w->seed_unknown, e));
    BL_TRY(bl_jansson_get_integers(object, numbers, sizeof numbers / sizeof *numbers, e));
    const json_t *efficiency = json_object_get(object, "efficiency");
    if (!json_is_number(efficiency) || json_number_value(efficiency) < 0 || json_number_value(efficiency) > 1)
        return bl_error_set(e, BL_EDATA, "\"efficiency\" is missing, or not between 0 and 1");
    w->efficiency = json_number_value(efficiency);
    w->align_padding = json_integer_value(json_object_get(object, "align_padding"));
    if (json_object_get(object, "cp"))
        BL_TRY(bl_jansson_get_integer(object, "cp", 1, BL_CP_MAX, &w->cp, e));
    if (json_object_get(object, "overlap")) {
        BL_TRY(bl_jansson_get_integer(object, "overlap", 1, w->T - 1, &w->overlap, e));
        BL_TRY(bl_jansson_get_integer(object, "repeated", 0, INT64_MAX / 2, &w->repeated, e));
    }
    if (json_object_get(object, "together")) {
        const char *together = json_string_value(json_object_get(object, "together"));
        snprintf(w->together, sizeof w->together, "%s", together ? together : "");
        BL_TRY(bl_jansson_get_integer(object, "bundles", 0, BL_SEQUENCES_MAX, &w->bundles, e));
        BL_TRY(bl_jansson_get_integer(object, "bundles_split", 0, w->bundles, &w->bundles_split, e));
        BL_TRY(bl_jansson_get_integer(object, "bundle_pairs", 0, INT64_MAX, &w->bundle_pairs, e));
    }
    /* All values of the balance are written together, so that the first one tells whether there are any. */
    char *balance = (char *)&w->balance;
    for (size_t i = 0; i < BALANCE_MEMBERS; i++) {
        const json_t *value = json_object_get(object, balance_members[i].name);
        if (!value)
            value = json_object_get(object, balance_members[i].old);
        *(double *)(void *)(balance + balance_members[i].at) = json_number_value(value);
        w->balance.is_measured |= i == 0 && json_is_number(value);
    }
    plan_info_points_from_json(&w->balance, json_object_get(object, "imbalance_by_field"));
    plan_info_columns_from_json(w, json_object_get(object, "max_column"), false);
    plan_info_columns_from_json(w, json_object_get(object, "capacities"), true);
    return BL_OK;
}

int bl_plan_info_format(const struct bl_plan_info *plan_info, bool is_internal, struct bl_buffer *out,
                        struct bl_error *e)
{
    json_t *object = json_object();
    bl_plan_info_to_json(plan_info, is_internal, &object);
    return bl_jansson_append(object, out, e);
}

/* A member that occurs twice is rejected: readers differ in which one they take. */
int bl_plan_info_parse(struct bl_plan_info *plan_info, const char *text, size_t size, struct bl_error *e)
{
    json_t *object;
    int code = bl_jansson_parse(text, size, JSON_REJECT_DUPLICATES, &object, e);
    if (!code)
        code = bl_plan_info_from_json(plan_info, object, e);
    json_decref(object);
    return code;
}

int bl_plan_info_read(struct bl_plan_info *plan_info, const char *path, struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = bl_sealed_read(path, PLAN_INFO_MAX, &text, e);
    if (!code)
        code = bl_plan_info_parse(plan_info, text.data ? text.data : "", text.size, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", path);
    bl_buffer_free(&text);
    return code;
}

/* Returns a list of the information about `count` plans; NULL: memory ran out. */
static json_t *plan_info_rows_json(const struct bl_plan_info *plan_info, int count)
{
    json_t *rows = json_array();
    for (int i = 0; i < count; i++) {
        json_t *row = json_object();
        bl_plan_info_to_json(&plan_info[i], false, &row);
        bl_jansson_push(&rows, row);
    }
    return rows;
}

int bl_plan_info_format_rows(const struct bl_plan_info *plan_info, int count, struct bl_buffer *out, struct bl_error *e)
{
    json_t *object = json_object();
    bl_jansson_set(&object, "rows", plan_info_rows_json(plan_info, count));
    return bl_jansson_append(object, out, e);
}

int bl_plan_info_format_sets(const struct bl_plan_info_set *set, int count, struct bl_buffer *out, struct bl_error *e)
{
    json_t *sets = json_array(), *object = json_object();
    for (int i = 0; i < count; i++) {
        json_t *one = json_object();
        bl_jansson_set(&one, "T", json_integer(set[i].T));
        bl_jansson_set(&one, "rows", plan_info_rows_json(set[i].row, set[i].rows));
        bl_jansson_push(&sets, one);
    }
    bl_jansson_set(&object, "sets", sets);
    return bl_jansson_append(object, out, e);
}
