/* A view, opened for reading: blocks by another plan, made of the stored sequences of its sources when they are read.
 *
 * A view's directory has a manifest, the plan (index.safetensors, without block checksums), the places of the sources'
 * sequences (store/places.h), and the plans of further epochs. A dataset that has plans of epochs is opened as a view
 * of itself: then the places come from its index, in memory. For one thread at a time.
 *
 * A view knows its sources by the checksums of index, table and shards.tsv, not of the manifest, since plans of
 * epochs may be added to a source. */
#ifndef BL_VIEW_H
#define BL_VIEW_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/block.h"
#include "store/dataset.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/places.h"

struct bl_view {
    char *dir;
    struct bl_manifest manifest;
    struct bl_index index;
    struct bl_places places;
    struct bl_dataset *source; /* [sources] */
    size_t sources;
    struct bl_block block; /* tables only: returned by bl_view_tables */
    struct bl_buffer id;   /* of the last row, if it is renamed */
    /* Of a dataset that is opened as a view of itself: */
    struct bl_attribute_values values;
    const struct bl_sequences *table; /* rows without a length have failed; NULL: of a view, whose plans have none */
};

/* Opens the view and its sources, or a dataset as a view of itself. BL_EUSAGE: dir holds neither. BL_EDATA: the view is
 * damaged, or a source is another dataset than it was; BL_EFAIL: a source is missing. The message names the source. On
 * error *view is empty. */
int bl_view_open(struct bl_view *view, const char *dir, struct bl_error *e);
void bl_view_close(struct bl_view *view);

/* Reads by the plan of an epoch from now on; 0 is the first plan. BL_EUSAGE: there is no such plan; the view is
 * unchanged. */
int bl_view_set_epoch(struct bl_view *view, int64_t epoch, struct bl_error *e);

/* Checks that the sources of the view in dir are there, and are what the view was made of: BL_EDATA names the first
 * that is not. */
int bl_view_check_sources(const struct bl_manifest *manifest, const char *dir, struct bl_error *e);

/* Closes datasets and frees their array, which may be NULL. */
void bl_view_close_sources(struct bl_dataset *sources, size_t count);

/* Copies block b of field f, decoded and padded: T steps. Errors as of bl_dataset_read. */
int bl_view_read(struct bl_view *view, int64_t b, int f, void *out, struct bl_error *e);

/* Steps of a row that are stored together: steps first to end - 1 of a block of a source. */
struct bl_view_steps {
    struct bl_dataset *source;
    int64_t block, first, end;
};

/* Finds the stored steps of a row from this one on, `steps` at most: where the row has several parts, the rest is in
 * the next. BL_EDATA: they are not stored. */
int bl_view_find(struct bl_view *view, int64_t row, int64_t step, int64_t steps, struct bl_view_steps *found,
                 struct bl_error *e);

/* Copies these steps of a row of field f as they are stored: see bl_dataset_copy_steps. */
int bl_view_copy_steps(struct bl_view *view, int64_t row, int64_t step, int64_t steps, int f, void *out,
                       struct bl_error *e);

/* The tables of block b, valid until the next call. */
int bl_view_tables(struct bl_view *view, int64_t b, const struct bl_block **block, struct bl_error *e);

/* Copies attribute a of block b: [S], I64 or F64 as its dtype says. */
int bl_view_attribute(struct bl_view *view, int64_t b, int a, void *out, struct bl_error *e);

/* A row of the sources' tables, valid until the next call; its id has the source's name before it where another source
 * has the same id. BL_EUSAGE: no such row. */
int bl_view_row(struct bl_view *view, int64_t row, const struct bl_row **out, struct bl_error *e);

#endif
