/* The bytes of an array in its file: an NPY file or a tensor of a safetensors file, which are read at any place, a
 * dataset of an HDF5 file, or a member of an NPZ archive, which is read in order if it is deflated.
 *
 * Archives are read by libzip, not libarchive: it reads a stored array at any offset, and survives failing
 * allocations. */
#ifndef BL_NPZ_H
#define BL_NPZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/input_file.h"
#include "kind/npy.h"

/* --- copy --------------------------------------------------------------------------------------------------------- */

/* The inflated copy of a deflated array, for pieces that are read out of order: such an array can be read only from its
 * beginning. It is in a file that holds the other copies, too (inflated.h). */

#define BL_ARRAY_COPY_UNIT ((int64_t)16 << 10)

struct bl_array_copy {
    int fd;             /* the file of all copies */
    int64_t begin;      /* offset of the first element in that file */
    int64_t bytes;      /* of the elements that could be inflated: all, or those before the first damage */
    bool sound;         /* all elements were inflated, and the checksum of the archive's member is right */
    uint64_t *checksum; /* of each BL_ARRAY_COPY_UNIT bytes; owned */
};

/* Appends size bytes to the copy: a multiple of the unit, except for the last bytes. The caller has made room for their
 * checksums. what: for messages. */
int bl_array_copy_put(struct bl_array_copy *copy, const uint8_t *data, int64_t size, const char *what,
                      struct bl_error *e);

/* --- array file --------------------------------------------------------------------------------------------------- */

struct bl_npz;
struct bl_hdf5;

/* End the reason of a file that is never read, since reading it would run what it says. */
#define BL_ARRAYS_CONVERT ": python3 -m bload.arrays converts it to .npy files"
#define BL_ARRAYS_OR_CONVERT ", or python3 -m bload.arrays converts it to .npy files"

struct bl_array_file {
    const char *path, *member; /* the caller's */
    const struct bl_cancel *cancel;
    struct bl_input_file input;
    int64_t bytes;        /* of the file */
    struct bl_npz *npz;   /* NULL: the elements lie in the file as they are */
    struct bl_hdf5 *hdf5; /* NULL: it is no HDF5 file */
    struct bl_npy npy;
    bool is_placed;   /* npy is the header of a tensor in a safetensors file */
    int64_t position; /* of the next byte, from the NPY's magic on */
    bool in_order;    /* an archive's array was read from its first byte up to there */
    int64_t trailing; /* bytes after the array */

    const struct bl_array_copy *copy; /* the caller's, of a deflated array; or NULL */
};

/* Opens the file, which must have this number of bytes (-1: any), and reads the array's header. member: the name of the
 * array in a file that may hold several, unless the path has it (bl_container_array); NULL: the only one. BL_EDATA: no
 * usable array, or a header that promises more than there is; BL_EFAIL: the system fails, or the file has changed since
 * the scan; BL_ECANCEL. After a failure there is nothing to close. */
int bl_array_file_open(struct bl_array_file *f, const char *path, int64_t bytes, const char *member,
                       const struct bl_cancel *cancel, struct bl_error *e);
void bl_array_file_close(struct bl_array_file *f);

/* Reads exactly size bytes, at an offset from the first element. Bytes that the copy has are read from the copy.
 * Otherwise a deflated array is inflated up to the offset, from its beginning if the position has passed that. */
int bl_array_file_read(struct bl_array_file *f, void *data, size_t size, int64_t offset, struct bl_error *e);

/* Returns whether the array can only be read in order. */
bool bl_array_file_is_deflated(const struct bl_array_file *f);

/* Goes back to the beginning of an archive's array, also after damage was found. */
int bl_array_file_rewind(struct bl_array_file *f, struct bl_error *e);

/* Verifies the archive's checksum of the array, for which it reads the rest of the array. Call it once, after the last
 * piece. */
int bl_array_file_verify(struct bl_array_file *f, struct bl_error *e);

#endif
