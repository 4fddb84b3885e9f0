/* Truncation: whether a file ends before its container says, or goes on behind it. */
#ifndef BL_TRUNCATION_H
#define BL_TRUNCATION_H

#include "kind/media/demux.h"

/* Whether the container claims more bytes than the file has. */
bool bl_truncation_detect(const struct bl_demux *d);

/* Whether a second Matroska file follows in the same one, which libav reads with the headers of the first. */
bool bl_truncation_is_joined(const struct bl_demux *d);

/* Finds the header of a second file of the same container behind the first one, as `cat` joins them, which libav does
 * not read: of MP4 and QuickTime the second moov, of WAV, W64 and AIFF the first byte. *at is 0 where there is none.
 * BL_EFAIL: the file cannot be read. */
int bl_truncation_find_second(const struct bl_demux *d, int64_t *at, struct bl_error *e);

#endif
