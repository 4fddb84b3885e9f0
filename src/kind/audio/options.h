/* The options of the audio kind: their values, and the functions of struct bl_kind that need nothing else. Audio per
 * step (per_step.h) has them, too. */
#ifndef BL_OPTIONS_H
#define BL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "kind/kind.h"

/* --- option values ------------------------------------------------------------------------------------------------ */

enum bl_audio_dtype { BL_AUDIO_S16, BL_AUDIO_F32 };

struct bl_audio_config {
    struct bl_kind_config common; /* dtype: enum bl_audio_dtype */
    int64_t rate;                 /* Hz */
    int64_t channels;
    int channel;          /* 0: all of them, mixed; else 1 + the number of the one that is taken */
    int resampler;        /* enum bl_resampler_engine */
    const char *features; /* their name, for bl_features_parse; NULL: samples */
    int64_t mel_high;     /* Hz; 0 or less: counted from half the rate */
    bool snip_edges;
    struct bl_rational gap; /* seconds; num 0: timestamps do not count; den 0: not given */
    bool by_clock;          /* timestamps count, unless gap says otherwise: sound per step */
};

/* --- options ------------------------------------------------------------------------------------------------------ */

extern const char *const bl_audio_dtypes[];
extern const struct bl_option bl_audio_options[];

int bl_audio_check(const void *config, struct bl_error *e);
int bl_audio_check_dtype(const void *config, struct bl_error *e);
const char *bl_audio_steps(const void *config);
void bl_audio_sampling(const void *config, struct bl_buffer *out);
int bl_audio_fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row, struct bl_fields *out,
                    struct bl_error *e);
void bl_audio_describe(const void *config, const struct bl_field *field, struct bl_buffer *out);

/* The features (features.h) that the options ask for; false when they ask for none. The options were checked before. */
struct bl_features_spec;
bool bl_features_from_config(const struct bl_audio_config *config, struct bl_features_spec *spec);

/* The limit of timestamps (marks.h). Sound per step follows them unless it is told not to. */
struct bl_rational bl_audio_gap(const struct bl_audio_config *config);

#endif
