/* The public interface (include/bload.h), for C programs and for the readers of other languages.
 *
 * It wraps the store and the planner in names and types of its own, so that neither is part of the ABI. The types that
 * a program allocates itself have reserved members or are filled by the library, so that they can grow; all others are
 * opaque. Every function that can fail copies an internal error to the caller's, and returns its code. What each
 * function promises stands in the public header. */
#include "bload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "plan/plan.h"
#include "store/blocks.h"
#include "store/epochs.h"

/* Files hold little-endian numbers, which are read and mapped without conversion. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bload needs a little-endian machine");

/* An open dataset or view. One thread at a time may use it. */
struct bload_dataset {
    struct bl_blocks blocks;                            /* the dataset or view, in its present epoch */
    struct bl_buffer value;                             /* owns the last result of bload_dataset_value */
    char encoding[BL_FIELDS_MAX][BL_ENCODING_NAME_MAX]; /* [fields] names, to which struct bload_field points */
};

/* A plan, made here or read from a dataset. */
struct bload_plan {
    struct bl_plan plan;
    int32_t *length; /* [sequences] lengths of all sequences; NULL: the plan has the length of every piece */
};

/* Returns the version of the library that is loaded, which may be newer than the header. */
const char *bload_version(void)
{
    return BLOAD_VERSION;
}

/* Copies an internal error to the caller's, which may be NULL, and returns the code. Internal and public codes have the
 * same values. */
static int error_export(int code, const struct bl_error *e, struct bload_error *error)
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

/* The encodings' names are made here, since struct bload_field points to them as long as the dataset is open. */
int bload_dataset_open(const char *directory, struct bload_dataset **out, struct bload_error *error)
{
    struct bl_error e = {0};
    *out = NULL;
    struct bload_dataset *dataset = calloc(1, sizeof *dataset);
    int code = dataset ? bl_blocks_open(&dataset->blocks, directory, &e) : bl_error_memory(&e);
    for (int f = 0; !code && f < dataset_format(dataset)->fields.count; f++)
        bl_encoding_name(&dataset_format(dataset)->encoding[f], dataset->encoding[f]);
    if (code)
        free(dataset);
    else
        *out = dataset;
    return error_export(code, &e, error);
}

/* Mappings stay valid, since each has its own address range. */
void bload_dataset_close(struct bload_dataset *dataset)
{
    if (!dataset)
        return;
    bl_blocks_close(&dataset->blocks);
    bl_buffer_free(&dataset->value);
    free(dataset);
}

/* --- epochs and counts -------------------------------------------------------------------------------------------- */

/* Counts the stored plan as epoch 0. */
int64_t bload_dataset_epoch_count(const struct bload_dataset *dataset)
{
    return bl_epochs_count(bl_blocks_manifest(&dataset->blocks)) + 1;
}

/* Blocks of another epoch are composed of pieces of the stored blocks. Only this call changes an open dataset, except
 * for its scratch memory. BL_EUSAGE: the dataset has no plan for the epoch. */
int bload_dataset_set_epoch(struct bload_dataset *dataset, int64_t epoch, struct bload_error *error)
{
    struct bl_error e = {0};
    return error_export(bl_blocks_set_epoch(&dataset->blocks, epoch, &e), &e, error);
}

/* The counts are those of the stored plan. The plans of other epochs have as many blocks and pieces at most S. */
void bload_dataset_counts(const struct bload_dataset *dataset, struct bload_counts *counts)
{
    const struct bl_manifest *m = bl_blocks_manifest(&dataset->blocks);
    *counts = (struct bload_counts){
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
    };
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* Fields are numbered in the order in which they were packed; the first one decides the sequences. */
int bload_dataset_field_count(const struct bload_dataset *dataset)
{
    return dataset_format(dataset)->fields.count;
}

/* The first dimension of a block is T, and the others are those of a step. */
int bload_dataset_field(const struct bload_dataset *dataset, int f, struct bload_field *out, struct bload_error *error)
{
    const struct bl_format *format = dataset_format(dataset);
    struct bl_error e = {0};
    *out = (struct bload_field){0};
    if (f < 0 || f >= format->fields.count)
        return error_export(bl_error_set(&e, BL_EUSAGE, "no field %d: the dataset has %d", f, format->fields.count), &e,
                            error);
    const struct bl_field *field = &format->fields.field[f];
    *out = (struct bload_field){
        .name = field->name,
        .kind = field->kind,
        .dtype = bl_dtype_name(field->dtype),
        .item_bytes = bl_dtype_size(field->dtype),
        .rank = field->rank + 1,
        .shape = {format->T},
        .block_bytes = bl_format_block_bytes(format, f),
        .encoding = dataset->encoding[f],
    };
    memcpy(out->shape + 1, field->shape, (size_t)field->rank * sizeof *field->shape);
    return error_export(BL_OK, &e, error);
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
int bload_read_block(struct bload_dataset *dataset, int64_t block, int field, void *out, size_t size,
                     struct bload_error *error)
{
    const struct bl_format *format = dataset_format(dataset);
    struct bl_error e = {0};
    bool known = field >= 0 && field < format->fields.count; /* if not, the read below reports the error */
    int code = known ? size_check(size, bl_format_block_bytes(format, field), &e) : BL_OK;
    if (!code)
        code = bl_blocks_read(&dataset->blocks, block, field, out, &e);
    return error_export(code, &e, error);
}

/* Maps a block in its shard. Blocks of views and of other epochs are composed of pieces in several blocks, so that they
 * have no place in a file. */
int bload_map_block(struct bload_dataset *dataset, int64_t block, int field, struct bload_mapping *mapping,
                    struct bload_error *error)
{
    struct bl_error e = {0};
    struct bload_mapping made = {0}; /* all zero after an error, so that bload_unmap does nothing */
    int code = BL_OK;
    /* A block that is compressed or encoded has no place in a file, either: bl_dataset_map reports it. */
    if (bl_blocks_are_composed(&dataset->blocks))
        code = bl_error_set(&e, BL_EUSAGE, "blocks of views and further epochs can only be read, not mapped");
    else
        code = bl_dataset_map(&dataset->blocks.dataset, block, field, &made.data, &made.address, &made.length, &e);
    if (!code)
        made.size = bl_format_block_bytes(dataset_format(dataset), field);
    *mapping = code ? (struct bload_mapping){0} : made;
    return error_export(code, &e, error);
}

/* Mappings begin at a page, so the address to unmap may lie before the data. */
void bload_unmap(struct bload_mapping *mapping)
{
    if (mapping->address)
        munmap(mapping->address, mapping->length);
    *mapping = (struct bload_mapping){0};
}

/* The tables belong to the dataset, and are valid until the next call that reads a block's tables. */
int bload_read_tables(struct bload_dataset *dataset, int64_t block, struct bload_tables *tables,
                      struct bload_error *error)
{
    struct bl_error e = {0};
    const struct bl_block *read = NULL; /* owned by the blocks */
    int code = bl_blocks_tables(&dataset->blocks, block, &read, &e);
    *tables = (struct bload_tables){0};
    if (!code)
        *tables = (struct bload_tables){.num_sequences = read->num_sequences,
                                        .cu_seqlens = read->cu_seqlens,
                                        .sequence = read->sequence,
                                        .length = read->length,
                                        .source_start = read->source_start};
    return error_export(code, &e, error);
}

/* --- attributes and rows ------------------------------------------------------------------------------------------ */

/* The rows are those of sequences.tsv, skipped inputs included; a view has the rows of all its datasets. */
int bload_dataset_row_count(struct bload_dataset *dataset, int64_t *count, struct bload_error *error)
{
    struct bl_error e = {0};
    return error_export(bl_blocks_rows(&dataset->blocks, count, &e), &e, error);
}

/* Attributes are the numeric columns of the table that was joined when the dataset was packed. */
int bload_dataset_attribute_count(const struct bload_dataset *dataset)
{
    return dataset_format(dataset)->attributes;
}

/* The name belongs to the dataset. An index out of range is BL_EUSAGE, as for fields. */
int bload_dataset_attribute(const struct bload_dataset *dataset, int a, struct bload_attribute *out,
                            struct bload_error *error)
{
    const struct bl_format *format = dataset_format(dataset);
    struct bl_error e = {0};
    *out = (struct bload_attribute){0};
    if (a < 0 || a >= format->attributes)
        return error_export(bl_error_set(&e, BL_EUSAGE, "no attribute %d: the dataset has %d", a, format->attributes),
                            &e, error);
    *out =
        (struct bload_attribute){.name = format->attribute[a].name, .dtype = bl_dtype_name(format->attribute[a].dtype)};
    return error_export(BL_OK, &e, error);
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
int bload_read_attribute(struct bload_dataset *dataset, int64_t block, int attribute, void *out, size_t size,
                         struct bload_error *error)
{
    struct bl_error e = {0};
    int code = size_check(size, (size_t)dataset_format(dataset)->S * sizeof(int64_t), &e);
    if (!code)
        code = bl_blocks_attribute(&dataset->blocks, block, attribute, out, &e);
    return error_export(code, &e, error);
}

/* An empty value and a column that does not exist look the same in a row, so the result of the search decides. */
int bload_dataset_value(struct bload_dataset *dataset, int64_t row, const char *column, const char **text,
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
    return error_export(code, &e, error);
}

/* The texts belong to the dataset, and are valid until another row is read. */
int bload_dataset_sequence(struct bload_dataset *dataset, int64_t row, struct bload_sequence *out,
                           struct bload_error *error)
{
    struct bl_error e = {0};
    const struct bl_row *read = NULL;
    *out = (struct bload_sequence){0};
    int code = bl_blocks_row(&dataset->blocks, row, &read, &e);
    if (!code)
        *out = (struct bload_sequence){.id = read->id,
                                       .path = read->path,
                                       .kind = read->kind,
                                       .status = bl_row_status_name(read->status),
                                       .reason = read->reason,
                                       .length = read->length};
    return error_export(code, &e, error);
}

/* --- plans -------------------------------------------------------------------------------------------------------- */

/* Checks the members that the planner does not check: enums of a program that may know other values, and members that
 * only later versions have, which must be zero. BL_EUSAGE. */
static int options_check(const struct bload_plan_options *o, struct bl_error *e)
{
    static const struct bload_plan_options zero; /* a later version may give the reserved members a meaning */
    if (memcmp(o->reserved, zero.reserved, sizeof zero.reserved) != 0)
        return bl_error_set(e, BL_EUSAGE, "the options have members that version " BLOAD_VERSION " does not know");
    if ((unsigned)o->strategy > BLOAD_STRATEGY_MIX || (unsigned)o->fill > BLOAD_FILL_PAPER ||
        (unsigned)o->oversize > BLOAD_OVERSIZE_DROP || (unsigned)o->remainder > BLOAD_REMAINDER_DROP ||
        (unsigned)o->sync > BLOAD_SYNC_STEP)
        return bl_error_set(e, BL_EUSAGE, "unknown strategy, fill, oversize, remainder or sync");
    if (o->column_count < 0 || o->column_count > BLOAD_COLUMNS_MAX)
        return bl_error_set(e, BL_EUSAGE, "column_count is %d, not 0 to %d", o->column_count, BLOAD_COLUMNS_MAX);
    if (o->column_count && !o->column)
        return bl_error_set(e, BL_EUSAGE, "column_count is %d, and there is no column", o->column_count);
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
                                                [BLOAD_STRATEGY_MIX] = BL_STRATEGY_MIX};
    static const enum bl_fill fill[] = {[BLOAD_FILL_OPTIMAL] = BL_FILL_OPTIMAL, [BLOAD_FILL_PAPER] = BL_FILL_PAPER};
    static const enum bl_oversize oversize[] = {[BLOAD_OVERSIZE_ERROR] = BL_OVERSIZE_ERROR,
                                                [BLOAD_OVERSIZE_SPLIT] = BL_OVERSIZE_SPLIT,
                                                [BLOAD_OVERSIZE_TRUNCATE] = BL_OVERSIZE_TRUNCATE,
                                                [BLOAD_OVERSIZE_DROP] = BL_OVERSIZE_DROP};
    BL_TRY(options_check(from, e));
    /* The name in `cost` says that the array is given; the values are in to->column. */
    const struct bl_plan_cost cost = {from->cost_alpha, from->cost_beta, from->cost ? "cost" : NULL};
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
                                   .max_column.count = from->column_count};
    for (int c = 0; c < from->column_count; c++) {
        struct bl_plan_column *column = &to->max_column.each[c];
        *column = (struct bl_plan_column){.max = from->column[c].max, .value = from->column[c].value};
        snprintf(column->name, sizeof column->name, "column %d", c); /* for messages */
    }
    return BL_OK;
}

/* All members of the default options are zero. */
int bload_plan_make(const int64_t *length, size_t count, const struct bload_plan_options *options,
                    struct bload_plan **out, struct bload_error *error)
{
    static const struct bload_plan_options defaults;
    struct bl_error e = {0};
    struct bl_plan_options inner; /* the same options in the planner's terms */
    *out = NULL;
    struct bload_plan *plan = calloc(1, sizeof *plan);
    int code = plan ? options_translate(options ? options : &defaults, &inner, &e) : bl_error_memory(&e);
    if (!code)
        code = bl_plan_make(&plan->plan, length, count, &inner, &e);
    /* If the plan does not store the length of each piece, the lengths are copied, so that the caller may free its
     * array. The lengths of sequences longer than T may be truncated to int32_t, but the plan does not contain them. */
    if (!code && !plan->plan.length && !(plan->length = malloc(count * sizeof *plan->length)))
        code = bl_error_memory(&e);
    for (size_t i = 0; i < count && !code && plan->length; i++)
        plan->length[i] = (int32_t)length[i];
    if (code)
        bload_plan_free(plan);
    else
        *out = plan;
    return error_export(code, &e, error);
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
        return error_export(code, &e, error);
    }
    code = dataset_check_plan(dataset, plan, &e);
    if (code) {
        bload_plan_free(plan);
        return error_export(code, &e, error);
    }
    /* The index has pieces only: the counts of sequences that the plan drops or cuts are in the manifest. */
    plan->plan.sequences = m->plan_info.sequences;
    plan->plan.steps = m->plan_info.steps;
    plan->plan.longest = m->plan_info.longest;
    plan->plan.padding = m->plan_info.padding;
    plan->plan.deleted = m->plan_info.deleted;
    plan->plan.overlap = m->plan_info.overlap;
    plan->plan.repeated = m->plan_info.repeated;
    plan->plan.cut = m->plan_info.cut;
    plan->plan.lower_bound = m->plan_info.lower_bound;
    plan->plan.max_sequences = m->format.S;
    plan->plan.balance = m->plan_info.balance;
    *out = plan;
    return error_export(BL_OK, &e, error);
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

/* The same counts as of a dataset, by which a program can compare a plan with a packed one. */
void bload_plan_counts(const struct bload_plan *plan, struct bload_counts *counts)
{
    const struct bl_plan *p = &plan->plan;
    *counts = (struct bload_counts){
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
    };
}

/* The measured costs of waiting; all zero for a plan that was not balanced. */
void bload_plan_balance(const struct bload_plan *plan, struct bload_balance *balance)
{
    const struct bl_plan_balance *b = &plan->plan.balance;
    *balance = (struct bload_balance){.lost = b->lost,
                                      .lost_before = b->lost_before,
                                      .bound = b->bound,
                                      .highest = b->highest,
                                      .ks = b->apart,
                                      .ks_random = b->apart_drawn,
                                      .neighbours = b->neighbours};
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
    return error_export(code, &e, error);
}
