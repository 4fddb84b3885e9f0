/* Parses costs, and turns them into integers.
 *
 *     --cost 1,0.0001          alpha = 1, beta = 0.0001
 *     --cost flops             column = "flops"
 *     --cost 'T=1,2e-5;px=3,0' two fields, of which px has steps of its own: two points
 *
 * All points have the same units, because a step costs the sum over its points. */
#include "plan/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/bundles.h"

/* --- options ------------------------------------------------------------------------------------------------------ */

/* Parses the "ALPHA,BETA" that ends at `end`. */
static bool cost_parse_pair(const char *text, const char *end, double *alpha, double *beta)
{
    char *stop = NULL;
    *alpha = strtod(text, &stop);
    if (stop == text || *stop != ',')
        return false;
    const char *second = stop + 1;
    *beta = strtod(second, &stop);
    return stop != second && stop == end && *alpha >= 0 && *beta >= 0 && isfinite(*alpha) && isfinite(*beta) &&
           *alpha + *beta > 0;
}

/* Parses "FIELD=ALPHA,BETA", or several with semicolons between them. */
static bool cost_parse_fields(const char *text, struct bl_plan_cost *cost)
{
    for (;;) {
        const char *end = strchrnul(text, ';'), *equals = memchr(text, '=', (size_t)(end - text));
        if (cost->fields == BL_COST_POINTS || !equals || equals == text || equals - text >= BL_PLAN_OWN_NAME_SIZE)
            return false;
        struct bl_plan_cost_field *field = &cost->field[cost->fields++];
        memcpy(field->name, text, (size_t)(equals - text));
        if (!cost_parse_pair(equals + 1, end, &field->alpha, &field->beta))
            return false;
        if (!*end)
            return true;
        text = end + 1;
    }
}

/* Parses "ALPHA,BETA", costs of fields, which have a "=", or the name of a column: every other text that does not begin
 * with a number and a comma. A name may begin with a digit, such as "2d_cost". The name of a column points into text,
 * which the caller keeps. */
static bool cost_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_plan_cost *cost = value;
    char *end = NULL;
    (void)option;
    *cost = (struct bl_plan_cost){.alpha = 0};
    if (strchr(text, '='))
        return cost_parse_fields(text, cost);
    (void)strtod(text, &end);
    if (end != text && *end == ',')
        return cost_parse_pair(text, text + strlen(text), &cost->alpha, &cost->beta);
    cost->column = text;
    return *text != '\0';
}

/* Formats a cost; 17 digits reproduce a double exactly. A cost that is not given has no text. */
static void cost_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_plan_cost *cost = value;
    (void)option;
    for (int i = 0; i < cost->fields; i++)
        bl_buffer_printf(out, "%s%s=%.17g,%.17g", i ? ";" : "", cost->field[i].name, cost->field[i].alpha,
                         cost->field[i].beta);
    if (cost->column)
        bl_buffer_text(out, cost->column);
    else if (cost->alpha > 0 || cost->beta > 0)
        bl_buffer_printf(out, "%.17g,%.17g", cost->alpha, cost->beta);
}

const struct bl_option_type bl_cost_option_type = {
    "ALPHA,BETA|COLUMN|FIELD=ALPHA,BETA;...", cost_parse, cost_format,
    "two numbers of at least 0, not both 0, such as 1,0.0001, the name of a column, or such numbers for 1 to 4 fields, "
    "such as tokens=1,0.0001;pixels=0.3,0"};

/* Returns the column of the field with steps of its own; NULL if the field is not among them. */
static const struct bl_plan_column *cost_find_own(const struct bl_plan_columns *own, const char *name)
{
    for (int c = 0; c < own->count; c++) {
        const struct bl_plan_column *column = &own->each[c];
        if (column->is_field && strlen(name) == (size_t)bl_plan_column_field_size(column) &&
            memcmp(column->name, name, strlen(name)) == 0)
            return column;
    }
    return NULL;
}

int bl_cost_check_fields(const struct bl_plan_cost *cost, const struct bl_plan_columns *own, struct bl_error *e)
{
    const char *common = NULL;
    for (int i = 0; i < cost->fields; i++) {
        const char *name = cost->field[i].name;
        for (int k = 0; k < i; k++) {
            if (strcmp(name, cost->field[k].name) == 0)
                return bl_error_set(e, BL_EUSAGE, "--cost: the field \"%s\" is given twice", name);
        }
        if (cost_find_own(own, name))
            continue;
        if (common)
            return bl_error_set(e, BL_EUSAGE,
                                "--cost: neither \"%s\" nor \"%s\" is a field with steps of its own (--capacity): only "
                                "one name can stand for the common steps",
                                common, name);
        common = name;
    }
    return BL_OK;
}

struct bl_plan_cost bl_cost_of_common(const struct bl_plan_cost *cost, const struct bl_plan_columns *own)
{
    if (!cost->fields)
        return *cost;
    for (int i = 0; i < cost->fields; i++) {
        if (!cost_find_own(own, cost->field[i].name))
            return (struct bl_plan_cost){.alpha = cost->field[i].alpha, .beta = cost->field[i].beta};
    }
    return (struct bl_plan_cost){.alpha = 1}; /* all blocks cost alike */
}

/* --- costs -------------------------------------------------------------------------------------------------------- */

/* Sets *sum to the costs of all sequences that have a piece in range; several pieces of one sequence count once.
 * BL_EUSAGE: a cost is negative or not finite, or the sum is infinite. */
static int cost_sum_column(const struct bl_cost *c, const double *column, double *sum, struct bl_error *e)
{
    const struct bl_pieces *p = c->pieces;
    *sum = 0;
    for (size_t i = 0; i < p->lengths.count; i++) {
        size_t sequence = p->sequence ? p->sequence[i] : i;
        double cost = column[sequence];
        if (!bl_lengths_has(&p->lengths, i))
            continue;
        if (!(cost >= 0) || isinf(cost))
            return bl_error_set(e, BL_EUSAGE, "sequence %zu costs %g: a cost is a number of at least 0", sequence,
                                cost);
        if (!p->start || p->start[i] == 0 || i == 0 || p->sequence[i - 1] != sequence)
            *sum += cost;
    }
    return isinf(*sum) ? bl_error_set(e, BL_EUSAGE, "the costs add up to more than a number can hold") : BL_OK;
}

/* Adds a point whose `square` and `step` are costs, which bl_cost_make turns into units. own: the column of the field;
 * NULL: common steps. *fixed: what every block costs; *most: the most that its sequences cost in addition. BL_EUSAGE:
 * no costs. */
static int cost_add_point(struct bl_cost *c, const struct bl_plan_cost_field *given, const struct bl_plan_column *own,
                          int64_t T, double *fixed, double *most, struct bl_error *e)
{
    struct bl_cost_point *point = &c->point[c->points++];
    *point = (struct bl_cost_point){.own = own ? own->value : NULL,
                                    .square = given->beta,
                                    .step = own ? given->alpha : 0,
                                    .most = own ? (int64_t)own->max : T};
    memcpy(point->name, given->name, sizeof point->name);
    /* One sequence fills the most expensive block. */
    double steps = (double)point->most, all = given->alpha * steps;
    *most = steps * steps * given->beta;
    if (!(all >= 0) || !(*most >= 0) || isinf(all + *most))
        return bl_error_set(e, BL_EUSAGE,
                            "a cost of %g,%g: both must be numbers of at least 0, and finite for %s = %lld",
                            given->alpha, given->beta, own ? "the capacity" : "T", (long long)point->most);
    *fixed = own ? 0 : all;
    *most += own ? all : 0;
    return BL_OK;
}

int bl_cost_make(struct bl_cost *cost, const struct bl_pieces *pieces, const int64_t *length, int64_t T,
                 const struct bl_plan_options *options, struct bl_error *e)
{
    const struct bl_plan_cost *given = &options->cost;
    /* Without --cost, squared lengths are measured: alpha is 0 and beta 1. */
    bool is_given = bl_plan_cost_is_given(given);
    const struct bl_plan_cost_field one = {.alpha = given->column ? 0 : given->alpha,
                                           .beta = given->column || !is_given ? 1 : given->beta};
    double fixed[BL_COST_POINTS], most[BL_COST_POINTS], sum = 0;
    *cost = (struct bl_cost){.pieces = pieces, .whole = length};
    if (!given->fields)
        BL_TRY(cost_add_point(cost, &one, NULL, T, fixed, most, e));
    for (int i = 0; i < given->fields; i++)
        BL_TRY(cost_add_point(cost, &given->field[i], cost_find_own(&options->max_column, given->field[i].name), T,
                              &fixed[i], &most[i], e));
    if (given->column) {
        cost->point[0].column = options->column;
        BL_TRY(cost_sum_column(cost, options->column, most, e));
    }
    for (int p = 0; p < cost->points; p++)
        sum += fixed[p] + most[p];
    if (sum <= 0)
        return bl_error_set(e, BL_EUSAGE, "no block costs anything: %s", given->column ? "all costs are 0" : "0,0");
    if (isinf(sum))
        return bl_error_set(e, BL_EUSAGE, "the costs add up to more than a number can hold");
    double units = BL_COST_UNITS / sum;
    /* Costs are rounded down, by less than one unit of 2^47. */
    for (int p = 0; p < cost->points; p++) {
        cost->point[p].block = (int64_t)(fixed[p] * units);
        cost->point[p].square *= units;
        cost->point[p].step *= units;
    }
    return BL_OK;
}

int64_t bl_cost_block(const struct bl_cost *cost, int p, const uint32_t *piece, size_t pieces)
{
    int64_t sum = cost->point[p].block;
    for (size_t i = 0; i < pieces; i++)
        sum += bl_cost_piece(cost, p, piece[i]);
    return sum;
}

int bl_cost_bundle(struct bl_cost *cost, const struct bl_bundles *bundles, const struct bl_pieces *pieces,
                   struct bl_error *e)
{
    struct bl_cost of_pieces = *cost;
    of_pieces.pieces = &bundles->pieces;
    for (int p = 0; p < cost->points; p++) {
        struct bl_cost_bundle *bundle = &cost->bundle[p];
        bundle->units = calloc(bundles->count + 1, sizeof *bundle->units);
        bundle->steps = cost->point[p].own ? calloc(bundles->count + 1, sizeof *bundle->steps) : NULL;
        if (!bundle->units || (cost->point[p].own && !bundle->steps))
            return bl_error_memory(e);
        for (size_t i = 0; i < bundles->count; i++)
            for (uint32_t k = bundles->first[i]; k < bundles->first[i + 1]; k++) {
                uint32_t piece = bundles->member[k];
                bundle->units[i] += bl_cost_piece(&of_pieces, p, piece);
                if (bundle->steps)
                    bundle->steps[i] += bl_cost_steps(&of_pieces, p, bundles->pieces.lengths.length[piece], piece);
            }
    }
    cost->pieces = pieces;
    return BL_OK;
}

void bl_cost_free(struct bl_cost *cost)
{
    for (int p = 0; p < BL_COST_POINTS; p++) {
        free(cost->bundle[p].units);
        free(cost->bundle[p].steps);
        cost->bundle[p] = (struct bl_cost_bundle){0};
    }
}
