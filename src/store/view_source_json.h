/* The sources of a view in its manifest: "rows" and "sources". */
#ifndef BL_VIEW_SOURCE_JSON_H
#define BL_VIEW_SOURCE_JSON_H

#include "store/jansson.h"
#include "store/manifest.h"

/* The list; NULL: out of memory. */
json_t *bl_view_sources_to_json(const struct bl_manifest *manifest);

/* Reads both members. BL_EDATA: invalid, or the rows of the sources do not follow each other. */
int bl_view_sources_from_json(const json_t *object, struct bl_manifest *manifest, struct bl_error *e);

#endif
