#include "kind/audio/samples.h"

#include <string.h>

int bl_samples_open(struct bl_samples *s, struct bl_mix *mix, const char *path, int64_t bytes, int stream,
                    struct bl_rational gap, const struct bl_kind_env *env, struct bl_error *e)
{
    *s = (struct bl_samples){.mix = mix, .frame = av_frame_alloc()};
    if (!s->frame)
        return bl_error_memory(e);
    s->step_bytes = mix->step_bytes;
    int code = bl_trim_open(&s->trim, path, bytes, stream, gap, env, e);
    if (code)
        av_frame_free(&s->frame);
    else
        bl_mix_begin(mix);
    return code;
}

void bl_samples_begin(struct bl_samples *s, const struct bl_cut *cut, bool damaged)
{
    bl_trim_set(&s->trim, cut, damaged);
    bl_mix_begin(s->mix);
    bl_buffer_clear(&s->ready);
    s->taken = 0;
    s->position = 0;
    s->ended = false;
}

void bl_samples_close(struct bl_samples *s)
{
    bl_trim_close(&s->trim);
    av_frame_free(&s->frame);
    bl_buffer_free(&s->ready);
}

/* Makes more steps ready, when all that were are taken. */
static int samples_refill(struct bl_samples *s, struct bl_error *e)
{
    bl_buffer_clear(&s->ready);
    s->taken = 0;
    while (!s->ready.size && !s->ended) {
        bool got;
        int code = bl_trim_next(&s->trim, s->frame, &got, e);
        if (code)
            return code;
        s->ended = !got;
        code = got ? bl_mix_push(s->mix, s->frame, &s->ready, e) : bl_mix_end(s->mix, &s->ready, e);
        av_frame_unref(s->frame);
        if (code)
            return code;
    }
    return BL_OK;
}

int bl_samples_read(struct bl_samples *s, uint8_t *out, int64_t wanted, int64_t *got, struct bl_error *e)
{
    *got = 0;
    while (*got < wanted) {
        int code = s->taken == s->ready.size ? samples_refill(s, e) : BL_OK;
        if (code)
            return code;
        if (s->taken == s->ready.size)
            return BL_OK;
        int64_t there = (int64_t)((s->ready.size - s->taken) / s->step_bytes);
        int64_t count = there < wanted - *got ? there : wanted - *got;
        size_t bytes = (size_t)count * s->step_bytes;
        if (out)
            memcpy(out + (size_t)*got * s->step_bytes, s->ready.data + s->taken, bytes);
        s->taken += bytes;
        s->position += count;
        *got += count;
    }
    return BL_OK;
}
