/* What is in a dataset, gathered for a person or a program. */
#ifndef BL_INFO_H
#define BL_INFO_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/manifest.h"

#define BL_INFO_BARS 16   /* of the histogram, at most */
#define BL_INFO_FAULTS 10 /* inputs named, at most */

struct bl_info_fault {
    char *id, *reason;
    const char *status;
};

struct bl_info {
    struct bl_manifest manifest;
    int64_t shards, bytes; /* of all shards */
    double hours;          /* of all sequences, where steps have a rate; else 0 */
    int64_t damaged;       /* inputs of which only a part could be read */
    int64_t dropped;       /* sequences that were left out by request */
    int64_t naive_padding; /* steps, if every sequence were padded to the longest; -1: beyond all numbers */
    int bars;
    int64_t bar_width;         /* steps: bar i counts lengths i * bar_width + 1 to (i + 1) * bar_width */
    int64_t bar[BL_INFO_BARS]; /* sequences that were planned */
    int64_t fault_count;       /* inputs that were skipped, failed or are damaged */
    int faults;                /* how many of them are named */
    struct bl_info_fault fault[BL_INFO_FAULTS];
};

/* Reads manifest and tables; shards are not touched. Codes as bl_manifest_read. Free with bl_info_free. */
int bl_info_read(struct bl_info *info, const char *dir, struct bl_error *e);
void bl_info_free(struct bl_info *info);

/* Appends it as JSON: the words, and all of the above by its name. */
int bl_info_json(const struct bl_info *info, struct bl_buffer *out, struct bl_error *e);

#endif
