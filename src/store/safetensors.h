/* The safetensors container: u64 n, a JSON header of n bytes, the tensors' bytes; all little-endian.
 *
 * Headers that we write are padded with spaces so that the data begins on a 4096 boundary. The parser takes any header
 * that keeps the format's own rules (https://github.com/huggingface/safetensors, README, "Format"), and refuses all
 * others: no tensor outside the file, no hole, no overlap, no size that does not follow from type and shape. */
#ifndef BL_SAFETENSORS_H
#define BL_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/field.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian, and so must be the machine: tables are written as they lie in memory"
#endif

#define BL_TENSOR_RANK_MAX (BL_FIELD_RANK_MAX + 2)
#define BL_SAFETENSORS_ALIGN 4096
#define BL_SAFETENSORS_HEADER_MAX INT64_C(100000000) /* the released readers' limit */
#define BL_SAFETENSORS_PREFIX 8                      /* bytes of n */

struct bl_tensor {
    char name[BL_FIELD_NAME_MAX];
    enum bl_dtype dtype;
    int rank;
    int64_t shape[BL_TENSOR_RANK_MAX];
    int64_t begin, end; /* bytes from the start of the data */
};

/* A pair of __metadata__. */
struct bl_metadata {
    const char *name, *value;
};

/* Bytes of a tensor by its type and shape, or -1 when they exceed int64_t or a dimension is negative. */
int64_t bl_tensor_bytes(const struct bl_tensor *tensor);

/* Sets begin and end of each, one after the other in the order given. BL_EUSAGE when the sum exceeds int64_t. */
int bl_safetensors_place(struct bl_tensor *const tensor[], int count, struct bl_error *e);

/* Appends everything before the data: n, the header, the padding. Offsets must be set. */
int bl_safetensors_header(const struct bl_tensor *const tensor[], int count, const struct bl_metadata *metadata,
                          int pairs, struct bl_buffer *out, struct bl_error *e);

/* Pads such a header with spaces to size bytes, which is a multiple of 4096 and not less than it has. */
int bl_safetensors_pad(struct bl_buffer *header, size_t size, struct bl_error *e);

/* What a header says. */
struct bl_safetensors {
    int64_t data; /* offset of the data in the file */
    int count;
    struct bl_tensor *tensor; /* in file order */
};

/* Bytes before the data, from the file's first 8 bytes. BL_EDATA when they exceed the limit or the file. */
int bl_safetensors_prefix(const void *prefix, int64_t file_size, int64_t *data, struct bl_error *e);

/* Parses what lies before the data of a file of file_size bytes: size bytes at head, as many as bl_safetensors_prefix
 * told. BL_EDATA says what is wrong. On error *out is empty. */
int bl_safetensors_parse(const char *head, size_t size, int64_t file_size, struct bl_safetensors *out,
                         struct bl_error *e);

/* The tensor of that name, or NULL. */
const struct bl_tensor *bl_safetensors_find(const struct bl_safetensors *file, const char *name);
void bl_safetensors_free(struct bl_safetensors *file);

#endif
