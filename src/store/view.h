/* Reading a view: blocks of another plan, composed of the stored sequences of source datasets when they are read.
 *
 * The directory of a view holds a manifest, the plan (index.safetensors without block checksums), the places where the
 * sources store each sequence (store/places.h), and the plans of further epochs. For example, a view of the datasets a
 * and b stores no steps: it reads each piece of its plan from a shard of a or b. A dataset with plans of epochs is
 * opened as a view of itself; its places are then collected from its index. One thread at a time may use an object.
 *
 * A view identifies its sources by the checksums of their index, sequences.tsv and shards.tsv. It does not use the
 * checksum of their manifest, which changes when plans of epochs are added to a source. */
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
    int (*field_of)[BL_FIELDS_MAX]; /* [sources] the number of each field of the view in the source; -1: missing */
    struct bl_block block;          /* tables only: returned by bl_view_tables */
    struct bl_buffer id;            /* id of the row that bl_view_row returned last, if it is renamed */
    /* The following members are set if a dataset is opened as a view of itself. */
    struct bl_attribute_values values;
    const struct bl_sequences *table; /* a planned row of length 0 failed while packing; NULL: the directory holds a
                                         view, whose plans have no failed rows */
};

/* Opens the view in dir and its sources, or the dataset in dir as a view of itself. BL_EUSAGE: dir holds neither.
 * BL_EDATA: the view is damaged, or a source is not the dataset that the view was made of. BL_EFAIL: a source is
 * missing. The message names the source. On error *view is empty. */
int bl_view_open(struct bl_view *view, const char *dir, struct bl_error *e);
void bl_view_close(struct bl_view *view);

/* Selects the plan of an epoch for all later reads; 0 is the first plan. BL_EUSAGE: the epoch has no plan. On error the
 * view keeps its plan. */
int bl_view_set_epoch(struct bl_view *view, int64_t epoch, struct bl_error *e);

/* Checks that the sources of the view in dir exist and are the datasets that the view was made of. BL_EDATA: one is
 * missing or differs; the message names the first such source. */
int bl_view_check_sources(const struct bl_manifest *manifest, const char *dir, struct bl_error *e);

/* Closes the datasets and frees their array. NULL is allowed. */
void bl_view_close_sources(struct bl_dataset *sources, size_t count);

/* Copies block b of field f, decoded and padded, to out: T steps. The error codes are those of bl_dataset_read. */
int bl_view_read(struct bl_view *view, int64_t b, int f, void *out, struct bl_error *e);

/* Consecutive steps of a row that one block stores: steps first to end - 1 of a block of a source. */
struct bl_view_steps {
    struct bl_dataset *source;
    int64_t block, first, end;
};

/* Finds the block that stores a step of a row, and how many of the following steps it stores, `steps` at most. If the
 * row has several parts, *found ends with the part, and the next call finds the rest. BL_EDATA: the step is not stored.
 */
int bl_view_find(struct bl_view *view, int64_t row, int64_t step, int64_t steps, struct bl_view_steps *found,
                 struct bl_error *e);

/* Returns the number of field f of the view in a source of it. */
static inline int bl_view_field_of(const struct bl_view *view, const struct bl_dataset *source, int f)
{
    return view->field_of[source - view->source][f];
}

/* Copies all own steps of a row, of field f, to out. steps: their number by the plan. BL_EDATA: another number is
 * stored. */
int bl_view_copy_own(struct bl_view *view, int64_t row, int f, int64_t steps, void *out, struct bl_error *e);

/* Copies steps of a row of field f as they are stored: see bl_dataset_copy_steps. */
int bl_view_copy_steps(struct bl_view *view, int64_t row, int64_t step, int64_t steps, int f, void *out,
                       struct bl_error *e);

/* Returns the tables of block b in *block, which is valid until the next call. */
int bl_view_tables(struct bl_view *view, int64_t b, const struct bl_block **block, struct bl_error *e);

/* Copies attribute a of block b to out, [S], of the attribute's type, I64 or F64. */
int bl_view_attribute(struct bl_view *view, int64_t b, int a, void *out, struct bl_error *e);

/* Reads a row of the sources' tables. *out is valid until the next call. If another source has the same id, the id
 * becomes SOURCE/ID. BL_EUSAGE: the row does not exist. */
int bl_view_row(struct bl_view *view, int64_t row, const struct bl_row **out, struct bl_error *e);

#endif
