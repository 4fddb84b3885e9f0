/* The manifest as JSON: writing and reading. */
#ifndef BL_MANIFEST_JSON_H
#define BL_MANIFEST_JSON_H

#include <jansson.h>

#include "base/error.h"
#include "store/manifest.h"
#include "store/plan_info.h"

#define BL_MANIFEST_NO_DIGEST "0000000000000000" /* stands for the checksum while it is computed */

/* A manifest as JSON, with BL_MANIFEST_NO_DIGEST for its checksum. NULL: out of memory. */
json_t *bl_manifest_to_json(const struct bl_manifest *manifest);

/* Reads all members but format and checksum into an empty manifest, and checks types and ranges. BL_EDATA names the
 * member that is missing or invalid. */
int bl_manifest_from_json(const json_t *object, struct bl_manifest *manifest, struct bl_error *e);

#endif
