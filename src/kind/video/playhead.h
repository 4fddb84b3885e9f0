/* A playhead: a video that stays open from clip to clip, and the number of the frame that comes next.
 *
 * It goes on where the next clip begins a little further on, and else seeks a restart (timeline.h) or begins anew.
 * After a seek the decoder is a new one: what comes of a clip does not depend on those before it. */
#ifndef BL_PLAYHEAD_H
#define BL_PLAYHEAD_H

#include "kind/row.h"
#include "kind/video/decode.h"
#include "kind/video/seek_point.h"

struct bl_playhead {
    char *path; /* NULL: nothing is open */
    int64_t bytes;
    int stream;
    enum bl_demux_mode mode;
    struct bl_decode decode;
    int64_t next;     /* frame that comes next, by its number in display order */
    AVFrame *waiting; /* that frame, if it is decoded already; owned */
    bool seeked;      /* the present place was reached from a restart, */
    bool arriving;    /* whose frame has not come yet; it is shown at */
    int64_t arrival;
    bool lost; /* another frame came, or after a seek a concealed one: decoders conceal by what they decoded before */
};

/* Where a playhead may begin. */
enum bl_playhead_way {
    BL_PLAYHEAD_ON,      /* where it is */
    BL_PLAYHEAD_RESTART, /* at the point's restart */
    BL_PLAYHEAD_START,   /* with the file */
};

/* Goes to the row's clip, or before it; the rest is decoded. *there: false where this way leads nowhere. sessions: of a
 * GPU, or NULL. Errors as bl_decode_open_gpu's; then nothing is open. */
int bl_playhead_go(struct bl_playhead *playhead, enum bl_playhead_way way, struct bl_session_pool *sessions,
                   const struct bl_row *row, const struct bl_seek_point *point, enum bl_demux_mode mode,
                   const struct bl_kind_env *env, bool *there, struct bl_error *e);

/* The next frame, as bl_decode_next. */
int bl_playhead_next(struct bl_playhead *playhead, AVFrame *frame, bool *got, struct bl_error *e);

/* Makes the last frame the next one again; takes it. */
void bl_playhead_put_back(struct bl_playhead *playhead, AVFrame *frame);

/* Start from {0}. */
void bl_playhead_close(struct bl_playhead *playhead);

#endif
