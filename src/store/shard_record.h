/* The record of a finished shard, kept in DIR/.bload/shard-00000000.record until the dataset is finished. */
#ifndef BL_SHARD_RECORD_H
#define BL_SHARD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"

struct bl_shard_record {
    int64_t shard;
    int64_t first_block, blocks;
    int64_t bytes;     /* size of the file */
    uint64_t checksum; /* XXH3 over the checksums of its regions (little-endian), in file order: header, each table,
                          each block of each field; compressed: each frame, then the seek table */
    uint64_t *block_checksum; /* [blocks][fields] XXH3 of the uncompressed bytes, fields in the format's order */
    char *user_data;          /* what bl_shard_writer_finish was given; never NULL */
    size_t user_data_size;
};

void bl_shard_record_free(struct bl_shard_record *record);

/* Writes the record of one of the format's shards atomically. */
int bl_shard_record_write(const struct bl_shard_record *record, const struct bl_format *format, const char *dir,
                          struct bl_error *e);

/* Reads the record. *found is false if it is missing, damaged, or of another format. BL_EFAIL: the system failed. */
int bl_shard_record_read(struct bl_shard_record *record, const struct bl_format *format, const char *dir, int64_t shard,
                         bool *found, struct bl_error *e);

#endif
