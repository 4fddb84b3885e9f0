/* Verifying a view: its files against the manifest, its plans against what the sources store, and its places against
 * their indexes. The contents of the sources are verified as those of any dataset (store/verify.h). */
#ifndef BL_VERIFY_VIEW_H
#define BL_VERIFY_VIEW_H

#include "base/cancel.h"
#include "base/error.h"
#include "store/verify.h"

/* Reports every fault of the view in dir. Memory: the plan, and the places of all rows. BL_EFAIL: it cannot go on;
 * BL_ECANCEL. */
int bl_verify_view(const char *dir, const struct bl_cancel *cancel, bl_fault *fault, bl_fault *remark, void *context,
                   struct bl_error *e);

#endif
