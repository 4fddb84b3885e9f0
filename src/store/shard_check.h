/* Verifying one shard: the state of it, and the checks of its parts.
 *
 * A check that cannot go on after a fault reports it and returns BL_EDATA; the checks that follow still run. */
#ifndef BL_SHARD_CHECK_H
#define BL_SHARD_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/block.h"
#include "base/checksum.h"
#include "store/format.h"
#include "store/jpeg.h"
#include "store/layout.h"
#include "store/shard_reader.h"
#include "store/verify.h"

struct bl_shard_check {
    const struct bl_verify *verify;
    const struct bl_format *format;
    char name[BL_SHARD_NAME_MAX];
    struct bl_layout layout;
    struct bl_shard_reader file;
    struct bl_checksum_state sum; /* plain shards: over the checksums of the regions */
    uint8_t *chunk;               /* rows of a table, or part of a block */
    int64_t chunk_size;
    struct bl_block expected; /* the tables of one block */
    int32_t *segment_ids;
    int64_t *attribute; /* [S] of one block */
    bool pad_repeat;
    uint8_t *step;    /* [T] enum bl_step of one block */
    int64_t *offsets; /* [T + 1] of one block of the field being read */
    struct bl_jpeg_decoder *decoder;
    int64_t *lost; /* pieces of the plan that failed, ascending */
    size_t lost_count, lost_capacity;
    int64_t failed_steps;
    int faults;
    bl_fault *fault;
    void *context;
};

/* Reports a fault of the shard. */
void bl_shard_check_report(struct bl_shard_check *w, const char *format, ...) BL_PRINTF(2, 3);

/* Copies uncompressed bytes of the shard. BL_EDATA: unreadable, which is reported as a fault of what. */
int bl_shard_check_read(struct bl_shard_check *w, int64_t offset, int64_t size, void *out, const char *what,
                        struct bl_error *e);

/* Adds the checksum of the next region to the shard's. */
void bl_shard_check_add_region(struct bl_shard_check *w, uint64_t checksum);

/* Sets the tables that block b must have. row: its row of the table "sequence" while that table is read; else NULL. */
int bl_shard_check_expect(struct bl_shard_check *w, int64_t b, const int64_t *row, struct bl_error *e);

/* Checks a table against the plan, row by row. */
int bl_shard_check_table(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, struct bl_error *e);

/* JPEG fields: allocates what their checks need; checks the offsets of all steps; reads the steps of one block, checks
 * their headers, and computes their checksum. */
int bl_shard_check_open_jpeg(struct bl_shard_check *w, struct bl_error *e);
int bl_shard_check_offsets(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, struct bl_error *e);
int bl_shard_check_read_steps(struct bl_shard_check *w, const struct bl_shard_tensor *tensor, int64_t row,
                              const char *what, uint64_t *checksum, struct bl_error *e);

#endif
