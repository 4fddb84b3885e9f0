/* Truncation: whether a file ends before its container says, or goes on behind it. */
#ifndef BL_TRUNCATION_H
#define BL_TRUNCATION_H

#include "kind/media/demux.h"

/* Whether the container claims more bytes than the file has. */
bool bl_truncation_detect(const struct bl_demux *d);

/* Whether a second Matroska file follows in the same one, which libav reads with the headers of the first. */
bool bl_truncation_is_joined(const struct bl_demux *d);

#endif
