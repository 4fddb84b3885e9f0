/* How fast a file is written. */
#ifndef BL_WRITE_RATE_H
#define BL_WRITE_RATE_H

#include <stdint.h>

#include "base/cancel.h"
#include "base/error.h"

struct bl_write_rate {
    int64_t bytes;
    double seconds; /* of them, syncs included */
};

/* Writes to fd, and to direct as bl_direct_pwrite does, and syncs now and then, for about a second; the file gets room
 * bytes at most, at least a MiB, which are then written again. path: for messages. BL_EFAIL, BL_ECANCEL. */
int bl_write_rate_measure(struct bl_write_rate *rate, int fd, int direct, int64_t room, const char *path,
                          const struct bl_cancel *cancel, struct bl_error *e);

#endif
