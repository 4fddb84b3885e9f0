/* How many samples the tables of a QuickTime file claim without having an entry for each: libavformat makes an index of
 * all of them before it reads any, so that a few bytes could fill any memory. */
#ifndef BL_MOV_CLAIMS_H
#define BL_MOV_CLAIMS_H

#include <stdint.h>

#include "kind/media/media_file.h"

#define BL_MOV_CLAIM_BYTES 64 /* that an index and our lists take for a sample */

/* Their number; 0 for a file that is none of QuickTime's. BL_EFAIL: the file cannot be read. */
int bl_mov_claims_count(const struct bl_media_file *file, int64_t *count, struct bl_error *e);

#endif
