/* The public interface (include/bload.h), for C programs and for the readers of other languages.
 *
 * It wraps the store and the planner in names and types of its own, so that neither is part of the ABI. Structs that
 * may grow in a later version are never allocated by a program: the object owns them, and functions return pointers to
 * them. The one exception, struct bload_plan_options, tells its size. Every function that can fail copies an internal
 * error to the caller's, and returns its code. What each function promises stands in the public header. */
#include "bload.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error_export.h"
#include "plan/plan.h"
#include "store/blocks.h"
#include "store/epochs.h"

/* Files hold little-endian numbers, which are read and mapped without conversion. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bload needs a little-endian machine");

/* The options of the first header of this SONAME. A program that says less has not set size. */
#define OPTIONS_SIZE_MIN (offsetof(struct bload_plan_options, max_column) + sizeof(void *))

/* An open dataset or view. One thread at a time may use it. */
struct bload_dataset {
    struct bl_blocks blocks;                            /* the dataset or view, in its present epoch */
    char encoding[BL_FIELDS_MAX][BL_ENCODING_NAME_MAX]; /* [fields] names, to which the fields below point */
    struct bl_buffer value;                             /* the last result of bload_dataset_read_column */
    /* Functions return pointers to these members. */
    struct bload_counts counts;
    struct bload_field field[BL_FIELDS_MAX];             /* [fields] */
    struct bload_attribute attribute[BL_ATTRIBUTES_MAX]; /* [attributes] */
    struct bload_tables tables;                          /* of the block that was read last */
    int32_t *padded;                                     /* [S + 1] owned: its cu_seqlens_padded; NULL: no such table */
    struct bload_row row;                                /* that was read last */
};

/* A plan, made here or read from a dataset. */
struct bload_plan {
    struct bl_plan plan;
    int32_t *length; /* [sequences] lengths of all sequences; NULL: the plan has the length of every piece */
    struct bload_counts counts;
    struct bload_imbalance imbalance;
};

/* Returns the version of the library that is loaded, which may be newer than the header. */
const char *bload_version(void)
{
    return BLOAD_VERSION;
}

/* Internal and public codes have the same values. */
int bl_error_export(int code, const struct bl_error *e, struct bload_error *error)
{
    if (error) {
        error->code = code;
        snprintf(error->text, sizeof error->text, "%s", code ? e->text : "");
    }
    return code;
}

/* --- datasets ----------------------------------------------------------------------------------------------------- */

/* Returns the format of the blocks, which the dataset owns. */
static const struct bl_format *dataset_format(const struct bload_dataset *dataset)
{
    return bl_blocks_format(&dataset->blocks);
}

/* The counts are those of the stored plan. The plans of other epochs have the same number of blocks; only their number
 * of pieces may differ. */
static struct bload_counts dataset_counts(const struct bload_dataset *dataset)
{
    const struct bl_manifest *m = bl_blocks_manifest(&dataset->blocks);
    return (struct bload_counts){
        .T = m->plan_info.T,
        .S = m->format.S,
        .blocks = m->plan_info.blocks,
        .pieces = bl_blocks_index(&dataset->blocks)->pieces,
        .sequences = m->plan_info.sequences,
        .steps = m->plan_info.steps,
        .longest = m->plan_info.longest,
        .padding = m->plan_info.padding,
        .deleted = m->plan_info.deleted,
        .cut = m->plan_info.cut,
        .lower_bound = m->plan_info.lower_bound,
        .efficiency = m->plan_info.efficiency,
        .overlap = m->plan_info.overlap,
        .repeated = m->plan_info.repeated,
        .cp = m->plan_info.cp,
        .bundles = m->plan_info.bundles,
        .bundles_split = m->plan_info.bundles_split,
    };
}

/* Describes the fields and attributes of an open dataset. All texts belong to the dataset's format or to encoding. */
static void dataset_describe(struct bload_dataset *dataset)
{
    const struct bl_format *format = dataset_format(dataset);
    for (int f = 0; f < format->fields.count; f++) {
        const struct bl_field *field = &format->fields.field[f];
        struct bload_field *out = &dataset->field[f];
        bl_encoding_name(&format->encoding[f], dataset->encoding[f]);
        *out = (struct bload_field){
            .name = field->name,
            .kind = field->kind,
            .dtype = bl_dtype_name(field->dtype),
            .item_bytes = bl_dtype_size(field->dtype),
            .rank = field->rank + 1, /* the first dimension of a block is T, the others are those of a step */
            .shape = {bl_format_steps(format, f)},
            .block_bytes = bl_format_block_bytes(format, f),
            .encoding = dataset->encoding[f],
            .own = field->own,
        };
        memcpy(out->shape + 1, field->shape, (size_t)field->rank * sizeof *field->shape);
    }
    for (int a = 0; a < format->attributes; a++)
        dataset->attribute[a] = (struct bload_attribute){.name = format->attribute[a].name,
                                                         .dtype = bl_dtype_name(format->attribute[a].dtype)};
}

int bload_dataset_open(const char *directory, struct bload_dataset **out, struct bload_error *error)
{
    struct bl_error e = {0};
    *out = NULL;
    struct bload_dataset *dataset = calloc(1, sizeof *dataset);
    int code = dataset ? bl_blocks_open(&dataset->blocks, directory, &e) : bl_error_memory(&e);
    if (code) {
        free(dataset);
        return bl_error_export(code, &e, error);
    }
    const struct bl_format *format = dataset_format(dataset);
    if (format->padded_to) {
        dataset->padded = calloc((size_t)format->S + 1, sizeof *dataset->padded);
        code = dataset->padded ? BL_OK : bl_error_memory(&e);
    }
    if (code) {
        bload_dataset_close(dataset);
        return bl_error_export(code, &e, error);
    }
    dataset_describe(dataset);
    dataset->counts = dataset_counts(dataset);
    *out = dataset;
    return bl_error_export(BL_OK, &e, error);
}

void bload_dataset_close(struct bload_dataset *dataset)
{
    if (!dataset)
        return;
    bl_blocks_close(&dataset->blocks);
    bl_buffer_free(&dataset->value);
    free(dataset->padded);
    free(dataset);
}

/* --- epochs and counts -------------------------------------------------------------------------------------------- */

/* Counts the stored plan as epoch 0. */
int64_t bload_dataset_epoch_count(const struct bload_dataset *dataset)
{
    return bl_epochs_count(bl_blocks_manifest(&dataset->blocks)) + 1;
}

/* Blocks of another epoch are composed of pieces of the stored blocks. BL_EUSAGE: the dataset has no plan for the
 * epoch. */
int bload_dataset_set_epoch(struct bload_dataset *dataset, int64_t epoch, struct bload_error *error)
{
    struct bl_error e = {0};
    int code = bl_blocks_set_epoch(&dataset->blocks, epoch, &e);
    dataset->counts = dataset_counts(dataset);
    return bl_error_export(code, &e, error);
}

const struct bload_counts *bload_dataset_counts(const struct bload_dataset *dataset)
{
    return &dataset->counts;
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* Fields are numbered in the order in which they were packed; the first one decides the sequences. */
int bload_dataset_field_count(const struct bload_dataset *dataset)
{
    return dataset_format(dataset)->fields.count;
}

const struct bload_field *bload_dataset_field(const struct bload_dataset *dataset, int field)
{
    return field >= 0 && field < dataset_format(dataset)->fields.count ? &dataset->field[field] : NULL;
}

/* Returns the index of a field by its name, or -1. */
int bload_dataset_find_field(const struct bload_dataset *dataset, const char *name)
{
    const struct bl_fields *fields = &dataset_format(dataset)->fields;
    for (int f = 0; f < fields->count; f++) {
        if (strcmp(fields->field[f].name, name) == 0)
            return f;
    }
    return -1;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* Checks that the caller's memory, of `size` bytes, has room for a result. BL_EUSAGE. */
static int size_check(size_t size, size_t needed, struct bl_error *e)
{
    return size >= needed ? BL_OK : bl_error_set(e, BL_EUSAGE, "the result has %zu bytes, out only %zu", needed, size);
}

/* The size is checked first, so that a program with an old idea of T cannot be overwritten. */
int bload_dataset_read_block(struct bload_dataset *dataset, int64_t block, int field, void *out, size_t size,
                             struct bload_error *error)
{
    const struct bl_format *format = dataset_format(dataset);
    struct bl_error e = {0};
    bool known = field >= 0 && field < format->fields.count; /* if not, the read below reports the error */
    int code = known ? size_check(size, bl_format_block_bytes(format, field), &e) : BL_OK;
    if (!code)
        code = bl_blocks_read(&dataset->blocks, block, field, out, &e);
    return bl_error_export(code, &e, error);
}

/* Blocks of views and of other epochs are composed of pieces in several blocks, so that they have no place in a file.
 */
int bload_dataset_map_block(struct bload_dataset *dataset, int64_t block, int field, const void **data,
                            struct bload_error *error)
{
    struct bl_error e = {0};
    int code = BL_OK;
    *data = NULL;
    if (bl_blocks_are_composed(&dataset->blocks))
        code = bl_error_set(&e, BL_EUSAGE, "blocks of views and further epochs can only be read, not mapped");
    else
        code = bl_dataset_map(&dataset->blocks.dataset, block, field, data, &e);
    return bl_error_export(code, &e, error);
}

/* The tables point into the block, which the dataset owns. */
int bload_dataset_read_tables(struct bload_dataset *dataset, int64_t block, const struct bload_tables **tables,
                              struct bload_error *error)
{
    struct bl_error e = {0};
    const struct bl_block *read = NULL; /* owned by the blocks */
    int code = bl_blocks_tables(&dataset->blocks, block, &read, &e);
    *tables = code ? NULL : &dataset->tables;
    if (!code && dataset->padded)
        bl_block_copy_table(read, dataset_format(dataset), BL_TABLE_CU_SEQLENS_PADDED, dataset->padded);
    if (!code)
        dataset->tables = (struct bload_tables){.num_sequences = read->num_sequences,
                                                .cu_seqlens = read->cu_seqlens,
                                                .sequence = read->sequence,
                                                .length = read->length,
                                                .source_start = read->source_start,
                                                .cu_seqlens_padded = dataset->padded};
    return bl_error_export(code, &e, error);
}

int bload_dataset_read_places(struct bload_dataset *dataset, int64_t block, int field, const int32_t **cu_seqlens,
                              struct bload_error *error)
{
    struct bl_error e = {0};
    const struct bl_fields *fields = &dataset_format(dataset)->fields;
    const struct bl_block *read = NULL;
    bool known = field >= 0 && field < fields->count;
    int code = known ? bl_blocks_tables(&dataset->blocks, block, &read, &e)
                     : bl_error_set(&e, BL_EUSAGE, "no field %d: the dataset has %d", field, fields->count);
    *cu_seqlens = code ? NULL : fields->field[field].own ? read->own[field] : read->cu_seqlens;
    return bl_error_export(code, &e, error);
}

/* --- attributes and rows ------------------------------------------------------------------------------------------ */

/* The rows are those of sequences.tsv, skipped inputs included; a view has the rows of all its datasets. */
int bload_dataset_row_count(struct bload_dataset *dataset, int64_t *count, struct bload_error *error)
{
    struct bl_error e = {0};
    return bl_error_export(bl_blocks_rows(&dataset->blocks, count, &e), &e, error);
}

/* Attributes are the numeric columns of the table that was joined when the dataset was packed. */
int bload_dataset_attribute_count(const struct bload_dataset *dataset)
{
    return dataset_format(dataset)->attributes;
}

const struct bload_attribute *bload_dataset_attribute(const struct bload_dataset *dataset, int attribute)
{
    return attribute >= 0 && attribute < dataset_format(dataset)->attributes ? &dataset->attribute[attribute] : NULL;
}

/* Returns the index of an attribute by its name, or -1. */
int bload_dataset_find_attribute(const struct bload_dataset *dataset, const char *name)
{
    const struct bl_format *format = dataset_format(dataset);
    for (int a = 0; a < format->attributes; a++) {
        if (strcmp(format->attribute[a].name, name) == 0)
            return a;
    }
    return -1;
}

/* Each block has S values of 8 bytes, whatever the type of the attribute, which says how to read them: int64 or
 * float64. */
int bload_dataset_read_attribute(struct bload_dataset *dataset, int64_t block, int attribute, void *out, size_t size,
                                 struct bload_error *error)
{
    struct bl_error e = {0};
    int code = size_check(size, (size_t)dataset_format(dataset)->S * sizeof(int64_t), &e);
    if (!code)
        code = bl_blocks_attribute(&dataset->blocks, block, attribute, out, &e);
    return bl_error_export(code, &e, error);
}

/* An empty value and a column that does not exist look the same in a row, so the result of the search decides. */
int bload_dataset_read_column(struct bload_dataset *dataset, int64_t row, const char *column, const char **text,
                              struct bload_error *error)
{
    struct bl_error e = {0};
    const struct bl_row *read = NULL; /* owned by the blocks */
    *text = NULL;                     /* also after an error */
    bl_buffer_clear(&dataset->value);
    int code = bl_blocks_row(&dataset->blocks, row, &read, &e);
    if (!code && !bl_row_get_value(read, column, &dataset->value))
        code = bl_buffer_check(&dataset->value, &e)
                   ? BL_EFAIL
                   : bl_error_set(&e, BL_EUSAGE, "there is no further column \"%s\"", column);
    if (!code)
        *text = dataset->value.data;
    return bl_error_export(code, &e, error);
}

/* The texts belong to the reader of the table, and are valid until another row is read. */
int bload_dataset_read_row(struct bload_dataset *dataset, int64_t row, const struct bload_row **out,
                           struct bload_error *error)
{
    struct bl_error e = {0};
    const struct bl_row *read = NULL;
    int code = bl_blocks_row(&dataset->blocks, row, &read, &e);
    *out = code ? NULL : &dataset->row;
    if (!code)
        dataset->row = (struct bload_row){.id = read->id,
                                          .path = read->path,
                                          .kind = read->kind,
                                          .status = bl_row_status_name(read->status),
                                          .reason = read->reason,
                                          .length = read->length};
    return bl_error_export(code, &e, error);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

/* Copies the caller's options, which an older or a newer header may have declared: members that the program does not
 * know are 0, and members that this library does not know must be 0, since they may say anything. from NULL: all
 * defaults. BL_EUSAGE. */
static int options_copy(const struct bload_plan_options *from, struct bload_plan_options *to, struct bl_error *e)
{
    *to = (struct bload_plan_options){.size = sizeof *to};
    if (!from)
        return BL_OK;
    if (from->size < OPTIONS_SIZE_MIN)
        return bl_error_set(e, BL_EUSAGE, "the options have the size %zu: set it to sizeof(struct bload_plan_options)",
                            from->size);
    memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
    const char *bytes = (const char *)from;
    for (size_t i = sizeof *to; i < from->size; i++) {
        if (bytes[i])
            return bl_error_set(e, BL_EUSAGE, "the options have members that version " BLOAD_VERSION " does not know");
    }
    return BL_OK;
}

/* Checks the members that the planner does not check: enums of a program that may know other values. BL_EUSAGE. */
static int options_check(const struct bload_plan_options *o, struct bl_error *e)
{
    if ((unsigned)o->strategy > BLOAD_STRATEGY_STORE || (unsigned)o->fill > BLOAD_FILL_PAPER ||
        (unsigned)o->oversize > BLOAD_OVERSIZE_DROP || (unsigned)o->remainder > BLOAD_REMAINDER_DROP ||
        (unsigned)o->sync > BLOAD_SYNC_STEP)
        return bl_error_set(e, BL_EUSAGE, "unknown strategy, fill, oversize, remainder or sync");
    if (o->max_columns < 0 || o->max_columns > BLOAD_MAX_COLUMNS_MAX)
        return bl_error_set(e, BL_EUSAGE, "max_columns is %d, not 0 to %d", o->max_columns, BLOAD_MAX_COLUMNS_MAX);
    if (o->max_columns && !o->max_column)
        return bl_error_set(e, BL_EUSAGE, "max_columns is %d, and max_column is NULL", o->max_columns);
    return BL_OK;
}

/* Translates the public options. The enums of both sides are independent, so that either may change; where a table
 * translates, the order of values may differ. */
static int options_translate(const struct bload_plan_options *from, struct bl_plan_options *to, struct bl_error *e)
{
    /* The public enums start at 0 without gaps, and options_check has compared them with their last values. */
    static const enum bl_strategy strategy[] = {[BLOAD_STRATEGY_BLOCK] = BL_STRATEGY_BLOCK,
                                                [BLOAD_STRATEGY_NAIVE] = BL_STRATEGY_NAIVE,
                                                [BLOAD_STRATEGY_SAMPLE] = BL_STRATEGY_SAMPLE,
                                                [BLOAD_STRATEGY_MIX] = BL_STRATEGY_MIX,
                                                [BLOAD_STRATEGY_STORE] = BL_STRATEGY_STORE};
    static const enum bl_fill fill[] = {[BLOAD_FILL_OPTIMAL] = BL_FILL_OPTIMAL, [BLOAD_FILL_PAPER] = BL_FILL_PAPER};
    static const enum bl_oversize oversize[] = {[BLOAD_OVERSIZE_ERROR] = BL_OVERSIZE_ERROR,
                                                [BLOAD_OVERSIZE_SPLIT] = BL_OVERSIZE_SPLIT,
                                                [BLOAD_OVERSIZE_TRUNCATE] = BL_OVERSIZE_TRUNCATE,
                                                [BLOAD_OVERSIZE_DROP] = BL_OVERSIZE_DROP};
    BL_TRY(options_check(from, e));
    /* The name in `cost` says that the array is given; the values are in to->column. */
    const struct bl_plan_cost cost = {
        .alpha = from->cost_alpha, .beta = from->cost_beta, .column = from->cost ? "cost" : NULL};
    *to = (struct bl_plan_options){.strategy = strategy[from->strategy],
                                   .fill = fill[from->fill],
                                   .oversize = oversize[from->oversize],
                                   .clips = from->all_clips ? BL_CLIPS_ALL : BL_CLIPS_ONE,
                                   .T = from->T,
                                   .clip = from->clip,
                                   .seed = from->seed,
                                   .effort = from->effort,
                                   .align = from->align,
                                   .overlap = from->overlap,
                                   .max_sequences = from->max_sequences,
                                   .min_length = from->min_length,
                                   .max_length = from->max_length,
                                   .order = from->keep_order ? BL_KEEP_ORDER : BL_KEEP_NOTHING,
                                   .spare = from->spare,
                                   .world_size = from->world_size,
                                   .batch_size = from->batch_size,
                                   .remainder = (enum bl_remainder)from->remainder,
                                   .balance = !from->balance                 ? BL_BALANCE_NONE
                                              : bl_plan_cost_is_given(&cost) ? BL_BALANCE_COST
                                                                             : BL_BALANCE_QUADRATIC,
                                   .cost = cost,
                                   .column = from->cost,
                                   .accumulate = from->accumulate,
                                   .sync = (enum bl_sync)from->sync,
                                   .group = from->group,
                                   .cancel = from->cancel,
                                   .cp = from->cp,
                                   .together = from->together,
                                   .max_column.count = from->max_columns};
    for (int c = 0; c < from->max_columns; c++) {
        struct bl_plan_column *column = &to->max_column.each[c];
        *column = (struct bl_plan_column){.max = from->max_column[c].max, .value = from->max_column[c].value};
        snprintf(column->name, sizeof column->name, "column %d", c); /* for messages */
    }
    return BL_OK;
}

/* Sets the counts and the imbalance, to which functions return pointers. */
static void plan_describe(struct bload_plan *plan)
{
    const struct bl_plan *p = &plan->plan;
    const struct bl_plan_balance *b = &p->balance;
    plan->counts = (struct bload_counts){
        .T = p->T,
        .S = p->max_sequences,
        .blocks = (int64_t)p->blocks,
        .pieces = (int64_t)p->pieces,
        .sequences = p->sequences,
        .steps = p->steps,
        .longest = p->longest,
        .padding = p->padding,
        .deleted = p->deleted,
        .cut = p->cut,
        .lower_bound = p->lower_bound,
        .efficiency = bl_plan_efficiency(p),
        .overlap = p->overlap,
        .repeated = p->repeated,
        .bundles = p->bundles,
        .bundles_split = p->bundles_split,
    };
    plan->imbalance = (struct bload_imbalance){.imbalance = b->lost,
                                               .imbalance_before = b->lost_before,
                                               .imbalance_bound = b->bound,
                                               .highest_block_cost = b->highest,
                                               .ks_distance = b->apart,
                                               .ks_distance_random = b->apart_drawn,
                                               .cost_correlation = b->neighbours};
}

int bload_plan_make(const int64_t *length, size_t count, const struct bload_plan_options *options,
                    struct bload_plan **out, struct bload_error *error)
{
    struct bl_error e = {0};
    struct bload_plan_options known; /* the options that this library knows */
    struct bl_plan_options inner;    /* the same in the planner's terms */
    *out = NULL;
    struct bload_plan *plan = calloc(1, sizeof *plan);
    int code = plan ? options_copy(options, &known, &e) : bl_error_memory(&e);
    if (!code)
        code = options_translate(&known, &inner, &e);
    if (!code)
        code = bl_plan_make(&plan->plan, length, count, &inner, &e);
    /* If the plan does not store the length of each piece, the lengths are copied, so that the caller may free its
     * array. The lengths of sequences longer than T may be truncated to int32_t, but the plan does not contain them. */
    if (!code && !plan->plan.length && !(plan->length = malloc(count * sizeof *plan->length)))
        code = bl_error_memory(&e);
    for (size_t i = 0; i < count && !code && plan->length; i++)
        plan->length[i] = (int32_t)length[i];
    if (code) {
        bload_plan_free(plan);
        return bl_error_export(code, &e, error);
    }
    plan_describe(plan);
    plan->counts.cp = inner.strategy == BL_STRATEGY_BLOCK ? inner.cp : 0;
    *out = plan;
    return bl_error_export(BL_OK, &e, error);
}

/* Compares the digest of the tables with the one in the header of the index, which was compared with the manifest, and
 * checks that no block has more pieces than S of the manifest. BL_EDATA: the index is damaged. */
static int dataset_check_plan(const struct bload_dataset *dataset, const struct bload_plan *plan, struct bl_error *e)
{
    const struct bl_index *index = bl_blocks_index(&dataset->blocks);
    const struct bl_manifest *m = bl_blocks_manifest(&dataset->blocks);
    char digest[BL_DIGEST_SIZE];
    BL_TRY(bl_index_plan_digest(index, m->plan_info.T, digest, e));
    if (strcmp(digest, index->plan_digest) != 0)
        return bl_error_set(e, BL_EDATA, "%s: its tables have the digest %s, its header says %s: it is damaged",
                            index->path, digest, index->plan_digest);
    /* Programs allocate S pieces for each block, so no block may have more. */
    for (size_t b = 0; b < plan->plan.blocks; b++) {
        int64_t pieces = plan->plan.block_ptr[b + 1] - plan->plan.block_ptr[b];
        if (pieces > m->format.S)
            return bl_error_set(e, BL_EDATA, "%s: block %zu has %" PRId64 " pieces, the manifest says at most %" PRId64,
                                index->path, b, pieces, m->format.S);
    }
    return BL_OK;
}

/* Reads the plan from the index, which checks that its tables agree with each other. The counts are copied from the
 * manifest. */
int bload_dataset_plan(struct bload_dataset *dataset, struct bload_plan **out, struct bload_error *error)
{
    const struct bl_manifest *m = bl_blocks_manifest(&dataset->blocks);
    struct bl_error e = {0};
    *out = NULL;
    struct bload_plan *plan = calloc(1, sizeof *plan);
    int code = plan ? bl_index_read_plan(bl_blocks_index(&dataset->blocks), m->plan_info.T, m->align, &plan->plan, &e)
                    : bl_error_memory(&e);
    if (code) {
        free(plan); /* the plan itself is empty after a failure */
        return bl_error_export(code, &e, error);
    }
    code = dataset_check_plan(dataset, plan, &e);
    if (code) {
        bload_plan_free(plan);
        return bl_error_export(code, &e, error);
    }
    /* The index has pieces only: the counts of sequences that the plan drops or cuts are in the manifest. */
    plan->plan.sequences = m->plan_info.sequences;
    plan->plan.steps = m->plan_info.steps;
    plan->plan.longest = m->plan_info.longest;
    plan->plan.padding = m->plan_info.padding;
    plan->plan.deleted = m->plan_info.deleted;
    plan->plan.overlap = m->plan_info.overlap;
    plan->plan.repeated = m->plan_info.repeated;
    plan->plan.bundles = m->plan_info.bundles;
    plan->plan.bundles_split = m->plan_info.bundles_split;
    plan->plan.cut = m->plan_info.cut;
    plan->plan.lower_bound = m->plan_info.lower_bound;
    plan->plan.max_sequences = m->format.S;
    plan->plan.balance = m->plan_info.balance;
    plan_describe(plan);
    plan->counts.cp = m->plan_info.cp;
    *out = plan;
    return bl_error_export(BL_OK, &e, error);
}

/* NULL is accepted, as by free(3). */
void bload_plan_free(struct bload_plan *plan)
{
    if (!plan)
        return;
    bl_plan_free(&plan->plan);
    free(plan->length);
    free(plan);
}

const struct bload_counts *bload_plan_counts(const struct bload_plan *plan)
{
    return &plan->counts;
}

const struct bload_imbalance *bload_plan_imbalance(const struct bload_plan *plan)
{
    return &plan->imbalance;
}

/* Returns -1 for a block that does not exist: the function has no error object. */
int64_t bload_plan_piece_count(const struct bload_plan *plan, int64_t block)
{
    if (block < 0 || (uint64_t)block >= plan->plan.blocks)
        return -1;
    return plan->plan.block_ptr[block + 1] - plan->plan.block_ptr[block];
}

/* Pieces of a block follow each other, aligned as the plan says, so the start of each follows from the one before.
 * `count` is the room of the caller's array, in pieces. */
int bload_plan_pieces(const struct bload_plan *plan, int64_t block, struct bload_piece *pieces, int64_t count,
                      struct bload_error *error)
{
    const struct bl_plan *p = &plan->plan;
    struct bl_error e = {0};
    int64_t there = bload_plan_piece_count(plan, block), start = 0; /* start: step of the block */
    int code = BL_OK;
    if (there < 0)
        code = bl_error_set(&e, BL_EUSAGE, "no block %" PRId64 ": the plan has %zu", block, p->blocks);
    else if (count < there)
        code = bl_error_set(&e, BL_EUSAGE, "block %" PRId64 " has %" PRId64 " pieces, there is room for %" PRId64,
                            block, there, count);
    for (int64_t i = 0; i < there && !code; i++) {
        int64_t piece = p->block_ptr[block] + i;
        int64_t length = plan->length ? plan->length[p->sequence[piece]] : p->length[piece];
        pieces[i] = (struct bload_piece){.sequence = p->sequence[piece],
                                         .source_start = p->source_start ? p->source_start[piece] : 0,
                                         .start = (int32_t)start,
                                         .length = (int32_t)length};
        start = bl_plan_next_start(p, start, length);
    }
    return bl_error_export(code, &e, error);
}

/* Lengths are read in random order where the plan does not store those of the pieces, so they are prefetched. */
void bload_plan_copy(const struct bload_plan *plan, int64_t *block_ptr, int64_t *sequence, int32_t *start,
                     int32_t *length, int64_t *source_start)
{
    enum { AHEAD = 32 }; /* pieces */
    const struct bl_plan *p = &plan->plan;
    for (size_t b = 0; b < p->blocks; b++) {
        int64_t at = 0; /* step of the block */
        for (int64_t i = p->block_ptr[b]; i < p->block_ptr[b + 1]; i++) {
            if (plan->length && (size_t)i + AHEAD < p->pieces)
                __builtin_prefetch(&plan->length[p->sequence[i + AHEAD]]);
            int64_t steps = plan->length ? plan->length[p->sequence[i]] : p->length[i];
            if (sequence)
                sequence[i] = p->sequence[i];
            if (start)
                start[i] = (int32_t)at;
            if (length)
                length[i] = (int32_t)steps;
            if (source_start)
                source_start[i] = p->source_start ? p->source_start[i] : 0;
            at = bl_plan_next_start(p, at, steps);
        }
    }
    if (block_ptr)
        memcpy(block_ptr, p->block_ptr, (p->blocks + 1) * sizeof *block_ptr);
}
