/* Forecasts the size and the duration of a planned run, without writing a dataset. struct bl_forecast is in
 * store/info.h. */
#ifndef BL_FORECAST_H
#define BL_FORECAST_H

#include "run/job.h"
#include "store/info.h"

/* Fills the forecast from the plan alone, without a sample. Then the bytes of encoded or compressed shards and the time
 * are unknown (-1). The pointers in *forecast are valid as long as the packing. BL_EFAIL: the system fails. */
int bl_packing_forecast_plan(struct bl_packing *packing, struct bl_forecast *forecast, struct bl_error *e);

/* Fills the whole forecast of a dry run; reading the sample takes a few seconds. Returns errors as bl_packing_write
 * does. */
int bl_packing_forecast(struct bl_packing *packing, struct bl_forecast *forecast, struct bl_error *e);

#endif
