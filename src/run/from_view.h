/* A view as the input of packing: its blocks become a dataset of their own, of copied bytes.
 *
 * The table has the rows of the view's sources, the plan is the view's, and the kind stands for those that made the
 * fields: it says how they were made, but reads nothing. run/assembler.h copies the steps. */
#ifndef BL_FROM_VIEW_H
#define BL_FROM_VIEW_H

#include <stdbool.h>

#include "base/error.h"
#include "kind/kind.h"
#include "plan/options.h"
#include "run/options.h"
#include "store/view.h"

/* Its config is the struct bl_view. */
extern const struct bl_kind bl_view_kind;

/* Opens the view in dir, if there is one: *found. BL_EUSAGE: it has weights. Errors as of bl_view_open. */
int bl_from_view_open(struct bl_view *view, const char *dir, bool *found, struct bl_error *e);

/* Checks the options that were given, and sets those that the view decides: encode, pad and the plan's, whose texts are
 * the view's. BL_EUSAGE: one was given that has no effect; or the compression does not suit what is stored. */
int bl_from_view_check(const struct bl_view *view, const struct bl_options *given, struct bl_pack_options *options,
                       struct bl_plan_options *plan_options, struct bl_error *e);

#endif
