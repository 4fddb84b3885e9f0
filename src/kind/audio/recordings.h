/* Recordings: what counting told of files that a manifest names, so that one that many lines are cut from is decoded
 * once by a worker, and not once for each. */
#ifndef BL_RECORDINGS_H
#define BL_RECORDINGS_H

#include "kind/audio/count.h"

struct bl_recording {
    char *path; /* NULL: no entry */
    int64_t bytes;
    uint64_t content; /* kind/content.h */
    int code;         /* of bl_audio_count: BL_OK or BL_EDATA */
    struct bl_audio_info count;
    char *reason; /* why; with BL_EDATA */
};

struct bl_recordings {
    struct bl_recording *slot; /* by the path's hash; the last one to come stays. NULL: none came */
};

/* Begins as {0}. */
void bl_recordings_close(struct bl_recordings *recordings);

/* The recording at path, counted now or before; valid until the next call. BL_EFAIL, BL_ECANCEL. */
int bl_recordings_find(struct bl_recordings *recordings, const struct bl_audio_config *config,
                       const struct bl_cancel *cancel, const char *path, const struct bl_recording **recording,
                       struct bl_error *e);

#endif
