/* A program that prints all that version 1 of the interface tells: every function, every struct, every member. Each
 * struct that the library fills has a guard behind it, which a larger struct would overwrite. */
#include <bload.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 0x5a5a5a5a5a5a5a5a

/* A struct and its guard. */
#define GUARDED(type)                                                                                                  \
    struct {                                                                                                           \
        struct type it;                                                                                                \
        uint64_t guard;                                                                                                \
    }

static struct bload_error error;

static void need(int code, const char *what)
{
    if (code == BLOAD_OK)
        return;
    printf("%s: %d %s\n", what, error.code, error.text);
    exit(1);
}

static void need_guard(uint64_t guard, const char *what)
{
    if (guard == GUARD)
        return;
    printf("struct %s has grown\n", what);
    exit(1);
}

static void print_counts(const struct bload_counts *c)
{
    printf("T %" PRId64 " S %" PRId64 " blocks %" PRId64 " pieces %" PRId64 " sequences %" PRId64 " steps %" PRId64
           " longest %" PRId64 " padding %" PRId64 " deleted %" PRId64 " cut %" PRId64 " bound %" PRId64 " %.6f\n",
           c->T, c->S, c->blocks, c->pieces, c->sequences, c->steps, c->longest, c->padding, c->deleted, c->cut,
           c->lower_bound, c->efficiency);
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
    GUARDED(bload_field) field = {.guard = GUARD};
    struct bload_mapping mapping;
    need(bload_dataset_field(dataset, f, &field.it, &error), "field");
    need_guard(field.guard, "bload_field");
    printf("field %s %s %s %zu %d", field.it.name, field.it.kind, field.it.dtype, field.it.item_bytes, field.it.rank);
    for (int i = 0; i < field.it.rank; i++)
        printf(" %" PRId64, field.it.shape[i]);
    printf(" %zu %s %d\n", field.it.block_bytes, field.it.encoding, bload_dataset_find_field(dataset, field.it.name));
    void *out = malloc(field.it.block_bytes);
    if (!out)
        exit(1);
    need(bload_read_block(dataset, 0, f, out, field.it.block_bytes, &error), "block");
    need(bload_map_block(dataset, 0, f, &mapping, &error), "mapping");
    printf("the same: %d\n", mapping.size == field.it.block_bytes && !memcmp(mapping.data, out, mapping.size));
    bload_unmap(&mapping);
    free(out);
}

static void print_attribute(struct bload_dataset *dataset, int a, int64_t S)
{
    GUARDED(bload_attribute) attribute = {.guard = GUARD};
    need(bload_dataset_attribute(dataset, a, &attribute.it, &error), "attribute");
    need_guard(attribute.guard, "bload_attribute");
    int64_t *value = calloc((size_t)S, sizeof *value);
    if (!value)
        exit(1);
    need(bload_read_attribute(dataset, 0, a, value, (size_t)S * sizeof *value, &error), "values");
    printf("attribute %s %s %d %" PRId64 "\n", attribute.it.name, attribute.it.dtype,
           bload_dataset_find_attribute(dataset, attribute.it.name), value[0]);
    free(value);
}

static void print_rows(struct bload_dataset *dataset)
{
    int64_t rows;
    const char *text;
    need(bload_dataset_row_count(dataset, &rows, &error), "rows");
    for (int64_t i = 0; i < rows; i++) {
        GUARDED(bload_sequence) row = {.guard = GUARD};
        need(bload_dataset_sequence(dataset, i, &row.it, &error), "row");
        need_guard(row.guard, "bload_sequence");
        printf("row %s %s %s %s \"%s\" %" PRId64, row.it.id, row.it.path, row.it.kind, row.it.status, row.it.reason,
               row.it.length);
        need(bload_dataset_value(dataset, i, "score", &text, &error), "value");
        printf(" %s\n", text);
    }
}

static void print_dataset(const char *directory)
{
    struct bload_dataset *dataset;
    struct bload_plan *plan;
    GUARDED(bload_counts) counts = {.guard = GUARD};
    GUARDED(bload_tables) tables = {.guard = GUARD};
    need(bload_dataset_open(directory, &dataset, &error), "open");
    bload_dataset_counts(dataset, &counts.it);
    need_guard(counts.guard, "bload_counts");
    print_counts(&counts.it);
    for (int f = 0; f < bload_dataset_field_count(dataset); f++)
        print_field(dataset, f);
    need(bload_read_tables(dataset, 0, &tables.it, &error), "tables");
    need_guard(tables.guard, "bload_tables");
    for (int32_t i = 0; i < tables.it.num_sequences; i++)
        printf("place %" PRId32 " %" PRId64 " %" PRId32 " %" PRId64 "\n", tables.it.cu_seqlens[i],
               tables.it.sequence[i], tables.it.length[i], tables.it.source_start[i]);
    for (int a = 0; a < bload_dataset_attribute_count(dataset); a++)
        print_attribute(dataset, a, counts.it.S);
    print_rows(dataset);
    need(bload_dataset_plan(dataset, &plan, &error), "plan");
    print_pieces(plan, counts.it.blocks);
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
    struct bload_plan_options options = {.strategy = BLOAD_STRATEGY_BLOCK,
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
                                         .column_count = 1,
                                         .column = &column};
    struct bload_plan *plan;
    struct bload_counts counts;
    GUARDED(bload_balance) balance = {.guard = GUARD};
    need(bload_plan_make(length, 10, &options, &plan, &error), "plan");
    bload_plan_counts(plan, &counts);
    print_counts(&counts);
    print_pieces(plan, counts.blocks);
    bload_plan_balance(plan, &balance.it);
    need_guard(balance.guard, "bload_balance");
    printf("balance %.6f %.6f %.6f %.6f %.6f %.6f %.6f\n", balance.it.lost, balance.it.lost_before, balance.it.bound,
           balance.it.highest, balance.it.ks, balance.it.ks_random, balance.it.neighbours);
    bload_plan_free(plan);
    options = (struct bload_plan_options){.strategy = BLOAD_STRATEGY_SAMPLE, .clip = 4, .all_clips = 1};
    need(bload_plan_make(length, 10, &options, &plan, &error), "clips");
    bload_plan_counts(plan, &counts);
    print_counts(&counts);
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
