/* One array of an NPZ archive: a ZIP file (ZIP64 too) whose members are NPY files, stored or deflated. Deflated ones
 * are read in order, so that memory is bounded whatever the archive claims; stored ones at any place. */
#ifndef BL_NPZ_H
#define BL_NPZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/input_file.h"

struct bl_npz;

/* Opens the archive in input, which stays the caller's, and finds the array of that name; NULL: the only one. path: for
 * messages. BL_EDATA: no archive, no such array, or one of an impossible size; BL_EFAIL: it cannot be read, or ends
 * before `bytes`; BL_ECANCEL. */
int bl_npz_open(struct bl_npz **npz, const struct bl_input_file *input, int64_t bytes, const char *path,
                const char *name, const struct bl_cancel *cancel, struct bl_error *e);
void bl_npz_close(struct bl_npz *npz);

/* Bytes of the NPY file, by the archive's directory. */
int64_t bl_npz_bytes(const struct bl_npz *npz);

/* Whether it is stored, not deflated. */
bool bl_npz_is_stored(const struct bl_npz *npz);

/* Goes to a byte of a stored one. Its checksum is not verified from then on. */
int bl_npz_seek(struct bl_npz *npz, int64_t offset, struct bl_error *e);

/* Reads the next bytes, up to size. *got is less only at the end, and then the checksum is right. BL_EDATA: damaged. */
int bl_npz_read(struct bl_npz *npz, void *data, size_t size, size_t *got, struct bl_error *e);

#endif
