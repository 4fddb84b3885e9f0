/* What a view is made from: the request, and the work on it, which the steps of view_make.h fill in this order. */
#ifndef BL_VIEW_SOURCES_H
#define BL_VIEW_SOURCES_H

#include "base/option.h"
#include "plan/mixture.h"
#include "plan/options.h"
#include "run/heartbeat.h"
#include "scan/subset.h"
#include "store/attribute_values.h"
#include "store/dataset.h"
#include "store/manifest.h"
#include "store/places.h"
#include "store/sequences.h"

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

struct bl_view_job {
    const struct bl_view_request *request;
    struct bl_manifest *manifest;
    struct bl_dataset *source; /* [request->count] */
    struct bl_buffer identity;
    struct bl_sequences table; /* of all sources; its lengths become the stored ones */
    int64_t *first_row;        /* [count + 1] */
    struct bl_places places;
    bool begins_late; /* the stored steps of a row do not begin with its first */
    struct bl_attribute_values values;
    struct bl_planner planner; /* one of these three */
    struct bl_blend blend;
    struct bl_mixture mixture;
    struct bl_partitions taken;  /* of the planner's epochs */
    struct bl_plan plan;         /* of the present epoch */
    struct bl_progress progress; /* of the subset, then of the plans */
    bool is_new;                 /* this run made the directory */
    int lock;
};

/* Opens the sources, compares their fields, and lists them in the manifest, without rows and paths (view_sources.c). */
int bl_view_job_open_sources(struct bl_view_job *job, struct bl_error *e);

/* Makes or opens the output, and locks it (view_sources.c). *same: it holds this view, complete, whose manifest the job
 * has now. BL_EUSAGE: it holds something else. */
int bl_view_job_open_output(struct bl_view_job *job, bool *same, struct bl_error *e);

/* Tells the user something. */
void bl_view_job_message(const struct bl_view_job *job, const char *format, ...) BL_PRINTF(2, 3);

#endif
