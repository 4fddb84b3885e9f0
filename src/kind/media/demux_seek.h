/* Seeking to a packet that was read before. */
#ifndef BL_DEMUX_SEEK_H
#define BL_DEMUX_SEEK_H

#include "kind/media/demux.h"

/* Reads the stream's packet at a position in the file that is shown at a time, in ticks. *found: false if it is not
 * there, or cannot be reached. BL_EFAIL, BL_ECANCEL. */
int bl_demux_seek(struct bl_demux *d, int64_t position, int64_t time, AVPacket *packet, bool *found,
                  struct bl_error *e);

#endif
