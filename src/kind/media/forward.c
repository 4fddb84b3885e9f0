/* A macro for each kind of function: they differ in nothing but the kind. Counters and readers come from the module, so
 * it is open when they are used. */
#include "kind/media/forward.h"

#include "kind/media/module.h"

#define COUNTER(kind)                                                                                                  \
    int bl_##kind##_forward_open_counter(const void *config, const struct bl_kind_env *env,                            \
                                         struct bl_counter **counter, struct bl_error *e)                              \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        return code ? code : media->kind.open_counter(config, env, counter, e);                                        \
    }                                                                                                                  \
    void bl_##kind##_forward_close_counter(struct bl_counter *counter)                                                 \
    {                                                                                                                  \
        bl_media_opened()->kind.close_counter(counter);                                                                \
    }

#define COUNT(kind)                                                                                                    \
    int bl_##kind##_forward_count(const void *config, const struct bl_kind_env *env, struct bl_counter *counter,       \
                                  struct bl_chunk *chunk, bl_row_emit *emit, void *sink, struct bl_error *e)           \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        return code ? code : media->kind.count(config, env, counter, chunk, emit, sink, e);                            \
    }

#define SIZE(kind)                                                                                                     \
    int bl_##kind##_forward_size(const void *config, const struct bl_kind_env *env, const struct bl_row *row,          \
                                 struct bl_dimensions *size, struct bl_error *e)                                       \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        return code ? code : media->kind.size(config, env, row, size, e);                                              \
    }

#define READER(kind)                                                                                                   \
    int bl_##kind##_forward_open_reader(const void *config, const struct bl_kind_env *env,                             \
                                        const struct bl_fields *fields, struct bl_reader **reader, struct bl_error *e) \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        return code ? code : media->kind.open_reader(config, env, fields, reader, e);                                  \
    }                                                                                                                  \
    int bl_##kind##_forward_piece(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note,    \
                                  struct bl_error *e)                                                                  \
    {                                                                                                                  \
        return bl_media_opened()->kind.piece(reader, request, note, e);                                                \
    }                                                                                                                  \
    void bl_##kind##_forward_close_reader(struct bl_reader *reader)                                                    \
    {                                                                                                                  \
        bl_media_opened()->kind.close_reader(reader);                                                                  \
    }

#define VERSIONS(kind)                                                                                                 \
    int bl_##kind##_forward_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit,         \
                                     void *sink, struct bl_error *e)                                                   \
    {                                                                                                                  \
        const struct bl_media *media;                                                                                  \
        int code = bl_media_open(&media, e);                                                                           \
        (void)env;                                                                                                     \
        if (!code)                                                                                                     \
            media->kind.versions(config, emit, sink);                                                                  \
        return code;                                                                                                   \
    }

COUNTER(video)
COUNTER(frames)
COUNTER(audio)
COUNT(video)
COUNT(frames)
COUNT(audio)
SIZE(video)
SIZE(frames)
READER(video)
READER(frames)
READER(audio)
VERSIONS(video)
VERSIONS(audio)
