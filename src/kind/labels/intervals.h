/* Intervals: labels of periods of time, put on the steps of another kind's sequences. */
#ifndef BL_INTERVALS_H
#define BL_INTERVALS_H

#include "kind/kind.h"
#include "kind/labels/labels.h"

struct bl_annotation {
    double begin, end; /* in seconds or steps; end is exclusive */
    int32_t label;
};

/* The annotations of a sequence. */
struct bl_annotated {
    char *id;
    char *fault; /* why they are unusable, or NULL */
    struct bl_annotation *annotation;
    size_t count;
    size_t overlaps; /* annotations that begin before the end of one that began earlier */
};

struct bl_annotations {
    struct bl_annotated *sequence;
    size_t count; /* sorted by id */
    size_t overlaps;
    uint64_t digest; /* XXH3 of the file */
};

/* BL_EUSAGE: the file does not have this format. */
int bl_annotations_read(struct bl_annotations *annotations, const char *path, const struct bl_mapping *mapping,
                        struct bl_error *e);
void bl_annotations_free(struct bl_annotations *annotations);

/* Finds a sequence by its id; or by that without its extension; or without folders, too; or without "v_" before that,
 * as ActivityNet's videos are named. NULL: there is none. BL_EFAIL: no memory. */
int bl_annotations_find(const struct bl_annotations *annotations, const char *id, const struct bl_annotated **found,
                        struct bl_error *e);

#endif
