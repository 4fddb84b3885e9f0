/* The fields of a dataset: the options decide them, or the files, which must then agree. */
#ifndef BL_RUN_FIELDS_H
#define BL_RUN_FIELDS_H

#include "kind/kind.h"
#include "store/sequences.h"

/* Gets the fields from the kind. If the options do not decide them, asks the kind about every ok row, many at once.
 * Files that differ are BL_EUSAGE with the names of the first two and the number of the others. Where the first file
 * decides (see struct bl_kind), reading reports differences later. Rows that cannot be read are left to packing.
 * agreed: the files are known to agree, so one readable file is enough. */
int bl_fields_resolve(struct bl_fields *fields, const struct bl_kind *kind, const void *config,
                      const struct bl_kind_env *env, const struct bl_sequences *table, const char *base, bool agreed,
                      int workers, struct bl_error *e);

#endif
