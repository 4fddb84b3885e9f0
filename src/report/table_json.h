/* A table of sequences summed up as JSON, for programs. */
#ifndef BL_TABLE_JSON_H
#define BL_TABLE_JSON_H

#include "base/buffer.h"
#include "base/error.h"
#include "kind/kind.h"

/* Reads the table and appends {"table", "kind", "files", "bytes", "sequences", "steps", "longest", "hours", "skipped",
 * "empty", "failed", "damaged", "dropped", "fault_count", "totals", "reasons": [{"status", "reason", "rows", "first"}],
 * "run"}. run: the member, which it frees. Errors as of bl_sequences_open. */
struct json_t;
int bl_table_json(const char *path, struct json_t *run, struct bl_buffer *out, struct bl_error *e);

/* Sums of columns other than 0, as the summary tells them: {COLUMN: {"sum", "rows"}}. NULL: out of memory. */
struct json_t *bl_totals_json(const struct bl_totals *totals);

#endif
