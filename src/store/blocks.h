/* Reading the blocks and the stored sequences of a dataset or a view. One thread at a time may use an object. */
#ifndef BL_BLOCKS_H
#define BL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/dataset.h"
#include "store/view.h"

/* --- blocks ------------------------------------------------------------------------------------------------------- */

/* One interface to the blocks of a dataset and to those of a view.
 *
 * A dataset reads its own blocks in epoch 0. In a later epoch, which has a plan of its own, the dataset is opened as a
 * view of itself, and its blocks are composed of stored sequences. */

struct bl_blocks {
    struct bl_dataset dataset; /* empty for a view */
    struct bl_view *view;      /* the view, or the dataset as a view of itself; NULL until an epoch needs that */
    bool is_view;              /* the directory holds a view */
    int64_t epoch;             /* whose plan is read; 0: the first plan */
};

/* Opens the dataset or view in dir. The error codes are those of bl_dataset_open and bl_view_open. On error *blocks is
 * empty. */
int bl_blocks_open(struct bl_blocks *blocks, const char *dir, struct bl_error *e);
/* Closes the object, which may be empty. */
void bl_blocks_close(struct bl_blocks *blocks);

/* Selects the plan of an epoch for all later reads; 0 is the first plan. BL_EUSAGE: the epoch has no plan. On error the
 * object keeps its epoch. */
int bl_blocks_set_epoch(struct bl_blocks *blocks, int64_t epoch, struct bl_error *e);

/* Returns true if a block is composed of stored sequences when it is read, and false if it is read as it is stored. */
bool bl_blocks_are_composed(const struct bl_blocks *blocks);

const struct bl_manifest *bl_blocks_manifest(const struct bl_blocks *blocks);
const struct bl_format *bl_blocks_format(const struct bl_blocks *blocks);
/* Returns the plan of the selected epoch. */
const struct bl_index *bl_blocks_index(const struct bl_blocks *blocks);

/* These call bl_dataset_read, bl_dataset_tables and bl_dataset_attribute, or the functions of a view of the same name.
 */
int bl_blocks_read(struct bl_blocks *blocks, int64_t b, int f, void *out, struct bl_error *e);
int bl_blocks_tables(struct bl_blocks *blocks, int64_t b, const struct bl_block **block, struct bl_error *e);
int bl_blocks_attribute(struct bl_blocks *blocks, int64_t b, int a, void *out, struct bl_error *e);

/* Sets *rows to the number of rows of sequences.tsv, or of the tables of all sources of a view. */
int bl_blocks_rows(struct bl_blocks *blocks, int64_t *rows, struct bl_error *e);
/* Reads a row. *out is valid until the next call. BL_EUSAGE: the row does not exist. */
int bl_blocks_row(struct bl_blocks *blocks, int64_t row, const struct bl_row **out, struct bl_error *e);
/* Lets `to`, which has the same dataset or view open, use the tables that `from` has read, so that they are in memory
 * once. `from` keeps owning them: close `to` before `from`. */
void bl_blocks_lend_rows(const struct bl_blocks *from, struct bl_blocks *to);

/* --- stored sequences --------------------------------------------------------------------------------------------- */

/* Reads the steps of one sequence of a field in order, from all blocks that store a part of it.
 *
 * Every byte is verified: before the first step of a stored block is returned, the block is compared with its checksum
 * in the index, and each place is compared with the tables of the shard. */

/* A range of steps: first to end - 1. */
struct bl_step_range {
    int64_t first, end; /* end -1: to the end of the sequence */
    bool is_given;      /* false: all steps of the sequence, which must be stored */
};

struct bl_stored_sequence {
    struct bl_view *view; /* not owned */
    int64_t row;
    int field;
    int64_t next, end;                /* the steps next to end - 1 are still to be read */
    const struct bl_dataset *checked; /* source of the last block that was verified */
    int64_t checked_block;            /* that block, which matches its checksum; -1: none was verified yet */
};

/* Prepares to read a range of steps of a row. view must outlive the object, which owns nothing. BL_EUSAGE: the sequence
 * was skipped, dropped or failed, and the message gives the reason; or some steps of the range are not stored, and the
 * message names the range that is. */
int bl_stored_sequence_begin(struct bl_stored_sequence *sequence, struct bl_view *view, int64_t row, int field,
                             const struct bl_step_range *range, struct bl_error *e);

/* Copies the next steps, at most `most`, decoded, to out. *steps: the number that was copied; 0: the end is reached.
 * BL_EDATA: the stored steps are damaged. */
int bl_stored_sequence_read(struct bl_stored_sequence *sequence, int64_t most, void *out, int64_t *steps,
                            struct bl_error *e);

#endif
