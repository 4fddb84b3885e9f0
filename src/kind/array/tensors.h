/* An array of a safetensors file: where it lies, by the header of the file. */
#ifndef BL_TENSORS_H
#define BL_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/input_file.h"
#include "kind/npy.h"

/* Returns whether a file with these first bytes and this name is a safetensors file. */
bool bl_tensors_are(const char *path, const uint8_t *head, size_t size);

/* Reads the header and finds the tensor of that name; NULL: the only one; a name with * ? or [ may be a pattern that
 * matches one. Sets *npy as the header of an NPY file would, with the offset of the tensor in the file. path: for
 * messages. BL_EDATA: no such tensor, a type that fields do not have, or a damaged header; BL_EFAIL: the system fails.
 */
int bl_tensors_find(const struct bl_input_file *input, int64_t bytes, const char *path, const char *name,
                    struct bl_npy *npy, struct bl_error *e);

/* Takes the name of an array. */
typedef int bl_array_take(void *sink, const char *name, struct bl_error *e);

/* Passes the name of each tensor to take, in the order of the header. Errors as above, and those of take. */
int bl_tensors_list(const struct bl_input_file *input, int64_t bytes, const char *path, bl_array_take *take, void *sink,
                    struct bl_error *e);

#endif
