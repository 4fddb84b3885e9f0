/* Shared by the parts of making a view, which fill the struct in this order. */
#ifndef BL_VIEW_JOB_H
#define BL_VIEW_JOB_H

#include "run/view_make.h"
#include "plan/mixture.h"
#include "store/attribute_values.h"
#include "store/dataset.h"
#include "store/places.h"
#include "store/sequences.h"

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
