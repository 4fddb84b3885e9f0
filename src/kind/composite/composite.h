/* Joined: several kinds whose fields share the steps of a sequence, as one kind.
 *
 * The first part, the primary, says what sequences there are and how many steps they have. Each further one, a
 * companion, has a file of its own for every sequence, named after it, with as many steps. Where that file lies, and
 * what the scan found there, is kept in further columns of the row. */
#ifndef BL_COMPOSITE_H
#define BL_COMPOSITE_H

#include "kind/kind.h"

struct bl_composite_part {
    const struct bl_kind *kind;
    void *config;
    /* Of companions: */
    const char *name; /* of its field; of several fields, what their names begin with */
    const char
        *path; /* of its files, with places for the sequence's id: see companion.h. NULL: it follows, without files */
    int64_t tolerance; /* steps by which its length may differ; -1: not said */
};

/* Whoever fills it in owns all that it points to. */
struct bl_composite {
    struct bl_kind kind; /* set by bl_composite_make; its config is the whole struct */
    const char *base;    /* directory that the companions' relative paths count from, or NULL */
    struct bl_composite_part part[BL_FIELDS_MAX]; /* the primary first */
    int parts;
    struct bl_rational rate; /* of the primary's steps, set by bl_composite_make; den 0: they have none */
};

/* Makes composite->kind of the parts, whose configs are ready but for what they follow. BL_EUSAGE: kinds that cannot be
 * composite. */
int bl_composite_make(struct bl_composite *composite, struct bl_error *e);

/* Whether a part follows the primary and is told when its steps begin, or their numbers (see enum bl_follow). */
bool bl_composite_gets_times(const struct bl_composite *composite, int part);

/* Kinds that can only be composite to others, ended by NULL. */
extern const struct bl_kind *const bl_composite_kinds[];

/* Whether a kind's files have one sequence each, which can be composite with others. */
bool bl_composite_accepts(const struct bl_kind *kind);

#endif
