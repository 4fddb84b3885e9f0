/* The steps of a file, or of a cut of it, in order: decoded, mixed, resampled. */
#ifndef BL_SAMPLES_H
#define BL_SAMPLES_H

#include "kind/audio/mix.h"
#include "kind/audio/trim.h"

struct bl_samples {
    struct bl_trim window;
    struct bl_mix *mix; /* the caller's: kept from file to file */
    AVFrame *frame;
    struct bl_buffer ready; /* steps that were made and not taken yet, from `taken` on */
    size_t taken;           /* bytes */
    size_t step_bytes;
    int64_t position; /* steps taken or passed over so far */
    bool ended;
};

/* As bl_trim_open; the cut is all of the file. mix outlives it. */
int bl_samples_open(struct bl_samples *s, struct bl_mix *mix, const char *path, int64_t bytes, int stream,
                    const struct bl_cancel *cancel, struct bl_error *e);

/* From now on the steps are those of this cut, from its first; as bl_trim_set. */
void bl_samples_begin(struct bl_samples *s, const struct bl_cut *cut, bool damaged);
void bl_samples_close(struct bl_samples *s);

/* Takes the next steps, to out unless that is NULL; *got is less than wanted at the end alone. */
int bl_samples_read(struct bl_samples *s, uint8_t *out, int64_t wanted, int64_t *got, struct bl_error *e);

#endif
