/* An array of an HDF5 file, or of a MATLAB file of version 7.3, which is one. */
#ifndef BL_HDF5_H
#define BL_HDF5_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/input_file.h"
#include "kind/array/tensors.h"
#include "kind/npy.h"

struct bl_hdf5;

/* Returns whether the first bytes are those of an HDF5 file. MATLAB writes 512 bytes of its own before them. */
bool bl_hdf5_is(const uint8_t *head, size_t size);

/* Whether a file of this name is HDF5 by its extension. */
bool bl_hdf5_has_name(const char *path);

/* Opens the file in input, which stays the caller's, and the dataset of that name; NULL: the only one; a name with * ?
 * or [ may be a pattern that matches one. Sets *npy as the header of an NPY file would; the first element is at offset
 * 0. MATLAB's axes come in MATLAB's order. path: for messages. The caller closes *file, after success only.
 *
 * BL_EDATA: damaged; no such dataset; elements that are no real numbers; a filter that the library lacks; elements in
 * other files. BL_EFAIL: the system fails, or HDF5's library is missing. BL_ECANCEL. */
int bl_hdf5_open(struct bl_hdf5 **file, const struct bl_input_file *input, int64_t bytes, const char *path,
                 const char *name, const struct bl_cancel *cancel, struct bl_npy *npy, struct bl_error *e);
void bl_hdf5_close(struct bl_hdf5 *file);

/* Returns the bytes of memory that reading takes: those of the chunks that are held. */
int64_t bl_hdf5_memory(const struct bl_hdf5 *file);

/* Reads exactly size bytes, whole elements, at an offset from the first element, in the order of the file. */
int bl_hdf5_read(struct bl_hdf5 *file, void *data, size_t size, int64_t offset, struct bl_error *e);

/* Passes the name of each dataset to take, in order, groups and all: "v_abc/c3d". Errors as above, and those of take.
 */
int bl_hdf5_list(const struct bl_input_file *input, int64_t bytes, const char *path, const struct bl_cancel *cancel,
                 bl_array_take *take, void *sink, struct bl_error *e);

/* Loads HDF5's library, in a process that will not be able to open files. BL_EUSAGE: it is not there, or has another
 * version, and the message says what to install. */
int bl_hdf5_prepare(struct bl_error *e);

/* Appends the version and the name of HDF5's library. BL_EUSAGE: as above. */
int bl_hdf5_append_version(struct bl_buffer *out, struct bl_error *e);

#endif
