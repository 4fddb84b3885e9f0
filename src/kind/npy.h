/* The header of NPY files, versions 1 to 3 (numpy/lib/format.py): six bytes of magic, two of version, the length of the
 * rest, and a dictionary of three entries in Python's syntax. */
#ifndef BL_NPY_H
#define BL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/row.h"

#define BL_NPY_RANK_MAX 64 /* as in numpy */
#define BL_NPY_MAGIC "\x93NUMPY"
#define BL_NPY_MAGIC_SIZE 6

struct bl_npy {
    enum bl_dtype dtype;
    bool big_endian; /* never for single bytes */
    bool fortran;    /* the first axis is contiguous, not the last */
    int rank;        /* 0: a scalar */
    int64_t shape[BL_NPY_RANK_MAX];
    int64_t bytes; /* of all elements; fits, whatever the shape */
    int64_t begin; /* of the elements: offset from the magic */
};

/* Reads the next size bytes into data; BL_EDATA: there are fewer. */
typedef int bl_npy_source(void *context, void *data, size_t size, struct bl_error *e);

/* Reads a header, and nothing after it. BL_EDATA: not NPY, elements other than real numbers (objects, which would have
 * to be unpickled, structures, complex numbers, texts, times), or an invalid shape. */
int bl_npy_read(struct bl_npy *npy, bl_npy_source *source, void *context, struct bl_error *e);

#endif
