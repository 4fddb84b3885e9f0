/* Prints forecasts: all of one for bload pack --dry-run, and what is worth knowing before a long run. */
#ifndef BL_CMD_FORECAST_H
#define BL_CMD_FORECAST_H

#include "base/error.h"
#include "store/info.h"

/* Prints some lines on stderr: the shards and their room, memory, time, and what they are estimated from. */
void bl_forecast_print(const char *dir, const struct bl_forecast *forecast);

/* Before the first shard of a run: prints a line if the run will be long, and a warning if the disk may become full.
 * The forecast is that of the plan. */
void bl_forecast_announce(const char *dir, const struct bl_forecast *forecast, bool quiet);

/* Whether there is room for the shards, or at least for the fewest bytes that they may have. BL_EFAIL, with both
 * figures: there is not. */
int bl_forecast_check_room(const char *dir, const struct bl_forecast *forecast, struct bl_error *e);

/* Prints it on standard output as JSON. */
int bl_forecast_write_json(const struct bl_forecast *forecast, struct bl_error *e);

#endif
