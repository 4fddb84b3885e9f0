/* The blocks of a dataset or a view, opened for reading. For one thread at a time. */
#ifndef BL_BLOCKS_H
#define BL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/dataset.h"
#include "store/view.h"

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

#endif
