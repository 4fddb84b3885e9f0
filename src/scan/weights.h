/* Weights of files: what each is expected to take of a scan, by which it is told how far the scan is. A file weighs its
 * bytes, and something for being opened; those of which the bytes are not known beforehand weigh the same. */
#ifndef BL_WEIGHTS_H
#define BL_WEIGHTS_H

#include <stdatomic.h>

#include "scan/files.h"

struct bl_weights {
    int64_t files;     /* of the scan */
    double expected;   /* sum of all, by a sample of their sizes; 0: all weigh the same */
    atomic_llong sum;  /* of those that were begun, */
    atomic_llong seen; /* and their number */
};

/* Looks at the sizes of files number first, first + every, ..., of all of them, or of a sample if that takes long. */
void bl_weights_init(struct bl_weights *weights, const struct bl_files *files, const struct bl_kind *kind,
                     const char *base, int64_t first, int64_t every);

/* The weight of a part of a file, or of a whole one: opens counts whether it is the first. */
int64_t bl_weights_of(const struct bl_weights *weights, int64_t bytes, int64_t opens);

/* Counts files with this weight as begun. Callable by many threads. */
void bl_weights_begin(struct bl_weights *weights, int64_t weight, int64_t files);

/* Thousandths of files that the finished weight stands for: 1000 times their number once all are finished. */
int64_t bl_weights_parts(const struct bl_weights *weights, int64_t finished);

#endif
