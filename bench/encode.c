/* Reads every block of a dataset's first field through the library, some times over, and prints frames per second of
 * the processor, of the fastest time.
 *
 *     encode DATASET [TIMES] */
#include <bload.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int read_all(struct bload_dataset *dataset, int64_t blocks, void *out, size_t size, struct bload_error *error)
{
    for (int64_t b = 0; b < blocks; b++) {
        if (bload_dataset_read_block(dataset, b, 0, out, size, error) != BLOAD_OK)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct bload_dataset *dataset = NULL;
    struct bload_error error = {0};
    int times = argc > 2 ? atoi(argv[2]) : 5;
    if (argc < 2 || bload_dataset_open(argv[1], &dataset, &error) != BLOAD_OK) {
        fprintf(stderr, "encode: %s\n", argc < 2 ? "which dataset?" : error.text);
        return 1;
    }
    const struct bload_counts *counts = bload_dataset_counts(dataset);
    const struct bload_field *field = bload_dataset_field(dataset, 0);
    int status = 0;
    void *out = malloc(field->block_bytes);
    double best = 0;
    if (out)
        memset(out, 1, field->block_bytes); /* memory is there before it is timed */
    for (int i = 0; i < times && out && !status; i++) {
        double began = processor_seconds();
        status = read_all(dataset, counts->blocks, out, field->block_bytes, &error);
        double rate = (double)(counts->blocks * counts->T) / (processor_seconds() - began);
        best = rate > best ? rate : best;
    }
    if (status || !out)
        fprintf(stderr, "encode: %s\n", out ? error.text : "no memory");
    else
        printf("%.0f\n", best);
    free(out);
    bload_dataset_close(dataset);
    return status || !out;
}
