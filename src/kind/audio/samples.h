/* The samples of a file, or of a cut of it, in order: decoded, mixed, resampled. A step is a sample of all channels. */
#ifndef BL_SAMPLES_H
#define BL_SAMPLES_H

#include "kind/audio/mix.h"
#include "kind/audio/trim.h"

struct bl_samples {
    struct bl_trim trim;
    struct bl_mix *mix; /* the caller's: kept from file to file */
    AVFrame *frame;
    struct bl_buffer ready; /* steps that are made, and from `taken` on not read yet */
    size_t taken;           /* bytes */
    size_t step_bytes;
    int64_t position; /* steps read or skipped so far */
    bool ended;
};

/* Arguments and errors as bl_trim_open's. mix outlives it. */
int bl_samples_open(struct bl_samples *s, struct bl_mix *mix, const char *path, int64_t bytes, int stream,
                    struct bl_rational gap, const struct bl_kind_env *env, struct bl_error *e);

/* From now on steps are those of this cut, from its first on; see bl_trim_set. */
void bl_samples_begin(struct bl_samples *s, const struct bl_cut *cut, bool damaged);
void bl_samples_close(struct bl_samples *s);

/* Reads the next steps into out, or skips them where that is NULL. *got is less than wanted only at the end. */
int bl_samples_read(struct bl_samples *s, uint8_t *out, int64_t wanted, int64_t *got, struct bl_error *e);

#endif
