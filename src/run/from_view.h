/* Packs a view: copies the stored steps of its sources into a new dataset with the blocks of the view.
 *
 * Packing takes the rows of the sources as its table and the plan of the view as its plan. bl_view_kind stands for the
 * kinds that made the fields of the sources: it describes how they were made. The copier of run/assembler.h copies the
 * steps. */
#ifndef BL_FROM_VIEW_H
#define BL_FROM_VIEW_H

#include <stdbool.h>

#include "base/error.h"
#include "kind/kind.h"
#include "plan/options.h"
#include "run/options.h"
#include "store/view.h"

/* The kind of packing a view. Its config is the struct bl_view. */
extern const struct bl_kind bl_view_kind;

/* Opens the view in dir. *found is false if dir holds none. The caller closes the view if *found is true and no error
 * is returned. BL_EUSAGE: the view has weights. Other errors are those of bl_view_open. */
int bl_from_view_open(struct bl_view *view, const char *dir, bool *found, struct bl_error *e);

/* Checks the given options and sets those that the view decides: encode, pad, and the options of the plan, whose texts
 * the view owns. BL_EUSAGE: an option was given that has no effect on a view, or the compression does not suit the
 * stored encoding. */
int bl_from_view_check(const struct bl_view *view, const struct bl_options *given, struct bl_pack_options *options,
                       struct bl_plan_options *plan_options, struct bl_error *e);

#endif
