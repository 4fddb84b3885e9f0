/* --field: one of the fields of a dataset. */
#ifndef BL_FIELD_CHOICE_H
#define BL_FIELD_CHOICE_H

#include "base/error.h"
#include "kind/field.h"

/* Finds it; NULL: the only one. BL_EUSAGE: there is none of that name, or several, with their names. */
int bl_field_choose(const struct bl_fields *fields, const char *name, int *found, struct bl_error *e);

#endif
