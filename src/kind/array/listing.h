/* The names of the arrays in files that hold several: .h5, .hdf5 and .mat, and .safetensors where --array is a pattern.
 */
#ifndef BL_ARRAY_LISTING_H
#define BL_ARRAY_LISTING_H

#include <stddef.h>

#include "base/cancel.h"
#include "base/error.h"
#include "kind/kind.h"

/* bl_kind_scan.expand of arrays. member: --array, or NULL; *decodes: set where a file is HDF5. HDF5 files are read in a
 * process of their own, which can open no files. A file that cannot be listed has no names: counting says why. */
int bl_array_list(const char *member, const char *const *path, size_t count, const struct bl_cancel *cancel,
                  bl_expand_take *take, void *sink, bool *decodes, struct bl_error *e);

#endif
