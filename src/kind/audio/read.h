/* Reading pieces of sound: see struct bl_kind_read. */
#ifndef BL_KIND_AUDIO_READ_H
#define BL_KIND_AUDIO_READ_H

#include "kind/audio/cuts.h"
#include "kind/kind.h"

/* --- read --------------------------------------------------------------------------------------------------------- */

int bl_audio_reader_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                         struct bl_reader **reader, struct bl_error *e);
int bl_audio_reader_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,
                         struct bl_error *e);
void bl_audio_reader_close(struct bl_reader *reader);

/* --- decoding ----------------------------------------------------------------------------------------------------- */

/* The functions of the audio kind that the media module has, for struct bl_decoding. */

int bl_audio_decoding_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,
                            struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e);
void bl_audio_decoding_versions(const void *config, bl_version_emit *emit, void *sink);

#define BL_AUDIO_DECODING                                                                                              \
    {                                                                                                                  \
        .open_counter = bl_cuts_counter_open, .close_counter = bl_cuts_counter_close,                                  \
        .count = bl_audio_decoding_count, .open_reader = bl_audio_reader_open, .piece = bl_audio_reader_read,          \
        .close_reader = bl_audio_reader_close, .versions = bl_audio_decoding_versions                                  \
    }

#endif
