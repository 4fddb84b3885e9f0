/* Makes one kind of the parts of a composite: its tables of functions, and how it counts. Counting makes a row from
 * that of the primary, and adds what the companions' files hold. */
#ifndef BL_COMPOSITE_KIND_H
#define BL_COMPOSITE_KIND_H

#include "kind/composite/composite.h"

/* Makes composite->kind of the parts, whose configs are prepared but for what they follow. BL_EUSAGE: kinds that do not
 * go together. */
int bl_composite_make(struct bl_composite *composite, struct bl_error *e);

#endif
