/* Truncation: whether a file ends before its container says. */
#ifndef BL_TRUNCATION_H
#define BL_TRUNCATION_H

#include "kind/media/demux.h"

/* Whether the container claims more bytes than the file has. */
bool bl_truncation_detect(const struct bl_demux *d);

#endif
