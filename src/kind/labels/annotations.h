/* Annotations: intervals with labels of many sequences, from one JSON file as ActivityNet has it:
 *
 *     {"database": {"ID": {"annotations": [{"segment": [BEGIN, END], "label": "NAME"}, ...]}, ...}} */
#ifndef BL_ANNOTATIONS_H
#define BL_ANNOTATIONS_H

#include "kind/labels/mapping.h"

struct bl_annotation {
    double begin, end; /* in seconds or steps; the end is no part of it */
    int32_t label;
};

/* What the file says of a sequence. */
struct bl_annotated {
    char *id;
    char *fault; /* why it is of no use, or NULL */
    struct bl_annotation *annotation;
    size_t count;
    size_t overlaps; /* annotations that begin before another ends that began earlier */
};

struct bl_annotations {
    struct bl_annotated *sequence;
    size_t count; /* sorted by id */
    size_t overlaps;
    uint64_t digest;
};

/* BL_EUSAGE: the file is not such JSON. */
int bl_annotations_read(struct bl_annotations *annotations, const char *path, const struct bl_mapping *mapping,
                        struct bl_error *e);
void bl_annotations_free(struct bl_annotations *annotations);

/* What is said of a sequence, by its id, or by that without its extension, or without folders and extension, or without
 * "v_" before that, as ActivityNet's videos are called; NULL: nothing. BL_EFAIL: no memory. */
int bl_annotations_find(const struct bl_annotations *annotations, const char *id, const struct bl_annotated **found,
                        struct bl_error *e);

#endif
