/* The forecast of a run, once it is planned: see store/info.h. */
#ifndef BL_FORECAST_H
#define BL_FORECAST_H

#include "run/job.h"
#include "store/info.h"

/* What the plan alone tells, without a sample: bytes of encoded or compressed shards are not known, nor is the time.
 * What it points to lives as long as the packing. Errors: BL_EFAIL. */
int bl_packing_forecast_plan(struct bl_packing *packing, struct bl_forecast *forecast, struct bl_error *e);

/* All of it, of a dry run: a sample is read in a few seconds. Errors as of bl_packing_write. */
int bl_packing_forecast(struct bl_packing *packing, struct bl_forecast *forecast, struct bl_error *e);

#endif
