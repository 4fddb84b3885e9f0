/* Making a view: other plans over what datasets store, without any of their bytes.
 *
 * The order of the work: open the sources and compare their fields; find where each sequence is stored; plan, over the
 * steps that are stored; write plans and places, and last the manifest. A run that is interrupted leaves a directory
 * without a manifest, and the next one makes the same bytes. */
#ifndef BL_VIEW_MAKE_H
#define BL_VIEW_MAKE_H

#include "run/view_sources.h"

/* The result: what was made, or was there already. */
struct bl_view_made {
    struct bl_manifest manifest;
    struct bl_plan plan; /* of the first epoch: its counts, no tables */
    int64_t repeated;    /* epochs in which sequences share blocks as in an earlier one: no other packing was found */
    bool existed;        /* the same view, complete: nothing was written */
    bool empty;          /* no sequence is within longer_than and up_to: nothing was written */
};

/* BL_EUSAGE: a source is no dataset, or a view; fields differ; the output holds something else, or another view;
 * options do not fit. BL_EFAIL: nothing to plan, a sequence longer than T, the system failed. BL_EDATA: a source is
 * damaged. Free with bl_view_made_free. */
int bl_view_make(const struct bl_view_request *request, struct bl_view_made *made, struct bl_error *e);
void bl_view_made_free(struct bl_view_made *made);

#endif
