/* See read.h. Every piece is decoded from the beginning of its file, so that its samples are the same wherever it
 * begins; the decoder stays where a piece ended, and goes on from there when a later piece of that file comes next. */
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
};

int bl_audio_open(const void *config, const struct bl_kind_env *env, const struct bl_fields *fields,
                  struct bl_reader **reader, struct bl_error *e)
{
    (void)fields;
    const struct bl_audio_config *c = config;
    *reader = calloc(1, sizeof **reader);
    if (!*reader)
        return bl_error_memory(e);
    (*reader)->config = c;
    (*reader)->env = env;
    bl_mix_init(&(*reader)->mix, (int)c->rate, (int)c->channels, c->dtype == BL_AUDIO_F32);
    return BL_OK;
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
    bl_mix_free(&reader->mix);
    free(reader);
}

/* Stands at or before the step of the row's file. */
static int enter(struct bl_reader *r, const struct bl_row *row, int64_t step, struct bl_error *e)
{
    if (r->path && strcmp(r->path, row->path) == 0 && r->stream == row->stream && r->bytes == row->bytes &&
        r->samples.position <= step)
        return BL_OK;
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

static int count_differs(const struct bl_row *row, int64_t length, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "the scan counted %" PRId64 " samples, decoding gives %s%" PRId64, row->length,
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
        return count_differs(&request->row, s->position, e);
    bool last = request->source_start + request->steps == request->row.length;
    if (!code && last)
        code = bl_samples_take(s, NULL, 1, &more, e);
    return !code && more ? count_differs(&request->row, s->position, e) : code;
}

int bl_audio_read(struct bl_reader *reader, const struct bl_request *request, struct bl_note *note, struct bl_error *e)
{
    note->text[0] = 0;
    int code = enter(reader, &request->row, request->source_start, e);
    if (!code)
        code = take(reader, request, e);
    bool over = request->source_start + request->steps == request->row.length;
    if (code || over)
        leave(reader);
    return code;
}
