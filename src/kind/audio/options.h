/* The options of the audio kind: their values, and the functions of struct bl_kind that need nothing else.
 *
 * Audio per step (per_step.h) has the same options; its configuration begins with struct bl_audio_config. */
#ifndef BL_OPTIONS_H
#define BL_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/option.h"
#include "kind/audio/channels.h"
#include "kind/kind.h"

/* --- option values ------------------------------------------------------------------------------------------------ */

enum bl_audio_dtype { BL_AUDIO_S16, BL_AUDIO_F32 };

struct bl_audio_config {
    struct bl_kind_config common;   /* dtype: enum bl_audio_dtype */
    int64_t rate;                   /* of the samples that are packed, Hz: 100 to 768000 */
    int64_t channels;               /* option: 1 to BL_AUDIO_CHANNELS_MAX; call bl_audio_channels */
    struct bl_channel_list channel; /* those that are taken of each file; no choice: all are mixed */
    int resampler;                  /* enum bl_resampler_engine */
    const char *features;           /* such as "fbank80", for bl_features_parse; NULL: steps are samples */
    int64_t mel_high;               /* the upper end of the filters, Hz; 0 or less: relative to half the rate */
    bool snip_edges;                /* only frames of features with a complete window */
    struct bl_rational gap;         /* seconds; num 0: timestamps do not count; den 0: not given */
    bool by_clock;                  /* timestamps count unless gap is given: set for sound per step */
};

/* --- options ------------------------------------------------------------------------------------------------------ */

extern const char *const bl_audio_dtypes[];
extern const struct bl_option bl_audio_options[];

/* These six functions are members of struct bl_kind, which explains them. config is a struct bl_audio_config. */
int bl_audio_check(const void *config, struct bl_error *e);
int bl_audio_check_dtype(const void *config, struct bl_error *e);
const char *bl_audio_steps(const void *config);
void bl_audio_sampling(const void *config, struct bl_buffer *out);
int bl_audio_fields(const void *config, const struct bl_kind_env *env, const struct bl_row *row, struct bl_fields *out,
                    struct bl_error *e);
void bl_audio_describe(const void *config, const struct bl_field *field, struct bl_buffer *out);

/* Returns the number of channels that samples have: --channels, or as many as --channel names. Features are always
 * those of one channel. */
int bl_audio_channels(const struct bl_audio_config *config);

/* The column of the table that counts the channels of a file that --channel leaves out. It exists where --channel names
 * several channels. */
#define BL_AUDIO_LEFT "channels_left"
#define BL_AUDIO_LEFT_TOTAL                                                                                            \
    {                                                                                                                  \
        .column = BL_AUDIO_LEFT, .text = "channels of files that --channel leaves out", .name = BL_AUDIO_LEFT,         \
        .tells_rows = true                                                                                             \
    }

/* Counts the sequences that are silent. */
#define BL_AUDIO_SILENT_TOTAL                                                                                          \
    {                                                                                                                  \
        .column = BL_KIND_SILENT, .text = "sequences without sound, which have zeros", .value = "1",                   \
        .name = BL_KIND_SILENT                                                                                         \
    }

/* Returns whether the table has the column BL_AUDIO_LEFT. */
bool bl_audio_counts_left(const struct bl_audio_config *config);

/* Appends the names of the columns that the options request, a tab before each: BL_AUDIO_LEFT and BL_KIND_SILENT. */
void bl_audio_option_columns(const struct bl_audio_config *config, struct bl_buffer *out);

/* Appends the values of these columns, a tab before each. channels: of the file, 0: not known; chosen: of the sequence,
 * 0: those of the options. */
void bl_audio_append_values(const struct bl_audio_config *config, int channels, int chosen, bool silent,
                            struct bl_buffer *out);

/* The features (features.h) that the options ask for; false when they ask for none. The options were checked before. */
struct bl_features_spec;
/* Makes the specification of the features that the options request; false: they request samples. bl_audio_check must
 * have accepted the options. */
bool bl_features_from_config(const struct bl_audio_config *config, struct bl_features_spec *spec);

/* Returns the limit of gaps in timestamps (marks.h), in seconds; num 0: timestamps do not count. Without the option,
 * timestamps count for sound per step only, with a limit of 10 ms. */
struct bl_rational bl_audio_gap(const struct bl_audio_config *config);

#endif
