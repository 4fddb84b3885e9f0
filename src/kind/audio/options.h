/* What the options of the audio kind say: the functions of struct bl_kind that need nothing else. Audio per step
 * (per_step.h) has them, too. */
#ifndef BL_AUDIO_OPTIONS_H
#define BL_AUDIO_OPTIONS_H

#include "kind/audio/config.h"
#include "kind/kind.h"

extern const char *const bl_audio_dtypes[];
extern const struct bl_option bl_audio_options[];

int bl_audio_check(const void *config, struct bl_error *e);
int bl_audio_check_dtype(const void *config, struct bl_error *e);
const char *bl_audio_steps(const void *config);
void bl_audio_sampling(const void *config, struct bl_buffer *out);
int bl_audio_fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row, struct bl_fields *out,
                    struct bl_error *e);
void bl_audio_describe(const void *config, const struct bl_field *field, struct bl_buffer *out);

/* The limit of timestamps (gaps.h). Sound per step follows them unless it is told not to. */
struct bl_rational bl_audio_gap(const struct bl_audio_config *config);

#endif
