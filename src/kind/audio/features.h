/* Features of speech in frames of 10 ms: Whisper's log-mel and Kaldi's filter bank, of one channel of samples in -1
 * to 1.
 *
 * whisperN (80, 128): 400 samples every 160 at 16 kHz, centred, the ends reflected, the last frame left out; periodic
 * Hann; power; Slaney's mel filters; log10 of at least 1e-10, at least the utterance's maximum less 8, plus 4, over 4.
 * Source: OpenAI's whisper/audio.py.
 *
 * fbankN: 25 ms every 10 ms; the mean removed, preemphasis 0.97, symmetric Hann^0.85, FFT of the next power of two;
 * power; triangles on Kaldi's mel scale from 20 Hz; natural log of at least FLT_EPSILON. Frames lie on the whole
 * utterance with mirrored ends, (n + 80) / 160 of them at 16 kHz, or with snip only where they fit, 1 + (n - 400) /
 * 160. Source: Kaldi's feature-fbank, feature-window.
 *
 * Arithmetic is in float, in one order, so that the numbers do not depend on the processor. */
#ifndef BL_FEATURES_H
#define BL_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/audio/config.h"

#define BL_FEATURES_MELS_MAX 512

struct bl_features_spec {
    bool whisper;
    int mels, rate;
    int high; /* Hz; 0 or less: counted from half the rate */
    bool snip;
};

/* Parses "whisper80", "whisper128", "fbank1" to "fbank512"; sets whisper and mels. BL_EUSAGE. */
int bl_features_parse(const char *text, struct bl_features_spec *spec, struct bl_error *e);

/* Checks rate and high. BL_EUSAGE. */
int bl_features_check(const struct bl_features_spec *spec, struct bl_error *e);

/* The features that the options ask for; false when they ask for none. The options were checked before. */
bool bl_features_from_config(const struct bl_audio_config *config, struct bl_features_spec *spec);

/* Frames that so many samples give. */
int64_t bl_features_frames(const struct bl_features_spec *spec, int64_t samples);

struct bl_features; /* windows, filters, FFT: of one worker */

int bl_features_open(struct bl_features **f, const struct bl_features_spec *spec, struct bl_error *e);
void bl_features_close(struct bl_features *f);

/* One utterance: begin, push any number of samples, end. Frames (mels floats each) are appended to out as soon as they
 * can be computed. After end they are final, and as many as bl_features_frames says. */
void bl_features_begin(struct bl_features *f);
int bl_features_push(struct bl_features *f, const float *samples, int64_t count, struct bl_buffer *out,
                     struct bl_error *e);
int bl_features_end(struct bl_features *f, struct bl_buffer *out, struct bl_error *e);

#endif
