/* The options of a plan, as a manifest recorded them. */
#ifndef BL_RECORDED_OPTIONS_H
#define BL_RECORDED_OPTIONS_H

#include "plan/options.h"
#include "store/manifest.h"

/* Sets all options of the plan. Their texts are the manifest's, which must outlive them; durations are still to be
 * resolved. BL_EUSAGE: a value is invalid. */
int bl_recorded_plan_options(const struct bl_manifest *manifest, struct bl_plan_options *options, struct bl_error *e);

#endif
