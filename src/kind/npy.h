/* The header of NPY files, versions 1 to 3 (numpy/lib/format.py): six bytes of magic, two of version, the length of
 * what follows, and a dictionary of three entries in Python's syntax. */
#ifndef BL_NPY_H
#define BL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/field.h"

#define BL_NPY_RANK_MAX 64 /* what numpy itself allows */
#define BL_NPY_MAGIC "\x93NUMPY"
#define BL_NPY_MAGIC_SIZE 6

struct bl_npy {
    enum bl_dtype dtype;
    bool big_endian; /* never of single bytes */
    bool fortran;    /* the first axis lies closest, not the last */
    int rank;        /* 0: a single number */
    int64_t shape[BL_NPY_RANK_MAX];
    int64_t bytes; /* of all elements: an int64_t, whatever the shape says */
    int64_t begin; /* of the elements, in bytes from the magic on */
};

/* Puts exactly size bytes, those that come next, into data; BL_EDATA where there are not so many. */
typedef int bl_npy_source(void *context, void *data, size_t size, struct bl_error *e);

/* Reads a header from its first byte on, and nothing behind it. BL_EDATA: no NPY, elements that are no real numbers
 * (objects, which would have to be unpickled, structures, complex numbers, texts, times), or a shape that cannot be. */
int bl_npy_read(struct bl_npy *npy, bl_npy_source *source, void *context, struct bl_error *e);

#endif
