/* Opens a dataset, reads one block of a field, and prints where its sequences lie.
 *
 *     cc example.c -o example $(pkg-config --cflags --libs bload)
 *     ./example DATASET [BLOCK [FIELD]] */
#include <bload.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const struct bload_error *error)
{
    fprintf(stderr, "example: %s\n", error->text);
    return 1;
}

/* Prints a line for each sequence of a block: its steps in the block, and its row in sequences.tsv. */
static int print_boundaries(struct bload_dataset *dataset, int64_t block, struct bload_error *error)
{
    const struct bload_tables *tables;
    if (bload_dataset_read_tables(dataset, block, &tables, error) != BLOAD_OK)
        return fail(error);
    for (int32_t i = 0; i < tables->num_sequences; i++) {
        int64_t sequence = tables->sequence[i];
        printf("  steps %" PRId32 " to %" PRId32 ": ", tables->cu_seqlens[i], tables->cu_seqlens[i + 1] - 1);
        if (sequence < 0)
            printf("a sequence that failed while packing\n");
        else
            printf("sequence %" PRId64 ", from its step %" PRId64 " on\n", sequence, tables->source_start[i]);
    }
    printf("  padding from step %" PRId32 "\n", tables->cu_seqlens[tables->num_sequences]);
    return 0;
}

/* Reads a block and adds up its bytes, where another program would use them. */
static int print_sum(struct bload_dataset *dataset, int64_t block, int number, const struct bload_field *field,
                     struct bload_error *error)
{
    uint64_t sum = 0;
    unsigned char *data = malloc(field->block_bytes);
    if (!data) {
        fprintf(stderr, "example: out of memory\n");
        return 1;
    }
    int status =
        bload_dataset_read_block(dataset, block, number, data, field->block_bytes, error) == BLOAD_OK ? 0 : fail(error);
    for (size_t i = 0; !status && i < field->block_bytes; i++)
        sum += data[i];
    free(data);
    if (!status)
        printf("%zu bytes that add up to %" PRIu64 "\n", field->block_bytes, sum);
    return status;
}

static int print_block(struct bload_dataset *dataset, int64_t block, const char *name, struct bload_error *error)
{
    int number = name ? bload_dataset_find_field(dataset, name) : 0;
    if (number < 0) {
        fprintf(stderr, "example: there is no field \"%s\"\n", name);
        return 1;
    }
    const struct bload_field *field = bload_dataset_field(dataset, number);
    printf("block %" PRId64 " of %s: %s [", block, field->name, field->dtype);
    for (int i = 0; i < field->rank; i++)
        printf("%s%" PRId64, i ? ", " : "", field->shape[i]);
    printf("]\n");
    int status = print_sum(dataset, block, number, field, error);
    return status ? status : print_boundaries(dataset, block, error);
}

int main(int argc, char **argv)
{
    struct bload_dataset *dataset;
    struct bload_error error;
    if (argc < 2 || argc > 4) {
        fprintf(stderr, "usage: example DATASET [BLOCK [FIELD]]\n");
        return 2;
    }
    if (bload_dataset_open(argv[1], &dataset, &error) != BLOAD_OK)
        return fail(&error);
    const struct bload_counts *counts = bload_dataset_counts(dataset);
    printf("%" PRId64 " sequences in %" PRId64 " blocks of %" PRId64 " steps, %.2f %% of them used\n",
           counts->sequences, counts->blocks, counts->T, 100 * counts->efficiency);
    int status = print_block(dataset, argc > 2 ? strtoll(argv[2], NULL, 10) : 0, argc > 3 ? argv[3] : NULL, &error);
    bload_dataset_close(dataset);
    return status;
}
