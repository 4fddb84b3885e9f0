/* Making a view: other plans over what datasets store, without any of their bytes.
 *
 * The order of the work: open the sources and compare their fields; find where each sequence is stored; plan, over the
 * steps that are stored; write plans and places, and last the manifest. A run that is interrupted leaves a directory
 * without a manifest, and the next one makes the same bytes. */
#ifndef BL_VIEW_MAKE_H
#define BL_VIEW_MAKE_H

#include "base/option.h"
#include "plan/mixture.h"
#include "plan/options.h"
#include "run/heartbeat.h"
#include "scan/subset.h"
#include "store/manifest.h"

enum bl_blending { BL_BLEND_BATCH, BL_BLEND_RANDOM };

struct bl_view_request {
    const char *tool; /* its version */
    const char *output;
    const char *const *dir; /* [count] the sources */
    const double *weight;   /* [count] 0: none, of all or of no source */
    int count;
    const char *group_by;           /* a column, or NULL */
    struct bl_exclusion *exclusion; /* ids that are left out, or NULL */
    const struct bl_subset_options *subset;
    enum bl_blending mix;            /* of several sources */
    struct bl_plan_options *options; /* durations are resolved here */
    const struct bl_options *given;  /* the options that these are bound to: the identity of the view */
    int64_t epochs, epoch_steps, repeat_max;
    int64_t sequence_slots;                        /* S; 0: as many as the plans need */
    int64_t longer_than, up_to;                    /* steps: only such sequences are in the view; 0: no limit */
    void (*message)(void *sink, const char *text); /* what a user should know; or NULL */
    void (*left_out)(void *sink, const struct bl_subset *subset); /* what the subset left out; or NULL */
    void (*tick)(void *sink, const struct bl_progress *progress); /* before and after each plan; or NULL */
    void *sink;
};

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
