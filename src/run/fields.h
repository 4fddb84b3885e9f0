/* Which fields a dataset has: decided by the options, or by files that must agree. */
#ifndef BL_RUN_FIELDS_H
#define BL_RUN_FIELDS_H

#include "kind/kind.h"
#include "store/sequences.h"

/* Asks the kind; where the options do not decide, asks it for every ok row, many at once. Files that differ are
 * BL_EUSAGE with the names of the first two and the number of the others; where the first decides (see struct bl_kind),
 * reading finds them. Rows that cannot be asked are left for packing to find. agreed: it is known already that files
 * agree, so that few are asked. */
int bl_fields_resolve(struct bl_fields *fields, const struct bl_kind *kind, const void *config,
                      const struct bl_kind_env *env, const struct bl_sequences *table, const char *base, bool agreed,
                      int workers, struct bl_error *e);

#endif
