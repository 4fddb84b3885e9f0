/* What is known of finished shards: the record of each one, and shards.tsv, the table of all. */
#ifndef BL_SHARD_TABLE_H
#define BL_SHARD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "store/format.h"

/* --- records of shards -------------------------------------------------------------------------------------------- */

/* The record of a finished shard, kept in DIR/.bload/shard-00000000.record until the dataset is finished. */

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

/* --- table of shards ---------------------------------------------------------------------------------------------- */

/* shards.tsv: file first_block blocks bytes checksum, one row per shard. */

#define BL_SHARDS_FILE "shards.tsv"

/* Writing: open, a row for each shard in order, then bl_output_commit; bl_output_abort on error. */
int bl_shard_table_open(struct bl_output *out, const char *dir, struct bl_error *e);
int bl_shard_table_add(struct bl_output *out, const struct bl_format *format, const struct bl_shard_record *record,
                       struct bl_error *e);

/* The size of the file where every shard has about shard_bytes. */
int64_t bl_shard_table_bytes(const struct bl_format *format, int64_t shard_bytes);

struct bl_shard_row {
    char file[BL_SHARD_NAME_MAX];
    int64_t first_block, blocks, bytes;
    uint64_t checksum;
};

/* Reads DIR's table, which must have a row for each of the format's shards, in order, with the names and blocks that
 * follow from the format. free(*rows). BL_EDATA names the invalid line. */
int bl_shard_table_read(const char *dir, const struct bl_format *format, struct bl_shard_row **rows,
                        struct bl_error *e);

#endif
