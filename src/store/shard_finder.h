/* Finding the shards that an earlier run finished. */
#ifndef BL_SHARD_FINDER_H
#define BL_SHARD_FINDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "store/format.h"
#include "store/shard_record.h"

/* Looks for a finished shard, and fills *record if there is one. *found is false when there is none, or when the file
 * does not have the format's header, plan digest or the recorded size, so that it must be written again. Contents are
 * not read. BL_EFAIL: the system failed. */
int bl_shard_find(const struct bl_format *format, const char *dir, int64_t shard, struct bl_shard_record *record,
                  bool *found, struct bl_error *e);

#endif
