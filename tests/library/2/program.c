/* A program that prints all that the interface of SONAME 2 says: every function, every struct, every member. */
#include <bload.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct bload_error error;

static void need(int code, const char *what)
{
    if (code == BLOAD_OK)
        return;
    printf("%s: %d %s\n", what, error.code, error.text);
    exit(1);
}

static void print_counts(const struct bload_counts *c)
{
    printf("T %" PRId64 " S %" PRId64 " blocks %" PRId64 " pieces %" PRId64 " sequences %" PRId64 " steps %" PRId64
           " longest %" PRId64 " padding %" PRId64 " deleted %" PRId64 " cut %" PRId64 " bound %" PRId64 " %.6f"
           " overlap %" PRId64 " repeated %" PRId64 "\n",
           c->T, c->S, c->blocks, c->pieces, c->sequences, c->steps, c->longest, c->padding, c->deleted, c->cut,
           c->lower_bound, c->efficiency, c->overlap, c->repeated);
}

static void print_pieces(const struct bload_plan *plan, int64_t blocks)
{
    struct bload_piece piece[64];
    for (int64_t b = 0; b < blocks; b++) {
        need(bload_plan_pieces(plan, b, piece, 64, &error), "pieces");
        for (int64_t i = 0; i < bload_plan_piece_count(plan, b); i++)
            printf("piece %" PRId64 " %" PRId64 " %" PRId32 " %" PRId32 "\n", piece[i].sequence, piece[i].source_start,
                   piece[i].start, piece[i].length);
    }
}

static void print_field(struct bload_dataset *dataset, int f)
{
    const struct bload_field *field = bload_dataset_field(dataset, f);
    const void *data;
    printf("field %s %s %s %zu %d", field->name, field->kind, field->dtype, field->item_bytes, field->rank);
    for (int i = 0; i < field->rank; i++)
        printf(" %" PRId64, field->shape[i]);
    printf(" %zu %s %d\n", field->block_bytes, field->encoding, bload_dataset_find_field(dataset, field->name));
    void *out = malloc(field->block_bytes);
    if (!out)
        exit(1);
    need(bload_dataset_read_block(dataset, 0, f, out, field->block_bytes, &error), "block");
    need(bload_dataset_map_block(dataset, 0, f, &data, &error), "mapping");
    printf("the same: %d\n", !memcmp(data, out, field->block_bytes));
    free(out);
}

static void print_attribute(struct bload_dataset *dataset, int a, int64_t S)
{
    const struct bload_attribute *attribute = bload_dataset_attribute(dataset, a);
    int64_t *value = calloc((size_t)S, sizeof *value);
    if (!value)
        exit(1);
    need(bload_dataset_read_attribute(dataset, 0, a, value, (size_t)S * sizeof *value, &error), "values");
    printf("attribute %s %s %d %" PRId64 "\n", attribute->name, attribute->dtype,
           bload_dataset_find_attribute(dataset, attribute->name), value[0]);
    free(value);
}

static void print_rows(struct bload_dataset *dataset)
{
    int64_t rows;
    const struct bload_row *row;
    const char *text;
    need(bload_dataset_row_count(dataset, &rows, &error), "rows");
    for (int64_t i = 0; i < rows; i++) {
        need(bload_dataset_read_row(dataset, i, &row, &error), "row");
        printf("row %s %s %s %s \"%s\" %" PRId64, row->id, row->path, row->kind, row->status, row->reason, row->length);
        need(bload_dataset_read_column(dataset, i, "score", &text, &error), "value");
        printf(" %s\n", text);
    }
}

static void print_dataset(const char *directory)
{
    struct bload_dataset *dataset;
    struct bload_plan *plan;
    const struct bload_tables *tables;
    need(bload_dataset_open(directory, &dataset, &error), "open");
    need(bload_dataset_set_epoch(dataset, bload_dataset_epoch_count(dataset) - 1, &error), "epoch");
    const struct bload_counts *counts = bload_dataset_counts(dataset);
    print_counts(counts);
    for (int f = 0; f < bload_dataset_field_count(dataset); f++)
        print_field(dataset, f);
    need(bload_dataset_read_tables(dataset, 0, &tables, &error), "tables");
    for (int32_t i = 0; i < tables->num_sequences; i++)
        printf("slot %" PRId32 " %" PRId64 " %" PRId32 " %" PRId64 "\n", tables->cu_seqlens[i], tables->sequence[i],
               tables->length[i], tables->source_start[i]);
    for (int a = 0; a < bload_dataset_attribute_count(dataset); a++)
        print_attribute(dataset, a, counts->S);
    print_rows(dataset);
    need(bload_dataset_plan(dataset, &plan, &error), "plan");
    print_pieces(plan, counts->blocks);
    bload_plan_free(plan);
    bload_dataset_close(dataset);
}

/* Plans with every option set to something that shows. */
static void print_plan(void)
{
    static const int64_t length[] = {9, 5, 3, 8, 2, 6, 7, 1, 4, 30};
    static const uint32_t group[] = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
    static const double weight[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, cost[] = {9, 5, 3, 8, 2, 6, 7, 1, 4, 9};
    const struct bload_max_column column = {4, weight};
    struct bload_plan_options options = {.size = sizeof options,
                                         .strategy = BLOAD_STRATEGY_BLOCK,
                                         .fill = BLOAD_FILL_OPTIMAL,
                                         .oversize = BLOAD_OVERSIZE_TRUNCATE,
                                         .T = 12,
                                         .seed = 5,
                                         .effort = 1,
                                         .align = 2,
                                         .max_sequences = 3,
                                         .min_length = 2,
                                         .max_length = 40,
                                         .spare = 0.01,
                                         .world_size = 2,
                                         .batch_size = 1,
                                         .remainder = BLOAD_REMAINDER_PAD,
                                         .balance = 1,
                                         .group = group,
                                         .cost = cost,
                                         .accumulate = 1,
                                         .sync = BLOAD_SYNC_STEP,
                                         .max_columns = 1,
                                         .max_column = &column};
    struct bload_plan *plan;
    need(bload_plan_make(length, 10, &options, &plan, &error), "plan");
    print_counts(bload_plan_counts(plan));
    print_pieces(plan, bload_plan_counts(plan)->blocks);
    const struct bload_imbalance *b = bload_plan_imbalance(plan);
    printf("imbalance %.6f %.6f %.6f %.6f %.6f %.6f %.6f\n", b->imbalance, b->imbalance_before, b->imbalance_bound,
           b->highest_block_cost, b->ks_distance, b->ks_distance_random, b->cost_correlation);
    bload_plan_free(plan);
    options = (struct bload_plan_options){
        .size = sizeof options, .strategy = BLOAD_STRATEGY_SAMPLE, .clip = 4, .all_clips = 1};
    need(bload_plan_make(length, 10, &options, &plan, &error), "clips");
    print_counts(bload_plan_counts(plan));
    bload_plan_free(plan);
    options = (struct bload_plan_options){
        .size = sizeof options, .T = 8, .oversize = BLOAD_OVERSIZE_SPLIT, .overlap = 2, .keep_order = 1};
    need(bload_plan_make(length, 10, &options, &plan, &error), "pieces");
    print_counts(bload_plan_counts(plan));
    print_pieces(plan, bload_plan_counts(plan)->blocks);
    bload_plan_free(plan);
}

int main(int argc, char **argv)
{
    if (argc != 2 || !*bload_version())
        return 2;
    print_plan();
    print_dataset(argv[1]);
    return 0;
}
