/* Reading a finished dataset. The object keeps one shard open, or several after bl_dataset_keep. One thread at a time
 * may use it. */
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

/* A shard that stays open besides the current one. */
struct bl_dataset_shard {
    int64_t number; /* -1: none */
    struct bl_shard_reader file;
    struct bl_layout *layout;
};

/* A shard in memory. */
struct bl_dataset_map {
    void *address; /* NULL: not mapped */
    size_t length;
};

struct bl_dataset {
    char *dir;
    struct bl_manifest manifest;
    struct bl_index index;
    int64_t shard; /* the current shard, which is open; -1: none */
    struct bl_shard_reader file;
    struct bl_layout *layout;
    struct bl_dataset_shard *kept; /* [keeps] further open shards: shard n is at index n % keeps; NULL: none */
    int64_t keeps;
    struct bl_dataset_map *map;      /* [shards] made by bl_dataset_map; NULL: none yet */
    uint8_t *table[BL_TABLES_ALL];   /* tables of a compressed shard, which are read once */
    struct bl_block block;           /* tables only: returned by bl_dataset_tables */
    struct bl_jpeg_decoder *decoder; /* for JPEG fields; this and the members below are made when first needed */
    int64_t *offsets;                /* [T + 1] of the block that was read last */
    uint8_t *bytes;                  /* encoded steps of one block */
    size_t bytes_capacity;
    bool has_sequences, has_lent;  /* sequences were read; another object owns them (bl_dataset_lend_sequences) */
    struct bl_sequences sequences; /* read when first needed */
    struct bl_row_reader row;
};

/* Opens a dataset: reads the manifest and the header of the index. The error codes are those of bl_manifest_read and
 * bl_index_open, and BL_EUSAGE if dir holds a view. On error *dataset is empty. */
int bl_dataset_open(struct bl_dataset *dataset, const char *dir, struct bl_error *e);
void bl_dataset_close(struct bl_dataset *dataset);

/* Keeps up to `shards` shards open besides the current one from now on, so that reads in random order do not open a
 * shard each time. Call it at most once. */
int bl_dataset_keep(struct bl_dataset *dataset, int64_t shards, struct bl_error *e);

/* Copies block b of field f, decoded, to out: T steps, or the capacity of an own field. BL_EUSAGE: the block or the
 * field does not exist. BL_EDATA: the shard does not match the manifest, or cannot be decoded. Checksums are not
 * compared: see bl_dataset_check_block. */
int bl_dataset_read(struct bl_dataset *dataset, int64_t b, int f, void *out, struct bl_error *e);

/* Copies steps first to end - 1 of the block, decoded. Further error: BL_EUSAGE, the steps do not exist. */
int bl_dataset_read_steps(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end, void *out,
                          struct bl_error *e);

/* Copies steps as they are stored: delta fields are not decoded. The field must not be encoded as JPEG. */
int bl_dataset_copy_steps(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end, void *out,
                          struct bl_error *e);

/* Reads the JPEG files of steps of a JPEG field. *bytes points to the files, one after the other; file i has
 * (*offsets)[i + 1] - (*offsets)[i] bytes. The dataset owns both arrays, which are valid until the next call. */
int bl_dataset_copy_files(struct bl_dataset *dataset, int64_t b, int f, int64_t first, int64_t end,
                          const int64_t **offsets, const uint8_t **bytes, struct bl_error *e);

/* Compares the stored bytes of block b of field f with their checksum in the index. BL_EDATA: they differ. */
int bl_dataset_check_block(struct bl_dataset *dataset, int64_t b, int f, struct bl_error *e);

/* Maps the shard of block b into memory. *data points to the first step of field f in the block, and is valid until the
 * dataset is closed. BL_EUSAGE: the shard is compressed, or the field is encoded. */
int bl_dataset_map(struct bl_dataset *dataset, int64_t b, int f, const void **data, struct bl_error *e);

/* Reads the tables of block b. *block is valid until the next call. BL_EUSAGE: the block does not exist. */
int bl_dataset_tables(struct bl_dataset *dataset, int64_t b, const struct bl_block **block, struct bl_error *e);

/* Copies attribute a of block b to out, [S], of the attribute's type, I64 or F64. BL_EUSAGE: it does not exist. */
int bl_dataset_attribute(struct bl_dataset *dataset, int64_t b, int a, void *out, struct bl_error *e);

/* Returns the rows of sequences.tsv in *sequences, which the dataset owns. The first call reads the file. */
int bl_dataset_sequences(struct bl_dataset *dataset, const struct bl_sequences **sequences, struct bl_error *e);

/* Lets `to`, which has the same dataset open, use the rows that `from` has read. `from` keeps owning them: close `to`
 * before `from`. */
void bl_dataset_lend_sequences(const struct bl_dataset *from, struct bl_dataset *to);

#endif
