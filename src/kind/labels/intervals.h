/* Intervals: labels of periods of time, put on the steps of another kind's sequences. */
#ifndef BL_INTERVALS_H
#define BL_INTERVALS_H

#include "kind/kind.h"
#include "kind/labels/labels.h"

/* A labelled interval. */
struct bl_annotation {
    double begin, end; /* in seconds or steps; end is exclusive */
    int32_t label;     /* the number that the mapping gives to the name */
};

/* The annotations of a sequence. */
struct bl_annotated {
    char *id;                         /* as in the file; owned */
    char *fault;                      /* why they are unusable, or NULL */
    struct bl_annotation *annotation; /* [count] in the order of the file */
    size_t count;
    size_t overlaps; /* annotations that begin before the end of one that began earlier */
};

/* The annotations of all sequences in a file. */
struct bl_annotations {
    struct bl_annotated *sequence; /* [count] sorted by id */
    size_t count;
    size_t overlaps; /* of all sequences */
    uint64_t digest; /* XXH3 of the file */
};

/* Reads the file (the format is in intervals.c). BL_EUSAGE: the file does not have this format. Free the annotations in
 * any case. */
int bl_annotations_read(struct bl_annotations *annotations, const char *path, const struct bl_mapping *mapping,
                        struct bl_error *e);
void bl_annotations_free(struct bl_annotations *annotations);

/* Finds the annotations of an input by its id "a/v_xyz.mp4", or, if there is no such entry, by "a/v_xyz", "v_xyz" or
 * "xyz": ActivityNet's videos have names with "v_" in front of their ids. *found NULL: there is no entry. BL_EFAIL: out
 * of memory. */
int bl_annotations_find(const struct bl_annotations *annotations, const char *id, const struct bl_annotated **found,
                        struct bl_error *e);

#endif
