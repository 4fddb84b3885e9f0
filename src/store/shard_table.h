/* shards.tsv: file first_block blocks bytes checksum, one row per shard. */
#ifndef BL_SHARD_TABLE_H
#define BL_SHARD_TABLE_H

#include <stdint.h>

#include "base/error.h"
#include "base/output.h"
#include "store/format.h"
#include "store/shard_record.h"

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
