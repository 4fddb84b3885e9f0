/* WebDataset, and Megatron-Energon, which reads the same tar files with an index beside each. A block is a sample: the
 * members that share a key, "00000012.frames.npy", "00000012.cu_seqlens.npy" and so on. Keys are the numbers of blocks,
 * so that they are unique over all shards.
 *
 * Energon: X.tar.idx has the offset of each sample as u64, and where the last one ends; .nv-meta describes the whole
 * (megatron/energon/flavors/webdataset). */
#ifndef BL_WEBDATASET_H
#define BL_WEBDATASET_H

#include <stddef.h>
#include <stdint.h>

#include "export/part.h"

#define BL_TAR_UNIT 512
#define BL_TAR_NAME_MAX 100
#define BL_TAR_BYTES_MAX ((INT64_C(1) << 33) - 1) /* of a member: eleven octal digits */
#define BL_NPY_HEADER_MAX 256

/* Formats the header of an NPY file, version 1.0, and returns its size, a multiple of 64. BF16, which numpy lacks, is
 * stored as U16. */
size_t bl_npy_header(char out[BL_NPY_HEADER_MAX], const struct bl_export_array *array);

#endif
