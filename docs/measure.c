/* Measures how fast a dataset is read. Threads get all blocks in three ways: by bload_dataset_read_block, by memcpy
 * from what bload_dataset_map_block gives, and, to compare with, as many bytes by memcpy from other memory.
 *
 *     cc -O2 measure.c -o measure -pthread $(pkg-config --cflags --libs bload)
 *     ./measure DATASET [THREADS [ROUNDS]]
 *
 * Thread t of n takes the blocks t, t + n, t + 2n, ..., as a rank of a training job would, and has the dataset open for
 * itself. The memory that is copied is larger than caches, as the page cache is. The first round fills the page cache
 * and is not counted; of the others the fastest counts. */
#include <bload.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS_MAX 256
#define SOURCE_BYTES ((size_t)256 << 20) /* from which all threads together copy */

enum way { READ, MAP, COPY, WAYS };

static const char *const way_name[] = {"bload_dataset_read_block", "bload_dataset_map_block", "memcpy"};

struct reader {
    struct bload_dataset *dataset;
    int64_t first, stride; /* its blocks */
    char *block;           /* room for the largest block of a field */
    char *source;          /* [source_size] what COPY copies to block; at least as large as block */
    size_t source_size, at;
    enum way way;
    struct bload_error error;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Gets one block of a field in r->block. */
static int reader_get(struct reader *r, int64_t block, int field)
{
    size_t size = bload_dataset_field(r->dataset, field)->block_bytes;
    const void *data;
    if (r->way == READ)
        return bload_dataset_read_block(r->dataset, block, field, r->block, size, &r->error);
    if (r->way == MAP) {
        if (bload_dataset_map_block(r->dataset, block, field, &data, &r->error) != BLOAD_OK)
            return r->error.code;
    } else {
        r->at = r->at + size <= r->source_size ? r->at : 0;
        data = r->source + r->at;
        r->at += size;
    }
    memcpy(r->block, data, size);
    return BLOAD_OK;
}

static void *reader_run(void *context)
{
    struct reader *r = context;
    int64_t blocks = bload_dataset_counts(r->dataset)->blocks;
    for (int64_t b = r->first; b < blocks; b += r->stride) {
        for (int f = 0; f < bload_dataset_field_count(r->dataset); f++) {
            if (reader_get(r, b, f) != BLOAD_OK)
                return NULL;
        }
    }
    return NULL;
}

/* Opens the dataset and allocates memory, all of which is written to, so that no page is missing when it is timed. */
static int reader_open(struct reader *r, const char *directory)
{
    size_t largest = 0;
    if (bload_dataset_open(directory, &r->dataset, &r->error) != BLOAD_OK)
        return -1;
    for (int f = 0; f < bload_dataset_field_count(r->dataset); f++) {
        size_t size = bload_dataset_field(r->dataset, f)->block_bytes;
        largest = size > largest ? size : largest;
    }
    r->source_size = SOURCE_BYTES / (size_t)r->stride;
    r->source_size = largest > r->source_size ? largest : r->source_size;
    r->block = malloc(largest);
    r->source = malloc(r->source_size);
    if (!r->block || !r->source) {
        snprintf(r->error.text, sizeof r->error.text, "out of memory");
        return -1;
    }
    memset(r->block, 1, largest);
    memset(r->source, 1, r->source_size);
    return 0;
}

static void reader_close(struct reader *r)
{
    free(r->block);
    free(r->source);
    bload_dataset_close(r->dataset);
}

/* Runs all threads once. Returns the seconds that they took, or -1 if one failed, with the reason in reader->error. */
static double run(struct reader *reader, int threads, enum way way)
{
    pthread_t thread[THREADS_MAX];
    int started = 0;
    double begun = seconds();
    for (; started < threads; started++) {
        reader[started].way = way;
        if (pthread_create(&thread[started], NULL, reader_run, &reader[started]) != 0)
            break;
    }
    for (int t = 0; t < started; t++)
        pthread_join(thread[t], NULL);
    double took = seconds() - begun;
    if (started < threads)
        snprintf(reader->error.text, sizeof reader->error.text, "cannot start a thread");
    for (int t = 0; t < started; t++) {
        if (reader[t].error.code == BLOAD_OK)
            continue;
        reader->error = reader[t].error;
        reader[t].error.code = BLOAD_OK; /* another way may do */
        return -1;
    }
    return started == threads ? took : -1;
}

/* Prints the rate of each way, and its share of that of memcpy. Compressed and encoded blocks cannot be mapped. Returns
 * 0, or -1 if blocks could not be read. */
static int measure(struct reader *reader, int threads, int rounds)
{
    const struct bload_counts *counts = bload_dataset_counts(reader->dataset);
    double best[WAYS] = {0}; /* seconds; 0: it failed */
    double bytes = 0;
    for (int f = 0; f < bload_dataset_field_count(reader->dataset); f++)
        bytes += (double)bload_dataset_field(reader->dataset, f)->block_bytes * (double)counts->blocks;
    printf("%" PRId64 " blocks of %" PRId64 " steps, %.1f MB, %d threads\n", counts->blocks, counts->T, bytes / 1e6,
           threads);
    for (int i = 0; i < WAYS * (rounds + 1); i++) {
        int way = i % WAYS;
        double took = run(reader, threads, (enum way)way);
        if (took < 0 && i < WAYS)
            printf("%s: %s\n", way_name[way], reader->error.text);
        if (took >= 0 && i >= WAYS && (best[way] == 0 || took < best[way]))
            best[way] = took;
    }
    for (int way = 0; way < WAYS; way++) {
        if (best[way] > 0)
            printf("%-24s %8.2f GB/s, %.2f of memcpy\n", way_name[way], bytes / best[way] / 1e9,
                   best[COPY] / best[way]);
    }
    return best[READ] > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 4, rounds = argc > 3 ? atoi(argv[3]) : 5, opened = 0, status = 0;
    static struct reader reader[THREADS_MAX];
    if (argc < 2 || argc > 4 || threads < 1 || threads > THREADS_MAX || rounds < 1) {
        fprintf(stderr, "usage: measure DATASET [THREADS [ROUNDS]]\n");
        return 2;
    }
    for (; opened < threads && status == 0; opened++) {
        reader[opened].first = opened;
        reader[opened].stride = threads;
        status = reader_open(&reader[opened], argv[1]);
    }
    if (status)
        fprintf(stderr, "measure: %s\n", reader[opened - 1].error.text);
    else
        status = measure(reader, threads, rounds);
    for (int t = 0; t < opened; t++)
        reader_close(&reader[t]);
    return status ? 1 : 0;
}
