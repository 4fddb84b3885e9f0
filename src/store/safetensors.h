/* The safetensors container: u64 n, a JSON header of n bytes, the bytes of the tensors; all little-endian.
 *
 * We pad headers with spaces so that the data begins at a multiple of 4096. The parser accepts any header that follows
 * the rules of the format (https://github.com/huggingface/safetensors, README, "Format") and rejects all others: every
 * tensor must lie in the file and have the size that follows from type and shape, without gaps or overlaps between
 * them. */
#ifndef BL_SAFETENSORS_H
#define BL_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/row.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian, and so must be the machine: tables are written as they lie in memory"
#endif

#define BL_TENSOR_NAME_MAX                                                                                             \
    (BL_FIELD_NAME_MAX + 16) /* a field's or attribute's name, with what tells its tensors apart */
#define BL_TENSOR_RANK_MAX (BL_FIELD_RANK_MAX + 2)
#define BL_SAFETENSORS_ALIGN 4096
#define BL_SAFETENSORS_HEADER_MAX INT64_C(100000000) /* limit of the released readers */
#define BL_SAFETENSORS_PREFIX 8                      /* size of n in bytes */

struct bl_tensor {
    char name[BL_TENSOR_NAME_MAX];
    enum bl_dtype dtype;
    int rank;
    int64_t shape[BL_TENSOR_RANK_MAX];
    int64_t begin, end; /* in bytes from the start of the data */
};

/* An entry of __metadata__. */
struct bl_metadata {
    const char *name, *value;
};

/* Returns the size of a tensor in bytes by its type and shape; -1: the size exceeds int64_t, or a dimension is
 * negative.
 */
int64_t bl_tensor_bytes(const struct bl_tensor *tensor);

/* Sets begin and end of the tensors, one after the other in the order given. BL_EUSAGE: the sum exceeds int64_t. */
int bl_safetensors_place(struct bl_tensor *const tensor[], int count, struct bl_error *e);

/* Appends everything that precedes the data: n, the header, the padding. begin and end must be set. */
int bl_safetensors_header(const struct bl_tensor *const tensor[], int count, const struct bl_metadata *metadata,
                          int pairs, struct bl_buffer *out, struct bl_error *e);

/* Pads such a header with spaces to size bytes, which must be a multiple of 4096 and not less than its size. */
int bl_safetensors_pad(struct bl_buffer *header, size_t size, struct bl_error *e);

/* A header that was parsed. */
struct bl_safetensors {
    int64_t data; /* offset of the data in the file */
    int count;
    struct bl_tensor *tensor; /* in file order */
};

/* Computes the number of bytes before the data from the first 8 bytes of the file. BL_EDATA: it exceeds the limit or
 * the size of the file. */
int bl_safetensors_prefix(const void *prefix, int64_t file_size, int64_t *data, struct bl_error *e);

/* Parses the header of a file of file_size bytes. head: the bytes before the data; size: their number, from
 * bl_safetensors_prefix. BL_EDATA: the header is invalid. On error *out is empty. */
int bl_safetensors_parse(const char *head, size_t size, int64_t file_size, struct bl_safetensors *out,
                         struct bl_error *e);

/* Returns the tensor of that name, or NULL. */
const struct bl_tensor *bl_safetensors_find(const struct bl_safetensors *file, const char *name);
void bl_safetensors_free(struct bl_safetensors *file);

#endif
