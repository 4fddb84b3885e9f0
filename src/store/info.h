/* A summary of a dataset's contents, for people and programs. */
#ifndef BL_INFO_H
#define BL_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/left_out.h"
#include "store/epochs_company.h"
#include "store/manifest.h"

#define BL_INFO_BARS 16   /* of the histogram, maximum */
#define BL_INFO_FAULTS 10 /* inputs listed, maximum */

struct bl_info_fault {
    char *id, *reason;
    const char *status;
};

struct bl_info {
    struct bl_manifest manifest;
    int64_t shards, bytes; /* of all shards */
    double hours;          /* total length of the sequences, if steps have a rate; else 0 */
    int64_t damaged;       /* inputs that could be read only in part */
    int64_t dropped;       /* sequences that are in no block, as the options want it: of a view, those of its plan; */
    int64_t excluded;      /* of these, those that the table left out before the plan */
    struct bl_left_out_counts left_out; /* of these, by option */
    int64_t naive_padding; /* steps of padding if every sequence were padded to the longest; -1: not representable */
    int bars;
    int64_t bar_width;         /* steps: bar i counts lengths from i * bar_width + 1 to (i + 1) * bar_width */
    int64_t bar[BL_INFO_BARS]; /* sequences that were planned */
    int64_t fault_count;       /* inputs that were skipped or failed, or are damaged */
    int faults;                /* entries of fault */
    struct bl_info_fault fault[BL_INFO_FAULTS];
    struct bl_epochs_company company;
};

/* Reads manifest, tables and plans, but no shard. Errors as of bl_manifest_read. Free with bl_info_free. */
int bl_info_read(struct bl_info *info, const char *dir, struct bl_error *e);
void bl_info_free(struct bl_info *info);

/* Appends it as JSON: the manifest, and the members above by their names. run: a last member of that name, which it
 * frees; or NULL. */
struct json_t;
int bl_info_json(const struct bl_info *info, struct json_t *run, struct bl_buffer *out, struct bl_error *e);

/* Whether sequences were cut into parts that are all in blocks. */
bool bl_info_is_split(const struct bl_info *info);

#endif
