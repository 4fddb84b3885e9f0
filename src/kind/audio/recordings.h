/* Recordings: a cache of what counting found in the files that a manifest names. A worker decodes a file that many
 * lines are cut from once, not for each of them. */
#ifndef BL_RECORDINGS_H
#define BL_RECORDINGS_H

#include "kind/audio/count.h"

struct bl_recording {
    char *path; /* NULL: no entry */
    int64_t bytes;
    uint64_t content; /* kind/content.h */
    int code;         /* of bl_audio_count: BL_OK, or BL_EDATA with the reason */
    struct bl_audio_info info;
    struct bl_marks marks; /* none of a damaged one */
    char *reason;
};

struct bl_recordings {
    struct bl_recording *slot; /* by the path's hash; a new one replaces the old. NULL: none yet */
    bool wants_marks;          /* of recordings, for clips */
    size_t memory;             /* bytes of all marks */
};

/* Start from {0}. */
void bl_recordings_close(struct bl_recordings *recordings);

/* Finds the recording at path, and counts it where it is not in the cache. Valid until the next call. BL_EFAIL,
 * BL_ECANCEL. */
int bl_recordings_find(struct bl_recordings *recordings, const struct bl_audio_config *config,
                       const struct bl_kind_env *env, const char *path, const struct bl_recording **recording,
                       struct bl_error *e);

#endif
