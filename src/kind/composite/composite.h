/* A composite: several kinds whose fields share the steps of a sequence, as one kind.
 *
 * The first part, the primary, decides which sequences there are and how many steps they have. Every other part, a
 * companion, has a file for each sequence, named after it, with as many steps; or a part of a file, a clip, by a list;
 * or it follows the primary, with a file or without. The path of that file, and what the scan found in it, are extra
 * columns of the row. */
#ifndef BL_COMPOSITE_H
#define BL_COMPOSITE_H

#include "base/member_index.h"
#include "kind/composite/clip_list.h"
#include "kind/kind.h"

struct bl_composite_part {
    const struct bl_kind *kind;
    void *config;
    /* Of companions: */
    const char *name;           /* of its field; of several fields, the prefix of their names */
    const char *path;           /* of its files, with placeholders: see companion.h. NULL: it follows, without files */
    int64_t tolerance;          /* steps by which its length may differ; -1: not given */
    struct bl_clip_list *clips; /* path is that of a list, of these; or NULL */
};

/* Its members up to parts are set by the caller, who owns all that they point to; the others by bl_composite_make. */
struct bl_composite {
    const char *base;                             /* directory that companions' relative paths refer to, or NULL */
    const char *sources_base;                     /* the same for those of the sources */
    const struct bl_member_index *members;        /* of tars, for companions that are beside the sequence in one */
    struct bl_composite_part part[BL_FIELDS_MAX]; /* the primary first */
    int parts;
    struct bl_rational rate; /* of the primary's steps; den 0: unknown */
    struct bl_kind kind;     /* its config is the whole struct */
    struct bl_kind_scan scan;
    struct bl_kind_read read;
    struct bl_total total[BL_TOTALS_MAX + 1];
    char total_column[BL_TOTALS_MAX][2 * BL_FIELD_NAME_MAX];
};

/* Whether a kind has one file for each sequence, and so can be a part. */
bool bl_composite_accepts(const struct bl_kind *kind);

/* Whether a part follows the primary and needs the times of its steps, or their numbers (enum bl_follow_needs). */
bool bl_composite_needs_times(const struct bl_composite *composite, int part);

#endif
