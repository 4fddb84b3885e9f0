/* Defines the planning options as tables of typed entries, and checks the values.
 *
 * The table gives the flags, the YAML keys, the help and the lines that identify a dataset, so each type has a function
 * that parses a text and one that formats the value. The two are inverse: "0.5s" is stored as -500, which formats as
 * "0.5s" again. The checks are separate, because the C library sets the struct without any text.
 *
 *     -T 30s                 T = -30000, until the rate of the steps is known
 *     -T longest             T = 0
 *     --max-column images=8  a column with name = "images" and max = 8; its values come from the table */
#include "plan/options.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <float.h>

#include "base/text.h"
#include "plan/cost.h"
#include "plan/fill.h"
#include "plan/strategy.h"

/* The words of the options, each in the order of its enum. */
#define WORD(id, name) #name,
const char *const bl_strategy_names[] = {BL_STRATEGY_LIST(WORD) NULL};
const char *const bl_fill_names[] = {BL_FILL_LIST(WORD) NULL};
const char *const bl_oversize_names[] = {"error", "split", "truncate", "drop", NULL};
static const char *const clips_names[] = {"one", "all", NULL};
static const char *const remainder_names[] = {"spread", "pad", "drop", NULL};
static const char *const balance_names[] = {"auto", "none", "quadratic", "cost", NULL};
static const char *const sync_names[] = {"micro", "step", NULL};
static const char *const order_names[] = {"random", "keep", NULL};

/* Parses seconds with up to three decimal places, such as "30s" or "0.5s". *value: negative milliseconds, until
 * bl_plan_options_resolve knows how many steps that is. Returns false for any other text, and for 0 s. */
static bool seconds_parse(const char *text, int64_t *value)
{
    size_t size = strlen(text), whole = strspn(text, "0123456789");
    size_t digits = text[whole] == '.' ? strspn(text + whole + 1, "0123456789") : 0;
    size_t end = digits ? whole + 1 + digits : whole;
    int64_t seconds, fraction = 0;
    /* The text must end with the s: "30s5" and "30" are no seconds. */
    if (digits > 3 || end + 1 != size || text[end] != 's' || !bl_text_to_int(text, whole, 0, BL_T_MAX, &seconds) ||
        (digits && !bl_text_to_int(text + whole + 1, digits, 0, 999, &fraction)))
        return false;
    for (size_t i = digits; i < 3; i++)
        fraction *= 10; /* ".5" is 500 thousandths */
    *value = -(seconds * 1000 + fraction);
    return *value < 0;
}

/* Formats negative milliseconds as seconds, without decimals if they are whole. */
static void seconds_format(int64_t value, struct bl_buffer *out)
{
    bl_buffer_int(out, -value / 1000);
    if (-value % 1000)
        bl_buffer_printf(out, ".%03d", (int)(-value % 1000));
    bl_buffer_byte(out, 's');
}

/* Parses a number of steps, seconds, "longest", which is stored as 0, or "auto", which is BL_T_AUTO. */
static bool steps_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    if (seconds_parse(text, value))
        return true;
    if (strcmp(text, "longest") == 0 || strcmp(text, "auto") == 0) {
        *(int64_t *)value = *text == 'a' ? BL_T_AUTO : 0;
        return true;
    }
    return bl_text_to_int(text, strlen(text), 1, BL_T_MAX, value);
}

/* Formats what steps_parse parses. BL_T_AUTO is negative, too, so it is tested before seconds. */
static void steps_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    if (*(const int64_t *)value == BL_T_AUTO)
        bl_buffer_text(out, "auto");
    else if (*(const int64_t *)value < 0)
        seconds_format(*(const int64_t *)value, out);
    else if (*(const int64_t *)value)
        bl_buffer_int(out, *(const int64_t *)value);
    else
        bl_buffer_text(out, "longest");
}

/* Parses one T, or several with commas between them. Returns false for more than BL_PLAN_T_LIST_MAX. */
static bool T_list_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_plan_T_list *list = value;
    char one[32]; /* the longest valid text is shorter: "2147483647.999s" has 15 characters */
    *list = (struct bl_plan_T_list){.count = 0};
    for (;;) {
        size_t size = strcspn(text, ",");
        if (list->count == BL_PLAN_T_LIST_MAX || size >= sizeof one)
            return false;
        memcpy(one, text, size);
        one[size] = '\0';
        if (!steps_parse(option, one, &list->T[list->count++]))
            return false;
        if (!text[size])
            return true;
        text += size + 1;
    }
}

/* Formats the list with commas and no spaces, as T_list_parse reads it. */
static void T_list_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_plan_T_list *list = value;
    for (int i = 0; i < list->count; i++) {
        if (i)
            bl_buffer_byte(out, ',');
        steps_format(option, &list->T[i], out);
    }
}

/* Parses a limit on lengths: steps or seconds. The value 0, no limit, has no text. */
static bool limit_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return seconds_parse(text, value) || bl_text_to_int(text, strlen(text), 1, INT64_MAX, value);
}

/* Formats a limit; one that is not given has no text. */
static void limit_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    if (*(const int64_t *)value)
        steps_format(option, value, out);
}

/* Parses an overlap: steps or seconds, or 0. The largest is BL_T_MAX - 1, as an overlap is below T. */
static bool overlap_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return seconds_parse(text, value) || bl_text_to_int(text, strlen(text), 0, BL_T_MAX - 1, value);
}

/* Formats an overlap. steps_format would write 0 as "longest". */
static void overlap_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    if (*(const int64_t *)value < 0)
        seconds_format(*(const int64_t *)value, out);
    else
        bl_buffer_int(out, *(const int64_t *)value);
}

/* Each type: the placeholder of the help, its two functions, and what a message says about valid values. */
static const struct bl_option_type steps_type = {
    "N|SECONDSs|longest|auto", steps_parse, steps_format,
    "a number of steps from 1 to 2147483647, seconds such as 30s, \"longest\", or \"auto\" for a store"};
const struct bl_option_type bl_option_T_list = {
    "N|SECONDSs|longest|auto", T_list_parse, T_list_format,
    "a number of steps from 1 to 2147483647, seconds such as 30s, or \"longest\"; or several with commas between them"};
static const struct bl_option_type limit = {"N|SECONDSs", limit_parse, limit_format,
                                            "a whole number of at least 1, or seconds such as 0.5s"};
static const struct bl_option_type overlap = {"N|SECONDSs", overlap_parse, overlap_format,
                                              "a number of steps from 0 to 2147483646, or seconds such as 0.5s"};

/* Parses the "COLUMN=MAX" that ends at `end`. The last = separates the two, as a name may contain one. */
static bool plan_parse_column(const char *text, const char *end, struct bl_plan_column *column)
{
    const char *equals = memrchr(text, '=', (size_t)(end - text));
    char *stop = NULL;
    if (!equals || equals == text || equals - text >= BL_PLAN_COLUMN_SIZE)
        return false;
    *column = (struct bl_plan_column){.max = strtod(equals + 1, &stop)};
    /* The initializer above has set the other bytes to 0, which ends the name. */
    memcpy(column->name, text, (size_t)(equals - text));
    /* The number must end where the entry ends, and must not be empty. */
    return stop == end && stop != equals + 1 && column->max > 0 && isfinite(column->max);
}

/* Parses "COLUMN=MAX", or several with commas between them, and adds them to those of earlier flags. */
static bool max_column_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_plan_columns *columns = value;
    (void)option;
    for (;;) {
        const char *end = strchrnul(text, ',');
        if (columns->count == BL_PLAN_COLUMNS_MAX || !plan_parse_column(text, end, &columns->each[columns->count]))
            return false;
        columns->count++;
        if (!*end)
            return true;
        text = end + 1;
    }
}

/* The columns of own fields, which bl_plan_columns_set has added, are those of --capacity. */
static void max_column_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_plan_columns *columns = value;
    (void)option;
    for (int i = 0; i < columns->count && !columns->each[i].is_field; i++)
        bl_buffer_printf(out, "%s%s=%.17g", i ? "," : "", columns->each[i].name, columns->each[i].max);
}

/* Parses the "NAME=N" or "NAME=auto" that ends at `end`. The name becomes that of the column, NAME.length. */
static bool plan_parse_capacity(const char *text, const char *end, struct bl_plan_column *column)
{
    static const char suffix[] = BL_PLAN_OWN_SUFFIX;
    const char *equals = memrchr(text, '=', (size_t)(end - text));
    int64_t capacity = 0;
    if (!equals || equals == text || equals - text >= BL_PLAN_OWN_NAME_SIZE)
        return false;
    size_t size = (size_t)(end - equals) - 1;
    bool is_auto = size == strlen("auto") && memcmp(equals + 1, "auto", size) == 0;
    if (!is_auto && !bl_text_to_int(equals + 1, size, 1, BL_T_MAX, &capacity))
        return false;
    *column = (struct bl_plan_column){.max = (double)capacity, .is_field = true};
    memcpy(column->name, text, (size_t)(equals - text));
    memcpy(column->name + (equals - text), suffix, sizeof suffix);
    return true;
}

/* Parses capacities with commas between them, and adds them to those of earlier flags. A number without a name is a
 * further capacity of the field before it, which bload compare takes: "patches=8192,16384". */
static bool capacity_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_plan_columns *columns = value;
    (void)option;
    for (;;) {
        const char *end = strchrnul(text, ',');
        int64_t further = 0;
        struct bl_plan_column *column = &columns->each[columns->count];
        if (columns->count == BL_PLAN_COLUMNS_MAX)
            return false;
        if (columns->count && bl_text_to_int(text, (size_t)(end - text), 1, BL_T_MAX, &further)) {
            *column = column[-1];
            column->max = (double)further;
        } else if (!plan_parse_capacity(text, end, column)) {
            return false;
        }
        columns->count++;
        if (!*end)
            return true;
        text = end + 1;
    }
}

static void capacity_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_plan_columns *columns = value;
    (void)option;
    for (int i = 0; i < columns->count; i++) {
        const struct bl_plan_column *column = &columns->each[i];
        bl_buffer_printf(out, "%s%.*s=", i ? "," : "", bl_plan_column_field_size(column), column->name);
        if (column->max > 0)
            bl_buffer_printf(out, "%.0f", column->max);
        else
            bl_buffer_text(out, "auto");
    }
}

/* An empty text has no columns; max_column_parse alone would refuse it, as a flag without a value. */
int bl_plan_columns_parse(struct bl_plan_columns *columns, const char *text, struct bl_error *e)
{
    *columns = (struct bl_plan_columns){.count = 0};
    if (!*text || max_column_parse(NULL, text, columns))
        return BL_OK;
    return bl_error_set(e, BL_EFAIL, "the maxima of columns \"%s\" are invalid", text);
}

/* Parses a percentage from 0 % to 100 %, and stores the share: "0.5%" is 0.005. */
static bool percent_parse(const struct bl_option *option, const char *text, void *value)
{
    char *end = NULL;
    double percent = strtod(text, &end);
    (void)option;
    *(double *)value = percent / 100;
    return end != text && strcmp(end, "%") == 0 && percent >= 0 && percent <= 100;
}

/* 15 digits hide the rounding error of the division by 100. */
static void percent_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    bl_buffer_printf(out, "%.15g%%", 100 * *(const double *)value);
}

/* The types of options with units or several values. The help shows the placeholder, where | separates the
 * alternatives. */
static const struct bl_option_type percent = {"N%", percent_parse, percent_format,
                                              "a percentage from 0% to 100%, such as 0.5%"};
static const struct bl_option_type max_column = {
    "COLUMN=MAX", max_column_parse, max_column_format,
    "the name of a column, = and a number above 0, such as images=8; for 8 columns at most"};
static const struct bl_option_type capacity = {
    "NAME=N|auto", capacity_parse, capacity_format,
    "the name of a field, = and a number of steps from 1 to 2147483647 or \"auto\", such as text=512; for 8 fields at "
    "most"};
/* The order of the entries is that of --help. -T comes first, so that bl_plan_option_table_rest can leave it out.
 * `only` names the options under which an entry has a meaning. */
const struct bl_option bl_plan_option_table[] = {
    BL_OPTION_CUSTOM("T", &steps_type, int64_t, struct bl_plan_options, T, BL_AFFECTS_PLAN,
                     "steps per block; seconds (30s) if steps have a rate; longest: the longest sequence; auto: about "
                     "1 MiB, only for a store, where it is the default",
                     .letter = 'T'),
    /* What becomes of sequences that are longer than a block, and what their pieces repeat. */
    BL_OPTION_CHOICE("oversize", struct bl_plan_options, oversize, bl_oversize_names, BL_AFFECTS_PLAN,
                     "sequences longer than T", .initial = "error", .only = "strategy=block|naive"),
    BL_OPTION_CUSTOM("overlap", &overlap, int64_t, struct bl_plan_options, overlap, BL_AFFECTS_PLAN,
                     "with --oversize split: each piece of a sequence except the first begins with the last N steps "
                     "of the piece before, as context; less than T",
                     .initial = "0", .only = "oversize=split", .unlisted = true),
    BL_OPTION_INT("clip", struct bl_plan_options, clip, BL_AFFECTS_PLAN,
                  "steps per clip of the strategies sample and mix [the mean length, rounded down]", .min = 1,
                  .max = BL_T_MAX, .only = "strategy=sample|mix"),
    BL_OPTION_CHOICE("clips", struct bl_plan_options, clips, clips_names, BL_AFFECTS_PLAN,
                     "sample: one clip of each sequence that is long enough, or all whole clips", .initial = "one",
                     .only = "strategy=sample"),
    /* The seed is an option of the plan and not of the run: with it, a dataset can be made again. */
    BL_OPTION_UINT("seed", struct bl_plan_options, seed, BL_AFFECTS_PLAN, "seed of all random choices", .initial = "0"),
    BL_OPTION_CUSTOM("spare", &percent, double, struct bl_plan_options, spare, BL_AFFECTS_PLAN,
                     "make this many more blocks than necessary: fewer pairs of sequences share a block again under "
                     "another seed",
                     .initial = "0%", .only = "strategy=block,fill=optimal"),
    /* The ranks of the training. The entries down to --balance have no effect on a single rank with batches of one
     * block. */
    BL_OPTION_INT("world-size", struct bl_plan_options, world_size, BL_AFFECTS_PLAN,
                  "number of ranks: the number of blocks becomes a multiple of ranks times batch size", .initial = "1",
                  .min = 1, .max = 16777216),
    BL_OPTION_INT("batch-size", struct bl_plan_options, batch_size, BL_AFFECTS_PLAN, "blocks per rank and step",
                  .initial = "1", .min = 1, .max = 16777216),
    BL_OPTION_CHOICE("remainder", struct bl_plan_options, remainder, remainder_names, BL_AFFECTS_PLAN,
                     "how the number of blocks becomes a multiple: spread sequences over more blocks, pad with empty "
                     "blocks, drop the emptiest",
                     .initial = "spread", .only = "world-size/batch-size"),
    /* Neither a cost nor a column has a default, so both numbers 0 and no name mean that --cost is not given. */
    BL_OPTION_CUSTOM("cost", &bl_cost_option_type, struct bl_plan_cost, struct bl_plan_options, cost, BL_AFFECTS_PLAN,
                     "what a block costs: ALPHA for each step and BETA for each squared step of a sequence, or the sum "
                     "of a column; ranks that wait for each other then cost the same, with costs of fields at a point "
                     "for each field",
                     .only = "world-size/batch-size"),
    BL_OPTION_INT("accumulate", struct bl_plan_options, accumulate, BL_AFFECTS_PLAN,
                  "batches of a rank in one optimizer step: the number of blocks becomes a multiple of them, too",
                  .initial = "1", .min = 1, .max = BL_ACCUMULATE_MAX, .only = "world-size/batch-size"),
    BL_OPTION_CHOICE("sync", struct bl_plan_options, sync, sync_names, BL_AFFECTS_PLAN,
                     "whether ranks wait for each other after every batch, or only after every optimizer step",
                     .initial = "micro", .only = "accumulate"),
    BL_OPTION_CHOICE(
        "balance", struct bl_plan_options, balance, balance_names, BL_AFFECTS_PLAN,
        "make ranks cost the same by --cost, by squared lengths (quadratic), or not; auto: if --cost is given",
        .initial = "auto", .only = "world-size/batch-size"),
    /* What limits a block beside its steps. 0 or no entry means no limit, so only --align has a default. --cp is the
     * number of ranks, and 0 is no context parallelism. */
    BL_OPTION_INT("align", struct bl_plan_options, align, BL_AFFECTS_PLAN,
                  "every start in a block is a multiple of this many steps", .initial = "1", .min = 1, .max = BL_T_MAX,
                  .only = "strategy=block"),
    BL_OPTION_INT("cp", struct bl_plan_options, cp, BL_AFFECTS_PLAN,
                  "context parallelism over N ranks: as --align 2N, and the last sequence of a block is padded to a "
                  "multiple, too; T must be a multiple",
                  .min = 1, .max = BL_CP_MAX, .only = "strategy=block", .unlisted = true),
    BL_OPTION_INT("max-sequences", struct bl_plan_options, max_sequences, BL_AFFECTS_PLAN,
                  "maximum number of sequences in a block [any number]", .min = 1, .max = BL_SEQUENCES_MAX,
                  .only = "strategy=block"),
    BL_OPTION_CUSTOM("max-column", &max_column, struct bl_plan_columns, struct bl_plan_options, max_column,
                     BL_AFFECTS_PLAN,
                     "maximum of the sum of a column of the table over the sequences of a block; may be given again, "
                     "for another column",
                     .repeats = sizeof(struct bl_plan_columns), .only = "strategy=block,fill=optimal"),
    BL_OPTION_STRING("together", struct bl_plan_options, together_column, BL_AFFECTS_PLAN,
                     "sequences with the same value in this column of the table share a block, next to each other in "
                     "the order of the table; a sequence without a value is alone",
                     .placeholder = "COLUMN", .only = "strategy=block", .unlisted = true),
    BL_OPTION_CUSTOM("capacity", &capacity, struct bl_plan_columns, struct bl_plan_options, capacity, BL_AFFECTS_PLAN,
                     "the most steps that a block has of a field with steps of its own; auto: as few as need no more "
                     "blocks; may be given again, for another field",
                     .repeats = sizeof(struct bl_plan_columns), .only = "strategy=block|store", .unlisted = true),
    /* What the sequences must have to be planned at all. */
    BL_OPTION_CUSTOM("min-length", &limit, int64_t, struct bl_plan_options, min_length, BL_AFFECTS_PLAN,
                     "drop shorter sequences, and count them", .initial = "1"),
    BL_OPTION_CUSTOM("max-length", &limit, int64_t, struct bl_plan_options, max_length, BL_AFFECTS_PLAN,
                     "drop longer sequences, and count them"),
    BL_OPTION_CHOICE("order", struct bl_plan_options, order, order_names, BL_AFFECTS_PLAN,
                     "keep: sequences and blocks in input order", .initial = "random"),
    /* The effort counts operations, not seconds: so a slow machine makes the same plan. */
    BL_OPTION_INT("effort", struct bl_plan_options, effort, BL_AFFECTS_PLAN,
                  "how long to search for fewer blocks and a higher bound, in billion operations", .initial = "8",
                  .min = 1, .max = BL_EFFORT_MAX, .only = "strategy=block"),
    {0},
};

const struct bl_option *const bl_plan_option_table_rest = bl_plan_option_table + 1;

/* They are a separate table because `bload compare` runs all strategies and has neither option. */
const struct bl_option bl_plan_strategy_table[] = {
    BL_OPTION_CHOICE(
        "strategy", struct bl_plan_options, strategy, bl_strategy_names, BL_AFFECTS_PLAN,
        "block: whole sequences packed into blocks; naive: each padded to T; sample, mix: clips of --clip steps; "
        "store: all in rows of T steps, split at their ends",
        .initial = "block"),
    BL_OPTION_CHOICE(
        "fill", struct bl_plan_options, fill, bl_fill_names, BL_AFFECTS_PLAN,
        "how blocks are filled: in as few blocks as possible, at random; or by the paper's rule (uniform over the "
        "sequences that fit)",
        .initial = "optimal", .only = "strategy=block"),
    {0},
};

/* BL_T_AUTO is negative, too, and needs the bytes of a step instead of a rate. */
bool bl_plan_options_need_rate(const struct bl_plan_options *o)
{
    return (o->T < 0 && o->T != BL_T_AUTO) || o->overlap < 0 || o->min_length < 0 || o->max_length < 0;
}

/* Converts seconds to steps, rounded down; a number of steps stays unchanged. num / den: steps per second. BL_EUSAGE:
 * less than one step, or more than BL_T_MAX. */
static int seconds_resolve(int64_t *value, int64_t num, int64_t den, struct bl_error *e)
{
    if (*value >= 0 || *value == BL_T_AUTO)
        return BL_OK;
    double due = -(double)*value / 1000 * (double)num / (double)den;
    /* A millionth of a step makes up for rounding errors: 0.1 s at 30 steps per second is 3 steps, not 2. A duration
     * above BL_T_MAX becomes BL_T_MAX + 1, because a larger double may not fit int64_t. */
    *value = due <= BL_T_MAX ? (int64_t)(due + 1e-6) : BL_T_MAX + INT64_C(1);
    if (*value < 1 || *value > BL_T_MAX)
        return bl_error_set(e, BL_EUSAGE, "a duration of %.0f steps is out of bounds (1 to %lld)", due,
                            (long long)BL_T_MAX);
    return BL_OK;
}

/* The four values are those that steps_parse, limit_parse and overlap_parse accept as seconds. */
int bl_plan_options_resolve(struct bl_plan_options *o, int64_t num, int64_t den, struct bl_error *e)
{
    int64_t *const value[] = {&o->T, &o->overlap, &o->min_length, &o->max_length};
    int code = BL_OK;
    for (size_t i = 0; i < sizeof value / sizeof *value && !code; i++)
        code = seconds_resolve(value[i], num, den, e);
    return code;
}

/* --- checks ----------------------------------------------------------------------------------------------------- */

/* The most ranks, and the most blocks of a batch: with 2^14 for accumulate, the product of the three fits 64 bits. */
#define RANKS_MAX 16777216

/* Checks that --balance and --cost go together, that a column of costs has values, which means that a table with this
 * column was read, and that fields with a cost exist. BL_EUSAGE. */
static int plan_options_check_cost(const struct bl_plan_options *o, struct bl_error *e)
{
    bool is_given = bl_plan_cost_is_given(&o->cost);
    if (o->balance == BL_BALANCE_COST && !is_given)
        return bl_error_set(e, BL_EUSAGE, "--balance cost needs --cost ALPHA,BETA or --cost COLUMN");
    if (o->balance == BL_BALANCE_QUADRATIC && is_given)
        return bl_error_set(e, BL_EUSAGE, "--balance quadratic is --cost 0,1: give one of them");
    if (o->cost.column && !o->column)
        return bl_error_set(e, BL_EUSAGE, "--cost %s needs a table with this column", o->cost.column);
    return bl_cost_check_fields(&o->cost, &o->max_column, e);
}

/* Checks that blocks can hold bundles. BL_EUSAGE. */
static int plan_options_check_together(const struct bl_plan_options *o, struct bl_error *e)
{
    if (o->strategy == BL_STRATEGY_STORE || !(o->together || o->together_column))
        return BL_OK;
    if (o->together_column && strlen(o->together_column) >= BL_PLAN_COLUMN_SIZE)
        return bl_error_set(e, BL_EUSAGE, "--together: the name of a column has at most %d bytes",
                            BL_PLAN_COLUMN_SIZE - 1);
    if (!o->together)
        return bl_error_set(e, BL_EUSAGE, "--together %s needs a table with this column", o->together_column);
    if (o->strategy != BL_STRATEGY_BLOCK)
        return bl_error_set(e, BL_EUSAGE, "--together needs --strategy block: the others give each sequence a block");
    if (o->oversize == BL_OVERSIZE_TRUNCATE)
        return bl_error_set(e, BL_EUSAGE,
                            "--together and --oversize truncate exclude each other, as a bundle would lose whole "
                            "sequences: use --oversize split or drop");
    return BL_OK;
}

/* Checks the names, maxima and values of --max-column. Values are numbers of at least 0, which bl_needs_make checks
 * when it reads them. BL_EUSAGE. */
static int plan_options_check_columns(const struct bl_plan_options *o, struct bl_error *e)
{
    const struct bl_plan_columns *columns = &o->max_column;
    int fields = 0;
    for (int i = 0; i < columns->count && i < BL_PLAN_COLUMNS_MAX; i++)
        fields += columns->each[i].is_field;
    int count = columns->count + (o->capacity.count > fields ? o->capacity.count - fields : 0);
    if (count < 0 || count > BL_PLAN_COLUMNS_MAX)
        return bl_error_set(e, BL_EUSAGE, "%d columns have a maximum: at most %d can", count, BL_PLAN_COLUMNS_MAX);
    for (int i = 0; i < columns->count; i++) {
        const struct bl_plan_column *column = &columns->each[i];
        /* A store has no maxima: a capacity says only that the field exists. */
        if (column->is_field && o->strategy == BL_STRATEGY_STORE)
            continue;
        if (column->is_field && column->value && o->strategy != BL_STRATEGY_BLOCK)
            return bl_error_set(e, BL_EUSAGE, "fields with steps of their own (%s) need --strategy block or store",
                                column->name);
        /* A capacity of 0 is still to be found. The comparison is written so that a NaN fails, too. */
        bool is_found = !column->is_field || column->max != 0;
        if (is_found && (!(column->max > 0) || isinf(column->max)))
            return bl_error_set(e, BL_EUSAGE, "--max-column %s=%g: a maximum is a number above 0", column->name,
                                column->max);
        if (!column->value)
            return bl_error_set(e, BL_EUSAGE, "--max-column %s needs a table with this column", column->name);
        for (int k = 0; k < i; k++)
            if (strcmp(columns->each[k].name, column->name) == 0 && column->is_field == columns->each[k].is_field)
                return bl_error_set(
                    e, BL_EUSAGE, "--%s %.*s is given twice", column->is_field ? "capacity" : "max-column",
                    column->is_field ? bl_plan_column_field_size(column) : (int)strlen(column->name), column->name);
    }
    return BL_OK;
}

/* Checks the options beside an overlap. Readers take the first steps of every piece that does not begin its sequence
 * for a repetition of the piece before, so no piece may be dropped. BL_EUSAGE. */
static int plan_options_check_overlap(const struct bl_plan_options *o, struct bl_error *e)
{
    if (o->overlap && o->oversize != BL_OVERSIZE_SPLIT)
        return bl_error_set(e, BL_EUSAGE,
                            "an overlap is for the pieces of sequences longer than T: it needs "
                            "--oversize split");
    if (o->overlap && o->remainder == BL_REMAINDER_DROP)
        return bl_error_set(e, BL_EUSAGE,
                            "--overlap and --remainder drop exclude each other: a dropped piece is the "
                            "context of the next one; use spread or pad");
    return BL_OK;
}

/* The rows of a store hold the sequences in the order of the table, one after the other. So no option can change which
 * sequences share a row, how many rows there are, or where a sequence begins. */
int bl_plan_options_check_store(const struct bl_plan_options *o, struct bl_error *e)
{
    const struct {
        const char *name;
        bool is_given;
        /* Options that would have no effect on a store are errors, so that nobody relies on them. */
    } unused[] = {{"seed", o->seed != 0},
                  {"world-size", o->world_size > 1},
                  {"batch-size", o->batch_size > 1},
                  {"accumulate", o->accumulate > 1},
                  {"cost", bl_plan_cost_is_given(&o->cost)},
                  {"balance", o->balance > BL_BALANCE_NONE},
                  {"remainder", o->remainder != BL_REMAINDER_SPREAD},
                  {"oversize", o->oversize != BL_OVERSIZE_ERROR},
                  {"fill", o->fill != BL_FILL_OPTIMAL},
                  {"spare", o->spare > 0},
                  {"align", o->align > 1},
                  {"cp", o->cp > 0},
                  {"max-sequences", o->max_sequences > 0},
                  {"max-column", o->max_column.count > 0 && !o->max_column.each[0].is_field},
                  {"group-by", o->group != NULL},
                  {"together", o->together || o->together_column}};
    if (o->strategy != BL_STRATEGY_STORE)
        return o->T != BL_T_AUTO ? BL_OK
                                 : bl_error_set(e, BL_EUSAGE,
                                                "-T auto is for a store: give a number of steps, or "
                                                "longest");
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++) {
        if (unused[i].is_given)
            return bl_error_set(e, BL_EUSAGE,
                                "--%s has no meaning in a store: its rows hold the sequences in the order of the table",
                                unused[i].name);
    }
    return BL_OK;
}

/* The enums are compared as unsigned numbers, so that negative values of a caller in C are refused, too. */
int bl_plan_options_check(const struct bl_plan_options *o, struct bl_error *e)
{
    const struct {
        const char *name;
        int64_t value, max; /* 0 is valid: the option is not given */
    } ranges[] = {{"T", o->T, BL_T_MAX},
                  {"clip", o->clip, BL_T_MAX},
                  {"effort", o->effort, BL_EFFORT_MAX},
                  {"align", o->align, BL_T_MAX},
                  {"cp", o->cp, BL_CP_MAX},
                  {"overlap", o->overlap, BL_T_MAX - 1},
                  {"max-sequences", o->max_sequences, BL_SEQUENCES_MAX},
                  {"min-length", o->min_length, INT64_MAX},
                  {"max-length", o->max_length, INT64_MAX},
                  {"world-size", o->world_size, RANKS_MAX},
                  {"batch-size", o->batch_size, RANKS_MAX},
                  {"accumulate", o->accumulate, BL_ACCUMULATE_MAX}};
    if (!(o->spare >= 0 && o->spare <= 1))
        return bl_error_set(e, BL_EUSAGE, "spare = %g is not between 0 and 1", o->spare);
    if ((unsigned)o->strategy >= BL_STRATEGY_COUNT || (unsigned)o->fill >= BL_FILL_COUNT ||
        (unsigned)o->oversize > BL_OVERSIZE_DROP || (unsigned)o->clips > BL_CLIPS_ALL ||
        (unsigned)o->remainder > BL_REMAINDER_DROP || (unsigned)o->balance > BL_BALANCE_COST ||
        (unsigned)o->sync > BL_SYNC_STEP || (unsigned)o->order > BL_KEEP_ORDER)
        return bl_error_set(e, BL_EUSAGE, "unknown strategy, fill, oversize, clips, remainder, balance, sync or order");
    if (o->T == BL_T_AUTO)
        return bl_error_set(e, BL_EUSAGE,
                            "-T auto needs the bytes of a step, which no table says: give a number of steps");
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (ranges[i].value < 0 || ranges[i].value > ranges[i].max)
            return bl_error_set(e, BL_EUSAGE, "%s = %lld is not between 1 and %lld", ranges[i].name,
                                (long long)ranges[i].value, (long long)ranges[i].max);
    }
    int code = plan_options_check_cost(o, e);
    if (!code)
        code = plan_options_check_columns(o, e);
    if (!code)
        code = plan_options_check_together(o, e);
    if (!code)
        code = plan_options_check_overlap(o, e);
    if (!code)
        code = bl_plan_options_check_store(o, e);
    /* The rest is about --order keep: it excludes each option that moves sequences or blocks. */
    if (code || o->order != BL_KEEP_ORDER)
        return code;
    if (o->balance > BL_BALANCE_NONE || (o->balance == BL_BALANCE_AUTO && bl_plan_cost_is_given(&o->cost)))
        return bl_error_set(e, BL_EUSAGE, "--order keep excludes --balance and --cost%s",
                            o->balance == BL_BALANCE_AUTO ? ": --balance none only measures the costs" : "");
    if (o->spare > 0)
        return bl_error_set(e, BL_EUSAGE, "--order keep and --spare exclude each other");
    if (bl_strategies[o->strategy]->is_packed && bl_fills[o->fill]->is_random)
        return bl_error_set(e, BL_EUSAGE, "--order keep and --fill %s exclude each other", bl_fill_names[o->fill]);
    return BL_OK;
}

/* --- capacity ----------------------------------------------------------------------------------------------------- */

/* Sums of steps stay below this: adding two of them cannot overflow an int64_t. */
#define STEPS_MAX (INT64_C(1) << 62)

/* Returns the length of the longest sequence up to max_length steps (0: no limit), or of the longest of all if none is
 * that short. */
static int64_t capacity_longest(const struct bl_plan *plan, const int64_t *length, size_t count, int64_t max_length)
{
    int64_t longest = 0;
    for (size_t i = 0; max_length && i < count && plan->longest > max_length; i++)
        longest = length[i] > longest && length[i] <= max_length ? length[i] : longest;
    return longest ? longest : plan->longest;
}

int bl_capacity_resolve(struct bl_plan *plan, const int64_t *length, size_t count,
                        const struct bl_plan_options *options, struct bl_error *e)
{
    /* The planner numbers sequences by uint32_t. */
    if (count > BL_SEQUENCES_MAX)
        return bl_error_set(e, BL_EFAIL, "%zu sequences: a plan can hold %lld", count, (long long)BL_SEQUENCES_MAX);
    /* One pass finds all sums. Each length is compared with the rest up to STEPS_MAX before the sum. */
    int64_t steps = 0, sequences = 0, longest = 0;
    for (size_t i = 0; i < count; i++) {
        if (length[i] < 0)
            return bl_error_set(e, BL_EFAIL, "sequence %zu has a negative length, %lld", i, (long long)length[i]);
        if (length[i] > STEPS_MAX - steps)
            return bl_error_set(e, BL_EFAIL, "more than 2^62 steps in all, from sequence %zu on", i);
        steps += length[i];
        sequences += length[i] > 0;
        longest = length[i] > longest ? length[i] : longest;
    }
    plan->steps = steps;
    plan->sequences = sequences;
    plan->longest = longest;
    /* The mean below divides by the number of sequences. */
    if (plan->sequences == 0)
        return bl_error_set(e, BL_EFAIL, "nothing to plan: all sequences are empty");

    /* Clips decide the steps of a block; without --clip, a clip has the mean length of the sequences. */
    if (bl_strategies[options->strategy]->is_clipped)
        plan->T = options->clip ? options->clip : plan->steps / plan->sequences;
    else
        plan->T = options->T ? options->T : capacity_longest(plan, length, count, options->max_length);
    if (plan->T > BL_T_MAX)
        return bl_error_set(e, BL_EFAIL, "blocks of %lld steps: the maximum is %lld", (long long)plan->T,
                            (long long)BL_T_MAX);
    return BL_OK;
}

/* Sequences that --min-length or --max-length drops are never too long. */
void bl_plan_find_oversize(struct bl_plan_oversize *over, const int64_t *length, size_t count,
                           const struct bl_plan_options *options, int64_t T)
{
    int64_t max_length = options->max_length ? options->max_length : INT64_MAX;
    *over = (struct bl_plan_oversize){0};
    /* The loop runs backwards, so that `first` ends as the index of the first sequence. */
    for (size_t i = count; i-- > 0;) {
        if (length[i] <= T || length[i] < options->min_length || length[i] > max_length)
            continue;
        over->count++;
        over->first = i;
        over->longest = length[i] > over->longest ? length[i] : over->longest;
    }
}

/* The checks come first, since a T that is out of range would fail later with a message about blocks. */
int bl_plan_T(int64_t *T, const int64_t *length, size_t count, const struct bl_plan_options *options,
              struct bl_error *e)
{
    struct bl_plan plan = {0};
    int code = bl_plan_options_check(options, e);
    if (!code)
        code = bl_capacity_resolve(&plan, length, count, options, e);
    *T = plan.T;
    return code;
}
