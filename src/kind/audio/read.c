/* See read.h. Every piece is decoded from the beginning of its file, so that its samples are the same wherever it
 * begins; the decoder stays where a piece ended, and goes on from there when a later piece of that file comes next.
 * Features are made of a whole file, since Whisper's depend on its maximum, and kept until another file comes. */
#include "kind/audio/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kind/audio/audio.h"
#include "kind/audio/samples.h"

struct bl_reader {
    const struct bl_audio_config *config;
    const struct bl_kind_env *env;
    struct bl_mix mix;
    char *path; /* of the file that is open, or NULL */
    int64_t bytes;
    int stream;
    struct bl_samples samples;

    struct bl_features *features; /* or NULL */
    size_t frame_bytes;
    struct bl_buffer frames; /* of the file that is open, all of them */
};

int bl_audio_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                  struct bl_reader **reader, struct bl_error *e)
{
    (void)fields;
    const struct bl_audio_config *c = config;
    *reader = calloc(1, sizeof **reader);
    if (!*reader)
        return bl_error_memory(e);
    struct bl_features_spec spec;
    bool features = bl_audio_features(c, &spec);
    (*reader)->config = c;
    (*reader)->env = env;
    (*reader)->frame_bytes = (size_t)spec.mels * sizeof(float);
    bl_mix_init(&(*reader)->mix, (int)c->rate, (int)c->channels, features || c->dtype == BL_AUDIO_F32);
    int code = features ? bl_features_open(&(*reader)->features, &spec, e) : BL_OK;
    if (code)
        bl_audio_close(*reader);
    return code;
}

static void leave(struct bl_reader *r)
{
    if (r->path)
        bl_samples_close(&r->samples);
    free(r->path);
    r->path = NULL;
}

void bl_audio_close(struct bl_reader *reader)
{
    if (!reader)
        return;
    leave(reader);
    bl_features_close(reader->features);
    bl_buffer_free(&reader->frames);
    bl_mix_free(&reader->mix);
    free(reader);
}

static bool is_open(const struct bl_reader *r, const struct bl_row *row)
{
    return r->path && strcmp(r->path, row->path) == 0 && r->stream == row->stream && r->bytes == row->bytes;
}

/* Stands at the beginning of the row's file. */
static int enter(struct bl_reader *r, const struct bl_row *row, struct bl_error *e)
{
    leave(r);
    char *path = strdup(row->path);
    if (!path)
        return bl_error_memory(e);
    int code = bl_samples_open(&r->samples, &r->mix, path, row->bytes, row->stream, r->env->cancel, e);
    if (code) {
        free(path);
        return code;
    }
    r->path = path;
    r->samples.sound.demux.path = path;
    r->bytes = row->bytes;
    r->stream = row->stream;
    return BL_OK;
}

static int count_differs(const struct bl_row *row, const char *steps, int64_t length, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " %s, decoding gives %s%" PRId64, row->length, steps,
                        length > row->length ? "at least " : "", length);
}

/* The piece; one that ends its sequence is followed to the end of the file. */
static int take(struct bl_reader *r, const struct bl_request *request, struct bl_error *e)
{
    struct bl_samples *s = &r->samples;
    int64_t got, more = 0, before = request->source_start - s->position;
    int code = bl_samples_take(s, NULL, before, &got, e);
    if (!code && got == before)
        code = bl_samples_take(s, request->out[0], request->steps, &got, e);
    if (!code && s->position < request->source_start + request->steps)
        return count_differs(&request->row, "samples", s->position, e);
    bool last = request->source_start + request->steps == request->row.length;
    if (!code && last)
        code = bl_samples_take(s, NULL, 1, &more, e);
    return !code && more ? count_differs(&request->row, "samples", s->position, e) : code;
}

static int read_samples(struct bl_reader *r, const struct bl_request *request, struct bl_error *e)
{
    bool at_hand = is_open(r, &request->row) && r->samples.position <= request->source_start;
    int code = at_hand ? BL_OK : enter(r, &request->row, e);
    if (!code)
        code = take(r, request, e);
    if (code || request->source_start + request->steps == request->row.length)
        leave(r);
    return code;
}

/* All frames of the file that was entered. */
static int frames_make(struct bl_reader *r, struct bl_error *e)
{
    float chunk[4096];
    int64_t got = 1;
    int code = BL_OK;
    bl_buffer_clear(&r->frames);
    bl_features_begin(r->features);
    while (!code && got) {
        code = bl_samples_take(&r->samples, (uint8_t *)chunk, sizeof chunk / sizeof *chunk, &got, e);
        if (!code)
            code = bl_features_push(r->features, chunk, got, &r->frames, e);
    }
    return code ? code : bl_features_end(r->features, &r->frames, e);
}

static int read_features(struct bl_reader *r, const struct bl_request *request, struct bl_error *e)
{
    int code = BL_OK;
    if (!is_open(r, &request->row)) {
        code = enter(r, &request->row, e);
        if (!code)
            code = frames_make(r, e);
    }
    int64_t frames = (int64_t)(r->frames.size / r->frame_bytes);
    if (!code && frames != request->row.length)
        code = count_differs(&request->row, "frames", frames, e);
    if (!code)
        memcpy(request->out[0], r->frames.data + (size_t)request->source_start * r->frame_bytes,
               (size_t)request->steps * r->frame_bytes);
    else
        leave(r);
    return code;
}

int bl_audio_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    note->text[0] = 0;
    return reader->features ? read_features(reader, request, e) : read_samples(reader, request, e);
}
