/* Sizes and checksums of finished shards: a record for each one, and shards.tsv, the table of all shards. */
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

/* Reads the record of a shard. *found is false if the record is missing, damaged, or of another format. BL_EFAIL: a
 * system call failed. */
int bl_shard_record_read(struct bl_shard_record *record, const struct bl_format *format, const char *dir, int64_t shard,
                         bool *found, struct bl_error *e);

/* --- table of shards ---------------------------------------------------------------------------------------------- */

/* shards.tsv: file first_block blocks bytes checksum, one row per shard. */

#define BL_SHARDS_FILE "shards.tsv"

/* To write the table, call bl_shard_table_open, then bl_shard_table_add for each shard in order, then bl_output_commit,
 * or bl_output_abort on error. */
int bl_shard_table_open(struct bl_output *out, const char *dir, struct bl_error *e);
int bl_shard_table_add(struct bl_output *out, const struct bl_format *format, const struct bl_shard_record *record,
                       struct bl_error *e);

/* Returns the approximate size of shards.tsv in bytes if every shard has about shard_bytes bytes. */
int64_t bl_shard_table_bytes(const struct bl_format *format, int64_t shard_bytes);

struct bl_shard_row {
    char file[BL_SHARD_NAME_MAX];
    int64_t first_block, blocks, bytes;
    uint64_t checksum;
};

/* Reads shards.tsv of the dataset in dir. The caller frees *rows. BL_EDATA: the table does not have one row for each
 * shard in order, with the name and the blocks that follow from the format; the message names the invalid line. */
int bl_shard_table_read(const char *dir, const struct bl_format *format, struct bl_shard_row **rows,
                        struct bl_error *e);

#endif
