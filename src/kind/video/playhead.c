#include "kind/video/playhead.h"

#include <stdlib.h>
#include <string.h>

void bl_playhead_close(struct bl_playhead *h)
{
    av_frame_free(&h->waiting);
    if (h->path)
        bl_decode_close(&h->decode);
    free(h->path);
    *h = (struct bl_playhead){0};
}

static bool playhead_has_file(const struct bl_playhead *h, const struct bl_row *row, enum bl_demux_mode mode)
{
    return h->path && strcmp(h->path, row->path) == 0 && h->bytes == row->bytes && h->stream == row->stream &&
           h->mode == mode;
}

static int playhead_open(struct bl_playhead *h, struct bl_session_pool *sessions, const struct bl_row *row,
                         enum bl_demux_mode mode, const struct bl_kind_env *env, struct bl_error *e)
{
    bl_playhead_close(h);
    h->waiting = av_frame_alloc();
    char *path = h->waiting ? strdup(row->path) : NULL;
    if (!path) {
        av_frame_free(&h->waiting);
        return bl_error_memory(e);
    }
    int code = bl_decode_open_gpu(&h->decode, sessions, path, row->bytes, row->stream, mode, env, e);
    if (code) {
        free(path);
        av_frame_free(&h->waiting);
        return code;
    }
    h->path = path; /* from now on there is something to close */
    h->bytes = row->bytes;
    h->stream = row->stream;
    h->mode = mode;
    return BL_OK;
}

/* Whether the clip lies ahead, and nothing before it need be skipped. Faults after a seek may have moved the place. */
static bool playhead_is_near(const struct bl_playhead *h, const struct bl_row *row, const struct bl_seek_point *point)
{
    bool faults = h->decode.errors || h->decode.truncated;
    bool restarts = point->known && point->restart.position >= 0;
    return h->next <= row->clip_begin && !h->lost && (!faults || !(h->seeked || restarts)) &&
           (!restarts || h->next >= (int64_t)point->restart.frame);
}

static int playhead_seek(struct bl_playhead *h, const struct bl_seek_point *point, bool *there, struct bl_error *e)
{
    av_frame_unref(h->waiting);
    int code = bl_decode_seek(&h->decode, &point->restart, there, e);
    h->next = (int64_t)point->restart.frame;
    h->arrival = point->restart.time;
    h->seeked = h->arriving = true;
    h->lost = false;
    return code;
}

int bl_playhead_go(struct bl_playhead *h, enum bl_playhead_way way, struct bl_session_pool *sessions,
                   const struct bl_row *row, const struct bl_seek_point *point, enum bl_demux_mode mode,
                   const struct bl_kind_env *env, bool *there, struct bl_error *e)
{
    bool open = playhead_has_file(h, row, mode) && !sessions;
    bool restarts = point->known && point->restart.position >= 0;
    *there = false;
    if (way == BL_PLAYHEAD_ON) {
        *there = open && playhead_is_near(h, row, point);
        return BL_OK;
    }
    if (way == BL_PLAYHEAD_RESTART && !restarts)
        return BL_OK;
    int code = BL_OK;
    if (!open || way == BL_PLAYHEAD_START)
        code = playhead_open(h, sessions, row, mode, env, e);
    *there = !code;
    if (!code && way == BL_PLAYHEAD_RESTART)
        code = playhead_seek(h, point, there, e);
    if (code || !*there)
        bl_playhead_close(h);
    return code;
}

int bl_playhead_next(struct bl_playhead *h, AVFrame *frame, bool *got, struct bl_error *e)
{
    av_frame_unref(frame);
    if (h->waiting->buf[0]) {
        av_frame_move_ref(frame, h->waiting);
        h->next++;
        *got = true;
        return BL_OK;
    }
    do {
        int code = bl_decode_next(&h->decode, frame, got, e);
        if (code)
            return code;
    } while (*got && h->arriving && bl_decode_time(frame) < h->arrival);
    bool elsewhere = h->arriving && (!*got || bl_decode_time(frame) != h->arrival);
    h->lost = h->lost || elsewhere || (h->seeked && *got && bl_decode_is_damaged(frame));
    h->arriving = false;
    h->next += *got;
    return BL_OK;
}

void bl_playhead_put_back(struct bl_playhead *h, AVFrame *frame)
{
    av_frame_move_ref(h->waiting, frame);
    h->next--;
}
