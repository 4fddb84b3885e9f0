/* The information about a plan as members of a JSON object. */
#ifndef BL_PLAN_INFO_JSON_H
#define BL_PLAN_INFO_JSON_H

#include <jansson.h>

#include "base/error.h"
#include "store/plan_info.h"

/* Adds the members to *object, as bl_jansson_set does. */
void bl_plan_info_to_json(const struct bl_plan_info *info, json_t **object);

/* Reads them. BL_EDATA names the member that is missing or invalid. */
int bl_plan_info_from_json(struct bl_plan_info *info, const json_t *object, struct bl_error *e);

#endif
