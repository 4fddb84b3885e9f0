/* Joined: several kinds whose fields share the steps of a sequence, as one kind.
 *
 * The first part, the primary, says what sequences there are and how many steps they have. Each further one, a partner,
 * has a file of its own for every sequence, named after it, with as many steps. Where that file lies, and what the scan
 * found there, is kept in further columns of the row. */
#ifndef BL_JOINED_H
#define BL_JOINED_H

#include "kind/kind.h"

struct bl_joined_part {
    const struct bl_kind *kind;
    void *config;
    /* Of partners: */
    const char *name; /* of its field; of several fields, what their names begin with */
    const char
        *path; /* of its files, with places for the sequence's id: see partner.h. NULL: it follows, without files */
    int64_t tolerance; /* steps by which its length may differ; -1: not said */
};

/* Whoever fills it in owns all that it points to. */
struct bl_joined {
    struct bl_kind kind;                       /* set by bl_joined_make; its config is the whole struct */
    const char *base;                          /* directory that the partners' relative paths count from, or NULL */
    struct bl_joined_part part[BL_FIELDS_MAX]; /* the primary first */
    int parts;
    struct bl_rational rate; /* of the primary's steps, set by bl_joined_make; den 0: they have none */
};

/* Makes joined->kind of the parts, whose configs are ready but for what they follow. BL_EUSAGE: kinds that cannot be
 * joined. */
int bl_joined_make(struct bl_joined *joined, struct bl_error *e);

/* Whether a part follows the primary and is told when its steps begin, or their numbers (see enum bl_follow). */
bool bl_joined_is_told(const struct bl_joined *joined, int part);

/* Kinds that can only be joined to others, ended by NULL. */
extern const struct bl_kind *const bl_joined_kinds[];

/* Whether a kind's files have one sequence each, which can be joined with others. */
bool bl_joined_takes(const struct bl_kind *kind);

#endif
