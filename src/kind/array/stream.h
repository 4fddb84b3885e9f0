/* The bytes of an array in its file: an NPY file, which is read at any place, or a member of an NPZ archive, which if
 * it is deflated is read in order. */
#ifndef BL_ARRAY_STREAM_H
#define BL_ARRAY_STREAM_H

#include "kind/array/npz.h"
#include "kind/npy.h"

/* A copy of a deflated array, inflated (inflated.h). */
struct bl_array_copy {
    int fd;        /* the file of all copies */
    int64_t begin; /* offset of the first element in that file */
    int64_t bytes; /* of the elements that could be inflated: all, or those before the first damage */
    bool sound;    /* all were, and the checksum of the archive's member is right */
};

struct bl_array_stream {
    const char *path, *member; /* the caller's */
    const struct bl_cancel *cancel;
    int fd;
    int64_t bytes;      /* of the file */
    struct bl_npz *npz; /* or NULL: an NPY file */
    struct bl_npy npy;
    int64_t position; /* of the next byte, from the NPY's magic on */
    bool in_order;    /* an archive's array was read from its first byte to there */
    int64_t trailing; /* bytes that follow the array, and are no part of it */

    const struct bl_array_copy *copy; /* the caller's, of a deflated one; or NULL: it is read as it is */
};

/* Opens the file, which must have so many bytes (-1: any), and reads the array's header. member: as in bl_npz_open.
 * BL_EDATA: no array that can be used, or a header that promises more than there is; BL_EFAIL: a failing system, or a
 * file that changed since the scan. After a failure there is nothing to close. */
int bl_array_stream_open(struct bl_array_stream *s, const char *path, int64_t bytes, const char *member,
                         const struct bl_cancel *cancel, struct bl_error *e);
void bl_array_stream_close(struct bl_array_stream *s);

/* Reads exactly size bytes at offset, from the first element on. A deflated array is gone through to there, from
 * its beginning again where that lies behind; what its copy has is read from that. */
int bl_array_stream_read(struct bl_array_stream *s, void *data, size_t size, int64_t offset, struct bl_error *e);

/* Whether it can only be gone through in order. */
bool bl_array_stream_is_deflated(const struct bl_array_stream *s);

/* Goes to the beginning of an archive's array again, also after it was found damaged. */
int bl_array_stream_rewind(struct bl_array_stream *s, struct bl_error *e);

/* To be asked once of an array: whether the archive's checksum is right. What was not read for that is read now. */
int bl_array_stream_verify(struct bl_array_stream *s, struct bl_error *e);

#endif
