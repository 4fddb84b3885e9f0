/* A source of a view: a finished dataset of whose sequences the view's blocks are made.
 *
 * The manifest of a view lists its sources. A source is known by the checksums that its own manifest has of index,
 * sequences and shards: these decide every byte of its blocks, while plans of further epochs may come and go. */
#ifndef BL_VIEW_SOURCE_H
#define BL_VIEW_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum bl_view_source_file {
    BL_VIEW_SOURCE_INDEX,
    BL_VIEW_SOURCE_SEQUENCES,
    BL_VIEW_SOURCE_SHARDS,
    BL_VIEW_SOURCE_FILES
};

struct bl_manifest;

struct bl_view_source {
    char *name;               /* unique among the sources of a view */
    char *path;               /* of its directory: relative to the directory of the view, or absolute */
    int64_t first_row, rows;  /* of the view's rows, these are those of its sequences.tsv */
    int64_t blocks;           /* that it stores */
    int64_t sequences, steps; /* of it in the plan */
    double share;             /* of all steps in the plan */
    double weight;            /* as given; 0: none was */
    uint64_t checksum[BL_VIEW_SOURCE_FILES];
};

/* The name of a file that has a checksum. */
const char *bl_view_source_file_name(enum bl_view_source_file file);

/* Sets blocks and checksums of a source by its manifest. BL_EDATA: the manifest does not list a file. */
int bl_view_source_identify(struct bl_view_source *source, const struct bl_manifest *manifest, struct bl_error *e);

/* Compares the dataset that was found at the source's path with the source. BL_EDATA names what differs. dir: where it
 * was found. */
int bl_view_source_compare(const struct bl_view_source *source, const struct bl_manifest *manifest, const char *dir,
                           struct bl_error *e);

/* The path of a dataset as a source of the view in `view`, a directory that exists: relative if both have a directory
 * in common below the root, else absolute. *path: to be freed. BL_EFAIL: one of them cannot be resolved. */
int bl_view_source_make_path(const char *view, const char *dir, char **path, struct bl_error *e);

/* The source that has a row, found in O(log n). rows are numbered on through the sources, of which there is at least
 * one. */
const struct bl_view_source *bl_view_source_of_row(const struct bl_view_source *source, size_t count, int64_t row);

/* The tables of sequences of the sources of the view in dir, to be freed with bl_path_free_all; NULL: out of memory. */
char **bl_view_source_tables(const struct bl_manifest *view, const char *dir);

/* Frees the members. */
void bl_view_source_free(struct bl_view_source *source);

#endif
