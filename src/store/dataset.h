/* A finished dataset, opened for reading. It keeps one shard open; for one thread at a time. */
#ifndef BL_DATASET_H
#define BL_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/block.h"
#include "store/format.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/row_reader.h"
#include "store/sequences.h"
#include "store/shard_reader.h"

/* A shard that is open besides the present one. */
struct bl_dataset_shard {
    int64_t number; /* -1: none */
    struct bl_shard_reader file;
    struct bl_layout *layout;
};

struct bl_dataset {
    char *dir;
    struct bl_manifest manifest;
    struct bl_index index;
    int64_t shard; /* the shard that is open; -1: none */
    struct bl_shard_reader file;
    struct bl_layout *layout;
    struct bl_dataset_shard *kept; /* [keeps], each at its number modulo keeps; NULL: none are kept */
    int64_t keeps;
    uint8_t *table[BL_TABLES_ALL];   /* whole tables of a compressed shard, read when first needed */
    struct bl_block block;           /* tables only: returned by bl_dataset_tables */
    struct bl_jpeg_decoder *decoder; /* JPEG fields: opened when first needed, like all that follows */
    int64_t *offsets;                /* [T + 1] */
    uint8_t *bytes;                  /* the encoded steps of one block */
    size_t bytes_capacity;
    bool has_sequences, has_lent;  /* lent: they are another's */
    struct bl_sequences sequences; /* read when first needed */
    struct bl_row_reader row;
};

/* Reads the manifest and the header of the index. Errors as of bl_manifest_read and bl_index_open; BL_EUSAGE also: dir
 * holds a view. On error *dataset is empty. */
int bl_dataset_open(struct bl_dataset *dataset, const char *dir, struct bl_error *e);
void bl_dataset_close(struct bl_dataset *dataset);

/* Keeps so many shards open beside the present one, from now on: for reads at random. */
int bl_dataset_keep(struct bl_dataset *dataset, int64_t shards, struct bl_error *e);

/* Copies block b of field f, decoded. BL_EUSAGE: no such block or field. BL_EDATA: the shard does not match the
 * manifest, or is damaged where that shows while reading. */
int bl_dataset_read(struct bl_dataset *dataset, int64_t b, int f, void *out, struct bl_error *e);

/* The same for steps first to end - 1 of the block. BL_EUSAGE also: no such steps. */
int bl_dataset_read_steps(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end, void *out,
                          struct bl_error *e);

/* The same as they are stored: differences are not added up. For fields that are not kept as JPEG. */
int bl_dataset_copy_steps(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end, void *out,
                          struct bl_error *e);

/* The JPEG files of these steps, one after the other in *bytes until the next call, with the sizes offsets[i + 1] -
 * offsets[i]. For fields that are kept as JPEG. */
int bl_dataset_copy_files(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end,
                          const int64_t **offsets, const uint8_t **bytes, struct bl_error *e);

/* Compares the stored bytes of block b of field f with their checksum in the index, a MiB at a time. BL_EDATA: they
 * differ. */
int bl_dataset_check_block(struct bl_dataset *dataset, int64_t b, int f, struct bl_error *e);

/* Maps block b of field f: *data lies in the mapping, which munmap(*address, *length) releases. BL_EUSAGE: the shard is
 * compressed or the field encoded. */
int bl_dataset_map(struct bl_dataset *dataset, int64_t b, int f, const void **data, void **address, size_t *length,
                   struct bl_error *e);

/* The tables of block b, valid until the next call. */
int bl_dataset_tables(struct bl_dataset *dataset, int64_t b, const struct bl_block **block, struct bl_error *e);

/* Copies attribute a of block b: [S], I64 or F64 as its dtype says. BL_EUSAGE: no such attribute. */
int bl_dataset_attribute(struct bl_dataset *dataset, int64_t b, int a, void *out, struct bl_error *e);

/* The rows of sequences.tsv, read when first needed. */
int bl_dataset_sequences(struct bl_dataset *dataset, const struct bl_sequences **sequences, struct bl_error *e);

/* Gives to, the same dataset, the rows that from has read; it must be closed first. */
void bl_dataset_lend_sequences(const struct bl_dataset *from, struct bl_dataset *to);

#endif
