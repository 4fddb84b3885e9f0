/* The fields of a dataset: the options decide them, or the files, which must then agree. */
#ifndef BL_FIELDS_H
#define BL_FIELDS_H

#include <stdbool.h>

#include "kind/kind.h"
#include "run/state.h"
#include "store/manifest.h"
#include "store/sequences.h"

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* Gets the fields from the kind. If the options do not decide them, asks the kind about every ok row, many at once.
 * Files that differ are BL_EUSAGE with the names of the first two and the number of the others. Where the first file
 * decides (see struct bl_kind), reading reports differences later. Rows that cannot be read are left to packing.
 * agreed: the files are known to agree, so one readable file is enough. */
int bl_fields_resolve(struct bl_fields *fields, const struct bl_kind *kind, const void *config,
                      const struct bl_kind_env *env, const struct bl_sequences *table, const char *base, bool agreed,
                      int workers, struct bl_error *e);

/* --- manifest draft ----------------------------------------------------------------------------------------------- */

/* The draft: the parts of a manifest that are known before packing: the source, the options and the versions that
 * decide the bytes, and the shards. It lies in DIR/.bload. With it any process can finish the dataset, and no process
 * continues a dataset with another version of the tool or its libraries. */

struct bl_manifest_draft {
    const struct bl_kind *kind;
    const void *config;            /* of that kind */
    const struct bl_kind_env *env; /* of the run */
    const struct bl_format *format;
    const struct bl_plan_info *plan_info; /* of the plan */
    const char *identity;                 /* the configuration: "name: value" lines */
    const char *simd;                     /* name of the SIMD level */
};

/* Makes the manifest, with all counts 0 and without files. Free with bl_manifest_free. */
int bl_manifest_draft_make(const struct bl_manifest_draft *draft, struct bl_manifest *manifest, struct bl_error *e);

/* Writes the draft, once. BL_EFAIL: a different one exists. alone: no other process is running; then a different draft
 * is replaced if no shard is finished. */
int bl_manifest_draft_publish(const struct bl_state *state, struct bl_manifest *manifest, bool alone,
                              struct bl_error *e);

int bl_manifest_draft_find(const struct bl_state *state, bool *found, struct bl_error *e);

/* Reads the draft. BL_EUSAGE: it does not exist, since nothing has been packed yet; BL_EDATA: it is damaged. */
int bl_manifest_draft_read(const struct bl_state *state, struct bl_manifest *manifest, struct bl_error *e);

#endif
