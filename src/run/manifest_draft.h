/* The draft: a dataset's manifest as far as it is known before packing: what its bytes are made of and by, in which
 * shards. It lies in DIR/.bload, so that whoever finishes the dataset needs nothing else, and so that nobody goes on
 * with other versions of the tool and its libraries than those that it was begun with. */
#ifndef BL_MANIFEST_DRAFT_H
#define BL_MANIFEST_DRAFT_H

#include <stdbool.h>

#include "kind/kind.h"
#include "run/state.h"
#include "store/manifest.h"

struct bl_manifest_draft {
    const struct bl_kind *kind;
    const void *config; /* of that kind */
    const struct bl_format *format;
    const struct bl_plan_info *plan_info; /* of the plan */
    const char *identity;                 /* the configuration: "name: value" lines */
    const char *simd;                     /* the level's name */
};

/* Makes the manifest of it, with all counts 0 and without files. Free with bl_manifest_free. */
int bl_manifest_draft_make(const struct bl_manifest_draft *draft, struct bl_manifest *manifest, struct bl_error *e);

/* Writes it, once. BL_EFAIL: another one is there. alone: nobody else is at work; then one that no shard was finished
 * by is replaced. */
int bl_manifest_draft_publish(const struct bl_state *state, struct bl_manifest *manifest, bool alone,
                              struct bl_error *e);

int bl_manifest_draft_find(const struct bl_state *state, bool *found, struct bl_error *e);

/* Reads it. BL_EUSAGE: there is none, nothing has been packed yet; BL_EDATA: it is damaged. */
int bl_manifest_draft_read(const struct bl_state *state, struct bl_manifest *manifest, struct bl_error *e);

#endif
