/* The request for a view and the state of making it, which the steps of view_make.h fill in this order. */
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

/* How several sources share the blocks: each block has one source, or sequences of all sources are mixed. */
enum bl_blending { BL_BLEND_BATCH, BL_BLEND_RANDOM };

struct bl_view_request {
    const char *tool; /* version of bload */
    const char *output;
    const char *const *dir; /* [count] the sources */
    const double *weight;   /* [count] 0: no weight; either all sources have one or none */
    int count;
    const char *group_by;           /* a column, or NULL */
    struct bl_exclusion *exclusion; /* ids to leave out, or NULL */
    const struct bl_subset_options *subset;
    enum bl_blending mix;            /* how to combine several sources */
    struct bl_plan_options *options; /* durations are resolved here */
    const struct bl_options *given;  /* the options bound to these structs; they are part of the identity of the view */
    int64_t epochs, epoch_steps, repeat_max;
    int64_t sequence_slots;     /* S; 0: as many as the plans need */
    int64_t longer_than, up_to; /* in steps: the view has only longer than the first, up to the second; 0: no limit */
    void (*message)(void *sink, const char *text);                /* shows a note to the user; or NULL */
    void (*left_out)(void *sink, const struct bl_subset *subset); /* reports what the subset left out; or NULL */
    void (*tick)(void *sink, const struct bl_progress *progress); /* before and after each plan; or NULL */
    void *sink;
};

/* The state of making a view. */
struct bl_view_job {
    const struct bl_view_request *request;
    struct bl_manifest *manifest;
    struct bl_dataset *source; /* [request->count] */
    struct bl_buffer identity;
    struct bl_sequences table; /* of all sources; its lengths become the stored ones */
    int64_t *first_row;        /* [count + 1] first row of each source in the table; the last is the number of rows */
    struct bl_places places;
    struct bl_plan_own own;                  /* the fields with steps of their own of all sources, by name */
    double *own_length[BL_PLAN_COLUMNS_MAX]; /* [rows] stored own steps, by own field */
    bool begins_late;                        /* the stored steps of some row begin after its first step */
    struct bl_attribute_values values;
    struct bl_planner planner; /* one of these three makes the plans */
    struct bl_blend blend;
    struct bl_mixture mixture;
    struct bl_partitions taken;  /* which pieces share blocks in the planner's earlier epochs */
    struct bl_plan plan;         /* plan of the present epoch */
    struct bl_progress progress; /* first of choosing the subset, then of the plans */
    bool is_new;                 /* this run made the directory */
    int lock;                    /* descriptor of the locked output directory, or -1 */
};

/* Opens the sources, compares their fields, and lists them in the manifest, still without rows and paths. BL_EUSAGE:
 * the fields differ, or a source is a view or is named twice. */
int bl_view_job_open_sources(struct bl_view_job *job, struct bl_error *e);

/* Makes or opens the output directory and locks it. *same: the directory already holds this view, complete; then the
 * job has its manifest. BL_EUSAGE: the directory holds something else. */
int bl_view_job_open_output(struct bl_view_job *job, bool *same, struct bl_error *e);

/* Formats a note and passes it to request->message. */
void bl_view_job_message(const struct bl_view_job *job, const char *format, ...) BL_PRINTF(2, 3);

#endif
