/* The blocks and the stored sequences of a dataset or a view, opened for reading. For one thread at a time. */
#ifndef BL_BLOCKS_H
#define BL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/dataset.h"
#include "store/view.h"

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* The same functions read the blocks of a dataset and of a view. */

struct bl_blocks {
    struct bl_dataset dataset; /* empty for a view */
    struct bl_view *view;      /* a view, or the dataset in another epoch; NULL: its own blocks */
    bool is_view;
    int64_t epoch;
};

/* Opens what dir holds. Errors as of bl_dataset_open and bl_view_open. On error *blocks is empty. */
int bl_blocks_open(struct bl_blocks *blocks, const char *dir, struct bl_error *e);
/* An empty object is accepted. */
void bl_blocks_close(struct bl_blocks *blocks);

/* Reads by the plan of an epoch from now on; 0 is the first plan. BL_EUSAGE: there is no such plan; nothing changes. */
int bl_blocks_set_epoch(struct bl_blocks *blocks, int64_t epoch, struct bl_error *e);

/* Whether blocks are composed of stored sequences when they are read. */
bool bl_blocks_are_composed(const struct bl_blocks *blocks);

const struct bl_manifest *bl_blocks_manifest(const struct bl_blocks *blocks);
const struct bl_format *bl_blocks_format(const struct bl_blocks *blocks);
/* The plan of the epoch. */
const struct bl_index *bl_blocks_index(const struct bl_blocks *blocks);

/* As the functions of these names of datasets and views. */
int bl_blocks_read(struct bl_blocks *blocks, int64_t b, int f, void *out, struct bl_error *e);
int bl_blocks_tables(struct bl_blocks *blocks, int64_t b, const struct bl_block **block, struct bl_error *e);
int bl_blocks_attribute(struct bl_blocks *blocks, int64_t b, int a, void *out, struct bl_error *e);

/* The number of rows of the table of sequences. */
int bl_blocks_rows(struct bl_blocks *blocks, int64_t *rows, struct bl_error *e);
/* A row of it, valid until the next call. BL_EUSAGE: no such row. */
int bl_blocks_row(struct bl_blocks *blocks, int64_t row, const struct bl_row **out, struct bl_error *e);
/* Gives to, the same dataset or view, the tables that from has read, so that they are in memory once; to must be closed
 * first. */
void bl_blocks_lend_rows(const struct bl_blocks *from, struct bl_blocks *to);

/* --- stored sequences --------------------------------------------------------------------------------------------- */

/* The steps of one sequence of a field, read one after the other from wherever its parts are stored.
 *
 * Nothing is taken on trust: before the first step of a stored block is given, the block is compared with its checksum
 * in the index, and the place with the tables of the shard. */

/* Which steps: first to end - 1. */
struct bl_step_range {
    int64_t first, end; /* end -1: to the end of the sequence */
    bool is_given;      /* false: the whole sequence, and nothing less */
};

struct bl_stored_sequence {
    struct bl_view *view; /* not owned */
    int64_t row;
    int field;
    int64_t next, end; /* steps that are still to be read */
    const struct bl_dataset *checked;
    int64_t checked_block; /* of checked: it matches its checksum; -1: none does */
};

/* Begins with the first of these steps. BL_EUSAGE: the sequence was skipped, dropped or failed, with the reason; or not
 * all of these steps are stored, with those that are. */
int bl_stored_sequence_begin(struct bl_stored_sequence *sequence, struct bl_view *view, int64_t row, int field,
                             const struct bl_step_range *range, struct bl_error *e);

/* Copies the next steps, decoded, at most so many. *steps: how many they are; 0: there are no more. BL_EDATA: they are
 * damaged. */
int bl_stored_sequence_read(struct bl_stored_sequence *sequence, int64_t most, void *out, int64_t *steps,
                            struct bl_error *e);

#endif
