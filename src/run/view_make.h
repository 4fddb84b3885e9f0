/* Makes a view: new plans over the steps that datasets already store, without copying them.
 *
 * The work has four steps: open the sources and compare their fields; find where each sequence is stored; plan the
 * stored steps; write the plans, the places and, last, the manifest. An interrupted run leaves a directory without a
 * manifest, and the next run makes the same bytes. */
#ifndef BL_VIEW_MAKE_H
#define BL_VIEW_MAKE_H

#include "run/view_sources.h"

/* The result: the view that was made or already existed. */
struct bl_view_made {
    struct bl_manifest manifest;
    struct bl_plan plan; /* counts of the plan of the first epoch; its tables are NULL */
    /* The epochs that repeat the block neighbours of an earlier epoch, since no other packing was found. */
    int64_t repeated;
    bool existed; /* the same view existed and is complete: nothing was written */
    bool empty;   /* no sequence is within longer_than and up_to: nothing was written */
};

/* Makes the view in request->output. After BL_OK, the caller frees *made with bl_view_made_free. BL_EUSAGE: a source is
 * no dataset, or is itself a view; the fields of the sources differ; the output holds other files or another view; or
 * options contradict each other. BL_EFAIL: there is nothing to plan, a sequence is longer than T, or the system failed.
 * BL_EDATA: a source is damaged. */
int bl_view_make(const struct bl_view_request *request, struct bl_view_made *made, struct bl_error *e);
void bl_view_made_free(struct bl_view_made *made);

#endif
