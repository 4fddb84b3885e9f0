/* What lines of NeMo's and lhotse's manifests say beside what entry.h reads of them: columns of the table of sequences.
 */
#ifndef BL_MANIFEST_KEYS_H
#define BL_MANIFEST_KEYS_H

#include "kind/list.h"

/* bl_kind_scan.manifest_values. Of lhotse's supervisions each has its own: the same column comes several times. */
int bl_manifest_values(const struct bl_json_value *line, bl_list_value_take *take, void *sink, struct bl_error *e);

#endif
